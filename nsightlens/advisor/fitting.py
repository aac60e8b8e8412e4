"""The law ITL = t0 + a B by weighted least squares, the interval of its knee, and its back-test.

Closed forms of one straight line: nothing is iterated, and no more than NumPy is needed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import numpy as np

from nsightlens.advisor.answers import Fit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["fit", "itl_at", "leave_one_out", "relative_errors_pct", "t_quantile_975"]

Method = Literal["relative", "milliseconds"]
Over = Literal["running", "nominal"]
Number = TypeVar("Number", float, "NDArray[np.float64]")

# 97.5 % quantiles of Student's t for 1 to 10 degrees of freedom, NIST/SEMATECH e-Handbook of
# Statistical Methods, section 1.3.6.7.2.
_T_975 = (
    12.7062047, 4.3026527, 3.1824463, 2.7764451, 2.5705818,
    2.4469119, 2.3646243, 2.3060041, 2.2621572, 2.2281389,
)  # fmt: skip
_Z_975 = 1.959963985


class _Line(NamedTuple):
    """A fitted line with what its errors need; ``precision`` is the weight of each row."""

    t0: float
    a: float
    batch: NDArray[np.float64]
    itl: NDArray[np.float64]
    precision: NDArray[np.float64]
    mean_batch: float
    spread: float


def fit(
    batch: ArrayLike,
    itl_ms: ArrayLike,
    weight: ArrayLike,
    *,
    method: Method = "relative",
    over: Over = "running",
) -> Fit | None:
    """Fit the time between tokens as a straight line over the batch.

    Parameters
    ----------
    batch
        Sequences of each row. Shape (n,); a row that is no positive number is left out.
    itl_ms
        [ms] Time between tokens. Shape (n,); likewise.
    weight
        Weight of each row, of which only ratios matter; 0 leaves a row out. Shape (n,).
    method
        ``relative`` minimises the sum of squares of (t0 + a B - ITL) / ITL, so that a batch of one
        counts as much as the largest; ``milliseconds`` that of the differences, as the paper does.
    over
        What ``batch`` is; it only names the fit.

    Returns
    -------
    Fit or None
        None with fewer than two different batches. The interval of the knee is by Fieller's
        theorem (E. C. Fieller, J. R. Stat. Soc. B 16 (1954) 175), which holds for a ratio of two
        estimates however uncertain the slope is: the values r for which t0 - r a is not different
        from zero at 95 % by Student's t. It is None with fewer than three rows, and where the
        slope itself may be zero, since it has no end then; its lower end is not below zero.

    Examples
    --------
    >>> found = fit([1, 32, 64, 128], [3.1, 6.2, 9.5, 15.7], [1, 1, 1, 1])
    >>> round(found.t0_ms, 2), round(found.a_ms, 4), round(found.knee, 1)
    (3.0, 0.1001, 30.0)
    """
    line = _line_of(batch, itl_ms, weight, method)
    if line is None:
        return None
    has_knee = line.a > 0 and line.t0 > 0
    low, high = _fieller(line) if has_knee else (None, None)
    error = np.abs(100.0 * (line.t0 + line.a * line.batch - line.itl) / line.itl)
    return Fit(
        method=method,
        over=over,
        t0_ms=line.t0,
        a_ms=line.a,
        knee=line.t0 / line.a if has_knee else None,
        knee_low=low,
        knee_high=high,
        r2=_r2(line),
        mean_error_pct=float(error.mean()),
        max_error_pct=float(error.max()),
        row_count=len(line.batch),
        asymptote_tok_s=1e3 / line.a if line.a > 0 else None,
    )


def itl_at(fit: Fit, batch: Number) -> Number:
    """Return the time between tokens that a fit says [ms].

    Parameters
    ----------
    fit
        From `fit`.
    batch
        Sequences, of the kind that it was fitted over. A number, or an array of any shape.

    Examples
    --------
    >>> round(itl_at(fit([1, 2, 3], [4.0, 5.0, 6.0], [1, 1, 1]), 10.0), 6)
    13.0
    """
    return fit.t0_ms + fit.a_ms * batch


def relative_errors_pct(
    fit: Fit, batch: NDArray[np.float64], itl_ms: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return by how much the fit is above what was measured [%]; NaN where nothing was."""
    return 100.0 * (itl_at(fit, batch) - itl_ms) / itl_ms


