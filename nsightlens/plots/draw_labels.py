"""The label of every family at every batch size, as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nsightlens.devices.columns import number_column
from nsightlens.plots import words
from nsightlens.plots.batch_axis import BATCH_LABEL, ordered_batches, thin_batches
from nsightlens.plots.points import notes_of, points_for
from nsightlens.plots.points_sweep import labels_points
from nsightlens.plots.rows_axis import row_count, write_rows
from nsightlens.plots.series import hidden_note, in_series
from nsightlens.plots.sheet import Entry, open_sheet
from nsightlens.plots.theme import BOUND_COLOURS, REGIME_LOOKS, tinted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from matplotlib.axes import Axes

    from nsightlens.plots.series import Series
    from nsightlens.plots.sheet import Sheet
    from nsightlens.report import Report
    from nsightlens.sweeps import Sweep

__all__ = ["CELL", "CELL_TEXT", "labels"]

CELL, CELL_TEXT = "nsightlens-cell", "nsightlens-cell-text"
"""Identifiers (gid) of the cells and of what is written in them."""

_LETTERS = {"memory": "M", "compute": "C", "unknown": "?"}
_RESOURCES = {"dram": "DRAM", "l2": "L2", "l1": "L1", "issue": "issue", "xu": "XU"}
_EDGE, _EMPTY = "#555555", "#eeeeee"


def labels(
    data: Sweep | Report | pa.Table,
    ax: Axes | None = None,
    *,
    phase: str | None = None,
    device_name: str | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the label of every family, or kernel, at every batch size.

    Parameters
    ----------
    data
        A result of `nsightlens.sweep` or `nsightlens.predict`, a report, or the points that
        `labels_points` made of it.
    ax
        Axes to draw on; None for new ones, ``ax.figure`` of the result.
    phase, device_name
        As for `labels_points`.
    title
        In place of the GPU; "" for none.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    MissingExtraError
        matplotlib is not installed.
    NothingToPlotError, FilterError
        As for `labels_points`.
    """
    data = points_for(data, "labels", labels_points, phase=phase, device_name=device_name)
    sheet = open_sheet(ax)
    every = in_series(data)
    most = row_count(sheet, 1.25)
    shown, hidden = every[:most], every[most:]
    batches = sorted({batch for batch in data["batch_size"].to_pylist() if batch is not None})
    sheet.axis_labels(BATCH_LABEL, "")
    ordered_batches(sheet, batches)
    sheet.ax.set_xlim(-0.5, len(batches) - 0.5)
    # An empty place is told from a label that is unknown, which is white.
    sheet.ax.set_facecolor(_EMPTY)
    write_rows(sheet, [one.name for one in shown], 0.28)
    cells = _draw_cells(sheet, data, shown, batches)
    sheet.legend_outside(_entries(data, shown))
    is_full = len(cells) == len(shown) * len(batches)
    notes = [
        words.origin_note(data["origin"].to_pylist()),
        "" if is_full else "Grey: no launch.",
        *notes_of(data),
        hidden_note(data, hidden),
    ]
    if title is None:
        title = words.title_of(data["device_name"][0].as_py(), data["phase"].to_pylist())
    kinds = _kinds_of_text(data, cells)
    # What fits into the cells is known when they have their size, and so is the note about it.
    for texts, said in kinds:
        sheet.finish(
            title, [note for note in (*notes, said) if note], lambda: thin_batches(sheet, batches)
        )
        if _fits(sheet, texts):
            _write_cells(sheet, data, cells, texts)
            break
    return sheet.ax


_Cell = tuple[int, int, int]
"""Column, row from the top, and row of the table."""


def _draw_cells(
    sheet: Sheet, data: pa.Table, shown: Sequence[Series], batches: Sequence[int]
) -> list[_Cell]:
    from matplotlib.patches import Rectangle

    column = {batch: i for i, batch in enumerate(batches)}
    batch = data["batch_size"].to_pylist()
    looks = _looks(data)
    cells = [(column[batch[i]], row, int(i)) for row, one in enumerate(shown) for i in one.rows]
    for x, y, i in cells:
        sheet.ax.add_patch(
            Rectangle((x - 0.5, y - 0.5), 1, 1, linewidth=0.5, zorder=2, gid=CELL, **looks[i])
        )
    return cells


