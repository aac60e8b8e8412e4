"""The arithmetic behind the label of one launch, step by step with its numbers.

From the rows of ``labels``, ``resources`` and ``rooflines`` to sentences: nothing is computed here
but the quotients that are shown. A step that the launch has no numbers for is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nsightlens.analysis import thresholds
from nsightlens.analysis.phrase import percent
from nsightlens.analysis.resource_words import resource_words
from nsightlens.units import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Step", "confidence_causes", "level_step", "steps"]

Row = dict[str, Any]

_LEVEL_WORDS = {"dram": "DRAM", "l2": "L2", "l1": "L1"}
_ON_THE_RIDGE = 0.05
"""[1] Nearer to a ridge than this, an intensity is on it for all that measurements can tell."""
_EVIDENCE = {
    "counters": "all operations and DRAM bytes were counted",
    "throughput": "percentages of peak; not all operations and bytes were counted",
    "analytic": "operations and bytes of the annotated shape, over the measured duration",
    "none": "nothing that decides was measured",
}
_WITHOUT_FP16 = "without FP16 on CUDA cores"
_VERDICT_WORDS = {
    "high_throughput": "high throughput, no side",
    "balanced": "compute and memory are balanced",
    "compute": "compute-bound",
    "memory": "memory-bound",
    "latency": "latency, no side",
    "small_grid": "small grid, no side",
}


class Step(NamedTuple):
    """One step: its name and what it says, with the numbers in it."""

    name: str
    text: str


def steps(
    launch: Row, label: Row, resources: Sequence[Row], rooflines: Sequence[Row]
) -> tuple[Step, ...]:
    """Return the steps from measured work to the label.

    Parameters
    ----------
    launch, label
        Rows of ``launches`` and ``labels``.
    resources, rooflines
        Rows of these tables, of this launch.

    Returns
    -------
    tuple of Step
        In the order in which the label is made; empty for a failed collection.
    """
    if label["failed_launch_count"]:
        return ()
    dram = next((row for row in rooflines if row["level"] == "dram"), {})
    found = [
        *(Step("time", text) for text in _times(label, resources)),
        Step("time_counted", _counted_time(launch, label, resources, dram)),
        Step("sides", _sides(launch, label, resources)),
        Step("regime", _regime(launch, label)),
        Step("roofline", _roofline(label, dram)),
        Step("levels", level_step(rooflines)),
        Step("clock", _clock(label)),
        Step("evidence", _evidence(label)),
        Step("nvidia", _nvidia(label)),
    ]
    return tuple(step for step in found if step.text)


def _percent(fraction: float | None) -> str:
    """Return a fraction as the reason of a label writes it."""
    text: str = percent(np.array([np.nan if fraction is None else fraction]))[0].as_py()
    return text or "not known"


def _percent_below(fraction: float, threshold: float) -> str:
    """Return a fraction as a percentage that does not round to the threshold above it."""
    if _percent(fraction) != _percent(threshold):
        return _percent(fraction)
    texts = (f"{100 * fraction:.{decimals}f} %" for decimals in range(1, 10))
    return next((text for text in texts if float(text[:-2]) < 100 * threshold), _percent(fraction))


def _times(label: Row, resources: Sequence[Row]) -> Iterator[str]:
    """Say how the time of each resource that matters comes about: work over peak."""
    whole = format_quantity(label["duration_ns"], "ns")
    for row in _that_matter(resources):
        time = format_quantity(row["roofline_time_ns"], "ns")
        share = f"{time} of {whole} = {_percent(row['fraction_of_peak'])}"
        yield f"t({row['resource']}) = {_quotient(row)}{share}"


def _counted_time(launch: Row, label: Row, resources: Sequence[Row], roofline: Row) -> str:
    """Say what the operations alone need, where their pipe was active for longer.

    The classical roofline compares this time, the limiter is found by the other.
    """
    name, peak = roofline.get("resource"), roofline.get("peak_flop_per_s")
    work, duration = launch.get(f"{name}_flop_count"), label["duration_ns"]
    if name in [row["resource"] for row in resources if _is_counted(row)] or not (work and peak):
        return ""
    time_ns = 1e9 * work / peak
    quotient = f"{format_quantity(work, 'FLOP')} / {format_quantity(peak, 'FLOP/s')}"
    share = _percent(time_ns / duration) if duration else "not known"
    time = format_quantity(time_ns, "ns")
    return f"t({name}, its operations alone) = {quotient} = {time} = {share}"


def _is_counted(row: Row) -> bool:
    return row["measured_by"] == "counter" and bool(row["work"]) and bool(row["peak_per_s"])


def _quotient(row: Row) -> str:
    if not _is_counted(row):
        return "time active = "
    unit = row["work_unit"] or ""
    work = format_quantity(row["work"], unit)
    return f"{work} / {format_quantity(row['peak_per_s'], f'{unit}/s')} = "


def _that_matter(resources: Sequence[Row]) -> list[Row]:
    """Return the busiest of each side, DRAM, and the largest counted operations."""
    ranked = [row for row in resources if row["fraction_of_peak"]]
    wanted: list[Row] = []
    for side in ("memory", "compute"):
        wanted += [row for row in ranked if row["side"] == side][:1]
    wanted += [row for row in ranked if row["resource"] == "dram"]
    wanted += [row for row in ranked if row["work_unit"] == "FLOP" and _is_counted(row)][:1]
    names = {row["resource"] for row in wanted}
    return [row for row in ranked if row["resource"] in names]


def _sides(launch: Row, label: Row, resources: Sequence[Row]) -> str:
    """Compare the two sides, or say which of them is not known."""
    words = []
    for side in ("memory", "compute"):
        rows = [row for row in resources if row["side"] == side and row["fraction_of_peak"]]
        if rows:
            best = max(rows, key=lambda row: row["fraction_of_peak"])
            share = _percent(best["fraction_of_peak"])
            words.append(f"{side} {share} ({resource_words(best['resource'])})")
        else:
            words.append(_unmeasured(launch, side))
    known = f"{words[0]}, {words[1]}"
    if label["bound"] == "unknown":
        return f"{known}: not enough to say which is larger -> unknown"
    limiter = resource_words(label["limiter"]) if label["limiter"] else "unknown"
    return f"{known} -> {label['bound']}-bound, limiter {limiter}"


def _unmeasured(launch: Row, side: str) -> str:
    """Say of a side without any part that is known what bounds it: the percentage of the whole."""
    name = {"memory": "memory_throughput_pct", "compute": "sm_throughput_pct"}[side]
    if launch[name] is None:
        return f"{side} not measured"
    # Without a time there is no share of it, whatever was collected.
    why = "the duration is 0" if launch["duration_ns"] == 0 else "its parts were not collected"
    return f"{side} at most {_percent(launch[name] / 100.0)} ({why})"


def _regime(launch: Row, label: Row) -> str:
    fraction = label["limiter_fraction"]
    if fraction is None or label["regime"] == "unknown":
        return ""
    busy = _percent(thresholds.BUSY)
    below_busy = _percent_below(fraction, thresholds.BUSY)
    used_up = _percent(thresholds.SATURATED)
    below_used_up = _percent_below(fraction, thresholds.SATURATED)
    words = {
        "saturated": f"{_percent(fraction)} is at or above {busy} -> saturated: it explains the "
        "time",
        "balanced": f"{below_used_up} is between {busy} and {used_up}, the other side less than "
        f"{100 * thresholds.BALANCE_MARGIN:.0f} points away -> balanced",
        "latency": f"{below_busy} is below {busy}{_waves(launch, 'at least')} -> latency: "
        "nothing is used up, warps wait",
        "small_grid": f"{below_busy} is below {busy}{_waves(launch, 'less than')} -> small grid",
    }
    return words[label["regime"]]


def _waves(launch: Row, relation: str) -> str:
    waves = launch["waves_per_multiprocessor"]
    if waves is None:
        return ""
    return f", {format_quantity(waves, '1')} waves ({relation} {thresholds.FULL_WAVE:.0f})"


def _roofline(label: Row, dram: Row) -> str:
    """Compare arithmetic intensity with the ridge point."""
    intensity, ridge = (
        label[f"{name}_flop_per_byte"] for name in ("arithmetic_intensity", "ridge_point")
    )
    answer = label["roofline_bound"]
    if intensity is None or ridge is None:
        if answer == "unknown" and dram.get("level_bytes") and not dram["peak_bytes_per_s"]:
            return "classical roofline: the peaks of the GPU are not known -> unknown"
        if answer == "unknown":
            return "classical roofline: operations or DRAM bytes were not counted -> unknown"
        return f"classical roofline: by percentages and bounds of the operations -> {answer}"
    text = f"classical roofline: {format_quantity(intensity, 'FLOP/B')} against a ridge at "
    text += format_quantity(ridge, "FLOP/B")
    if dram.get("peak_flop_per_s") and dram["peak_bytes_per_s"]:
        flops = format_quantity(dram["peak_flop_per_s"], "FLOP/s")
        text += f" ({flops} / {format_quantity(dram['peak_bytes_per_s'], 'B/s')})"
    text += f" -> {answer}"
    if label["bound_ratio"] is not None:
        text += f"; t(FLOP) / t(dram) = {format_quantity(label['bound_ratio'], '1')}"
    return text


def level_step(rooflines: Sequence[Row]) -> str:
    """Say how intensity lies to the ridge at every level of memory, if more than DRAM is known.

    Parameters
    ----------
    rooflines
        Rows of the table ``rooflines`` of one launch.
    """
    known = [row for row in rooflines if row["ridge_point_flop_per_byte"] and row["flop_count"]]
    if len(known) < 2:
        return ""
    parts = [_level(row) for row in known if row["arithmetic_intensity_flop_per_byte"] is not None]
    return f"FLOP/B of the ridge, by level: {', '.join(parts)}"


def _level(row: Row) -> str:
    """Say the intensity at one level, the ridge there and on which side of it that lies."""
    intensity, ridge = row["arithmetic_intensity_flop_per_byte"], row["ridge_point_flop_per_byte"]
    # The ridge is that of one data type and the intensity counts all, so that close to it the two
    # may seem to contradict the answer.
    is_on_it = abs(intensity / ridge - 1.0) < _ON_THE_RIDGE
    side = f"on it, {row['roofline_bound']}" if is_on_it else row["roofline_bound"]
    return (
        f"{_LEVEL_WORDS.get(row['level'], row['level'])} {format_quantity(intensity, '1')} of "
        f"{format_quantity(ridge, '1')} ({side})"
    )


def _clock(label: Row) -> str:
    boost = label["ridge_point_boost_flop_per_byte"]
    ridge = label["ridge_point_flop_per_byte"]
    if boost is None or label["clock_dependent"] is None or not ridge:
        return ""
    if abs(boost / ridge - 1.0) < thresholds.CLOCK_SPREAD and not label["clock_dependent"]:
        return ""
    at = f"at the boost clock the ridge is at {format_quantity(boost, 'FLOP/B')}"
    if label["clock_dependent"]:
        return f"{at} -> memory: the classical answer depends on the clock"
    return f"{at}: the answer stays"


def _evidence(label: Row) -> str:
    if label["bound"] == "unknown":
        return ""
    evidence = f"evidence {label['evidence']}: {_EVIDENCE[label['evidence']]}"
    if label["evidence"] == "counters" and _WITHOUT_FP16 in label["reason"]:
        evidence = (
            "evidence counters: DRAM bytes and all operations were counted, but for a few of FP16 "
            "on CUDA cores at the most"
        )
    causes = confidence_causes(label["reason"])
    because = f" because {causes}" if causes else ""
    return f"{evidence}; confidence {label['confidence']}{because}"


def confidence_causes(reason: str | None) -> str:
    """Return what lowered the confidence, as the reason of a label says it.

    Examples
    --------
    >>> confidence_causes("memory-bound: DRAM 91 %; confidence medium: the sides are close")
    'the sides are close'
    """
    clause = _clause(reason, "confidence medium: ", "confidence low: ")
    return clause.partition(": ")[2]


def _clause(reason: str | None, *beginnings: str) -> str:
    """Return the clause of a reason that begins so, "" where there is none."""
    clauses = (reason or "").split("; ")
    return next((clause for clause in clauses if clause.startswith(beginnings)), "")


def _nvidia(label: Row) -> str:
    """Say NVIDIA's verdict beside ours, and where they part."""
    computed, stored = label["nvidia_verdict"], label["nvidia_stored_verdict"]
    verdict = computed or stored
    if verdict is None:
        return ""
    text = f"NVIDIA's SpeedOfLight rule: {_VERDICT_WORDS[verdict]}"
    if computed and stored:
        text += ", as stored" if stored == computed else f", while the report stores {stored}"
    elif stored:
        text += ", as stored in the report"
    parting = _clause(label["reason"], "NVIDIA's rule says")
    return f"{text}; {f'we part: {parting}' if parting else _agreement(label, verdict)}"


def _agreement(label: Row, verdict: str) -> str:
    if label["bound"] == "unknown":
        return "we do not say so without its parts"
    if verdict in ("compute", "memory"):
        return "we agree" if label["bound"] == verdict else f"ours says {label['bound']}"
    if verdict in ("latency", "small_grid") and label["regime"] in ("latency", "small_grid"):
        return f"we agree that nothing is used up; {label['bound']} is the busier side"
    return f"ours names the busier side: {label['bound']}"
