"""The sentences of the verdict on a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.analysis.thresholds import BUSY
from nsightlens.sweeps.verdict_fitting import NOT_FITTING, memory_words
from nsightlens.sweeps.verdict_growth import growth_words
from nsightlens.sweeps.verdict_undecided import why_undecided
from nsightlens.sweeps.verdict_whole import batch_words

if TYPE_CHECKING:
    from nsightlens.sweeps.verdict_evidence import ComponentAt, Evidence, StepAt

__all__ = ["conclusion_words", "left_out_words", "opening_words", "side_words"]

_LEVELS = {"l2": "L2", "l1": "L1", "memory": "busiest part of the memory system", "sm": "SM"}


def opening_words(evidence: Evidence, selection: str = "") -> str:
    """Say what was looked at.

    Parameters
    ----------
    evidence
        What the verdict rests on.
    selection
        Filters that launches had to pass; empty for all launches.
    """
    small, large = evidence.small.batch, evidence.large.batch
    batches = f"batch {small}" if small == large else f"batch {small} to {large}"
    others = ", the GPU with most of the time" if evidence.is_one_of_several else ""
    how = "roofline time of the model" if _is_analytic(evidence) else "kernel time"
    alone = f" of the launches that pass the filters ({selection}) alone" if selection else ""
    batches += memory_words(evidence)
    return f"Decode on {evidence.device}{others}, {batches}, by {how}{alone}."


def left_out_words(evidence: Evidence) -> str:
    """Say at which batch sizes the steps cannot be judged, and why; empty where all can be."""
    if not evidence.left_out or evidence.is_in_doubt:
        return ""
    told = "; ".join(f"batch {batch_words(one.batches)}, where {one.why}"
                     for one in evidence.left_out)  # fmt: skip
    return f"Left out: {told}."


def side_words(step: StepAt) -> str:
    """Say what limits the step at one batch size."""
    parts = step.components
    if not parts:
        return ""
    if not step.is_complete:
        return f"At batch {step.batch} {parts[0].name} is {_state(parts[0])}."
    first, second = parts
    return (
        f"At batch {step.batch} {first.name} has {_percent(first.share)} and is"
        f" {_state(first)}; {second.name} has {_percent(second.share)} and is {_state(second)}."
    )


def conclusion_words(evidence: Evidence, explanation: str, missing: str) -> str:
    """Say what explains a plateau, or what is missing to say it."""
    if explanation == "undecided" and evidence.is_in_doubt:
        told = "; ".join(f"at batch {batch_words(one.batches)} {one.why}"
                         for one in evidence.left_out)  # fmt: skip
        return f"What limits large batches stays undecided: {told}. Profile whole steps."
    if explanation == "undecided" and missing:
        return f"What limits large batches stays undecided. {missing}"
    said = (growth_words(evidence), _conclusion(evidence, explanation), _doubt(evidence))
    return " ".join(text for text in said if text)


def _conclusion(evidence: Evidence, explanation: str) -> str:
    where = _large_words(evidence)
    if explanation == "bandwidth_saturated_attention":
        return (
            f"So bandwidth-saturated attention limits {where}, not a compute-bound"
            f" plateau{_but_matmul(evidence)}."
        )
    leader, other = evidence.large.components
    if explanation == "compute_bound_plateau" and leader.is_compute_bound:
        limits = "both are at their compute limit" if other.is_compute_bound else (
            f"{leader.name} is at its compute limit"
        )  # fmt: skip
        return (
            f"So a compute-bound plateau limits {where}: {limits}, and {other.name} has"
            f" {_percent(other.share)} of the time."
        )
    if explanation == "mixed":
        return (
            "Attention is at the limit of DRAM and matmul at that of compute, and neither has most"
            f" of the time, so that they limit {where} together."
        )
    return why_undecided(evidence)


def _large_words(evidence: Evidence) -> str:
    """Name the largest batch size where it does not fit, or larger ones cannot be judged."""
    large = evidence.large.batch
    if evidence.large.fits is False:
        return f"batch {large}, which does not fit in memory"
    larger = [one for one in evidence.left_out if max(one.batches) > large]
    if larger and all(one.why == NOT_FITTING for one in larger):
        return f"batch {large}, the largest of these that fits in memory"
    if larger:
        return f"batch {large}, the largest that can be judged"
    return "large batches"


def _doubt(evidence: Evidence) -> str:
    """Say which numbers at the largest batch size cannot be."""
    told = [
        f"{one.name} at {_percent(one.busiest_fraction)} of its peak"
        for one in evidence.large.components
        if one.is_contradicted
    ]
    if not told:
        return ""
    return f"The confidence is low: {' and '.join(told)} cannot be, a counter or a peak is wrong."


def _state(one: ComponentAt) -> str:
    row = one.row
    dram = row["dram_throughput_pct"]
    at_dram = "" if dram is None else f"DRAM at {_percent(dram / 100.0)}"
    if row["origin"] == "analytic":
        return f"{row['roofline_bound']}-bound by its shapes"
    if row["bound"] not in ("memory", "compute"):
        return "without a label" + _bracketed(at_dram)
    if one.waits:
        few = "too few blocks"
        nothing = f"no resource above {100 * BUSY:.0f} %"
        few = few if row["regime"] == "small_grid" else nothing
        return "bound by latency" + _bracketed(at_dram, few)
    limiter, fraction = row["limiter"], row["limiter_fraction"]
    if limiter == "dram":
        return f"memory-bound{_bracketed(at_dram, _short_of(row))}"
    name = _LEVELS.get(limiter, (limiter or "").replace("_", " "))
    busy = "" if fraction is None else f"{name} at {_percent(fraction)}"
    return f"{row['bound']}-bound{_bracketed(busy, at_dram)}"


def _short_of(row: dict[str, Any]) -> str:
    return "as busy as compute" if row["regime"] == "balanced" else ""


def _bracketed(*parts: str) -> str:
    said = ", ".join(part for part in parts if part)
    return f" ({said})" if said else ""


def _but_matmul(evidence: Evidence) -> str:
    matmul = evidence.large.matmul
    if matmul is not None and matmul.is_compute_bound:
        return f": matmul is compute-bound, but has {_percent(matmul.share)} of the time"
    return ""


def _is_analytic(evidence: Evidence) -> bool:
    return any(one.row["origin"] == "analytic" for one in evidence.large.components)


def _percent(fraction: float) -> str:
    value = 100.0 * fraction
    return f"{value:.0f} %" if value >= 9.95 or value == 0 else f"{value:.1f} %"
