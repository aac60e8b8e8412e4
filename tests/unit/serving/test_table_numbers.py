"""Cells become numbers where nobody can read them otherwise."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsightlens.serving.tabular.table_numbers import (
    AmbiguousNumberError,
    comma_meaning,
    lists_of,
    numbers_of,
)


def _numbers(*cells: str | None, comma: str = "thousands") -> list[float]:
    return [float(one) for one in numbers_of(pa.array(cells, pa.string()), comma).values]


def test_empty_cells_are_not_a_number_of_any_kind() -> None:
    """Null is not zero."""
    values = _numbers("1", "", None, "N/A", "nan", "-", "None", "[Not Supported]")
    assert values[0] == 1.0
    assert all(math.isnan(one) for one in values[1:])


def test_thousands_and_spaces_are_taken_out() -> None:
    """Separators of thousands are no part of a number."""
    assert _numbers(" 1,234.5 ", "12,345,678", "1 234", "1'234.5", "+3", "1e3") == [
        1234.5, 12345678.0, 1234.0, 1234.5, 3.0, 1000.0,
    ]  # fmt: skip


def test_a_decimal_comma_is_read_where_the_table_has_them() -> None:
    """With decimal commas, points are of thousands."""
    assert _numbers("3,5", "1.234", "1.234,5", "7", comma="decimal") == [3.5, 1234.0, 1234.5, 7.0]


def test_a_unit_in_the_cells_is_found_and_a_stranger_is_named() -> None:
    """The first cell that is no number is shown, with its row."""
    found = numbers_of(pa.array(["12.5 ms", "OOM", "3ms"]))
    assert found.unit is not None
    assert found.unit.kind == "time"
    assert (found.strange, found.strange_row) == (("OOM",), 1)
    assert found.values[0] == 12.5


def test_cells_of_two_units_are_no_numbers() -> None:
    """Nobody knows which unit a plain number beside them has."""
    found = numbers_of(pa.array(["12.5 ms", "3 s", "4"]))
    assert found.unit is None
    assert np.isnan(found.values[:2]).all()
    assert found.values[2] == 4.0


def test_infinity_is_a_number() -> None:
    """A request rate may be infinite."""
    assert _numbers("inf", "Infinity") == [math.inf, math.inf]


@pytest.mark.parametrize(
    ("cells", "delimiter", "meaning"),
    [
        (["1,5", "2,25"], ";", "decimal"),
        (["1.234,5"], ";", "decimal"),
        (["0,125"], "\t", "decimal"),
        (["1,234.5"], ";", "thousands"),
        (["1,234,567"], "\t", "thousands"),
        (["1,234", "12.5"], ";", "thousands"),
        (["1,234"], ",", "thousands"),
        (["1234", "1.234"], ";", "thousands"),
    ],
)
def test_one_sure_number_decides_what_commas_mean(
    cells: list[str], delimiter: str, meaning: str
) -> None:
    """A number that can be read in one way only decides for the others."""
    assert comma_meaning([pa.array(cells)], delimiter) == meaning


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ([["1,234"], ["2,000"]], "1,234"),
        ([["1,5"], ["2.5"]], "decimal comma"),
    ],
)
def test_numbers_that_cannot_be_told_are_refused(columns: list[list[str]], problem: str) -> None:
    """A factor of a thousand is not guessed."""
    with pytest.raises(AmbiguousNumberError, match=problem):
        comma_meaning([pa.array(one) for one in columns], ";")


def test_lists_hold_one_number_per_server() -> None:
    """A cell that is no list of numbers is empty."""
    column = pa.array(["8749,8748", "3 4", "5", "", "a,1", "[1; 2]"])
    assert lists_of(column) == [[8749.0, 8748.0], [3.0, 4.0], [5.0], [], [], [1.0, 2.0]]
    assert lists_of(pa.array([1.5, None])) == [[1.5], []]


def test_numbers_of_parquet_are_taken_as_they_are() -> None:
    """Lists and structures are no numbers."""
    assert numbers_of(pa.array([1, None, 3])).values[[0, 2]].tolist() == [1.0, 3.0]
    assert np.isnan(numbers_of(pa.array([[1], [2]])).values).all()
    assert numbers_of(pa.array([True, False])).values.tolist() == [1.0, 0.0]
    assert np.isnan(numbers_of(pa.array([None, None])).values).all()


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_what_python_writes_is_read_to_the_last_digit(values: list[float]) -> None:
    """Numbers go through unchanged."""
    assert _numbers(*(repr(one) for one in values)) == values


@given(st.lists(st.text(max_size=12), min_size=1, max_size=10))
def test_any_text_gives_a_number_or_none(cells: list[str]) -> None:
    """No cell makes a reader fail."""
    column = pa.array(cells, pa.string())
    assert len(numbers_of(column).values) == len(cells)
    assert len(lists_of(column)) == len(cells)
