"""Attention and GEMMs along the batch size: a line per batch size, families side by side.

Where the terminal is too narrow for families side by side they stand below each other; where it is
too narrow for one of them, its least important columns are left out and named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nsightlens.render import numbers
from nsightlens.render.grid import GAP, GridColumn, Layout, arrange
from nsightlens.render.style import cell_width, plain, shorten_middle
from nsightlens.render.sweep_series import NOT_FITTING, batch_cells, has_not_fitting, thinned

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from nsightlens.render.style import Style
    from nsightlens.render.sweep_series import Row, Series

__all__ = [
    "COLUMNS",
    "Shown",
    "SweepColumn",
    "column_cells",
    "legend_of",
    "series_table",
    "telling_columns",
]


class SweepColumn(NamedTuple):
    """How a column of the rows of a sweep is shown, and what its heading means.

    Columns that are explained together have one ``label``; "" for the heading itself.
    """

    name: str
    header: str
    importance: int
    cell: Callable[[Any], str]
    legend: str = ""
    label: str = ""
    align: Literal["left", "right"] = "right"


def _word(value: str | None) -> str:
    return numbers.MISSING if value is None else plain(value)


def _percent_of(fraction: float | None) -> str:
    return numbers.percent(None if fraction is None else 100 * fraction)


COLUMNS = (
    SweepColumn("bound", "bound", 1000, _word,
                "the side, memory or compute, of what limits the launches", align="left"),
    SweepColumn("regime", "regime", 94, _word, align="left"),
    SweepColumn("arithmetic_intensity_flop_per_byte", "FLOP/B\ndone", 98, numbers.significant,
                "arithmetic intensity: operations executed per DRAM byte"),
    SweepColumn("useful_arithmetic_intensity_flop_per_byte", "FLOP/B\nuseful", 97,
                numbers.significant,
                "the same of the operations and bytes that the shapes need, without padding"),
    SweepColumn("dram_throughput_pct", "DRAM\n%", 96, numbers.percent,
                "DRAM throughput, percent of peak"),
    SweepColumn("fraction_of_roof", "roof\n%", 93, _percent_of,
                "how close the operations come to the roofline of their data type"),
    SweepColumn("duration_share_pct", "time\n%", 95, numbers.percent,
                "share of the kernel time at the same batch size"),
    SweepColumn("duration_ns", "time", 70, numbers.duration,
                "sum over the launches; host time is not in it"),
    SweepColumn("executed_per_useful_flop", "done per\nuseful", 60, numbers.significant,
                "operations executed over those that the shapes need: 1 without padding"),
    SweepColumn("dram_per_algorithmic_byte", "DRAM per\nneeded", 58, numbers.significant,
                "DRAM bytes over those that the shapes need"),
    SweepColumn("stalled_for_data_pct", "data\nstall %", 50, numbers.percent,
                "share of warp time spent waiting for data (stall reason long_scoreboard)"),
    SweepColumn("achieved_occupancy_pct", "occup.\n%", 48, numbers.percent,
                "achieved occupancy: warps active, percent of the maximum"),
    SweepColumn("confidence", "confidence", 40, _word, "how sure the label is",
                align="left"),
)  # fmt: skip
"""Columns of a series, from left to right."""

_CORE = 93
"""Series stand side by side only where all columns of at least this importance fit."""


class Shown(NamedTuple):
    """Lines of a part of the answer, what its headings mean, and the headings that did not fit."""

    lines: list[str]
    legend: dict[str, str]
    left_out: list[str]


def legend_of(columns: Iterable[SweepColumn]) -> dict[str, str]:
    """Return what the headings of some columns mean."""
    return {c.label or _one_line(c.header): c.legend for c in columns if c.legend}


def series_table(
    series: Sequence[Series], style: Style, only: Collection[str] | None = None
) -> Shown:
    """Return the rows of some families, one line per batch size.

    Parameters
    ----------
    series
        From left to right; those that do not fit stand below.
    style
        What the output can show.
    only
        Names of the columns to show, where not all are wanted.
    """
    measured = sorted({batch for one in series for batch in one.batches})
    batches = thinned(measured)
    names = [one for one in telling_columns(series) if only is None or one.name in only]
    lines: list[str] = []
    shown: dict[str, SweepColumn] = {}
    left_out: dict[str, None] = {}
    rest = list(series)
    while rest and batches:
        count, least = _fitting(rest, batches, names, style)
        chosen = [column for column in names if column.importance >= least]
        # A family by itself needs no line for a batch size at which it was not seen.
        own = [b for b in batches if count > 1 or b in rest[0].rows]
        lines += [*([""] if lines else []), *_band(rest[:count], own, chosen, style)]
        shown.update((column.name, column) for column in chosen)
        left_out.update((_one_line(c.header), None) for c in names if c.importance < least)
        rest = rest[count:]
    if len(batches) < len(measured):
        more = f"{len(batches)} of {len(measured)} batch sizes: -f csv has all"
        lines.append(style.paint(more, "dim"))
    legend = legend_of(shown.values())
    if has_not_fitting(row for one in series for row in one.rows.values()):
        legend.update([NOT_FITTING])
    return Shown(lines, legend, list(left_out))


def telling_columns(series: Sequence[Series]) -> list[SweepColumn]:
    """Return the columns that some row can fill; a confidence that is high everywhere is none."""

    def tells(column: SweepColumn) -> bool:
        values = [row[column.name] for one in series for row in one.rows.values()]
        if column.name == "confidence":
            return any(value not in (None, "high") for value in values)
        return any(not _is_missing(value) for value in values)

    return [column for column in COLUMNS if column.importance >= 1000 or tells(column)]


def _is_missing(value: Any) -> bool:
    return numbers.is_missing(value) if isinstance(value, float) else value is None


def _fitting(
    series: Sequence[Series], batches: Sequence[int], columns: Sequence[SweepColumn], style: Style
) -> tuple[int, int]:
    """Return how many series stand side by side, with columns from which importance on."""
    levels = sorted({column.importance for column in columns})
    for count in range(len(series), 0, -1):
        for least in levels:
            if count > 1 and least > max(_CORE, levels[0]):
                break
            chosen = [column for column in columns if column.importance >= least]
            grid = _grid(series[:count], batches, chosen)
            if sum(column.natural_width + GAP for column in grid) - GAP <= style.width:
                return count, least
    return 1, levels[-1]


def _band(
    series: Sequence[Series],
    batches: Sequence[int],
    columns: Sequence[SweepColumn],
    style: Style,
) -> list[str]:
    layout = arrange(_grid(series, batches, columns), style.width)
    titles = style.paint(_titles(series, layout, style), "head")
    return [titles, *layout.header(style), *(layout.row(i, style) for i in range(len(batches)))]


def _grid(
    series: Sequence[Series], batches: Sequence[int], columns: Sequence[SweepColumn]
) -> list[GridColumn]:
    # Whether a batch fits is the same for every family.
    seen = [
        next((one.rows[b] for one in series if b in one.rows), {"batch_size": b}) for b in batches
    ]
    grid = [GridColumn("batch", batch_cells(seen), 1000, "right")]
    for one in series:
        rows = [one.rows.get(batch) for batch in batches]
        grid += [_grid_column(column, rows) for column in columns]
    return grid


def _grid_column(column: SweepColumn, rows: Sequence[Row | None]) -> GridColumn:
    cells = column_cells(column, rows)
    styles = cells if column.name == "bound" else None
    return GridColumn(column.header, cells, 1000, column.align, styles=styles)


def column_cells(column: SweepColumn, rows: Iterable[Row | None]) -> list[str]:
    """Return the cells of a column; a row that is not there is missing in all of them."""
    if column.name == "batch_size":
        return batch_cells(list(rows))
    return [numbers.MISSING if row is None else column.cell(row[column.name]) for row in rows]


def _titles(series: Sequence[Series], layout: Layout, style: Style) -> str:
    """Return the line of titles, each above the first column of its series."""
    begins = []
    position = 0
    for column, width in zip(layout.columns, layout.widths, strict=True):
        if column.header == "bound":
            begins.append(position)
        position += width + GAP
    ends = [*begins[1:], style.width + GAP]
    rooms = [end - GAP - begin for begin, end in zip(begins, ends, strict=True)]
    texts = [_with_ridge(one, style) for one in series]
    # In all titles of a line or in none.
    if any(cell_width(text) > room for text, room in zip(texts, rooms, strict=True)):
        texts = [one.title for one in series]
    line = ""
    for text, begin, room in zip(texts, begins, rooms, strict=True):
        line += " " * (begin - cell_width(line)) + shorten_middle(text, room, style.sign("…"))
    return line


def _with_ridge(series: Series, style: Style) -> str:
    """Return the title with the ridge point, if that is the same in every row."""
    if not series.ridge:
        return series.title
    return f"{series.title} {style.sign('·')} ridge {series.ridge} FLOP/B"


def _one_line(header: str) -> str:
    return " ".join(header.split())
