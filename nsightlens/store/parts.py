"""The Parquet files of one run, written as its reports come, in memory that does not grow.

Rows of a table and GPU are gathered until they are worth a row group: small reports would else
make thousands of tiny ones, which every query has to open.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from nsightlens._version import __version__
from nsightlens.store.checksums import WRITER_OPTIONS
from nsightlens.store.layout import part_path
from nsightlens.store.manifest import PartFile

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Parts"]

_ROW_GROUP_BYTES = 16 << 20
"""[B] Of Arrow data in a row group: tens of thousands of rows of a table."""
_PIECES = 32
"""Tables that are joined to one before they are many: each has dictionaries of its own until then,
and a small table with many columns takes ten times the memory of its bytes."""
_ALL_BYTES = 128 << 20
"""[B] Gathered in all tables together."""
_DICTIONARY_BYTES = 8 << 20
"""[B] Of the distinct values of a column before Parquet writes them as they come: kernel names are
long, and there may be thousands."""


class Parts:
    """The files of one run; a context manager that closes them.

    Parameters
    ----------
    folder
        The folder of the run, which is made.

    Raises
    ------
    OSError
        By every method: something could not be written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[tuple[str, str | None], _Part] = {}
        self._schemas: dict[str, pa.Schema] = {}
        folder.mkdir()

    def __enter__(self) -> Parts:
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as every:  # whatever happens to one of them
            for part in self._open.values():
                every.callback(part.abandon)

    def append(self, table: str, gpu: str | None, rows: pa.Table) -> None:
        """Add rows to a table.

        Parameters
        ----------
        table, gpu
            See `nsightlens.store.layout.part_path`.
        rows
            With the same columns in every call for this table.
        """
        schema = self._schemas.setdefault(table, rows.schema)
        if rows.schema != schema:
            rows = rows.cast(schema)
        part = self._open.get((table, gpu))
        if part is None:
            number = sum(name == table for name, _ in self._open)
            path = part_path(table, gpu, number)
            part = self._open[table, gpu] = _Part(self._folder, path, table, schema)
        part.append(rows)
        if sum(part.gathered_bytes for part in self._open.values()) > _ALL_BYTES:
            max(self._open.values(), key=lambda part: part.gathered_bytes).flush()

    def close(self) -> tuple[PartFile, ...]:
        """Write what is gathered and close the files; return them."""
        return tuple(part.close() for part in self._open.values())


class _Part:
    """One file, written in row groups."""

    def __init__(self, folder: Path, path: str, table: str, schema: pa.Schema) -> None:
        self.gathered_bytes = 0
        self._path = path
        self._table = table
        self._file = folder.joinpath(*path.split("/"))
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._pieces: list[pa.Table] = []
        self._gathered: list[pa.Table] = []
        self._row_count = 0
        self._schema = schema
        self._writer: Any = pq.ParquetWriter(
            self._file,
            schema.with_metadata({**(schema.metadata or {}), b"tool_version": __version__}),
            compression="zstd",
            dictionary_pagesize_limit=_DICTIONARY_BYTES,
            **WRITER_OPTIONS,
        )

    def append(self, rows: pa.Table) -> None:
        if not rows.num_rows:
            return
        self._pieces.append(rows)
        self.gathered_bytes += rows.nbytes
        if len(self._pieces) >= _PIECES:
            self._join_pieces()
        if self.gathered_bytes >= _ROW_GROUP_BYTES:
            self.flush()

    def _join_pieces(self) -> None:
        before = sum(piece.nbytes for piece in self._pieces)
        joined = _joined(self._pieces)
        self.gathered_bytes += joined.nbytes - before
        self._gathered.append(joined)
        self._pieces = []

    def flush(self) -> None:
        if not (self._pieces or self._gathered):
            return
        joined = _joined([*self._gathered, *self._pieces])
        self._pieces, self._gathered, self.gathered_bytes = [], [], 0
        self._writer.write_table(joined, row_group_size=joined.num_rows)
        self._row_count += joined.num_rows

    def close(self) -> PartFile:
        self.flush()
        self._writer.close()
        return PartFile(self._path, self._table, self._row_count, self._file.stat().st_size)

    def abandon(self) -> None:
        """Close the file, whatever becomes of it; one that is closed already stays as it is."""
        try:
            self._writer.close()
        except (OSError, pa.ArrowException):
            pass
        finally:
            # Else it would try once more when it is collected, and complain on stderr.
            self._writer.is_open = False


def _joined(tables: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()
