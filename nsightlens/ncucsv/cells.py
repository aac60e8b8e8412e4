"""One printed value to a `Cell`: a number in its base unit with its rounding, text, or nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from nsightlens.errors import ReportFormatError
from nsightlens.ncucsv.model import Cell
from nsightlens.ncucsv.number import CONTINENTAL, ENGLISH, NumberFormat, PrintedNumber
from nsightlens.ncucsv.scale import base_unit

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CellReader", "better", "differ", "unmarked"]

NO_VALUE = Cell(None)
_OF_ANOTHER_UNIT = Cell(None)  # told from the former by its identity

_WITHOUT_VALUE = {"", "n/a", "no data"}
_NOT_FINITE = {
    **dict.fromkeys(("nan", "-nan", "nan(ind)", "-nan(ind)"), math.nan),
    **dict.fromkeys(("inf", "+inf", "infinity"), math.inf),
    **dict.fromkeys(("-inf", "-infinity"), -math.inf),
}

# What ncu puts before a value that it doubts.
_MARK = "(!)"

_NEGLIGIBLE = 1e-9

# A list of numbers, whatever it looks like.
_TEXT_METRICS = {"launch__tpc_enabled"}


def unmarked(text: str) -> str:
    """Return a printed value without the mark of doubt and without its instances."""
    text = text.strip().removeprefix(_MARK).lstrip()
    if text.endswith((")", "}")):
        # With --print-metric-instances, the instances follow the value: 12 (4; 8).
        start = max(text.rfind("("), text.rfind("{"))
        if start >= 0 and ";" in text[start:]:
            return text[:start].rstrip()
    return text


class CellReader:
    """Reads the values of one text.

    Parameters
    ----------
    path
        The file, for errors.
    number_format
        How the text writes numbers.
    is_unit_of
        Says whether values of a metric may be in a base unit; both by name.

    Attributes
    ----------
    misfits
        Metrics and printed units that do not fit, of numbers left out, with the first line.
    """

    def __init__(
        self, path: str, number_format: NumberFormat, is_unit_of: Callable[[str, str], bool]
    ) -> None:
        self.path = path
        self.format = number_format
        self.misfits: dict[tuple[str, str], int] = {}
        self._is_unit_of = is_unit_of
        self._other = CONTINENTAL if number_format is ENGLISH else ENGLISH
        self._powers: dict[tuple[str, str], int | None] = {}
        self._known: dict[tuple[str, int | None], Cell] = {}

    def cell(self, metric: str, text: str, unit: str, line: int) -> Cell:
        """Return a printed value; none where the unit of a number does not fit the metric.

        Raises
        ------
        ReportFormatError
            The number is written in another way than those before it.
        """
        if metric in _TEXT_METRICS:
            return Cell(text)
        if (metric, unit) in self._powers:
            power = self._powers[metric, unit]
        else:
            power = self._powers[metric, unit] = self._power(metric, unit)
        found = self._known.get((text, power))
        if found is None:
            found = self._known[text, power] = self._read(text, power, line)
        if found is _OF_ANOTHER_UNIT:
            self.misfits.setdefault((metric, unit), line)
        return found

    def _power(self, metric: str, unit: str) -> int | None:
        base = base_unit(unit)
        return base.power if self._is_unit_of(base.name, metric) else None

    def percentage(self, text: str) -> float | None:
        """Return a percentage of a rule, which is written in either way; None where it is none."""
        number = self.format.number(text) or self._other.number(text)
        return number.value() if number is not None else None

    def _read(self, text: str, power: int | None, line: int) -> Cell:
        text = unmarked(text)
        word = text.casefold()
        if word in _WITHOUT_VALUE:
            return NO_VALUE
        if word in _NOT_FINITE:
            return Cell(_NOT_FINITE[word])
        number = self.format.number(text)
        if number is not None:
            return _OF_ANOTHER_UNIT if power is None else _scaled(number, power)
        if self._other.number(text) is not None:
            problem = (
                f"the number {text!r} is written as in {self._other.example!r}, and those before"
                f" it as in {self.format.example!r}"
            )
            advice = "Print the file again in one piece, under LC_ALL=C."
            raise ReportFormatError(self.path, problem, advice, where=(f"line {line}",))
        return Cell(text)


def _scaled(number: PrintedNumber, power: int) -> Cell:
    if number.is_integer and power == 0:
        exact = int(number.digits)
        return Cell(exact if 0 <= exact < 1 << 64 else number.value())
    value, rounding = number.value(power), number.rounding(power)
    # Of 8,513,297,872.340425 a float64 cannot hold the last digit.
    lost = math.ulp(value) / 2 if math.isfinite(value) else 0.0
    return Cell(value, rounding + lost if lost > rounding * _NEGLIGIBLE else rounding)


def better(known: Cell | None, other: Cell) -> Cell:
    """Return the one of two prints of a value that says more; the later one of equals."""
    if known is None or known.value is None:
        return other
    return known if other.value is None or known.rounding < other.rounding else other


def differ(one: Cell, other: Cell) -> bool:
    """Say whether two prints cannot be of the same value."""
    a, b = one.value, other.value
    if a is None or b is None:
        return False
    if isinstance(a, str) or isinstance(b, str):
        return a != b
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) != math.isnan(b)
    if a == b:
        return False
    # The sum of two floats is itself rounded.
    return abs(a - b) > (one.rounding + other.rounding) * (1 + 1e-9)
