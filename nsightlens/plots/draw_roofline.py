"""The roofline: achieved FLOP/s against arithmetic intensity, under the roofs of the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nsightlens.analysis.rooflines import LEVELS
from nsightlens.devices.columns import number_column
from nsightlens.plots import words
from nsightlens.plots.labelling import PointLabel, add_labels, obstacles_of
from nsightlens.plots.log_axis import log_across, log_upwards
from nsightlens.plots.points import notes_of, points_for
from nsightlens.plots.points_roofline import roofline_points
from nsightlens.plots.roofs import Roofs, distinct, draw_roofs
from nsightlens.plots.series import hidden_note, in_series
from nsightlens.plots.sheet import Entry, open_sheet
from nsightlens.plots.theme import LEVEL_LINES, Look, text_colour, tinted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from nsightlens.analysis import Classification
    from nsightlens.plots.labelling import LineLabel
    from nsightlens.plots.placement import Obstacles
    from nsightlens.plots.series import Series
    from nsightlens.plots.sheet import Sheet
    from nsightlens.report import Report

__all__ = ["MOST_SERIES", "PATH", "POINTS", "roofline"]

MOST_SERIES = 60
"""Families or kernels in one figure; the rest, which takes least time, is counted."""

MOST_PATHS = 8
"""Kernels whose batch sizes are joined: more lines would hide the points."""

POINTS, PATH = "nsightlens-points", "nsightlens-path"
"""Identifiers (gid) of markers, and of the lines that join batch sizes."""

# How much of the colour of the family fills the marker, by memory level.
_FILL = {"dram": 1.0, "l2": 0.45, "l1": 0.0}


def roofline(
    data: Report | Classification | pa.Table,
    ax: Axes | None = None,
    *,
    by: Literal["family", "kernel"] = "family",
    level: str = "dram",
    hierarchical: bool = False,
    resource: str | None = None,
    phase: str | None = None,
    device_name: str | None = None,
    title: str | None = None,
) -> Axes:
    """Draw a roofline.

    Parameters
    ----------
    data
        A report, the labels of its launches, or the points that `roofline_points` made of them; of
        points, every option about what is shown has been decided.
    ax
        Axes to draw on; None for new ones, ``ax.figure`` of the result.
    by
        A point per family or per kernel, at each batch size.
    level
        Memory level whose bytes count: ``dram``, ``l2``, ``l1``.
    hierarchical
        All three levels with their roofs in one figure.
    resource, phase, device_name
        As for `roofline_points`.
    title
        In place of the GPU and its clock; "" for none.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    MissingExtraError
        matplotlib is not installed.
    NothingToPlotError, FilterError
        As for `roofline_points`.

    Examples
    --------
    >>> from nsightlens import open_report
    >>> from nsightlens.example import path
    >>> roofline(open_report(path())).get_xlabel()
    'arithmetic intensity, DRAM [FLOP/B]'
    """
    data = points_for(
        data, "roofline", roofline_points,
        by=by, levels=LEVELS if hierarchical else (level,), resource=resource,
        phase=phase, device_name=device_name,
    )  # fmt: skip
    return _Roofline(open_sheet(ax), data).draw(title)


class _Roofline:
    """What the parts of the drawing share."""

    def __init__(self, sheet: Sheet, points: pa.Table) -> None:
        self.sheet = sheet
        self.points = points
        self.x = number_column(points, "arithmetic_intensity_flop_per_byte")
        self.y = number_column(points, "achieved_flop_per_s")
        self.time = number_column(points, "duration_ns")
        self.level = np.array(points["level"].to_pylist())
        self.batch = points["batch_size"].to_pylist()
        self.is_by_kernel = points["kernel"].null_count < points.num_rows
        self.levels = [name for name in LEVELS if name in set(self.level)]
        # [pt^2] In proportion to time.
        share = self.time / self.time.max() * sheet.sizes.largest_area
        self.area = np.maximum(share, sheet.sizes.smallest_area)

    def draw(self, title: str | None) -> Axes:
        """Draw all of it."""
        every = in_series(self.points)
        shown, hidden = every[:MOST_SERIES], every[MOST_SERIES:]
        roofs = self._roofs()
        rows = np.concatenate([one.rows for one in shown])
        self._set_axes(rows, roofs)
        lines, labels = draw_roofs(self.sheet, roofs)
        has_paths = not self.is_by_kernel or len(shown) <= MOST_PATHS
        for one in shown:
            lines += self._draw_series(one, has_path=has_paths)
        said = (self._title(title), self._notes(hidden))
        entries = self._numbered(shown) if self.is_by_kernel else self._named(shown)
        obstacles = self._finish(entries, said, rows, lines)
        self._label(shown, labels, obstacles)
        return self.sheet.ax

    # --- Axes and roofs -----------------------------------------------------------------------

    def _roofs(self) -> Roofs:
        flat = number_column(self.points, "peak_flop_per_s")
        slanted = number_column(self.points, "peak_bytes_per_s")
        of_level: dict[str, float] = {}
        for name in self.levels:
            is_here = self.level == name
            for heaviest in distinct(slanted[is_here], self.time[is_here], 1):
                of_level[name] = heaviest
        return Roofs(self.points["resource"][0].as_py(), distinct(flat, self.time), of_level)

    def _set_axes(self, rows: NDArray[np.intp], roofs: Roofs) -> None:
        """Set limits with room for roofs and their names around the points."""
        x, y = self.x[rows], self.y[rows]
        ridges = [flat / slant for flat in roofs.flat for slant in roofs.slanted.values()]
        left, right = min([x.min(), *(r / 10 for r in ridges)]), max([x.max(), *ridges])
        low, high = y.min(), max([y.max(), *roofs.flat])
        across, up = np.log10(right / left), np.log10(high / low)
        ax = self.sheet.ax
        log_across(
            self.sheet, left * 10 ** (-0.08 * across - 0.1), right * 10 ** (0.3 * across + 0.1)
        )
        log_upwards(self.sheet, low * 10 ** (-0.14 * up - 0.2), high * 10 ** (0.14 * up + 0.15))
        level = ", ".join(words.LEVEL_WORDS[name] for name in self.levels)
        self.sheet.axis_labels(
            f"arithmetic intensity, {level} [FLOP/B]", "achieved operations [FLOP/s]"
        )
        ax.grid(visible=True, which="major", linewidth=0.3, color="#cccccc")
        ax.set_axisbelow(True)

    # --- Points -------------------------------------------------------------------------------

    def _draw_series(self, one: Series, *, has_path: bool) -> list[NDArray[np.float64]]:
        """Draw the markers of a series and the path through them, per level."""
        paths = []
        # DRAM last: where levels coincide, it is what is seen.
        for level in reversed(self.levels):
            rows = one.rows[self.level[one.rows] == level]
            in_step = rows[[self.batch[i] is not None for i in rows]]
            if has_path and len(in_step) > 1:
                path = np.column_stack([self.x[in_step], self.y[in_step]])
                self.sheet.ax.plot(
                    path[:, 0], path[:, 1], color=one.look.colour, marker="", zorder=4, gid=PATH,
                    linestyle=LEVEL_LINES[level], linewidth=self.sheet.sizes.line * 0.9, alpha=0.8,
                )  # fmt: skip
                paths.append(path)
            self.sheet.ax.scatter(
                self.x[rows], self.y[rows], s=self.area[rows], marker=one.look.marker,
                facecolor=self._fill(one.look.colour, level), linewidth=0.5, zorder=5, alpha=0.9,
                edgecolor="black" if level == self.levels[0] else one.look.colour, gid=POINTS,
            )  # fmt: skip
        return paths

    def _fill(self, colour: str, level: str) -> str:
        return tinted(colour, _FILL[level] if len(self.levels) > 1 else 1.0)

    # --- Legend -------------------------------------------------------------------------------

    def _mark(self, look: Look, *, has_path: bool) -> Any:
        from matplotlib.lines import Line2D

        return Line2D(
            [], [], linestyle="-" if has_path else "", linewidth=self.sheet.sizes.line,
            color=look.colour, marker=look.marker, markersize=self.sheet.sizes.marker,
            markeredgecolor="black", markeredgewidth=0.5,
        )  # fmt: skip

    def _named(self, shown: Sequence[Series]) -> list[Entry]:
        """Return the legend of families, and of levels where there are several."""
        entries = [Entry(self._mark(one.look, has_path=True), one.name) for one in shown]
        if len(self.levels) == 1:
            return entries
        for level in self.levels:
            mark = self._mark(Look("#000000", "o"), has_path=True)
            mark.set_linestyle(LEVEL_LINES[level])
            mark.set_markerfacecolor(tinted("#000000", _FILL[level]))
            entries.append(Entry(mark, f"bytes at {words.LEVEL_WORDS[level]}"))
        return entries

    def _numbered(self, shown: Sequence[Series]) -> list[Entry]:
        """Return the legend of kernels by the numbers that stand beside their points."""
        length = self.sheet.characters(0.9 if self.sheet.sizes.is_narrow else 0.36)
        return [
            Entry(self._mark(one.look, has_path=False), f"{i} {words.cut(one.name, length)}")
            for i, one in enumerate(shown[: self._number_count()], 1)
        ]

    def _number_count(self) -> int:
        """Return how many kernels have a number and a line in the legend."""
        if self.sheet.sizes.is_narrow:
            return 4
        height = self.sheet.points(self.sheet.figure.bbox.height)
        return max(3, min(30, int(0.75 * height / (self.sheet.sizes.small * 1.55))))

    def _finish(
        self,
        entries: Sequence[Entry],
        said: tuple[str, Sequence[str]],
        rows: NDArray[np.intp],
        lines: Sequence[NDArray[np.float64]],
    ) -> Obstacles:
        """Put the legend where the axes are empty, else outside; return what is in the way."""
        radius = np.sqrt(self.area[rows] / np.pi)
        points = np.column_stack([self.x[rows], self.y[rows], radius])
        if not self.is_by_kernel and len(entries) <= 8:
            self.sheet.finish(*said)
            obstacles = obstacles_of(self.sheet, points, lines)
            for corner in ("upper left", "lower right"):
                box = self.sheet.box_of(self.sheet.legend_inside(entries, corner))
                around = box.grown(self.sheet.pixels(3))
                if self.sheet.has_room(box) and obstacles.cost(around) == 0:
                    obstacles.boxes.append(box)
                    return obstacles
        self.sheet.legend_outside(entries)
        self.sheet.finish(*said)
        return obstacles_of(self.sheet, points, lines)

    # --- Labels and words ---------------------------------------------------------------------

    def _label(
        self, shown: Sequence[Series], roofs: Sequence[LineLabel], obstacles: Obstacles
    ) -> None:
        size = self.sheet.sizes.small
        add_labels(self.sheet, roofs, obstacles, size)
        if self.is_by_kernel:
            self._number(shown, obstacles)
        else:
            ends = [label for one in shown for label in self._ends(one)]
            add_labels(self.sheet, ends, obstacles, size)

    def _number(self, shown: Sequence[Series], obstacles: Obstacles) -> None:
        """Give a number to kernels beside whose largest point there is room, and a legend."""
        numbered: list[Series] = []
        for one in shown[: self._number_count()]:
            row = int(one.rows[np.argmax(self.time[one.rows])])
            label = self._beside(row, (str(len(numbered) + 1),), one)
            if add_labels(self.sheet, [label], obstacles, self.sheet.sizes.small)[0]:
                numbered.append(one)
        # In the room that all of them would take.
        self.sheet.legend_again(self._numbered(numbered))

    def _ends(self, one: Series) -> list[PointLabel]:
        """Return the labels of the largest and the smallest batch size of a path."""
        is_here = self.level[one.rows] == self.levels[0]
        rows = [int(i) for i in one.rows[is_here] if self.batch[i] is not None]
        ends = [rows[-1], rows[0]] if len(rows) > 1 else rows
        return [
            self._beside(row, (f"batch {self.batch[row]}", f"{self.batch[row]}"), one)
            for row in ends
        ]

    def _beside(self, row: int, texts: Sequence[str], one: Series) -> PointLabel:
        radius = float(np.sqrt(self.area[row] / np.pi))
        colour = text_colour(one.look.colour)
        return PointLabel(float(self.x[row]), float(self.y[row]), texts, radius, colour)

    def _title(self, title: str | None) -> str:
        if title is not None:
            return title
        name = words.title_of(
            self.points["device_name"][0].as_py(), self.points["phase"].to_pylist()
        )
        clocks = number_column(self.points, "sm_clock_hz")
        is_known = ~np.isnan(clocks)
        if not is_known.any():
            return name
        mean = np.average(clocks[is_known], weights=self.time[is_known])
        return f"{name}, SM clock {words.clock(float(mean))}"

    def _notes(self, hidden: list[Series]) -> list[str]:
        found = [
            words.origin_note(self.points["origin"].to_pylist()),
            "Numbered: kernels with the most time." if self.is_by_kernel else "",
            f"Area of a marker: time, the largest {words.time(float(self.time.max()))}.",
            *notes_of(self.points),
            hidden_note(self.points, hidden),
        ]
        return [note for note in found if note]
