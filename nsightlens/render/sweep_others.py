"""Every family in one line: those that need no line per batch size, and all where none is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.render import numbers
from nsightlens.render.grid import GridColumn, arrange
from nsightlens.render.style import plain
from nsightlens.render.sweep_table import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nsightlens.render.style import Style
    from nsightlens.render.sweep_series import Series

__all__ = ["families_table"]

_LEGEND = {
    "time %": "share of the kernel time at the same batch size",
    "FLOP/B done": "arithmetic intensity: operations executed per DRAM byte",
    "DRAM %": "DRAM throughput, percent of peak",
    "roof %": "how close the operations come to the roofline of their data type",
}


def families_table(series: Sequence[Series], style: Style, *, with_batch: bool = True) -> Shown:
    """Return one line per family; a number that changes with the batch size is a range.

    Parameters
    ----------
    series
        From top to bottom.
    style
        What the output can show.
    with_batch
        Say at which batch sizes a family was seen.
    """
    every = _columns(series, batch_importance=1000 if with_batch else 0)
    columns = [column for column in every if _says_something(column)]
    layout = arrange(columns, style.width)
    lines = [*layout.header(style), *(layout.row(i, style) for i in range(len(series)))]
    legend = {name: _LEGEND[name] for name in _headers(layout.columns) if name in _LEGEND}
    return Shown(lines, legend, _headers(layout.left_out))


def _columns(series: Sequence[Series], *, batch_importance: int) -> list[GridColumn]:
    bounds = [_words(one, "bound") for one in series]
    return [
        GridColumn("family", [plain(one.title) for one in series], 1000, comfortable=26),
        GridColumn("batch", [_batches(one) for one in series], batch_importance, "right"),
        GridColumn("launches", [_count(one) for one in series], 80, "right"),
        GridColumn("time", [numbers.duration(one.duration_ns) for one in series], 90, "right"),
        _range("time\n%", series, "duration_share_pct", 95, numbers.percent),
        GridColumn("bound", bounds, 1000, styles=[_style(bound) for bound in bounds]),
        GridColumn("regime", [_words(one, "regime") for one in series], 60),
        _range(
            "FLOP/B\ndone", series, "arithmetic_intensity_flop_per_byte", 94, numbers.significant
        ),
        _range("DRAM\n%", series, "dram_throughput_pct", 93, numbers.percent),
        _range("roof\n%", series, "fraction_of_roof", 70, _percent_of),
    ]


def _says_something(column: GridColumn) -> bool:
    return column.importance >= 1000 or any(cell != numbers.MISSING for cell in column.cells)


def _range(
    header: str,
    series: Sequence[Series],
    name: str,
    importance: int,
    cell: Callable[[float | None], str],
) -> GridColumn:
    cells = []
    for one in series:
        known = one.known(name)
        low, high = (cell(min(known)), cell(max(known))) if known else (numbers.MISSING,) * 2
        cells.append(low if low == high else f"{low} to {high}")
    return GridColumn(header, cells, importance, "right")


def _percent_of(fraction: float | None) -> str:
    return numbers.percent(None if fraction is None else 100 * fraction)


def _batches(series: Series) -> str:
    known = series.batches
    if not known:
        return numbers.MISSING
    ends = str(known[0]) if len(known) == 1 else f"{known[0]} to {known[-1]}"
    return f"{ends}, -" if len(known) < len(series.rows) else ends


def _count(series: Series) -> str:
    return str(sum(row["launch_count"] or 0 for row in series.rows.values()))


def _words(series: Series, name: str) -> str:
    """Return the words of a column in the order of the batch size, each once."""
    found = dict.fromkeys(plain(row[name]) for row in series.rows.values() if row[name])
    return ", ".join(found) or numbers.MISSING


def _style(bound: str) -> str | None:
    return bound if "," not in bound else None


def _headers(columns: Sequence[GridColumn]) -> list[str]:
    return [" ".join(column.header.split()) for column in columns]
