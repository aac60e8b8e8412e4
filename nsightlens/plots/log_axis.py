"""Logarithmic axes that can be read: powers of ten are written, and at least two of them seen."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nsightlens.plots.sheet import Sheet

__all__ = ["log_across", "log_upwards", "with_two_decades"]


def with_two_decades(low: float, high: float, *, keep_high: bool = False) -> tuple[float, float]:
    """Return limits that are as wide as given, or wide enough for two powers of ten.

    Parameters
    ----------
    low, high
        Both positive.
    keep_high
        Whether only the lower one may change.

    Examples
    --------
    >>> with_two_decades(0.5, 20.0), with_two_decades(2.0, 60.0), with_two_decades(2.0, 9.0)
    ((0.5, 20.0), (2.0, 105.0), (0.95, 10.5))
    >>> with_two_decades(2.0, 90.0, keep_high=True)
    (0.95, 90.0)
    """
    begin, end = math.ceil(math.log10(low)), math.floor(math.log10(high))
    while end - begin < 1:
        # The nearer power of ten first.
        down, up = math.log10(low) - (begin - 1), end + 1 - math.log10(high)
        if keep_high or down <= up:
            begin -= 1
            low = 0.95 * 10.0**begin
        else:
            end += 1
            high = 1.05 * 10.0**end
    return low, high


def log_across(sheet: Sheet, low: float, high: float) -> None:
    """Make the horizontal axis logarithmic, with these limits or wider ones."""
    from matplotlib.ticker import NullFormatter

    sheet.ax.set_xscale("log")
    sheet.ax.xaxis.set_minor_formatter(NullFormatter())
    sheet.ax.set_xlim(*with_two_decades(low, high))


def log_upwards(sheet: Sheet, low: float, high: float) -> None:
    """Make the vertical axis logarithmic, with these limits or a lower one below."""
    from matplotlib.ticker import NullFormatter

    sheet.ax.set_yscale("log")
    sheet.ax.yaxis.set_minor_formatter(NullFormatter())
    sheet.ax.set_ylim(*with_two_decades(low, high, keep_high=True))
