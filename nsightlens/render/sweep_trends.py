"""What the batch size does to a family, in one sentence with the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.render import numbers
from nsightlens.render.sweep_series import runs_of

if TYPE_CHECKING:
    from nsightlens.render.style import Style
    from nsightlens.render.sweep_series import Row, Series

__all__ = ["trend_sentence"]

_FLAT = 0.1
"""Slopes up to this are called flat: twice the batch changes the intensity by less than 8 %."""
_IN_PROPORTION = 0.85
"""From here on the intensity grows about as the batch size does: twice the batch, 1.8 times it."""


def trend_sentence(trend: Row, series: Series | None, style: Style) -> str:
    """Return the sentence.

    Parameters
    ----------
    trend
        Row with the names of `nsightlens.tables.SWEEP_TRENDS`.
    series
        The same family at each batch size, if it is at hand.
    style
        What the output can show.
    """
    clauses = [_intensity(trend, style), _flip(trend), _bound(series), _saturation(trend)]
    return "; ".join(clause for clause in clauses if clause)


def _intensity(trend: Row, style: Style) -> str:
    """Say how the intensity grows: that of the useful work counts, which has no padding."""
    useful, done = trend["useful_intensity_slope"], trend["intensity_slope"]
    slope = done if useful is None else useful
    if slope is None:
        return ""
    found = []
    if useful is not None:
        found.append(f"useful {_slope(useful, trend['useful_intensity_slope_stderr'], style)}")
    if done is not None:
        found.append(f"executed {_slope(done, trend['intensity_slope_stderr'], style)}")
    return f"intensity {_growth(slope)} (slope: {', '.join(found)})"


def _growth(slope: float) -> str:
    if abs(slope) <= _FLAT:
        return "is flat"
    if slope < 0:
        return "falls with the batch size"
    if slope < _IN_PROPORTION:
        return "grows more slowly than the batch size"
    return "grows as the batch size does"


def _slope(slope: float, error: float | None, style: Style) -> str:
    text = f"{slope:.2f}".replace("-0.00", "0.00")
    if error is None:
        return text
    # An error of less than a hundredth is no error of zero.
    return f"{text} {style.sign('±')} {f'{error:.2f}' if error >= 0.005 else '<0.01'}"


def _flip(trend: Row) -> str:
    if trend["flip"] is None:
        return ""
    if trend["flip"] == "none":
        side = _expected_flip(trend)
        return f"its operations stay on one side of the ridge point{side}"
    if trend["flip"] == "several":
        return "its operations pass the ridge point more than once"
    turn = "right" if trend["flip"] == "memory_to_compute" else "left"
    found = [f"its operations pass to the {turn} of the ridge point"]
    if (between := trend["flip_batch_size_interpolated"]) is not None:
        found.append(f"at batch {_near(between)}")
    details = []
    if (measured := trend["flip_batch_size"]) is not None:
        name = "computed" if trend["origin"] == "analytic" else "measured"
        details.append(f"first {name} beyond it: {measured}")
    details += _other_flips(trend)
    return " ".join(found) + (f" ({'; '.join(details)})" if details else "")


def _expected_flip(trend: Row) -> str:
    details = _other_flips(trend)
    return f" ({'; '.join(details)})" if details else ""


def _other_flips(trend: Row) -> list[str]:
    names = {
        "useful_flip_batch_size": "without padding",
        "analytic_flip_batch_size": "by the model",
    }
    return [
        f"{words}: {_near(trend[name])}" for name, words in names.items() if trend[name] is not None
    ]


def _near(batch: float) -> str:
    """Return a batch size between measured ones, rounded to a whole number from 10 on."""
    return f"{batch:.0f}" if batch >= 10 else numbers.significant(batch)


def _bound(series: Series | None) -> str:
    if series is None or not series.batches:
        return ""
    rows = [series.rows[batch] for batch in series.batches]
    bounds = [row["bound"] or "unknown" for row in rows]
    words = [bound if bound == "unknown" else f"{bound}-bound" for bound in bounds]
    return ", ".join(runs_of(series.batches, words))


def _saturation(trend: Row) -> str:
    most = trend["dram_throughput_max_pct"]
    if numbers.is_missing(most):
        return ""
    begin = trend["dram_saturated_batch_size"]
    if begin is None:
        return f"DRAM is not used up: {numbers.whole_percent(most)} at most"
    if begin == trend["batch_size_min"]:
        return f"DRAM is used up at every batch size: {numbers.whole_percent(most)} at most"
    return f"DRAM is used up from batch {begin} on: {numbers.whole_percent(most)} at most"
