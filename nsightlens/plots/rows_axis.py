"""The axis of names: one row per family or kernel, the one with the most time on top."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.plots import words
from nsightlens.plots.glyphs import drawable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.plots.sheet import Sheet

__all__ = ["row_count", "write_rows"]

_LEADING = 1.45
"""[1] Height of a row over that of its text: closer, names would run into one another."""


def row_count(sheet: Sheet, lines: float = 1.0) -> int:
    """Return how many rows can be told apart in the height of the figure.

    Parameters
    ----------
    sheet
        What they are drawn on.
    lines
        Lines of text in a row.
    """
    height = sheet.points((sheet.figure if sheet.is_own else sheet.ax).bbox.height)
    # What stands above and below the axes takes some of a figure of our own.
    lost = 13.0 if sheet.sizes.is_narrow else 7.5
    around = lost * sheet.sizes.text if sheet.is_own else 0.0
    return max(3, int((height - around) / (_LEADING * lines * sheet.sizes.small)))


def write_rows(sheet: Sheet, names: Sequence[str], share: float = 0.34, least: int = 1) -> None:
    """Write the names beside the rows 0, 1, 2, ... from top to bottom.

    Parameters
    ----------
    sheet
        What they are written on.
    names
        Cut in the middle where they are longer than the share allows.
    share
        [1] Of the width of the figure.
    least
        Rows for which there is room where there are fewer.
    """
    length = sheet.characters(share)
    texts = [drawable(words.cut(name, length)) for name in names]
    around = 0.5 + max(0, least - len(names)) / 2
    sheet.ax.set_ylim(len(names) - 1 + around, -around)
    sheet.ax.set_yticks(range(len(names)), labels=texts, parse_math=False)
    sheet.ax.tick_params(axis="y", length=0)
