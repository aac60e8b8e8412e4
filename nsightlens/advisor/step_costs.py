"""What copies, gaps, waits and short kernels cost in a decode step, and whether to act on it.

Every saving is an upper bound, the time that the cause was seen to cost; savings of two causes may
be the same nanoseconds, so that they do not add up. A trace of nsys costs time of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from nsightlens.advisor.answers import Cost, StepCosts
from nsightlens.advisor.step_measures import measured_steps, without_pauses
from nsightlens.timelines.advice import WORTH_PCT
from nsightlens.timelines.gaps import CAUSES
from nsightlens.units import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from nsightlens.advisor.step_measures import MeasuredSteps
    from nsightlens.timelines.timeline import Timeline

    Group = list[tuple[MeasuredSteps, NDArray[np.intp]]]

__all__ = ["step_costs"]

Key = Literal["copies", "gaps", "syncs", "host", "short_kernels"]


def step_costs(timelines: Sequence[Timeline]) -> tuple[StepCosts, ...]:
    """Say what a decode step spends beside its kernels, by batch size.

    Parameters
    ----------
    timelines
        From `nsightlens.timeline`. Steps of one batch size are taken together, whichever trace they
        are of.

    Returns
    -------
    tuple of StepCosts
        The smallest batch size first; the batch size is None for steps without one, and for a trace
        without steps, which stands for one step as a whole. Prefills, mixed steps and captures are
        left out, and so are a first step and those after a pause, where there are others. A step
        begins where the one before it ended. ``gpu_busy_share`` is the time with a kernel over that
        of the step, mean over the devices; copies without a kernel are not in it. A cost is worth
        acting on where its saving is 2 % of the step or more; costs are sorted by it. Without calls
        of the host in the trace, waits and host work have no cost.

    Examples
    --------
    >>> step_costs([])
    ()
    """
    groups: dict[float | None, Group] = {}
    for timeline in timelines:
        steps = measured_steps(timeline)
        batches = np.where(np.isnan(steps.batch_size), -1.0, steps.batch_size)
        for batch in np.unique(batches).tolist():  # one turn per batch size
            rows = without_pauses(steps, np.flatnonzero(batches == batch))
            groups.setdefault(batch if batch > 0 else None, []).append((steps, rows))
    order = sorted(groups, key=lambda batch: (batch is None, batch or 0.0))
    found = (_costs_of(batch, groups[batch]) for batch in order)
    return tuple(one for one in found if one is not None)


def _costs_of(batch: float | None, group: Group) -> StepCosts | None:
    names = group[0][0].mean_ns
    mean = {
        name: float(np.concatenate([steps.mean_ns[name][rows] for steps, rows in group]).mean())
        for name in names
    }
    if not mean["step_ns"] > 0:
        return None
    has_calls = all(steps.has_calls for steps, _ in group)
    is_whole = not any(steps.has_steps for steps, _ in group)
    where = "In the whole trace" if is_whole else "In a step"
    if batch is not None:
        where = f"At batch {batch:g}"
    found = [_cost(where, mean["step_ns"], one) for one in _found(mean, has_calls=has_calls)]
    found.sort(key=lambda one: -one.saving_us)
    return StepCosts(
        batch,
        mean["step_ns"] / 1e3,
        float(np.clip(mean["busy_ns"] / mean["step_ns"], 0.0, 1.0)),
        tuple(found),
        " + ".join(dict.fromkeys(steps.source for steps, _ in group)),
    )


class _Found(NamedTuple):
    """A cost in a step and what could be saved of it at most [ns], with its words.

    ``cause`` is a clause in which ``{cost}`` stands for the cost, ``remedy`` the subject of "would
    save".
    """

    key: Key
    cost_ns: float
    saving_ns: float
    cause: str
    remedy: str


def _found(mean: Mapping[str, float], *, has_calls: bool) -> Iterator[_Found]:
    yield _copies(mean)
    yield _gaps(mean, has_calls=has_calls)
    if has_calls:
        cost = mean["idle_sync_ns"]
        cause = "the GPU idles for {cost} after the host waited for it"
        yield _Found("syncs", cost, cost, cause, "Doing without such waits")
        cost = mean["idle_host_ns"]
        cause = "the GPU waits for {cost} on host threads that do something else than launch"
        yield _Found("host", cost, cost, cause, "Doing that work earlier or elsewhere")
    yield _short_kernels(mean)


def _copies(mean: Mapping[str, float]) -> _Found:
    exposed, pageable = mean["copy_exposed_ns"], mean["pageable_ns"]
    # Within a step, no more of a copy can be hidden than there are kernels to hide it.
    hidden = min(exposed, mean["kernel_alone_ns"])
    saving = max(hidden, min(pageable, exposed))
    cause, remedy = "copies run for {cost} while no kernel does", "Overlapping copies with kernels"
    if not mean["copy_count"]:
        cause, remedy = "there are no copies", "Pinned memory and overlap"
    elif pageable > 0:
        cause += f", {_said(pageable)} of it with pageable memory"
        remedy = "Pinning that memory and overlapping copies with kernels"
    return _Found("copies", exposed, saving, cause, remedy)


def _gaps(mean: Mapping[str, float], *, has_calls: bool) -> _Found:
    launch, queued, unknown = (mean[f"idle_{one}_ns"] for one in ("launch", "queued", "unknown"))
    if not has_calls:
        idle = sum(mean[f"idle_{one}_ns"] for one in CAUSES)
        cause = "the GPU idles for {cost}, and the trace has no calls of the host that say why"
        return _Found("gaps", idle, 0.0, cause, "As far as is known, CUDA graphs")
    cause = (
        f"gaps take {{cost}}: {_said(launch)} waiting for launches, {_said(queued)} although work "
        f"is queued, {_said(unknown)} of unknown cause"
    )
    return _Found("gaps", launch + queued + unknown, launch, cause, "CUDA graphs")


def _short_kernels(mean: Mapping[str, float]) -> _Found:
    if not mean["run_count"]:
        cause = "there is no run of short kernels outside of CUDA graphs"
        return _Found("short_kernels", 0.0, 0.0, cause, "Fusing kernels")
    kernels, runs = (format_quantity(mean[one], "1") for one in ("short_count", "run_count"))
    between = mean["short_gap_ns"]
    cause = (
        f"{kernels} short kernels in {runs} runs take {{cost}}, {_said(between)} of it between them"
    )
    remedy = "Fusing each run into one kernel that takes no longer than one of them (a bound)"
    return _Found("short_kernels", mean["short_ns"] + between, mean["fused_ns"], cause, remedy)


def _cost(where: str, step_ns: float, found: _Found) -> Cost:
    share, saved = (100 * one / step_ns for one in (found.cost_ns, found.saving_ns))
    cost = f"{_said(found.cost_ns)} ({_percent(share)} of {_said(step_ns)})"
    is_worth = saved >= WORTH_PCT
    verdict = "worth trying" if is_worth else f"not worth acting on, below {WORTH_PCT:g} %"
    gain = f"at most {_said(found.saving_ns)} ({_percent(saved)}): {verdict}"
    return Cost(
        found.key,
        found.cost_ns / 1e3,
        share,
        found.saving_ns / 1e3,
        is_worth,
        f"{where} {found.cause.format(cost=cost)}. {found.remedy} would save "
        f"{gain if found.saving_ns > 0 else 'nothing'}.",
    )


def _said(time_ns: float) -> str:
    return format_quantity(time_ns, "ns") if time_ns else "0 us"


def _percent(value: float) -> str:
    return f"{value:.2g} %" if value < 10 else f"{value:.0f} %"
