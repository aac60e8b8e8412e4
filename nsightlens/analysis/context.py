"""What else is known of a row to label: shown beside the label, and quoted in its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.analysis.nvidia_verdict import VERDICTS
from nsightlens.analysis.thresholds import CLOCK_SPREAD, FULL_WAVE
from nsightlens.devices.columns import first_known, metric, number_column, text_column
from nsightlens.devices.peaks import SHORT_LAUNCH_NS
from nsightlens.metrics.catalog import is_countable
from nsightlens.metrics.occupancy import LIMITS, limit_metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.analysis.nvidia_verdict import NvidiaVerdict
    from nsightlens.analysis.sums import Adder, Sums
    from nsightlens.analysis.usage import Usage
    from nsightlens.report import Report

__all__ = [
    "AVERAGED",
    "Context",
    "add_context",
    "context_of_sums",
    "lacks_dram_counters",
    "launch_context",
]

AVERAGED = (
    "waves_per_multiprocessor",
    "dram_throughput_pct",
    "sm_throughput_pct",
    "achieved_occupancy_pct",
    "active_warps_per_scheduler",
    "stalled_for_data_pct",
    "top_stall_pct",
)
"""Numeric columns of launches that a group shows as the mean over its duration."""

# Between 20 and 100 us the DRAM clock of real reports still scatters by 10 %.
_LONG_LAUNCH_NS = 100_000.0
_HARDWARE_UNITS = ("sm__", "smsp__", "l1tex__", "lts__", "dram__", "fbpa__", "gpc__", "gpu__")
_QUOTIENTS = (".ratio", ".pct", ".max_rate")


class Context(NamedTuple):
    """Columns beside the usage, one value per row.

    Parameters
    ----------
    number
        The columns of `AVERAGED`, NaN where unknown; ``open_fraction``: the share of the duration
        in which a side may have been busy unmeasured [1]; ``blocks_per_sm``; ``fullness``: waves,
        or where they were not collected something that is below 1 exactly where they are. Each of
        shape (n,).
    top_stall
        Text column of length n.
    launch_count, failed_count
        Launches in the row, and how many of them failed to be collected. Shape (n,).
    undated_count
        How many others have no duration. Shape (n,).
    has_bad_duration
        A duration is stored that is none: zero, negative or not a number. Shape (n,).
    lacks_dram_counters
        The architecture has no counters for DRAM. Shape (n,).
    has_unfit_shapes
        An annotated shape contradicts what was measured. Shape (n,).
    is_unsupported
        ncu said that it does not support the device of a launch of the row. Shape (n,).
    has_other_clock, has_other_dram_clock
        The SM clock, that of DRAM, was far from the median of its device in the report. Shape (n,).
    lost_metric_count
        Metrics of the hardware that are stored without a number: the pass that was to measure them
        failed. Zero for a failed collection, of which nothing counts. Shape (n,).
    has_metrics
        Something of how the launch ran was measured, besides its duration. Shape (n,).
    """

    number: dict[str, NDArray[np.float64]]
    top_stall: Any
    launch_count: NDArray[np.int64]
    failed_count: NDArray[np.int64]
    undated_count: NDArray[np.int64]
    has_bad_duration: NDArray[np.bool_]
    lacks_dram_counters: NDArray[np.bool_]
    has_unfit_shapes: NDArray[np.bool_]
    is_unsupported: NDArray[np.bool_]
    has_other_clock: NDArray[np.bool_]
    has_other_dram_clock: NDArray[np.bool_]
    lost_metric_count: NDArray[np.int64]
    has_metrics: NDArray[np.bool_]


def launch_context(report: Report, usage: Usage, verdict: NvidiaVerdict) -> Context:
    """Collect the context of every launch, NVIDIA's verdict on it among the rest."""
    launches = report.launches
    count = len(report)
    number = {name: number_column(launches, name) for name in AVERAGED}
    number["open_fraction"] = usage.is_open().astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        blocks_per_sm = number_column(launches, "grid_block_count") / number_column(
            launches, "sm_count"
        )
    number["blocks_per_sm"] = np.where(np.isfinite(blocks_per_sm), blocks_per_sm, np.nan)
    number["fullness"] = _fullness(report, number, verdict)
    has_failed = _flag(launches, "is_failed_collection")
    is_undated = np.isnan(usage.duration_ns) & ~has_failed
    has_stored_duration = report.store.number("gpu__time_duration.sum")[1]
    percentages = ("dram_throughput_pct", "sm_throughput_pct", "memory_throughput_pct")
    work = ("dram_bytes", "fp32_flop_count", "fp64_flop_count")
    measured = [~np.isnan(number_column(launches, name)) for name in (*percentages, *work)]
    return Context(
        number=number,
        top_stall=launches["top_stall"].cast(pa.string()).combine_chunks(),
        launch_count=np.ones(count, dtype=np.int64),
        failed_count=has_failed.astype(np.int64),
        undated_count=is_undated.astype(np.int64),
        has_bad_duration=is_undated & has_stored_duration,
        has_unfit_shapes=np.zeros(count, dtype=bool),
        lacks_dram_counters=lacks_dram_counters(launches),
        is_unsupported=_flag(launches, "is_unsupported_device"),
        has_other_clock=_has_other_clock(report, "sm_clock_hz", SHORT_LAUNCH_NS),
        has_other_dram_clock=_has_other_clock(report, "dram_clock_hz", _LONG_LAUNCH_NS),
        lost_metric_count=np.where(has_failed, 0, _lost_metric_count(report)),
        has_metrics=np.any(measured, axis=0),
    )


