"""From a report to `Usage`: counted work where there is some, else activity, else bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.analysis.activity import measure_activity
from nsightlens.analysis.context import lacks_dram_counters
from nsightlens.analysis.fma import fma_pipe
from nsightlens.analysis.label import side_maximum
from nsightlens.analysis.mio import attribute_mio
from nsightlens.analysis.pipes import Fractions, busiest, flop_work
from nsightlens.analysis.thresholds import EXPLAINED_AGGREGATE, INACTIVE, TIE, UNMIRRORED
from nsightlens.analysis.usage import (
    INDEX,
    IS_COMPUTE,
    IS_MEMORY,
    RESOURCES,
    TENSOR,
    Usage,
)
from nsightlens.devices import peak_rates
from nsightlens.devices.columns import first_known, metric, number_column, text_column
from nsightlens.devices.overrides import NO_OVERRIDES
from nsightlens.devices.peaks import dram_clock_share
from nsightlens.metrics.catalog import VOLTA
from nsightlens.metrics.tensor import tensor_paths_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.analysis.activity import Activity
    from nsightlens.devices import PeakOverrides
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
_LOAD_STORE_PIPE = "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed"


def measure_usage(report: Report, overrides: PeakOverrides = NO_OVERRIDES) -> Usage:
    """Measure how long every launch needed every resource.

    Parameters
    ----------
    report
        The report.
    overrides
        What the user says of the device.

    Returns
    -------
    Usage
        One column per launch. A launch whose collection failed has no duration and no times.
    """
    duration = number_column(report.launches, "duration_ns")
    duration = np.where(duration > 0, duration, np.nan)
    work = _work(report)
    peaks = peak_rates(report, _WORK_COLUMNS, overrides)
    activity = measure_activity(report.store)
    counted = [_fractions_of(rate, work, duration) for rate in (peaks.rate, peaks.lowest)]
    fractions = _fractions(report, activity, counted[0], counted[1])
    busy, is_counted = busiest(fractions)
    way_to_l1 = _way_to_l1_over_memory(report)
    undecided = _add_mio(busy, is_counted, fractions, activity, way_to_l1)
    _add_unnamed_parts(busy, fractions, activity, way_to_l1)
    has_no_dram = _may_lack_dram_counters(report) & np.isnan(busy[INDEX["dram"]])
    activity = activity._replace(has_all_memory_parts=activity.has_all_memory_parts & ~has_no_dram)
    compute, memory = _ceilings(busy, fractions, activity)
    # What L1 takes in from an unmeasured load/store pipe is not all that the pipe is busy with.
    memory = np.fmax(memory, np.fmin(fractions.sm, memory * (way_to_l1 - TIE)))
    # The memory throughput of a GPU without counters for DRAM says nothing of DRAM.
    memory = np.where(has_no_dram, np.inf, np.fmax(memory, undecided))
    compute = np.fmax(compute, undecided)
    flop = flop_work(fractions)
    dram = INDEX["dram"]
    is_dram_counted = ~np.isnan(fractions.counted[dram])
    dram_share = np.where(is_dram_counted, fractions.counted[dram], busy[dram])
    source = np.full(busy.shape, -1, dtype=np.int8)
    rate = np.full(busy.shape, np.nan)
    is_assumed = np.zeros(busy.shape, dtype=bool)
    for name in _WORK_COLUMNS:
        rate[INDEX[name]], source[INDEX[name]] = peaks.rate[name], peaks.source[name]
        is_assumed[INDEX[name]] = peaks.is_assumed[name]
    with np.errstate(invalid="ignore"):
        return Usage(
            duration_ns=duration,
            time_ns=busy * duration,
            is_counted=is_counted,
            is_of_active_cycles=_is_of_active_cycles(report, busy) & ~is_counted,
            work=work,
            peak_per_s=rate,
            peak_source=source,
            is_peak_assumed=is_assumed,
            compute_ceiling_ns=compute * duration,
            memory_ceiling_ns=memory * duration,
            is_compute_complete=activity.has_all_compute_parts,
            is_memory_complete=activity.has_all_memory_parts,
            flop_ns=flop.counted * duration,
            flop_low_ns=flop.low * duration,
            flop_high_ns=flop.high * duration,
            flop_most_ns=flop.most * duration,
            has_flop_counts=flop.has_counts,
            uncounted_flop=_uncounted_flop(flop.high, work, rate, duration),
            dram_ns=np.where(peaks.is_partition, np.nan, dram_share) * duration,
            dram_percent_ns=fractions.active[dram] * duration,
            is_dram_counted=is_dram_counted,
            is_partition=peaks.is_partition,
            is_analytic=np.zeros(len(report), dtype=bool),
            boost_ratio=peaks.sm_clock_hz / peaks.boost_clock_hz,
        )


def _uncounted_flop(
    most: NDArray[np.float64],
    work: NDArray[np.float64],
    peak: NDArray[np.float64],
    duration_ns: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the most that FP16 on CUDA cores can have done uncounted [FLOP]. Shape (n,)."""
    row = INDEX["fp16"]
    is_out = ~np.isnan(work[row]) | (most[row] <= INACTIVE) | np.isnan(duration_ns)
    with np.errstate(invalid="ignore"):
        flop = most[row] * peak[row] * duration_ns * 1e-9
    return np.where(is_out, 0.0, np.where(np.isnan(flop), np.inf, flop))


