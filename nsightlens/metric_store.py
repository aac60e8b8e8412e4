"""MetricStore: every raw metric of every launch, kept once, one column per metric.

Readers fill it (`nsightlens.ncurep` straight from the bytes of a report), `nsightlens.metrics`
derives columns from it, and `nsightlens.report` shows it as a long table or one column per metric.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from nsightlens.arrays import number_array

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = [
    "ABSENT",
    "Absent",
    "LongMetrics",
    "MetricColumn",
    "MetricKind",
    "MetricStore",
    "StorePart",
    "concat_stores",
    "store_of_values",
]


class MetricKind:
    """How a report stores the value of a metric.

    ABSENT: the launch does not have the metric. NULL: it has it, without a value of its own.
    """

    ABSENT = 0
    NULL = 1
    INTEGER = 2
    DOUBLE = 3
    TEXT = 4


class Absent(Enum):
    """The type of `ABSENT`."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT
"""In `store_of_values`: the launch does not have the metric at all."""

_NO_TEXTS = pa.nulls(0, pa.string())  # pa.array would load pandas, at an import


class MetricColumn(NamedTuple):
    """One metric of n launches.

    ``raw`` holds the bits of a float64, a uint64, or the index of a text, as ``kind``
    (`MetricKind`) says for each launch. Shapes (n,), dtypes uint64 and uint8. ``kinds`` has bit k
    set where kind k occurs, as far as whoever made the column knows: 0 where nobody looked.
    """

    raw: NDArray[np.uint64]
    kind: NDArray[np.uint8]
    kinds: int = 0


def kinds_of(column: MetricColumn) -> int:
    """Return which kinds occur in a column: bit k for kind k."""
    if column.kinds or not len(column.kind):
        return column.kinds
    return int(np.bitwise_or.reduce(np.left_shift(1, column.kind, dtype=np.uint8)))


_ALL_DOUBLE, _ALL_INTEGER = 1 << MetricKind.DOUBLE, 1 << MetricKind.INTEGER
_ARROW_TYPES = {_ALL_DOUBLE: pa.float64(), _ALL_INTEGER: pa.uint64()}
_WITHOUT_VALUE = 1 << MetricKind.ABSENT | 1 << MetricKind.NULL


@dataclass(frozen=True, eq=False)
class StorePart:
    """The metrics of consecutive launches, such as those of one file.

    Parameters
    ----------
    launch_count
        Number of launches n.
    columns
        A column of n launches per metric, in the order in which the file first stores them.
    texts
        Values of kind TEXT, by the index that ``raw`` holds.
    rounding
        For values that were read from printed text: how far the true value may lie from it, in
        the metric's unit, shape (n,); 0 where it was printed exactly. A metric that is not in it
        is exact.
    """

    launch_count: int
    columns: Mapping[str, MetricColumn]
    texts: pa.StringArray = field(default_factory=lambda: _NO_TEXTS)
    rounding: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Callable[..., StorePart], tuple[Any, ...]]:
        # As two matrices: to pickle an array costs more than the few values of a launch or two.
        raw = _stacked([column.raw for column in self.columns.values()], self.launch_count, "u8")
        kind = _stacked([column.kind for column in self.columns.values()], self.launch_count, "u1")
        return _unpickled, (tuple(self.columns), raw, kind, self.texts, dict(self.rounding))


def _unpickled(
    names: Sequence[str],
    raw: NDArray[np.uint64],
    kind: NDArray[np.uint8],
    texts: pa.StringArray,
    rounding: Mapping[str, NDArray[np.float64]],
) -> StorePart:
    columns = {name: MetricColumn(raw[i], kind[i]) for i, name in enumerate(names)}
    return StorePart(raw.shape[1], columns, texts, rounding)


