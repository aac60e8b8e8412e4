"""Printed numbers: which character is the decimal point, and how exactly a value is told.

ncu writes numbers by the locale of the machine: ``1,234.50``, ``1.234,50``, ``1 234,50``. One text
uses one way, which `format_of` finds by the numbers that can be read in one way only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CONTINENTAL", "ENGLISH", "NumberFormat", "PrintedNumber", "format_of"]

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


def format_of(texts: Iterable[str]) -> NumberFormat:
    """Return the format of a text's numbers, by the first that only one format can read.

    ``1,234`` is one of the two that both can read, and as different numbers; where nothing else
    stands in the text, it is taken as English.
    """
    for text in texts:
        is_english = ENGLISH.number(text) is not None
        if is_english != (CONTINENTAL.number(text) is not None):
            return ENGLISH if is_english else CONTINENTAL
    return ENGLISH
