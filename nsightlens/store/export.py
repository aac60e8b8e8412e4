"""Tables of a report and its labels as a folder of Parquet files, and back.

`write_export` writes one file per table beside a manifest, ``export.json``; `read_export` returns
equal tables, with unit, meaning and source in the field metadata. ``pyarrow.parquet`` is loaded
only when one of them is called.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsightlens import tables
from nsightlens._version import __version__
from nsightlens.errors import (
    NotAReportError,
    OutputError,
    OutputExistsError,
    ReportNotFoundError,
)
from nsightlens.files import is_same, new_folder, status_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa

__all__ = ["MANIFEST", "check_export_place", "read_export", "write_export"]

MANIFEST = "export.json"
_FORMAT = "nsightlens.export"


def check_export_place(
    folder: str | os.PathLike[str], *, force: bool, inputs: Iterable[str | os.PathLike[str]] = ()
) -> None:
    """Refuse a folder that must not be written, before any work is done for it.

    An empty folder may be used. With ``force`` an earlier export is replaced, and nothing else: a
    folder named by mistake may hold what cannot be had again.

    Parameters
    ----------
    folder
        The folder to be written.
    force
        Whether it may be an earlier export.
    inputs
        Files that are read: a folder that holds one of them is never replaced.

    Raises
    ------
    OutputExistsError
        It is an earlier export, and ``force`` is false.
    OutputError
        It holds anything else than the files of an export, holds one of the inputs, is the
        current folder or one above it, is a file, or its parent does not exist.
    """
    path = Path(folder)
    status = status_of(path)
    if status is None:
        return
    if not stat.S_ISDIR(status.st_mode):
        raise OutputError(f"{path} is a file: name a folder.")
    # The folder is replaced by another one, which would leave the user's shell in none.
    here = Path(os.path.realpath(os.curdir))
    if any(is_same(path, above) for above in (here, *here.parents)):
        raise OutputError(f"{path} is the current folder, or one above it: name another folder.")
    for source in inputs:
        if any(is_same(path, above) for above in Path(os.path.realpath(source)).parents):
            raise OutputError(
                f"{path} holds {os.fspath(source)}, which is read: it is not replaced. "
                "Choose another folder."
            )
    names = _names_in(path)
    if not names:
        return
    _check_that_only_an_export_is_lost(path, names)
    if not force:
        raise OutputExistsError(str(path))


def _names_in(path: Path) -> list[str]:
    try:
        return sorted(os.listdir(path))  # noqa: PTH208 - names are enough
    except OSError as error:
        raise OutputError(f"{path} cannot be looked into: {error.strerror or error}.") from error


def _check_that_only_an_export_is_lost(path: Path, names: Sequence[str]) -> None:
    own = _files_of_export(path)
    others = [name for name in names if name not in own or not (path / name).is_file()]
    if others:
        shown = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if others[3:] else "")
        what = "files that are not of its export" if own else "files and no export"
        raise OutputError(
            f"{path} holds {what} ({shown}): it is not replaced, even with --force. "
            "Choose another folder."
        )


def _files_of_export(path: Path) -> set[str]:
    """Return the names of the files that the manifest speaks of, whatever version wrote it."""
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        is_export = manifest["schema"] == _FORMAT
        return (
            {MANIFEST, *(f"{name}.parquet" for name in manifest["tables"])} if is_export else set()
        )
    except (OSError, ValueError, KeyError, TypeError):
        return set()


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
        Paths of the reports that the tables come from, for the manifest. A folder that holds one
        of them is not replaced.
    force
        Replace an earlier export.

    Raises
    ------
    OutputExistsError
        The folder is an earlier export, and ``force`` is false.
    OutputError
        The folder must not be replaced, see `check_export_place`, or could not be written; it is
        as it was.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415

    check_export_place(folder, force=force, inputs=sources)
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
    """Undo what Parquet changes: it renames the items of lists."""
    import pyarrow as pa  # noqa: PLC0415

    types = {
        column.name: column.type for column in tables.SESSIONS if pa.types.is_list(column.type)
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
