"""Stall reasons as stacked bars: what the warps of each family or kernel wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from nsightlens.devices.columns import number_column
from nsightlens.plots import words
from nsightlens.plots.points import notes_of, points_for
from nsightlens.plots.points_stalls import stalls_points
from nsightlens.plots.rows_axis import row_count, write_rows
from nsightlens.plots.sheet import Entry, open_sheet
from nsightlens.plots.theme import stall_look

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from nsightlens.plots.sheet import Sheet
    from nsightlens.report import Report

__all__ = ["stalls"]

_OTHER, _ISSUING = "other reasons", "selected"
# Nothing is stalled in this state: it stands at the end of the bar.
_GROUP = ("family", "subtype", "kernel", "phase", "batch_size")


def stalls(
    data: Report | pa.Table,
    ax: Axes | None = None,
    *,
    by: Literal["family", "kernel", "batch"] = "family",
    phase: str | None = None,
    device_name: str | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the share of each stall reason in warp latency.

    Parameters
    ----------
    data
        A report, or the points that `stalls_points` made of it.
    ax
        Axes to draw on; None for new ones, ``ax.figure`` of the result.
    by, phase, device_name
        As for `stalls_points`.
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
        As for `stalls_points`.

    Examples
    --------
    >>> from nsightlens import open_report
    >>> from nsightlens.example import path
    >>> stalls(open_report(path())).get_xlabel()
    'share of warp latency [%]'
    """
    data = points_for(data, "stalls", stalls_points, by=by, phase=phase, device_name=device_name)
    sheet = open_sheet(ax)
    bars = _bars(data)
    shown, hidden = bars.first(row_count(sheet)), len(bars.names) - row_count(sheet)
    named = shown.largest(5 if sheet.sizes.is_narrow else 7)
    sheet.axis_labels("share of warp latency [%]", "")
    write_rows(sheet, shown.names, least=4)
    entries = _draw(sheet, shown, named)
    total = np.nansum(shown.share, axis=0)
    sheet.ax.set_xlim(0, max(100.0, float(total.max())))
    sheet.legend_outside(entries)
    notes = [
        words.origin_note(data["origin"].to_pylist()),
        "Mean over the time. In the state selected a warp issues.",
        *notes_of(data),
        _hidden(bars, hidden),
    ]
    name = words.title_of(data["device_name"][0].as_py(), data["phase"].to_pylist())
    sheet.finish(name if title is None else title, [note for note in notes if note])
    return sheet.ax


class _Bars(NamedTuple):
    """Bars from top to bottom.

    Parameters
    ----------
    names
        What each is called.
    duration_ns
        [ns] Shape (bars,).
    reasons
        The stall reasons.
    share
        [%] NaN where unknown. Shape (reasons, bars).
    """

    names: list[str]
    duration_ns: NDArray[np.float64]
    reasons: list[str]
    share: NDArray[np.float64]

    def first(self, count: int) -> _Bars:
        """Return the first bars."""
        return _Bars(
            self.names[:count], self.duration_ns[:count], self.reasons, self.share[:, :count]
        )

    def largest(self, count: int) -> list[str]:
        """Return the reasons with the largest mean share over the time, the largest first."""
        known = np.nan_to_num(self.share)
        mean = (known * self.duration_ns).sum(axis=1)
        order = [i for i in np.argsort(-mean, kind="stable") if self.reasons[i] != _ISSUING]
        return [self.reasons[i] for i in order[:count] if mean[i] > 0]


def _bars(data: pa.Table) -> _Bars:
    keys = list(zip(*(data[name].to_pylist() for name in _GROUP), strict=True))
    # The points are in the order of the bars.
    groups = list(dict.fromkeys(keys))
    position = {key: i for i, key in enumerate(groups)}
    reason = data["stall_reason"].to_pylist()
    reasons = sorted(set(reason))
    share = np.full((len(reasons), len(groups)), np.nan)
    duration = np.zeros(len(groups))
    times = number_column(data, "duration_ns")
    for i, value in enumerate(number_column(data, "share_of_warp_latency_pct")):
        share[reasons.index(reason[i]), position[keys[i]]] = value
        duration[position[keys[i]]] = times[i]
    names = words.group_names([(f, s, k, p) for f, s, k, p, _ in groups])
    batches = [f", batch {key[4]}" if key[4] is not None else "" for key in groups]
    called = [name + batch for name, batch in zip(names, batches, strict=True)]
    return _Bars(called, duration, reasons, share)


def _draw(sheet: Sheet, bars: _Bars, named: Sequence[str]) -> list[Entry]:
    """Draw the bars: the named reasons, the others as one, and what is no stall."""
    is_other = [reason not in (*named, _ISSUING) for reason in bars.reasons]
    parts = {name: bars.share[bars.reasons.index(name)] for name in named}
    if np.nansum(bars.share[is_other]) > 0:
        parts[_OTHER] = np.nansum(bars.share[is_other], axis=0)
    if _ISSUING in bars.reasons:
        parts[_ISSUING] = bars.share[bars.reasons.index(_ISSUING)]
    places, begin = np.arange(len(bars.names)), np.zeros(len(bars.names))
    entries = []
    for name, values in parts.items():
        look = stall_look(name)
        known = np.nan_to_num(values)
        edge = "#555555" if name == _ISSUING else "white"
        looks: dict[str, Any] = {
            "facecolor": look.colour, "hatch": look.hatch, "edgecolor": edge, "linewidth": 0.4,
        }  # fmt: skip
        sheet.ax.barh(places, known, 0.78, left=begin, zorder=3, gid=f"nsightlens-{name}", **looks)
        begin = begin + known
        entries.append(_entry(name, looks))
    return entries


def _entry(name: str, looks: dict[str, Any]) -> Entry:
    from matplotlib.patches import Patch

    return Entry(Patch(**looks), name)


def _hidden(bars: _Bars, hidden: int) -> str:
    if hidden <= 0:
        return ""
    share = 100 * bars.duration_ns[-hidden:].sum() / bars.duration_ns.sum()
    return (
        f"Not shown: {words.counted(hidden, 'more bar')} with {words.significant(float(share))} % "
        "of the time."
    )
