"""The sentences of the verdict on a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.analysis.thresholds import BUSY

if TYPE_CHECKING:
    from nsightlens.sweeps.verdict_evidence import ComponentAt, Evidence, StepAt

__all__ = ["conclusion_words", "opening_words", "side_words"]

_LEVELS = {"l2": "L2", "l1": "L1"}


def opening_words(evidence: Evidence) -> str:
    """Say what was looked at."""
    small, large = evidence.small.batch, evidence.large.batch
    batches = f"batch {small}" if small == large else f"batch {small} to {large}"
    others = ", the GPU with most of the time" if evidence.is_one_of_several else ""
    how = "roofline time of the model" if _is_analytic(evidence) else "kernel time"
    return f"Decode on {evidence.device}{others}, {batches}, by {how}."


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
    if explanation == "undecided" and missing:
        return f"What limits large batches stays undecided. {missing}"
    growth = _growth_words(evidence)
    if explanation == "bandwidth_saturated_attention":
        return (
            f"{growth}So bandwidth-saturated attention limits large batches, not a compute-bound"
            f" plateau{_but_matmul(evidence)}."
        )
    if explanation == "compute_bound_plateau":
        leader, other = evidence.large.components
        return (
            f"{growth}So a compute-bound plateau limits large batches: {leader.name} is at its"
            f" compute limit, and {other.name} has {_percent(other.share)} of the time."
        )
    if explanation == "mixed":
        return (
            f"{growth}Both are at a limit and neither has most of the time, so that they limit"
            " large batches together."
        )
    return f"{growth}{_why_undecided(evidence)}"


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


def _growth_words(evidence: Evidence) -> str:
    """Say how the intensities of both grow, and where matmul passes the ridge."""
    said = [text for text in (_growth(evidence, name) for name in ("attention", "matmul")) if text]
    return f"Intensity: {', '.join(said)}. " if said else ""


def _growth(evidence: Evidence, name: str) -> str:
    pair = [getattr(step, name) for step in (evidence.small, evidence.large)]
    values = [one.intensity for one in pair if one is not None and one.intensity is not None]
    if len(values) < len(pair):
        return ""
    low, high = map(_significant, values)
    trend = evidence.trends.get(name, {})
    slope = trend.get("useful_intensity_slope")
    slope = trend.get("intensity_slope") if slope is None else slope
    error = f" (slope {round(slope, 2) + 0.0:.2f})" if slope is not None else ""
    if low == high or abs(slope or 0.0) < 0.1:
        text = f"{name} stays at {high} FLOP/B{error}"
    else:
        text = f"{name} goes from {low} to {high} FLOP/B{error}"
    flip = trend.get("flip_batch_size")
    if trend.get("flip") in ("memory_to_compute", "compute_to_memory") and flip is not None:
        # Of shapes alone the law is known, which a line between distant batch sizes is not.
        is_of_shapes = _is_analytic(evidence) and trend.get("analytic_flip_batch_size") is not None
        how = "analytic_flip_batch_size" if is_of_shapes else "flip_batch_size_interpolated"
        at = trend.get(how)
        text += f" and crosses the ridge at batch {flip if at is None else round(at)}"
    return text


def _but_matmul(evidence: Evidence) -> str:
    matmul = evidence.large.matmul
    if matmul is not None and matmul.is_compute_bound:
        return f": matmul is compute-bound, but has {_percent(matmul.share)} of the time"
    return ""


def _why_undecided(evidence: Evidence) -> str:
    """Say why the labels at the largest batch size explain no plateau."""
    first, second = evidence.large.components
    unknown = [one.name for one in (first, second) if one.row["bound"] in (None, "unknown")]
    batch = evidence.large.batch
    if unknown:
        return (
            f"What limits large batches stays undecided: {' and '.join(unknown)} has no label at"
            f" batch {batch}; its reason says which metrics are missing."
        )
    if first.waits:
        return (
            f"Neither explanation holds: at batch {batch} {first.name} waits for latency, and"
            " neither bandwidth nor compute is used up."
        )
    if first.name == "matmul" and first.is_bandwidth_saturated:
        return (
            f"Neither explanation holds yet: reading weights still limits the step at batch"
            f" {batch}, so that larger batches pay."
        )
    return (
        "What limits large batches stays undecided: no component with most of the time is at a"
        f" limit of DRAM or compute at batch {batch}."
    )


def _is_analytic(evidence: Evidence) -> bool:
    return any(one.row["origin"] == "analytic" for one in evidence.large.components)


def _percent(fraction: float) -> str:
    value = 100.0 * fraction
    return f"{value:.0f} %" if value >= 9.95 or value == 0 else f"{value:.1f} %"


def _significant(value: float) -> str:
    return f"{value:.0f}" if 99.95 <= abs(value) < 1e6 else f"{value:.3g}"
