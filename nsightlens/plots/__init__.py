"""Figures: tables become points, and points are drawn on matplotlib's Axes.

Two layers. ``*_points(data)`` gives the table behind a figure, without matplotlib. The function of
the figure's kind draws such a table, or what it can be made of, on the axes that it is given or on
new ones, and returns them; it neither shows nor saves anything.

- `roofline`, `stalls`: from a report.
- `intensity`, `shares`, `throughput`, `labels`: from a sweep over batch sizes.
"""

from __future__ import annotations

from nsightlens.plots.draw_intensity import intensity
from nsightlens.plots.draw_labels import labels
from nsightlens.plots.draw_roofline import roofline
from nsightlens.plots.draw_shares import shares
from nsightlens.plots.draw_stalls import stalls
from nsightlens.plots.draw_throughput import throughput
from nsightlens.plots.points import notes_of
from nsightlens.plots.points_roofline import roofline_points
from nsightlens.plots.points_stalls import stalls_points
from nsightlens.plots.points_sweep import (
    intensity_points,
    labels_points,
    shares_points,
    throughput_points,
)
from nsightlens.plots.sheet import new_axes

__all__ = [
    "intensity",
    "intensity_points",
    "labels",
    "labels_points",
    "new_axes",
    "notes_of",
    "roofline",
    "roofline_points",
    "shares",
    "shares_points",
    "stalls",
    "stalls_points",
    "throughput",
    "throughput_points",
]
