"""An export as a folder of files, one per table: Arrow IPC streams, or Parquet."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from nsightlens.errors import NotATraceError, ReportNotFoundError
from nsightlens.nsys.raw import TYPES, assembled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from nsightlens.nsys.raw import Kind

__all__ = ["SUFFIXES", "FolderExport"]

SUFFIXES = {".arrow": "arrowdir", ".parquet": "parquetdir"}
"""Of the files of a folder, and what nsys calls such an export."""

_AGAIN = "Export it again: nsys export --type {} --force-overwrite true REPORT.nsys-rep"


class FolderExport:
    """An export as a folder; see `nsightlens.nsys.raw.Export`.

    Parameters
    ----------
    files
        The file of each table; all have the same suffix, one of `SUFFIXES`.
    form
        What nsys calls it: ``arrowdir`` or ``parquetdir``.
    shown
        What messages call it.
    """

    def __init__(self, files: Mapping[str, Path], form: str, shown: str) -> None:
        self.form = form
        self.shown = shown
        self.table_names = frozenset(files)
        self._files = files

    def close(self) -> None:
        """Do nothing: every file is closed as soon as it was read."""

    def columns_of(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table; none where there is no such table."""
        if table not in self._files:
            return ()
        with self._faults(table), self._opened(table) as (schema, _):
            return tuple(schema.names)

    def read(self, table: str, wanted: Mapping[str, Kind]) -> pa.Table:
        """Return columns of a table; see `nsightlens.nsys.raw.Export.read`."""
        pieces: dict[str, list[pa.Array]] = {}
        row_count = 0
        if table in self._files:
            with self._faults(table), self._opened(table) as (schema, batches):
                present = {name: kind for name, kind in wanted.items() if name in schema.names}
                for batch in batches(list(present)):
                    row_count += batch.num_rows
                    for name, kind in present.items():
                        column = batch.column(_place_of(batch.schema, name))
                        pieces.setdefault(name, []).append(self._as_kind(table, name, column, kind))
        return assembled(wanted, pieces if row_count else {}, row_count)

    @contextmanager
    def _opened(self, table: str) -> Iterator[tuple[pa.Schema, Any]]:
        """Yield the schema of a table, and what gives batches of some of its columns."""
        path = self._files[table]
        if self.form == "parquetdir":
            import pyarrow.parquet as pq  # noqa: PLC0415 - slow, and few need it

            with pq.ParquetFile(path) as file:
                yield file.schema_arrow, lambda names: file.iter_batches(columns=names)
            return
        with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as stream:
            yield stream.schema, lambda _: stream

    def _as_kind(self, table: str, name: str, column: pa.Array, kind: Kind) -> pa.Array:
        """Return a column of a file in one of our types."""
        found = column.type
        if pa.types.is_dictionary(found):
            column = column.cast(found.value_type)
            found = found.value_type
        if pa.types.is_null(found):
            return pa.nulls(len(column), TYPES[kind])
        is_number = pa.types.is_integer(found) or pa.types.is_boolean(found)
        if kind == "text":
            if pa.types.is_binary(found) or pa.types.is_large_binary(found):
                texts = [None if one is None else _any_text(one) for one in column.to_pylist()]
                return pa.array(texts, pa.string()).dictionary_encode()
            return column.cast(pa.string()).dictionary_encode()
        if is_number or (kind == "real" and pa.types.is_floating(found)):
            # Ids may use the highest bit, as SQLite's whole numbers do.
            return column.cast(TYPES[kind], safe=False)
        if pa.types.is_floating(found):
            return column.cast(TYPES[kind])
        expected = "a whole number" if kind == "whole" else "a number"
        raise NotATraceError(
            self.shown,
            f"column {name} holds values of the type {found}, where {expected} must be",
            _AGAIN.format(self.form),
            where=(table,),
        )

    @contextmanager
    def _faults(self, table: str) -> Iterator[None]:
        """Turn what Arrow says of a damaged file into an error of ours."""
        name = self._files[table].name
        try:
            yield
        except NotATraceError:
            raise
        except (pa.ArrowException, ValueError, UnicodeDecodeError) as error:
            told = " ".join(str(error).split())[:200] or type(error).__name__
            problem = f"Arrow cannot read it: {told.rstrip('.')}"
            again = _AGAIN.format(self.form)
            raise NotATraceError(self.shown, problem, again, where=(name,)) from error
        except OSError as error:
            raise self._unreadable(name, error) from error

    def _unreadable(self, name: str, error: OSError) -> Exception:
        told = " ".join(str(error.strerror or error).split())[:200].rstrip(".")
        if error.errno is None:  # Arrow uses OSError for damaged files too
            again = _AGAIN.format(self.form)
            problem = f"Arrow cannot read it: {told}"
            return NotATraceError(self.shown, problem, again, where=(name,))
        return ReportNotFoundError(f"{self.shown}: {name} cannot be read: {told}.")


def _place_of(schema: pa.Schema, name: str) -> int:
    """Return the place of a column; the first where several have the name."""
    return int(schema.get_all_field_indices(name)[0])


def _any_text(content: bytes) -> str:
    return content.decode("utf-8", "backslashreplace")
