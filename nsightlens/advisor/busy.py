"""How busy the GPU is in a decode step, at a batch size: what bounds the gain of replicas.

From timelines or from shares of time in the runs. Never from ``utilization.gpu`` of nvidia-smi: it
counts a sample as busy where any kernel ran at any time in it, and says 98 % at a batch of one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow.compute as pc

from nsightlens.advisor.batch_of_run import batch_sizes
from nsightlens.devices.columns import number_column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from nsightlens.advisor.answers import StepCosts

__all__ = ["batches_of", "busy_share_at", "single_servers"]


class _Points(NamedTuple):
    """Busy shares by batch size, from one kind of source. Shapes (n,)."""

    batch_size: NDArray[np.float64]
    share: NDArray[np.float64]
    source: str

    def spans(self, batch_size: float) -> bool:
        return bool(self.batch_size.min() <= batch_size <= self.batch_size.max())


def busy_share_at(
    batch_size: float, costs: Sequence[StepCosts], runs: pa.Table | None
) -> tuple[float, str] | None:
    """Return the share of a decode step's time with a kernel on the GPU.

    Parameters
    ----------
    batch_size
        Batch size of the step.
    costs
        From `nsightlens.advisor.step_costs.step_costs`.
    runs
        With the schema ``SERVING_RUNS``; ``gpu_busy_pct`` is taken, else what ``host_share_pct``
        leaves of 100 %. Runs of several replicas do not count.

    Returns
    -------
    tuple of float and str, or None
        [1] The share, and where it came from. Between measured batch sizes it lies on a line,
        beyond them it is that of the nearest. Timelines win, unless only the runs reach to the
        batch size. None where nothing says it.

    Examples
    --------
    >>> from nsightlens.advisor.answers import StepCosts
    >>> costs = [StepCosts(b, 1e3, share, (), "run.sqlite") for b, share in ((8, 0.5), (16, 0.7))]
    >>> busy_share_at(12, costs, None)
    (0.6, 'interpolated between batch 8 and 16 of timelines (run.sqlite)')
    >>> busy_share_at(64, costs, None)
    (0.7, 'at the nearest batch, 16, of timelines (run.sqlite)')
    """
    if not np.isfinite(batch_size) or batch_size <= 0:
        return None
    known = [one for one in _sources(costs, runs) if len(one.batch_size)]
    if not known:
        return None
    chosen = next((one for one in known if one.spans(batch_size)), known[0])
    share = float(np.interp(batch_size, chosen.batch_size, chosen.share))
    return round(share, 12), f"{_place(batch_size, chosen.batch_size)} {chosen.source}"


def batches_of(runs: pa.Table) -> NDArray[np.float64]:
    """Return the batch size of each run as it was set, else as it ran; NaN without. Shape (n,)."""
    size, ran = batch_sizes(runs).size, number_column(runs, "mean_running")
    return np.where(np.isnan(size) & (ran > 0) & np.isfinite(ran), ran, size)


def single_servers(runs: pa.Table) -> pa.Table:
    """Return the runs of one server alone."""
    return runs.filter(pc.less_equal(pc.fill_null(runs["replicas"], 1), 1))


def _sources(costs: Sequence[StepCosts], runs: pa.Table | None) -> Iterator[_Points]:
    timed = [one for one in costs if one.batch_size is not None]
    names = ", ".join(dict.fromkeys(one.source for one in timed))
    batches = np.array([one.batch_size for one in timed], dtype=np.float64)
    shares = np.array([one.gpu_busy_share for one in timed], dtype=np.float64)
    yield _points(batches, shares, f"of timelines ({names})", [])
    if runs is None:
        return
    alone = single_servers(runs)
    for column, sign, offset in (("gpu_busy_pct", 1.0, 0.0), ("host_share_pct", -1.0, 1.0)):
        shares = offset + sign * number_column(alone, column) / 100.0
        yield _points(batches_of(alone), shares, f"of {column}", alone["run"].to_pylist())


def _points(
    batches: NDArray[np.float64], shares: NDArray[np.float64], source: str, runs: list[str | None]
) -> _Points:
    """Return the points that can be: one per batch size, the mean where there are several."""
    with np.errstate(invalid="ignore"):
        good = np.isfinite(batches) & (batches > 0) & (shares > 0) & (shares <= 1)
    distinct, group = np.unique(batches[good], return_inverse=True)
    group = group.reshape(-1)
    count = np.bincount(group, minlength=len(distinct))
    mean = np.bincount(group, shares[good], minlength=len(distinct)) / np.maximum(count, 1)
    first = next((runs[at] for at in np.flatnonzero(good).tolist() if runs), None)
    if first:
        source += f" ({first}{' and others' if good.sum() > 1 else ''})"
    return _Points(distinct, mean, source)


def _place(batch_size: float, known: NDArray[np.float64]) -> str:
    at = int(np.searchsorted(known, batch_size))
    if at < len(known) and known[at] == batch_size:
        return f"at batch {batch_size:g}"
    if at in {0, len(known)}:
        return f"at the nearest batch, {known[min(at, len(known) - 1)]:g},"
    return f"interpolated between batch {known[at - 1]:g} and {known[at]:g}"
