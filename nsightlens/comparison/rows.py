"""The rows of a comparison: every column of the table ``comparison``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens import tables
from nsightlens.analysis.phrase import choose, concat, sentence, significant, when
from nsightlens.arrays import known_numbers, number_array
from nsightlens.comparison.change import NOISE_SOURCES, change_of
from nsightlens.comparison.comparable import LaunchPair, incomparable
from nsightlens.comparison.keys import FLOP_ALIKE_PCT
from nsightlens.comparison.labels import LABEL_COLUMNS
from nsightlens.comparison.match import MATCHED_BY
from nsightlens.comparison.quantities import QUANTITIES
from nsightlens.comparison.samples import EqualLaunches, equal_launches, spread_of, take
from nsightlens.comparison.verdict import VERDICTS, reason_of, signed_percent, verdict_codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nsightlens.comparison.change import Change
    from nsightlens.comparison.match import Pairs
    from nsightlens.comparison.noise import NoiseRules, Spread
    from nsightlens.comparison.side import Side

__all__ = ["Rows", "comparison_rows"]


_FLOP = [one.name for one in QUANTITIES].index("flop_count")
_SAME_NUMBER = 1e-6
"""Numbers of launches are means over repeats."""
_OWN = {
    "launch": ("kernel", "grid", "block", "report", "launch_id", "device_name"),
    "kernel": ("kernel", "device_name"),
    "family": ("device_name",),
}
"""What each side says of a row, by what a row is."""


class Rows(NamedTuple):
    """The table, and what totals need of it.

    Parameters
    ----------
    table
        With the schema of `nsightlens.tables.COMPARISON`.
    verdict
        Index into `nsightlens.comparison.verdict.VERDICTS`. Shape (rows,).
    why_not
        Text: why a row with both sides cannot be compared; null where it can.
    """

    table: pa.Table
    verdict: NDArray[np.int64]
    why_not: Any


def comparison_rows(
    sides: tuple[Side, Side],
    pairs: Pairs,
    by: str,
    rules: NoiseRules,
    labels: tuple[Sequence[Any], Sequence[Any]],
) -> Rows:
    """Build the table of a comparison.

    Parameters
    ----------
    sides, pairs
        Base and new, and their rows.
    by
        What a row is.
    rules
        What is taken for noise.
    labels
        For base and new the columns `LABEL_COLUMNS` of each slot.
    """
    slots = (pairs.base, pairs.new)
    changes, spreads = _changes(sides, pairs, rules)
    duration = changes[0]
    has = (pairs.base >= 0, pairs.new >= 0)
    why_not = _why_not(sides, pairs, changes, rules)
    if by != "launch":
        why_not = sentence(why_not, _other_number(sides, pairs, duration))
    other_work = _other_work(changes)
    code = verdict_codes(duration, has, why_not.is_null().to_numpy(zero_copy_only=False))
    data = _identity(sides, pairs, by)
    data |= {
        "verdict": choose(code, VERDICTS),
        "reason": reason_of(duration, spreads, code, why_not, other_work=other_work, rules=rules),
        "matched_by": choose(pairs.matched_by, MATCHED_BY),
        "duration_difference_ns": known_numbers(duration.new - duration.base),
        "noise_source": choose(duration.source, NOISE_SOURCES),
        "not_compared": _not_compared(changes, has),
    }
    for name, of_side, spread, slot, there in zip(
        ("base", "new"), pairs.slots, spreads, slots, has, strict=True
    ):
        launches = np.bincount(of_side.slot, minlength=len(of_side.first))
        reports = _reports_of(sides[name == "new"], of_side.slot, len(of_side.first))
        per_report = np.append(launches / np.maximum(reports, 1), np.nan)[slot]
        data[f"{name}_launch_count"] = number_array(per_report, there)
        data[f"{name}_repeat_count"] = number_array(spread.repeats.astype(np.uint64), there)
    for quantity, change in zip(QUANTITIES, changes, strict=True):
        data[f"base_{quantity.name}"] = known_numbers(change.base)
        data[f"new_{quantity.name}"] = known_numbers(change.new)
        data[f"{quantity.stem}_change_pct"] = known_numbers(change.change_pct)
        data[f"{quantity.stem}_noise_pct"] = known_numbers(change.noise_pct)
    data |= _labels(labels, slots)
    schema = tables.schema_of(tables.COMPARISON)
    return Rows(tables.table_of(schema, data, len(pairs.base)), code, why_not)


def _changes(
    sides: tuple[Side, Side], pairs: Pairs, rules: NoiseRules
) -> tuple[list[Change], tuple[Spread, Spread]]:
    """Return the change of every quantity, and the spreads of the durations."""
    rows = (pairs.base, pairs.new)
    counts = [len(one.first) for one in pairs.slots]
    equal = [
        _taken(equal_launches(side, work, one.slot, count), row)
        for side, work, one, count, row in zip(
            sides, pairs.work, pairs.slots, counts, rows, strict=True
        )
    ]
    spreads = [
        [
            take(spread_of(side, one.slot, count, quantity.name, adds_up=quantity.adds_up), row)
            for side, one, count, row in zip(sides, pairs.slots, counts, rows, strict=True)
        ]
        for quantity in QUANTITIES
    ]
    changes = [
        change_of(quantity, (base, new), rules, (equal[0], equal[1]) if i == 0 else None)
        for i, (quantity, (base, new)) in enumerate(zip(QUANTITIES, spreads, strict=True))
    ]
    return changes, (spreads[0][0], spreads[0][1])


def _taken(equal: EqualLaunches, slot: NDArray[np.int64]) -> EqualLaunches:
    # The last one is of a row without a slot, which is numbered -1.
    return EqualLaunches(
        np.append(equal.variance, np.nan)[slot], np.append(equal.freedom, 0.0)[slot]
    )


def _reports_of(side: Side, slot: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return the number of reports that hold each slot. Shape (count,)."""
    width = int(side.report.max(initial=0)) + 1
    return np.bincount(np.unique(slot * width + side.report) // width, minlength=count)


def _why_not(
    sides: tuple[Side, Side], pairs: Pairs, changes: Sequence[Change], rules: NoiseRules
) -> Any:
    """Say why rows with both sides cannot be compared; null for all others."""
    both = np.flatnonzero((pairs.base >= 0) & (pairs.new >= 0))
    pair = LaunchPair(pairs.slots[0].first[pairs.base[both]], pairs.slots[1].first[pairs.new[both]])
    duration, flop = changes[0], changes[_FLOP]
    is_known = (~np.isnan(duration.base[both]), ~np.isnan(duration.new[both]))
    flop_ratio = np.where(flop.base > 0, flop.log_ratio, np.nan)[both]
    texts = incomparable(*sides, pair, is_known, rules, flop_ratio=flop_ratio)
    at = np.full(len(pairs.base), -1)
    at[both] = np.arange(len(both))
    return texts.take(number_array(np.maximum(at, 0), at >= 0))


def _other_number(sides: tuple[Side, Side], pairs: Pairs, duration: Change) -> Any:
    """Say that the groups of a row have other numbers of launches, and how each of them changed."""
    counts = []
    for side, slots, row in zip(sides, pairs.slots, (pairs.base, pairs.new), strict=True):
        size = len(slots.first)
        launches = np.bincount(slots.slot, side.counts, minlength=size)
        kept = side.only(side.counts)
        reports = _reports_of(kept, slots.slot[side.counts], size)
        counts.append(np.append(launches / np.maximum(reports, 1), np.nan)[row])
    with np.errstate(divide="ignore", invalid="ignore"):
        each = 100 * ((duration.new / counts[1]) / (duration.base / counts[0]) - 1)
    differs = np.abs(counts[0] - counts[1]) > _SAME_NUMBER
    said = [significant(one) for one in counts]
    return when(differs, lambda: concat(
        "another number of measured launches: ", said[0], " in the base, ", said[1], " now, with ",
        signed_percent(each), " per launch",
    ))  # fmt: skip


def _other_work(changes: Sequence[Change]) -> Any:
    """Say how the operations changed, where that is more than a launch of equal work has."""
    flop = changes[_FLOP]
    is_other = np.abs(flop.log_ratio) > np.log1p(FLOP_ALIKE_PCT / 100)
    return when(is_other, lambda: concat("FLOP ", signed_percent(flop.change_pct)))


def _not_compared(changes: Sequence[Change], has: tuple[NDArray[np.bool_], ...]) -> Any:
    clauses = []
    for quantity, change in zip(QUANTITIES[1:], changes[1:], strict=True):
        one_alone = (np.isnan(change.base) != np.isnan(change.new)) & has[0] & has[1]
        clauses.append(when(one_alone, pa.array([quantity.name] * len(one_alone), pa.string())))
    return sentence(*clauses, separator=", ")


def _identity(sides: tuple[Side, Side], pairs: Pairs, by: str) -> dict[str, Any]:
    """Return the columns that say what a row is."""
    firsts = [
        np.append(one.first, -1)[row]
        for one, row in zip(pairs.slots, (pairs.base, pairs.new), strict=True)
    ]
    of_sides = [
        {name: _at(side.labels[name], first) for name in side.labels.column_names}
        for side, first in zip(sides, firsts, strict=True)
    ]
    shared = ("family", "subtype", "phase", "batch_size")
    data = {name: pc.coalesce(of_sides[1][name], of_sides[0][name]) for name in shared}
    for name, side in zip(("base", "new"), of_sides, strict=True):
        data |= {f"{name}_{one}": side[one] for one in _OWN[by]}
    keys = [_at(key, row) for key, row in zip(pairs.key, (pairs.base, pairs.new), strict=True)]
    # Of one program on both sides the keys agree; a key of the base alone may be one of new, too.
    data["key"] = pc.coalesce(keys[1], concat("removed|", keys[0]))
    return data


def _at(column: Any, rows: NDArray[np.int64]) -> Any:
    plain = column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
    whole = plain.combine_chunks() if isinstance(plain, pa.ChunkedArray) else plain
    return whole.take(number_array(np.maximum(rows, 0), rows >= 0))


def _labels(
    labels: tuple[Sequence[Any], Sequence[Any]], slots: tuple[NDArray[np.int64], ...]
) -> dict[str, Any]:
    data = {}
    for name, columns, slot in zip(("base", "new"), labels, slots, strict=True):
        for one, column in zip(LABEL_COLUMNS, columns, strict=True):
            data[f"{name}_{one}"] = _at(column, slot)
    changed = np.zeros(len(slots[0]), dtype=bool)
    for one in ("bound", "regime"):
        base, new = data[f"base_{one}"], data[f"new_{one}"]
        is_known = pc.and_(pc.not_equal(base, "unknown"), pc.not_equal(new, "unknown"))
        differs = pc.fill_null(pc.and_(pc.not_equal(base, new), is_known), False)
        changed |= differs.to_numpy(zero_copy_only=False)
    data["is_label_changed"] = number_array(changed, (slots[0] >= 0) & (slots[1] >= 0))
    return data
