"""Printed numbers in the ways of several locales."""

from __future__ import annotations

import pytest

from nsightlens.ncucsv.number import CONTINENTAL, ENGLISH, FormatFound, NumberFormat, format_of


@pytest.mark.parametrize(
    ("text", "number_format", "value", "last_digit"),
    [
        ("0", ENGLISH, "0", 0),
        ("6.75", ENGLISH, "6.75", -2),
        ("32.00", ENGLISH, "32", -2),
        ("1,073,741,824", ENGLISH, "1073741824", 0),
        ("4,963,609,951.19", ENGLISH, "4963609951.19", -2),
        ("1,07,37,41,824", ENGLISH, "1073741824", 0),
        ("-0.5", ENGLISH, "-0.5", -1),
        ("1.5e+09", ENGLISH, "1.5e9", 8),
        ("1 234.5", ENGLISH, "1234.5", -1),
        ("1.234.567,5", CONTINENTAL, "1234567.5", -1),
        ("1 234,5", CONTINENTAL, "1234.5", -1),
        ("1\u00a0234\u00a0567,50", CONTINENTAL, "1234567.5", -2),
        ("1\u202f234,5", CONTINENTAL, "1234.5", -1),
        ("1'234.5", ENGLISH, "1234.5", -1),
    ],
)
def test_a_number_is_read_in_its_format(
    text: str, number_format: NumberFormat, value: str, last_digit: int
) -> None:
    """Value and last printed digit."""
    number = number_format.number(text)
    assert number is not None
    assert number.value() == float(value)
    assert number.rounding(power=3) == 500 * 10.0**last_digit
    assert number.last_digit == last_digit
    assert number.is_integer == (last_digit == 0)


@pytest.mark.parametrize(
    "text",
    ["", "CachePreferNone", "0,1,2,3", "1,23", "(1, 2, 3)", "1.2.3", "0x1f", "1,2345", "9" * 600],
)
def test_what_is_no_number_is_none(text: str) -> None:
    """Lists, extents and versions stay text."""
    assert ENGLISH.number(text) is None


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1,234", "1.5"], ENGLISH),
        (["1.234", "1,5"], CONTINENTAL),
        (["1.234", "0,123"], CONTINENTAL),
        (["7", "1.234.567"], CONTINENTAL),
        (["7", "1,234,567"], ENGLISH),
        (["1,234"], ENGLISH),
        (["CachePreferNone", "n/a"], ENGLISH),
        ([], ENGLISH),
    ],
)
def test_the_format_is_that_of_the_first_unambiguous_number(
    texts: list[str], expected: NumberFormat
) -> None:
    """1,234 alone tells nothing, and is then taken as ncu's own way."""
    assert format_of([(text, "us") for text in texts]) == FormatFound(expected)


def test_a_percentage_above_1000_is_one_with_a_decimal_comma() -> None:
    """Where nothing else tells, and nothing speaks against it."""
    values = [("1,234", "us"), ("85,320", "%"), ("2,500", "Mbyte"), ("7", "block")]
    assert format_of(values) == FormatFound(CONTINENTAL, "85,320")
    assert format_of([*values, ("12.50", "%")]) == FormatFound(ENGLISH)
    assert format_of([("85.320", "%"), ("1.024", "block")]) == FormatFound(ENGLISH)


@pytest.mark.parametrize("against", [("1,024", "thread"), ("1.250", "%"), ("8,192", "byte")])
def test_what_speaks_against_a_decimal_comma_is_told(against: tuple[str, str]) -> None:
    """A count has no decimals, and another percentage would be above 1000."""
    values = [against, ("85,320", "%")]
    for order in (values, values[::-1]):
        assert format_of(order) == FormatFound(CONTINENTAL, "85,320", against[0])
