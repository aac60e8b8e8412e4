"""An export in SQLite, read column by column in windows of rows.

What costs most is to make a Python object of every value. A column that has the same value all
along, as most have for long stretches (the device, the process, what was not recorded), is
therefore not fetched: one question per window asks SQLite whether such columns still hold their
values. On a million kernels that halves the time.

The file is opened read-only and as immutable, so that nothing appears beside it.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nsightlens.arrays import number_array
from nsightlens.errors import NotATraceError, ReportNotFoundError
from nsightlens.nsys.raw import TYPES, assembled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nsightlens.nsys.raw import Kind

__all__ = ["SqliteExport"]

_WINDOW = 16384
"""[row] Few enough for the objects of a window to stay in the processor's cache."""

_NULL = -(2**63)
"""Stands for null among whole numbers; no id, size or time has this value."""

_AGAIN = "Export it again: nsys export --type sqlite --force-overwrite true REPORT.nsys-rep"


class SqliteExport:
    """An export in SQLite; see `nsightlens.nsys.raw.Export`.

    Parameters
    ----------
    path
        Where the file lies.
    shown
        What messages call it.

    Raises
    ------
    NotATraceError
        Its list of tables cannot be read.
    """

    form = "sqlite"

    def __init__(self, path: str, shown: str) -> None:
        self.shown = shown
        address = f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1"
        try:
            self._file = sqlite3.connect(address, uri=True, check_same_thread=False)
        except sqlite3.Error as error:
            raise ReportNotFoundError(f"{shown}: cannot be read: {error}.") from error
        try:
            with self._faults("list of tables"):
                names = self._file.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'table'"
                ).fetchall()
        except BaseException:
            self.close()
            raise
        self.table_names = frozenset(str(name) for (name,) in names)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def columns_of(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table; none where there is no such table."""
        if table not in self.table_names:
            return ()
        with self._faults(table):
            return tuple(
                str(row[1]) for row in self._file.execute(f"PRAGMA table_info({_q(table)})")
            )

    def read(self, table: str, wanted: Mapping[str, Kind]) -> pa.Table:
        """Return columns of a table; see `nsightlens.nsys.raw.Export.read`."""
        has = set(self.columns_of(table))
        present = {name: kind for name, kind in wanted.items() if name in has}
        pieces: dict[str, list[pa.Array]] = {name: [] for name in present}
        row_count = 0
        if has:
            with self._faults(table):
                for count, window in self._windows(table, present):
                    row_count += count
                    for name, array in window.items():
                        pieces[name].append(array)
        return assembled(wanted, pieces if row_count else {}, row_count)

    def _windows(
        self, table: str, present: Mapping[str, Kind]
    ) -> Iterator[tuple[int, dict[str, pa.Array]]]:
        """Yield the number of rows and the columns of each window."""
        constant: dict[str, Any] = {}
        for where, bounds in self._bounds(table):
            if constant and not self._are_constant(table, constant, where, bounds):
                constant = {}
            asked = {name: kind for name, kind in present.items() if name not in constant}
            count, window = self._window(table, asked, where, bounds)
            if not count:
                continue
            for name, value in constant.items():
                window[name] = _repeated(value, present[name], count)
            if not constant:
                constant = {
                    name: array[0].as_py() for name, array in window.items() if _is_constant(array)
                }
            yield count, window

    def _bounds(self, table: str) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield a condition, and its parameters, for each window of rows."""
        of = _q(table)
        try:
            self._file.execute(f"SELECT rowid FROM {of} LIMIT 1").fetchone()
        except sqlite3.OperationalError:  # a table WITHOUT ROWID: nsys makes none, and small
            yield "1", ()
            return
        low = _NULL
        ask = f"SELECT rowid FROM {of} WHERE rowid > ? ORDER BY rowid LIMIT 1 OFFSET {_WINDOW - 1}"
        while True:
            last = self._file.execute(ask, (low,)).fetchone()
            if last is None:
                yield "rowid > ?", (low,)
                return
            yield "rowid > ? AND rowid <= ?", (low, last[0])
            low = last[0]

    def _are_constant(
        self, table: str, constant: Mapping[str, Any], where: str, bounds: tuple[int, ...]
    ) -> bool:
        """Tell whether columns hold the same value in every row of a window."""
        differs = " OR ".join(f"{_q(name)} IS NOT ?" for name in constant)
        ask = f"SELECT EXISTS(SELECT 1 FROM {_q(table)} WHERE {where} AND ({differs}))"
        return not self._file.execute(ask, (*bounds, *constant.values())).fetchone()[0]

    def _window(
        self, table: str, asked: Mapping[str, Kind], where: str, bounds: tuple[int, ...]
    ) -> tuple[int, dict[str, pa.Array]]:
        """Return the number of rows of a window, and the columns asked for."""
        source = f"FROM {_q(table)} WHERE {where}"
        columns: dict[str, pa.Array] = {}
        count = None
        whole = [name for name, kind in asked.items() if kind == "whole"]
        if whole:
            listed = ", ".join(f"ifnull({_q(name)}, {_NULL})" for name in whole)
            rows = self._file.execute(f"SELECT {listed} {source}", bounds).fetchall()
            count = len(rows)
            try:
                values = np.fromiter(chain.from_iterable(rows), np.int64, count * len(whole))
            except (ValueError, TypeError, OverflowError) as error:
                raise self._wrong_type(table, whole, "integer", "a whole number") from error
            for name, column in zip(whole, values.reshape(-1, len(whole)).T.copy(), strict=True):
                columns[name] = number_array(column, column != _NULL)
        for name, kind in asked.items():
            if kind != "whole":
                columns[name] = self._objects(table, name, kind, f"{source}", bounds)
                count = len(columns[name])
        if count is None:
            count = int(self._file.execute(f"SELECT count(*) {source}", bounds).fetchone()[0])
        return count, columns

    def _objects(
        self, table: str, name: str, kind: Kind, source: str, bounds: tuple[int, ...]
    ) -> pa.Array:
        """Return a column of texts or real numbers of a window."""
        # Numbers in a column of texts are texts too, as SQLite sees it.
        listed = f"CAST({_q(name)} AS TEXT)" if kind == "text" else _q(name)
        ask = f"SELECT {listed} {source}"
        try:
            rows = self._file.execute(ask, bounds).fetchall()
        except sqlite3.OperationalError as error:
            if "UTF-8" not in str(error):
                raise
            # Windows puts what its user typed into exports as it is. From here on with care.
            self._file.text_factory = _any_text
            rows = self._file.execute(ask, bounds).fetchall()
        try:
            if kind == "text":
                return pa.array(chain.from_iterable(rows), pa.string()).dictionary_encode()
            return pa.array(chain.from_iterable(rows), pa.float64())
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise self._wrong_type(table, [name], "real', 'integer", "a number") from error

    def _wrong_type(
        self, table: str, columns: Sequence[str], good: str, expected: str
    ) -> NotATraceError:
        """Say which of some columns holds what it must not."""
        for name in columns:
            odd = self._file.execute(
                f"SELECT typeof({_q(name)}), CAST({_q(name)} AS TEXT) FROM {_q(table)}"
                f" WHERE typeof({_q(name)}) NOT IN ('{good}', 'null') LIMIT 1"
            ).fetchone()
            if odd is not None:
                kind, value = odd
                found = (
                    f"column {name} holds the {kind} {str(value)[:40]!r}, where {expected} must be"
                )
                return NotATraceError(self.shown, found, _AGAIN, where=(table,))
        listed = ", ".join(columns)
        return NotATraceError(
            self.shown, f"one of the columns {listed} is not {expected}", _AGAIN, where=(table,)
        )

    @contextmanager
    def _faults(self, table: str) -> Iterator[None]:
        """Turn what SQLite says of a damaged file into an error of ours."""
        try:
            yield
        except sqlite3.Error as error:
            problem = f"SQLite cannot read it: {error}"
            raise NotATraceError(self.shown, problem, _AGAIN, where=(table,)) from error


def _q(name: str) -> str:
    """Return a name as SQL quotes it."""
    quoted = name.replace('"', '""')
    return f'"{quoted}"'


def _any_text(content: bytes) -> str:
    return content.decode("utf-8", "backslashreplace")


def _is_constant(array: pa.Array) -> bool:
    if array.null_count == len(array):
        return True
    if array.null_count or not pa.types.is_integer(array.type):
        return False
    values = np.asarray(array)
    return bool((values == values[0]).all())


def _repeated(value: Any, kind: Kind, count: int) -> pa.Array:
    if value is None:
        return pa.nulls(count, TYPES[kind])
    return number_array(np.full(count, value, dtype=np.int64))
