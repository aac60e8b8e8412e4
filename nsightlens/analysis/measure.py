"""From a report to `Usage`: counted work where there is some, else activity, else bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nsightlens.analysis.activity import measure_activity
from nsightlens.analysis.thresholds import EXPLAINED_ACTIVITY, EXPLAINED_AGGREGATE, INACTIVE
from nsightlens.analysis.usage import (
    FLOP_RESOURCES,
    INDEX,
    IS_COMPUTE,
    IS_MEMORY,
    RESOURCES,
    TENSOR,
    Usage,
)
from nsightlens.devices import peak_rates
from nsightlens.devices.columns import number_column, text_column
from nsightlens.metrics.tensor import tensor_paths_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.analysis.activity import Activity
    from nsightlens.devices import PeakRates
    from nsightlens.report import Report

__all__ = ["measure_usage"]

_WORK_COLUMNS = {
    **{
        name: f"{name}_op_count" if "int" in name else f"{name}_flop_count"
        for name in (*TENSOR, "fp64", "fp32", "fp16")
    },
    "dram": "dram_bytes",
    "l2": "l2_bytes",
    "l1": "l1_bytes",
}
_WITH_FP16_PIPE = ("7.0", "7.2", "7.5", "8.0")
# An addition keeps the pipe busy as long as a multiply-add, and is half its operations.
_LEAST_FLOP_SHARE = 0.5


@dataclass(slots=True, eq=False)
class _Fractions:
    """Fractions of peak while they are put together, each of shape (resources, launches)."""

    counted: NDArray[np.float64]
    active: NDArray[np.float64]
    sm: NDArray[np.float64]
    memory: NDArray[np.float64]


def measure_usage(report: Report) -> Usage:
    """Measure how long every launch needed every resource.

    Parameters
    ----------
    report
        The report.

    Returns
    -------
    Usage
        One column per launch. A launch whose collection failed has no duration and no times.
    """
    duration = number_column(report.launches, "duration_ns")
    duration = np.where(duration > 0, duration, np.nan)
    work = _work(report)
    peaks = peak_rates(report, _WORK_COLUMNS)
    activity = measure_activity(report.store)
    fractions = _Fractions(
        _counted_fractions(work, peaks, duration),
        _matrix(activity.fraction, len(report)),
        number_column(report.launches, "sm_throughput_pct") / 100.0,
        number_column(report.launches, "memory_throughput_pct") / 100.0,
    )
    _fill_levels(fractions, report)
    best, is_counted = _best(fractions, activity)
    low, high, has_flop_counts = _flop_bounds(fractions, activity, report)
    _add_unnamed_parts(best, fractions, activity)
    ceilings = _ceilings(best, fractions, activity)
    source = np.full(best.shape, -1, dtype=np.int8)
    rate = np.full(best.shape, np.nan)
    for name in _WORK_COLUMNS:
        rate[INDEX[name]], source[INDEX[name]] = peaks.rate[name], peaks.source[name]
    with np.errstate(invalid="ignore"):
        return Usage(
            duration_ns=duration,
            time_ns=best * duration,
            is_counted=is_counted,
            work=work,
            peak_per_s=rate,
            peak_source=source,
            compute_ceiling_ns=ceilings[0] * duration,
            memory_ceiling_ns=ceilings[1] * duration,
            is_compute_complete=activity.has_all_compute_parts,
            is_memory_complete=activity.has_all_memory_parts,
            flop_low_ns=low * duration,
            flop_high_ns=high * duration,
            has_flop_counts=has_flop_counts,
            is_analytic=np.zeros(len(report), dtype=bool),
            boost_ratio=peaks.sm_clock_hz / peaks.boost_clock_hz,
        )


def _matrix(by_resource: dict[str, NDArray[np.float64]], count: int) -> NDArray[np.float64]:
    matrix = np.full((len(RESOURCES), count), np.nan)
    for name, values in by_resource.items():
        if name in INDEX:
            matrix[INDEX[name]] = values
    return matrix


def _work(report: Report) -> NDArray[np.float64]:
    """Return the counted work of each resource."""
    launches = report.launches
    columns = {name: number_column(launches, column) for name, column in _WORK_COLUMNS.items()}
    return _matrix(columns, len(report))


def _counted_fractions(
    work: NDArray[np.float64], peaks: PeakRates, duration: NDArray[np.float64]
) -> NDArray[np.float64]:
    counted = np.full(work.shape, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        for name in _WORK_COLUMNS:
            row = INDEX[name]
            fraction = work[row] / (peaks.rate[name] * duration * 1e-9)
            # No work needs no time, whatever the peak: it may be unknown for a unit not there.
            is_zero = (work[row] == 0) & ~np.isnan(duration)
            counted[row] = np.where(is_zero, 0.0, fraction)
    return counted


def _fill_levels(fractions: _Fractions, report: Report) -> None:
    """Take aggregate percentages where the parts of a level or pipe were not collected.

    ``lts__throughput`` and ``l1tex__throughput`` see more than the memory throughput does (other
    paths, active instead of elapsed cycles): neither can be busier than that. Where DRAM and L2 are
    known and below the memory throughput, it is the remaining level, L1, that it shows.
    """
    launches, active, memory = report.launches, fractions.active, fractions.memory
    _fill(active, "dram", number_column(launches, "dram_throughput_pct") / 100.0)
    _fill(active, "l2", _at_most(number_column(launches, "l2_throughput_pct") / 100.0, memory))
    _fill(active, "tensor", number_column(launches, "tensor_pipe_active_pct") / 100.0)
    l1 = _at_most(number_column(launches, "l1_throughput_pct") / 100.0, memory)
    outer = np.maximum(active[INDEX["dram"]], active[INDEX["l2"]])
    _fill(active, "l1", np.where(memory > outer * (1.0 + 1e-9), memory, l1))


def _at_most(values: NDArray[np.float64], most: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values, no larger than what is known to be the most; NaN stays NaN."""
    return np.where(values > most, most, values)


