"""Why throughput stops to grow: profiles, joined with the curve that they explain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nsightlens.advisor.answers import Why
from nsightlens.advisor.busy import batches_of, busy_share_at, single_servers
from nsightlens.advisor.why_profiles import RISE, judged
from nsightlens.devices.columns import number_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa

    from nsightlens.advisor.answers import Curve, Plateau, StepCosts
    from nsightlens.advisor.why_profiles import Judged, Shares
    from nsightlens.sweeps import Sweep

__all__ = ["why"]

_COLUMNS = ("attention_share_pct", "matmul_share_pct", "host_share_pct")
_MOST = 50.0
"""[%] Without other shares to compare with, the host explains a step with at least this much."""


def why(
    curve: Curve,
    plateau: Plateau,
    *,
    sweeps: Sequence[Sweep] = (),
    costs: Sequence[StepCosts] = (),
    runs: pa.Table | None = None,
) -> Why:
    """Say why throughput stops to grow with the batch size.

    Parameters
    ----------
    curve, plateau
        Of the serving runs.
    sweeps
        From `nsightlens.sweep`: what kernels do at each batch size. Predicted ones are no evidence.
    costs
        From `nsightlens.advisor.step_costs.step_costs`: how long no kernel runs.
    runs
        With the schema ``SERVING_RUNS``, for shares of time in them.

    Returns
    -------
    Why
        ``attention_bandwidth`` where attention's share of kernel time rises with the batch, that of
        matmul falls, and attention has the larger share and saturates DRAM (at least 80 % of its
        bandwidth, or labelled so) at the largest batch. ``compute`` where matmul has at least half
        of the time and is compute-bound, or attention is. ``host`` where the time without a kernel
        is the largest part of a step. Shares alone, without counters, do not say that anything is
        saturated: ``unclear``.

    Examples
    --------
    >>> import nsightlens, nsightlens.example
    >>> from nsightlens.advisor.answers import Curve, Plateau
    >>> from nsightlens.tables import ADVICE_CURVE, schema_of
    >>> curve = Curve(schema_of(ADVICE_CURVE).empty_table(), "total", None)
    >>> plateau = Plateau(None, None, None, None, None, None, None, None)
    >>> sweep = nsightlens.sweep(nsightlens.open_report(nsightlens.example.path()))
    >>> why(curve, plateau, sweeps=[sweep]).verdict
    'attention_bandwidth'
    """
    sources = tuple(dict.fromkeys(one.source for one in costs))
    read = [one for one in map(judged, sweeps) if one is not None]
    profiled = [one for one in read if one.last_batch is not None]
    if profiled:
        found = _of_sweeps(profiled, costs, runs)
        text = f"{found.text}{_beyond(found.shares, plateau)}"
        return Why(found.verdict, text, found.shares, (*sources, *found.sources))
    shares, of_runs = _shares_of(runs)
    if shares:
        verdict, text = _of_shares(shares)
        return Why(verdict, text + _beyond(shares, plateau), shares, (*sources, *of_runs))
    timed = [one for one in costs if one.batch_size is not None]
    if timed:
        return _of_costs(timed, sources)
    if read:
        return Why("unclear", " ".join(one.text for one in read), (), sources)
    return Why("no_profile", _to_run(curve, plateau, runs, predicted=bool(sweeps)), (), sources)


def _of_sweeps(
    profiled: Sequence[Judged], costs: Sequence[StepCosts], runs: pa.Table | None
) -> Why:
    said = {one.verdict for one in profiled} - {"unclear"}
    if len(said) > 1:
        text = "The profiles contradict one another. " + " ".join(one.text for one in profiled)
        return Why("unclear", text, profiled[0].shares)
    # The one that decides; of several, the one that reaches furthest.
    chosen = max(profiled, key=lambda one: (one.verdict != "unclear", one.last_batch or 0.0))
    last = chosen.last_batch or 0.0
    busy = busy_share_at(last, costs, runs)
    if busy is None:
        return Why(chosen.verdict, chosen.text, chosen.shares)
    shares = tuple(_with_host(one, busy_share_at(one[0], costs, runs)) for one in chosen.shares)
    host = 100 * (1 - busy[0])
    kernels = [one for one in shares[-1][1:4] if one is not None]
    if host > max(kernels, default=_MOST):
        return Why("host", f"{_host_words(host, last, busy[1])} {chosen.text}", shares)
    text = f"{chosen.text} No kernel runs in {host:.0f} % of the step ({busy[1]})."
    return Why(chosen.verdict, text, shares)


def _with_host(shares: Shares, busy: tuple[float, str] | None) -> Shares:
    """Return shares of kernel time as shares of the whole step."""
    if busy is None:
        return shares
    batch, *parts, _ = shares
    attention, matmul, other = (None if one is None else one * busy[0] for one in parts)
    return (batch, attention, matmul, other, 100 * (1 - busy[0]))


def _host_words(host: float, batch: float, source: str) -> str:
    return (
        f"At batch {batch:g} no kernel runs in {host:.0f} % of a step ({source}), more than any "
        "kind of kernel takes: the host limits it."
    )


def _shares_of(runs: pa.Table | None) -> tuple[tuple[Shares, ...], tuple[str, ...]]:
    """Return the shares that runs have, by batch size, and which runs say them."""
    if runs is None:
        return (), ()
    alone = single_servers(runs)
    batch = batches_of(alone)
    columns = [number_column(alone, name) for name in _COLUMNS]
    # A percentage that cannot be is none.
    values = np.array([np.where((one >= 0) & (one <= 100), one, np.nan) for one in columns])
    rows = np.flatnonzero(np.isfinite(batch) & np.isfinite(values[0] + values[1]))
    distinct, first = np.unique(batch[rows], return_index=True)
    rows = rows[first]
    # Rows of a table are named after its file, and their place.
    runs_named = [str(one) for one in alone["run"].take(rows).to_pylist()]
    names = [one.rpartition(": ")[0] or one for one in runs_named]
    found = []
    for size, (attention, matmul, host) in zip(
        distinct.tolist(), values[:, rows].T.tolist(), strict=True
    ):
        known = None if np.isnan(host) else host
        other = None if known is None else max(100 - attention - matmul - host, 0.0)
        found.append((size, attention, matmul, other, known))
    return tuple(found), tuple(dict.fromkeys(names))


def _of_shares(shares: tuple[Shares, ...]) -> tuple[str, str]:
    batch, attention, matmul, _, host = shares[-1]
    if attention is None or matmul is None:  # not from `_shares_of`
        return "unclear", "The shares of time are not whole."
    if host is not None and host > max(attention, matmul):
        return "host", _host_words(host, batch, "host_share_pct")
    first = shares[0]
    if len(shares) == 1 or first[1] is None or first[2] is None:
        return "unclear", (
            f"At batch {batch:g} attention takes {attention:.1f} % of a step and matmul "
            f"{matmul:.1f} %: one batch size shows no trend, and a share is no evidence of "
            "saturation."
        )
    text = (
        f"From batch {first[0]:g} to {batch:g} attention goes from {first[1]:.1f} to "
        f"{attention:.1f} % of a step and matmul from {first[2]:.1f} to {matmul:.1f} %"
    )
    if attention >= first[1] + 100 * RISE and matmul < first[2]:
        text += ", as where attention's reads of the KV cache end the growth"
    return "unclear", (
        f"{text}; but a share is no evidence that anything is saturated: counters of attention at "
        f"batch {batch:g} (nsightlens profile --tools ncu) would be."
    )


def _of_costs(timed: Sequence[StepCosts], sources: tuple[str, ...]) -> Why:
    shares: tuple[Shares, ...] = tuple(
        (float(one.batch_size or 0), None, None, None, 100 * (1 - one.gpu_busy_share))
        for one in timed
    )
    last = timed[-1]
    host, batch = 100 * (1 - last.gpu_busy_share), last.batch_size or 0.0
    if host >= _MOST:
        text = (
            f"At batch {batch:g} no kernel runs in {host:.0f} % of a step ({last.source}): the "
            "host limits it."
        )
        return Why("host", text, shares, sources)
    text = (
        f"At batch {batch:g} kernels run in {100 - host:.0f} % of a step; what limits them a trace "
        "does not say: their counters would (nsightlens profile --tools ncu)."
    )
    return Why("unclear", text, shares, sources)


def _beyond(shares: Iterable[Shares], plateau: Plateau) -> str:
    """Say that a profile does not reach to where throughput levels off, where it does not."""
    last = max((one[0] for one in shares), default=0.0)
    level = plateau.batch_at_90
    if plateau.is_plateau_reached is False:
        return " Throughput has not levelled off yet at the largest batch that was served."
    if level is None or last >= level:
        return ""
    return (
        f" But throughput levels off at batch {level:g} (90 % of the best), and the profile ends "
        f"at {last:g}."
    )


def _to_run(curve: Curve, plateau: Plateau, runs: pa.Table | None, *, predicted: bool) -> str:
    model, context = "NAME", "TOKENS"
    if runs is not None and runs.num_rows:
        names = {one for one in runs["model"].to_pylist() if one}
        model = names.pop() if len(names) == 1 else model
        prompt, output = (number_column(runs, f"mean_{one}_tokens") for one in ("input", "output"))
        held = (prompt + output / 2)[np.isfinite(prompt + output)]
        context = f"{np.median(held):.0f}" if len(held) else context
    sizes = [one for one in curve.rows["batch_size"].to_pylist() if one]
    most = plateau.best_batch or max(sizes, default=0.0)
    batches = f"1:{most:g}" if most > 1 else "1:256"
    said = "A prediction is no evidence, and no" if predicted else "No"
    return (
        f"{said} profile says why throughput stops to grow. Run `nsightlens profile --model "
        f"{model} --batch-sizes {batches} --context {context} --tools both -o profile/` on the "
        "GPU, and give it with --profile profile/."
    )
