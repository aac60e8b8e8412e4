"""The table of the curve: the rows around what matters, with the choice marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.render import numbers
from nsightlens.render.advice_words import batch_words, latency_words
from nsightlens.render.grid import GridColumn
from nsightlens.render.style import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.advisor.answers import Advice

__all__ = [
    "CurveTable",
    "curve_table",
]

Row = dict[str, Any]
Styles = list[str | None]


class CurveTable(NamedTuple):
    """Rows of the curve that are shown.

    Parameters
    ----------
    columns
        From left to right.
    hidden
        Rows that are not among them.
    flags
        Keys of what weighs against every row, which no row repeats.
    """

    columns: list[GridColumn]
    hidden: int
    flags: tuple[str, ...]


def curve_table(advice: Advice, most: int | None = None, mark: str = ">") -> CurveTable | None:
    """Return the rows around what matters: choice, neighbours, knee, plateau, ends.

    Parameters
    ----------
    advice
        What is shown.
    most
        Rows that are shown; None for all.
    mark
        Stands before the row of the choice.

    Returns
    -------
    CurveTable
        None where the curve has no rows.
    """
    rows = _rows(advice)
    if not rows:
        return None
    common = _common_flags(rows)
    places = _around(advice, rows, len(rows) if most is None else most)
    shown = [rows[i] for i in places]
    return CurveTable(_columns(advice, shown, common, mark), len(rows) - len(shown), common)


def _rows(advice: Advice) -> list[Row]:
    """Return the rows of the curve; a choice between them has a row of its own."""
    rows: list[Row] = advice.curve.rows.to_pylist()
    choice = advice.choice
    if choice.is_interpolated and choice.batch_size is not None:
        between = {**dict.fromkeys(advice.curve.rows.column_names), **(choice.row or {})}
        rows.append({**between, "batch_size": choice.batch_size, "flags": "interpolated"})
        rows.sort(key=_batch_of)
    return rows


def _batch_of(row: Row) -> float:
    value = row["batch_size"]
    return float("inf") if numbers.is_missing(value) else float(value)


def _around(advice: Advice, rows: Sequence[Row], most: int) -> list[int]:
    """Return the places of the rows to show, in order."""
    place_of = {_batch_of(row): i for i, row in reversed(list(enumerate(rows)))}
    choice, plateau = advice.choice, advice.plateau
    neighbours = [one.batch_size for one in (choice.larger, choice.smaller) if one is not None]
    wanted = [
        choice.batch_size, *neighbours, plateau.best_batch, plateau.batch_at_90,
        plateau.batch_at_95, choice.largest_feasible, _nearest_to_knee(advice, rows),
    ]  # fmt: skip
    marked = [place_of[one] for one in wanted if one is not None and one in place_of]
    anchor = marked[0] if marked else 0
    # The ends after the choice and its neighbours, and then what lies closest to the choice.
    ends = [0, len(rows) - 1]
    near = sorted(range(len(rows)), key=lambda i: (abs(i - anchor), i))
    order = dict.fromkeys([*marked[:3], *ends, *marked[3:], *near])
    return sorted(list(order)[:most])


def _nearest_to_knee(advice: Advice, rows: Sequence[Row]) -> float | None:
    fit = advice.plateau.fit
    if fit is None or fit.knee is None:
        return None
    name = "running_batch" if fit.over == "running" else "batch_size"
    known = [(row[name], _batch_of(row)) for row in rows if not numbers.is_missing(row[name])]
    knee = fit.knee
    return min(known, key=lambda pair: abs(pair[0] - knee))[1] if known else None


def _common_flags(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the flags that every measured row has; those of a single row are its own."""
    if len(rows) < 2:
        return ()
    measured = [row for row in rows if row["flags"] != "interpolated"]
    kept = [set(_flags(row)) for row in measured]
    return tuple(flag for flag in _flags(measured[0]) if all(flag in one for one in kept))


def _flags(row: Row) -> list[str]:
    return [flag for flag in (row["flags"] or "").split(",") if flag]


def _columns(
    advice: Advice, rows: Sequence[Row], common: Sequence[str], mark: str
) -> list[GridColumn]:
    chosen = advice.choice.batch_size
    marks = [mark if chosen is not None and row["batch_size"] == chosen else "" for row in rows]
    flags = [plain(", ".join(one for one in _flags(row) if one not in common)) for row in rows]
    styles: Styles = [
        "head" if text else "dim" if row["preemption_count"] else None
        for text, row in zip(marks, rows, strict=True)
    ]

    def known(name: str) -> list[str]:
        return [numbers.significant(row[name]) for row in rows]

    columns = [
        *([GridColumn("", marks, 1000, styles=styles)] if any(marks) else []),
        _cells("batch", [batch_words(row["batch_size"]) for row in rows], 1000, styles),
        _cells("running", [batch_words(row["running_batch"]) for row in rows], 800, styles),
        _cells(f"{advice.curve.throughput}\ntoken/s", known("throughput_tok_s"), 990, styles),
        _cells("% of\nbest", [_share(row["share_of_best"]) for row in rows], 700, styles),
        _cells("ITL\nms", known("itl_ms"), 985, styles),
        *_limited(advice, rows, styles),
        _cells("efficiency", known("efficiency"), 950, styles),
        _cells("KV\npeak %", [numbers.percent(row["kv_peak_pct"]) for row in rows], 940, styles),
    ]
    if any(flags):
        columns.append(GridColumn("flags", flags, 960, comfortable=13, cut="end", styles=styles))
    return columns


def _limited(advice: Advice, rows: Sequence[Row], styles: Styles) -> list[GridColumn]:
    """Return the latencies that are limited and are not the time between tokens shown already."""
    sources = {row["itl_source"] for row in rows}
    found = {}
    for slo in advice.choice.slos:
        if sources != {slo.column}:
            head = f"{latency_words(slo)}\nms"
            found[slo.column] = _cells(
                head, [numbers.significant(row[slo.column]) for row in rows], 980, styles
            )
    return list(found.values())


def _cells(header: str, cells: Sequence[str], rank: int, styles: Styles) -> GridColumn:
    return GridColumn(header, cells, rank, "right", styles=styles)


def _share(fraction: float | None) -> str:
    return numbers.percent(None if fraction is None else 100 * fraction)
