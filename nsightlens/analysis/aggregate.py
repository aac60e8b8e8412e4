"""Groups of launches: work, durations and roofline times add up, then the same rules apply.

Launches group by family, subtype, phase, batch size and GPU, and by kernel where asked. A launch
without a duration, such as a failed collection, is counted and left out of every sum. A launch
whose sides were not measured is not left out: it may have been anything from idle to busy for all
of its duration, and the label of the group has to hold whichever it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.analysis import thresholds
from nsightlens.analysis.context import Context
from nsightlens.analysis.usage import FLOP_RESOURCES, Usage
from nsightlens.arrays import number_array
from nsightlens.devices.columns import text_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nsightlens.report import Report

__all__ = [
    "Groups",
    "group_by",
    "group_columns",
    "grouping_columns",
    "merge_context",
    "sum_usage",
]


class Groups(NamedTuple):
    """Which launches belong together; groups are in the order of their first launch.

    Parameters
    ----------
    order
        Launches sorted by group. Shape (launches,).
    starts
        Where each group begins in ``order``. Shape (groups,).
    """

    order: NDArray[np.intp]
    starts: NDArray[np.intp]

    @property
    def first(self) -> NDArray[np.intp]:
        """First launch of each group. Shape (groups,)."""
        return self.order[self.starts]

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        """Add up the last axis, launches, to groups."""
        return self._reduce(np.add, values)

    def all(self, values: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Say where every launch of a group holds; last axis as in `sum`."""
        return self._reduce(np.logical_and, values)

    def any(self, values: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Say where some launch of a group holds; last axis as in `sum`."""
        return self._reduce(np.logical_or, values)

    def largest(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the maximum in each group; last axis as in `sum`."""
        return self._reduce(np.maximum, values)

    def mean(self, values: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weighted mean of what is known; NaN where nothing is."""
        weight = np.where(np.isnan(values) | np.isnan(weight), 0.0, weight)
        total = self.sum(weight)
        weighted = self.sum(np.where(weight > 0, values, 0.0) * weight)
        return np.where(total > 0, weighted / np.where(total > 0, total, 1.0), np.nan)

    def peak(
        self,
        peak: NDArray[np.float64],
        work: NDArray[np.float64],
        duration_ns: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return the peak of groups: their work over the time that it needs at its own peaks.

        So that fraction of peak, intensity and ridge of a group say the same as its roofline times.
        Without work it is the mean over the duration. Last axis as in `sum`.
        """
        counts = ~np.isnan(duration_ns) & (work > 0) & (peak > 0)
        done = self.sum(np.where(counts, work, 0.0))
        needed = self.sum(np.where(counts, work / np.where(counts, peak, 1.0), 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(needed > 0, done / needed, self.mean(peak, duration_ns))

    def common(self, column: Any) -> Any:
        """Return the text that all launches of a group share; null where they do not."""
        code, texts = text_column({"text": column}, "text")
        lowest = self._reduce(np.minimum, code)
        is_common = lowest == self.largest(code)
        return pa.array(texts, pa.string()).take(number_array(lowest, is_common))

    def _reduce(self, operation: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        reduced: NDArray[Any] = operation.reduceat(values[..., self.order], self.starts, axis=-1)
        return reduced


def group_by(columns: Sequence[Any]) -> Groups:
    """Group rows by equal text in every column; null equals null.

    Parameters
    ----------
    columns
        Text columns of equal length.
    """
    joint = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        code, _ = text_column({"text": column}, "text")
        _, joint = np.unique(joint * (code.max(initial=0) + 1) + code, return_inverse=True)
    _, first, code = np.unique(joint, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    ranked = rank[code]
    order = np.argsort(ranked, kind="stable")
    return Groups(order, np.searchsorted(ranked[order], np.arange(len(first))))


def sum_usage(usage: Usage, groups: Groups) -> Usage:
    """Add up the usage of launches to that of groups.

    A side of a group is complete where it is in every launch; else its ceiling is the sum of the
    ceilings, which is at least the ceiling of the sum. A launch without a ceiling adds all of its
    duration to that of its group; a group of such launches alone has none either.
    """
    counts = ~np.isnan(usage.duration_ns)
    duration = groups.sum(np.where(counts, usage.duration_ns, 0.0))
    known = ~np.isnan(usage.time_ns)
    return Usage(
        duration_ns=np.where(groups.any(counts), duration, np.nan),
        time_ns=_sum_known(usage.time_ns, groups),
        is_counted=groups.all(usage.is_counted | ~known) & groups.any(known),
        is_of_active_cycles=groups.any(usage.is_of_active_cycles & known),
        work=_sum_work(usage, groups, counts),
        peak_per_s=groups.peak(usage.peak_per_s, usage.work, usage.duration_ns),
        peak_source=groups.largest(np.where(counts, usage.peak_source, -1)),
        is_peak_assumed=groups.any(usage.is_peak_assumed & counts & (usage.work > 0)),
        compute_ceiling_ns=_sum_ceilings(usage, usage.compute_ceiling_ns, groups, counts),
        memory_ceiling_ns=_sum_ceilings(usage, usage.memory_ceiling_ns, groups, counts),
        is_compute_complete=groups.all(usage.is_compute_complete | ~counts),
        is_memory_complete=groups.all(usage.is_memory_complete | ~counts),
        flop_ns=_sum_known(usage.flop_ns, groups),
        flop_low_ns=_sum_counting(usage.flop_low_ns, groups, counts),
        flop_high_ns=_sum_counting(usage.flop_high_ns, groups, counts),
        flop_most_ns=_sum_counting(usage.flop_most_ns, groups, counts),
        has_flop_counts=groups.all(usage.has_flop_counts | ~counts) & groups.any(counts),
        uncounted_flop=_sum_counting(usage.uncounted_flop, groups, counts),
        dram_ns=_sum_all(usage.dram_ns, groups, counts),
        dram_percent_ns=_sum_all(usage.dram_percent_ns, groups, counts),
        is_dram_counted=groups.all(usage.is_dram_counted | ~counts) & groups.any(counts),
        is_partition=groups.any(usage.is_partition),
        is_analytic=groups.any(usage.is_analytic),
        boost_ratio=groups.mean(usage.boost_ratio, usage.duration_ns),
    )


def _sum_ceilings(
    usage: Usage, ceiling_ns: NDArray[np.float64], groups: Groups, counts: NDArray[np.bool_]
) -> NDArray[np.float64]:
    is_open = ~np.isfinite(ceiling_ns)
    # Percentages a little above 100 are real: passes differ.
    most = np.where(is_open, thresholds.CONTRADICTION * usage.duration_ns, ceiling_ns)
    total = groups.sum(np.where(counts, most, 0.0))
    return np.where(groups.all(is_open | ~counts), np.inf, total)


def _sum_known(values: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
    known = ~np.isnan(values)
    return np.where(groups.any(known), groups.sum(np.where(known, values, 0.0)), np.nan)


def _sum_counting(
    values: NDArray[np.float64], groups: Groups, counts: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Add up the launches that count; what is not known of one of them is not bounded."""
    bounded = np.where(np.isnan(values), np.inf, values)
    return groups.sum(np.where(counts, bounded, 0.0))


def _sum_all(
    values: NDArray[np.float64], groups: Groups, counts: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Add up the launches that count; NaN where the value of one of them is not known."""
    return np.where(groups.any(counts), groups.sum(np.where(counts, values, 0.0)), np.nan)


def _sum_work(usage: Usage, groups: Groups, counts: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Add up work. Bytes of a level are known only where every launch that counts has them."""
    work = _sum_known(np.where(counts, usage.work, np.nan), groups)
    has_all = groups.all(~np.isnan(usage.work) | ~counts)
    has_all[: len(FLOP_RESOURCES)] = True
    return np.where(has_all, work, np.nan)


def merge_context(context: Context, duration_ns: NDArray[np.float64], groups: Groups) -> Context:
    """Merge the context of launches: means over the duration, the stall of the longest launch."""
    weight = np.where(np.isnan(duration_ns), 0.0, duration_ns)
    # The longest launch of each group that has a top stall: last by weight within the group.
    has_stall = np.asarray(pc.is_valid(context.top_stall).to_numpy(zero_copy_only=False))
    rank = np.empty(len(weight), dtype=np.intp)
    rank[np.argsort(np.where(has_stall, weight, -1.0), kind="stable")] = np.arange(len(weight))
    longest = np.argsort(rank)[groups.largest(rank)]
    return Context(
        number={name: groups.mean(value, weight) for name, value in context.number.items()},
        top_stall=context.top_stall.take(number_array(longest)),
        launch_count=groups.sum(context.launch_count),
        failed_count=groups.sum(context.failed_count),
        undated_count=groups.sum(context.undated_count),
        has_bad_duration=groups.any(context.has_bad_duration),
        has_unfit_shapes=groups.any(context.has_unfit_shapes),
        lacks_dram_counters=groups.any(context.lacks_dram_counters),
        is_unsupported=groups.any(context.is_unsupported),
        has_other_clock=groups.any(context.has_other_clock),
        has_other_dram_clock=groups.any(context.has_other_dram_clock),
        lost_metric_count=groups.sum(context.lost_metric_count),
        has_metrics=groups.any(context.has_metrics),
    )


def grouping_columns(identity: pa.Table, *, with_kernel: bool) -> list[Any]:
    """Return the columns that make a group, as text."""
    names = ["family", "subtype", "phase", "batch_size"]
    names = ["subject", *names] if with_kernel else names
    # One driver calls the same GPU A100-PCIE-40GB, a later one NVIDIA A100-PCIE-40GB.
    gpu = pc.replace_substring_regex(identity["device_name"], "^NVIDIA ", "")
    return [*(identity[name].cast(pa.string()) for name in names), gpu]


def group_columns(
    report: Report, identity: pa.Table, groups: Groups, *, with_kernel: bool
) -> dict[str, Any]:
    """Return the columns of labels that say which group a row is."""
    first = number_array(groups.first)
    columns = grouping_columns(identity, with_kernel=with_kernel)
    parts = [pc.fill_null(column, "-").combine_chunks().take(first) for column in columns]
    of_kernel = ("kernel",) if with_kernel else ()
    names = ("family", "subtype", "phase", "batch_size", "device_name", *of_kernel)
    shared = ("report", "kind", "process_id", "device_id",
              *(("kernel_demangled_name",) if with_kernel else ()))  # fmt: skip
    return {
        "key": pc.binary_join_element_wise(*parts, "|"),
        **{name: identity[name].combine_chunks().take(first) for name in names},
        **{name: groups.common(report.launches[name]) for name in shared},
    }
