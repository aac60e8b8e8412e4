"""The answers of ``nsightlens kernel-name`` as text: one name, many names, an agreement.

Takes rows as dictionaries, as the machine formats have them; the lists in them are joined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.render import numbers
from nsightlens.render.grid import GridColumn, indented
from nsightlens.render.metric_table import table_lines
from nsightlens.render.style import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nsightlens.render.style import Style

__all__ = ["agreement_columns", "agreement_lines", "name_columns", "name_lines"]

_IMPORTANCE = {
    "family": 900, "subtype": 890, "phase": 800, "dtypes": 850, "tile": 700, "head_dim": 690,
    "library": 650, "arch": 640, "also": 500, "rule": 860, "note": 100,
}  # fmt: skip
_NOTE = 24
"""[character] Less of a note says nothing."""


def name_lines(row: Mapping[str, Any], style: Style) -> Iterator[str]:
    """Yield the lines that tell all about one name, one field a line."""
    width = max(map(len, row))
    for field, value in row.items():
        text = _text(value)
        lines = indented(text, style, width + 2, field, breaks_words=True)
        yield from lines or [field]


def name_columns(rows: Sequence[Mapping[str, Any]]) -> list[GridColumn]:
    """Return the columns of a table of names.

    Parameters
    ----------
    rows
        With the fields of `nsightlens.kernels.KernelName`.
    """
    shown = [_text(row["short_name"]) for row in rows]
    columns = [GridColumn("kernel", shown, 1000, comfortable=24, cut="name")]
    for field, importance in _IMPORTANCE.items():
        cells = [_text(row[field]) for row in rows]
        comfortable = _NOTE if field == "note" else None
        columns.append(GridColumn(field, cells, importance, comfortable=comfortable, cut="end"))
    return columns


def agreement_columns(rows: Sequence[Mapping[str, Any]]) -> list[GridColumn]:
    """Return all measures as one table."""
    right = ("right_pct", "right_count", "total_count")
    return [
        GridColumn(field, [_cell(row[field]) for row in rows], 1000,
                   "right" if field in right else "left")
        for field in rows[0] if field != "key"
    ]  # fmt: skip


def agreement_lines(
    rows: Sequence[Mapping[str, Any]], style: Style, *, wrong_names: bool
) -> Iterator[str]:
    """Yield the lines that tell how far labels and readings agree.

    Parameters
    ----------
    rows
        The measures.
    style
        What the output can show.
    wrong_names
        Whether to list the names that are read otherwise, with the field and the rule that fired.
    """
    of = _by_measure(rows)
    for row in of.get("settled", []):
        yield f"families right where the name settles them: {_share(row)}"
    for row in of.get("ambiguous", []):
        if row["total_count"]:
            yield f"accepted where it does not: {_share(row)}"
    yield ""
    yield from table_lines(_families(of), style)
    if of.get("field"):
        yield ""
        yield from table_lines(_fields(of), style)
    if of.get("confusion"):
        yield ""
        yield from table_lines(_confusion(of["confusion"]), style)
    for measure in ("wrong", "differs") if wrong_names else ():
        if of.get(measure):
            yield ""
        for row in of.get(measure, []):
            field = f"{row['field']} " if row["field"] else ""
            rule = row["rule"] or "no rule"
            yield plain(f"{field}{row['label']} read as {row['read']} by {rule}:")
            yield from indented(plain(row["name"]), style, 4, breaks_words=True)


def _by_measure(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["measure"], []).append(row)
    return found


def _families(of: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[GridColumn]:
    precision, recall = of.get("precision", []), of.get("recall", [])
    return [
        GridColumn("family", [row["label"] for row in recall], 1000),
        GridColumn("labelled", [str(row["total_count"]) for row in recall], 900, "right"),
        GridColumn("read", [str(row["total_count"]) for row in precision], 900, "right"),
        GridColumn("both", [str(row["right_count"]) for row in recall], 900, "right"),
        GridColumn("precision\n%", [_pct(row) for row in precision], 950, "right"),
        GridColumn("recall\n%", [_pct(row) for row in recall], 950, "right"),
    ]


def _fields(of: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[GridColumn]:
    both, given = of["field"], of["given"]
    return [
        GridColumn("field", [row["label"] for row in both], 1000),
        GridColumn("labelled", [str(row["total_count"]) for row in given], 900, "right"),
        GridColumn("read", [str(row["right_count"]) for row in given], 900, "right"),
        GridColumn("same", [str(row["right_count"]) for row in both], 900, "right"),
        GridColumn("same\n% of read", [_pct(row) for row in both], 950, "right"),
    ]


def _confusion(pairs: Sequence[Mapping[str, Any]]) -> list[GridColumn]:
    """Return the confusion table: a row for each label, a column for each family read for it."""
    labels = list(dict.fromkeys(row["label"] for row in pairs))
    read = list(dict.fromkeys(row["read"] for row in pairs))
    counts = {(row["label"], row["read"]): str(row["total_count"]) for row in pairs}
    return [
        GridColumn("labelled \\ read", labels, 1000),
        *(
            GridColumn(name, [counts.get((label, name), "") for label in labels], 900 - i, "right")
            for i, name in enumerate(read)
        ),
    ]


def _share(row: Mapping[str, Any]) -> str:
    return f"{row['right_count']} of {row['total_count']}, {_pct(row)} %"


def _pct(row: Mapping[str, Any]) -> str:
    value = row["right_pct"]
    return numbers.MISSING if value is None else f"{value:.1f}"


def _cell(value: Any) -> str:
    return f"{value:.1f}" if isinstance(value, float) else _text(value)


def _text(value: Any) -> str:
    if value in (None, "", []):
        return numbers.MISSING
    return plain(", ".join(value) if isinstance(value, list) else str(value))
