"""Scaled units of every version of ncu back to base units."""

from __future__ import annotations

import pytest

from nsightlens.ncucsv.scale import base_factor


@pytest.mark.parametrize(
    ("unit", "factor"),
    [
        ("", 1), ("%", 1), ("byte", 1), ("Kbyte", 10**3), ("Mbyte", 10**6), ("Gbyte", 10**9),
        ("Kbyte/block", 10**3), ("byte/block", 1), ("Gbyte/second", 10**9), ("Tbyte/s", 10**12),
        ("byte/cycle", 1), ("ns", 1), ("nsecond", 1), ("us", 10**3), ("usecond", 10**3),
        ("ms", 10**6), ("msecond", 10**6), ("s", 10**9), ("second", 10**9),
        ("hz", 1), ("Khz", 10**3), ("Mhz", 10**6), ("Ghz", 10**9),
        ("cycle/nsecond", 10**9), ("cycle/usecond", 10**6), ("cycle/second", 1),
        ("register/thread", 1), ("inst/cycle", 1), ("SM", 1), ("cycle", 1), ("Minst", 10**6),
        ("Msector/s", 10**6), ("Gbyte/usecond", 10**15),
    ],
)  # fmt: skip
def test_a_unit_has_its_factor(unit: str, factor: int) -> None:
    """Prefixes are powers of 1000; a rate is per second, a time in ns."""
    assert base_factor(unit) == factor
