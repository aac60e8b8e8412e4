"""Columns of numbers for the tables of a sweep: what is no number is null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.arrays import number_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["finite", "finite_numbers", "finite_table", "quotient", "whole_numbers"]


def quotient(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide, NaN where the divisor is not above zero or the result is no number."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return finite(np.where(b > 0, a / b, np.nan))


def finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values with NaN for what is infinite."""
    return np.where(np.isfinite(values), values, np.nan)


def finite_numbers(values: NDArray[np.float64]) -> pa.Array:
    """Return numbers as an Arrow array, null for NaN and infinity. Shape (n,)."""
    return number_array(values, np.isfinite(values))


def whole_numbers(texts: Any) -> Any:
    """Return whole numbers that were kept as text; null stays null."""
    return texts.cast(pa.int64())


def finite_table(table: pa.Table) -> pa.Table:
    """Return the table with null for every number that is none or infinite."""
    for i, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            column = table.column(i)
            is_number = pc.fill_null(pc.is_finite(column), False)
            if not pc.all(pc.or_(is_number, column.is_null())).as_py():
                kept = pc.if_else(is_number, column, pa.scalar(None, field.type))
                table = table.set_column(i, field, kept)
    return table
