"""Where labels go: greedily, so that none covers another or leaves the axes.

Pure geometry in pixels; `nsightlens.plots.labelling` measures texts and draws them. Each label has
candidates, best first. It takes the one that covers least of what is drawn, and is left out where
each of them would touch a label that has its place already.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["Box", "Candidate", "Obstacles", "box_around", "overlaps", "place"]


class Box(NamedTuple):
    """A rectangle, turned about its centre [pixel]."""

    x: float
    y: float
    width: float
    height: float
    degrees: float = 0.0

    def corners(self) -> NDArray[np.float64]:
        """Return the four corners, counter-clockwise. Shape (4, 2)."""
        half = np.array([self.width, self.height]) / 2
        signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
        turn = math.radians(self.degrees)
        rotation = np.array([[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]])
        turned: NDArray[np.float64] = (signs * half) @ rotation.T + np.array([self.x, self.y])
        return turned

    def grown(self, margin: float) -> Box:
        """Return the box with a margin on every side."""
        return self._replace(width=self.width + 2 * margin, height=self.height + 2 * margin)


def box_around(x0: float, y0: float, x1: float, y1: float) -> Box:
    """Return the box between two corners."""
    return Box((x0 + x1) / 2, (y0 + y1) / 2, abs(x1 - x0), abs(y1 - y0))


def overlaps(a: Box, b: Box) -> bool:
    """Say whether two boxes have a point in common inside: no line lies between them.

    Examples
    --------
    >>> overlaps(Box(0, 0, 2, 2), Box(1, 0, 2, 2)), overlaps(Box(0, 0, 2, 2), Box(2, 0, 2, 2))
    (True, False)
    """
    # Most are far apart: further than the circles around them reach.
    reach = math.hypot(a.width, a.height) / 2 + math.hypot(b.width, b.height) / 2
    if math.hypot(a.x - b.x, a.y - b.y) >= reach:
        return False
    one, other = a.corners(), b.corners()
    for shape in (one, other):
        # The separating axis of two rectangles is perpendicular to one of their sides.
        for side in (shape[1] - shape[0], shape[3] - shape[0]):
            p, q = one @ side, other @ side
            if p.max() <= q.min() + 1e-9 or q.max() <= p.min() + 1e-9:
                return False
    return True


class Obstacles(NamedTuple):
    """What is drawn already [pixel].

    Parameters
    ----------
    boxes
        What a label must not touch, such as a legend or another label.
    points
        Centres and radii of markers, shape (n, 3): a label that covers one is a bad one.
    lines
        Ends of line segments, shape (m, 4): a label that crosses one is a poor one.
    """

    boxes: list[Box]
    points: NDArray[np.float64]
    lines: NDArray[np.float64]

    def cost(self, box: Box) -> float:
        """Return how much of what is drawn a label would cover."""
        return 10.0 * self._covered(box) + 2.0 * self._crossed(box)

    def _covered(self, box: Box) -> int:
        x, y, radius = self.points.T
        across, up = _in_frame(box, x, y)
        dx = np.maximum(np.abs(across) - box.width / 2, 0)
        dy = np.maximum(np.abs(up) - box.height / 2, 0)
        return int((dx**2 + dy**2 < radius**2).sum())

    def _crossed(self, box: Box) -> int:
        if not len(self.lines):
            return 0
        # Points along each segment, closer than the label is high.
        steps = np.linspace(0, 1, 64)[:, None]
        x = self.lines[:, 0] + steps * (self.lines[:, 2] - self.lines[:, 0])
        y = self.lines[:, 1] + steps * (self.lines[:, 3] - self.lines[:, 1])
        across, up = _in_frame(box, x, y)
        inside = (np.abs(across) < box.width / 2) & (np.abs(up) < box.height / 2)
        return int(inside.any(axis=0).sum())


def _in_frame(
    box: Box, x: NDArray[np.float64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return coordinates from the centre of a box along its sides."""
    turn = math.radians(box.degrees)
    dx, dy = x - box.x, y - box.y
    return (
        dx * math.cos(turn) + dy * math.sin(turn),
        -dx * math.sin(turn) + dy * math.cos(turn),
    )


class Candidate(NamedTuple):
    """A place that a label may take.

    Parameters
    ----------
    text
        What the label says there.
    box
        Where.
    leader
        The line from the point to the label, as a thin box; None where the label is beside it.
    """

    text: str
    box: Box
    leader: Box | None = None


def place(
    labels: Iterable[Sequence[Candidate]], obstacles: Obstacles, frame: Box, *, too_bad: float = 20
) -> list[Candidate | None]:
    """Find a place for each label, the first ones first.

    Parameters
    ----------
    labels
        The candidates of each label, best first; the most important label first.
    obstacles
        What is there; the labels that are placed join its boxes.
    frame
        What a label must not leave: the axes.
    too_bad
        Cost at which a label is rather left out.

    Returns
    -------
    list
        For each label the place it takes, None where there is none.

    Examples
    --------
    >>> nothing = Obstacles([], np.empty((0, 3)), np.empty((0, 4)))
    >>> label = [Candidate("a", Box(5, 5, 4, 2))]
    >>> [spot is not None for spot in place([label, label], nothing, Box(5, 5, 10, 10))]
    [True, False]
    """
    found: list[Candidate | None] = []
    for candidates in labels:
        best, least = None, float(too_bad)
        for rank, candidate in enumerate(candidates):
            if not _is_free(candidate, obstacles, frame):
                continue
            # Of equal ones the first.
            cost = obstacles.cost(candidate.box) + 0.05 * rank
            if cost < least:
                best, least = candidate, cost
        if best is not None:
            obstacles.boxes.extend(box for box in (best.box, best.leader) if box is not None)
        found.append(best)
    return found


def _is_free(candidate: Candidate, obstacles: Obstacles, frame: Box) -> bool:
    needed = [box for box in (candidate.box, candidate.leader) if box is not None]
    return all(_is_within(box, frame) for box in needed) and not any(
        overlaps(box, other) for box in needed for other in obstacles.boxes
    )


def _is_within(box: Box, frame: Box) -> bool:
    corners = box.corners() - np.array([frame.x, frame.y])
    return bool((np.abs(corners) <= np.array([frame.width, frame.height]) / 2 + 1e-6).all())
