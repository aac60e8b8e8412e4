"""Values beside limits: which is beyond the other, and words for both from which it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nsightlens.units import format_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["excess_over", "limit_words", "percent_words", "value_words"]

_TOLERANCE = 1e-9
"""Of the larger of two numbers: what lies closer together differs by rounding alone."""
_FEWEST, _MOST = 3, 16
"""Significant digits."""


def excess_over(values: NDArray[np.float64], limit: float | None) -> NDArray[np.float64]:
    """Return how far values lie above a limit, 0 where they meet it but for rounding.

    Parameters
    ----------
    values
        Shape (n,).
    limit
        None for none: nothing is beyond it.

    Examples
    --------
    >>> excess_over(np.array([5.000000000000004, 6.0]), 5.0).tolist()
    [0.0, 1.0]
    """
    if limit is None:
        return np.full(len(values), -np.inf)
    excess = values - limit
    is_met = np.abs(excess) <= _TOLERANCE * np.maximum(np.abs(values), abs(limit))
    return np.where(is_met & np.isfinite(values), 0.0, excess)


def limit_words(limit: float, unit: str) -> str:
    """Return a limit with the digits that it was given with.

    Examples
    --------
    >>> limit_words(15168.0, "ns"), limit_words(80.0, "%"), limit_words(5e9, "FLOP")
    ('15.168 us', '80 %', '5 GFLOP')
    """
    if unit == "%":
        return f"{limit:.12g} %"
    return format_quantity(limit, unit, 12)


def value_words(value: float, unit: str, limits: Sequence[float | None]) -> str:
    """Return a value with enough digits to show on which side of each limit it is.

    Parameters
    ----------
    value
        In ``unit``.
    limits
        None for none.

    Examples
    --------
    >>> value_words(15201.0, "ns", [15200.0]), value_words(15201.0, "ns", [2e4])
    ('15.201 us', '15.2 us')
    >>> value_words(79.96, "%", [80.0]), value_words(5.000000000000004, "B", [5.0])
    ('79.96 %', '5 B')
    """
    digits = next(
        (n for n in range(_FEWEST, _MOST) if _is_told(value, _rounded(value, unit, n), limits)),
        _MOST,
    )
    return format_quantity(value, unit, digits)


def percent_words(change_pct: float, limits: Sequence[float | None]) -> str:
    """Return a change with its sign, and enough digits to show on which side of limits it is.

    Examples
    --------
    >>> percent_words(20.0, [5.0]), percent_words(5.0004, [5.0, None]), percent_words(0.0, [])
    ('+20 %', '+5.0004 %', '0 %')
    """
    if change_pct == 0:
        return "0 %"
    for digits in range(_FEWEST, _MOST):
        text = f"{change_pct:+.{digits}g}"
        if _is_told(change_pct, float(text), limits):
            break
    return f"{text} %"


def _rounded(value: float, unit: str, digits: int) -> float:
    """Return a value as `format_quantity` shows it."""
    if unit == "%":
        return round(value, digits - 2)
    # No unit of another kind is scaled: a large number is whole.
    if abs(value) >= 999.5 and format_quantity(value, unit).endswith(
        f"{value:,.0f} {unit}".strip()
    ):
        return round(value, max(0, digits - 4))
    return float(f"{value:.{digits}g}")


def _is_told(value: float, shown: float, limits: Sequence[float | None]) -> bool:
    return all(_side(value, one) == _side(shown, one) for one in limits if one is not None)


def _side(value: float, limit: float) -> float:
    return float(np.sign(excess_over(np.array([value]), limit)[0]))
