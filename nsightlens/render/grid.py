"""Text tables that fit the terminal: which columns are shown, how wide, and how they are aligned.

A column says how important it is and whether its cells may be shortened. `arrange` takes columns by
importance as long as there is room for their comfortable width. Only what is essential may shrink
below that. A number is never cut.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from nsightlens.render.style import (
    cell_width,
    shorten_end,
    shorten_metrics,
    shorten_middle,
    shorten_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nsightlens.render.style import Style

__all__ = ["GAP", "GridColumn", "Layout", "arrange", "indented", "wrap"]

GAP = 2
"""[character] Space between two columns."""
_LEAST = 6
"""[character] A flexible column is never narrower: less than that says nothing."""


@dataclass(frozen=True, slots=True)
class GridColumn:
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
        Where a flexible cell is cut; ``name`` for names of kernels and ``metric`` for those of
        metrics, which stay different from each other.
    styles
        Name of a colour per row, or ``None``.
    natural_width
        [character] Width of the widest cell or heading line; follows from the others.
    """

    header: str
    cells: Sequence[str]
    importance: int = 0
    align: Literal["left", "right"] = "left"
    comfortable: int | None = None
    cut: Literal["middle", "end", "name", "metric"] = "middle"
    styles: Sequence[str | None] | None = None
    natural_width: int = field(init=False)

    def __post_init__(self) -> None:
        # Once: it is asked for at every step of the arrangement, and a column may be long.
        texts = (*self.header.split("\n"), *self.cells)
        object.__setattr__(self, "natural_width", max(map(cell_width, texts), default=0))

    def shown(self, width: int, ellipsis: str) -> Sequence[str]:
        """Return the cells at a width.

        Parameters
        ----------
        width
            [character] Room for each.
        ellipsis
            What stands for what is cut.
        """
        if width >= self.natural_width:
            return self.cells
        if self.cut in ("name", "metric"):
            of_all = shorten_names if self.cut == "name" else shorten_metrics
            short = of_all(dict.fromkeys(self.cells), width, ellipsis)
            return [short[cell] for cell in self.cells]
        shorten = shorten_middle if self.cut == "middle" else shorten_end
        return [shorten(cell, width, ellipsis) for cell in self.cells]


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns with the widths that were found for them."""

    columns: tuple[GridColumn, ...]
    widths: tuple[int, ...]
    left_out: tuple[GridColumn, ...]
    indent: int = 0
    _shown: dict[str, list[Sequence[str]]] = field(default_factory=dict, compare=False)

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
        cells = [cells[index] for cells in self._cells(style.sign("…"))]
        if not style.colour:
            return self._line(cells)
        painted = [
            text if column.styles is None else style.paint(text, column.styles[index])
            for column, text in zip(self.columns, cells, strict=True)
        ]
        return self._line(cells, painted)

    def _cells(self, ellipsis: str) -> list[Sequence[str]]:
        if ellipsis not in self._shown:
            pairs = zip(self.columns, self.widths, strict=True)
            self._shown[ellipsis] = [column.shown(width, ellipsis) for column, width in pairs]
        return self._shown[ellipsis]

    def _line(self, cells: Sequence[str], painted: Sequence[str] | None = None) -> str:
        parts = []
        for column, width, text, shown in zip(
            self.columns, self.widths, cells, painted or cells, strict=True
        ):
            space = " " * (width - cell_width(text))
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
    taken = -GAP
    for i in ranked:
        wanted = taken + GAP + _least(columns[i], comfortable=True)
        if chosen and columns[i].importance < _ESSENTIAL and wanted > room:
            # None of less importance takes the place of one that does not fit.
            break
        chosen.add(i)
        taken = wanted
    kept = [column for i, column in enumerate(columns) if i in chosen]
    left_out = tuple(column for i, column in enumerate(columns) if i not in chosen)
    return Layout(tuple(kept), tuple(_widths(kept, room)), left_out, indent)


_ESSENTIAL = 1000
"""From this importance on, a column is never left out."""


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


def wrap(text: str, width: int, *, breaks_words: bool = False) -> list[str]:
    """Break running text into lines at its spaces; a number stays with the unit after it.

    Parameters
    ----------
    text
        One paragraph.
    width
        [character] Room for a line.
    breaks_words
        Break a word that is longer than a line, such as a path, instead of letting it stand out.

    Examples
    --------
    >>> wrap("DRAM at 91 % of peak", 10)
    ['DRAM at', '91 % of', 'peak']
    >>> wrap("see /a/long/path", 8, breaks_words=True)
    ['see', '/a/long/', 'path']
    """
    lines: list[str] = []
    line = ""
    words = _units_joined(text.split())
    for word in _broken(words, width) if breaks_words else words:
        if line and cell_width(line) + 1 + cell_width(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line] if line else lines


def _broken(words: Iterable[str], width: int) -> Iterator[str]:
    for word in words:
        rest = word
        while cell_width(rest) > width:
            # A wide sign may not fit in half of its room, but has to stand somewhere.
            piece = shorten_end(rest, width, "") or rest[0]
            yield piece
            rest = rest[len(piece) :]
        yield rest


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


def indented(
    text: str, style: Style, indent: int, first: str | None = None, *, breaks_words: bool = False
) -> list[str]:
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
    breaks_words
        As for `wrap`.
    """
    lines = wrap(text, max(20, style.width - indent), breaks_words=breaks_words)
    pad = " " * indent
    head = pad if first is None else first.ljust(indent)
    return [(head if i == 0 else pad) + line for i, line in enumerate(lines)]
