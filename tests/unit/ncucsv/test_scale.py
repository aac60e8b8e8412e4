"""Scaled units of every version of ncu back to base units."""

from __future__ import annotations

import pytest

from nsightlens.ncucsv.scale import base_unit


@pytest.mark.parametrize(
    ("unit", "base", "power"),
    [
        ("", "", 0), ("%", "%", 0), ("byte", "B", 0), ("Kbyte", "B", 3), ("Mbyte", "B", 6),
        ("Gbyte", "B", 9), ("GB", "B", 9), ("bytes", "B", 0), ("Kbyte/block", "B/block", 3),
        ("byte/block", "B/block", 0), ("Gbyte/second", "B/s", 9), ("Tbyte/s", "B/s", 12),
        ("byte/cycle", "B/cycle", 0), ("%/byte", "%/B", 0),
        ("ns", "ns", 0), ("nsecond", "ns", 0), ("us", "ns", 3), ("usecond", "ns", 3),
        ("\u00b5s", "ns", 3), ("ms", "ns", 6), ("msecond", "ns", 6), ("s", "ns", 9),
        ("second", "ns", 9), ("hz", "Hz", 0), ("Khz", "Hz", 3), ("Mhz", "Hz", 6), ("Ghz", "Hz", 9),
        ("cycle/nsecond", "Hz", 9), ("cycle/usecond", "Hz", 6), ("cycle/second", "Hz", 0),
        ("register/thread", "register/thread", 0), ("inst/cycle", "inst/cycle", 0),
        ("SM", "SM", 0), ("cycle", "cycle", 0), ("sectors", "sector", 0), ("Minst", "inst", 6),
        ("Msector/s", "sector/s", 6), ("Gbyte/usecond", "B/s", 15),
    ],
)  # fmt: skip
def test_a_unit_has_its_base_and_power_of_ten(unit: str, base: str, power: int) -> None:
    """Prefixes are powers of 1000; a rate is per second, a time in ns."""
    assert base_unit(unit) == (base, power)


@pytest.mark.parametrize(
    ("unit", "base", "power"),
    [
        ("minute", "minute", 0), ("Usecond", "Usecond", 0), ("KiB", "KiB", 0),
        ("Gbit", "bit", 9), ("byte/minute", "B/minute", 0), ("Gb", "Gb", 0),
    ],
)  # fmt: skip
def test_a_word_that_is_not_known_is_left_as_it_is(unit: str, base: str, power: int) -> None:
    """Neither taken for a base unit nor for the word that it resembles."""
    assert base_unit(unit) == (base, power)