def _fractions(
    report: Report,
    activity: Activity,
    counted: NDArray[np.float64],
    counted_most: NDArray[np.float64],
) -> Fractions:
    count = len(report)
    code, texts = text_column(report.launches, "compute_capability")
    fractions = Fractions(
        counted=counted,
        counted_most=counted_most,
        active=_matrix(activity.fraction, count),
        fma=fma_pipe(activity.fma, activity.fma_heavy, code, texts),
        sm=number_column(report.launches, "sm_throughput_pct") / 100.0,
        memory=number_column(report.launches, "memory_throughput_pct") / 100.0,
        has_all_tensor_types=_has_all_tensor_types(report),
    )
    _fill_levels(fractions, report)
    return fractions


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
    # A GPU that shares its memory with the CPU does not count DRAM: what L2 misses comes from it.
    traffic = number_column(launches, "l2_memory_bytes")
    stand_in = np.where(lacks_dram_counters(launches), traffic, np.nan)
    columns["dram"] = first_known(columns["dram"], stand_in)
    return _matrix(columns, len(report))


def _fractions_of(
    rate: dict[str, NDArray[np.float64]], work: NDArray[np.float64], duration: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return counted work over what a rate would do in the duration; NaN where it is unknown."""
    counted = np.full(work.shape, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        for name in _WORK_COLUMNS:
            row = INDEX[name]
            fraction = work[row] / (rate[name] * duration * 1e-9)
            # No work needs no time, whatever the peak: it may be unknown for a unit not there.
            is_zero = (work[row] == 0) & ~np.isnan(duration)
            counted[row] = np.where(is_zero, 0.0, fraction)
    return counted


def _fill_levels(fractions: Fractions, report: Report) -> None:
    """Take aggregate percentages where the parts of a level or pipe were not collected.

    ``lts__throughput`` and ``l1tex__throughput`` see more than the memory throughput does (other
    paths, active instead of elapsed cycles): neither can be busier than that. Where DRAM and L2 are
    known and below the memory throughput, it is the remaining level, L1, that it shows; but not
    where L1 was less busy than that even in its active cycles: then it is something else.
    """
    launches, active, memory = report.launches, fractions.active, fractions.memory
    _fill(active, "dram", number_column(launches, "dram_throughput_pct") / 100.0)
    active[INDEX["dram"]] *= dram_clock_share(report)
    _fill(active, "l2", _at_most(number_column(launches, "l2_throughput_pct") / 100.0, memory))
    _fill(active, "tensor", number_column(launches, "tensor_pipe_active_pct") / 100.0)
    in_active_cycles = number_column(launches, "l1_throughput_pct") / 100.0
    outer = np.maximum(active[INDEX["dram"]], active[INDEX["l2"]])
    is_shown = (memory > outer * (1.0 + TIE)) & ~(in_active_cycles * (1.0 + TIE) < memory)
    _fill(active, "l1", np.where(is_shown, memory, _at_most(in_active_cycles, memory)))


def _is_of_active_cycles(report: Report, busy: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say where a share of active cycles had to stand for one of elapsed cycles. Shape (R, n)."""
    launches = report.launches
    is_active = np.zeros(busy.shape, dtype=bool)
    origin = report.column_origins["tensor_pipe_active_pct"].cast(pa.string())
    of_active = pc.fill_null(pc.ends_with(origin, "peak_sustained_active"), False)
    candidates = {
        "tensor": (number_column(launches, "tensor_pipe_active_pct"), np.asarray(of_active)),
        "l1": (
            number_column(launches, "l1_throughput_pct"),
            np.isnan(number_column(launches, "memory_throughput_pct")),
        ),
    }
    for name, (percentage, holds) in candidates.items():
        # The activity of a resource may come from other counters, of elapsed cycles.
        is_active[INDEX[name]] = holds & (busy[INDEX[name]] == percentage / 100.0)
    return is_active


def _at_most(values: NDArray[np.float64], most: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values, no larger than what is known to be the most; NaN stays NaN."""
    return np.where(values > most, most, values)


def _fill(active: NDArray[np.float64], resource: str, aggregate: NDArray[np.float64]) -> None:
    row = INDEX[resource]
    active[row] = np.where(np.isnan(active[row]), aggregate, active[row])


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


def _may_lack_dram_counters(report: Report) -> NDArray[np.bool_]:
    """Say where the GPU has no counters for DRAM, or is not known and may have none."""
    code, texts = text_column(report.launches, "compute_capability")
    is_unknown = np.array([text is None for text in texts])[code]
    may_lack: NDArray[np.bool_] = lacks_dram_counters(report.launches) | is_unknown
    return may_lack


def _way_to_l1_over_memory(report: Report) -> NDArray[np.float64]:
    """Return how many times the memory throughput the unmeasured way to L1 can be busy [1].

    From 7.5 on the load/store pipe of the SM is as busy as what L1 takes in, which is a part of the
    memory throughput. Before, it can be busier. The MIO is not of that way: where it is busier than
    memory access it is so with something else, see `nsightlens.analysis.mio`.
    """
    code, texts = text_column(report.launches, "compute_capability")
    # A chip that is not known may be one.
    is_volta = np.array([text is None or text in VOLTA for text in texts])[code]
    is_measured = ~np.isnan(metric(report.store, _LOAD_STORE_PIPE))
    return np.where(is_volta & ~is_measured, UNMIRRORED, 1.0 + TIE)


def _add_mio(
    busy: NDArray[np.float64],
    is_counted: NDArray[np.bool_],
    fractions: Fractions,
    activity: Activity,
    way_to_l1: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Give the activity of the MIO to what explains it; return what may be of either side [1]."""
    unknown = np.full(len(way_to_l1), np.nan)
    access = activity.fraction.get("l1", unknown)
    has_all = activity.has_all_compute_parts & activity.has_all_memory_parts
    # What was not measured of memory access is a part of the memory throughput, but for a factor.
    most = np.fmax(
        access, np.where(np.isnan(fractions.memory), np.inf, fractions.memory * way_to_l1)
    )
    mio = attribute_mio(activity.mio, busy, access, np.where(has_all, access, most))
    rows = np.flatnonzero(mio.resource >= 0)
    busy[mio.resource[rows], rows] = activity.mio[rows]
    is_counted[mio.resource[rows], rows] = False
    return mio.undecided


def _add_unnamed_parts(
    busy: NDArray[np.float64],
    fractions: Fractions,
    activity: Activity,
    way_to_l1: NDArray[np.float64],
) -> None:
    """Show the busiest part of a side under the side's name where the parts are not known.

    The parts of ``sm__throughput`` on the way to memory are mirrored in the memory throughput, but
    for a factor: an SM throughput above that on the memory side is one of a compute part.
    """
    known = (
        np.nan_to_num(side_maximum(busy, IS_COMPUTE)),
        np.nan_to_num(side_maximum(busy, IS_MEMORY)),
    )
    memory = np.fmax(fractions.memory, side_maximum(busy, IS_MEMORY))
    is_unnamed = ~activity.has_all_compute_parts & (fractions.sm > memory * way_to_l1)
    is_unnamed &= fractions.sm > known[0] * EXPLAINED_AGGREGATE
    busy[INDEX["sm"]] = np.where(is_unnamed, fractions.sm, np.nan)
    is_unnamed = ~activity.has_all_memory_parts
    is_unnamed &= fractions.memory > known[1] * EXPLAINED_AGGREGATE
    row = INDEX["memory"]
    busy[row] = np.where(is_unnamed, np.fmax(busy[row], fractions.memory), busy[row])


def _ceilings(
    busy: NDArray[np.float64], fractions: Fractions, activity: Activity
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    compute = side_maximum(busy, IS_COMPUTE)
    memory = side_maximum(busy, IS_MEMORY)
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
