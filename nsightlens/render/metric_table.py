"""The answers of ``nsightlens metrics`` as text tables: names, values, one row per launch.

Takes rows as dictionaries, as the machine formats have them, and returns columns for
`nsightlens.render.grid`. The name of a metric is there to be copied: other columns give way to it,
and it is cut only where it is too long for the line without them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.render import numbers
from nsightlens.render.columns import kernel_words
from nsightlens.render.grid import GAP, GridColumn, arrange, indented
from nsightlens.render.style import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nsightlens.render.style import Style

__all__ = ["name_columns", "table_lines", "value_columns", "wide_columns"]

_LEAST_NAME = 24
"""[character] Less of the name of a metric is not told from others."""
_LEAST_TEXT = 12
"""[character] Less of a text that is a value says nothing."""
_LEFT_OUT_SHOWN = 6


def name_columns(rows: Sequence[Mapping[str, Any]], width: int) -> list[GridColumn]:
    """Return the columns of a list of names.

    Parameters
    ----------
    rows
        With ``metric``, ``unit``, ``value_count`` and ``launch_count``.
    width
        [character] Room for a line.
    """
    have = [f"{row['value_count']}/{row['launch_count']}" for row in rows]
    unit = GridColumn("unit", [_text(row["unit"]) for row in rows], 1000)
    return [_metric_column(rows, width, [unit]), unit, GridColumn("launches", have, 100, "right")]


def value_columns(rows: Sequence[Mapping[str, Any]], width: int) -> list[GridColumn]:
    """Return the columns of a table with one row per launch and metric.

    Parameters
    ----------
    rows
        With ``report``, ``launch_id``, ``kernel``, ``metric``, ``kind``, ``value`` and ``unit``.
    width
        [character] Room for a line.
    """
    number = GridColumn("#", [str(row["launch_id"]) for row in rows], 1000, "right")
    values = [_text(row["value"]) for row in rows]
    # Only a text may be cut.
    numbers_only = [v for v, row in zip(values, rows, strict=True) if row["kind"] != "text"]
    least = max((len(text) for text in numbers_only), default=0)
    value = GridColumn("value", values, 1000, "right", comfortable=max(_LEAST_TEXT, least))
    unit = GridColumn("unit", [_text(row["unit"]) for row in rows], 90)
    return [
        *_report_column(rows, importance=70),
        number,
        _kernel_column(rows, importance=80),
        _metric_column(rows, width, [number, value]),
        value,
        unit,
    ]


def wide_columns(rows: Sequence[Mapping[str, Any]], metrics: Sequence[str]) -> list[GridColumn]:
    """Return the columns of a table with one row per launch, one column per metric.

    Parameters
    ----------
    rows
        With ``report``, ``launch_id``, ``kernel`` and each of the metrics.
    metrics
        Their names.
    """
    return [
        *_report_column(rows, importance=999),
        GridColumn("#", [str(row["launch_id"]) for row in rows], 1000, "right"),
        _kernel_column(rows, importance=1000),
        # The first metrics that were asked for stay longest.
        *(
            GridColumn(plain(name), [_text(row[name]) for row in rows], 500 - i, "right")
            for i, name in enumerate(metrics)
        ),
    ]


def table_lines(
    columns: Sequence[GridColumn], style: Style, below: Mapping[int, str] | None = None
) -> Iterator[str]:
    """Yield the lines of a table, and which columns were left out.

    Parameters
    ----------
    columns
        From left to right.
    style
        What the output can show.
    below
        A text below a row, by its index.
    """
    layout = arrange(columns, style.width)
    yield from layout.header(style)
    for i in range(len(columns[0].cells)):
        yield layout.row(i, style)
        if below is not None and i in below:
            lines = indented(plain(below[i]), style, 4, breaks_words=True)
            yield from (style.paint(line, "dim") for line in lines)
    if layout.left_out:
        yield from _left_out_lines([column.header for column in layout.left_out], style)


def _left_out_lines(headers: Sequence[str], style: Style) -> Iterator[str]:
    names = ", ".join(headers[:_LEFT_OUT_SHOWN])
    hidden = len(headers) - _LEFT_OUT_SHOWN
    more = f" and {hidden} more (-o FILE.csv has them all)" if hidden > 0 else ""
    text = f"not shown for want of width: {names}{more}"
    yield from (style.paint(line, "dim") for line in indented(text, style, 0, breaks_words=True))


def _metric_column(
    rows: Sequence[Mapping[str, Any]], width: int, beside: Sequence[GridColumn]
) -> GridColumn:
    """Return the column of names; it is cut only if it does not fit with what stands beside it."""
    taken = sum(
        min(column.natural_width, column.comfortable or column.natural_width) + GAP
        for column in beside
    )
    names = [plain(row["metric"]) for row in rows]
    return GridColumn(
        "metric", names, 1000, comfortable=max(_LEAST_NAME, width - taken), cut="metric"
    )


def _kernel_column(rows: Sequence[Mapping[str, Any]], importance: int) -> GridColumn:
    names = [kernel_words(row["kernel"], None) for row in rows]
    return GridColumn("kernel", names, importance, comfortable=16, cut="name")


def _report_column(rows: Sequence[Mapping[str, Any]], importance: int) -> list[GridColumn]:
    names = [plain(row["report"]) for row in rows]
    if len(set(names)) < 2:
        return []
    return [GridColumn("report", names, importance, comfortable=16)]


def _text(value: float | str | None) -> str:
    return numbers.MISSING if value is None else plain(str(value))
