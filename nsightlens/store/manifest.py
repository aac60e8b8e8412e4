"""What a dataset says of itself: its marker, and the manifest of each export run.

A manifest lists the files of a run with their sizes and row counts, so that what was cut, lost or
changed is noticed before it is read, and the reports of the run, so that none is added twice.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens import tables
from nsightlens._version import __version__
from nsightlens.errors import DatasetFormatError, ReportNotFoundError
from nsightlens.store.layout import EXPORT, LAYOUT_VERSION, MANIFEST, MARKER

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "Export",
    "PartFile",
    "export_names",
    "is_marked",
    "marker_text",
    "read_export",
    "read_exports",
    "read_marker",
]

_FORMAT = "nsightlens.dataset"
_EXPORT_FORMAT = "nsightlens.dataset.export"
AGAIN = "Export its reports again, with --force (in Python: force=True)."


class PartFile(NamedTuple):
    """One Parquet file of a run.

    Parameters
    ----------
    path
        Where it lies below the folder of its run, with ``/`` between the parts.
    table
        The table that its rows belong to.
    row_count
        Rows in it.
    size_bytes
        [B] Its size.
    """

    path: str
    table: str
    row_count: int
    size_bytes: int


class Export(NamedTuple):
    """One export run of a dataset.

    Parameters
    ----------
    folder
        Where it lies.
    files
        Its Parquet files, in the order in which they were written.
    reports
        ``report_id`` of each of its reports, in order, to its ``options_id``.
    tool_version
        Version of nsightlens that wrote it.
    """

    folder: Path
    files: tuple[PartFile, ...]
    reports: dict[str, str]
    tool_version: str

    @property
    def size_bytes(self) -> int:
        """[B] Of its Parquet files together."""
        return sum(file.size_bytes for file in self.files)

    def place(self, file: PartFile) -> Path:
        """Return where one of its files lies."""
        return self.folder.joinpath(*file.path.split("/"))

    def text(self) -> str:
        """Return the manifest of the run."""
        content = {
            "schema": _EXPORT_FORMAT,
            "schema_version": tables.SCHEMA_VERSION,
            "tool_version": self.tool_version,
            "files": [file._asdict() for file in self.files],
            "reports": self.reports,
        }
        return json.dumps(content, indent=1) + "\n"


def marker_text() -> str:
    """Return the content of the marker of a dataset that this version writes."""
    content = {
        "schema": _FORMAT,
        "layout_version": LAYOUT_VERSION,
        "schema_version": tables.SCHEMA_VERSION,
        "tool_version": __version__,
    }
    return json.dumps(content, indent=1) + "\n"


def read_marker(root: Path) -> None:
    """See whether a folder is a dataset that this version can read.

    Raises
    ------
    ReportNotFoundError
        There is no such folder, or no marker in it.
    DatasetFormatError
        The marker is none, or of another version.
    """
    file = root / MARKER
    try:
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise ReportNotFoundError(
            f"{root}: no {MARKER} in it. Name a folder that `nsightlens export` made."
        ) from None
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from error
    content = _parsed(text)
    if content.get("schema") != _FORMAT:
        raise DatasetFormatError(str(file), "not the marker of a dataset", "Export again.")
    versions = (("layout_version", LAYOUT_VERSION), ("schema_version", tables.SCHEMA_VERSION))
    for name, ours in versions:
        found = content.get(name)
        if found != ours:
            problem = f"{name.replace('_', ' ')} {found}, and this nsightlens reads {ours}"
            raise DatasetFormatError(str(root), problem, AGAIN)


def is_marked(root: Path) -> bool:
    """Return whether a folder is a dataset, of whatever version."""
    try:
        text = (root / MARKER).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    return _parsed(text).get("schema") == _FORMAT


def export_names(root: Path) -> list[str]:
    """Return the names of the folders of the runs of a dataset, the oldest first."""
    try:
        return sorted(entry.name for entry in root.iterdir() if entry.name.startswith(EXPORT))
    except OSError as error:
        raise _unreadable(root, error) from error


def read_exports(root: Path, names: list[str]) -> list[Export]:
    """Read the manifests of runs of a dataset.

    Raises
    ------
    DatasetFormatError
        One is gone, damaged or of another version, or two runs hold the same report.
    """
    exports = [read_export(root / name) for name in names]
    home: dict[str, str] = {}
    for export in exports:
        for report_id in export.reports:
            other = home.setdefault(report_id, export.folder.name)
            if other != export.folder.name:
                raise DatasetFormatError(
                    str(root),
                    f"report {report_id[:12]}... is in {other} and in {export.folder.name}",
                    "Remove one of the two folders.",
                )
    return exports


def read_export(folder: Path, *, any_version: bool = False) -> Export:
    """Read the manifest of one run; see `read_exports`.

    Parameters
    ----------
    folder
        The folder of the run.
    any_version
        Take one of tables of another version too.
    """
    file = folder / MANIFEST
    try:
        content = _parsed(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from error
    try:
        if content["schema"] != _EXPORT_FORMAT:
            raise ValueError
        version = content["schema_version"]
        found = Export(
            folder,
            tuple(_part(entry) for entry in content["files"]),
            {str(name): str(options) for name, options in content["reports"].items()},
            str(content["tool_version"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DatasetFormatError(str(file), "not the manifest of an export", AGAIN) from None
    if version != tables.SCHEMA_VERSION and not any_version:
        problem = f"schema version {version}, and this nsightlens reads {tables.SCHEMA_VERSION}"
        raise DatasetFormatError(str(file), problem, AGAIN)
    return found


def _part(entry: dict[str, Any]) -> PartFile:
    path = str(entry["path"])
    if path.startswith("/") or ".." in path.split("/") or "\\" in path:
        raise ValueError(path)  # no file of ours lies there
    return PartFile(path, str(entry["table"]), int(entry["row_count"]), int(entry["size_bytes"]))


def _parsed(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _unreadable(file: Path, error: Exception) -> DatasetFormatError:
    if isinstance(error, FileNotFoundError):
        return DatasetFormatError(str(file), "the file is gone", AGAIN)
    problem = f"cannot be read: {getattr(error, 'strerror', None) or error}"
    return DatasetFormatError(str(file), problem, "Check the file.")
