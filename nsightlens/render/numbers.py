"""Numbers as a person says them: three significant digits and a unit that fits.

Only for the eye: the machine formats (`nsightlens.render.envelope`, `nsightlens.render.delimited`)
keep every digit. ``None`` and NaN are both shown as `MISSING`. Imports nothing of ours.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "MISSING",
    "byte_count",
    "counted",
    "duration",
    "fixed",
    "is_missing",
    "percent",
    "significant",
    "whole_percent",
]

MISSING = "-"
"""What stands for a value that the report does not have."""

_TIME_STEPS = ((1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s"))
_BYTE_STEPS = ((1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"))


def is_missing(value: float | None) -> bool:
    """Return whether there is no number to show."""
    return value is None or math.isnan(value)


def fixed(value: float, decimals: int) -> str:
    """Return a number with so many decimals; what is rounded to zero has no minus.

    Parameters
    ----------
    value
        The number.
    decimals
        Digits after the point.

    Examples
    --------
    >>> fixed(-0.004, 2), fixed(-0.006, 2)
    ('0.00', '-0.01')
    """
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def significant(value: float | None) -> str:
    """Return a number with three significant digits, without an exponent where it can be read.

    Examples
    --------
    >>> significant(0.98765), significant(12.345), significant(1234.5), significant(None)
    ('0.988', '12.3', '1234', '-')
    """
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    size = abs(value)
    if size == 0:
        return "0"
    if size >= 1e6 or size < 1e-3:
        return f"{value:.2e}"
    # One step of rounding may carry into the next digit: decide by the rounded number.
    rounded = abs(float(f"{value:.2e}"))
    decimals = max(0, 2 - math.floor(math.log10(rounded)))
    return f"{value:.{decimals}f}"


def percent(value: float | None) -> str:
    """Return a percentage without its sign: whole from 10 on, one decimal below.

    Examples
    --------
    >>> percent(91.4), percent(4.26), percent(0.01), percent(0.0), percent(104.7)
    ('91', '4.3', '<0.1', '0', '105')
    """
    if value is None or math.isnan(value):
        return MISSING
    if value == 0:
        return "0"
    if 0 < value < 0.1:
        return "<0.1"
    return fixed(value, 0 if abs(value) >= 9.95 else 1)


def whole_percent(value: float | None) -> str:
    """Return a percentage with its sign for running text.

    Examples
    --------
    >>> whole_percent(91.4), whole_percent(0.2), whole_percent(0)
    ('91 %', '<1 %', '0 %')
    """
    if value is None or math.isnan(value):
        return MISSING
    if 0 < value < 1:
        return "<1 %"
    # All but a trace is not all: 100 % is said only where nothing else is there.
    return ">99 %" if 99 < value < 100 else f"{fixed(value, 0)} %"


def duration(nanoseconds: float | None) -> str:
    """Return a duration in the unit that leaves one to three digits before the point.

    Parameters
    ----------
    nanoseconds
        [ns] The duration.

    Examples
    --------
    >>> duration(850), duration(12345.6), duration(999999), duration(2.5e9)
    ('850 ns', '12.3 us', '1.00 ms', '2.50 s')
    """
    return _with_unit(nanoseconds, _TIME_STEPS)


def byte_count(count: float | None) -> str:
    """Return a number of bytes in decimal units.

    Parameters
    ----------
    count
        [B] The number of bytes.

    Examples
    --------
    >>> byte_count(512), byte_count(1_234_567)
    ('512 B', '1.23 MB')
    """
    return _with_unit(count, _BYTE_STEPS)


def _with_unit(value: float | None, steps: Sequence[tuple[float, str]]) -> str:
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return f"{significant(value)} {steps[0][1]}"
    size = abs(float(f"{value:.2e}"))
    factor, unit = next(((f, u) for f, u in reversed(steps) if size >= f), steps[0])
    if factor == 1.0 and float(value).is_integer():
        return f"{value:.0f} {unit}"
    return f"{significant(value / factor)} {unit}"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> counted(1, "launch", "launches"), counted(3, "report")
    ('1 launch', '3 reports')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {plural or noun + 's'}"
