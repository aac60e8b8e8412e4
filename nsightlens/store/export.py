"""Tables of a report and its labels as a folder of Parquet files, and back.

`write_export` writes one file per table beside a manifest, ``export.json``; `read_export` returns
equal tables, with unit, meaning and source in the field metadata. ``pyarrow.parquet`` is loaded
only when one of them is called.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsightlens import tables
from nsightlens._version import __version__
from nsightlens.errors import NotAReportError, OutputError, ReportNotFoundError
from nsightlens.store.files import check_place, new_folder

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

__all__ = ["MANIFEST", "check_export_place", "read_export", "write_export"]

MANIFEST = "export.json"
_FORMAT = "nsightlens.export"


def check_export_place(folder: str | os.PathLike[str], *, force: bool) -> None:
    """Refuse a folder that must not be written, before any work is done for it.

    An empty folder may be used. With ``force`` an earlier export is replaced, and nothing else: a
    folder named by mistake may hold what cannot be had again.

    Raises
    ------
    OutputExistsError
        It exists, is not empty, and ``force`` is false.
    OutputError
        It holds something else than an export, or its parent does not exist.
    """
    path = Path(folder)
    is_empty = path.is_dir() and not any(path.iterdir())
    check_place(path, force=force or is_empty)
    if not path.exists() or is_empty:
        return
    if not path.is_dir():
        raise OutputError(f"{path} is a file: name a folder.")
    if not (path / MANIFEST).is_file():
        raise OutputError(
            f"{path} holds other files and no export: --force does not replace it. "
            "Choose another folder."
        )


def write_export(
    folder: str | os.PathLike[str],
    contents: Mapping[str, pa.Table],
    *,
    sources: Sequence[str] = (),
    force: bool = False,
) -> None:
    """Write tables to a folder, one Parquet file each.

    Parameters
    ----------
    folder
        The folder to make. It appears only when everything in it is written.
    contents
        Name of each table, such as ``launches``, to the table.
    sources
        Paths of the reports that the tables come from, for the manifest.
    force
        Replace an earlier export.

    Raises
    ------
    OutputExistsError
        The folder exists, is not empty, and ``force`` is false.
    OutputError
        It holds something else than an export, or could not be written; it is as it was.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415

    check_export_place(folder, force=force)
    with new_folder(Path(folder)) as beside:
        try:
            for name, table in contents.items():
                pq.write_table(table, beside / f"{name}.parquet", compression="zstd")
            manifest = _manifest(contents, sources)
            (beside / MANIFEST).write_text(manifest, encoding="utf-8", newline="\n")
        except OSError as error:
            raise OutputError(
                f"{folder} could not be written: {error.strerror or error}."
            ) from error


def _manifest(contents: Mapping[str, pa.Table], sources: Sequence[str]) -> str:
    content = {
        "schema": _FORMAT,
        "schema_version": tables.SCHEMA_VERSION,
        "tool_version": __version__,
        "reports": list(sources),
        "tables": {name: table.num_rows for name, table in contents.items()},
    }
    return json.dumps(content, indent=2) + "\n"


def read_export(folder: str | os.PathLike[str]) -> dict[str, pa.Table]:
    """Read the tables of an export.

    Parameters
    ----------
    folder
        A folder that `write_export` made.

    Returns
    -------
    dict
        Name of each table to the table, equal to what was written.

    Raises
    ------
    ReportNotFoundError
        The folder, or one of its tables, does not exist.
    NotAReportError
        The folder holds no export, or one with another schema version.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415

    path = Path(folder)
    manifest = _read_manifest(path)
    found = {}
    for name, row_count in manifest["tables"].items():
        file = path / f"{name}.parquet"
        if not file.is_file():
            raise ReportNotFoundError(f"{file}: the table is gone. Export the report again.")
        table = pq.read_table(file)
        if table.num_rows != row_count:
            raise NotAReportError(
                str(file),
                f"{table.num_rows} rows instead of the {row_count} that were written",
                "Export the report again.",
            )
        found[name] = _with_types_of_tables(table)
    return found


def _with_types_of_tables(table: pa.Table) -> pa.Table:
    """Undo what Parquet changes: it has no time stamp in seconds and renames items of lists."""
    import pyarrow as pa  # noqa: PLC0415

    types = {
        column.name: column.type
        for column in tables.SESSIONS
        if pa.types.is_timestamp(column.type) or pa.types.is_list(column.type)
    }
    fields = [
        field.with_type(types[field.name]) if field.name in types else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields, metadata=table.schema.metadata))


def _read_manifest(path: Path) -> dict[str, Any]:
    file = path / MANIFEST
    if not file.is_file():
        raise ReportNotFoundError(
            f"{path}: no {MANIFEST} in it. Name a folder that `nsightlens export` made."
        )
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
        version = manifest["schema_version"]
        is_export = manifest["schema"] == _FORMAT
    except (ValueError, KeyError, TypeError):
        is_export, version = False, None
    if not is_export:
        raise NotAReportError(str(file), "not the manifest of an export", "Export again.")
    if version != tables.SCHEMA_VERSION:
        raise NotAReportError(
            str(file),
            f"schema version {version}, and this nsightlens reads {tables.SCHEMA_VERSION}",
            "Export the report again with this version.",
        )
    return dict(manifest)
