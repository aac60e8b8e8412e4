"""One figure's axes while they are drawn on: sizes, measured texts, legend, title, notes, margins.

The one module that knows how matplotlib lays out text. It draws on what it is given and keeps no
state of pyplot; where it is given nothing, it makes a `Figure` of its own, which no window shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.errors import MissingExtraError
from nsightlens.plots import words
from nsightlens.plots.glyphs import drawable
from nsightlens.plots.placement import Box, box_around
from nsightlens.plots.theme import sizes_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

__all__ = ["DEFAULT_SIZE", "NOTE", "PAD", "Entry", "Sheet", "new_axes", "open_sheet"]

DEFAULT_SIZE = (6.0, 4.0)
"""[inch] Width and height of a figure of our own."""

PAD = 4.0
"""[pt] What stays free at the edges of a figure of our own."""

NOTE = "nsightlens-notes"
"""Identifier (gid) of the text with the notes, by which it can be found."""

_LEAST_SHARE = 0.2
"""[1] Of the figure, that the axes keep whatever stands beside them."""


class Entry(NamedTuple):
    """A line of a legend: what it looks like, and its text."""

    handle: Any
    text: str


def new_axes(size: tuple[float, float] = DEFAULT_SIZE, dpi: float = 100.0) -> Axes:
    """Return the axes of a new figure that belongs to no window.

    Parameters
    ----------
    size
        [inch] Width and height.
    dpi
        [pixel/inch] Resolution.

    Raises
    ------
    MissingExtraError
        matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("a figure", package="matplotlib", extra="plots") from error
    figure = Figure(figsize=size, dpi=dpi)
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def open_sheet(ax: Axes | None) -> Sheet:
    """Return the sheet of given axes, or of new ones."""
    return Sheet(new_axes(), is_own=True) if ax is None else Sheet(ax, is_own=_is_ours(ax))


def _is_ours(ax: Axes) -> bool:
    """Say whether the axes are alone in a figure that nobody else lays out."""
    figure: Any = ax.figure
    return figure.axes == [ax] and hasattr(figure, "canvas") and not _has_layout(figure)


def _has_layout(figure: Any) -> bool:
    return figure.get_layout_engine() is not None


