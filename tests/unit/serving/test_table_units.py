"""Units are known by their names, and nothing else is a unit."""

from __future__ import annotations

import pytest

from nsightlens.serving.tabular.table_units import is_unit_row, unit_of


@pytest.mark.parametrize(
    ("text", "kind", "size"),
    [
        ("ms", "time", 1.0),
        ("Seconds", "time", 1e3),
        ("\u00b5s", "time", 1e-3),
        ("ns", "time", 1e-6),
        ("%", "share", 1.0),
        ("fraction", "share", 100.0),
        ("MiB", "memory", 2**-10),
        ("GB", "memory", 1.0),
        ("GHz", "frequency", 1e3),
        ("tok/s", "tokens_per_s", 1.0),
        ("tokens per second", "tokens_per_s", 1.0),
        ("requests/minute", "requests_per_s", 1 / 60),
        ("mW", "power", 1e-3),
    ],
)
def test_a_unit_has_a_kind_and_a_size(text: str, kind: str, size: float) -> None:
    """Each spelling is turned into the unit of the tables."""
    unit = unit_of(text)
    assert unit is not None
    assert unit.kind == kind
    assert unit.size == pytest.approx(size)


@pytest.mark.parametrize("text", ["", "furlong", "min", "p99", "tok/furlong", "ms/s", "/"])
def test_what_is_no_unit_is_none(text: str) -> None:
    """`min` is a minimum in the header of a table, so that it is no minute."""
    assert unit_of(text) is None


def test_a_time_per_token_says_so() -> None:
    """A latency of ms/token is of a token, not of a request."""
    unit = unit_of("ms/token")
    assert unit is not None
    assert unit.is_per_token


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["", "ms", "tok/s"], True),
        (["Idx", "[ms]", "(%)"], True),
        (["1", "3.5", "2"], False),
        (["", "", ""], False),
        (["", "ms", "fast"], False),
        (["", "ms"], False),
    ],
)
def test_a_row_of_units_has_nothing_else(cells: list[str], expected: bool) -> None:
    """A row of data must not be taken for a second header."""
    assert is_unit_row(cells, 3) is expected
