"""What stands beside the curve of advice: KV use, and shares of the time of decode steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nsightlens.devices.columns import number_column
from nsightlens.plots import words
from nsightlens.plots.advice_axes import (
    batches_of,
    batches_on_axis,
    draw_series,
    hollow_note,
    top_of,
)
from nsightlens.plots.batch_axis import BATCH_LABEL, ordered_batches, thin_batches
from nsightlens.plots.points import notes_of
from nsightlens.plots.points_advice import SHARE_PARTS, kv_points, setup_title, share_points
from nsightlens.plots.sheet import Entry, open_sheet
from nsightlens.plots.theme import COMPONENT_LOOKS, OKABE_ITO, FillLook, Look

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes

    from nsightlens.advisor.answers import Advice
    from nsightlens.plots.sheet import Sheet

__all__ = ["draw_kv", "draw_shares"]

KV_LOOK = Look(OKABE_ITO["green"], "o")
SHARE_LOOKS = {**COMPONENT_LOOKS, "host": FillLook(OKABE_ITO["yellow"], "\\\\\\")}


def draw_kv(advice: Advice, ax: Axes | None = None, *, title: str | None = None) -> Axes:
    """Draw the use of the KV pool against the batch size, and what the choice never uses.

    Parameters
    ----------
    advice
        A result of `nsightlens.advisor.advice.advise`.
    ax
        Axes to draw on; None for new ones.
    title
        In place of model, engine and GPU; "" for none.

    Returns
    -------
    matplotlib.axes.Axes
        In GiB where the size of the pool is known at each batch size, else in percent of it.

    Raises
    ------
    MissingExtraError
        matplotlib is not installed.
    NothingToPlotError
        As for `kv_points`.
    """
    data = kv_points(advice)
    in_gib = data["kv_used_gib"].null_count == 0
    name, unit = ("kv_used_gib", "GiB") if in_gib else ("kv_peak_pct", "% of the pool")
    sheet = open_sheet(ax)
    batches = batches_of(data)
    sheet.axis_labels(BATCH_LABEL, f"KV memory [{unit}]")
    batches_on_axis(sheet, batches, [])
    pool = number_column(data, "kv_pool_gib") if in_gib else np.full(data.num_rows, 100.0)
    entries = draw_series(sheet, sheet.ax, data, name, look=KV_LOOK, text="largest use")
    (line,) = sheet.ax.plot(
        number_column(data, "batch_size"), pool, color=OKABE_ITO["black"], linestyle="--",
        linewidth=sheet.sizes.line, zorder=2, gid="nsightlens-kv-pool",
    )  # fmt: skip
    entries.append(Entry(line, "KV pool"))
    entries += _draw_freed(sheet, data, number_column(data, name), pool, "GiB" if in_gib else "%")
    sheet.ax.set_ylim(0, top_of(np.concatenate([pool, number_column(data, name)])))
    sheet.legend_outside(entries)
    sheet.finish(
        setup_title(advice) if title is None else title,
        [*notes_of(data), *hollow_note(data)],
        lambda: thin_batches(sheet, batches),
    )
    return sheet.ax


def _draw_freed(sheet: Sheet, data: pa.Table, used: Any, pool: Any, unit: str) -> list[Entry]:
    """Draw what lies between the largest use at the choice and the pool."""
    chosen = np.flatnonzero(np.array(data["is_chosen"].to_pylist(), bool))
    if not chosen.size:
        return []
    place = int(chosen[0])
    batch = number_column(data, "batch_size")[place]
    (line,) = sheet.ax.plot(
        [batch, batch], [used[place], pool[place]], color=OKABE_ITO["orange"],
        linewidth=3 * sheet.sizes.line, solid_capstyle="butt", zorder=3, gid="nsightlens-kv-freed",
    )  # fmt: skip
    freed = words.significant(max(0.0, float(pool[place] - used[place])))
    return [Entry(line, f"never used at {words.significant(batch)}: {freed} {unit}")]


def draw_shares(advice: Advice, ax: Axes | None = None, *, title: str | None = None) -> Axes:
    """Draw what decode steps spend their time on, stacked, at each batch size.

    Parameters
    ----------
    advice
        A result of `nsightlens.advisor.advice.advise`.
    ax
        Axes to draw on; None for new ones.
    title
        In place of model, engine and GPU; "" for none.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    MissingExtraError
        matplotlib is not installed.
    NothingToPlotError
        As for `share_points`.
    """
    from matplotlib.patches import Patch

    data = share_points(advice)
    sheet = open_sheet(ax)
    heights = number_column(data, "share_pct").reshape(-1, len(SHARE_PARTS)).T
    batches = batches_of(data)[:: len(SHARE_PARTS)]
    sheet.axis_labels(BATCH_LABEL, "share of a decode step [%]")
    ordered_batches(sheet, batches)
    below, entries = np.zeros(len(batches)), []
    for part, height in zip(SHARE_PARTS, heights, strict=True):
        look, known = SHARE_LOOKS[part], np.nan_to_num(height)
        sheet.ax.bar(
            np.arange(len(batches)), known, 0.82, bottom=below, color=look.colour,
            hatch=look.hatch, edgecolor="white", linewidth=0.4, zorder=3, gid=f"nsightlens-{part}",
        )  # fmt: skip
        below = below + known
        patch = Patch(facecolor=look.colour, hatch=look.hatch, edgecolor="white")
        entries.append(Entry(patch, part))
    sheet.ax.set_ylim(0, max(100.0, float(below.max())))
    sheet.legend_outside(entries[::-1] if not sheet.sizes.is_narrow else entries)
    missing = [part for part, height in zip(SHARE_PARTS, heights, strict=True) if _has_gap(height)]
    sheet.finish(
        setup_title(advice) if title is None else title,
        [f"Not known at some batch size: {', '.join(missing)}."] if missing else [],
        lambda: thin_batches(sheet, batches),
    )
    return sheet.ax


def _has_gap(values: Any) -> bool:
    return bool(np.isnan(values).any())
