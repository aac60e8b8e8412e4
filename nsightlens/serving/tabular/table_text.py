"""Delimited text, or Parquet -> columns of cells with their names: what a table says, as it is."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from nsightlens.errors import ServingFileError
from nsightlens.serving.part import Note
from nsightlens.serving.tabular.table_layout import DAMAGED, is_parquet, sniff

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.tabular.table_layout import Sniffed

__all__ = ["CellTable", "read_table"]

_SHOWN = 5


@dataclass(frozen=True, eq=False)
class CellTable:
    """Columns of equal length.

    Parameters
    ----------
    names, units
        Of each column: its header as it stands, and the unit of a second row of header.
    columns
        Arrow arrays: text where the file is text, of any type where it is Parquet.
    row_count
        Rows.
    delimiter
        Between cells; "" for Parquet.
    notes
        Rows that were left out.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    columns: tuple[Any, ...]
    row_count: int
    delimiter: str
    notes: tuple[Note, ...] = ()


def read_table(file: OpenedFile, *, most_rows: int | None = None) -> CellTable:
    """Read a whole table.

    Parameters
    ----------
    file
        Delimited text or Parquet.
    most_rows
        Largest number of rows; None for any.

    Returns
    -------
    CellTable
        Rows with more or fewer cells than the header are left out, with a note that names lines.

    Raises
    ------
    ServingFileError
        It is damaged, has no rows, too many, or mostly rows that do not fit the header.
    """
    if is_parquet(file):
        return _read_parquet(file, most_rows)
    layout = sniff(file)
    if layout is None:
        raise ServingFileError(
            file.shown,
            "is no table with a header and columns",
            "Write one header line, and a row per run, separated by commas or tabs.",
        )
    if most_rows is not None and file.byte_count > 2 * most_rows:
        _check_count(file, file.data.count(b"\n") - layout.skipped_line_count, most_rows)
    data = file.data
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"} or not _is_utf8(data):
        data = file.text.encode()
    return _read_text(file, data, layout, most_rows)


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _check_count(file: OpenedFile, count: int, most_rows: int | None) -> None:
    if most_rows is not None and count > most_rows:
        raise ServingFileError(
            file.shown,
            f"has {count} rows, more than the {most_rows} that a table of runs may have",
            "A row is a run: give means of each run, not its single requests or samples.",
        )


def _read_parquet(file: OpenedFile, most_rows: int | None) -> CellTable:
    try:
        with parquet.ParquetFile(file.path) as opened:
            count = opened.metadata.num_rows
            table = opened.read() if most_rows is None or count <= most_rows else None
    except DAMAGED as error:
        raise ServingFileError(
            file.shown,
            f"is Parquet that cannot be read: {_clause(error)}",
            "Write it again, or copy it again from where it is whole.",
        ) from None
    _check_count(file, count, most_rows)
    if table is None or not table.num_rows:
        raise ServingFileError(file.shown, "has no rows", "Write a row per run.")
    columns = tuple(column.combine_chunks() for column in table.columns)
    names = tuple(table.column_names)
    return CellTable(names, ("",) * len(names), columns, table.num_rows, "")


def _clause(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")[:200]


def _read_text(file: OpenedFile, data: bytes, layout: Sniffed, most_rows: int | None) -> CellTable:
    ragged: list[Any] = []

    def skip(row: Any) -> str:
        ragged.append(row)
        return "skip"

    keys = [str(index) for index in range(len(layout.names))]
    try:
        table = arrow_csv.read_csv(
            io.BytesIO(data),
            # One thread, so that rows that do not fit come in order.
            read_options=arrow_csv.ReadOptions(
                use_threads=False,
                skip_rows=layout.skipped_line_count,
                column_names=keys,
                # One block for a small file, and no more memory than it needs.
                block_size=min(1 << 24, len(data) + 1),
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=layout.delimiter, newlines_in_values=True, invalid_row_handler=skip
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(keys, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error) or "Could not skip" in str(error):
            raise _no_rows(file) from None
        raise ServingFileError(
            file.shown,
            f"is no table that can be read: {_clause(error)}",
            "Write it again with a program that writes CSV.",
        ) from None
    ragged = [row for row in ragged if not row.text.lstrip().startswith("#")]
    _check_count(file, table.num_rows, most_rows)
    columns = tuple(column.combine_chunks() for column in table.columns)
    _check_quotes(file, data, columns)
    notes = _ragged_note(file, data, ragged, len(keys), table.num_rows)
    if not table.num_rows:
        raise _no_rows(file)
    return CellTable(layout.names, layout.units, columns, table.num_rows, layout.delimiter, notes)


def _no_rows(file: OpenedFile) -> ServingFileError:
    return ServingFileError(
        file.shown, "has a header and no rows", "Write it again: nothing was measured in it."
    )


def _check_quotes(file: OpenedFile, data: bytes, columns: Sequence[Any]) -> None:
    """Refuse a quote that is never closed: it swallows the rows after it without a trace."""
    if not data.count(b'"') % 2:
        return
    last = [str(column[-1]) for column in columns if len(column)]
    if any("\n" in cell or "\r" in cell for cell in last):
        opened = data.rfind(b'"')
        raise ServingFileError(
            file.shown,
            "has a quote that is never closed",
            "Close it, or write the file again: the rows after it cannot be told apart.",
            where=(f"line {data.count(b'%c' % 10, 0, opened) + 1}",),
        )


def _ragged_note(
    file: OpenedFile, data: bytes, ragged: Sequence[Any], wanted: int, row_count: int
) -> tuple[Note, ...]:
    if not ragged:
        return ()
    places, start = [], 0
    for row in ragged[:_SHOWN]:
        found = data.find(row.text.encode(), start)
        start = max(found, start)
        line = data.count(b"\n", 0, start) + 1
        places.append(f"line {line} ({row.actual_columns})")
    more = f" and {len(ragged) - _SHOWN} more" if len(ragged) > _SHOWN else ""
    shown = ", ".join(places) + more
    if len(ragged) > row_count:
        raise ServingFileError(
            file.shown,
            f"has {wanted} columns in its header, and another number of cells in {shown}",
            "Write it again with a program that writes CSV, with quotes around cells with commas.",
        )
    return (
        Note(
            "ragged_rows",
            f"{file.shown}: rows that have not the {wanted} cells of the header are left out: "
            f"{shown}.",
        ),
    )
