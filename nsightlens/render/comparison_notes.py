"""What a reader must know of a comparison besides the durations: notes, one sentence each."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.comparison.quantities import QUANTITIES
from nsightlens.render import numbers
from nsightlens.render.columns import family_words
from nsightlens.render.comparison_names import kernel_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from nsightlens.comparison.quantities import Quantity

__all__ = ["comparison_notes", "incomparable_notes", "row_names", "signed"]

_REASONS_SHOWN = 5
_ROWS_SHOWN = 3
_SHOWN_FROM_PCT = 0.05
_NAMING = ("base_kernel", "new_kernel", "family", "subtype", "batch_size")
_JUDGED = ("improved", "regressed", "indistinguishable")
_COUNTED = {"dram_bytes": "DRAM bytes", "flop_count": "operations"}
"""Quantities of which a change is told in words, because their columns may be left out."""


def signed(change_pct: float | None) -> str:
    """Return a change in percent with its sign, which one that rounds to nothing does not have.

    Examples
    --------
    >>> signed(6.53), signed(-0.04), signed(0.0), signed(None), signed(583.2)
    ('+6.5', '0.0', '0', '-', '+583')
    """
    if change_pct is None:
        return numbers.MISSING
    if change_pct == 0:
        return "0"
    if abs(change_pct) < _SHOWN_FROM_PCT:
        return "0.0"
    return f"{change_pct:+.0f}" if abs(change_pct) >= 99.95 else f"{change_pct:+.1f}"


def incomparable_notes(rows: pa.Table) -> list[str]:
    """Say why rows cannot be compared, the commonest reason first."""
    columns = rows.select(["verdict", "reason"]).to_pydict()
    # The numbers of a row follow its reason, after the last semicolon.
    reasons = Counter(
        _without_numbers(reason)
        for verdict, reason in zip(columns["verdict"], columns["reason"], strict=True)
        if verdict == "not_comparable"
    )
    common = reasons.most_common(_REASONS_SHOWN)
    said = [f"not comparable: {numbers.counted(n, 'row')}, {reason}" for reason, n in common]
    if len(reasons) > len(common):
        more = numbers.counted(len(reasons) - len(common), "further reason")
        said.append(f"not comparable: {more}; -f json has that of each row")
    return said


def _without_numbers(reason: str) -> str:
    clauses = reason.split("; ")
    return "; ".join(clauses[:-1] if len(clauses) > 1 and " %: " in clauses[-1] else clauses)


def comparison_notes(rows: pa.Table, by: str) -> Iterator[str]:
    """Yield what is noticed in all rows of a comparison.

    Parameters
    ----------
    rows
        With the schema of `nsightlens.tables.COMPARISON`.
    by
        What a row is.
    """
    names = row_names(rows.select(list(_NAMING)).to_pydict(), by)
    for quantity in QUANTITIES:
        if quantity.name in _COUNTED:
            yield from _count_notes(rows, quantity, names)
    yield from _label_notes(rows, names)
    sources = set(rows["noise_source"].to_pylist())
    if "repeats" not in sources and sources - {None}:
        yield (
            "no repeats were given: what counts as noise is a stated default, not measured. "
            "Several reports of each side would say what it is (NEW... --base BASE...)."
        )
    missing = Counter(
        name for text in rows["not_compared"].to_pylist() if text for name in text.split(", ")
    )
    for name, count in missing.items():
        yield f"{name} was collected on one side only, in {numbers.counted(count, 'row')}."


def row_names(rows: Mapping[str, Sequence[Any]], by: str) -> list[str]:
    """Return what names each row in a sentence: its kernel or family, and the batch size."""
    names = kernel_texts(rows)
    if by == "family":
        pairs = zip(rows["family"], rows["subtype"], strict=True)
        names = [family_words(*one) for one in pairs]
    return [
        name if batch is None else f"{name} at batch {batch}"
        for name, batch in zip(names, rows["batch_size"], strict=True)
    ]


class _Changed(NamedTuple):
    """A row of which a counted quantity changed."""

    change_pct: float
    name: str


def _count_notes(rows: pa.Table, quantity: Quantity, names: Sequence[str]) -> Iterator[str]:
    """Say where a counted quantity changed beyond its noise."""
    name, stem = quantity.name, quantity.stem
    wanted = ["verdict", f"base_{name}", f"new_{name}", f"{stem}_change_pct", f"{stem}_noise_pct"]
    changed = [
        _Changed(_change(base, new, change), name)
        for name, (verdict, base, new, change, noise) in zip(
            names, zip(*rows.select(wanted).to_pydict().values(), strict=True), strict=True
        )
        if verdict in _JUDGED
        and None not in (base, new)
        and _is_beyond(new - base, change, noise, quantity.resolution)
    ]
    more = [one for one in changed if one.change_pct > 0]
    fewer = [one for one in changed if one.change_pct < 0]
    said = []
    if more:
        most = max(more, key=lambda one: one.change_pct)
        said.append(f"more in {_with_extreme(more, most)}")
    if fewer:
        said.append(f"fewer in {_with_extreme(fewer, min(fewer, key=lambda x: x.change_pct))}")
    if said:
        yield f"{_COUNTED[quantity.name]} changed beyond their noise: {', '.join(said)}."


def _with_extreme(rows: Sequence[_Changed], extreme: _Changed) -> str:
    is_finite = abs(extreme.change_pct) != float("inf")
    change = f"{signed(extreme.change_pct)} %" if is_finite else "from 0"
    at_most = "" if len(rows) == 1 else " at most"
    return f"{numbers.counted(len(rows), 'row')} ({change}{at_most}: {extreme.name})"


def _change(base: float | None, new: float | None, change_pct: float | None) -> float:
    """Return a change in percent; of something that was 0 it is not in the table."""
    if change_pct is not None:
        return change_pct
    return float("inf") if (new or 0.0) > (base or 0.0) else -100.0


def _is_beyond(
    difference: float, change_pct: float | None, noise_pct: float | None, resolution: float
) -> bool:
    if change_pct is None:
        return abs(difference) > resolution
    if noise_pct is None:  # repeats scatter so much that no change can be told
        return False
    # The noise is of the logarithm: an increase of 25 % is undone by a decrease of 20 %.
    return change_pct > noise_pct or change_pct < -100.0 * noise_pct / (100.0 + noise_pct)


def _label_notes(rows: pa.Table, names: Sequence[str]) -> Iterator[str]:
    """Say which rows changed bound or regime, and how."""
    labels = ("base_bound", "new_bound", "base_regime", "new_regime")
    columns = rows.select(["is_label_changed", *labels]).to_pydict()
    said = Counter(
        f"{name}: {_label_change(*of_row)}"
        for name, is_changed, *of_row in zip(names, *columns.values(), strict=True)
        if is_changed
    )
    if not said:
        return
    shown = [
        text if count == 1 else f"{text} ({count} times)"
        for text, count in said.most_common(_ROWS_SHOWN)
    ]
    count = sum(said.values())
    hidden = count - sum(n for _, n in said.most_common(_ROWS_SHOWN))
    more = f"; and {hidden} more" if hidden else ""
    yield f"{numbers.counted(count, 'row')} changed bound or regime: {'; '.join(shown)}{more}."


def _label_change(*labels: str | None) -> str:
    base_bound, new_bound, base_regime, new_regime = labels
    pairs = (("bound", base_bound, new_bound), ("regime", base_regime, new_regime))
    return ", ".join(
        f"{name} {base} -> {new}"
        for name, base, new in pairs
        if base != new and None not in (base, new) and "unknown" not in (base, new)
    )