class Sheet:
    """Axes, and what is needed to draw legibly on them.

    Parameters
    ----------
    ax
        The axes.
    is_own
        Whether their place in the figure may be changed so that all that is written fits.
    """

    def __init__(self, ax: Axes, *, is_own: bool) -> None:
        from matplotlib.backends.backend_agg import RendererAgg

        self.ax = ax
        self.is_own = is_own
        figure: Any = ax.figure
        self.figure = figure
        self._pt: float = figure.dpi / 72
        width, height = (max(1, round(side)) for side in figure.bbox.size)
        # A renderer of our own, because the figure may have a canvas that cannot measure.
        make: Any = RendererAgg  # without type information
        self.renderer = make(width, height, figure.dpi)
        share = figure.bbox.width if is_own else ax.bbox.width * 1.2
        self.sizes = sizes_for(share / figure.dpi)
        self._is_legend_below = False
        self._legend_down = 0.0
        self._columns = 1
        self._extents: dict[tuple[str, float, str], tuple[float, float]] = {}
        self._upwards = ""
        self.ink = str(ax.xaxis.label.get_color())
        ax.tick_params(labelsize=self.sizes.small, length=2.5, width=0.6, pad=2)
        ax.tick_params(which="minor", length=1.5, width=0.4)
        self._note = self._new_note()
        for spine in ax.spines.values():
            spine.set_linewidth(0.6)

    def points(self, pixels: float) -> float:
        """Return a length [pt] given in [pixel]."""
        return pixels / self._pt

    def pixels(self, points: float) -> float:
        """Return a length [pixel] given in [pt]."""
        return points * self._pt

    def axis_labels(self, across: str, upwards: str) -> None:
        """Name both axes, each with its unit."""
        self._upwards = upwards
        self.ax.set_xlabel(across, fontsize=self.sizes.text, labelpad=2)
        self.ax.set_ylabel(upwards, fontsize=self.sizes.text, labelpad=2)

    def _wrap_upwards(self) -> None:
        """Write the name of the vertical axis in two lines where the axes are low."""
        size = self.sizes.text
        lines = words.wrapped(
            self._upwards, self.ax.bbox.height, lambda text: self.extent(text, size)[0]
        )
        self.ax.set_ylabel(lines, fontsize=size, labelpad=2, linespacing=1.1)

    def extent(self, text: str, size: float, *, weight: str = "normal") -> tuple[float, float]:
        """Return [pixel] width and height of a text in a size [pt]."""
        from matplotlib.text import Text

        key = (text, size, weight)
        if key not in self._extents:
            artist = Text(0, 0, drawable(text), fontsize=size, parse_math=False, fontweight=weight)
            artist.set_figure(self.figure)
            box = artist.get_window_extent(self.renderer)
            self._extents[key] = (box.width, box.height)
        return self._extents[key]

    def box_of(self, artist: Any) -> Box:
        """Return the box of something drawn."""
        box = artist.get_window_extent(self.renderer)
        return box_around(box.x0, box.y0, box.x1, box.y1)

    @property
    def frame(self) -> Box:
        """The inside of the axes."""
        box = self.ax.bbox
        inset = self.pixels(1.5)
        return box_around(box.x0 + inset, box.y0 + inset, box.x1 - inset, box.y1 - inset)

    def has_room(self, box: Box) -> bool:
        """Say whether something in the axes is smaller than they are."""
        frame = self.frame
        return box.width < 0.9 * frame.width and box.height < 0.9 * frame.height

    def characters(self, share: float) -> int:
        """Return how many characters of small text fit in a share [1] of the figure's width."""
        width = self.points(self.figure.bbox.width)
        return max(8, int(share * width / (self.sizes.small * 0.62)))

    # --- Legend -------------------------------------------------------------------------------

    def legend_inside(self, entries: Sequence[Entry], corner: str) -> Legend:
        """Draw the legend in a corner of the axes."""
        self._is_legend_below = False
        return self._legend(entries, 1, loc=corner, borderaxespad=0.4)

    def legend_outside(self, entries: Sequence[Entry]) -> Legend | None:
        """Draw the legend beside the axes, or below them where the figure is narrow."""
        if not entries:
            return None
        if not self.sizes.is_narrow:
            return self._legend(
                entries,
                1,
                loc="upper left",
                bbox_to_anchor=(1, 1),
                bbox_transform=self._moved(PAD, 0),
                borderaxespad=0,
            )
        return self._legend_below(entries)

    def legend_again(self, entries: Sequence[Entry]) -> None:
        """Draw other lines, not more of them, in the place of the legend."""
        old: Any = self.ax.get_legend()
        where = old.get_bbox_to_anchor()
        place = {"loc": "upper left", "borderaxespad": 0, "bbox_to_anchor": (0, 0)}
        old.remove()
        if entries:
            corner = self.ax.transAxes.inverted().transform((where.x0, where.y0))
            right, up = (
                self.points(share * side)
                for share, side in zip(corner, self.ax.bbox.size, strict=True)
            )
            self._legend(entries, self._columns, **place, bbox_transform=self._moved(right, up))

    def _legend_below(self, entries: Sequence[Entry]) -> Legend:
        self._is_legend_below = True
        below = self.points(self._below_without(self._note))
        room = self.figure.bbox.width - self.pixels(2 * PAD)
        for columns in range(min(len(entries), 6), 0, -1):
            legend = self._legend(
                entries,
                columns,
                loc="upper left",
                bbox_to_anchor=(0, 0),
                bbox_transform=self._moved(-self._left_of_axes(), -below - 2),
                borderaxespad=0,
            )
            if columns == 1 or self.box_of(legend).width <= room:
                break
        return legend

    def _left_of_axes(self) -> float:
        """[pt] Between the left edge of the axes and where a text below them begins."""
        if not self.is_own:
            return 0.0
        return max(0.0, self.points(self.ax.bbox.x0) - PAD)

    def _moved(self, right: float, up: float) -> Any:
        """Return the coordinates of the axes, moved by lengths [pt]."""
        from matplotlib.transforms import ScaledTranslation

        shift = ScaledTranslation(right / 72, up / 72, self.figure.dpi_scale_trans)
        return self.ax.transAxes + shift

    def _legend(self, entries: Sequence[Entry], columns: int, **place: Any) -> Legend:
        self._columns = columns
        legend = self.ax.legend(
            [entry.handle for entry in entries],
            # A text that begins with "_" would be left out, and one with "$" be mathematics.
            ["x"] * len(entries),
            ncols=columns,
            fontsize=self.sizes.small,
            frameon=False,
            handlelength=1.8,
            handletextpad=0.5,
            columnspacing=1.0,
            labelspacing=0.35,
            borderpad=0.2,
            **place,
        )
        for text, entry in zip(legend.get_texts(), entries, strict=True):
            text.set_parse_math(False)
            text.set_text(drawable(entry.text))
        return legend

    # --- Title, notes and margins -------------------------------------------------------------

    def finish(
        self, title: str, notes: Sequence[str], after_fit: Callable[[], object] | None = None
    ) -> None:
        """Write title and notes and make room for all that is written.

        Parameters
        ----------
        title
            Above the axes; "" for none.
        notes
            Sentences below the axes.
        after_fit
            Called when the axes have their place for the first time, to thin out what is too close.
        """
        self.fit()
        if after_fit is not None:
            after_fit()
        # Twice: with the room, what a line holds and how many ticks there are may change.
        for _ in range(2):
            self._wrap_upwards()
            self._write_title(title)
            self._lay_below()
            self._write_notes(notes)
            self.fit()
        self._align()

    def _lay_below(self) -> None:
        """Move a legend that lies below the axes to where it is just below what is written."""
        legend = self.ax.get_legend()
        if legend is not None and self._is_legend_below:
            self._legend_down = self.points(self._below_without(legend, self._note)) + 2
            self._align()

    def _align(self) -> None:
        """Let what lies below the axes begin at the left edge of the figure."""
        left = -self._left_of_axes()
        legend = self.ax.get_legend()
        if legend is not None and self._is_legend_below:
            legend.set_bbox_to_anchor((0, 0), self._moved(left, -self._legend_down))
        self._note.set_position((left, self._note.get_position()[1]))

    def _write_title(self, title: str) -> None:
        if not title:
            return
        size = self.sizes.text + 0.5
        room = self.ax.bbox.width
        if self.is_own:
            room = self.figure.bbox.width - self.ax.bbox.x0 - self.pixels(PAD)
        lines = words.wrapped(
            drawable(title), room, lambda text: self.extent(text, size, weight="bold")[0]
        )
        self.ax.set_title(
            lines, loc="left", fontsize=size, fontweight="bold", pad=4, parse_math=False
        )

    def _new_note(self) -> Any:
        return self.ax.annotate(
            "",
            (0, 0),
            (0, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            annotation_clip=False,
            va="top",
            ha="left",
            fontsize=self.sizes.small,
            color=self.ink,
            alpha=0.75,
            linespacing=1.15,
            parse_math=False,
            gid=NOTE,
        )

    def _write_notes(self, notes: Sequence[str]) -> None:
        room = (self.figure if self.is_own else self.ax).bbox.width - self.pixels(2 * PAD)
        text = words.wrapped(
            drawable(" ".join(notes)), room, lambda line: self.extent(line, self.sizes.small)[0]
        )
        below = self.points(self._below_without(self._note))
        self._note.set_text(text)
        self._note.set_position((-self._left_of_axes(), -below - 3))

    def _below_without(self, *artists: Any) -> float:
        """Return [pixel] how far what is written below the axes reaches, without some of it."""
        for artist in artists:
            artist.set_visible(False)
        box = self.ax.get_tightbbox(self.renderer)
        for artist in artists:
            artist.set_visible(True)
        return 0.0 if box is None else max(0.0, self.ax.bbox.y0 - box.y0)

    def fit(self) -> None:
        """Give the axes the room that what stands around them leaves, where they are our own."""
        if not self.is_own:
            return
        box = self.ax.get_tightbbox(self.renderer)
        if box is None:
            return
        inside, whole, pad = self.ax.bbox, self.figure.bbox, self.pixels(PAD)
        left = inside.x0 - min(box.x0, inside.x0) + pad
        right = max(box.x1, inside.x1) - inside.x1 + pad
        below = inside.y0 - min(box.y0, inside.y0) + pad
        above = max(box.y1, inside.y1) - inside.y1 + pad
        width = max(_LEAST_SHARE, 1 - (left + right) / whole.width)
        height = max(_LEAST_SHARE, 1 - (below + above) / whole.height)
        self.ax.set_position((left / whole.width, below / whole.height, width, height))
