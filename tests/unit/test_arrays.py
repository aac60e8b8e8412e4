"""NumPy arrays become Arrow arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from nsightlens.arrays import number_array


def test_an_arrow_array_of_numbers_is_not_a_copy() -> None:
    """The memory that a scanner filled is the memory of the column."""
    values = np.arange(10, dtype=np.float64)
    array = number_array(values)
    assert array.null_count == 0
    values[3] = -1.0
    assert array[3].as_py() == -1.0
    has_value = values > 4
    with_nulls = number_array(values, has_value)
    with_nulls.validate(full=True)
    assert with_nulls.to_pylist() == [None] * 5 + [5.0, 6.0, 7.0, 8.0, 9.0]
    assert with_nulls.type == pa.float64()


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 100])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "uint64", "float64"])
def test_an_array_is_what_arrow_itself_makes_of_it(dtype: str, count: int) -> None:
    """Type, values and nulls, for every number of bits that are left over in the last byte."""
    random = np.random.default_rng(count)
    values = random.integers(0, 2 if dtype == "bool" else 100, count).astype(dtype)
    has_value = random.random(count) < 0.5
    for mask in (None, has_value, np.zeros(count, dtype=bool), np.ones(count, dtype=bool)):
        array = number_array(values, mask)
        array.validate(full=True)
        assert array.equals(pa.array(values, mask=None if mask is None else ~mask))


@pytest.mark.parametrize(
    "values",
    [np.arange(10.0)[::2], np.arange(10.0)[::-1], np.array([[True, False], [True, True]])[:, 0]],
)
def test_values_may_lie_apart_in_memory(values: Any) -> None:
    """As a row of a transposed table or every other element does."""
    assert number_array(values).to_pylist() == values.tolist()


def test_not_a_number_is_a_value() -> None:
    """Null is only what was said to have none."""
    values = np.array([np.nan, np.nan])
    array = number_array(values, np.array([True, False]))
    assert array.null_count == 1
    assert np.isnan(array[0].as_py())
