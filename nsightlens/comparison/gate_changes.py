"""What a rule of a gate finds about changes: how much a quantity changed against the base."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsightlens.comparison.checks import Found, counted
from nsightlens.comparison.comparison import compare
from nsightlens.comparison.gate_words import excess_over, percent_words
from nsightlens.comparison.quantities import QUANTITIES
from nsightlens.devices.columns import number_column
from nsightlens.units import format_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from nsightlens.comparison.comparison import Comparison
    from nsightlens.comparison.gate_rule import GateRule
    from nsightlens.comparison.noise import NoiseRules
    from nsightlens.comparison.quantities import Quantity
    from nsightlens.comparison.side import LabelOptions
    from nsightlens.report import Report

__all__ = ["check_change"]

_UNMATCHED = ("added", "removed")
_CANNOT = (*_UNMATCHED, "not_comparable")


class _Measured(NamedTuple):
    """Changes of a quantity, one per row; NaN where one side is not known. Shapes (n,).

    From 0 to something is an infinite increase, and from 0 to 0 no change.
    """

    change_pct: NDArray[np.float64]
    noise_pct: NDArray[np.float64]
    is_beyond: NDArray[np.bool_]
    new: NDArray[np.float64]

    def take(self, at: NDArray[np.int64]) -> _Measured:
        """Return some of the rows."""
        return _Measured(self.change_pct[at], self.noise_pct[at], self.is_beyond[at], self.new[at])


def check_change(
    rule: GateRule,
    base: Sequence[Report],
    new: Sequence[Report],
    options: LabelOptions,
    noise: NoiseRules,
) -> Found:
    """Check how much a quantity changed against the base."""
    comparison = compare(base, new, by=rule.by, noise=noise, **options._asdict())  # type: ignore[arg-type]
    if rule.aggregate == "sum":
        return _change_of_sum(rule, comparison)
    rows = comparison.rows
    quantity = next(one for one in QUANTITIES if one.name == rule.metric)
    measured = _measured(rows, quantity)
    keys = rows["key"].to_pylist()
    cannot = np.isin(rows["verdict"].to_pylist(), _CANNOT)
    is_known = ~np.isnan(measured.change_pct) & ~cannot
    missing = [f"{keys[i]} ({_why_missing(rows, int(i), rule.metric)})"
               for i in np.flatnonzero(~is_known)]  # fmt: skip
    at = np.flatnonzero(is_known)
    return _changes(rule, measured.take(at), [keys[i] for i in at], missing)


def _measured(rows: pa.Table, quantity: Quantity) -> _Measured:
    base, new = (number_column(rows, f"{side}_{quantity.name}") for side in ("base", "new"))
    change = number_column(rows, f"{quantity.stem}_change_pct")
    band = number_column(rows, f"{quantity.stem}_noise_pct")
    # The band is of the logarithm: an increase of 25 % is undone by a decrease of 20 %.
    is_beyond = (change > band) | (change < -100.0 * band / (100.0 + band))
    has_zero = ((base == 0) | (new == 0)) & (base >= 0) & (new >= 0)
    of_zero = np.select([new > base, new < base], [np.inf, -100.0], 0.0)
    # Of repeats that scatter beyond all measure no change is known.
    change = np.where(np.isnan(band), np.nan, change)
    return _Measured(
        np.where(has_zero, of_zero, change),
        np.where(has_zero, np.nan, band),
        np.where(has_zero, np.abs(new - base) > quantity.resolution, is_beyond),
        new,
    )


def _why_missing(rows: pa.Table, at: int, metric: str) -> str:
    row = rows.slice(at, 1).to_pylist()[0]
    verdict, reason = row["verdict"], row["reason"]
    if verdict in _CANNOT:
        clauses = reason.split("; ")
        if metric != "duration_ns" and len(clauses) > 1 and " %: " in clauses[-1]:
            # The numbers of a row that cannot be compared follow its reason: of the duration.
            reason = "; ".join(clauses[:-1])
        return f"{verdict.replace('_', ' ')}: {reason}"
    has = [row[f"{side}_{metric}"] is not None for side in ("base", "new")]
    if all(has):
        return "its repeats scatter too much: no change can be told"
    where = "in the new reports" if has[0] else "in the base" if has[1] else "on either side"
    return f"{metric} is not known {where}"


def _changes(rule: GateRule, rows: _Measured, keys: list[str], missing: list[str]) -> Found:
    change = rows.change_pct
    if not len(change):
        return Found(0, [], missing, "")
    down = None if rule.decrease_pct is None else -rule.decrease_pct
    # Of the quotient new / base, which may be 1 as much as it may be 1,000.
    excess = 100.0 * np.maximum(
        excess_over(1.0 + change / 100.0, _quotient(rule.increase_pct)),
        excess_over(-1.0 - change / 100.0, None if down is None else -1.0 - down / 100.0),
    )
    order = np.argsort(-excess, kind="stable")
    is_broken = (excess > 0) & rows.is_beyond
    # Of a rule with failures the worst of them, though a larger change may be noise.
    failing = [int(i) for i in order if is_broken[i]]
    worst = (failing or [int(order[0])])[0]
    limits = (rule.increase_pct, down)
    span = [_words(float(one), limits) for one in (change.min(), change.max())]
    return Found(
        checked=len(change),
        broken=[f"{keys[i]} {_broken_words(rule, rows, i, limits)}" for i in failing],
        missing=missing,
        summary=f"{counted(len(change), rule)}: {' to '.join(dict.fromkeys(span))}, {rule.limit}",
        worst_value=float(change[worst]),
        worst_key=keys[worst],
        noise_count=int(np.count_nonzero((excess > 0) & ~rows.is_beyond)),
    )


def _quotient(change_pct: float | None) -> float | None:
    return None if change_pct is None else 1.0 + change_pct / 100.0


def _words(change_pct: float, limits: Sequence[float | None]) -> str:
    return "from 0 to more" if np.isinf(change_pct) else percent_words(change_pct, limits)


def _broken_words(rule: GateRule, rows: _Measured, at: int, limits: Sequence[float | None]) -> str:
    change, noise = float(rows.change_pct[at]), float(rows.noise_pct[at])
    if np.isinf(change):
        return f"from 0 to {format_quantity(float(rows.new[at]), rule.unit)}"
    if np.isnan(noise):
        return f"{_words(change, limits)} (to 0)"
    said = f"{noise:.3g}"
    return f"{_words(change, (*limits, float(said)))} (noise {said} %)"


def _change_of_sum(rule: GateRule, comparison: Comparison) -> Found:
    """Check the sum of durations, in which what was added or removed counts too."""
    rows, total = comparison.rows, comparison.total
    columns = rows.select(
        ["key", "verdict", "reason", "base_duration_ns", "new_duration_ns"]
    ).to_pydict()
    missing = [
        f"{key} ({reason})"
        for key, verdict, reason, *durations in zip(*columns.values(), strict=True)
        if verdict == "not_comparable" or (verdict in _UNMATCHED and durations == [None, None])
    ]
    base = (total.base_duration_ns or 0.0) + total.removed_duration_ns
    new = (total.new_duration_ns or 0.0) + total.added_duration_ns
    if base <= 0 or total.duration_noise_pct is None:
        what = "no duration is on both sides" if base > 0 else "the base has no duration"
        told = f"{what} to compare with"
        if total.duration_change_pct is not None:
            told = "the repeats scatter too much: no change can be told"
        return Found(0, [], missing, "", nothing=told)
    change, band = 100.0 * (new / base - 1.0), total.duration_noise_pct
    is_beyond = change > band or change < -100.0 * band / (100.0 + band)
    row = _Measured(*(np.array([one]) for one in (change, band, is_beyond, new)))
    found = _changes(rule, row, [f"the sum of {rows.num_rows - len(missing)}"], missing)
    return found._replace(worst_key=None)
