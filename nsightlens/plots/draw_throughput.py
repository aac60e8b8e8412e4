"""DRAM throughput, read and written, and achieved occupancy at each batch size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nsightlens.devices.columns import number_column
from nsightlens.plots import words
from nsightlens.plots.batch_axis import BATCH_LABEL, ordered_batches, thin_batches
from nsightlens.plots.points import notes_of, points_for
from nsightlens.plots.points_sweep import throughput_points
from nsightlens.plots.sheet import Entry, open_sheet
from nsightlens.plots.theme import BOUND_COLOURS, FAMILY_LOOKS, FillLook, Look, tinted

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes

    from nsightlens.plots.sheet import Sheet
    from nsightlens.report import Report
    from nsightlens.sweeps import Sweep

__all__ = ["throughput"]

_BARS = {
    "dram_read_pct": ("DRAM read", FillLook(BOUND_COLOURS["memory"], "")),
    "dram_write_pct": ("DRAM written", FillLook(tinted(BOUND_COLOURS["memory"], 0.45), "///")),
}
_LINES = {
    "attention_dram_throughput_pct": ("DRAM, attention alone", FAMILY_LOOKS["attention"], "-"),
    "matmul_dram_throughput_pct": ("DRAM, matmul alone", FAMILY_LOOKS["gemm"], "-"),
    "achieved_occupancy_pct": ("achieved occupancy", Look("#000000", "^"), "--"),
}


def throughput(
    data: Sweep | Report | pa.Table,
    ax: Axes | None = None,
    *,
    phase: str | None = None,
    device_name: str | None = None,
    title: str | None = None,
) -> Axes:
    """Draw DRAM throughput and achieved occupancy against the batch size.

    Parameters
    ----------
    data
        A result of `nsightlens.sweep` or `nsightlens.predict`, a report, or the points that
        `throughput_points` made of it.
    ax
        Axes to draw on; None for new ones, ``ax.figure`` of the result.
    phase, device_name
        As for `throughput_points`.
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
        As for `throughput_points`.
    """
    data = points_for(data, "throughput", throughput_points, phase=phase, device_name=device_name)
    sheet = open_sheet(ax)
    batches = data["batch_size"].to_pylist()
    sheet.axis_labels(BATCH_LABEL, "percent of peak [%]")
    ordered_batches(sheet, batches)
    entries = [*_draw_bars(sheet, data), *_draw_lines(sheet, data)]
    stacked = sum(np.nan_to_num(number_column(data, name)) for name in _BARS)
    highest = max(np.max([stacked, *(np.nan_to_num(number_column(data, n)) for n in _LINES)]), 0)
    sheet.ax.set_ylim(0, max(100.0, 1.03 * highest))
    sheet.ax.grid(visible=True, axis="y", linewidth=0.3, color="#cccccc")
    sheet.ax.set_axisbelow(True)
    sheet.legend_outside(entries)
    named = words.title_of(data["device_name"][0].as_py(), data["phase"].to_pylist())
    notes = [words.origin_note(data["origin"].to_pylist()), *notes_of(data), _missing(data)]
    sheet.finish(
        named if title is None else title,
        [note for note in notes if note],
        lambda: thin_batches(sheet, batches),
    )
    return sheet.ax


def _draw_bars(sheet: Sheet, data: pa.Table) -> list[Entry]:
    from matplotlib.patches import Patch

    places, below = np.arange(data.num_rows), np.zeros(data.num_rows)
    entries = []
    for name, (text, look) in _BARS.items():
        if data[name].null_count == data.num_rows:
            continue
        height = np.nan_to_num(number_column(data, name))
        sheet.ax.bar(
            places, height, 0.8, bottom=below, color=look.colour, hatch=look.hatch,
            edgecolor="white", linewidth=0.4, zorder=2, gid=f"nsightlens-{name}",
        )  # fmt: skip
        below = below + height
        patch = Patch(facecolor=look.colour, hatch=look.hatch, edgecolor="white")
        entries.append(Entry(patch, text))
    return entries


def _draw_lines(sheet: Sheet, data: pa.Table) -> list[Entry]:
    entries = []
    for name, (text, look, style) in _LINES.items():
        values = number_column(data, name)
        is_known = ~np.isnan(values)
        if not is_known.any():
            continue
        (line,) = sheet.ax.plot(
            np.flatnonzero(is_known), values[is_known], color=look.colour, marker=look.marker,
            linestyle=style, linewidth=sheet.sizes.line, markersize=sheet.sizes.marker * 0.9,
            markeredgecolor="white", markeredgewidth=0.5, zorder=4, gid=f"nsightlens-{name}",
        )  # fmt: skip
        entries.append(Entry(line, text))
    return entries


def _missing(data: pa.Table) -> str:
    """Say of which quantities values are missing."""
    texts = {name: text for name, (text, _) in _BARS.items()}
    texts |= {name: text for name, (text, _, _) in _LINES.items()}
    counts = {text: data[name].null_count for name, text in texts.items()}
    said = [
        f"{text} at {words.counted(count, 'batch size')}" for text, count in counts.items() if count
    ]
    return f"Not known: {', '.join(said)}." if said else ""
