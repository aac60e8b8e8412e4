"""Columns of raw tables, as the tables of a trace have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.arrays import number_array
from nsightlens.nsys.correlation import NONE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nsightlens.nsys import Export

__all__ = [
    "Either",
    "Strings",
    "column_of",
    "counts",
    "numbers",
    "one_piece",
    "process_ids",
    "process_of",
    "recoded",
    "thread_ids",
    "whole_array",
    "words",
]

# A global id is ... | process << 24 | thread; that of a process ends in zeros.
_ID_BITS = 24
_ID_MASK = (1 << _ID_BITS) - 1


def one_piece(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece."""
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks == 1:
            return column.chunk(0)
        joined = column.combine_chunks()
        if isinstance(joined, pa.ChunkedArray):  # older pyarrow, of no chunk
            return pa.nulls(0, column.type)
        return joined
    return column


def column_of(table: pa.Table, name: str) -> pa.Array:
    """Return a column of a raw table in one piece."""
    return one_piece(table[name])


def numbers(column: pa.Array) -> NDArray[np.int64]:
    """Return whole numbers, `NONE` where null. Shape (n,)."""
    if column.null_count:
        column = column.fill_null(NONE)
    return np.asarray(column).astype(np.int64, copy=False)


def whole_array(values: NDArray[np.int64]) -> pa.Array:
    """Return whole numbers as an Arrow array, null for `NONE`."""
    return number_array(values, values != NONE)


def counts(column: pa.Array) -> pa.Array:
    """Return what cannot be negative as unsigned numbers; what is negative is null."""
    values = numbers(column)
    return number_array(values.view(np.uint64), values >= 0)


def process_ids(identity: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the operating system's ids of processes, or of those of threads. Shape (n,)."""
    return np.where(identity == NONE, NONE, identity >> _ID_BITS & _ID_MASK)


def thread_ids(identity: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the operating system's ids of threads. Shape (n,)."""
    return np.where(identity == NONE, NONE, identity & _ID_MASK)


def process_of(thread: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the identity of the process of each thread, as exports spell it. Shape (n,)."""
    return np.where(thread == NONE, NONE, thread & ~_ID_MASK)


def words(
    column: pa.Array, meaning: Mapping[int, str], other: str | None = None
) -> pa.DictionaryArray:
    """Return what each number means; ``other`` for an unknown one, null for null."""
    encoded = column.dictionary_encode()
    told = [meaning.get(number, other) for number in encoded.dictionary.to_pylist()]
    return recoded(encoded.indices, pa.array(told, pa.string()))


def recoded(indices: pa.Array, texts: pa.Array) -> pa.DictionaryArray:
    """Return the text at each index, as a dictionary of distinct texts without null."""
    distinct = texts.dictionary_encode()
    return pa.DictionaryArray.from_arrays(distinct.indices.take(indices), distinct.dictionary)


class Strings:
    """The strings of an export, by their numbers.

    Parameters
    ----------
    export
        Where to read them.
    """

    def __init__(self, export: Export) -> None:
        table = export.read("StringIds", {"id": "whole", "value": "text"})
        number = numbers(column_of(table, "id"))
        order = np.argsort(number, kind="stable")
        self._numbers = number[order]
        value = column_of(table, "value")
        self._texts = value.cast(pa.string()).take(number_array(order))

    def of(self, column: pa.Array) -> pa.DictionaryArray:
        """Return the string of each number; null for one that has none."""
        if column.null_count == len(column):
            return pa.nulls(len(column), pa.dictionary(pa.int32(), pa.string()))
        encoded = column.dictionary_encode()
        number = numbers(encoded.dictionary)
        place = np.searchsorted(self._numbers, number)
        is_there = place < len(self._numbers)
        is_there[is_there] = self._numbers[place[is_there]] == number[is_there]
        return recoded(encoded.indices, self._texts.take(number_array(place, is_there)))


class Either(NamedTuple):
    """Texts in two spellings: of the row itself, or a number among the strings."""

    text: pa.DictionaryArray
    registered: pa.DictionaryArray

    def joined(self) -> pa.DictionaryArray:
        """Return the text of each row, of whichever spelling it has."""
        if self.registered.null_count == len(self.registered):
            return recoded(self.text.indices, self.text.dictionary)
        if self.text.null_count == len(self.text):
            return self.registered
        both = pa.concat_arrays([self.text.dictionary, self.registered.dictionary])
        other = pc.add(self.registered.indices, len(self.text.dictionary))
        return recoded(pc.coalesce(self.text.indices, other.cast(pa.int32())), both)
