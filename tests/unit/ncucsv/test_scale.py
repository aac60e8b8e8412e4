"""Scaled units of every version of ncu back to base units."""

from __future__ import annotations

import pytest

from nsightlens.ncucsv.scale import base_power


@pytest.mark.parametrize(
    ("unit", "power"),
    [
        ("", 0), ("%", 0), ("byte", 0), ("Kbyte", 3), ("Mbyte", 6), ("Gbyte", 9),
        ("Kbyte/block", 3), ("byte/block", 0), ("Gbyte/second", 9), ("Tbyte/s", 12),
        ("byte/cycle", 0), ("ns", 0), ("nsecond", 0), ("us", 3), ("usecond", 3),
        ("ms", 6), ("msecond", 6), ("s", 9), ("second", 9),
        ("hz", 0), ("Khz", 3), ("Mhz", 6), ("Ghz", 9),
        ("cycle/nsecond", 9), ("cycle/usecond", 6), ("cycle/second", 0),
        ("register/thread", 0), ("inst/cycle", 0), ("SM", 0), ("cycle", 0), ("Minst", 6),
        ("Msector/s", 6), ("Gbyte/usecond", 15),
    ],
)  # fmt: skip
def test_a_unit_has_its_power_of_ten(unit: str, power: int) -> None:
    """Prefixes are powers of 1000; a rate is per second, a time in ns."""
    assert base_power(unit) == power