class LongMetrics(NamedTuple):
    """Every stored value of a `MetricStore`, by launch and then in the order of its names.

    ``row`` is the launch, ``name`` an index into ``names`` of the store, ``kind`` a `MetricKind`
    (never ABSENT), ``value`` float64 (meaningless for NULL and TEXT), ``integer`` the exact value
    of an INTEGER, ``text`` an Arrow array, null but for TEXT, ``rounding`` as in `StorePart`.
    Shapes (m,).
    """

    row: NDArray[np.intp]
    name: NDArray[np.intp]
    kind: NDArray[np.uint8]
    value: NDArray[np.float64]
    integer: NDArray[np.uint64]
    text: pa.StringArray
    rounding: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MetricStore:
    """Every scalar value of every launch, as one column per metric.

    Where a result stores a metric twice, the last one counts, as in NVIDIA's reader.

    Parameters
    ----------
    parts
        The launches of each file, one behind the other.
    """

    parts: tuple[StorePart, ...]

    @cached_property
    def launch_count(self) -> int:
        """Number of launches n; rows are 0 <= row < n."""
        return sum(part.launch_count for part in self.parts)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all metrics that some launch has."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.columns))

    @cached_property
    def index_of(self) -> dict[str, int]:
        """Index of each name."""
        return {name: i for i, name in enumerate(self.names)}

    def kind(self, name: str) -> NDArray[np.uint8]:
        """Return the `MetricKind` of one metric in every launch. Shape (n,)."""
        return self._joined(
            [
                part.columns[name].kind
                if name in part.columns
                else np.zeros(part.launch_count, dtype=np.uint8)
                for part in self.parts
            ],
            np.uint8,
        )

    def number(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return one metric as float64 and a mask that is true where the launch has a value."""
        pieces = [_numbers(part, name) for part in self.parts]
        return (
            self._joined([values for values, _ in pieces], np.float64),
            self._joined([has_value for _, has_value in pieces], np.bool_),
        )

    def non_finite_count(self, is_counted: Callable[[str], bool]) -> NDArray[np.int64]:
        """Count, for each launch, the metrics stored as a number that is none. Shape (n,).

        Parameters
        ----------
        is_counted
            Says of a name whether that metric counts.
        """
        counts = []
        for part in self.parts:
            count = np.zeros(part.launch_count, dtype=np.int64)
            for name, column in part.columns.items():
                # Common integers and indices of texts, read as float64, are finite: one look is
                # enough for nearly every metric of a report, and there are hundreds.
                is_finite = np.isfinite(column.raw.view(np.float64))
                if not is_finite.all() and is_counted(name):
                    count += ~is_finite & (column.kind == MetricKind.DOUBLE)
            counts.append(count)
        return self._joined(counts, np.int64)

    def rounding(self, name: str) -> NDArray[np.float64]:
        """Return how far each true value may lie from the stored one, in the metric's unit.

        0 where the value is exact, as every value of a .ncu-rep file is; NaN where the launch has
        no number. Shape (n,).
        """
        pieces = [
            np.where(
                _numbers(part, name)[1],
                part.rounding.get(name, np.zeros(part.launch_count)),
                np.nan,
            )
            for part in self.parts
        ]
        return self._joined(pieces, np.float64)

    def column(self, name: str) -> pa.Array:
        """Return one metric as an Arrow array with one element per launch.

        Returns
        -------
        pyarrow.Array
            uint64 where every value is an integer, string where every value is text, else
            float64. Null where the launch has no value. All null (float64) for an unknown name.
        """
        kinds = 0
        for part in self.parts:
            found = part.columns.get(name)
            kinds |= 1 << MetricKind.ABSENT if found is None else kinds_of(found)
        if len(self.parts) == 1 and kinds in _ARROW_TYPES:
            # As nearly every metric of a report is; there are hundreds.
            buffers = [None, pa.py_buffer(self.parts[0].columns[name].raw)]
            return pa.Array.from_buffers(_ARROW_TYPES[kinds], self.launch_count, buffers, 0)
        kinds &= ~_WITHOUT_VALUE
        if kinds == 1 << MetricKind.TEXT:
            return pa.concat_arrays([_texts(part, name) for part in self.parts])
        if kinds == _ALL_INTEGER:
            pieces = [_integers(part, name) for part in self.parts]
            values = self._joined([piece for piece, _ in pieces], np.uint64)
            return number_array(
                values, self._joined([has_value for _, has_value in pieces], np.bool_)
            )
        return number_array(*self.number(name))

    def long(self) -> LongMetrics:
        """Return every stored value."""
        pieces = []
        first_row = 0
        for part in self.parts:
            piece = _long(part, self.index_of)
            pieces.append(piece._replace(row=piece.row + first_row))
            first_row += part.launch_count
        if len(pieces) == 1:
            return pieces[0]
        columns: list[Any] = [
            (pa.concat_arrays if name == "text" else np.concatenate)(
                [getattr(piece, name) for piece in pieces]
            )
            for name in LongMetrics._fields
        ]
        return LongMetrics(*columns)

    def take(self, rows: NDArray[np.intp]) -> MetricStore:
        """Return the store of some launches, in this order of rows, without unused names.

        Parameters
        ----------
        rows
            Launch rows to keep, ascending. Shape (k,).
        """
        parts = []
        first_row = 0
        for part in self.parts:
            begin, end = np.searchsorted(rows, (first_row, first_row + part.launch_count))
            parts.append(_taken(part, rows[begin:end] - first_row))
            first_row += part.launch_count
        return MetricStore(tuple(parts))

    @staticmethod
    def _joined(pieces: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate(pieces) if pieces else np.empty(0, dtype=dtype)


def _numbers(part: StorePart, name: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    found = part.columns.get(name)
    if found is None:
        return np.full(part.launch_count, np.nan), np.zeros(part.launch_count, dtype=bool)
    raw, kind = found.raw, found.kind
    is_double = kind == MetricKind.DOUBLE
    if kinds_of(found) == _ALL_DOUBLE:
        return raw.view(np.float64), is_double
    is_integer = kind == MetricKind.INTEGER
    values = np.where(is_double, raw.view(np.float64), np.nan)
    values[is_integer] = raw[is_integer]
    return values, is_double | is_integer


def _integers(part: StorePart, name: str) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    found = part.columns.get(name)
    if found is None:
        missing = np.zeros(part.launch_count, dtype=bool)
        return np.zeros(part.launch_count, dtype=np.uint64), missing
    return found.raw, found.kind == MetricKind.INTEGER


def _texts(part: StorePart, name: str) -> pa.StringArray:
    found = part.columns.get(name)
    if found is None:
        return pa.nulls(part.launch_count, pa.string())
    return part.texts.take(number_array(found.raw, found.kind == MetricKind.TEXT))


def _long(part: StorePart, index_of: Mapping[str, int]) -> LongMetrics:
    count = part.launch_count
    columns = list(part.columns.values())
    kinds = _stacked([column.kind for column in columns], count, np.uint8)
    row, column_index = np.nonzero(kinds.T)
    kind = kinds[column_index, row]
    raw = _stacked([column.raw for column in columns], count, np.uint64)[column_index, row]
    is_integer, is_double = kind == MetricKind.INTEGER, kind == MetricKind.DOUBLE
    value = np.where(is_double, raw.view(np.float64), 0.0)
    value[is_integer] = raw[is_integer]
    rounding = np.zeros(len(row))
    if part.rounding:
        exact = np.zeros(count)
        table = np.array([part.rounding.get(name, exact) for name in part.columns])
        rounding = table[column_index, row]
    name_index = np.array([index_of[name] for name in part.columns], dtype=np.intp)
    return LongMetrics(
        row=row,
        name=name_index[column_index] if columns else np.empty(0, dtype=np.intp),
        kind=kind,
        value=value,
        integer=np.where(is_integer, raw, np.uint64(0)),
        text=part.texts.take(number_array(raw, kind == MetricKind.TEXT)),
        rounding=rounding,
    )


def _stacked(columns: Sequence[NDArray[Any]], count: int, dtype: Any) -> NDArray[Any]:
    return np.stack(columns) if columns else np.empty((0, count), dtype=dtype)


def _taken(part: StorePart, rows: NDArray[np.intp]) -> StorePart:
    columns = {
        name: MetricColumn(column.raw[rows], column.kind[rows])
        for name, column in part.columns.items()
        if column.kind[rows].any()
    }
    rounding = {name: one[rows] for name, one in part.rounding.items() if name in columns}
    return StorePart(len(rows), columns, part.texts, rounding)


def concat_stores(stores: Sequence[MetricStore]) -> MetricStore:
    """Join stores: the launches of each follow those of the one before it."""
    return MetricStore(tuple(part for store in stores for part in store.parts))


def store_of_values(
    launch_count: int,
    values: Mapping[str, Sequence[int | float | str | Absent | None]],
    rounding: Mapping[str, NDArray[np.float64]] | None = None,
) -> MetricStore:
    """Return a store of values that are Python objects.

    Parameters
    ----------
    launch_count
        Number of launches n.
    values
        Per metric, one value for each launch: an integer of at most 64 bits without sign, a
        number, a text, None for a metric that is stored without a value, or `ABSENT`.
    rounding
        See `StorePart`.

    Examples
    --------
    >>> store = store_of_values(2, {"a": [1, ABSENT], "b": [0.5, None]})
    >>> store.column("a").to_pylist(), store.column("b").to_pylist()
    ([1, None], [0.5, None])
    """
    texts: dict[str, int] = {}
    columns: dict[str, MetricColumn] = {}
    for name, given in values.items():
        plain = _column_of_numbers(given)
        if plain is not None:
            columns[name] = plain
            continue
        raw = np.zeros(launch_count, dtype=np.uint64)
        kind = np.zeros(launch_count, dtype=np.uint8)
        as_double = raw.view(np.float64)
        for row, value in enumerate(given):
            if value is None:
                kind[row] = MetricKind.NULL
            elif isinstance(value, str):
                kind[row], raw[row] = MetricKind.TEXT, texts.setdefault(value, len(texts))
            elif isinstance(value, float):
                kind[row], as_double[row] = MetricKind.DOUBLE, value
            elif isinstance(value, int):
                kind[row], raw[row] = MetricKind.INTEGER, value
        columns[name] = MetricColumn(raw, kind)
    part = StorePart(launch_count, columns, pa.array(texts, type=pa.string()), rounding or {})
    return MetricStore((part,))


def _column_of_numbers(given: Sequence[Any]) -> MetricColumn | None:
    """Return the column of values that are all floats or all integers, else None.

    Nearly every metric is one of the two, and a look at each value takes ten times longer.
    """
    types = set(map(type, given))
    if types == {float}:
        raw, kind = np.array(given, dtype=np.float64).view(np.uint64), MetricKind.DOUBLE
    elif types == {int}:
        raw, kind = np.array(given, dtype=np.uint64), MetricKind.INTEGER
    else:
        return None
    return MetricColumn(raw, np.full(len(raw), kind, dtype=np.uint8), 1 << kind)
