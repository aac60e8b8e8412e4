"""Numbers that a caller gives, refused in one sentence before anything is computed with them."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

__all__ = ["LARGEST", "check_above_zero", "check_counts"]

LARGEST = 2**63 - 1
"""What a column of tables can hold; products of several such numbers are finite as floats."""


def check_counts(**named: Any) -> None:
    """Refuse what is no whole number from 1 to `LARGEST`.

    Raises
    ------
    ValueError
        With the name of the number, what is wanted and what was given.

    Examples
    --------
    >>> check_counts(batch_size=8)
    >>> check_counts(batch_size=1.5)
    Traceback (most recent call last):
    ValueError: batch_size must be a whole number above zero, not 1.5
    """
    for name, value in named.items():
        # NumPy's whole numbers are such too; True is one, and never meant.
        if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
            raise ValueError(f"{name} must be a whole number above zero, not {value!r}")
        _check_size(name, value)


def check_above_zero(**named: Any) -> None:
    """Refuse what is no finite number above zero.

    Raises
    ------
    ValueError
        As of `check_counts`.

    Examples
    --------
    >>> check_above_zero(flop_per_s=989.4e12)
    >>> check_above_zero(flop_per_s=float("nan"))
    Traceback (most recent call last):
    ValueError: flop_per_s must be a finite number above zero, not nan
    """
    for name, value in named.items():
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        # A whole number that no float can hold is finite all the same.
        is_whole = isinstance(value, Integral)
        if not is_number or not (value > 0 and (is_whole or math.isfinite(value))):
            raise ValueError(f"{name} must be a finite number above zero, not {value!r}")
        if is_whole:
            _check_size(name, value)


def _check_size(name: str, value: Any) -> None:
    if value > LARGEST:
        # The number itself may have thousands of digits, which Python refuses to write.
        raise ValueError(f"{name} must be no more than {LARGEST}")
