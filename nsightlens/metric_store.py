"""MetricStore: every raw metric of every launch, kept once, as flat columns.

`nsightlens.readers` fills it, `nsightlens.metrics` derives columns from it, and
`nsightlens.report` shows it as a long table or one column per metric.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["MetricKind", "MetricStore", "concat_stores"]


class MetricKind:
    """How the report stores the value of a metric."""

    NULL = 0
    INTEGER = 1
    DOUBLE = 2
    TEXT = 3


@dataclass(frozen=True, eq=False)
class MetricStore:
    """Every scalar value of every launch, as parallel columns with one entry per stored value.

    Where a result stores a metric twice, the last one counts, as in NVIDIA's reader.

    Parameters
    ----------
    launch_count
        Number of launches; rows are 0 <= row < launch_count.
    names
        Metric names; ``name[i]`` is an index into it.
    row, name, kind
        Launch row, name index and `MetricKind` of each value. Shape (n,).
    value
        The value as float64; meaningless where kind is NULL or TEXT. Shape (n,).
    integer
        The exact value where kind is INTEGER. Shape (n,).
    text
        Values of kind TEXT by position i.
    """

    launch_count: int
    names: tuple[str, ...]
    row: NDArray[np.uint32]
    name: NDArray[np.uint32]
    kind: NDArray[np.uint8]
    value: NDArray[np.float64]
    integer: NDArray[np.uint64]
    text: dict[int, str] = field(default_factory=dict)

    @cached_property
    def _entries_by_name(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Entries sorted by name (stable), and where each name begins in that order."""
        # NumPy sorts 16-bit integers by radix, several times faster than wider ones.
        is_narrow = len(self.names) < 1 << 16
        order = np.argsort(self.name.astype(np.uint16) if is_narrow else self.name, kind="stable")
        starts = np.searchsorted(self.name[order], np.arange(len(self.names) + 1))
        return order, starts

    @cached_property
    def index_of(self) -> dict[str, int]:
        """Index of each name."""
        return {name: i for i, name in enumerate(self.names)}

    def entries(self, name: str) -> NDArray[np.intp]:
        """Return the positions of a metric's values, at most one per launch, in row order."""
        index = self.index_of.get(name)
        if index is None:
            return np.empty(0, dtype=np.intp)
        order, starts = self._entries_by_name
        found = order[starts[index] : starts[index + 1]]
        if len(found) < 2:
            return found
        rows = self.row[found]
        is_last = np.append(rows[1:] != rows[:-1], True)
        last: NDArray[np.intp] = found[is_last]
        return last

    def column(self, name: str) -> pa.Array:
        """Return one metric as an Arrow array with one element per launch.

        Returns
        -------
        pyarrow.Array
            uint64 where every value is an integer, string where every value is text, else
            float64. Null where the launch has no value. All null (float64) for an unknown name.
        """
        found = self.entries(name)
        kinds = self.kind[found]
        with_value = found[kinds != MetricKind.NULL]
        kinds = kinds[kinds != MetricKind.NULL]
        if len(with_value) and (kinds == MetricKind.TEXT).all():
            texts: list[str | None] = [None] * self.launch_count
            for entry in with_value.tolist():
                texts[int(self.row[entry])] = self.text[entry]
            return pa.array(texts, type=pa.string())
        if len(with_value) and (kinds == MetricKind.INTEGER).all():
            return self._scatter(with_value, self.integer)
        return self._scatter(with_value[kinds != MetricKind.TEXT], self.value)

    def _scatter(self, entries: NDArray[np.intp], source: NDArray[Any]) -> pa.Array:
        values = np.zeros(self.launch_count, dtype=source.dtype)
        missing = np.ones(self.launch_count, dtype=bool)
        rows = self.row[entries]
        values[rows] = source[entries]
        missing[rows] = False
        return pa.array(values, mask=missing)

    def number(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return one metric as float64 and a mask that is true where the launch has a value."""
        values = np.full(self.launch_count, np.nan)
        has_value = np.zeros(self.launch_count, dtype=bool)
        found = self.entries(name)
        kinds = self.kind[found]
        numeric = found[(kinds == MetricKind.INTEGER) | (kinds == MetricKind.DOUBLE)]
        rows = self.row[numeric]
        values[rows] = self.value[numeric]
        has_value[rows] = True
        return values, has_value

    @cached_property
    def kept_entries(self) -> NDArray[np.intp]:
        """Entries in file order without those that a later one of the same launch replaces."""
        key = self.row.astype(np.uint64) * max(len(self.names), 1) + self.name
        _, first_from_end = np.unique(key[::-1], return_index=True)
        return np.sort(len(key) - 1 - first_from_end)

    def take(self, rows: NDArray[np.intp]) -> MetricStore:
        """Return the store of some launches, in this order of rows, without unused names.

        Parameters
        ----------
        rows
            Launch rows to keep, ascending. Shape (k,).
        """
        new_row = np.full(self.launch_count, -1, dtype=np.int64)
        new_row[rows] = np.arange(len(rows))
        entries = np.flatnonzero(new_row[self.row] >= 0) if len(self.row) else np.empty(0, np.intp)
        used, name = np.unique(self.name[entries], return_inverse=True)
        positions = enumerate(entries.tolist()) if self.text else ()
        return MetricStore(
            launch_count=len(rows),
            names=tuple(self.names[i] for i in used.tolist()),
            row=new_row[self.row[entries]].astype(np.uint32),
            name=name.astype(np.uint32),
            kind=self.kind[entries],
            value=self.value[entries],
            integer=self.integer[entries],
            text={new: self.text[old] for new, old in positions if old in self.text},
        )


def concat_stores(stores: Sequence[MetricStore]) -> MetricStore:
    """Join stores: the launches of each follow those of the one before it."""
    names = tuple(dict.fromkeys(name for store in stores for name in store.names))
    index_of = {name: i for i, name in enumerate(names)}
    rows, name_ids = [], []
    text: dict[int, str] = {}
    first_row = first_entry = 0
    for store in stores:
        translate = np.array([index_of[name] for name in store.names] or [0], dtype=np.uint32)
        rows.append(store.row + np.uint32(first_row))
        name_ids.append(translate[store.name] if len(store.name) else store.name)
        text.update({entry + first_entry: value for entry, value in store.text.items()})
        first_row += store.launch_count
        first_entry += len(store.row)
    return MetricStore(
        launch_count=first_row,
        names=names,
        row=np.concatenate(rows),
        name=np.concatenate(name_ids),
        kind=np.concatenate([store.kind for store in stores]),
        value=np.concatenate([store.value for store in stores]),
        integer=np.concatenate([store.integer for store in stores]),
        text=text,
    )
