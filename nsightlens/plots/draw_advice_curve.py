"""Throughput and latency against the batch size, with limit, knee and choice."""

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
    legend_beside,
    right_axes,
    top_of,
)
from nsightlens.plots.batch_axis import BATCH_LABEL, thin_batches
from nsightlens.plots.points import notes_of
from nsightlens.plots.points_advice import curve_marks, curve_points, setup_title
from nsightlens.plots.sheet import Entry, open_sheet
from nsightlens.plots.theme import OKABE_ITO, Look

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes

    from nsightlens.advisor.answers import Advice
    from nsightlens.plots.points_advice import CurveMarks
    from nsightlens.plots.sheet import Sheet

__all__ = ["draw_curve"]

THROUGHPUT_LOOK = Look(OKABE_ITO["blue"], "o")
LATENCY_LOOK = Look(OKABE_ITO["vermillion"], "s")

_CHOICE: dict[str, Any] = {
    "marker": "*", "linestyle": "none", "color": OKABE_ITO["black"], "markeredgecolor": "white",
    "markeredgewidth": 0.6, "zorder": 6,
}  # fmt: skip


def draw_curve(advice: Advice, ax: Axes | None = None, *, title: str | None = None) -> Axes:
    """Draw throughput and latency against the batch size, with limit, knee and choice.

    Parameters
    ----------
    advice
        A result of `nsightlens.advisor.advice.advise`.
    ax
        Axes to draw on; None for new ones, ``ax.figure`` of the result. The latency is drawn on
        axes of their own in the same place, with their scale on the right.
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
        As for `curve_points`.
    """
    data, marks = curve_points(advice), curve_marks(advice)
    sheet = open_sheet(ax)
    batches = batches_of(data)
    kind = advice.curve.throughput
    sheet.axis_labels(BATCH_LABEL, f"{kind} throughput [token/s]")
    beside = [one for one in (marks.knee, marks.batch_size) if one is not None]
    batches_on_axis(sheet, batches, beside)
    other = right_axes(sheet, f"{marks.latency} [ms]")
    entries = [
        *draw_series(
            sheet, sheet.ax, data, "throughput_tok_s", look=THROUGHPUT_LOOK,
            text=f"{kind} throughput",
        ),
        *draw_series(sheet, other, data, "latency_ms", look=LATENCY_LOOK, text=marks.latency),
        *_draw_law(sheet, other, data),
        *_draw_marks(sheet, other, marks),
    ]  # fmt: skip
    sheet.ax.set_ylim(0, top_of(number_column(data, "throughput_tok_s"), marks.throughput_tok_s))
    highest = [marks.latency_ms, *marks.limits_ms]
    other.set_ylim(0, top_of(number_column(data, "latency_ms"), *highest))
    notes = [*notes_of(data), *hollow_note(data)]
    legend = sheet.legend_outside(entries)

    def with_room() -> None:
        thin_batches(sheet, batches)
        legend_beside(sheet, other, legend)

    sheet.finish(setup_title(advice) if title is None else title, notes, with_room)
    return sheet.ax


def _draw_law(sheet: Sheet, other: Axes, data: pa.Table) -> list[Entry]:
    fitted = number_column(data, "fitted_ms")
    is_known = ~np.isnan(fitted)
    if not is_known.any():
        return []
    (line,) = other.plot(
        number_column(data, "batch_size")[is_known], fitted[is_known], color=OKABE_ITO["black"],
        linestyle="--", linewidth=sheet.sizes.line, zorder=5, gid="nsightlens-law",
    )  # fmt: skip
    return [Entry(line, "fitted law")]


def _draw_marks(sheet: Sheet, other: Axes, marks: CurveMarks) -> list[Entry]:
    width, size = sheet.sizes.line, sheet.sizes.marker * 2.2
    entries = []
    for limit in marks.limits_ms:
        line: Any = other.axhline(
            limit, color=LATENCY_LOOK.colour, linestyle=":", linewidth=width, gid="nsightlens-slo"
        )
        entries.append(Entry(line, f"limit {words.significant(limit)} ms"))
    if marks.knee is not None:
        line = sheet.ax.axvline(
            marks.knee, color="#767676", linestyle="-.", linewidth=width, gid="nsightlens-knee"
        )
        over = " running" if marks.knee_over == "running" else ""
        entries.append(Entry(line, f"knee {words.significant(marks.knee)}{over}"))
    chosen: Any = None
    for axes, value in ((sheet.ax, marks.throughput_tok_s), (other, marks.latency_ms)):
        if marks.batch_size is not None and value is not None:
            (chosen,) = axes.plot(
                [marks.batch_size], [value], markersize=size, gid="nsightlens-choice", **_CHOICE
            )
    if chosen is not None:
        entries.append(Entry(chosen, f"choice {words.significant(marks.batch_size or 0)}"))
    return entries