def _looks(data: pa.Table) -> list[dict[str, Any]]:
    pairs = zip(data["bound"].to_pylist(), data["regime"].to_pylist(), strict=True)
    return [_look(bound or "unknown", regime or "unknown") for bound, regime in pairs]


def _look(bound: str, regime: str) -> dict[str, Any]:
    strength, hatch = REGIME_LOOKS.get(regime, REGIME_LOOKS["unknown"])
    if bound == "unknown":
        hatch = ""
    return {
        "facecolor": tinted(BOUND_COLOURS[bound], strength), "hatch": hatch, "edgecolor": _EDGE,
    }  # fmt: skip


def _entries(data: pa.Table, shown: Sequence[Series]) -> list[Entry]:
    """Return a line per bound and regime that are there."""
    from matplotlib.patches import Patch

    rows = np.concatenate([one.rows for one in shown])
    bounds = [data["bound"][int(i)].as_py() or "unknown" for i in rows]
    regimes = [data["regime"][int(i)].as_py() or "unknown" for i in rows]
    entries = [
        Entry(Patch(facecolor=colour, edgecolor=_EDGE, linewidth=0.5), f"{_LETTERS[bound]} {bound}")
        for bound, colour in BOUND_COLOURS.items()
        if bound in bounds
    ]
    for regime in REGIME_LOOKS:
        met = [b for b, r in zip(bounds, regimes, strict=True) if r == regime and b != "unknown"]
        if met:
            strength, hatch = REGIME_LOOKS[regime]
            colour = tinted("#888888", strength)
            patch = Patch(facecolor=colour, hatch=hatch, edgecolor=_EDGE, linewidth=0.5)
            name = "regime unknown" if regime == "unknown" else regime.replace("_", " ")
            entries.append(Entry(patch, name))
    return entries


def _kinds_of_text(data: pa.Table, cells: Sequence[_Cell]) -> list[tuple[dict[int, str], str]]:
    """Return what may be written in the cells, the longest first, each with what explains it."""
    limiter = data["limiter"].to_pylist()
    percent = 100 * number_column(data, "limiter_fraction")
    bound = data["bound"].to_pylist()
    letters = {i: _LETTERS[bound[i] or "unknown"] for _, _, i in cells}

    def number(i: int) -> str:
        return "" if np.isnan(percent[i]) or letters[i] == "?" else f"{percent[i]:.0f}"

    def resource(i: int) -> str:
        name = limiter[i] or ""
        return "" if letters[i] == "?" else _RESOURCES.get(name, words.resource_words(name))

    without = [(letters, ""), ({}, "")]
    if np.isnan(percent[list(letters)]).all():
        return without
    return [
        (
            {i: f"{letters[i]}\n{resource(i)} {number(i)}".strip() for i in letters},
            "In a cell: the bound, the limiter and its percentage of peak.",
        ),
        (
            {i: f"{letters[i]}\n{number(i)}".strip() for i in letters},
            "In a cell: the bound, and the limiter's percentage of peak.",
        ),
        (
            {i: f"{letters[i]} {number(i)}".strip() for i in letters},
            "In a cell: the bound, and the limiter's percentage of peak.",
        ),
        *without,
    ]


def _fits(sheet: Sheet, texts: dict[int, str]) -> bool:
    (x0, y0), (x1, y1) = sheet.ax.transData.transform([(0, 0), (1, 1)])
    size = sheet.sizes.small
    extents = [sheet.extent(text, size) for text in set(texts.values())]
    return all(
        width < 0.84 * abs(x1 - x0) and height < 0.95 * abs(y1 - y0) for width, height in extents
    )


def _write_cells(
    sheet: Sheet, data: pa.Table, cells: Sequence[_Cell], texts: dict[int, str]
) -> None:
    looks = _looks(data)
    for x, y, i in cells:
        if not texts.get(i):
            continue
        look = looks[i]
        # On its own ground, so that no hatch runs through it.
        ground = {"facecolor": look["facecolor"], "edgecolor": "none", "pad": 1.0}
        sheet.ax.text(
            x, y, texts[i], ha="center", va="center", fontsize=sheet.sizes.small, color="black",
            linespacing=1.05, zorder=4, gid=CELL_TEXT, bbox=ground if look["hatch"] else None,
        )  # fmt: skip
