"""The time between tokens of a case that was not measured: the fitted law, scaled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.advisor.answers import Warned
from nsightlens.units import format_quantity

if TYPE_CHECKING:
    from nsightlens.advisor.answers import Fit, Question
    from nsightlens.advisor.measured_law import MeasuredLaw
    from nsightlens.advisor.scaling import Rates, Sizes

__all__ = ["Case", "Step", "predicted_step"]


@dataclass(frozen=True, eq=False)
class Case:
    """What is asked, and what is known.

    Parameters
    ----------
    question
        As asked, with the batch size filled in.
    batch_size
        Its batch size.
    law
        What was measured.
    sizes
        What a GPU holds of the model; None where the model is not known.
    was_on, on
        Peaks of the GPU that was measured, and of that asked for; None where not known, and where
        no other one is asked for.
    context_was, context
        [token] In the cache of a running sequence, when measured and as asked; None likewise.
    host
        [1] Share of a step without a kernel at this batch size, and where it is from; or None.
    """

    question: Question
    batch_size: float
    law: MeasuredLaw
    sizes: Sizes | None
    was_on: Rates | None
    on: Rates | None
    context_was: float | None
    context: float | None
    host: tuple[float, str] | None

    @property
    def context_ratio(self) -> float:
        """Cache that a step reads of a sequence, over that when measured; 1 where none is asked."""
        if self.context is None or self.context_was is None:
            return 1.0
        if self.sizes is None:
            return self.context / self.context_was
        return self.sizes.sequence_bytes(self.context) / self.sizes.sequence_bytes(self.context_was)


class Step(NamedTuple):
    """The time between tokens [ms], its interval before the back-test, how, and what is weak."""

    itl_ms: float
    low_ms: float
    high_ms: float
    method: str
    warnings: tuple[Warned, ...]


def predicted_step(case: Case, fit: Fit) -> Step:
    """Return the time between tokens of a case.

    Parameters
    ----------
    case
        What is asked.
    fit
        The law that was fitted to what was measured.
    """
    law = case.law
    over = law.running_at(case.batch_size) if fit.over == "running" else case.batch_size
    itl = law.itl_at(fit, case.batch_size)
    what = "sequences that would run" if fit.over == "running" else "sequences"
    method = (
        f"The fitted law {fit.t0_ms:.4g} ms + {fit.a_ms:.4g} ms per sequence, at {over:.4g} {what}"
    )
    warnings = []
    if not law.smallest <= case.batch_size <= law.largest:
        text = (
            f"Batch {case.batch_size:g} lies outside of the {law.smallest:g} to {law.largest:g} "
            "that were measured: the law is extrapolated."
        )
        warnings.append(Warned("extrapolated", text))
    step = Step(itl, itl, itl, method, tuple(warnings))
    if case.context is not None:
        step = _other_context(case, fit, step, over)
    if case.on is not None:
        step = _other_device(case, step, over)
    return step


def _other_context(case: Case, fit: Fit, step: Step, over: float) -> Step:
    """Let the part of the law that reads the cache grow with it."""
    ratio, per_sequence = case.context_ratio, fit.a_ms * over
    all_grows = step.itl_ms + per_sequence * (ratio - 1.0)
    said = f"context {case.context:g} for {case.context_was:.4g} reads {ratio:.3g} times the cache"
    text = (
        "What a sequence costs beside its cache, such as its prefill, is in the law too: how it "
        "changes with the context was not measured."
    )
    warnings = (*step.warnings, Warned("context_scaled", text))
    if case.sizes is None or case.was_on is None or case.context_was is None:
        ends = sorted((step.itl_ms, all_grows))
        unknown = "the model" if case.sizes is None else "the GPU that was measured"
        method = (
            f"{step.method}; {said}, and the whole time per sequence is taken to grow with it: "
            f"without {unknown}, the part that does is not known (the other end of the interval is "
            "no change at all)"
        )
        return Step(all_grows, ends[0], ends[1], method, warnings)
    cache_ms = 1e3 * case.sizes.sequence_bytes(case.context_was) / case.was_on.bytes_per_s
    grows = min(cache_ms, fit.a_ms)
    part = step.itl_ms + grows * over * (ratio - 1.0)
    ends = sorted((part, all_grows))
    method = (
        f"{step.method}; {said}: of the time per sequence, {format_quantity(1e6 * grows, 'ns')} at "
        f"the bandwidth of {case.was_on.name} grow with it, and the rest stays (the other end of "
        "the interval: all of it grows); weights stay"
    )
    return Step(part, ends[0], ends[1], method, warnings)


def _other_device(case: Case, step: Step, over: float) -> Step:
    """Scale all but the host's time by the least times of the step on both GPUs."""
    sizes, was_on, on = case.sizes, case.was_on, case.on
    context = case.context or case.context_was
    if sizes is None or was_on is None or on is None or context is None:
        return step  # `what_if` gives a bound alone then
    least = [sizes.bound_ms(over, context, one) for one in (was_on, on)]
    factor = least[1] / least[0]
    host_ms = 0.0
    if case.host is not None:
        host_ms = (1.0 - case.host[0]) * step.itl_ms
        said = f"the {host_ms:.3g} ms without a kernel stay ({case.host[1]})"
        warnings = step.warnings
    else:
        said = "with the host's part, which is not known"
        text = (
            "How long no kernel runs in a step is not known: that time was scaled too, though "
            "another GPU does not change it."
        )
        warnings = (*step.warnings, Warned("host_unknown", text))
    text = (
        f"That kernels reach the same part of the peaks of {on.name} as of {was_on.name} is "
        "assumed: the interval is of the law alone."
    )
    method = (
        f"{step.method}; times {factor:.3g}, the least time of this step on {on.name} over that on "
        f"{was_on.name} by the roofline model ({least[1]:.3g} and {least[0]:.3g} ms), {said}"
    )
    itl, low, high = (
        host_ms + max(one - host_ms, 0.0) * factor
        for one in (step.itl_ms, step.low_ms, step.high_ms)
    )
    return Step(itl, low, high, method, (*warnings, Warned("device_scaled", text)))
