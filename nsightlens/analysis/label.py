"""The rules: from the usage of resources to bound, limiter, regime, evidence and confidence.

Pure functions over columns. A row is a launch or a group; the same rules apply. Each side of the
comparison is an interval: what was measured, and the ceiling of what was not. A side wins only when
what was measured of it is at least the ceiling of the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsightlens.analysis import thresholds
from nsightlens.analysis.usage import FLOP_RESOURCES, INDEX, IS_COMPUTE, IS_MEMORY, Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "BOUNDS",
    "CONFIDENCES",
    "EVIDENCES",
    "REGIMES",
    "Decision",
    "classical_bound",
    "counted_flop",
    "decide",
    "flat_roof",
    "largest_flop",
    "side_maximum",
    "side_values",
]

BOUNDS = ("unknown", "memory", "compute")
REGIMES = ("unknown", "saturated", "latency", "small_grid", "balanced")
EVIDENCES = ("none", "analytic", "throughput", "counters")
CONFIDENCES = ("none", "low", "medium", "high")
UNKNOWN, MEMORY, COMPUTE = range(3)
NONE, ANALYTIC, THROUGHPUT, COUNTERS = range(4)


class Decision(NamedTuple):
    """What the rules say, one value per row; codes are indices into the tuples of this module.

    Parameters
    ----------
    bound, roofline_bound
        Code into `BOUNDS`.
    limiter
        Row of `RESOURCES` with the largest roofline time on the side that bounds; -1 where
        ``bound`` is unknown.
    limiter_fraction
        [1] Its roofline time over the duration, or the share of the duration in which its pipe was
        active where that is more.
    compute, memory
        [1] Largest known fraction of each side; NaN where none is known.
    compute_ceiling, memory_ceiling
        [1] Nothing on that side can have been busier; infinite where nothing bounds it.
    flop_low, flop_high
        [1] Bounds of the largest share of the duration that operations of one type needed.
    flop_resource
        Row of `FLOP_RESOURCES` with the largest time; -1 where not every type was counted.
    bound_ratio
        [1] Time for floating-point and tensor work over time for DRAM bytes; NaN where the former
        is not known to a few percent.
    arithmetic_intensity, ridge_point, ridge_point_boost
        [FLOP/B]
    clock_dependent
        Compute-bound by the roofline of the report, memory-bound by that of the boost clock; NaN
        where either is unknown.
    regime
        Code into `REGIMES`.
    evidence
        Code into `EVIDENCES`.
    """

    bound: NDArray[np.int8]
    roofline_bound: NDArray[np.int8]
    limiter: NDArray[np.intp]
    limiter_fraction: NDArray[np.float64]
    compute: NDArray[np.float64]
    memory: NDArray[np.float64]
    compute_ceiling: NDArray[np.float64]
    memory_ceiling: NDArray[np.float64]
    flop_low: NDArray[np.float64]
    flop_high: NDArray[np.float64]
    flop_resource: NDArray[np.intp]
    bound_ratio: NDArray[np.float64]
    arithmetic_intensity: NDArray[np.float64]
    ridge_point: NDArray[np.float64]
    ridge_point_boost: NDArray[np.float64]
    clock_dependent: NDArray[np.float64]
    regime: NDArray[np.int8]
    evidence: NDArray[np.int8]


def decide(usage: Usage, waves: NDArray[np.float64]) -> Decision:
    """Apply the rules to every row.

    Parameters
    ----------
    usage
        Roofline times and their bounds.
    waves
        [wave] Waves per multiprocessor, or something that is below 1 exactly where they are; NaN
        where that is unknown. Shape (n,).

    Returns
    -------
    Decision
        ``bound`` is unknown wherever the metrics do not decide it.

    Notes
    -----
    ``t_r = work_r / peak_r``; ``limiter = argmax t_r``; ``bound`` is its side. The classical answer
    compares ``t_C``, the maximum over tensor, fp64, fp32 and fp16, with ``t_dram``: for one data
    type, arithmetic intensity with the ridge point (Williams, Waterman and Patterson, 2009).
    """
    fraction = usage.fraction()
    compute, memory = side_maximum(fraction, IS_COMPUTE), side_maximum(fraction, IS_MEMORY)
    with np.errstate(divide="ignore", invalid="ignore"):
        compute_ceiling = _ceiling(usage.compute_ceiling_ns / usage.duration_ns)
        memory_ceiling = _ceiling(usage.memory_ceiling_ns / usage.duration_ns)
    bound = _bound(compute, memory, compute_ceiling, memory_ceiling)
    limiter = _limiter(fraction, bound)
    rows = np.arange(len(usage))
    flop = _FlopTime(usage.flop_low_ns.max(axis=0), usage.flop_high_ns.max(axis=0))
    flop_resource = largest_flop(usage)
    roofline = _roofline_bound(flop, usage)
    ridge = _quotient(flat_roof(usage, flop_resource), usage.peak_per_s[INDEX["dram"]])
    top = np.fmax(compute, memory)
    return Decision(
        bound=bound,
        roofline_bound=roofline,
        limiter=limiter,
        limiter_fraction=np.where(limiter < 0, np.nan, fraction[limiter, rows]),
        compute=compute,
        memory=memory,
        compute_ceiling=compute_ceiling,
        memory_ceiling=memory_ceiling,
        flop_low=_quotient(flop.low, usage.duration_ns),
        flop_high=_quotient(flop.high, usage.duration_ns),
        flop_resource=flop_resource,
        bound_ratio=np.where(
            flop.is_exact & (roofline != UNKNOWN), _quotient(flop.low, usage.dram_ns), np.nan
        ),
        arithmetic_intensity=_quotient(counted_flop(usage), usage.work[INDEX["dram"]]),
        ridge_point=ridge,
        ridge_point_boost=_quotient(ridge, usage.boost_ratio),
        clock_dependent=_clock_dependent(roofline, flop, usage),
        regime=_regime(
            top,
            np.maximum(compute_ceiling, memory_ceiling),
            _apart(usage, (compute, memory), (compute_ceiling, memory_ceiling)),
            waves,
        ),
        evidence=_evidence(usage, bound, roofline),
    )


def side_maximum(fraction: NDArray[np.float64], of_side: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the largest known value among some resources, NaN where none is known.

    Parameters
    ----------
    fraction
        Shape (R, n).
    of_side
        The resources that count. Shape (R,).

    Returns
    -------
    numpy.ndarray
        Shape (n,).
    """
    rows = fraction[of_side]
    largest = np.where(np.isnan(rows), -np.inf, rows).max(axis=0)
    return np.where(np.isfinite(largest), largest, np.nan)


