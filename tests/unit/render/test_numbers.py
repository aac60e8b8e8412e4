"""Numbers are said as a person would say them."""

from __future__ import annotations

import math

import pytest

from nsightlens.render import numbers
from nsightlens.units import format_quantity


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.00123, "0.00123"),
        (0.999, "0.999"),
        (0.9996, "1.00"),
        (9.996, "10.0"),
        (99.96, "100"),
        (999999.0, "999999"),
        (1.5e7, "1.50e+07"),
        (2e-5, "2.00e-05"),
        (-12.34, "-12.3"),
        (math.inf, "inf"),
        (math.nan, "-"),
        (None, "-"),
    ],
)
def test_a_number_has_three_significant_digits(value: float | None, text: str) -> None:
    """Rounding may carry into the next digit without adding one."""
    assert numbers.significant(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.04, "<0.1"), (9.94, "9.9"), (9.96, "10"), (101.7, "102"), (-3.2, "-3.2"), (None, "-")],
)
def test_a_percentage_is_whole_from_ten_on(value: float | None, text: str) -> None:
    """Small shares keep a decimal, and a trace is not called zero."""
    assert numbers.percent(value) == text


@pytest.mark.parametrize(("value", "text"), [(99.6, ">99 %"), (100.0, "100 %"), (0.4, "<1 %")])
def test_almost_all_is_not_called_all(value: float, text: str) -> None:
    """100 % is said only where nothing else is there."""
    assert numbers.whole_percent(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 ns"),
        (999.0, "999 ns"),
        (999.9, "1.00 us"),
        (1000.0, "1.00 us"),
        (12_345.0, "12.3 us"),
        (3.2e6, "3.20 ms"),
        (7.25e12, "7250 s"),
        (0.5, "0.500 ns"),
        (math.inf, "inf ns"),
        (None, "-"),
    ],
)
def test_a_duration_has_the_unit_that_fits(value: float | None, text: str) -> None:
    """One to three digits stand before the point."""
    assert numbers.duration(value) == text


def test_bytes_are_counted_in_decimal_units() -> None:
    """The unit is that of data sheets, not of operating systems."""
    assert [numbers.byte_count(n) for n in (0, 999, 1024, 5e9)] == [
        "0 B",
        "999 B",
        "1.02 kB",
        "5.00 GB",
    ]


def test_what_is_rounded_to_zero_has_no_minus() -> None:
    """A slope of -1e-17 is no falling one."""
    assert numbers.fixed(-1e-17, 2) == "0.00"
    assert numbers.percent(-0.01) == "0.0"
    assert numbers.whole_percent(-0.2) == "0 %"
    assert format_quantity(-0.01, "%") == "0.0 %"
