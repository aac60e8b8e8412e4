"""What a rule of a gate finds: the values that it is about, and those that break its limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.comparison.gate_words import excess_over, value_words
from nsightlens.comparison.labels import group_labels
from nsightlens.comparison.match import match_sides
from nsightlens.comparison.samples import spread_of
from nsightlens.comparison.side import measure_side
from nsightlens.devices.columns import number_column

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from nsightlens.comparison.gate_rule import GateRule
    from nsightlens.comparison.side import LabelOptions, Side
    from nsightlens.report import Report

__all__ = ["Found", "check_label", "check_value", "counted"]

_UNDECIDED = ("unknown", "none")
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
    nothing
        Why nothing is left to check, where it is not that every value is missing.
    """

    checked: int
    broken: list[str]
    missing: list[str]
    summary: str
    worst_value: float | None = None
    worst_key: str | None = None
    noise_count: int = 0
    nothing: str = ""


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
    least = None if rule.least is None else -rule.least
    excess = np.maximum(excess_over(checked, rule.most), excess_over(-checked, least))
    order = np.argsort(-excess, kind="stable")
    broken = [f"{names[i]} is {_said(float(checked[i]), rule)}" for i in order if excess[i] > 0]
    worst = int(order[0])
    span = dict.fromkeys(_said(float(one), rule) for one in (checked.min(), checked.max()))
    return Found(
        checked=len(checked),
        broken=broken,
        missing=missing,
        summary=f"{counted(len(checked), rule)}: {' to '.join(span)}, {rule.limit}",
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
    return Found(checked, broken, missing, f"{counted(checked, rule)}: all {rule.limit}")


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


def counted(count: int, rule: GateRule) -> str:
    """Say how many values a rule checks, and of what."""
    nouns = {"launch": "launches", "kernel": "kernels", "family": "families"}
    if rule.aggregate != "each":
        return f"the {rule.aggregate}"
    return f"{count} {nouns[rule.by] if count != 1 else rule.by}"


def _said(value: float, rule: GateRule) -> str:
    return value_words(value, rule.unit, (rule.most, rule.least))