def side_values(
    usage: Usage,
    known: tuple[NDArray[np.float64], NDArray[np.float64]],
    ceilings: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how busy each side is taken to be when the two are compared for closeness [1].

    That is the busiest of its parts where all are known, and its maximum where only that is.

    Parameters
    ----------
    usage
        Says where all parts are known.
    known, ceilings
        [1] Of compute and of memory, as in `Decision`. Each of shape (n,).
    """
    complete = (usage.is_compute_complete, usage.is_memory_complete)
    compute, memory = (
        np.where(~has_all & np.isfinite(ceiling), ceiling, value)
        for value, ceiling, has_all in zip(known, ceilings, complete, strict=True)
    )
    return compute, memory


def _apart(
    usage: Usage,
    known: tuple[NDArray[np.float64], NDArray[np.float64]],
    ceilings: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Return how far apart the two sides are [1], NaN where it is not known.

    Equal maxima are those of one part, which both have: they do not say how busy the other side is.
    """
    compute, memory = side_values(usage, known, ceilings)
    is_one = ~usage.is_compute_complete & (np.abs(compute - memory) <= thresholds.TIE * memory)
    return np.abs(np.where(is_one, known[0], compute) - memory)


def _ceiling(fraction: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isnan(fraction), np.inf, fraction)


def _quotient(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide, NaN where the divisor is not positive or too small to divide by."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        quotient = np.where(b > 0, a / b, np.nan)
    return np.where(np.isfinite(quotient), quotient, np.nan)


def _bound(
    compute: NDArray[np.float64],
    memory: NDArray[np.float64],
    compute_ceiling: NDArray[np.float64],
    memory_ceiling: NDArray[np.float64],
) -> NDArray[np.int8]:
    # Equal percentages of both aggregates are those of the one part that they share, the way from
    # the SM to L1, which is on the memory side: a tie is memory's, also with what is not known.
    is_memory = (memory > 0) & _is_at_least(memory, compute_ceiling)
    is_compute = (compute > 0) & ~_is_at_least(memory_ceiling, compute)
    return np.where(is_memory, MEMORY, np.where(is_compute, COMPUTE, UNKNOWN)).astype(np.int8)


def _limiter(fraction: NDArray[np.float64], bound: NDArray[np.int8]) -> NDArray[np.intp]:
    on_side = np.where(bound == MEMORY, IS_MEMORY[:, None], IS_COMPUTE[:, None])
    candidates = np.where(on_side & ~np.isnan(fraction), fraction, -np.inf)
    return np.where(bound == UNKNOWN, -1, _first_largest(candidates))


def _first_largest(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the first row with the largest value, or with one that rounding parts from it."""
    first: NDArray[np.intp] = _is_at_least(values, values.max(axis=0)).argmax(axis=0)
    return first


def _is_at_least(a: NDArray[np.float64], b: NDArray[np.float64] | float) -> NDArray[np.bool_]:
    at_least: NDArray[np.bool_] = a * (1.0 + thresholds.TIE) >= b
    return at_least


class _FlopTime(NamedTuple):
    """Bounds of the largest time [ns] that operations of one type needed. Shape (n,)."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def is_exact(self) -> NDArray[np.bool_]:
        exact: NDArray[np.bool_] = self.high <= self.low * thresholds.EXPLAINED_AGGREGATE
        return exact


def largest_flop(usage: Usage) -> NDArray[np.intp]:
    """Return the row of the data type with the largest time, -1 where not all were counted."""
    counted = np.nan_to_num(usage.flop_ns)
    # With no floating-point work at all the roof that stands for it is that of FP32.
    resource = np.where(counted.max(axis=0) == 0, INDEX["fp32"], _first_largest(counted))
    # FP16 that was not counted may need more.
    low, high = usage.flop_low_ns.max(axis=0), usage.flop_high_ns[INDEX["fp16"]]
    is_other = (usage.uncounted_flop > 0) & (high > low * thresholds.EXPLAINED_AGGREGATE)
    return np.where(usage.has_flop_counts & ~is_other, resource, -1)


def classical_bound(
    flop_low_ns: NDArray[np.float64],
    flop_high_ns: NDArray[np.float64],
    level_ns: NDArray[np.float64],
) -> NDArray[np.int8]:
    """Compare the time for floating-point work with that for the bytes of a memory level.

    Parameters
    ----------
    flop_low_ns, flop_high_ns
        [ns] Bounds of the largest roofline time of one data type. Shape (n,).
    level_ns
        [ns] Roofline time of the bytes; NaN where unknown. Shape (n,).

    Returns
    -------
    numpy.ndarray
        Codes into `BOUNDS`, unknown where the bounds do not decide. Shape (n,).
    """
    is_memory = (level_ns > 0) & ~_is_at_least(flop_high_ns, level_ns) & ~np.isnan(flop_high_ns)
    is_compute = (flop_low_ns > 0) & _is_at_least(flop_low_ns, level_ns)
    return np.where(is_memory, MEMORY, np.where(is_compute, COMPUTE, UNKNOWN)).astype(np.int8)


def _roofline_bound(flop: _FlopTime, usage: Usage) -> NDArray[np.int8]:
    """Return the classical answer; where bytes were not counted, the one that holds for all.

    A percentage of the DRAM peak is the largest of several counters, so that there may have been
    fewer bytes, down to where the two contradict each other.
    """
    overstated = np.where(usage.is_dram_counted, 1.0, thresholds.DISAGREEMENT)
    by_most, by_least = (
        classical_bound(flop.low, flop.high, dram_ns)
        for dram_ns in (usage.dram_ns, usage.dram_ns / overstated)
    )
    return np.where(by_most == by_least, by_most, UNKNOWN).astype(np.int8)


def _clock_dependent(
    roofline: NDArray[np.int8], flop: _FlopTime, usage: Usage
) -> NDArray[np.float64]:
    stays = (roofline == MEMORY) | _is_at_least(flop.low * usage.boost_ratio, usage.dram_ns)
    turns = (roofline == COMPUTE) & ~_is_at_least(flop.high * usage.boost_ratio, usage.dram_ns)
    is_unknown = (roofline == UNKNOWN) | np.isnan(usage.boost_ratio) | ~(stays | turns)
    return np.where(is_unknown, np.nan, turns)


def counted_flop(usage: Usage) -> NDArray[np.float64]:
    """Return the operations of every data type [FLOP], NaN where some were not counted.

    FP16 on CUDA cores may be left out where there cannot be much of it.
    """
    work = usage.work[: len(FLOP_RESOURCES)]
    total = np.nansum(work, axis=0)
    is_known = usage.has_flop_counts & ~np.isnan(work).all(axis=0)
    is_known &= total + usage.uncounted_flop <= total * thresholds.DISAGREEMENT
    return np.where(is_known, total, np.nan)


def flat_roof(usage: Usage, flop_resource: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the peak [FLOP/s] of the data type with the largest time, NaN where it is not one."""
    rows = np.arange(len(usage))
    peak = usage.peak_per_s[flop_resource, rows]
    # Between two peaks there is no one ridge.
    low, high = (one[flop_resource, rows] for one in (usage.flop_low_ns, usage.flop_high_ns))
    is_open = (high > low * thresholds.EXPLAINED_AGGREGATE) & ~usage.is_analytic
    return np.where((flop_resource < 0) | is_open, np.nan, peak)


def _regime(
    top: NDArray[np.float64],
    ceiling: NDArray[np.float64],
    apart: NDArray[np.float64],
    waves: NDArray[np.float64],
) -> NDArray[np.int8]:
    is_busy = _is_at_least(top, thresholds.BUSY)
    is_idle = ~_is_at_least(ceiling, thresholds.BUSY) & ~np.isnan(ceiling)
    is_balanced = (
        is_busy
        & ~_is_at_least(top, thresholds.SATURATED)
        & ~_is_at_least(apart, thresholds.BALANCE_MARGIN)
        & ~np.isnan(apart)
    )
    is_small = waves < thresholds.FULL_WAVE
    code = np.select(
        [is_balanced, is_busy, is_idle & is_small, is_idle],
        [REGIMES.index(name) for name in ("balanced", "saturated", "small_grid", "latency")],
        default=UNKNOWN,
    )
    return code.astype(np.int8)


def _evidence(
    usage: Usage, bound: NDArray[np.int8], roofline: NDArray[np.int8]
) -> NDArray[np.int8]:
    has_counters = usage.has_flop_counts & usage.is_dram_counted & (roofline != UNKNOWN)
    has_counters &= usage.is_analytic | ~np.isnan(counted_flop(usage))
    code = np.where(usage.is_analytic, ANALYTIC, np.where(has_counters, COUNTERS, THROUGHPUT))
    return np.where(bound == UNKNOWN, NONE, code).astype(np.int8)
