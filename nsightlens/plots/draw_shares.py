"""Shares of attention, matmul and the rest in the time, stacked, at each batch size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nsightlens.devices.columns import number_column
from nsightlens.plots import words
from nsightlens.plots.batch_axis import BATCH_LABEL, ordered_batches, thin_batches
from nsightlens.plots.points import notes_of, points_for
from nsightlens.plots.points_sweep import COMPONENTS, shares_points
from nsightlens.plots.sheet import Entry, open_sheet
from nsightlens.plots.theme import COMPONENT_LOOKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from nsightlens.plots.sheet import Sheet
    from nsightlens.report import Report
    from nsightlens.sweeps import Sweep

__all__ = ["BAR_TEXT", "shares"]

BAR_TEXT = "nsightlens-bar-text"
"""Identifier (gid) of a number in a bar."""

_WIDTH = 0.82
_PAD = 1.2
"""[pt] Around a number in a bar."""


def shares(
    data: Sweep | Report | pa.Table,
    ax: Axes | None = None,
    *,
    phase: str | None = None,
    device_name: str | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the shares of attention, matmul and the rest in the time of each batch size.

    Parameters
    ----------
    data
        A result of `nsightlens.sweep` or `nsightlens.predict`, a report, or the points that
        `shares_points` made of it.
    ax
        Axes to draw on; None for new ones, ``ax.figure`` of the result.
    phase, device_name
        As for `shares_points`.
    title
        In place of GPU and phase; "" for none.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    MissingExtraError
        matplotlib is not installed.
    NothingToPlotError, FilterError
        As for `shares_points`.
    """
    data = points_for(data, "shares", shares_points, phase=phase, device_name=device_name)
    sheet = open_sheet(ax)
    batches = sorted({batch for batch in data["batch_size"].to_pylist() if batch is not None})
    heights = _heights(data, batches)
    sheet.axis_labels(BATCH_LABEL, "share of kernel time [%]")
    ordered_batches(sheet, batches)
    sheet.ax.set_ylim(0, 100)
    bars = _draw_bars(sheet, heights)
    sheet.legend_outside(list(reversed(_entries())) if not sheet.sizes.is_narrow else _entries())
    missing = int(np.isnan(heights).all(axis=0).sum())
    notes = [
        words.origin_note(data["origin"].to_pylist()),
        *notes_of(data),
        f"Without a known time: {words.counted(missing, 'batch size')}." if missing else "",
    ]
    sheet.finish(
        words.title_of(data["device_name"][0].as_py(), data["phase"].to_pylist())
        if title is None
        else title,
        [note for note in notes if note],
        lambda: thin_batches(sheet, batches),
    )
    _write_shares(sheet, heights, bars)
    return sheet.ax


def _heights(data: pa.Table, batches: Sequence[int]) -> NDArray[np.float64]:
    """[%] Shares by component and batch size."""
    heights = np.full((len(COMPONENTS), len(batches)), np.nan)
    component = data["component"].to_pylist()
    batch = data["batch_size"].to_pylist()
    for i, value in enumerate(number_column(data, "share_pct")):
        heights[COMPONENTS.index(component[i]), batches.index(batch[i])] = value
    return heights


def _draw_bars(sheet: Sheet, heights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Draw the bars; return where each begins [%]."""
    known = np.nan_to_num(heights)
    begins = np.cumsum(known, axis=0) - known
    places = np.arange(heights.shape[1])
    for name, height, begin in zip(COMPONENTS, known, begins, strict=True):
        look = COMPONENT_LOOKS[name]
        sheet.ax.bar(
            places, height, _WIDTH, bottom=begin, color=look.colour, hatch=look.hatch,
            edgecolor="white", linewidth=0.4, gid=f"nsightlens-{name}", zorder=3,
        )  # fmt: skip
    return begins


def _entries() -> list[Entry]:
    from matplotlib.patches import Patch

    return [
        Entry(Patch(facecolor=look.colour, hatch=look.hatch, edgecolor="white"), name)
        for name, look in COMPONENT_LOOKS.items()
    ]


def _write_shares(sheet: Sheet, heights: NDArray[np.float64], begins: NDArray[np.float64]) -> None:
    """Write each share into its bar, where it fits."""
    size = sheet.sizes.small
    (x0, y0), (x1, y1) = sheet.ax.transData.transform([(0, 0), (_WIDTH, 1)])
    around = 2 * sheet.pixels(_PAD)
    if sheet.extent("88", size)[0] + around > x1 - x0:
        return
    for row, name in enumerate(COMPONENTS):
        for place, height in enumerate(heights[row]):
            if np.isnan(height) or height <= 0:
                continue
            text = f"{height:.0f}"
            width, tall = sheet.extent(text, size)
            if width > x1 - x0 or tall + around > height * (y1 - y0):
                continue
            colour = COMPONENT_LOOKS[name].colour
            sheet.ax.text(
                place, begins[row, place] + height / 2, text, ha="center", va="center",
                fontsize=size, color="black" if name == "other" else "white", zorder=5,
                gid=BAR_TEXT,
                # On its own ground, so that no hatch runs through it.
                bbox={"facecolor": colour, "edgecolor": "none", "pad": _PAD},
            )  # fmt: skip