def leave_one_out(
    batch: ArrayLike,
    itl_ms: ArrayLike,
    weight: ArrayLike,
    *,
    method: Method = "relative",
    over: Over = "running",  # noqa: ARG001  the same arguments as `fit` takes
) -> tuple[float, float] | None:
    """Return how well each row is predicted by a fit of all others.

    Parameters
    ----------
    batch, itl_ms, weight, method, over
        As for `fit`.

    Returns
    -------
    tuple of float, or None
        [%] Mean and largest error of the predicted against the measured time. None with fewer than
        four rows, or where the others of some row have one batch alone. Each is the residual
        r / (1 - h), with h the leverage of the row: the prediction of a least-squares fit without
        it, without fitting again (R. D. Cook and S. Weisberg, Residuals and Influence in
        Regression (1982), 2.2).

    Examples
    --------
    >>> mean, largest = leave_one_out([1, 32, 64, 128], [3.1, 6.2, 9.5, 15.7], [1, 1, 1, 1])
    >>> round(mean, 1), round(largest, 1)
    (1.1, 1.5)
    """
    line = _line_of(batch, itl_ms, weight, method)
    if line is None or len(line.batch) < 4:
        return None
    share = 1.0 / line.precision.sum() + (line.batch - line.mean_batch) ** 2 / line.spread
    left = 1.0 - line.precision * share
    if left.min() < 1e-9:
        return None
    residual = line.t0 + line.a * line.batch - line.itl
    error = np.abs(100.0 * residual / left / line.itl)
    return float(error.mean()), float(error.max())


def t_quantile_975(degrees: int) -> float:
    """Return the 97.5 % quantile of Student's t: the half width of an interval of 95 %.

    Parameters
    ----------
    degrees
        Degrees of freedom, at least 1. Up to ten from a table; beyond, the expansion 26.7.5 of
        M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions, good to six digits.

    Examples
    --------
    >>> round(t_quantile_975(2), 4), round(t_quantile_975(30), 4)
    (4.3027, 2.0423)
    """
    if degrees <= len(_T_975):
        return _T_975[degrees - 1]
    z = _Z_975
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / float(degrees) ** power for power, term in enumerate(terms, 1))


def _line_of(
    batch: ArrayLike, itl_ms: ArrayLike, weight: ArrayLike, method: Method
) -> _Line | None:
    x, y, w = (np.asarray(one, np.float64) for one in (batch, itl_ms, weight))
    used = np.isfinite(x) & np.isfinite(y) & np.isfinite(w) & (x > 0) & (y > 0) & (w > 0)
    # In a fixed order, so that the last digits do not depend on that of the rows.
    order = np.lexsort((w[used], y[used], x[used]))
    x, y, w = (one[used][order] for one in (x, y, w))
    if not len(x) or x[-1] - x[0] <= 1e-9 * x[-1]:
        return None
    precision = w / w.max()
    if method == "relative":
        precision = precision * (y.min() / y) ** 2
    mean_x, mean_y = (float(np.average(one, weights=precision)) for one in (x, y))
    spread = float((precision * (x - mean_x) ** 2).sum())
    a = float((precision * (x - mean_x) * (y - mean_y)).sum()) / spread
    return _Line(mean_y - a * mean_x, a, x, y, precision, mean_x, spread)


def _r2(line: _Line) -> float | None:
    """Return the share of the variance of the time that the line explains, rows weighing alike."""
    total = float(((line.itl - line.itl.mean()) ** 2).sum())
    rest = float(((line.t0 + line.a * line.batch - line.itl) ** 2).sum())
    return 1.0 - rest / total if total > 0 else None


def _fieller(line: _Line) -> tuple[float | None, float | None]:
    degrees = len(line.batch) - 2
    if degrees < 1:
        return None, None
    residual = line.t0 + line.a * line.batch - line.itl
    variance = float((line.precision * residual**2).sum()) / degrees
    squared = t_quantile_975(degrees) ** 2
    of_a = variance / line.spread
    of_t0 = variance * (1.0 / float(line.precision.sum()) + line.mean_batch**2 / line.spread)
    of_both = -variance * line.mean_batch / line.spread
    # t0 - r a is not different from zero where quadratic r^2 - 2 middle r + constant <= 0.
    quadratic = line.a**2 - squared * of_a
    middle = line.t0 * line.a - squared * of_both
    constant = line.t0**2 - squared * of_t0
    if quadratic <= 0:
        return None, None
    root = math.sqrt(max(middle**2 - quadratic * constant, 0.0))
    return max((middle - root) / quadratic, 0.0), (middle + root) / quadratic
