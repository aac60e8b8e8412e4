"""Labels beside points and along lines, each at a place where it covers nothing.

Measures with the renderer of a `Sheet`, places with `nsightlens.plots.placement`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nsightlens.plots.glyphs import drawable
from nsightlens.plots.placement import Box, Candidate, Obstacles, place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nsightlens.plots.sheet import Sheet

__all__ = ["LABEL", "LEADER", "LineLabel", "PointLabel", "add_labels", "obstacles_of"]

LABEL, LEADER = "nsightlens-label", "nsightlens-leader"
"""Identifiers (gid) of labels that were placed and of the lines that lead to them."""

# Right of a point first, as one reads; then round it.
_DIRECTIONS = ((1, 0), (0, 1), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1))
_ALONG = (0.12, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.88)


class PointLabel(NamedTuple):
    """A label beside a point.

    Parameters
    ----------
    x, y
        The point, in data coordinates.
    texts
        What it may say, the longest first.
    radius
        [pt] Of the marker.
    colour
        Of the text.
    """

    x: float
    y: float
    texts: Sequence[str]
    radius: float
    colour: str


class LineLabel(NamedTuple):
    """A label along a straight line.

    Parameters
    ----------
    begin, end
        Two points of the line, in data coordinates.
    texts
        What it may say, the longest first.
    colour
        Of the text.
    sides
        On which sides of the line it may stand, best first: 1 above, -1 below.
    from_end
        Whether the end of the line is the best place, not its begin.
    """

    begin: tuple[float, float]
    end: tuple[float, float]
    texts: Sequence[str]
    colour: str
    sides: Sequence[int] = (1, -1)
    from_end: bool = False


def obstacles_of(
    sheet: Sheet,
    points: NDArray[np.float64],
    lines: Sequence[NDArray[np.float64]],
    boxes: Sequence[Box] = (),
) -> Obstacles:
    """Return what is drawn, in pixels.

    Parameters
    ----------
    sheet
        What it is drawn on.
    points
        x and y in data coordinates and radius [pt] of each marker, shape (n, 3).
    lines
        Vertices of each line in data coordinates, shape (m, 2).
    boxes
        [pixel] What a label must not touch.
    """
    to_pixels = sheet.ax.transData.transform
    centres = np.empty((0, 3))
    if len(points):
        centres = np.column_stack([to_pixels(points[:, :2]), points[:, 2] * sheet.pixels(1)])
    segments = [np.empty((0, 4))]
    for line in lines:
        vertices = to_pixels(line)
        segments.append(np.column_stack([vertices[:-1], vertices[1:]]))
    return Obstacles(list(boxes), centres, np.concatenate(segments))


def add_labels(
    sheet: Sheet, labels: Sequence[PointLabel | LineLabel], obstacles: Obstacles, size: float
) -> list[bool]:
    """Draw the labels that have a place, the first ones first; say of each whether it has.

    Parameters
    ----------
    sheet
        What to draw on.
    labels
        The labels, the most important first.
    obstacles
        What is drawn already; the labels join it.
    size
        [pt] Of the text.
    """
    wanted = [_candidates(sheet, label, size) for label in labels]
    found = place(wanted, obstacles, sheet.frame)
    for label, spot in zip(labels, found, strict=True):
        if spot is not None:
            _draw(sheet, spot, label.colour, size)
    return [spot is not None for spot in found]


def _draw(sheet: Sheet, spot: Candidate, colour: str, size: float) -> None:
    from matplotlib.patheffects import withStroke

    to_data = sheet.ax.transData.inverted().transform
    if spot.leader is not None:
        corners = spot.leader.corners()
        ends = to_data([corners[[0, 3]].mean(axis=0), corners[[1, 2]].mean(axis=0)])
        sheet.ax.plot(
            ends[:, 0], ends[:, 1], color=colour, linewidth=0.5, marker="", zorder=5.5, gid=LEADER
        )
    x, y = to_data((spot.box.x, spot.box.y))
    artist = sheet.ax.text(
        x, y, drawable(spot.text), fontsize=size, color=colour, ha="center", va="center",
        rotation=spot.box.degrees, parse_math=False, gid=LABEL, zorder=6,
    )  # fmt: skip
    # Legible where a line has to run behind it.
    ground = sheet.ax.get_facecolor()
    artist.set_path_effects([withStroke(linewidth=size / 4, foreground=ground)])


def _candidates(sheet: Sheet, label: PointLabel | LineLabel, size: float) -> list[Candidate]:
    of = _beside_point if isinstance(label, PointLabel) else _along_line
    return [found for text in label.texts for found in of(sheet, label, text, size)]


def _beside_point(sheet: Sheet, label: Any, text: str, size: float) -> list[Candidate]:
    x, y = sheet.ax.transData.transform((label.x, label.y))
    width, height = _sides(sheet, text, size)
    found = []
    for far in (1.5, 5.0, 11.0):
        gap = sheet.pixels(label.radius + far)
        for right, up in _DIRECTIONS:
            # On a diagonal the corner of the box is what comes nearest to the point.
            near = gap / math.hypot(right, up)
            box = Box(x + right * (near + width / 2), y + up * (near + height / 2), width, height)
            leader = _leader((x, y), box, sheet.pixels(label.radius)) if far > 2 else None
            found.append(Candidate(text, box, leader))
    return found


def _leader(point: tuple[float, float], box: Box, radius: float) -> Box:
    """Return the line from the edge of a marker to the nearest point of a label."""
    half = np.array([box.width, box.height]) / 2
    centre, start = np.array([box.x, box.y]), np.array(point)
    away = np.clip(start, centre - half, centre + half) - start
    length = math.hypot(*away)
    begin, end = start + away * radius / length, start + away * 0.98
    x, y = (begin + end) / 2
    degrees = math.degrees(math.atan2(away[1], away[0]))
    return Box(x, y, math.hypot(*(end - begin)), 1.0, degrees)


def _along_line(sheet: Sheet, label: Any, text: str, size: float) -> list[Candidate]:
    (x0, y0), (x1, y1) = sheet.ax.transData.transform([label.begin, label.end])
    length = math.hypot(x1 - x0, y1 - y0)
    if not length:
        return []
    along = ((x1 - x0) / length, (y1 - y0) / length)
    degrees = math.degrees(math.atan2(along[1], along[0]))
    width, height = _sides(sheet, text, size)
    found = []
    for side in label.sides:
        away = side * (height / 2 + sheet.pixels(1.5))
        # At the very end first, where that is asked for.
        shares = (1 - width / 2 / length, *_ALONG[::-1]) if label.from_end else _ALONG
        for share in shares:
            x = x0 + share * (x1 - x0) - along[1] * away
            y = y0 + share * (y1 - y0) + along[0] * away
            found.append(Candidate(text, Box(x, y, width, height, degrees)))
    return found


def _sides(sheet: Sheet, text: str, size: float) -> tuple[float, float]:
    width, height = sheet.extent(text, size)
    margin = sheet.pixels(0.8)
    return width + 2 * margin, height + 2 * margin
