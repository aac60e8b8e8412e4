"""Sums over the rows of a comparison: each family, everything, and the sentence that leads."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nsightlens import tables
from nsightlens.analysis.phrase import choose
from nsightlens.arrays import known_numbers, number_array
from nsightlens.comparison.change import NOISE_SOURCES, Change, change_of
from nsightlens.comparison.quantities import QUANTITIES
from nsightlens.comparison.samples import equal_launches, spread_of
from nsightlens.comparison.verdict import (
    LOST,
    VERDICTS,
    duration_words,
    noise_words,
    signed_percent,
    verdict_codes,
)
from nsightlens.devices.columns import number_column, text_column

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from nsightlens.comparison.match import Pairs
    from nsightlens.comparison.noise import NoiseRules
    from nsightlens.comparison.rows import Rows
    from nsightlens.comparison.side import Side

__all__ = ["Total", "family_table", "total_of"]


class Total(NamedTuple):
    """What a comparison adds up to.

    Parameters
    ----------
    verdict
        Of the rows that can be compared, together; ``not_comparable`` where there are none.
    base_duration_ns, new_duration_ns
        [ns] Sums over them; None where there are none.
    duration_change_pct
        [%] New over base, less 1.
    duration_noise_pct
        [%] Largest increase that noise explains; None where it explains any.
    noise_source
        See `nsightlens.tables.COMPARISON`.
    row_counts
        Rows by verdict.
    added_duration_ns, removed_duration_ns
        [ns] Sums over rows without counterpart.
    headline
        The answer in one sentence.
    """

    verdict: str
    base_duration_ns: float | None
    new_duration_ns: float | None
    duration_change_pct: float | None
    duration_noise_pct: float | None
    noise_source: str | None
    row_counts: dict[str, int]
    added_duration_ns: float
    removed_duration_ns: float
    headline: str


def family_table(sides: tuple[Side, Side], pairs: Pairs, rows: Rows, rules: NoiseRules) -> pa.Table:
    """Return the sums of each family, that with the most time first."""
    code, names = text_column(rows.table, "family")
    _, code = np.unique(code, return_inverse=True)
    found = np.unique(text_column(rows.table, "family")[0])
    change = _change(sides, pairs, rows, _Groups(code, len(found)), rules)
    alone = _alone(rows, code, len(found))
    time = (
        np.nan_to_num(change.base) + np.nan_to_num(change.new) + alone["added"] + alone["removed"]
    )
    counts = _counts(rows, code, len(found))
    data: dict[str, Any] = {
        "family": [names[one] for one in found],
        "verdict": choose(_verdicts(change, counts), VERDICTS),
        "base_duration_ns": known_numbers(change.base),
        "new_duration_ns": known_numbers(change.new),
        "duration_difference_ns": known_numbers(change.new - change.base),
        "duration_change_pct": known_numbers(change.change_pct),
        "duration_noise_pct": known_numbers(change.noise_pct),
        "noise_source": choose(change.source, NOISE_SOURCES),
        **{f"{name}_count": number_array(counts[i]) for i, name in enumerate(VERDICTS)},
        **{f"{name}_duration_ns": number_array(value) for name, value in alone.items()},
    }
    table = tables.table_of(tables.schema_of(tables.COMPARISON_FAMILIES), data, len(found))
    return table.take(number_array(np.argsort(-time, kind="stable")))


def total_of(
    sides: tuple[Side, Side], pairs: Pairs, rows: Rows, rules: NoiseRules, what: str
) -> Total:
    """Return the sums of everything; ``what`` names a row, such as ``launch``."""
    code = np.zeros(len(rows.verdict), dtype=np.int64)
    change = _change(sides, pairs, rows, _Groups(code, 1), rules)
    counts = _counts(rows, code, 1)
    alone = {name: float(value[0]) for name, value in _alone(rows, code, 1).items()}
    by_verdict = {name: int(counts[i][0]) for i, name in enumerate(VERDICTS)}
    verdict = VERDICTS[int(_verdicts(change, counts)[0])]
    return Total(
        verdict=verdict,
        base_duration_ns=_known(change.base),
        new_duration_ns=_known(change.new),
        duration_change_pct=_known(change.change_pct),
        duration_noise_pct=_known(change.noise_pct),
        noise_source=NOISE_SOURCES[int(change.source[0])] if change.source[0] >= 0 else None,
        row_counts=by_verdict,
        added_duration_ns=alone["added"],
        removed_duration_ns=alone["removed"],
        headline=_headline(verdict, change, by_verdict, rows, what),
    )


def _known(values: NDArray[np.float64]) -> float | None:
    return None if np.isnan(values[0]) else float(values[0])


class _Groups(NamedTuple):
    """A number for each row, and how many numbers there are."""

    code: NDArray[np.int64]
    group_count: int


def _change(
    sides: tuple[Side, Side], pairs: Pairs, rows: Rows, groups: _Groups, rules: NoiseRules
) -> Change:
    """Return the change of the duration of each code, over the rows that can be compared."""
    code, count = groups
    is_judged = rows.verdict <= VERDICTS.index("indistinguishable")
    spreads, equal = [], []
    for side, slots, row, work in zip(
        sides, pairs.slots, (pairs.base, pairs.new), pairs.work, strict=True
    ):
        of_slot = np.full(len(slots.first) + 1, -1)
        of_slot[row[is_judged]] = code[is_judged]
        slot = of_slot[:-1][slots.slot]
        spreads.append(_of_repeats(side, slots.slot, slot, count))
        is_in = slot >= 0
        kept = side.only(is_in)
        equal.append(equal_launches(kept, work[is_in], slot[is_in], count))
    return change_of(QUANTITIES[0], (spreads[0], spreads[1]), rules, (equal[0], equal[1]))


def _of_repeats(side: Side, own: NDArray[np.int64], slot: NDArray[np.int64], count: int) -> Any:
    """Return the spread of sums over slots that need not be in every report.

    Reports that hold the same slots are repeats. Where a report lacks some, as in a sweep of one
    report per batch size, the sum is over the means of the slots, and is no repeat.
    """
    spread = spread_of(side, slot, count, "duration_ns", adds_up=True)
    kept = np.where(slot >= 0, own, -1)
    single = spread_of(side, kept, int(own.max(initial=-1)) + 1, "duration_ns", adds_up=True)
    first = np.unique(own, return_index=True)[1]
    of_group = slot[first]
    is_in = (of_group >= 0) & (single.repeats > 0)
    total = np.bincount(of_group[is_in], single.mean[is_in], minlength=count)
    fewest = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(fewest, of_group[is_in], single.repeats[is_in])
    is_whole = fewest == spread.repeats
    return spread._replace(
        mean=np.where(spread.repeats > 0, total, np.nan),
        variance=np.where(is_whole, spread.variance, np.nan),
        repeats=np.where(is_whole, spread.repeats, np.minimum(spread.repeats, 1)),
    )


def _counts(rows: Rows, code: NDArray[np.int64], count: int) -> list[NDArray[np.uint64]]:
    return [
        np.bincount(code[rows.verdict == i], minlength=count).astype(np.uint64)
        for i in range(len(VERDICTS))
    ]


def _alone(rows: Rows, code: NDArray[np.int64], count: int) -> dict[str, NDArray[np.float64]]:
    found = {}
    for name, column in (("added", "new_duration_ns"), ("removed", "base_duration_ns")):
        is_one = rows.verdict == VERDICTS.index(name)
        duration = np.nan_to_num(number_column(rows.table, column))
        total = np.bincount(code[is_one], duration[is_one], minlength=count)
        found[name] = total.astype(np.float64)  # of no row at all it would be whole numbers
    return found


def _verdicts(change: Change, counts: list[NDArray[np.uint64]]) -> NDArray[np.int64]:
    has = tuple(
        sum((counts[i] for i, name in enumerate(VERDICTS) if name != alone), np.zeros(1)) > 0
        for alone in ("added", "removed")
    )
    is_empty = ~has[0] & ~has[1]
    there = (has[0] | is_empty, has[1] | is_empty)
    return verdict_codes(change, there, ~np.isnan(change.log_ratio))


_WORDS = {
    "improved": "Faster",
    "regressed": "Slower",
    "indistinguishable": "No change that can be told from noise",
    "not_comparable": "Not comparable",
    "added": "Nothing to compare with",
    "removed": "Nothing to compare",
}


def _headline(verdict: str, change: Change, counts: dict[str, int], rows: Rows, what: str) -> str:
    said = [f"{n} {name.replace('_', ' ')}" for name, n in counts.items() if n]
    tail = f"{what}: {', '.join(said)}." if said else f"there are no {what}."
    head = _WORDS[verdict]
    if not np.isnan(change.log_ratio[0]):
        noise = LOST if change.is_lost[0] else f"noise {noise_words(change)[0].as_py()}"
        in_sum = verdict == "indistinguishable" and counts["improved"] + counts["regressed"]
        head += f"{' in the sum' if in_sum else ''}: {_span(change.base, change.new)} ({noise})"
        head += _with_the_rest(change, rows)
    elif counts["not_comparable"] == 0 and verdict == "not_comparable":
        head = "Nothing is on both sides"
    elif verdict == "not_comparable":
        # The commonest reason, of which the first.
        reasons = Counter(rows.why_not.drop_null().to_pylist())
        reason, count = reasons.most_common(1)[0]
        share = "" if len(reasons) == 1 else f" ({count} of {counts['not_comparable']} {what})"
        head += f": {reason}{share}"
    return f"{head}. {tail[0].upper()}{tail[1:]}"


def _with_the_rest(change: Change, rows: Rows) -> str:
    """Say what the sum is with what was added and removed; nothing where nothing was."""
    alone = _alone(rows, np.zeros(len(rows.verdict), dtype=np.int64), 1)
    if not alone["added"][0] + alone["removed"][0]:
        return ""
    names = [name for name, time in alone.items() if time[0]]
    whole = _span(change.base + alone["removed"], change.new + alone["added"])
    return f"; with what was {' and '.join(names)}: {whole}"


def _span(base: NDArray[np.float64], new: NDArray[np.float64]) -> str:
    durations = [duration_words(one)[0].as_py() for one in (base, new)]
    percent = signed_percent(100.0 * (new / base - 1.0))[0].as_py()
    return f"{durations[0]} to {durations[1]}, {percent}"