_COUNTS = ("launch_count", "failed_count", "undated_count", "lost_metric_count")
_FLAGS = (
    "has_bad_duration", "has_unfit_shapes", "lacks_dram_counters", "is_unsupported",
    "has_other_clock", "has_other_dram_clock", "has_metrics",
)  # fmt: skip
_MEANS = (*AVERAGED, "open_fraction", "blocks_per_sm", "fullness")


def add_context(adder: Adder, context: Context, duration_ns: NDArray[np.float64]) -> None:
    """Add up the context of launches, but for the top stall: means over the duration."""
    weight = np.where(np.isnan(duration_ns), 0.0, duration_ns)
    for name in _MEANS:
        adder.mean(name, context.number[name], weight)
    for name in _COUNTS:
        adder.add(name, getattr(context, name))
    for name in _FLAGS:
        adder.any(name, getattr(context, name))


def context_of_sums(sums: Sums, top_stall: Any) -> Context:
    """Return the context of groups."""
    return Context(
        number={name: sums.mean(name) for name in _MEANS},
        top_stall=top_stall,
        **{name: sums.added[name] for name in _COUNTS},
        **{name: sums.most[name] for name in _FLAGS},
    )


def _fullness(
    report: Report, number: dict[str, NDArray[np.float64]], verdict: NvidiaVerdict
) -> NDArray[np.float64]:
    """Say of each launch whether its grid makes a wave, by the first that is known. Shape (n,).

    The waves; blocks over the blocks that fit at once; fewer blocks than SMs; what NVIDIA's rule
    said when it knew the waves.
    """
    limits = {one: metric(report.store, limit_metric(one)) for one in LIMITS}
    # Only later versions store that of barriers, which is large.
    barriers = limits.pop("barriers")
    fit_per_sm = np.fmin(np.min(list(limits.values()), axis=0), barriers)
    fit_per_sm = np.where(np.isnan(list(limits.values())).any(axis=0), np.nan, fit_per_sm)
    blocks = number["blocks_per_sm"]
    with np.errstate(divide="ignore", invalid="ignore"):
        by_limits = np.where(fit_per_sm > 0, blocks / fit_per_sm, np.nan)
    said = np.select(
        [
            verdict.stored == VERDICTS.index("small_grid"),
            verdict.stored == VERDICTS.index("latency"),
        ],
        [0.0, FULL_WAVE],
        np.nan,
    )
    few = np.where(blocks < FULL_WAVE, blocks, np.nan)
    return first_known(number["waves_per_multiprocessor"], by_limits, few, said)


def _flag(launches: Any, name: str) -> NDArray[np.bool_]:
    filled = pc.fill_null(launches[name], False)
    return np.asarray(filled.to_numpy(), dtype=bool)


def lacks_dram_counters(launches: Any) -> NDArray[np.bool_]:
    """Say of each launch whether its GPU has no counters for DRAM. Shape (n,)."""
    code, capabilities = text_column(launches, "compute_capability")
    return np.array([not is_countable("dram_bytes", one) for one in capabilities])[code]


def _lost_metric_count(report: Report) -> NDArray[np.int64]:
    """Count metrics of the hardware whose stored number is none. Shape (n,).

    Quotients are left out: one of nothing by nothing is no number either.
    """
    return report.store.non_finite_count(
        lambda name: name.startswith(_HARDWARE_UNITS) and not name.endswith(_QUOTIENTS)
    )


def _has_other_clock(report: Report, column: str, shortest_ns: float) -> NDArray[np.bool_]:
    """Say where a clock is far from the median of its device in its report.

    Short launches are left out: their clock is the quotient of two small counts.
    """
    clock = number_column(report.launches, column)
    is_short = number_column(report.launches, "duration_ns") < shortest_ns
    path, _ = text_column(report.launches, "report")
    device, devices = text_column(report.launches, "device_name")
    distinct, code = np.unique(path * len(devices) + device, return_inverse=True)
    is_far = np.zeros(len(report), dtype=bool)
    for one in range(len(distinct)):
        mine = (code == one) & ~is_short & ~np.isnan(clock)
        if mine.any():
            is_far |= mine & (np.abs(clock / _median(clock[mine]) - 1.0) > CLOCK_SPREAD)
    return is_far


def _median(values: NDArray[np.float64]) -> float:
    # Not np.median, which imports numpy.ma.
    ordered = np.sort(values)
    middle = len(ordered) // 2
    return float(ordered[middle] + ordered[~middle]) / 2.0
