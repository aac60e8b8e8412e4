"""How far a label can be trusted, and what lowers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.analysis import thresholds
from nsightlens.analysis.label import (
    ANALYTIC,
    CONFIDENCES,
    THROUGHPUT,
    UNKNOWN,
    Decision,
)
from nsightlens.analysis.phrase import concat, percent, sentence, when
from nsightlens.analysis.usage import INDEX, Usage
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
_NO_FLOP = f"FLOP were not counted, add {_section('fp32_flop_count')}"


class Lowering(NamedTuple):
    """One thing that lowers confidence: where it holds, by how many steps, and its clause."""

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
    other = np.fmin(decision.compute, decision.memory)
    fraction = usage.fraction()
    most = np.nanmax(np.where(np.isnan(fraction), 0.0, fraction), axis=0)
    # A tensor pipe that may have done more than every pipe whose work was counted.
    tensor_active = fraction[INDEX["tensor"]]
    is_tensor = (usage.flop_high_ns.argmax(axis=0) == INDEX["tensor"]) & (tensor_active > 0)
    is_unnamed = (decision.limiter == INDEX["sm"]) | (decision.limiter == INDEX["memory"])
    evidence = decision.evidence
    open_share = context.number["open_fraction"]
    return [
        Lowering(
            most > thresholds.CONTRADICTION,
            2,
            concat("a resource at ", percent(most), " of its peak cannot be"),
        ),
        Lowering(
            top < thresholds.IDLE, 2, concat("nothing is busier than ", percent(top))
        ),
        Lowering(
            (other / np.where(top > 0, top, np.nan)) > thresholds.CLOSE_SIDES,
            1,
            concat("compute at ", percent(decision.compute), " and memory at ",
                   percent(decision.memory), " are close"),
        ),
        Lowering(is_unnamed, 1, "the parts of the busiest unit were not collected"),
        Lowering(
            (evidence == THROUGHPUT) & is_tensor,
            1,
            concat("tensor pipes are active for ", percent(tensor_active),
                   " and their operations were not counted, add ", _TENSOR_SECTION),
        ),
        Lowering(
            (evidence == THROUGHPUT) & (decision.roofline_bound == UNKNOWN) & ~is_tensor,
            1,
            _why_roofline_is_open(usage),
        ),
        Lowering(evidence == ANALYTIC, 1, "work is that of the annotated shapes, not measured"),
        Lowering(
            _is_limited_by_data_sheet(usage, decision),
            1,
            "the peak is that of the data sheet at boost clock",
        ),
        Lowering(
            (open_share > thresholds.OPEN_SHARE) & (open_share < 1),
            1,
            concat(percent(open_share), " of the time was not measured"),
        ),
        Lowering(context.has_other_clock, 1, "the SM clock differs from the rest of the report"),
        Lowering(context.is_unsupported, 1, "ncu does not support this device"),
    ]  # fmt: skip


def _why_roofline_is_open(usage: Usage) -> Any:
    """Say what the classical roofline lacks."""
    has_dram = ~np.isnan(usage.dram_ns)
    lacking = pc.if_else(pa.array(usage.has_flop_counts), _NO_FP16, _NO_FLOP)
    lacking = pc.if_else(pa.array(has_dram), lacking, "DRAM was not measured")
    return concat("the classical roofline is not decided: ", lacking)


def _is_limited_by_data_sheet(usage: Usage, decision: Decision) -> NDArray[np.bool_]:
    rows = np.arange(len(usage))
    source = usage.peak_source[decision.limiter, rows]
    is_counted = usage.is_counted[decision.limiter, rows]
    is_sheet: NDArray[np.bool_] = source == PEAK_SOURCES.index("data_sheet")
    return is_sheet & is_counted & (decision.limiter >= 0)
