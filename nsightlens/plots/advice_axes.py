"""The axes of the figures of advice: a scale on the right, hollow points, batch sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nsightlens.devices.columns import number_column
from nsightlens.plots.batch_axis import log_batches
from nsightlens.plots.sheet import PAD, Entry

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

    from nsightlens.plots.sheet import Sheet
    from nsightlens.plots.theme import Look

__all__ = [
    "batches_of",
    "batches_on_axis",
    "draw_series",
    "hollow_note",
    "legend_beside",
    "right_axes",
    "top_of",
]


def batches_of(data: pa.Table) -> list[Any]:
    """Return the batch sizes of points, as a tick shows them: whole, or with four digits."""
    values = number_column(data, "batch_size").tolist()
    return [int(one) if one == int(one) else float(f"{one:.4g}") for one in values]


def batches_on_axis(sheet: Sheet, batches: Sequence[Any], beside: Sequence[float]) -> None:
    """Give the axes a logarithmic axis of batch sizes that shows what lies beside them too."""
    log_batches(sheet, batches)
    low, high = sheet.ax.get_xlim()
    if beside:
        sheet.ax.set_xlim(min(low, 0.8 * min(beside)), max(high, 1.25 * max(beside)))


def right_axes(sheet: Sheet, label: str) -> Axes:
    """Return axes in the same place, with the same batch sizes and a scale on the right.

    They are a part of the given ones, so that what lays those out knows of their texts.
    """
    other: Axes = sheet.ax.inset_axes((0, 0, 1, 1), zorder=3)
    other.patch.set_visible(False)
    other.set_xscale("log", base=2)
    other.set_xlim(sheet.ax.get_xlim())
    other.xaxis.set_visible(False)
    other.yaxis.tick_right()
    other.yaxis.set_label_position("right")
    other.tick_params(labelsize=sheet.sizes.small, length=2.5, width=0.6, pad=2)
    other.set_ylabel(label, fontsize=sheet.sizes.text, labelpad=2)
    for side, spine in other.spines.items():
        spine.set_visible(side == "right")
        spine.set_linewidth(0.6)
    return other


def draw_series(
    sheet: Sheet, axes: Axes, data: pa.Table, name: str, *, look: Look, text: str
) -> list[Entry]:
    """Draw a column of points against the batch size: a line, and markers full or hollow.

    Parameters
    ----------
    sheet
        Of the figure.
    axes
        To draw on.
    data
        With ``batch_size``, ``is_hollow`` and the column.
    name
        The column; it is in the identifiers (gid) of what is drawn.
    look
        Colour and marker.
    text
        For the legend.

    Returns
    -------
    list of Entry
        None where no value is known.
    """
    batch, values = number_column(data, "batch_size"), number_column(data, name)
    is_known = ~np.isnan(values)
    if not is_known.any():
        return []
    is_hollow = np.array(data["is_hollow"].to_pylist(), bool)
    sizes = sheet.sizes
    axes.plot(
        batch[is_known], values[is_known], color=look.colour, linewidth=sizes.line, zorder=3,
        gid=f"nsightlens-{name}",
    )  # fmt: skip
    for kind, mask, face in (("full", ~is_hollow, look.colour), ("hollow", is_hollow, "white")):
        shown = is_known & mask
        axes.plot(
            batch[shown], values[shown], linestyle="none", marker=look.marker, zorder=4,
            markersize=sizes.marker, markeredgecolor=look.colour, markerfacecolor=face,
            gid=f"nsightlens-{name}-{kind}",
        )  # fmt: skip
    return [Entry(_handle(sheet, look), text)]


def _handle(sheet: Sheet, look: Look) -> Any:
    from matplotlib.lines import Line2D

    sizes = sheet.sizes
    return Line2D(
        [], [], color=look.colour, marker=look.marker, linewidth=sizes.line,
        markersize=sizes.marker,
    )  # fmt: skip


def legend_beside(sheet: Sheet, other: Axes, legend: Legend | None) -> None:
    """Move a legend on the right to beyond the scale there."""
    if legend is None or sheet.sizes.is_narrow:
        return
    from matplotlib.transforms import ScaledTranslation

    box: Any = other.get_tightbbox(sheet.renderer)
    taken = sheet.points(max(0.0, box.x1 - sheet.ax.bbox.x1))
    figure: Any = sheet.figure
    shift = ScaledTranslation((taken + 2 * PAD) / 72, 0, figure.dpi_scale_trans)
    legend.set_bbox_to_anchor((1, 1), sheet.ax.transAxes + shift)


def top_of(values: Any, *others: float | None) -> float:
    """Return where an axis ends: above all that it shows."""
    known = [float(one) for one in values if np.isfinite(one)]
    known += [one for one in others if one is not None]
    return 1.06 * max(known, default=1.0) or 1.0


def hollow_note(data: pa.Table) -> list[str]:
    """Return what a hollow marker says, where there is one."""
    return ["Hollow: preempted, or flagged."] if any(data["is_hollow"].to_pylist()) else []
