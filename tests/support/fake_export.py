"""Tables of a fake trace in the formats of ``nsys export``."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    Rows = Sequence[Mapping[str, Any]]

SUFFIXES = {"sqlite": ".sqlite", "arrowdir": "_arwdir", "parquetdir": "_pqtdir"}
"""What the default output adds to the name of the report, by format."""


def export(tables: Mapping[str, Rows], form: str, path: Path) -> None:
    """Write tables as a SQLite file, or as a folder of Arrow streams or Parquet files."""
    if form == "sqlite":
        _sqlite(tables, path)
    else:
        path.mkdir(exist_ok=True)
        for name, rows in tables.items():
            _file(name, rows, form, path)


def _sqlite(tables: Mapping[str, Rows], path: Path) -> None:
    with closing(sqlite3.connect(path)) as file:
        for name, rows in tables.items():
            columns = ", ".join(f'"{column}" {_type(rows, column)}' for column in rows[0])
            file.execute(f"CREATE TABLE {name} ({columns})")
            places = ", ".join("?" * len(rows[0]))
            values = [tuple(row.values()) for row in rows]
            file.executemany(f"INSERT INTO {name} VALUES ({places})", values)
        file.commit()


def _type(rows: Rows, column: str) -> str:
    is_text = any(isinstance(row[column], str) for row in rows)
    return "TEXT" if is_text or column == "text" else "INTEGER"


def _file(name: str, rows: Rows, form: str, folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [
        pa.field(column, pa.string() if _type(rows, column) == "TEXT" else pa.int64())
        for column in rows[0]
    ]
    table = pa.Table.from_pylist([dict(row) for row in rows], schema=pa.schema(fields))
    if form == "parquetdir":
        pq.write_table(table, folder / f"{name}.parquet")
        return
    with pa.ipc.new_stream(folder / f"{name}.arrow", table.schema) as stream:
        stream.write_table(table)
