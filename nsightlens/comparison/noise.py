"""How much of a change is noise: bands from repeats, or stated ones where there are none.

All bands are of the logarithm of a ratio, so that base and new may change places: a change is
beyond the noise where ``|ln(new / base)|`` is larger than the band. Around 1 the logarithm is the
relative change.

With repeats the band is the half width of Student's interval for the difference of two means, taken
to their ratio by the delta method: ``t s sqrt(1 / n_base + 1 / n_new)``. Here s is the standard
deviation over the mean, pooled over both sides, and t is at ``n_base + n_new - 2`` degrees of
freedom. Both sides are taken to scatter alike, relative to their means, because that is a matter of
the machine and of how long a kernel takes. Welch's interval does without, but of two or three
repeats it knows so little that nothing would ever be told apart.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NO_BAND", "NoiseRules", "Spread", "interval", "student_quantile"]

NO_BAND = np.nan
_LARGEST_DF = 1000
"""From here on the quantile is that of a normal distribution in three digits."""


class NoiseRules(NamedTuple):
    """What is taken for noise.

    Parameters
    ----------
    confidence_pct
        [%] Of the interval that repeats give. High, because a report has hundreds of launches:
        at 95 % every twentieth would be called changed where nothing is.
    unrepeated_pct
        [%] Change of a duration that counts as noise where there are no repeats.
    least_pct
        [%] The same where there are: two sittings differ by as much, which repeats of one sitting
        cannot show.
    timer_tick_ns
        [ns] Durations are whole multiples of it; each side may be off by one.
    clock_pct
        [%] SM clocks that lie further apart make durations not comparable.
    dram_clock_pct
        [%] The same of DRAM clocks, whose measurement is coarser.
    short_clock_pct
        [%] The same of either where no launch of a side is long enough for its clock to be exact.

    Examples
    --------
    >>> NoiseRules(unrepeated_pct=5.0).confidence_pct
    99.0
    """

    confidence_pct: float = 99.0
    unrepeated_pct: float = 3.0
    least_pct: float = 1.0
    timer_tick_ns: float = 32.0
    clock_pct: float = 3.0
    dram_clock_pct: float = 6.0
    short_clock_pct: float = 10.0


class Spread(NamedTuple):
    """What repeats say of a quantity, for each row; NaN where there is none.

    Parameters
    ----------
    mean
        Mean over the repeats. Shape (n,).
    variance
        Square of the standard deviation over the mean; NaN with fewer than two repeats.
    repeats
        How many there are. Shape (n,).
    """

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    repeats: NDArray[np.int64]


def interval(base: Spread, new: Spread, confidence_pct: float) -> NDArray[np.float64]:
    """Return the half width of Student's interval for ln(new / base); NaN without repeats.

    Parameters
    ----------
    base, new
        Repeats of each side; one of them may have a single one. Shape (n,).
    confidence_pct
        [%] Two-sided.

    Examples
    --------
    >>> one = Spread(np.array([100.0]), np.array([1e-4]), np.array([3]))
    >>> interval(one, one, 99.0).round(4).tolist()
    [0.0376]
    """
    freedom, residual = np.zeros(len(base.mean)), np.zeros(len(base.mean))
    for one in (base, new):
        has_spread = ~np.isnan(one.variance)
        own = np.where(has_spread, one.repeats - 1, 0)
        freedom += own
        residual += np.where(has_spread, one.variance, 0.0) * own
    is_known = (freedom > 0) & (base.repeats > 0) & (new.repeats > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_means = residual / freedom * (1 / base.repeats + 1 / new.repeats)
    half_width = quantiles(freedom, confidence_pct) * np.sqrt(of_means)
    return np.where(is_known, half_width, NO_BAND)


def quantiles(freedom: NDArray[np.float64], confidence_pct: float) -> NDArray[np.float64]:
    """Return Student's t for each number of degrees of freedom, rounded down, at least 1."""
    whole = np.clip(np.floor(freedom), 1, _LARGEST_DF).astype(np.int64)
    distinct, code = np.unique(whole, return_inverse=True)
    values = np.array([student_quantile(int(one), confidence_pct) for one in distinct])
    return values[code] if len(distinct) else np.zeros(0)


@lru_cache(maxsize=1024)
def student_quantile(freedom: int, confidence_pct: float) -> float:
    """Return the t that encloses a share of Student's distribution, on both sides of 0.

    Parameters
    ----------
    freedom
        Degrees of freedom, at least 1.
    confidence_pct
        [%] The share enclosed, between 0 and 100.

    References
    ----------
    The distribution for whole degrees of freedom is formula 26.7.3 and 26.7.4 of M. Abramowitz and
    I. A. Stegun, Handbook of Mathematical Functions, 1964; it is inverted by bisection.

    Examples
    --------
    >>> round(student_quantile(4, 95.0), 3), round(student_quantile(1, 99.0), 2)
    (2.776, 63.66)
    """
    low, high = 0.0, 1.0
    while _enclosed(high, freedom) < confidence_pct / 100 and high < 1e12:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        if _enclosed(middle, freedom) < confidence_pct / 100:
            low = middle
        else:
            high = middle
    return high


def _enclosed(t: float, freedom: int) -> float:
    """Return the probability that Student's variable lies between -t and t."""
    theta = math.atan(t / math.sqrt(freedom))
    square = math.cos(theta) ** 2
    is_odd = freedom % 2 == 1
    term = math.cos(theta) if is_odd else 1.0
    total = term if freedom > 1 else 0.0
    for i in range(3 if is_odd else 2, freedom - 1, 2):
        term *= square * (i - 1) / i
        total += term
    if is_odd:
        return 2 / math.pi * (theta + math.sin(theta) * total)
    return math.sin(theta) * total
