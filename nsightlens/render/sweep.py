"""Labels along the batch size in ``classify --by family``: side by side, and what it says.

The picture that shows whether a family stays on one side of the ridge or crosses it. The fuller one
of ``nsightlens sweep`` is made by `nsightlens.render.sweep_text`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.render import numbers
from nsightlens.render.grid import GAP, GridColumn, Layout, arrange
from nsightlens.render.style import cell_width, shorten_end
from nsightlens.render.sweep_series import runs_of, thinned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.render.style import Style
    from nsightlens.render.sweep_series import Row, Series

__all__ = ["sweep_findings", "sweep_lines"]


def sweep_lines(series: Sequence[Series], style: Style) -> list[str]:
    """Return the labels of each family, one line per batch size.

    Parameters
    ----------
    series
        The families, from left to right; those that do not fit stand below.
    style
        What the output can show.

    Returns
    -------
    list of str
        Lines; none where there is no series.
    """
    measured = sorted({batch for one in series for batch in one.batches})
    batches = thinned(measured)
    lines: list[str] = []
    rest = list(series)
    while rest:
        count = next((n for n in range(len(rest), 1, -1) if _fits(rest[:n], batches, style)), 1)
        if lines:
            lines.append("")
        lines += _band(rest[:count], batches, style)
        rest = rest[count:]
    if len(batches) < len(measured):
        lines.append(style.paint(f"{len(batches)} of {len(measured)} batch sizes", "dim"))
    return lines


def _fits(series: Sequence[Series], batches: Sequence[int], style: Style) -> bool:
    return not arrange(_columns(series, batches), style.width).left_out


def _band(series: Sequence[Series], batches: Sequence[int], style: Style) -> list[str]:
    layout = arrange(_columns(series, batches), style.width)
    titles = style.paint(_titles(series, layout, style), "head")
    return [titles, *layout.header(style), *(layout.row(i, style) for i in range(len(batches)))]


def _columns(series: Sequence[Series], batches: Sequence[int]) -> list[GridColumn]:
    grid = [GridColumn("batch", [str(batch) for batch in batches], 1000, "right")]
    for one in series:
        rows = [one.rows.get(batch) for batch in batches]
        bounds = [numbers.MISSING if row is None else row["bound"] or "unknown" for row in rows]
        grid += [
            GridColumn("bound", bounds, 1000, styles=bounds),
            GridColumn("regime", [_word(row, "regime") for row in rows], 80),
            GridColumn("FLOP/B", [_number(row) for row in rows], 90, "right"),
            GridColumn("DRAM %", [_percent(row) for row in rows], 85, "right"),
        ]
    return grid


def _word(row: Row | None, name: str) -> str:
    return numbers.MISSING if row is None else row[name] or numbers.MISSING


def _number(row: Row | None) -> str:
    return numbers.significant(None if row is None else row["arithmetic_intensity_flop_per_byte"])


def _percent(row: Row | None) -> str:
    return numbers.percent(None if row is None else row["dram_throughput_pct"])


def _titles(series: Sequence[Series], layout: Layout, style: Style) -> str:
    """Return the line of titles, each above the first column of its family."""
    begins = []
    position = 0
    for column, width in zip(layout.columns, layout.widths, strict=True):
        if column.header == "bound":
            begins.append(position)
        position += width + GAP
    line = ""
    for one, begin, end in zip(series, begins, [*begins[1:], style.width + GAP], strict=True):
        line += " " * (begin - cell_width(line))
        line += shorten_end(one.title, end - GAP - begin, style.sign("…"))
    return line


def sweep_findings(series: Sequence[Series]) -> list[str]:
    """Return a sentence per family that says what the batch size does to it."""
    return [f"{one.title} is {_bounds(one)}{_intensity(one)}." for one in series]


def _bounds(series: Series) -> str:
    bounds = [row["bound"] or "unknown" for row in series.rows.values()]
    runs = runs_of(series.batches, [_bound_words(bound) for bound in bounds])
    saturation = _saturation(series) if len(set(bounds)) == 1 else ""
    return ", ".join(runs) + saturation


def _bound_words(bound: str) -> str:
    return "unknown" if bound == "unknown" else f"{bound}-bound"


def _saturation(series: Series) -> str:
    """Say from which batch size on the limiter is used up, if it stays so."""
    saturated = [row["regime"] == "saturated" for row in series.rows.values()]
    if all(saturated):
        return " and saturated"
    begin = next((i for i in range(len(saturated)) if all(saturated[i:])), None)
    return "" if begin is None else f", saturated from batch {series.batches[begin]} on"


def _intensity(series: Series) -> str:
    values = [row["arithmetic_intensity_flop_per_byte"] for row in series.rows.values()]
    known = [value for value in values if not numbers.is_missing(value)]
    if len(known) < 2:
        return ""
    low, high = numbers.significant(min(known)), numbers.significant(max(known))
    if max(known) < 1.2 * min(known):
        return f"; its intensity stays at {low if low == high else f'{low} to {high}'} FLOP/B"
    return f"; its intensity lies between {low} and {high} FLOP/B"
