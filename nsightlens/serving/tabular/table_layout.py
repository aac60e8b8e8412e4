"""How a file is laid out as a table: its delimiter, and the names of its columns.

Neither the names nor the cells are understood here; see `plain_names` and `table_cells`.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyarrow import parquet

from nsightlens.serving.tabular.table_units import is_unit_row

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nsightlens.serving.opened import OpenedFile

__all__ = ["DAMAGED", "Sniffed", "is_parquet", "names_of", "sniff"]

_DELIMITERS = ("\t", ",", ";", "|")
_LOOKED_AT = 20

DAMAGED = (pa.ArrowException, OSError, ValueError, KeyError, OverflowError, MemoryError)
"""What pyarrow raises where bytes of Parquet are not what they should be."""


class Sniffed(NamedTuple):
    """How a delimited text is laid out.

    Parameters
    ----------
    delimiter
        Between cells.
    names
        Of the columns, as they stand; "" for a column without one.
    units
        Of a second row of header with nothing but units, else "" each.
    skipped_line_count
        Lines before the first row: comments, the header, the row of units.
    """

    delimiter: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    skipped_line_count: int


_sniffed: WeakKeyDictionary[OpenedFile, Sniffed | None] = WeakKeyDictionary()
_parquet_names: WeakKeyDictionary[OpenedFile, tuple[str, ...]] = WeakKeyDictionary()
"""Looked at once, though several formats ask."""


def is_parquet(file: OpenedFile) -> bool:
    """Return whether a file begins as Parquet does."""
    return file.head[:4] == "PAR1"


def names_of(file: OpenedFile) -> tuple[str, ...]:
    """Return the names of the columns; empty where the file is no table."""
    if not is_parquet(file):
        found = sniff(file)
        return found.names if found else ()
    if file not in _parquet_names:
        try:
            _parquet_names[file] = tuple(parquet.read_schema(file.path).names)
        except DAMAGED:
            _parquet_names[file] = ()
    return _parquet_names[file]


def sniff(file: OpenedFile) -> Sniffed | None:
    """Return how a text is laid out as a table; None where it is none.

    The first line that is neither empty nor a comment is the header. The delimiter is the one that
    gives the lines that follow as many cells as the header has.
    """
    if file not in _sniffed:
        _sniffed[file] = None
        if file.is_text and not is_parquet(file) and not file.looks_like_json:
            _sniffed[file] = _layout(file)
    return _sniffed[file]


def _layout(file: OpenedFile) -> Sniffed | None:
    lines = file.head.splitlines()
    if file.byte_count > len(file.head) and len(lines) > 1:
        lines.pop()
    content = [
        (number, line)
        for number, line in enumerate(lines[:400], 1)
        if line.strip() and not line.startswith("#")
    ]
    delimiters: Iterable[str] = _DELIMITERS
    if content and content[0][1].lower().startswith("sep=") and len(content[0][1]) == 5:
        delimiters = content.pop(0)[1][4]
    content = content[: _LOOKED_AT + 1]
    rows: list[list[str]] = []
    best, delimiter = (0.0, 0), ""
    for one in delimiters:
        cells = _cells([line for _, line in content], one)
        if not cells or len(cells[0]) < 2:
            continue
        equal = sum(len(row) == len(cells[0]) for row in cells) / len(cells)
        if (equal, len(cells[0])) > best:
            best, rows, delimiter = (equal, len(cells[0])), cells, one
    if not delimiter or best[0] < 0.4 or any(len(name) > 200 for name in rows[0]):
        return None
    names = tuple(_name(one) for one in rows[0])
    units = ("",) * len(names)
    skipped = content[0][0]
    if len(rows) > 1 and len(rows) == len(content) and is_unit_row(rows[1], len(names)):
        units, skipped = tuple(one.strip() for one in rows[1]), content[1][0]
    return Sniffed(delimiter, names, units, skipped)


def _name(text: str) -> str:
    name = text.strip().strip("\ufeff")
    return "" if name.lower().startswith("unnamed:") else name


def _cells(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    try:
        return list(csv.reader(lines, delimiter=delimiter))
    except csv.Error:
        return []
