"""Arithmetic intensity against the batch size, with the ridge points it has to pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nsightlens.devices.columns import number_column
from nsightlens.plots import words
from nsightlens.plots.batch_axis import BATCH_LABEL, log_batches, thin_batches
from nsightlens.plots.labelling import LineLabel, add_labels, obstacles_of
from nsightlens.plots.log_axis import log_upwards
from nsightlens.plots.points import notes_of, points_for, time_of
from nsightlens.plots.points_sweep import intensity_points
from nsightlens.plots.roofs import distinct
from nsightlens.plots.series import Series, hidden_note, in_series
from nsightlens.plots.sheet import Entry, open_sheet

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from nsightlens.plots.sheet import Sheet
    from nsightlens.report import Report
    from nsightlens.sweeps import Sweep

__all__ = ["EXECUTED", "RIDGE_LINE", "USEFUL", "intensity"]

MOST_SERIES, MOST_SERIES_NARROW = 6, 4
"""More lines than that cannot be told apart."""

EXECUTED, USEFUL = "nsightlens-executed", "nsightlens-useful"
"""Identifiers (gid) of the two lines of a family."""

RIDGE_LINE = "nsightlens-ridge"

_EXECUTED = "arithmetic_intensity_flop_per_byte"
_USEFUL = "useful_arithmetic_intensity_flop_per_byte"


def intensity(
    data: Sweep | Report | pa.Table,
    ax: Axes | None = None,
    *,
    phase: str | None = None,
    device_name: str | None = None,
    title: str | None = None,
) -> Axes:
    """Draw arithmetic intensity against the batch size.

    Parameters
    ----------
    data
        A result of `nsightlens.sweep` or `nsightlens.predict`, a report, or the points that
        `intensity_points` made of it.
    ax
        Axes to draw on; None for new ones, ``ax.figure`` of the result.
    phase, device_name
        As for `intensity_points`.
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
        As for `intensity_points`.
    """
    data = points_for(data, "intensity", intensity_points, phase=phase, device_name=device_name)
    sheet = open_sheet(ax)
    executed, useful = number_column(data, _EXECUTED), number_column(data, _USEFUL)
    is_known = (executed > 0) | (useful > 0)
    every = [one for one in in_series(data) if is_known[one.rows].any()]
    most = MOST_SERIES_NARROW if sheet.sizes.is_narrow else MOST_SERIES
    shown, hidden = every[:most], every[most:]
    rows = np.concatenate([one.rows for one in shown])
    batches = sorted({data["batch_size"][int(i)].as_py() for i in rows})
    sheet.axis_labels(BATCH_LABEL, "arithmetic intensity, DRAM [FLOP/B]")
    sheet.ax.grid(visible=True, which="major", axis="y", linewidth=0.3, color="#cccccc")
    log_batches(sheet, batches)
    lines = _draw_lines(sheet, data, shown, (executed, useful))
    ridges = _ridges(data, shown)
    _set_height(sheet, np.concatenate([executed[rows], useful[rows]]), list(ridges))
    labels = [_draw_ridge(sheet, ridge, names) for ridge, names in ridges.items()]
    has_executed, has_useful = ((values[rows] > 0).any() for values in (executed, useful))
    sheet.legend_outside(
        _entries(sheet, data, shown, has_executed=has_executed, has_useful=has_useful)
    )
    notes = [
        words.origin_note(data["origin"].to_pylist()),
        _explained(sheet, data, shown),
        *notes_of(data),
        _missing(executed[rows]) if has_executed else "",
        hidden_note(data, hidden),
    ]
    name = words.title_of(data["device_name"][0].as_py(), data["phase"].to_pylist())
    sheet.finish(
        name if title is None else title,
        [note for note in notes if note],
        lambda: thin_batches(sheet, batches),
    )
    marks = np.concatenate([np.column_stack([line, np.full(len(line), 2.5)]) for line in lines])
    levels = [np.array([label.begin, label.end]) for label in labels]
    add_labels(sheet, labels, obstacles_of(sheet, marks, [*lines, *levels]), sheet.sizes.small)
    return sheet.ax


def _draw_lines(
    sheet: Sheet,
    data: pa.Table,
    shown: list[Series],
    values: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> list[NDArray[np.float64]]:
    batch = number_column(data, "batch_size")
    found = []
    for one in shown:
        for y, gid, style in zip(values, (EXECUTED, USEFUL), ("-", (0, (4, 2))), strict=True):
            rows = one.rows[y[one.rows] > 0]
            is_executed = gid == EXECUTED
            sheet.ax.plot(
                batch[rows], y[rows], linestyle=style, color=one.look.colour, gid=gid,
                linewidth=sheet.sizes.line, marker=one.look.marker, zorder=4,
                markersize=sheet.sizes.marker * (1 if is_executed else 0.7), markeredgewidth=0.5,
                markerfacecolor=one.look.colour if is_executed else "white",
                markeredgecolor="black" if is_executed else one.look.colour,
            )  # fmt: skip
            found.append(np.column_stack([batch[rows], y[rows]]))
    return found


def _ridges(data: pa.Table, shown: list[Series]) -> dict[float, list[str]]:
    """Return the ridge points, each with the families whose intensity it is for."""
    ridge, duration_ns = number_column(data, "ridge_point_flop_per_byte"), time_of(data)
    rows = np.concatenate([one.rows for one in shown])
    found: dict[float, list[str]] = {
        one: [] for one in distinct(ridge[rows], duration_ns[rows], len(shown))
    }
    for one in shown:
        own = distinct(ridge[one.rows], duration_ns[one.rows], 1)
        nearest = [min(found, key=lambda r: abs(np.log(r / value))) for value in own]
        for value in nearest:
            if data["kernel"][int(one.rows[0])].as_py() is None:
                found[value].append(one.name.split("/")[0])
    return {value: list(dict.fromkeys(names)) for value, names in found.items()}


def _set_height(sheet: Sheet, values: NDArray[np.float64], ridges: list[float]) -> None:
    known = [*values[values > 0].tolist(), *ridges]
    low, high = min(known), max(known)
    margin = 10 ** (0.1 * np.log10(high / low) + 0.1)
    log_upwards(sheet, low / margin, high * margin)


def _draw_ridge(sheet: Sheet, ridge: float, names: list[str]) -> LineLabel:
    sheet.ax.axhline(
        ridge, color=sheet.ink, linewidth=sheet.sizes.line, linestyle=(0, (1, 1.5)), zorder=2,
        gid=RIDGE_LINE,
    )  # fmt: skip
    left, right = sheet.ax.get_xlim()
    short = f"ridge {words.significant(ridge)}"
    whose = f" ({', '.join(names)})" if names else ""
    texts = (f"{short} FLOP/B{whose}", f"{short}{whose}", short)
    return LineLabel((left, ridge), (right, ridge), texts, sheet.ink)


def _entries(
    sheet: Sheet, data: pa.Table, shown: list[Series], *, has_executed: bool, has_useful: bool
) -> list[Entry]:
    from matplotlib.lines import Line2D

    def mark(colour: str, marker: str, style: Any = "-") -> Line2D:
        return Line2D(
            [], [], color=colour, marker=marker, linestyle=style, linewidth=sheet.sizes.line,
            markersize=sheet.sizes.marker, markerfacecolor=colour, markeredgewidth=0.5,
            markeredgecolor="black",
        )  # fmt: skip

    texts = _series_texts(sheet, data, shown)
    entries = [
        Entry(mark(one.look.colour, one.look.marker), text)
        for one, text in zip(shown, texts, strict=True)
    ]
    if has_executed:
        entries.append(Entry(mark(sheet.ink, ""), "executed"))
    if has_useful:
        entries.append(Entry(mark(sheet.ink, "", (0, (3, 1.5))), "useful"))
    return entries


def _series_texts(sheet: Sheet, data: pa.Table, shown: list[Series]) -> list[str]:
    """Return the name of each family with its slopes, as far as there is room and they differ."""
    is_narrow = sheet.sizes.is_narrow
    length = sheet.characters(0.26 if is_narrow else 0.25)
    found = []
    for one in shown:
        executed, useful = _slopes(data, one)
        name = words.cut(one.name, length)
        slope = executed or useful
        if is_narrow:
            found.append(f"{name}: {slope}" if slope else name)
            continue
        lines = [name, f"slope {slope}" if slope else ""]
        lines.append(f"useful {useful}" if useful not in ("", slope) else "")
        found.append("\n".join(filter(None, lines)))
    return found


def _slopes(data: pa.Table, one: Series) -> tuple[str, str]:
    """Return the slopes of the executed and of the useful intensity; "" where not known."""
    row = int(one.rows[0])
    executed, useful = (
        _slope(
            *(number_column(data, f"{what}intensity_slope{end}")[row] for end in ("", "_stderr"))
        )
        for what in ("", "useful_")
    )
    return executed, useful


def _explained(sheet: Sheet, data: pa.Table, shown: list[Series]) -> str:
    """Say what the numbers in the legend are, where there is no room beside them."""
    has_slope = any(any(_slopes(data, one)) for one in shown)
    return "In the legend: slope ± standard error." if sheet.sizes.is_narrow and has_slope else ""


def _slope(slope: float, error: float) -> str:
    """Say a slope with its standard error; "" where it is not known."""
    if np.isnan(slope):
        return ""
    known = "" if np.isnan(error) else f" ± {error:.2f}"
    return f"{slope:.2f}{known}".replace("-0.00", "0.00")


def _missing(executed: NDArray[np.float64]) -> str:
    count = int((~(executed > 0)).sum())
    if not count:
        return ""
    what = "has no" if count == 1 else "have no"
    points = words.counted(count, "point")
    return f"{points} of the lines shown {what} executed intensity."
