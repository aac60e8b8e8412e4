"""What the batch size does to a family, in one sentence with the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.analysis.thresholds import SATURATED
from nsightlens.render import numbers
from nsightlens.render.sweep_series import runs_of

if TYPE_CHECKING:
    from nsightlens.render.style import Style
    from nsightlens.render.sweep_series import Row, Series

__all__ = ["trend_sentence"]

_GROWTHS = {
    "flat": "is flat",
    "proportional": "grows in proportion to the batch size",
    "below_proportion": "grows more slowly than the batch size",
    "above_proportion": "grows faster than the batch size",
    "falling": "falls with the batch size",
    "unclear": "follows no clear law",
}
"""What the words of the columns ``..._growth`` say."""
_BENDS = 0.1
"""Slopes between neighbours that differ by more are said: one slope does not tell it all."""


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
    clauses = [_intensity(trend, style), _flip(trend, series), _bound(series), _saturation(trend)]
    return "; ".join(clause for clause in clauses if clause)


def _intensity(trend: Row, style: Style) -> str:
    """Say how the intensity grows: that of the useful work counts, which has no padding."""
    useful = _slope(trend, "useful_intensity", style)
    executed = _slope(trend, "intensity", style)
    slopes = [f"{what} {s}" for what, s in (("useful", useful), ("executed", executed)) if s]
    if not slopes:
        return ""
    growth = trend["useful_intensity_growth" if useful else "intensity_growth"]
    # Two batch sizes have a slope, but nothing says how far others lie off it.
    words = f"intensity {_GROWTHS.get(growth, 'has a slope without an error')}"
    return f"{words} (slope: {', '.join(slopes)})"


def _slope(trend: Row, name: str, style: Style) -> str:
    """Return a slope with its error, and the slopes between neighbours where it bends."""
    slope, error = trend[f"{name}_slope"], trend[f"{name}_slope_stderr"]
    if slope is None:
        return ""
    text = numbers.fixed(slope, 2)
    if error is not None:
        # An error of less than a hundredth is no error of zero.
        text += f" {style.sign('±')} {numbers.fixed(error, 2) if error >= 0.005 else '<0.01'}"
    low, high = trend[f"{name}_slope_min"], trend[f"{name}_slope_max"]
    if low is None or high is None or high - low <= _BENDS:
        return text
    return f"{text}, {numbers.fixed(low, 2)} to {numbers.fixed(high, 2)} between neighbours"


def _flip(trend: Row, series: Series | None) -> str:
    if trend["flip"] is None:
        return _unknown_flip(trend)
    ridge = "the ridge point"
    if series is not None and series.ridge:
        ridge += f" of {series.ridge} FLOP/B"
    if trend["flip"] == "none":
        return f"its operations stay on one side of {ridge}{_in_brackets(trend)}"
    if trend["flip"] == "several":
        return f"its operations pass {ridge} more than once"
    turn = "right" if trend["flip"] == "memory_to_compute" else "left"
    return f"its operations pass to the {turn} of {ridge} {_where(trend)}"


def _where(trend: Row) -> str:
    """Say where a flip lies: of a law exactly, of what was measured between two batch sizes."""
    before, first = trend["flip_batch_size_before"], trend["flip_batch_size"]
    law = trend["analytic_flip_batch_size"]
    if trend["origin"] == "analytic" and law is not None:
        return f"at batch {_near(law)} by the law of its shapes (first computed beyond it: {first})"
    return f"between batch {before} and {first}{_in_brackets(trend)}"


def _unknown_flip(trend: Row) -> str:
    """Say where the work that is needed passes the ridge point, if that alone is known."""
    if not (details := _other_flips(trend)):
        return ""
    return f"where its operations pass the ridge point was not measured ({'; '.join(details)})"


def _in_brackets(trend: Row) -> str:
    details = _other_flips(trend)
    return f" ({'; '.join(details)})" if details else ""


def _other_flips(trend: Row) -> list[str]:
    names = {
        "analytic_flip_batch_size": "by the law of its shapes",
        "flip_batch_size_interpolated": "interpolated",
        "useful_flip_batch_size": "without padding",
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
        where = " at the largest batch size" if most >= 100.0 * SATURATED else ""
        return f"DRAM is not used up{where}: {numbers.whole_percent(most)} at most"
    if begin == trend["batch_size_min"]:
        return f"DRAM is used up at every batch size: {numbers.whole_percent(most)} at most"
    return f"DRAM is used up from batch {begin} on: {numbers.whole_percent(most)} at most"
