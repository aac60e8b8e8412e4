"""The answers of ``nsightlens step-label`` as text: one label, many labels, an agreement.

Takes rows as dictionaries, as the machine formats have them.
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

__all__ = ["agreement_lines", "label_columns", "label_lines"]

_HEADINGS = {
    "is_step": "step", "phase": "phase", "batch_size": "batch", "query_tokens": "query\ntokens",
    "kv_tokens": "KV\ntokens", "step_index": "step\nindex", "engine": "engine",
}  # fmt: skip
_WORDS = frozenset(["is_step", "phase", "engine"])


def label_lines(row: Mapping[str, Any], style: Style) -> Iterator[str]:
    """Yield the lines that tell all about one label, one field a line."""
    width = max(map(len, row))
    for field, value in row.items():
        lines = indented(_text(value), style, width + 2, field, breaks_words=True)
        yield from lines or [field]


def label_columns(rows: Sequence[Mapping[str, Any]]) -> list[GridColumn]:
    """Return the columns of a table of labels.

    Parameters
    ----------
    rows
        With the fields of `nsightlens.steps.StepLabel` and ``label``.
    """
    labels = [_text(row["label"]) for row in rows]
    columns = [GridColumn("label", labels, 1000, comfortable=24, cut="middle")]
    for field, heading in _HEADINGS.items():
        cells = [_text(row[field]) for row in rows]
        importance = 900 - len(columns)
        columns.append(
            GridColumn(heading, cells, importance, "left" if field in _WORDS else "right")
        )
    return columns


def agreement_lines(
    rows: Sequence[Mapping[str, Any]], style: Style, *, differences: bool
) -> Iterator[str]:
    """Yield the lines that tell how far expectations and readings agree.

    Parameters
    ----------
    rows
        The measures.
    style
        What the output can show.
    differences
        Whether to list the labels that are read otherwise. Wrong numbers are always listed.
    """
    of = {
        measure: [row for row in rows if row["measure"] == measure]
        for measure in ("labels", "field", "wrong_number", "differs")
    }
    for row in of["labels"]:
        share = f"{row['right_count']} of {row['total_count']}, {_pct(row)} %"
        yield f"labels right in every field: {share}"
    yield f"wrong numbers: {len(of['wrong_number'])}"
    yield ""
    yield from table_lines(_fields(of["field"]), style)
    for row in of["wrong_number"] + (of["differs"] if differences else []):
        yield ""
        yield plain(
            f"{row['field']}: expected {_text(row['expected'])}, read {_text(row['read'])}:"
        )
        yield from indented(plain(row["label"]), style, 4, breaks_words=True)


def _fields(rows: Sequence[Mapping[str, Any]]) -> list[GridColumn]:
    return [
        GridColumn("field", [row["field"] for row in rows], 1000),
        GridColumn("right", [str(row["right_count"]) for row in rows], 900, "right"),
        GridColumn("of", [str(row["total_count"]) for row in rows], 900, "right"),
        GridColumn("%", [_pct(row) for row in rows], 950, "right"),
    ]


def _pct(row: Mapping[str, Any]) -> str:
    value = row["right_pct"]
    return numbers.MISSING if value is None else f"{value:.1f}"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return numbers.MISSING if value in (None, "") else plain(str(value))
