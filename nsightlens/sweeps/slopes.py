"""Slopes in log-log: how a number grows with the batch size.

Two errors are stated, because there are two. The standard error says how far the points scatter
around one power law. The range of the slopes between neighbours says how far the law itself bends:
the intensity of a linear layer, 2 B K N / (b_w K N + 2 B (K + N)), grows in proportion to a small
batch B and no longer to one near K and N.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["GROWTHS", "MARGIN", "Slope", "growth_of", "growth_of_law", "slope_of"]

MARGIN = 0.1
"""[1] A slope this close to 0 is flat, this close to 1 in proportion."""

_SIGMAS = 2.0
"""The slope is taken to lie within so many standard errors."""

GROWTHS = ("falling", "flat", "below_proportion", "proportional", "above_proportion", "unclear")
"""How intensity follows the batch size, as in the columns ``..._growth``."""


class Slope(NamedTuple):
    """Slope of ln(y) against ln(x), NaN where it is not known [1].

    Parameters
    ----------
    value
        Of least squares.
    stderr
        Its standard error; NaN with fewer than three points.
    low, high
        Smallest and largest slope between neighbours in x.
    """

    value: float
    stderr: float
    low: float
    high: float


UNKNOWN = Slope(math.nan, math.nan, math.nan, math.nan)


def slope_of(x: NDArray[np.float64], y: NDArray[np.float64]) -> Slope:
    """Fit a power law by ordinary least squares in log-log.

    Parameters
    ----------
    x, y
        Points; those that are not above zero and finite in both are left out. Shape (n,).

    Returns
    -------
    Slope
        NaN with fewer than two distinct x.

    Notes
    -----
    With u = ln x, v = ln y and S = sum (u - mean u)^2: slope b = sum (u - mean u)(v - mean v) / S,
    and with residuals r of the line, stderr(b) = sqrt(sum r^2 / (n - 2) / S) (Draper and Smith,
    Applied Regression Analysis, 1998, section 1.4).

    Examples
    --------
    >>> slope = slope_of(np.array([1.0, 2.0, 4.0, 8.0]), np.array([3.0, 6.0, 12.0, 24.0]))
    >>> round(slope.value, 6), round(slope.stderr, 6)
    (1.0, 0.0)
    """
    is_point = np.isfinite(x) & np.isfinite(y) & (x > 0) & (y > 0)
    order = np.argsort(x[is_point], kind="stable")
    u, v = (np.log(values[is_point][order]) for values in (x, y))
    if len(u) < 2 or u[0] == u[-1]:
        return UNKNOWN
    from_mean = u - u.mean()
    spread = float(from_mean @ from_mean)
    slope = float(from_mean @ (v - v.mean())) / spread
    stderr = math.nan
    if len(np.unique(u)) > 2:
        rest = v - v.mean() - slope * from_mean
        stderr = math.sqrt(float(rest @ rest) / (len(u) - 2) / spread)
    steps = np.diff(u)
    local = np.diff(v)[steps > 0] / steps[steps > 0]
    return Slope(slope, stderr, float(local.min()), float(local.max()))


def growth_of(slope: Slope) -> str | None:
    """Say how y follows x, if the error of the slope allows it.

    ``flat`` and ``proportional`` are said only where the slope and two standard errors to either
    side lie within `MARGIN` of 0 and of 1; ``unclear`` where that range holds several answers.

    Returns
    -------
    str or None
        One of `GROWTHS`; None where the slope or its error is not known.

    Examples
    --------
    >>> growth_of(Slope(0.97, 0.01, 0.6, 1.0)), growth_of(Slope(0.02, 0.3, -0.5, 0.5))
    ('proportional', 'unclear')
    """
    if math.isnan(slope.stderr):
        return None
    low, high = (slope.value + sign * _SIGMAS * slope.stderr for sign in (-1.0, 1.0))
    return _growth_within(low, high)


def growth_of_law(slope: Slope) -> str | None:
    """Say how y follows x where every y is exact, so that the slope bends but does not scatter.

    As `growth_of`, as far as one power law describes it. What that leaves open, for lack of points
    or because the law bends, the smallest and the largest slope between neighbours say.

    Returns
    -------
    str or None
        One of `GROWTHS`; None where the slope is not known.

    Examples
    --------
    >>> growth_of_law(Slope(0.85, math.nan, 0.85, 0.85)), growth_of_law(Slope(0.5, 0.3, 0.0, 1.0))
    ('below_proportion', 'below_proportion')
    """
    growth = growth_of(slope)
    if growth not in (None, "unclear") or math.isnan(slope.low):
        return growth
    return _growth_within(slope.low, slope.high, MARGIN)


def _growth_within(low: float, high: float, slack: float = 0.0) -> str:
    """Say what slopes from the lowest to the highest have in common.

    Between flat and proportional they are ``below_proportion``, if they leave that range by no more
    than the slack.
    """
    if low >= -MARGIN and high <= MARGIN:
        return "flat"
    if low >= 1.0 - MARGIN and high <= 1.0 + MARGIN:
        return "proportional"
    if high < 0.0:
        return "falling"
    if low > 1.0:
        return "above_proportion"
    return "below_proportion" if low > -slack and high < 1.0 + slack else "unclear"
