"""One readable sentence per row: why the label is what it is, with the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.analysis.label import (
    ANALYTIC,
    BOUNDS,
    COMPUTE,
    CONFIDENCES,
    MEMORY,
    REGIMES,
    UNKNOWN,
    Decision,
)
from nsightlens.analysis.phrase import (
    choose,
    concat,
    digits,
    percent,
    scaled_rate,
    sentence,
    significant,
    when,
)
from nsightlens.analysis.resource_words import RESOURCE_WORDS
from nsightlens.analysis.thresholds import BUSY, INACTIVE, PADDED
from nsightlens.analysis.usage import FLOP_RESOURCES, INDEX, UNITS, Usage, work_unit
from nsightlens.arrays import number_array
from nsightlens.metrics.catalog import minimal_metrics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.analysis.confidence import Confidence
    from nsightlens.analysis.context import Context

__all__ = ["reasons"]

_REGIME_WORDS = {"small_grid": "small grid", "unknown": ""}
_SECTION = "--section SpeedOfLight"
_SM = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
_MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"

_FAILED = "the profiler cut this launch short: its collection failed, and no metric of it counts"
_LAUNCH_ONLY = (
    "no metric of how the launch ran was collected, only its configuration (launch__*): "
    f"add --set basic or {_SECTION}"
)
_NO_DURATION = f"the duration was not collected (gpu__time_duration.sum): add {_SECTION}"
_DURATION_ONLY = (
    "the duration was collected, but neither throughput nor operation counters: "
    f"add --set basic or {_SECTION}"
)
_NO_THROUGHPUT = (
    f"neither {_SM} nor {_MEMORY} was collected, so that issue slots, another pipe or a cache may "
    f"be the limit: add {_SECTION}"
)
_NO_COMPUTE = f"the compute side is not known ({_SM}): add {_SECTION}"
_PARTS_MISSING = f"the parts of the busiest unit were not collected, add {_SECTION}"
_BAD_DURATION = (
    "the duration in the report (gpu__time_duration.sum) is not a positive number and cannot be "
    "used: collect the launch again"
)
_UNFIT_SHAPES = "the annotated shapes contradict what was measured and are not used"
_NO_DRAM_COUNTERS = "this GPU has no DRAM counters, so that there is no classical answer"
_NO_DRAM_PEAK = (
    "the DRAM peak of this GPU is not known: --device names it, --peaks gives a measured ceiling"
)
# The architecture does not matter: wherever this can be counted it has the same name.
_TRAFFIC = minimal_metrics("l2_memory_bytes", "8.7")[0]
_NO_TRAFFIC = (
    "this GPU has no DRAM counters, and the traffic between L2 and memory was not collected, so "
    f"that DRAM may be the limit: add --metrics {_TRAFFIC}"
)
_NO_MEMORY = f"the memory side is not known ({_MEMORY}): add {_SECTION}"


def reasons(
    usage: Usage,
    decision: Decision,
    context: Context,
    confidence: Confidence,
    *,
    nvidia: Any,
    cache: Any,
) -> Any:
    """Say for every row why it has its label.

    ``nvidia`` is the clause on where NVIDIA's rule names the other side, null where it does not;
    ``cache`` says what is busy in a cache that limits, null where none does.

    Returns
    -------
    pyarrow.Array
        Text column, one sentence per row.
    """
    is_known = decision.bound != UNKNOWN
    head = concat(
        choose(decision.bound, BOUNDS),
        "-bound",
        _regime(decision),
        ": ",
        sentence(_limiter(usage, decision, context), cache, separator=" "),
    )
    level = choose(confidence.level, CONFIDENCES)
    caution = concat("confidence ", level, ": ", confidence.causes)
    return sentence(
        when(is_known, sentence(head, _latency(decision, context), separator=", ")),
        _open_regime(usage, decision, context),
        when(~is_known, lambda: _what_is_missing(usage, decision, context)),
        _roofline(usage, decision, context),
        _clock(decision),
        nvidia,
        _padding(context),
        when(is_known, caution),
        when(~is_known & context.has_unfit_shapes, _UNFIT_SHAPES),
        _open_members(context, ~is_known),
        _members(context, context.failed_count, "failed and are left out"),
        _members(context, context.undated_count, "have no duration and are left out"),
    )


def _regime(decision: Decision) -> Any:
    words = tuple(_REGIME_WORDS.get(name, name) for name in REGIMES)
    texts = tuple(f", {word}" if word else "" for word in words)
    return choose(decision.regime, texts)


def _limiter(usage: Usage, decision: Decision, context: Context) -> Any:
    """Say how busy the limiter is: by its work, its pipe, or a percentage."""
    is_idle = np.isin(decision.regime, [REGIMES.index("latency"), REGIMES.index("small_grid")])
    nothing = f"no resource above {BUSY:.0%}".replace("%", " %")
    average = pc.if_else(number_array(context.launch_count > 1), " on average", "")
    prefix = pc.if_else(number_array(is_idle), concat(nothing, average, "; "), "")
    return concat(prefix, pc.coalesce(_active_pipe(usage, decision), _of_peak(usage, decision)))


def _of_peak(usage: Usage, decision: Decision) -> Any:
    """Say which share of its peak the limiter reached, and the rate where work was counted."""
    rows = np.arange(len(usage))
    limiter = decision.limiter
    text = concat(
        choose(limiter, RESOURCE_WORDS), " ", percent(decision.limiter_fraction), " of peak"
    )
    achieved = _rate(usage.work[limiter, rows], usage.duration_ns)
    peak = usage.peak_per_s[limiter, rows]
    is_rate = usage.is_counted[limiter, rows] & ~np.isnan(achieved) & ~np.isnan(peak)
    unit = choose(work_unit(limiter), UNITS)
    rate = when(
        is_rate & (limiter >= 0), lambda: concat("(", scaled_rate(achieved, peak, unit), ")")
    )
    return sentence(text, rate, separator=" ")


def _active_pipe(usage: Usage, decision: Decision) -> Any:
    """Say for which share of the time a pipe was active; null where the limiter is something else.

    That is not the share of its peak that its operations reached, which is said beside it.
    """
    rows = np.arange(len(usage))
    limiter = decision.limiter
    is_pipe = (limiter >= 0) & (limiter <= INDEX["xu"]) & ~usage.is_counted[limiter, rows]
    is_flop = is_pipe & (limiter < len(FLOP_RESOURCES)) & (limiter != INDEX["tensor"])
    name = concat(choose(limiter, RESOURCE_WORDS), pc.if_else(number_array(is_flop), " pipe", ""))
    text = concat(name, " active ", percent(decision.limiter_fraction))
    achieved = _rate(usage.work[limiter, rows], usage.duration_ns)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = achieved / usage.peak_per_s[limiter, rows]
    beside = pc.coalesce(
        when(is_flop, lambda: concat("(FLOP ", percent(share), " of peak)")),
        when(limiter == INDEX["fma"], lambda: _of_fma(usage)),
    )
    return when(is_pipe, sentence(text, beside, separator=" "))


def _of_fma(usage: Usage) -> Any:
    """Say what the fma pipe may have done."""
    is_counted = number_array(~np.isnan(usage.flop_ns[INDEX["fp32"]]))
    other = "(FP32, FP16 or integer multiply-add)"
    return pc.if_else(is_counted, "(not FP32: FP16 or integer multiply-add)", other)


def _rate(work: NDArray[np.float64], duration_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return work / duration_ns * 1e9


def _latency(decision: Decision, context: Context) -> Any:
    """Say what the warps wait for, where no resource explains the duration."""
    is_latency = decision.regime == REGIMES.index("latency")
    is_small = decision.regime == REGIMES.index("small_grid")
    return when(is_latency | is_small, lambda: _waiting(context, is_latency))


def _open_regime(usage: Usage, decision: Decision, context: Context) -> Any:
    """Say which metric is lacking for a regime, where only the side is decided."""
    is_open = (decision.bound != UNKNOWN) & (decision.regime == REGIMES.index("unknown"))
    lacks_dram = context.lacks_dram_counters & np.isnan(usage.time_ns[INDEX["dram"]])
    rest = choose(
        np.where(decision.bound == COMPUTE, 0, np.where(lacks_dram, 1, 2)),
        (f"another part of the SM was busier ({_SM})", f"DRAM was busier ({_TRAFFIC})",
         f"another part of the memory system was busier ({_MEMORY})"),
    )  # fmt: skip
    return when(is_open, concat("the regime is not known, for nothing says whether ", rest))


def _waiting(context: Context, is_latency: NDArray[np.bool_]) -> Any:
    share = context.number["top_stall_pct"] / 100.0
    for_data = context.number["stalled_for_data_pct"] / 100.0
    stall = pc.coalesce(
        concat(context.top_stall, " ", percent(share), " of warp latency", _passes(share)),
        # Without every state the largest is not known, and this one is still worth a word.
        concat("long_scoreboard ", percent(for_data), " of warp latency"),
    )
    waves = context.number["waves_per_multiprocessor"]
    is_open = is_latency & np.isnan(context.number["fullness"])
    return sentence(
        stall,
        concat(significant(waves), " waves"),
        when(is_open, "the waves were not collected, so that it may be a small grid"),
        separator=", ",
    )


def _passes(share: NDArray[np.float64]) -> Any:
    """Say why a share of a whole can be above it."""
    return pc.if_else(number_array(share > 1.005), " (measured in different passes)", "")


def _roofline(usage: Usage, decision: Decision, context: Context) -> Any:
    """Say the classical answer: by intensity where work was counted, else by percentages."""
    roofline = decision.roofline_bound
    is_known = roofline != UNKNOWN
    intensity, ridge = decision.arithmetic_intensity, decision.ridge_point
    has_intensity = is_known & ~np.isnan(intensity) & ~np.isnan(ridge)
    agrees = (intensity < ridge) == (roofline == MEMORY)
    parts = is_known & (decision.bound != roofline)
    is_analytic = decision.evidence == ANALYTIC
    has_no_answer = context.lacks_dram_counters & ~usage.is_dram_counted & ~is_known
    has_bytes = ~np.isnan(usage.work[INDEX["dram"]])
    return sentence(
        when(parts & ~is_analytic, lambda: _classical(usage, decision)),
        when(has_intensity & agrees, lambda: _by_intensity(usage, decision)),
        when(has_no_answer & ~has_bytes, _NO_DRAM_COUNTERS),
        when(has_no_answer & has_bytes, f"there is no classical answer, for {_NO_DRAM_PEAK}"),
    )


def _classical(usage: Usage, decision: Decision) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        dram_fraction = usage.dram_ns / usage.duration_ns
    operations = pc.if_else(
        number_array(~np.isnan(decision.bound_ratio) & (decision.flop_resource >= 0)),
        concat(choose(decision.flop_resource, RESOURCE_WORDS), " ", percent(decision.flop_low)),
        _flop_range(decision),
    )
    answer = choose(decision.roofline_bound, BOUNDS)
    dram = percent(dram_fraction)
    return concat("the classical roofline says ", answer, ": ", operations, " against DRAM ", dram)


def _by_intensity(usage: Usage, decision: Decision) -> Any:
    side = choose(np.where(decision.roofline_bound == MEMORY, 0, 1), ("left", "right"))
    intensity = significant(decision.arithmetic_intensity)
    ridge = significant(decision.ridge_point)
    is_apart = pc.fill_null(pc.not_equal(intensity, ridge), True)
    place = pc.if_else(is_apart, concat(side, " of"), concat("on, or just ", side, " of,"))
    return concat(
        "intensity ", intensity, " FLOP/B", _without_fp16(usage), " lies ", place,
        " the ridge at ", ridge,
    )  # fmt: skip


def _flop_range(decision: Decision) -> Any:
    """Say how much of the duration operations can have needed where they were not all counted."""
    least = when(
        decision.roofline_bound == COMPUTE, concat("at least ", percent(decision.flop_low))
    )
    return concat("FLOP ", pc.coalesce(least, concat("at most ", percent(decision.flop_high))))


def _without_fp16(usage: Usage) -> Any:
    """Say where FP16 on CUDA cores may have been done and was not counted."""
    row = INDEX["fp16"]
    is_open = usage.flop_high_ns[row] - usage.flop_low_ns[row] > INACTIVE * usage.duration_ns
    return pc.if_else(number_array(is_open), " without FP16 on CUDA cores", "")


def _clock(decision: Decision) -> Any:
    return when(
        decision.clock_dependent == 1.0,
        lambda: concat(
            "at the boost clock the ridge is at ", significant(decision.ridge_point_boost),
            " FLOP/B and the classical answer memory",
        ),
    )  # fmt: skip


def _padding(context: Context) -> Any:
    """Say where a launch did more than its annotated shape needs, or read less from DRAM."""
    flop = context.number["executed_per_useful_flop"]
    moved = context.number["dram_per_algorithmic_byte"]
    return sentence(
        when(
            flop >= PADDED,
            lambda: concat(significant(flop), " times the operations of its shape are executed"),
        ),
        when(
            moved >= PADDED,
            lambda: concat(significant(moved), " times the bytes of its shape come from DRAM"),
        ),
        when(
            moved <= 1.0 / PADDED,
            lambda: concat("only ", significant(moved), " of the bytes of its shape come from",
                           " DRAM, the rest from caches"),
        ),
        separator=", ",
    )  # fmt: skip


def _what_is_missing(usage: Usage, decision: Decision, context: Context) -> Any:
    """Say exactly why a row has no label, and what would give it one."""
    has_failed = (context.failed_count == context.launch_count) & (context.failed_count > 0)
    has_duration = ~np.isnan(usage.duration_ns)
    compute, memory = decision.compute, decision.memory
    is_idle = (np.fmax(compute, memory) == 0) & np.isfinite(
        np.maximum(decision.compute_ceiling, decision.memory_ceiling)
    )
    no_compute = np.isinf(decision.compute_ceiling)
    no_memory = np.isinf(decision.memory_ceiling)
    # The memory side is not known because of DRAM alone.
    no_dram = no_memory & ~no_compute & ~np.isnan(memory) & context.lacks_dram_counters
    has_bytes = ~np.isnan(usage.work[INDEX["dram"]])
    compute_words = _side("compute", compute, decision.compute_ceiling)
    memory_words = _side("memory", memory, decision.memory_ceiling)
    cases: list[tuple[NDArray[np.bool_], Any]] = [
        (has_failed, _FAILED),
        (~has_duration & context.has_bad_duration, _BAD_DURATION),
        (~has_duration & ~context.has_metrics, _LAUNCH_ONLY),
        (~has_duration, _NO_DURATION),
        (~context.has_metrics, _DURATION_ONLY),
        (is_idle, "no resource was active"),
        (no_compute & no_memory, concat(_busy_dram(usage), _NO_THROUGHPUT)),
        (no_compute, concat(memory_words, ", ", _NO_COMPUTE)),
        (
            no_dram & has_bytes,
            concat(
                compute_words,
                ", DRAM may be the limit: its bytes were counted, but ",
                _NO_DRAM_PEAK,
            ),
        ),
        (no_dram, concat(compute_words, ", ", _NO_TRAFFIC)),
        (no_memory, concat(compute_words, ", ", _NO_MEMORY)),
    ]
    both = concat(compute_words, " and ", memory_words, ": ", _PARTS_MISSING)
    conditions = pa.StructArray.from_arrays(
        [number_array(holds) for holds, _ in cases], names=[str(i) for i in range(len(cases))]
    )
    count = len(usage)
    texts = [
        pa.array([text], pa.string()).take(number_array(np.zeros(count, dtype=np.int32)))
        if isinstance(text, str)
        else text
        for _, text in cases
    ]
    return pc.case_when(conditions, *texts, both)


def _busy_dram(usage: Usage) -> Any:
    """Say how busy DRAM was where that is known, to go on from."""
    with np.errstate(divide="ignore", invalid="ignore"):
        fraction = usage.dram_ns / usage.duration_ns
    return pc.coalesce(concat("DRAM is at ", percent(fraction), " of its peak, but "), "")


def _side(name: str, known: NDArray[np.float64], ceiling: NDArray[np.float64]) -> Any:
    """Say what is known of a side: a percentage, a range, or nothing."""
    least = np.nan_to_num(known)
    is_range = np.isfinite(ceiling) & (ceiling > least)
    between = concat(f"{name} is between ", percent(least), " and ", percent(ceiling))
    return pc.coalesce(
        when(is_range, between),
        when(~np.isnan(known), concat(f"{name} is at ", percent(known))),
        pa.scalar(f"{name} was not measured", pa.string()),
    )


def _open_members(context: Context, is_unknown: NDArray[np.bool_]) -> Any:
    """Say of a group without a label in how much of its time no throughput was measured."""
    share = context.number["open_fraction"]
    is_partial = is_unknown & (share > 0) & (share < 1)
    return when(
        is_partial, lambda: concat("in ", percent(share), " of the time it was not measured")
    )


def _members(context: Context, count: NDArray[np.int64], what: str) -> Any:
    """Say of a group how many of its launches are left out, and why."""
    is_partial = (count > 0) & (count < context.launch_count)
    return when(
        is_partial,
        lambda: concat(digits(count), " of ", digits(context.launch_count), " launches ", what),
    )
