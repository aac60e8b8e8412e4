"""NumPy arrays as Arrow arrays, without `pyarrow.array`.

That would do the same, but imports ``numpy.ma`` the first time to see whether it was given a masked
array, which takes a tenth of the time of a short command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = [
    "LONGEST_TEXTS",
    "category_array",
    "known_numbers",
    "number_array",
    "positions_in_runs",
    "run_starts",
    "text_array",
    "validity_of",
]

LONGEST_TEXTS = 2**31 - 1
"""[byte] The most text that one Arrow array of strings holds."""


def number_array(values: NDArray[Any], has_value: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return numbers or truth values as an Arrow array, null where there is no value.

    Numbers are not copied, so ``values`` must not be changed afterwards. NaN stays NaN.

    Parameters
    ----------
    values
        One per row, of a type that Arrow has too. Shape (n,).
    has_value
        Shape (n,); None where every row has a value.

    Examples
    --------
    >>> number_array(np.array([1.5, 0.0]), np.array([True, False])).to_pylist()
    [1.5, None]
    >>> number_array(np.array([True, False])).to_pylist()
    [True, False]
    """
    values = np.ascontiguousarray(values)
    validity, null_count = validity_of(has_value)
    content = _packed(values) if values.dtype == bool else pa.py_buffer(values)
    return pa.Array.from_buffers(
        pa.from_numpy_dtype(values.dtype), len(values), [validity, content], null_count
    )


def known_numbers(values: NDArray[np.float64]) -> pa.Array:
    """Return numbers as an Arrow array, null for NaN. Shape (n,)."""
    return number_array(values, ~np.isnan(values))


def category_array(code: NDArray[Any], texts: tuple[str, ...]) -> pa.Array:
    """Return the text of each code as a dictionary array. Shape (n,)."""
    return pa.DictionaryArray.from_arrays(
        number_array(code.astype(np.int32)), pa.array(texts, pa.string())
    )


def text_array(values: Iterable[str | None]) -> pa.StringArray:
    """Return texts as an Arrow array, null for None.

    Raises
    ------
    pyarrow.ArrowCapacityError
        They are longer together than `LONGEST_TEXTS`, and Arrow made several arrays of them.

    Examples
    --------
    >>> text_array(["a", None]).to_pylist()
    ['a', None]
    """
    array = pa.array(values, type=pa.string())
    if isinstance(array, pa.ChunkedArray):
        raise pa.ArrowCapacityError(f"a column has {array.nbytes} bytes of text")
    return array


def run_starts(*keys: NDArray[Any]) -> NDArray[np.bool_]:
    """Say of each row whether its keys differ from those of the row before it. Shape (n,)."""
    starts = np.zeros(len(keys[0]), dtype=bool)
    starts[:1] = True
    for key in keys:
        starts[1:] |= key[1:] != key[:-1]
    return starts


def positions_in_runs(*keys: NDArray[Any]) -> NDArray[np.intp]:
    """Return the position of each row in its run of equal keys, from 0. Shape (n,).

    Examples
    --------
    >>> positions_in_runs(np.array([7, 7, 3, 7])).tolist()
    [0, 1, 0, 0]
    """
    count = len(keys[0])
    starts = np.flatnonzero(run_starts(*keys))
    return np.arange(count) - np.repeat(starts, np.diff(np.append(starts, count)))


def validity_of(has_value: NDArray[np.bool_] | None) -> tuple[pa.Buffer | None, int]:
    """Return the validity bitmap of an Arrow array and its number of nulls; see `number_array`."""
    if has_value is None or has_value.all():
        return None, 0
    return _packed(has_value), len(has_value) - int(np.count_nonzero(has_value))


def _packed(flags: NDArray[np.bool_]) -> pa.Buffer:
    # Arrow keeps eight truth values in a byte.
    return pa.py_buffer(np.packbits(flags, bitorder="little"))
