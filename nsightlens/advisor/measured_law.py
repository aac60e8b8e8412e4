"""What was measured along the batch size, as functions of a batch size that was not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nsightlens.advisor.fitting import itl_at, leave_one_out
from nsightlens.advisor.run_columns import numbers, positives
from nsightlens.errors import AdviceError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.advisor.answers import Curve, Fit

__all__ = ["MeasuredLaw", "measured_law"]


@dataclass(frozen=True, eq=False)
class MeasuredLaw:
    """The rows of a curve that count, by rising batch size. Shape (n,) each.

    Parameters
    ----------
    batch_size, running
        Sequences as set, and as ran.
    itl_ms, weight
        [ms] Time between tokens, and its weight in fits.
    throughput, output
        [token/s] The curve's throughput, and generated tokens alone; NaN where unknown.
    kv_peak_pct, kv_pool_gib
        [%] and [GiB]; NaN where unknown.
    first_preempted
        Smallest batch size at which sequences lost their cache; None without one.
    """

    batch_size: NDArray[np.float64]
    running: NDArray[np.float64]
    itl_ms: NDArray[np.float64]
    weight: NDArray[np.float64]
    throughput: NDArray[np.float64]
    output: NDArray[np.float64]
    kv_peak_pct: NDArray[np.float64]
    kv_pool_gib: NDArray[np.float64]
    first_preempted: float | None

    @property
    def smallest(self) -> float:
        """Smallest batch size that was measured and counts."""
        return float(self.batch_size[0])

    @property
    def largest(self) -> float:
        """Largest of them."""
        return float(self.batch_size[-1])

    def running_at(self, batch_size: float) -> float:
        """Return how many sequences would run: on a line between rows, in proportion beyond."""
        return _along(batch_size, self.batch_size, self.running)

    def itl_at(self, fit: Fit, batch_size: float) -> float:
        """Return what the law says of a batch size as it is set [ms]."""
        at = self.running_at(batch_size) if fit.over == "running" else batch_size
        return itl_at(fit, at)

    def throughput_at(
        self, batch_size: float, itl_ms: float, *, only_output: bool = False
    ) -> float | None:
        """Return the throughput of a time between tokens [token/s].

        Each running sequence makes a token in that time; what prompts, ramp-up and drain add or
        take is measured at the rows, and lies on a line between them.
        """
        rate = self.output if only_output else self.throughput
        factor = rate * self.itl_ms / (1e3 * self.running)
        known = np.isfinite(factor)
        if not known.any():
            return None
        scale = float(np.interp(batch_size, self.batch_size[known], factor[known]))
        return scale * 1e3 * self.running_at(batch_size) / itl_ms

    def kv_peak_at(self, batch_size: float) -> float | None:
        """Return the largest use of the KV pool [%], as far as it would need to go."""
        known = np.isfinite(self.kv_peak_pct)
        if not known.any():
            return None
        return _along(batch_size, self.batch_size[known], self.kv_peak_pct[known])

    def pool_gib(self) -> float | None:
        """Return the KV pool at the largest batch size that has one [GiB]."""
        known = self.kv_pool_gib[np.isfinite(self.kv_pool_gib)]
        return float(known[-1]) if len(known) else None

    def held_bytes(self) -> float | None:
        """Return what a running sequence holds of the pool at its peak [B].

        The median over the rows of at least half of the largest running batch: the peak of a few
        sequences is that of the longest of them.
        """
        size = self.kv_peak_pct / 100 * self.kv_pool_gib * 2.0**30 / self.running
        known = size[np.isfinite(size) & (self.running >= self.running.max() / 2)]
        return float(np.median(known)) if len(known) else None

    def back_test(self, fit: Fit) -> tuple[float, float] | None:
        """Return mean and largest error of each row predicted by all others [%]."""
        over = self.running if fit.over == "running" else self.batch_size
        return leave_one_out(over, self.itl_ms, self.weight, method=fit.method, over=fit.over)


def measured_law(curve: Curve) -> MeasuredLaw:
    """Return the rows of a curve that count in fits and were not preempted.

    Raises
    ------
    AdviceError
        There is none.
    """
    rows = curve.rows
    batch, running = positives(rows, "batch_size"), positives(rows, "running_batch")
    running = np.where(np.isnan(running), batch, running)
    itl, weight = positives(rows, "itl_ms"), numbers(rows, "fit_weight")
    weight = np.where(np.isnan(weight), 1.0, weight)
    preempted = numbers(rows, "preemption_count") > 0
    good = np.flatnonzero(np.isfinite(batch + itl) & (weight > 0) & ~preempted)
    if not len(good):
        raise AdviceError(
            "no run with a batch size and a time between tokens is left to predict from."
        )
    good = good[np.argsort(batch[good], kind="stable")]
    lost = batch[preempted & np.isfinite(batch)]
    return MeasuredLaw(
        batch[good],
        running[good],
        itl[good],
        weight[good],
        positives(rows, "throughput_tok_s")[good],
        positives(rows, "output_tok_s")[good],
        positives(rows, "kv_peak_pct")[good],
        positives(rows, "kv_pool_gib")[good],
        float(lost.min()) if len(lost) else None,
    )


def _along(batch: float, sizes: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Return a value on a line between rows, and in proportion to the batch beyond them."""
    if batch < sizes[0]:
        return float(values[0] * batch / sizes[0])
    if batch > sizes[-1]:
        return float(values[-1] * batch / sizes[-1])
    return float(np.interp(batch, sizes, values))
