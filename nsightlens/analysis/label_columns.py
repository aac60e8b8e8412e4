"""The columns of a label, of launches or groups: the rules applied, and their answer in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nsightlens.analysis.busiest import cache_clause
from nsightlens.analysis.confidence import assess
from nsightlens.analysis.label import BOUNDS, CONFIDENCES, EVIDENCES, REGIMES, decide
from nsightlens.analysis.nvidia_verdict import parting
from nsightlens.analysis.phrase import choose, sentence, when
from nsightlens.analysis.reason import reasons
from nsightlens.analysis.resources import SOURCES, source_codes
from nsightlens.analysis.rooflines import level_intensity
from nsightlens.analysis.usage import INDEX, RESOURCES
from nsightlens.arrays import known_numbers, number_array

if TYPE_CHECKING:
    from nsightlens.analysis.label import Decision
    from nsightlens.analysis.measured import Measured
    from nsightlens.analysis.nvidia_verdict import NvidiaVerdict
    from nsightlens.analysis.usage import Usage

__all__ = ["label_columns"]

_SHOWN = (
    "executed_per_useful_flop", "dram_per_algorithmic_byte", "dram_throughput_pct",
    "sm_throughput_pct", "achieved_occupancy_pct", "stalled_for_data_pct",
)  # fmt: skip


def label_columns(measured: Measured, verdict: NvidiaVerdict) -> tuple[Decision, dict[str, Any]]:
    """Label rows.

    Parameters
    ----------
    measured
        Of n launches or groups.
    verdict
        What NVIDIA's rule says of each.

    Returns
    -------
    decision
        What the rules say.
    columns
        Columns of `nsightlens.tables.LABELS` by name, all but those that say what a row is and its
        share of the duration.
    """
    usage = measured.usage
    context = measured.context
    context = context._replace(number=context.number | measured.padding.ratios())
    decision = decide(usage, context.number["fullness"])
    confidence = assess(usage, decision, context)
    intensity = level_intensity(usage, measured.levels)
    return decision, {
        "launch_count": number_array(context.launch_count),
        "failed_launch_count": number_array(context.failed_count),
        "duration_ns": known_numbers(usage.duration_ns),
        "bound": choose(decision.bound, BOUNDS),
        "limiter": choose(decision.limiter, RESOURCES),
        "limiter_fraction": known_numbers(decision.limiter_fraction),
        "roofline_bound": choose(decision.roofline_bound, BOUNDS),
        "bound_ratio": known_numbers(decision.bound_ratio),
        "arithmetic_intensity_flop_per_byte": known_numbers(decision.arithmetic_intensity),
        "ridge_point_flop_per_byte": known_numbers(decision.ridge_point),
        "ridge_point_boost_flop_per_byte": known_numbers(decision.ridge_point_boost),
        "clock_dependent": number_array(
            decision.clock_dependent == 1.0, ~np.isnan(decision.clock_dependent)
        ),
        **{name: known_numbers(context.number[name]) for name in _SHOWN},
        "top_stall": context.top_stall,
        "regime": choose(decision.regime, REGIMES),
        "evidence": choose(decision.evidence, EVIDENCES),
        "confidence": choose(confidence.level, CONFIDENCES),
        "peak_source": _peak_source(usage, decision),
        "reason": reasons(
            usage,
            decision,
            context,
            confidence,
            nvidia=parting(verdict, decision, usage),
            cache=cache_clause(decision, measured.busiest, intensity),
        ),
    }


def _peak_source(usage: Usage, decision: Decision) -> Any:
    """Name the sources of the peaks that the label rests on, each once, joined by '+'."""
    codes = source_codes(usage)
    rows = np.arange(len(usage))
    used = np.full((len(SOURCES), len(usage)), False)
    for resource in (decision.limiter, decision.flop_resource, np.full(len(usage), INDEX["dram"])):
        code = np.where(resource < 0, -1, codes[resource, rows])
        for i in range(len(SOURCES)):
            used[i] |= code == i
    return sentence(*(when(used[i], name) for i, name in enumerate(SOURCES)), separator="+")
