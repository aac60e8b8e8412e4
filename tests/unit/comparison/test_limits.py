"""Limits: numbers with and without units."""

from __future__ import annotations

import math

import pytest

from nsightlens.comparison.limits import LimitError, limit_value


@pytest.mark.parametrize(
    ("given", "unit", "value"),
    [
        (250, "ns", 250.0), (1.5, "%", 1.5), ("250 us", "ns", 250e3), ("2ms", "ns", 2e6),
        ("1 s", "ns", 1e9), ("3.05 TB/s", "B/s", 3.05e12), ("4 KiB", "B", 4096.0),
        ("2 GFLOP", "FLOP", 2e9), ("1.41 GHz", "Hz", 1.41e9), ("80 %", "%", 80.0),
        ("50 %", "1", 0.5), ("3", "FLOP/B", 3.0), ("-1e-3", "", -0.001),
    ],
)  # fmt: skip
def test_a_limit_is_read_in_the_unit_of_its_metric(given: object, unit: str, value: float) -> None:
    """With a unit of its own, or without one."""
    assert limit_value(given, unit) == pytest.approx(value)


@pytest.mark.parametrize(
    ("given", "unit", "told"),
    [
        ("5 msec", "ns", "Did you mean"),
        ("5 GB", "ns", "Known are ns, us"),
        ("five", "ns", "Write a number in ns"),
        (True, "ns", "Write a number in ns"),
        ([1], "%", "Write a number in %"),
        (math.nan, "ns", "Write a number"),
        (math.inf, "ns", "Write a number"),
    ],
)
def test_what_is_no_limit_is_refused_with_what_to_write(
    given: object, unit: str, told: str
) -> None:
    """And the nearest unit."""
    with pytest.raises(LimitError) as caught:
        limit_value(given, unit)
    assert told in caught.value.args[1]
