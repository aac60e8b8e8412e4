"""How far a label can be trusted, and what lowers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from nsightlens.analysis import thresholds
from nsightlens.analysis.label import (
    ANALYTIC,
    COMPUTE,
    CONFIDENCES,
    MEMORY,
    THROUGHPUT,
    UNKNOWN,
    Decision,
    classical_bound,
    side_values,
)
from nsightlens.analysis.phrase import choose, concat, digits, percent, sentence, when
from nsightlens.analysis.resource_words import RESOURCE_WORDS
from nsightlens.analysis.resources import SOURCES, source_codes
from nsightlens.analysis.usage import FLOP_RESOURCES, INDEX, TENSOR, Usage
from nsightlens.arrays import number_array
from nsightlens.devices import PEAK_SOURCES
from nsightlens.metrics.catalog import MEASURED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.analysis.context import Context

__all__ = ["Confidence", "Lowering", "assess"]

HIGH = CONFIDENCES.index("high")
LOW = CONFIDENCES.index("low")


def _section(column: str) -> str:
    return f"--section {MEASURED[column].sections[0]}"


_TENSOR_SECTION = _section("tensor_fp16_flop_count")
_NO_FP16 = f"FP16 on CUDA cores was not counted, add {_section('fp16_flop_count')}"
_NO_TENSOR = f"their operations were not counted, add {_TENSOR_SECTION}"
_NO_PEAK = "the peak of the instructions that did the work is not known"
_BY_TRAFFIC = "DRAM is by L2-to-memory traffic: this GPU has no DRAM counters"
_PARTITION = "the GPU is a part of one (MIG), and its share of the DRAM peak is not known"
_COUNTED_TYPES = [row for row, name in enumerate(FLOP_RESOURCES) if name not in ("tensor", "fp16")]
_NO_BYTES = f"DRAM bytes were not counted, add {_section('dram_bytes')}"
_NO_FLOP = f"FLOP were not counted, add {_section('fp32_flop_count')}"


class Lowering(NamedTuple):
    """One thing that lowers confidence: where it holds, by how many steps, and its clause.

    ``text`` is as `nsightlens.analysis.phrase.when` takes it.
    """

    holds: NDArray[np.bool_]
    steps: int
    text: Any


class Confidence(NamedTuple):
    """Level of each row, as a code into `CONFIDENCES`, and the clauses of what lowered it.

    ``causes`` is a text column, null where nothing did.
    """

    level: NDArray[np.int8]
    causes: Any


def assess(usage: Usage, decision: Decision, context: Context) -> Confidence:
    """Assess every label: high, and lower by what speaks against it; none without a label."""
    lowerings = _lowerings(usage, decision, context)
    steps = np.sum([np.where(one.holds, one.steps, 0) for one in lowerings], axis=0)
    level = np.maximum(HIGH - steps, LOW)
    is_unknown = decision.bound == UNKNOWN
    causes = sentence(
        *(when(one.holds & ~is_unknown, one.text) for one in lowerings), separator=", "
    )
    return Confidence(np.where(is_unknown, 0, level).astype(np.int8), causes)


def _lowerings(usage: Usage, decision: Decision, context: Context) -> list[Lowering]:
    top = np.fmax(decision.compute, decision.memory)
    known_sides = decision.compute, decision.memory
    ceilings = decision.compute_ceiling, decision.memory_ceiling
    compute, memory = side_values(usage, known_sides, ceilings)
    other = np.minimum(compute, memory)
    fraction = usage.fraction()
    known = np.where(np.isnan(fraction), 0.0, fraction)
    busiest, most = known.argmax(axis=0), known.max(axis=0)
    # A tensor pipe that may have done more than every pipe whose work was counted.
    tensor_active = fraction[INDEX["tensor"]]
    is_tensor = (usage.flop_high_ns.argmax(axis=0) <= INDEX["tensor"]) & (tensor_active > 0)
    has_tensor_work = np.asarray((usage.work[: len(TENSOR)] > 0).any(axis=0))
    # All but FP16 on CUDA cores was counted, and the classical answer holds with any of it.
    is_fp16_alone = usage.has_flop_counts & usage.is_dram_counted
    is_fp16_alone &= decision.roofline_bound != UNKNOWN
    is_unnamed = (decision.limiter == INDEX["sm"]) | (decision.limiter == INDEX["memory"])
    is_by_traffic = context.lacks_dram_counters & usage.is_dram_counted
    evidence = decision.evidence
    open_share = context.number["open_fraction"]
    return [
        Lowering(
            most > thresholds.CONTRADICTION,
            2,
            lambda: concat(choose(busiest, RESOURCE_WORDS), " at ", percent(most),
                   " of its peak", _source(usage, busiest), " cannot be"),
        ),
        *_too_idle(top, context),
        *_disagreements(usage),
        Lowering(
            (other / np.where(top > 0, top, np.nan)) > thresholds.CLOSE_SIDES,
            1,
            lambda: concat("compute at ", _up_to(decision.compute, compute), percent(compute),
                   " and memory at ", _up_to(decision.memory, memory), percent(memory),
                   " are close"),
        ),
        Lowering(is_unnamed, 1, "the parts of the busiest unit were not collected"),
        Lowering(
            (evidence == THROUGHPUT) & is_tensor & ~is_fp16_alone,
            1,
            lambda: concat("tensor pipes are active for ", percent(tensor_active), " and ",
                   pc.if_else(number_array(has_tensor_work), _NO_PEAK, _NO_TENSOR)),
        ),
        Lowering(
            # A GPU without DRAM counters can do no better.
            (evidence == THROUGHPUT) & (decision.roofline_bound == UNKNOWN) & ~is_tensor
            & ~context.lacks_dram_counters,
            1,
            lambda: _why_roofline_is_open(usage),
        ),
        Lowering(evidence == ANALYTIC, 1, "work is that of the annotated shapes, not measured"),
        Lowering(is_by_traffic, 1, _BY_TRAFFIC),
        Lowering(
            context.lacks_dram_counters & np.isnan(usage.time_ns[INDEX["dram"]])
            & (evidence == THROUGHPUT),
            1,
            "how busy DRAM was is not known",
        ),
        Lowering(
            # The bandwidth of such a GPU is known from nowhere else.
            _is_limited_by_data_sheet(usage, decision) & ~is_by_traffic,
            1,
            lambda: pc.if_else(
                number_array(decision.bound == MEMORY),
                "the DRAM peak is that of the data sheet",
                "the peak is that of the data sheet at boost clock",
            ),
        ),
        *_assumed_peaks(usage, decision),
        Lowering(
            (open_share > thresholds.OPEN_SHARE) & (open_share < 1),
            1,
            lambda: concat(percent(open_share), " of the time was not measured"),
        ),
        Lowering(
            _is_of_active_cycles(usage, decision),
            1,
            lambda: concat("the percentage of ", choose(decision.limiter, RESOURCE_WORDS),
                   " is one of active cycles, the others are of elapsed ones"),
        ),
        Lowering(context.has_other_clock, 1, "the SM clock differs from the rest of the report"),
        Lowering(
            context.has_other_dram_clock, 1, "the DRAM clock differs from the rest of the report"
        ),
        Lowering(
            context.lost_metric_count > 0,
            1,
            lambda: concat(digits(context.lost_metric_count),
                   " metrics have no value, for a pass failed"),
        ),
        Lowering(context.is_unsupported, 1, "ncu does not support this device"),
    ]  # fmt: skip


def _up_to(known: NDArray[np.float64], value: NDArray[np.float64]) -> Any:
    """Say where a side is taken to be busier than what is known of it."""
    is_most = ~(known * (1.0 + thresholds.TIE) >= value)
    return pc.if_else(number_array(is_most), "up to ", "")


def _source(usage: Usage, resource: NDArray[np.intp]) -> Any:
    """Say where the peak of one resource in each row comes from, if it is not a percentage."""
    words = tuple(
        "" if name == "percent_of_peak" else f" (peak: {name.replace('_', ' ')})"
        for name in SOURCES
    )
    return choose(source_codes(usage)[resource, np.arange(len(usage))], words)


def _is_of_active_cycles(usage: Usage, decision: Decision) -> NDArray[np.bool_]:
    is_active: NDArray[np.bool_] = usage.is_of_active_cycles[
        decision.limiter, np.arange(len(usage))
    ]
    return is_active & (decision.limiter >= 0)


def _why_roofline_is_open(usage: Usage) -> Any:
    """Say what the classical roofline lacks."""
    has_dram = ~np.isnan(usage.dram_ns)
    has_some = ~np.isnan(usage.time_ns[INDEX["dram"]])
    # Counted with an exact peak, it is FP16 that is open; else the peak is.
    low, high = usage.flop_low_ns[_COUNTED_TYPES], usage.flop_high_ns[_COUNTED_TYPES]
    is_open = np.asarray((high > low * thresholds.EXPLAINED_AGGREGATE).any(axis=0))
    counted = pc.if_else(number_array(is_open), _NO_PEAK, _NO_FP16)
    # By the percentage of DRAM it would be decided, if that were what its bytes need.
    times = (usage.flop_low_ns.max(axis=0), usage.flop_high_ns.max(axis=0), usage.dram_ns)
    is_by_percentage = ~usage.is_dram_counted & (classical_bound(*times) != UNKNOWN)
    counted = pc.if_else(number_array(is_by_percentage), _NO_BYTES, counted)
    lacking = pc.if_else(number_array(usage.has_flop_counts), counted, _NO_FLOP)
    no_dram = pc.if_else(
        number_array(has_some), "DRAM was not measured in every launch", "DRAM was not measured"
    )
    lacking = pc.if_else(number_array(has_dram), lacking, no_dram)
    lacking = pc.if_else(number_array(usage.is_partition), _PARTITION, lacking)
    return concat("the classical roofline is not decided: ", lacking)


def _too_idle(top: NDArray[np.float64], context: Context) -> list[Lowering]:
    """Doubt what happens on a GPU that is mostly idle."""
    blocks_per_sm = context.number["blocks_per_sm"]

    def text() -> Any:
        return concat("nothing is busier than ", percent(top))

    return [
        Lowering(top < thresholds.IDLE, 2, text),
        Lowering((top >= thresholds.IDLE) & (top < thresholds.QUIET), 1, text),
        Lowering(blocks_per_sm < 1.0, 1, "the grid has fewer blocks than the GPU has SMs"),
    ]


def _disagreements(usage: Usage) -> list[Lowering]:
    """Doubt counters that say two things of one.

    Percentages and activity are of the hardware's peak, to which a measured ceiling says nothing.
    """
    is_ceiling = usage.peak_source == PEAK_SOURCES.index("measured_ceiling")
    with np.errstate(divide="ignore", invalid="ignore"):
        by_bytes, by_percent = (
            time / usage.duration_ns for time in (usage.dram_ns, usage.dram_percent_ns)
        )
        counted, active = (time / usage.duration_ns for time in (usage.flop_ns, usage.flop_most_ns))
    larger, smaller = np.fmax(by_bytes, by_percent), np.fmin(by_bytes, by_percent)
    is_apart = (
        usage.is_dram_counted & ~is_ceiling[INDEX["dram"]] & (larger > thresholds.FEW_PERCENT)
    )
    is_apart &= larger > thresholds.DISAGREEMENT * smaller
    is_more = (counted > thresholds.CONTRADICTION * active) & (counted > thresholds.FEW_PERCENT)
    is_more &= ~is_ceiling[: len(FLOP_RESOURCES)]
    worst, rows = np.where(is_more, counted, -1.0).argmax(axis=0), np.arange(len(usage))
    return [
        Lowering(
            is_apart,
            2,
            lambda: concat("DRAM is at ", percent(by_percent), " by its percentage and at ",
                   percent(by_bytes), " by its bytes"),
        ),
        Lowering(
            np.asarray(is_more.any(axis=0)),
            2,
            lambda: concat("FLOP of ", percent(counted[worst, rows]),
                   " of the peak were counted in a pipe active for ", percent(active[worst, rows])),
        ),
    ]  # fmt: skip


def _assumed_peaks(usage: Usage, decision: Decision) -> list[Lowering]:
    """Doubt peaks of a product of which nobody knows how it was cut, and those that do not fit.

    Where the label holds for every product of the architecture it does not rest on such a peak.
    """
    rows = np.arange(len(usage))
    limiter, flop = decision.limiter, decision.flop_resource
    by_limiter = (limiter >= 0) & usage.is_counted[limiter, rows]
    by_limiter &= usage.is_peak_assumed[limiter, rows] & (usage.work[limiter, rows] > 0)
    by_flop = (flop >= 0) & usage.is_peak_assumed[flop, rows] & (usage.work[flop, rows] > 0)
    by_flop &= decision.roofline_bound == COMPUTE
    return [
        Lowering(
            by_limiter | by_flop,
            1,
            lambda: concat("how this product was cut is not known, its ",
                   choose(np.where(by_limiter, limiter, flop), RESOURCE_WORDS),
                   " rate is that of others"),
        ),
        Lowering(
            _is_half_active(usage),
            1,
            "tensor pipes are active twice as long as their operations need at this peak: the "
            "product may have half of it",
        ),
    ]  # fmt: skip


def _is_half_active(usage: Usage) -> NDArray[np.bool_]:
    """Say where busy tensor pipes need twice the time that a peak by the tables gives them."""
    rows = np.arange(len(usage))
    largest = np.nan_to_num(usage.flop_ns[: len(TENSOR)]).argmax(axis=0)
    counted, active = usage.flop_ns[largest, rows], usage.flop_most_ns[largest, rows]
    by_table = [PEAK_SOURCES.index(name) for name in ("architecture", "data_sheet")]
    is_table = np.isin(usage.peak_source[largest, rows], by_table)
    with np.errstate(divide="ignore", invalid="ignore"):
        is_twice = np.abs(active / counted / 2.0 - 1.0) < thresholds.FEW_PERCENT
    is_busy = np.isfinite(active) & (active > thresholds.BUSY * usage.duration_ns)
    return np.asarray(is_table & is_twice & is_busy)


def _is_limited_by_data_sheet(usage: Usage, decision: Decision) -> NDArray[np.bool_]:
    rows = np.arange(len(usage))
    source = usage.peak_source[decision.limiter, rows]
    is_counted = usage.is_counted[decision.limiter, rows]
    is_sheet: NDArray[np.bool_] = source == PEAK_SOURCES.index("data_sheet")
    return is_sheet & is_counted & (decision.limiter >= 0)