def _fill(active: NDArray[np.float64], resource: str, aggregate: NDArray[np.float64]) -> None:
    row = INDEX[resource]
    active[row] = np.where(np.isnan(active[row]), aggregate, active[row])


def _best(
    fractions: _Fractions, activity: Activity
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Choose counted work over activity, except for the caches, whose counters see more limits."""
    counted, active = fractions.counted, fractions.active
    is_counted = ~np.isnan(counted)
    for name in ("l2", "l1"):
        is_counted[INDEX[name]] &= np.isnan(active[INDEX[name]])
    best = np.where(is_counted, counted, active)
    tensor = INDEX["tensor"]
    best[tensor] = np.where(_is_tensor_counted(fractions), np.nan, active[tensor])
    _give_unexplained_fma_to_integer(best, fractions, activity)
    return best, is_counted


def _is_tensor_counted(fractions: _Fractions) -> NDArray[np.bool_]:
    """Say where the counted tensor work explains the activity of the tensor pipes."""
    counted = np.nansum(fractions.counted[: len(TENSOR)], axis=0)
    active = fractions.active[INDEX["tensor"]]
    explained: NDArray[np.bool_] = (active <= INACTIVE) | (counted >= EXPLAINED_ACTIVITY * active)
    return explained


def _give_unexplained_fma_to_integer(
    best: NDArray[np.float64], fractions: _Fractions, activity: Activity
) -> None:
    """Count the fma pipe as integer work where counted FP32 explains less than half of it."""
    if "fma" not in activity.fraction:
        return
    fma, fp32 = activity.fraction["fma"], fractions.counted[INDEX["fp32"]]
    is_unexplained = fp32 < EXPLAINED_ACTIVITY * fma
    row = INDEX["integer"]
    best[row] = np.where(is_unexplained, np.fmax(best[row], fma), best[row])


def _flop_bounds(
    fractions: _Fractions, activity: Activity, report: Report
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Bound the time for floating-point work of every pipe; say where it was counted.

    FP16 on CUDA cores is bounded as well and left out of the answer: most sets do not count it,
    and its bound tells whether it could matter.
    """
    count = fractions.sm.shape[0]
    ceiling = np.where(np.isnan(fractions.sm), np.inf, fractions.sm)
    low = np.zeros((len(FLOP_RESOURCES), count))
    high = np.zeros((len(FLOP_RESOURCES), count))
    has_all = np.ones(count, dtype=bool)
    for name in ("fp64", "fp32", "fp16"):
        row = INDEX[name]
        counted, active = fractions.counted[row], fractions.active[row]
        if name == "fp16":
            active = _fp16_activity(active, activity, report)
        most = activity.fraction.get("fma", active) if name == "fp32" else active
        share = 1.0 if name == "fp64" else 0.0 if name == "fp16" else _LEAST_FLOP_SHARE
        is_counted = ~np.isnan(counted)
        low[row] = np.where(is_counted, counted, np.nan_to_num(active) * share)
        high[row] = np.where(is_counted, counted, np.where(np.isnan(most), ceiling, most))
        if name != "fp16":
            has_all &= is_counted | (high[row] <= INACTIVE)
    tensor_low, tensor_high, has_tensor = _tensor_bounds(fractions, ceiling, report)
    low[: len(TENSOR)] = high[: len(TENSOR)] = np.nan_to_num(fractions.counted[: len(TENSOR)])
    low[INDEX["tensor"]], high[INDEX["tensor"]] = tensor_low, tensor_high
    return low, high, has_all & has_tensor


def _fp16_activity(
    active: NDArray[np.float64], activity: Activity, report: Report
) -> NDArray[np.float64]:
    """FP16 on CUDA cores: its own pipe up to 8.0, later part of what the fma pipe does."""
    code, texts = text_column(report.launches, "compute_capability")
    has_pipe = np.array([text in _WITH_FP16_PIPE for text in texts])[code]
    fma = activity.fraction.get("fma")
    return np.where(has_pipe, active, np.nan if fma is None else fma)


def _tensor_bounds(
    fractions: _Fractions, ceiling: NDArray[np.float64], report: Report
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Bound tensor work whose operations were not counted."""
    active = fractions.active[INDEX["tensor"]]
    has_all_types = _has_all_tensor_types(report)
    is_done = has_all_types | _is_tensor_counted(fractions)
    low = np.where(is_done, 0.0, np.nan_to_num(active))
    high = np.where(is_done, 0.0, np.where(np.isnan(active), ceiling, active))
    return low, high, is_done


def _has_all_tensor_types(report: Report) -> NDArray[np.bool_]:
    """Say where the operations of every data type that the architecture has were counted."""
    code, texts = text_column(report.launches, "compute_capability")
    complete = np.zeros(len(report), dtype=bool)
    for i, text in enumerate(texts):
        columns = {path.column for path in tensor_paths_of(text or "")}
        if columns:
            known = [~np.isnan(number_column(report.launches, column)) for column in columns]
            complete |= (code == i) & np.all(known, axis=0)
    return complete


def _add_unnamed_parts(
    best: NDArray[np.float64], fractions: _Fractions, activity: Activity
) -> None:
    """Show the busiest part of a side under the side's name where the parts are not known.

    The parts of ``sm__throughput`` on the way to memory are mirrored in the memory throughput, so
    that an SM throughput above everything on the memory side is one of a compute part.
    """
    known = np.nan_to_num(_largest(best, IS_COMPUTE)), np.nan_to_num(_largest(best, IS_MEMORY))
    memory = np.fmax(fractions.memory, _largest(best, IS_MEMORY))
    is_unnamed = ~activity.has_all_compute_parts & (fractions.sm > memory * (1.0 + 1e-9))
    is_unnamed &= fractions.sm > known[0] * EXPLAINED_AGGREGATE
    best[INDEX["sm"]] = np.where(is_unnamed, fractions.sm, np.nan)
    is_unnamed = ~activity.has_all_memory_parts
    is_unnamed &= fractions.memory > known[1] * EXPLAINED_AGGREGATE
    row = INDEX["memory"]
    best[row] = np.where(is_unnamed, np.fmax(best[row], fractions.memory), best[row])


def _largest(best: NDArray[np.float64], of_side: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the largest known value of a side, NaN where none is known. Shape (launches,)."""
    rows = best[of_side]
    largest = np.where(np.isnan(rows), -np.inf, rows).max(axis=0)
    return np.where(np.isfinite(largest), largest, np.nan)


def _ceilings(
    best: NDArray[np.float64], fractions: _Fractions, activity: Activity
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    compute = _largest(best, IS_COMPUTE)
    memory = _largest(best, IS_MEMORY)
    unknown = np.inf
    compute_ceiling = np.where(
        activity.has_all_compute_parts,
        compute,
        np.where(np.isnan(fractions.sm), unknown, np.fmax(compute, fractions.sm)),
    )
    memory_ceiling = np.where(
        activity.has_all_memory_parts,
        memory,
        np.where(np.isnan(fractions.memory), unknown, np.fmax(memory, fractions.memory)),
    )
    return compute_ceiling, memory_ceiling
