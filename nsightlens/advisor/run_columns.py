"""Columns of ``serving_runs`` as NumPy arrays in which what is missing is NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from nsightlens.devices.columns import number_column
from nsightlens.serving.part import LARGEST

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["first_known", "known_everywhere", "numbers", "positives"]


def numbers(runs: pa.Table, name: str) -> NDArray[np.float64]:
    """Return a column of numbers or truth values; NaN for null. Shape (n,).

    Examples
    --------
    >>> numbers(pa.table({"speculative": [True, None, False]}), "speculative").tolist()
    [1.0, nan, 0.0]
    """
    column = runs[name]
    if pa.types.is_boolean(column.type):
        return number_column({name: column.cast(pa.uint8())}, name)
    return number_column(runs, name)


def positives(runs: pa.Table, name: str) -> NDArray[np.float64]:
    """Return a column of numbers; NaN for null, and for what can be no measurement. Shape (n,).

    A rate, a time or a batch of zero stands in many files for "not measured"; infinite and absurd
    ones come from a division by it.

    Examples
    --------
    >>> positives(pa.table({"mean_itl_ms": [3.5, 0.0, float("inf")]}), "mean_itl_ms").tolist()
    [3.5, nan, nan]
    """
    values = numbers(runs, name)
    values[~((values > 1 / LARGEST) & (values < LARGEST))] = np.nan
    return values


def first_known(
    candidates: Iterable[tuple[str, NDArray[np.float64]]], count: int
) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Return for each row the first candidate that is known there, and its name.

    Parameters
    ----------
    candidates
        Name and values of each, the preferred first. Shape (n,) each.
    count
        Number of rows.

    Returns
    -------
    tuple of numpy.ndarray
        Values, NaN where none is known, and names, empty there. Shape (n,) each.

    Examples
    --------
    >>> values, names = first_known([("a", np.array([np.nan, 2])), ("b", np.array([3, 4.0]))], 2)
    >>> values.tolist(), names.tolist()
    ([3.0, 2.0], ['b', 'a'])
    """
    values = np.full(count, np.nan)
    names = np.full(count, "", "<U24")
    for name, candidate in candidates:
        fills = np.isnan(values) & ~np.isnan(candidate)
        values[fills] = candidate[fills]
        names[fills] = name
    return values, names


def known_everywhere(values: NDArray[np.float64], rows: NDArray[np.bool_]) -> bool:
    """Return whether there are such rows, and all of them have a value."""
    return bool(rows.any() and not np.isnan(values[rows]).any())
