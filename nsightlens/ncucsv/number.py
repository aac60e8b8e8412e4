"""Printed numbers: which character is the decimal point, and how exactly a value is told.

ncu writes numbers by the locale of the machine: ``1,234.50``, ``1.234,50``, ``1 234,50``. One text
uses one way, which `format_of` finds by the numbers that can be read in one way only, or, where
there are none, by what the values can be.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.ncucsv.scale import base_unit

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CONTINENTAL", "ENGLISH", "FormatFound", "NumberFormat", "PrintedNumber", "format_of"]

# Group separators that no locale uses as a decimal point: spaces of all widths, apostrophes.
_NEUTRAL_GROUPS = " \u00a0\u2009\u202f'\u2019"

# A double has at most 309 digits before its point; what is longer is no number.
_LONGEST = 512


class PrintedNumber(NamedTuple):
    """A number as printed.

    ``digits`` are sign, digits and a decimal point, without groups; the value is that number times
    ten to the ``exponent``. ``last_digit`` is the power of ten of the last printed digit;
    ``is_integer`` is True where neither a fraction nor an exponent was printed.
    """

    digits: str
    exponent: int
    last_digit: int
    is_integer: bool

    def value(self, power: int = 0) -> float:
        """Return the value times ten to the ``power``, rounded once."""
        return float(f"{self.digits}e{self.exponent + power}")

    def rounding(self, power: int = 0) -> float:
        """Return half of the last digit, times ten to the ``power``."""
        return float(f"5e{self.last_digit - 1 + power}")


class NumberFormat(NamedTuple):
    """One way to write numbers; ``example`` shows it."""

    decimal: str
    example: str
    pattern: re.Pattern[str]

    def number(self, text: str) -> PrintedNumber | None:
        """Return the number that a text is, or None where it is none in this format.

        Examples
        --------
        >>> ENGLISH.number("1,234.50").value(), ENGLISH.number("1,234.50").rounding()
        (1234.5, 0.005)
        >>> CONTINENTAL.number("1,234.50") is None
        True
        """
        found = self.pattern.fullmatch(text) if len(text) <= _LONGEST else None
        if found is None:
            return None
        sign, whole, separator, fraction, exponent = found.groups()
        if separator is not None:
            whole = whole.replace(separator, "")
        if fraction is None and exponent is None:
            return PrintedNumber(sign + whole, 0, 0, True)
        power = 0 if exponent is None else int(exponent)
        decimals = 0 if fraction is None else len(fraction)
        return PrintedNumber(f"{sign}{whole}.{fraction or 0}", power, power - decimals, False)


def _format(decimal: str, group: str, example: str) -> NumberFormat:
    separators = re.escape(group + _NEUTRAL_GROUPS)
    # Groups of two digits before the last: in India, 1,07,37,41,824.
    grouped = rf"[1-9][0-9]{{0,2}}(?P<group>[{separators}])(?:[0-9]{{2,3}}(?P=group))*[0-9]{{3}}"
    pattern = (
        rf"(?P<sign>[+-]?)(?P<whole>{grouped}|[0-9]+)"
        rf"(?:{re.escape(decimal)}(?P<fraction>[0-9]+))?(?:[eE](?P<exponent>[+-]?[0-9]{{1,3}}))?"
    )
    return NumberFormat(decimal, example, re.compile(pattern))


ENGLISH = _format(".", ",", "1,234.5")
"""Decimal point; ncu's own way, and the one taken where no number tells."""

CONTINENTAL = _format(",", ".", "1.234,5")
"""Decimal comma."""


class FormatFound(NamedTuple):
    """The format of a text's numbers, and what it was found by where no number tells it.

    ``percentage`` is one that only a decimal comma makes possible, and ``against`` a number that
    only a decimal point does; both None where the format is certain or is ncu's own way.
    """

    format: NumberFormat
    percentage: str | None = None
    against: str | None = None


def format_of(values: Iterable[tuple[str, str]]) -> FormatFound:
    """Return the format of a text's numbers, by the first that only one format can read.

    ``1,234`` is one of the two that both can read, and as different numbers. Where nothing else
    stands in the text, it is taken as English, unless it is a percentage: hardly one is above
    1000.

    Parameters
    ----------
    values
        Printed values, each with its unit.

    Examples
    --------
    >>> format_of([("1,234", "us"), ("85,320", "%")]).format is CONTINENTAL
    True
    """
    percentage = against = None
    for text, unit in values:
        english, continental = ENGLISH.number(text), CONTINENTAL.number(text)
        if (english is None) != (continental is None):
            return FormatFound(ENGLISH if english is not None else CONTINENTAL)
        if english is None or continental is None or english == continental:
            continue
        # One of the two is a thousand or more, the other has three decimals.
        if english.is_integer and unit == "%":
            percentage = percentage or text
        elif unit == "%" or (english.is_integer and _is_count(unit)):
            against = against or text
    if percentage is None:
        return FormatFound(ENGLISH)
    return FormatFound(CONTINENTAL, percentage, against)


def _is_count(unit: str) -> bool:
    """Say whether values of a unit are whole, as far as is known: what is scaled is not."""
    return base_unit(unit).power == 0
