"""Text tables that fit the terminal: which columns are shown, how wide, and how they are aligned.

A column says how important it is and whether its cells may be shortened. `arrange` takes columns by
importance as long as there is room for their comfortable width. Only what is essential may shrink
below that. A number is never cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from nsightlens.render.style import cell_width, shorten_end, shorten_middle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.render.style import Style

__all__ = ["GAP", "GridColumn", "Layout", "arrange", "indented", "wrap"]

GAP = 2
"""[character] Space between two columns."""
_LEAST = 6
"""[character] A flexible column is never narrower: less than that says nothing."""


class GridColumn(NamedTuple):
    r"""One column of a text table.

    Parameters
    ----------
    header
        Heading; ``\n`` begins a second line of it.
    cells
        One text per row.
    importance
        Columns with a low number are left out first.
    align
        ``left`` for words, ``right`` for numbers.
    comfortable
        [character] For a column that may be shortened: the width that it gets at least before any
        other column is left out. ``None`` for a column that is shown whole or not at all.
    cut
        Where a flexible cell is cut.
    styles
        Name of a colour per row, or ``None``.
    """

    header: str
    cells: Sequence[str]
    importance: int = 0
    align: Literal["left", "right"] = "left"
    comfortable: int | None = None
    cut: Literal["middle", "end"] = "middle"
    styles: Sequence[str | None] | None = None

    @property
    def natural_width(self) -> int:
        """[character] Width of the widest cell or heading line."""
        return max(
            (cell_width(text) for text in (*self.header.split("\n"), *self.cells)), default=0
        )


class Layout(NamedTuple):
    """Columns with the widths that were found for them."""

    columns: tuple[GridColumn, ...]
    widths: tuple[int, ...]
    left_out: tuple[GridColumn, ...]
    indent: int = 0

    def header(self, style: Style) -> list[str]:
        """Return the lines of the heading."""
        split = [column.header.split("\n") for column in self.columns]
        height = max((len(lines) for lines in split), default=0)
        padded = [[""] * (height - len(lines)) + lines for lines in split]
        return [
            style.paint(self._line([lines[i] for lines in padded]), "head") for i in range(height)
        ]

    def row(self, index: int, style: Style) -> str:
        """Return the line of a row."""
        cells = []
        for column, width in zip(self.columns, self.widths, strict=True):
            shorten = shorten_middle if column.cut == "middle" else shorten_end
            cells.append(shorten(column.cells[index], width, style.sign("…")))
        names = [c.styles[index] if c.styles is not None else None for c in self.columns]
        return self._line(cells, [(style, name) for name in names])

    def _line(
        self, cells: Sequence[str], paint: Sequence[tuple[Style, str | None]] | None = None
    ) -> str:
        parts = []
        for i, (column, width, text) in enumerate(
            zip(self.columns, self.widths, cells, strict=True)
        ):
            space = " " * (width - cell_width(text))
            shown = paint[i][0].paint(text, paint[i][1]) if paint else text
            parts.append(space + shown if column.align == "right" else shown + space)
        return (" " * self.indent + (" " * GAP).join(parts)).rstrip()


def arrange(columns: Sequence[GridColumn], width: int, indent: int = 0) -> Layout:
    """Choose the columns and widths with which a table fits.

    Parameters
    ----------
    columns
        From left to right.
    width
        [character] Room for a line.
    indent
        [character] Space in front of every line, part of ``width``.

    Returns
    -------
    Layout
        Where even the most important column does not fit, it is wider than ``width``.
    """
    room = width - indent
    ranked = sorted(range(len(columns)), key=lambda i: -columns[i].importance)
    chosen: set[int] = set()
    for i in ranked:
        # A narrow column may still fit where a wider one of more importance did not.
        wanted = [column for k, column in enumerate(columns) if k in chosen or k == i]
        is_essential = columns[i].importance >= _ESSENTIAL
        if not chosen or is_essential or _least_width(wanted) <= room:
            chosen.add(i)
    kept = [column for i, column in enumerate(columns) if i in chosen]
    left_out = tuple(column for i, column in enumerate(columns) if i not in chosen)
    return Layout(tuple(kept), tuple(_widths(kept, room)), left_out, indent)


_ESSENTIAL = 1000
"""From this importance on, a column is never left out."""


def _least_width(columns: Sequence[GridColumn]) -> int:
    widths = [_least(column, comfortable=True) for column in columns]
    return sum(widths) + GAP * (len(columns) - 1)


def _least(column: GridColumn, *, comfortable: bool) -> int:
    if column.comfortable is None:
        return column.natural_width
    return min(column.natural_width, column.comfortable if comfortable else _LEAST)


def _widths(columns: Sequence[GridColumn], room: int) -> list[int]:
    widths = [column.natural_width for column in columns]
    excess = sum(widths) + GAP * (len(columns) - 1) - room
    # The widest flexible column gives first: it loses the least by it.
    for comfortable in (True, False):
        while excess > 0:
            spare = [
                w - _least(c, comfortable=comfortable) if c.comfortable is not None else 0
                for c, w in zip(columns, widths, strict=True)
            ]
            if not any(s > 0 for s in spare):
                break
            widest = max((i for i, s in enumerate(spare) if s > 0), key=lambda i: (widths[i], -i))
            widths[widest] -= 1
            excess -= 1
    return widths


def wrap(text: str, width: int) -> list[str]:
    """Break running text into lines at its spaces; a number stays with the unit after it.

    Examples
    --------
    >>> wrap("DRAM at 91 % of peak", 10)
    ['DRAM at', '91 % of', 'peak']
    """
    lines: list[str] = []
    line = ""
    for word in _units_joined(text.split()):
        if line and cell_width(line) + 1 + cell_width(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line] if line else lines


def _units_joined(words: Sequence[str]) -> list[str]:
    joined: list[str] = []
    for word in words:
        is_unit = word.rstrip(".,;:)") in _UNITS
        if joined and is_unit and joined[-1][-1:].isdigit():
            joined[-1] += f" {word}"
        else:
            joined.append(word)
    return joined


_UNITS = frozenset(
    ["%", "B", "FLOP/B", "GB/s", "GFLOP/s", "MHz", "TB/s", "TFLOP/s", "kB", "MB", "ms", "ns",
     "s", "us", "GHz", "GB", "x", "op/s", "Top/s"]
)  # fmt: skip


def indented(text: str, style: Style, indent: int, first: str | None = None) -> list[str]:
    """Return running text as lines with a hanging indent.

    Parameters
    ----------
    text
        One paragraph.
    style
        Its width counts.
    indent
        [character] Space in front of every line.
    first
        What stands in place of the space in the first line.
    """
    lines = wrap(text, max(20, style.width - indent))
    pad = " " * indent
    head = pad if first is None else first.ljust(indent)
    return [(head if i == 0 else pad) + line for i, line in enumerate(lines)]
