"""Columns of text, as the readers make them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.arrays import number_array

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = [
    "alone_in_range",
    "category",
    "constant",
    "encoded",
    "first_known",
    "joined_runs",
    "shown_path",
]


def shown_path(path: str) -> str:
    r"""Return a path as the tables and messages spell it.

    A path may hold bytes that are not UTF-8, which neither Arrow nor JSON can; they become
    ``\xNN``. Text of a report needs no such care: `nsightlens.ncurep` decodes it that way.
    """
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def category(values: Iterable[str | None]) -> pa.DictionaryArray:
    """Return a dictionary-encoded column of text."""
    return pa.array(values, type=pa.string()).dictionary_encode()


def encoded(column: pa.Array | pa.ChunkedArray) -> pa.DictionaryArray:
    """Return a column of text dictionary-encoded, in one piece."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return column if pa.types.is_dictionary(column.type) else column.dictionary_encode()


def constant(text: str, count: int) -> pa.DictionaryArray:
    """Return a column that says the same in ``count`` rows."""
    return pa.DictionaryArray.from_arrays(
        number_array(np.zeros(count, dtype=np.int32)), pa.array([text], type=pa.string())
    )


def first_known(own: pa.Array, derived: pa.Array | None) -> pa.Array:
    """Fill what a file itself does not say of a launch from the column that its metrics gave."""
    if derived is None or not own.null_count:
        return own
    plain = own.cast(own.type.value_type) if pa.types.is_dictionary(own.type) else own
    return pc.coalesce(plain, derived.cast(plain.type))


def alone_in_range(nvtx_path: pa.Array) -> pa.Array:
    """Say where neither neighbour in a file has the same ranges; null where none was open.

    It is said here, of the whole file: once launches have been filtered, nobody can tell.
    """
    column = encoded(nvtx_path)
    code = np.asarray(column.indices.fill_null(-1))
    same = code[1:] == code[:-1]
    alone = ~np.append(same, False) & ~np.append(False, same)
    return number_array(alone[: len(code)], code >= 0)


def joined_runs(texts: pa.Array, starts: NDArray[np.intp], separator: str) -> pa.Array:
    """Join the texts of each run of rows; ``starts`` is the first row of each."""
    offsets = np.append(starts, len(texts)).astype(np.int32)
    lists = pa.ListArray.from_arrays(number_array(offsets), texts)
    return pc.binary_join(lists, separator)
