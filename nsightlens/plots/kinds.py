"""The kinds of figures, and what each can be asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nsightlens.plots.draw_intensity import intensity
from nsightlens.plots.draw_labels import labels
from nsightlens.plots.draw_roofline import roofline
from nsightlens.plots.draw_shares import shares
from nsightlens.plots.draw_stalls import stalls
from nsightlens.plots.draw_throughput import throughput
from nsightlens.plots.points_roofline import roofline_points
from nsightlens.plots.points_stalls import stalls_points
from nsightlens.plots.points_sweep import (
    intensity_points,
    labels_points,
    shares_points,
    throughput_points,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa
    from matplotlib.axes import Axes

__all__ = ["KINDS", "Kind"]


class Kind(NamedTuple):
    """A kind of figure.

    Parameters
    ----------
    points
        Makes its table.
    draw
        Draws the table.
    is_of_sweep
        Whether the table is made of a sweep, not of a report and its labels.
    """

    points: Callable[..., pa.Table]
    draw: Callable[..., Axes]
    is_of_sweep: bool


KINDS = {
    "roofline": Kind(roofline_points, roofline, is_of_sweep=False),
    "intensity": Kind(intensity_points, intensity, is_of_sweep=True),
    "shares": Kind(shares_points, shares, is_of_sweep=True),
    "throughput": Kind(throughput_points, throughput, is_of_sweep=True),
    "stalls": Kind(stalls_points, stalls, is_of_sweep=False),
    "labels": Kind(labels_points, labels, is_of_sweep=True),
}
