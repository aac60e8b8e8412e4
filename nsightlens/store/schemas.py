"""Schemas of tables as their files have them: restored, and one for files of several versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from nsightlens.errors import DatasetFormatError
from nsightlens.store.layout import schema_of_table
from nsightlens.store.manifest import AGAIN

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["damaged", "schema_of_files", "with_schema"]


def schema_of_files(table: str, files: Iterable[Path]) -> pa.Schema:
    """Return the schema that the files of a table have together.

    A version that adds a column does not change the others: in files of before it is null.

    Parameters
    ----------
    table
        One of `nsightlens.store.layout.TABLES`.
    files
        The newest first; one of each version of nsightlens will do.

    Returns
    -------
    pyarrow.Schema
        With the metadata of its columns; of no file, the schema of this version.

    Raises
    ------
    DatasetFormatError
        A file cannot be read.
    """
    own = schema_of_table(table)
    fields: dict[str, pa.Field] = {}
    for file in files:
        for field in _schema_in(file):
            fields.setdefault(field.name, _restored(field))
    return pa.schema(fields.values(), own.metadata) if fields else own


def with_schema(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return rows as a schema has them, null in the columns that they lack."""
    columns = [
        rows[field.name].cast(field.type)
        if field.name in rows.schema.names
        else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def damaged(place: object, error: Exception) -> DatasetFormatError:
    """Return the diagnosis of a file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        problem, advice = "the file is gone", "If the dataset was replaced, open it again."
        return DatasetFormatError(str(place), problem, advice)
    reason = " ".join(str(error).split()).rstrip(".")
    return DatasetFormatError(str(place), f"cannot be read: {reason}", AGAIN)


def _schema_in(file: Path) -> pa.Schema:
    try:
        return pq.read_schema(file)
    except (OSError, pa.ArrowInvalid) as error:
        raise damaged(file, error) from error


def _restored(field: pa.Field) -> pa.Field:
    """Undo what Parquet changes of a field: it numbers it, and renames the items of lists."""
    metadata = {k: v for k, v in (field.metadata or {}).items() if k != b"PARQUET:field_id"}
    kind = pa.list_(field.type.value_type) if pa.types.is_list(field.type) else field.type
    return pa.field(field.name, kind, field.nullable, metadata or None)
