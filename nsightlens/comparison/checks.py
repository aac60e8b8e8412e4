"""What a rule of a gate finds: the values that it is about, and those that break its limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.comparison.comparison import compare
from nsightlens.comparison.labels import group_labels
from nsightlens.comparison.match import match_sides
from nsightlens.comparison.samples import spread_of
from nsightlens.comparison.side import measure_side
from nsightlens.devices.columns import number_column
from nsightlens.units import format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from nsightlens.comparison.gate_rule import GateRule
    from nsightlens.comparison.noise import NoiseRules
    from nsightlens.comparison.side import LabelOptions, Side
    from nsightlens.report import Report

__all__ = ["Found", "check_change", "check_label", "check_value"]

_UNDECIDED = ("unknown", "none")
_OF_COUNTERS = ("dram_bytes", "flop_count")
"""Counted quantities: clocks do not change them."""
_AGGREGATES: dict[str, Callable[..., Any]] = {
    "max": np.max, "min": np.min, "mean": np.mean, "sum": np.sum,
}  # fmt: skip


class Found(NamedTuple):
    """What a rule found.

    Parameters
    ----------
    checked
        Values that were checked.
    broken
        What breaks the limit, the worst first, one text each.
    missing
        What is not known, one text each.
    summary
        What was found, for a rule that holds.
    worst_value
        The value nearest to the limit or farthest beyond it; None where there is none.
    worst_key
        What it belongs to.
    noise_count
        Changes beyond the limit that are within the noise.
    """

    checked: int
    broken: list[str]
    missing: list[str]
    summary: str
    worst_value: float | None = None
    worst_key: str | None = None
    noise_count: int = 0


def check_value(rule: GateRule, parts: Sequence[Report], options: LabelOptions) -> Found:
    """Check a number of launches or groups against limits; repeats are averaged."""
    values, keys = _values(rule, parts, options)
    is_known = np.isfinite(values)
    missing = [f"{rule.metric} of {keys[i]}" for i in np.flatnonzero(~is_known)]
    if not is_known.any():
        return Found(0, [], missing, "")
    names = [keys[i] for i in np.flatnonzero(is_known)]
    checked = values[is_known]
    if rule.aggregate != "each":
        checked = np.array([float(_AGGREGATES[rule.aggregate](checked))])
        names = [f"the {rule.aggregate} of {len(names)}"]
    excess = np.maximum(
        checked - np.inf if rule.most is None else checked - rule.most,
        -np.inf if rule.least is None else rule.least - checked,
    )
    order = np.argsort(-excess, kind="stable")
    broken = [
        f"{names[i]} is {format_quantity(float(checked[i]), rule.unit)}"
        for i in order
        if excess[i] > 0
    ]
    worst = int(order[0])
    span = _span(checked, rule.unit)
    return Found(
        checked=len(checked),
        broken=broken,
        missing=missing,
        summary=f"{_counted(len(checked), rule)}: {span}, {rule.limit}",
        worst_value=float(checked[worst]),
        worst_key=names[worst] if rule.aggregate == "each" else None,
    )


def check_label(rule: GateRule, parts: Sequence[Report], options: LabelOptions) -> Found:
    """Check that a word of every launch or group is one of those expected."""
    side = measure_side(parts, options)
    pairs = match_sides(side, side, rule.by)
    slots, keys = pairs.slots[1], pairs.key[1].to_pylist()
    if rule.by == "launch":
        # Each repeat, not what most of them have.
        texts = side.labels[rule.metric].to_pylist()
        keys = [keys[i] for i in slots.slot]
    else:
        texts = group_labels(side, slots, parts, rule.by, options)[rule.metric].to_pylist()
    wanted = set(rule.expected)
    missing: list[str] = []
    broken: list[str] = []
    for key, word in zip(keys, texts, strict=True):
        if word in wanted:
            continue
        is_undecided = word is None or word in _UNDECIDED
        (missing if is_undecided else broken).append(f"{key} is {word or 'not known'}")
    checked = len(keys) - len(missing)
    return Found(checked, broken, missing, f"{_counted(checked, rule)}: all {rule.limit}")


def check_change(
    rule: GateRule,
    base: Sequence[Report],
    new: Sequence[Report],
    options: LabelOptions,
    noise: NoiseRules,
) -> Found:
    """Check how much a quantity changed against the base."""
    comparison = compare(base, new, by=rule.by, noise=noise, **options._asdict())  # type: ignore[arg-type]
    rows = comparison.rows
    keys, verdicts = rows["key"].to_pylist(), rows["verdict"].to_pylist()
    stem = _STEMS[rule.metric]
    change = number_column(rows, f"{stem}_change_pct")
    band = number_column(rows, f"{stem}_noise_pct")
    cannot = ["added", "removed"]
    cannot += [] if rule.metric in _OF_COUNTERS else ["not_comparable"]
    is_known = np.isfinite(change) & ~np.isin(verdicts, cannot)
    if rule.aggregate == "sum":
        return _change_of_sum(rule, comparison.total, verdicts, rows["reason"].to_pylist(), keys)
    reasons = rows["reason"].to_pylist()
    missing = [f"{keys[i]} ({verdicts[i].replace('_', ' ')}: {reasons[i]})"
               for i in np.flatnonzero(~is_known)]  # fmt: skip
    at = np.flatnonzero(is_known)
    return _changes(rule, change[at], band[at], [keys[i] for i in at], missing)


def _changes(
    rule: GateRule,
    change: NDArray[np.float64],
    band: NDArray[np.float64],
    keys: list[str],
    missing: list[str],
) -> Found:
    if not len(change):
        return Found(0, [], missing, "")
    up = np.inf if rule.increase_pct is None else rule.increase_pct
    down = np.inf if rule.decrease_pct is None else rule.decrease_pct
    excess = np.maximum(change - up, -change - down)
    # The band is of the logarithm: an increase of 25 % is undone by a decrease of 20 %.
    is_beyond = (change > band) | (change < -100.0 * band / (100.0 + band))
    order = np.argsort(-excess, kind="stable")
    broken = [
        f"{keys[i]} {change[i]:+.3g} % (noise {band[i]:.3g} %)"
        for i in order
        if excess[i] > 0 and is_beyond[i]
    ]
    # Of a rule with failures the worst of them, though a larger change may be noise.
    failing = [i for i in order if excess[i] > 0 and is_beyond[i]]
    worst = int((failing or list(order))[0])
    return Found(
        checked=len(change),
        broken=broken,
        missing=missing,
        summary=f"{_counted(len(change), rule)}: {_percents(change)}, {rule.limit}",
        worst_value=float(change[worst]),
        worst_key=keys[worst],
        noise_count=int(np.count_nonzero((excess > 0) & ~is_beyond)),
    )


def _change_of_sum(
    rule: GateRule, total: Any, verdicts: list[str], reasons: list[str], keys: list[str]
) -> Found:
    """Check the sum of durations, in which what was added or removed counts too."""
    missing = [
        f"{key} ({reason})"
        for key, verdict, reason in zip(keys, verdicts, reasons, strict=True)
        if verdict == "not_comparable"
    ]
    base = (total.base_duration_ns or 0.0) + total.removed_duration_ns
    new = (total.new_duration_ns or 0.0) + total.added_duration_ns
    if base <= 0 or total.duration_noise_pct is None:
        return Found(0, [], [*missing, "the base has no duration to compare with"], "")
    change = np.array([100.0 * (new / base - 1.0)])
    band = np.array([total.duration_noise_pct])
    found = _changes(rule, change, band, [f"the sum of {len(keys)}"], missing)
    return found._replace(worst_key=None)


_STEMS = {
    "duration_ns": "duration",
    "dram_bytes": "dram_bytes",
    "flop_count": "flop_count",
    "dram_throughput_pct": "dram_throughput",
    "achieved_occupancy_pct": "achieved_occupancy",
    "stalled_for_data_pct": "stalled_for_data",
}


def _values(
    rule: GateRule, parts: Sequence[Report], options: LabelOptions
) -> tuple[NDArray[np.float64], list[str]]:
    """Return the value of each launch or group, averaged over repeats, and its key."""
    side = measure_side(parts, options)
    pairs = match_sides(side, side, rule.by)
    slots, keys = pairs.slots[1], pairs.key[1].to_pylist()
    count = len(slots.first)
    if rule.by == "launch":
        value = _of_launches(rule.metric, side, parts)
        total = np.bincount(slots.slot, value, minlength=count)
        return total / np.bincount(slots.slot, minlength=count), keys
    if rule.adds_up:
        value = _of_launches(rule.metric, side, parts)
        known = side._replace(number={**side.number, rule.metric: value})
        return spread_of(known, slots.slot, count, rule.metric, adds_up=True).mean, keys
    groups = group_labels(side, slots, parts, rule.by, options)
    return number_column(groups, rule.metric), keys


def _of_launches(metric: str, side: Side, parts: Sequence[Report]) -> NDArray[np.float64]:
    """Return a number of every launch, NaN where it is not known."""
    if metric in side.number:
        return side.number[metric]
    if metric in side.labels.column_names:
        return number_column(side.labels, metric)
    columns = [part.launches[metric].cast(pa.float64(), safe=False) for part in parts]
    value = np.concatenate([np.array(one.to_numpy(), dtype=np.float64) for one in columns])
    failed = pc.fill_null(
        pa.chunked_array([c for p in parts for c in p.launches["is_failed_collection"].chunks]),
        False,
    )
    return np.where(np.asarray(failed), np.nan, value)


def _counted(count: int, rule: GateRule) -> str:
    nouns = {"launch": "launches", "kernel": "kernels", "family": "families"}
    if rule.aggregate != "each":
        return f"the {rule.aggregate}"
    return f"{count} {nouns[rule.by] if count != 1 else rule.by}"


def _span(values: NDArray[np.float64], unit: str) -> str:
    said = [format_quantity(float(one), unit) for one in (values.min(), values.max())]
    return " to ".join(dict.fromkeys(said))


def _percents(values: NDArray[np.float64]) -> str:
    said = [f"{one:+.3g} %" if one else "0 %" for one in (float(values.min()), float(values.max()))]
    return " to ".join(dict.fromkeys(said))
