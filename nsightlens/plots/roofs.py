"""The roofs of a roofline: slanted ones per memory level, flat ones per peak, and ridge points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nsightlens.plots import words
from nsightlens.plots.labelling import LineLabel
from nsightlens.plots.theme import LEVEL_LINES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from nsightlens.plots.sheet import Sheet

__all__ = ["RIDGE", "ROOF", "Roofs", "distinct", "draw_roofs"]

ROOF, RIDGE = "nsightlens-roof", "nsightlens-ridge"
"""Identifiers (gid) of the lines of roofs, and of the marks and lines of ridge points."""

SAME_ROOF = 0.03
"""[1] Peaks that differ by less are one roof: clocks vary a little from launch to launch."""

MOST_FLAT_ROOFS = 3


class Roofs(NamedTuple):
    """What stands over the points.

    Parameters
    ----------
    resource
        Data type of the flat roofs.
    flat
        [FLOP/s] Peaks, the one with the most time behind it first.
    slanted
        [B/s] By memory level, innermost roof last; a level whose peak is not known is left out.
    """

    resource: str
    flat: Sequence[float]
    slanted: Mapping[str, float]


class _Line(NamedTuple):
    vertices: NDArray[np.float64]
    label: LineLabel | None


def distinct(
    values: NDArray[np.float64], weight: NDArray[np.float64], most: int = MOST_FLAT_ROOFS
) -> list[float]:
    """Return peaks that differ, the one with the most weight behind it first.

    Examples
    --------
    >>> distinct(np.array([100.0, 99.0, 60.0, np.nan]), np.array([1.0, 1.0, 9.0, 5.0]))
    [60.0, 100.0]
    """
    found: dict[float, float] = {}
    for value in sorted({float(v) for v in values if v > 0}, reverse=True):
        heavy = float(np.nansum(weight[values == value]))
        roof = next((one for one in found if value > one * (1 - SAME_ROOF)), value)
        found[roof] = found.get(roof, 0.0) + heavy
    return sorted(found, key=lambda roof: -found[roof])[:most]


def draw_roofs(sheet: Sheet, roofs: Roofs) -> tuple[list[NDArray[np.float64]], list[LineLabel]]:
    """Draw roofs and ridge points between the limits of the axes.

    Returns
    -------
    lines
        Vertices of what was drawn, in data coordinates.
    labels
        What the lines want to be called.
    """
    lines = [*_flat(sheet, roofs)]
    highest = max(roofs.flat, default=None)
    for name, slant in roofs.slanted.items():
        lines.append(_slanted(sheet, name, slant, highest))
    for name, slant in roofs.slanted.items():
        is_first = name == next(iter(roofs.slanted))
        lines += [line for flat in roofs.flat for line in _ridge(sheet, slant, flat, is_first)]
    return [line.vertices for line in lines], [line.label for line in lines if line.label]


def _flat(sheet: Sheet, roofs: Roofs) -> list[_Line]:
    left, right = sheet.ax.get_xlim()
    steepest = max(roofs.slanted.values(), default=None)
    found = []
    for flat in roofs.flat:
        begin = left if steepest is None else max(left, flat / steepest)
        is_highest = flat == max(roofs.flat)
        line = _draw(sheet, [(begin, flat), (right, flat)], "-" if is_highest else (0, (4, 2)))
        rate = words.rate(flat, "FLOP/s")
        texts = (f"{words.resource_words(roofs.resource)} {rate}", rate)
        found.append(_Line(line, _label(sheet, line, texts, from_end=True)))
    return found


def _slanted(sheet: Sheet, name: str, slant: float, highest: float | None) -> _Line:
    (left, right), (bottom, top) = sheet.ax.get_xlim(), sheet.ax.get_ylim()
    begin = max(left, bottom / slant)
    end = min(right, (top if highest is None else highest) / slant)
    line = _draw(sheet, [(begin, begin * slant), (end, end * slant)], LEVEL_LINES[name])
    rate = words.rate(slant, "B/s")
    return _Line(line, _label(sheet, line, (f"{words.LEVEL_WORDS[name]} {rate}", rate)))


def _ridge(sheet: Sheet, slant: float, flat: float, is_marked: bool) -> list[_Line]:
    """Mark where a slanted roof meets a flat one; for one level down to the axis."""
    x = flat / slant
    sheet.ax.plot(
        [x], [flat], marker="o", markersize=sheet.sizes.marker * 0.7, markerfacecolor="white",
        markeredgecolor=sheet.ink, markeredgewidth=0.8, linestyle="", zorder=3, gid=RIDGE,
    )  # fmt: skip
    if not is_marked:
        return []
    line = np.array([(x, sheet.ax.get_ylim()[0]), (x, flat)])
    sheet.ax.plot(
        line[:, 0], line[:, 1], linestyle=(0, (1, 2)), linewidth=0.6, marker="", color=sheet.ink,
        zorder=1, gid=RIDGE,
    )  # fmt: skip
    texts = (f"ridge {words.significant(x)} FLOP/B", words.significant(x))
    return [_Line(line, _label(sheet, line, texts, sides=(-1, 1)))]


def _draw(sheet: Sheet, ends: Sequence[tuple[float, float]], style: Any) -> NDArray[np.float64]:
    line = np.array(ends)
    sheet.ax.plot(
        line[:, 0], line[:, 1], linestyle=style, linewidth=sheet.sizes.line, color=sheet.ink,
        marker="", zorder=2, gid=ROOF,
    )  # fmt: skip
    return line


def _label(sheet: Sheet, line: NDArray[np.float64], texts: Sequence[str], **more: Any) -> LineLabel:
    begin, end = ((float(x), float(y)) for x, y in line)
    return LineLabel(begin, end, texts, sheet.ink, **more)
