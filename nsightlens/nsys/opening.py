"""What the user named, as an export: the file itself, a folder, or a report that nsys exports.

Says of everything else what it is, and what to do instead.
"""

from __future__ import annotations

import os
import stat
import struct
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from nsightlens.errors import NotATraceError, ReportNotFoundError
from nsightlens.nsys.exporting import exported
from nsightlens.nsys.folders import SUFFIXES, FolderExport
from nsightlens.nsys.sqlite import SqliteExport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nsightlens.nsys.raw import Export

__all__ = ["FORMS_READ", "REPORT_SUFFIXES", "opened"]

REPORT_SUFFIXES = (".nsys-rep", ".qdrep")
"""Of the reports that nsys itself writes, newer and older; only nsys can read them."""

FORMS_READ = "exports of the types sqlite, arrowdir and parquetdir"

_EXPORT = "Export the report: nsys export --type sqlite REPORT.nsys-rep"
_COPY_AGAIN = f"Copy the file again, or export the report again. {_EXPORT}"

_SQLITE = b"SQLite format 3\0"
_HEADER = 100
"""[byte] Size of the header of an SQLite file: https://www.sqlite.org/fileformat.html, 1.3."""

# How files begin that people may take for an export, what they are, and what to do.
_OTHERS: tuple[tuple[bytes, str, str], ...] = (
    (b"NVR\0", "is a report of Nsight Compute, not of Nsight Systems",
     "Read it with nsightlens.open_report, or name an export of Nsight Systems."),
    (b"\x89HDF\r\n\x1a\n", "is an export of the type hdf",
     f"Only {FORMS_READ} are read. {_EXPORT}"),
    (b"PAR1", "is one table in Parquet",
     "Name the folder that it lies in, as nsys export --type parquetdir made it."),
    (b"ARROW1", "is a single file in the Arrow format",
     f"Only {FORMS_READ} are read. {_EXPORT}"),
    (b"\xff\xff\xff\xff", "is one table, or one file of all, as an Arrow stream",
     "Name the folder that it lies in, as nsys export --type arrowdir made it."),
    (b"\x1f\x8b", "is compressed with gzip", "Unpack it first: gunzip FILE"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd", "Unpack it first: zstd -d FILE"),
    (b"PK\x03\x04", "is a zip archive", "Unpack it first: unzip FILE"),
    (b"\xfd7zXZ\0", "is compressed with xz", "Unpack it first: xz -d FILE"),
)  # fmt: skip


# Tables by which an export is known: any of them will do, and each may be missing.
_KNOWN = frozenset({"StringIds", "NVTX_EVENTS", "META_DATA_EXPORT", "EXPORT_META_DATA"})
_KNOWN_BEGINNINGS = ("CUPTI_ACTIVITY_KIND_", "TARGET_INFO_", "OSRT_", "GPU_METRICS")


@contextmanager
def opened(
    path: str | os.PathLike[str],
    *,
    nsys: str | None = None,
    exported_to: str | os.PathLike[str] | None = None,
) -> Iterator[Export]:
    """Open an export, made by nsys first where a report was named, and close it afterwards.

    Parameters
    ----------
    path
        A file ``.sqlite``, a folder of ``.arrow`` or ``.parquet`` files, or a ``.nsys-rep``.
    nsys
        The program that exports reports; None for the first on ``PATH``.
    exported_to
        Where to keep the SQLite export of a report; None for a temporary place.

    Raises
    ------
    ReportNotFoundError
        There is nothing at that path, or it cannot be read.
    NotATraceError
        It is no export, or a damaged one; the message says what it is.
    ProgramNotFoundError, ProfilingError, OutputExistsError
        A report cannot be exported here; see `nsightlens.nsys.exporting`.
    """
    shown = os.fspath(path)
    given = Path(path)
    status = _status(given, shown)
    if stat.S_ISDIR(status.st_mode):
        folder = _folder(given, shown)
        _check_tables(folder)
        yield folder
        return
    head = _head(given, shown, status)
    if given.suffix.lower() in REPORT_SUFFIXES and not head.startswith(_SQLITE):
        with exported(given, shown, nsys=nsys, keep=exported_to) as file:
            yield from _sqlite(file, f"{shown} (exported)")
        return
    if not head.startswith(_SQLITE):
        _refuse(given, shown, head)
    _check_whole(given, shown, status.st_size, head)
    yield from _sqlite(given, shown)


def _sqlite(path: Path, shown: str) -> Iterator[Export]:
    export = SqliteExport(os.fspath(path), shown)
    try:
        _check_tables(export)
        yield export
    finally:
        export.close()


def _status(path: Path, shown: str) -> os.stat_result:
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ReportNotFoundError(f"{shown}: there is no such file. Check the path.") from error
    except (OSError, ValueError) as error:
        raise _unreadable(shown, error) from error


def _head(path: Path, shown: str, status: os.stat_result) -> bytes:
    if not stat.S_ISREG(status.st_mode):
        raise NotATraceError(
            shown, "is neither a file nor a folder", "Copy it to a file on a disk, and name that."
        )
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        raise _unreadable(shown, error) from error
    if not head:
        raise NotATraceError(shown, "is empty", _COPY_AGAIN)
    return head


def _unreadable(shown: str, error: OSError | ValueError) -> ReportNotFoundError:
    return ReportNotFoundError(f"{shown}: cannot be read: {getattr(error, 'strerror', error)}.")


# --- SQLite ---


def _check_whole(path: Path, shown: str, size: int, head: bytes) -> None:
    """Refuse a file that ends early, or whose writer was ended."""
    if len(head) < _HEADER:
        raise NotATraceError(shown, "ends within the header of an SQLite file", _COPY_AGAIN)
    # A size of 1 stands for 65536, the only one that two bytes do not hold.
    page = struct.unpack(">H", head[16:18])[0]
    page = 65536 if page == 1 else page
    changes, pages = struct.unpack(">II", head[24:32])
    valid_for = struct.unpack(">I", head[92:96])[0]
    if changes == valid_for and size < page * pages:
        problem = f"ends after {size} of {page * pages} bytes"
        raise NotATraceError(shown, problem, _COPY_AGAIN, offset=size)
    for ending, what in (("-journal", "rollback journal"), ("-wal", "write-ahead log")):
        beside = path.with_name(path.name + ending)
        try:
            is_there = beside.stat().st_size > 0
        except OSError:
            continue
        if is_there:
            raise NotATraceError(
                shown,
                f"its {what} {beside.name} lies beside it: it is being written, or whoever wrote"
                " it was ended",
                "Wait until the export is finished, or export the report again.",
            )


def _check_tables(export: Export) -> None:
    """Refuse what has no table of an export."""
    names = export.table_names
    if names & _KNOWN or any(name.startswith(_KNOWN_BEGINNINGS) for name in names):
        return
    what = "an SQLite file" if export.form == "sqlite" else "a folder of tables"
    few = ", ".join(sorted(names)[:5]) + (", ..." if len(names) > 5 else "")
    has = f"its tables are {few}" if names else "it has no table"
    raise NotATraceError(
        export.shown, f"is {what} of something else than Nsight Systems: {has}", _EXPORT
    )


# --- folders ---


def _folder(path: Path, shown: str) -> FolderExport:
    """Return the export that a folder holds."""
    try:
        every = sorted(path.iterdir())
    except OSError as error:
        raise _unreadable(shown, error) from error
    found = {
        suffix: {one.name.removesuffix(suffix): one for one in every if one.suffix == suffix}
        for suffix in SUFFIXES
    }
    kinds = [suffix for suffix, files in found.items() if files]
    if len(kinds) == 1:
        return FolderExport(found[kinds[0]], SUFFIXES[kinds[0]], shown)
    if kinds:
        problem = "holds both .arrow and .parquet files, and one export has one kind of them"
        raise NotATraceError(shown, problem, "Move one of the two elsewhere.")
    raise NotATraceError(shown, *_without_tables(every))


def _without_tables(every: list[Path]) -> tuple[str, str]:
    """Return what a folder is that holds no table, and what to do."""
    inside = [one for one in every if one.suffix.lower() in (".sqlite", *REPORT_SUFFIXES)]
    if inside:
        named = inside[0].name
        more = f" and {len(inside) - 1} more" if len(inside) > 1 else ""
        return f"is a folder that holds {named}{more}, and no tables", "Name one of these files."
    return (
        "is a folder without .arrow or .parquet files, so it holds no export",
        f"Name an export. {_EXPORT}",
    )


# --- everything else ---


def _refuse(path: Path, shown: str, head: bytes) -> NoReturn:
    """Say what a file is that is no export."""
    for beginning, what, advice in _OTHERS:
        if head.startswith(beginning):
            raise NotATraceError(shown, what, advice)
    if path.suffix.lower() == ".qdstrm":
        raise NotATraceError(
            shown,
            "is the raw stream of a report that nsys did not finish",
            "Make a report of it with QdstrmImporter, which comes with nsys, and name that.",
        )
    kind = _kind_of_text(head)
    if kind is not None:
        raise NotATraceError(shown, kind, f"Only {FORMS_READ} are read. {_EXPORT}")
    raise NotATraceError(
        shown,
        f"is no export of Nsight Systems: it begins with the bytes {head[:8].hex(' ')}",
        f"{_EXPORT}",
    )


def _kind_of_text(head: bytes) -> str | None:
    """Return what a file of text is; None where it is none."""
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:  # else the last character was merely cut
            return None
        text = head[: error.start].decode("utf-8")
    if "\0" in text:
        return None
    if text.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        return "is JSON, as an export of the type json is"
    return "is text, as an export of the type text, or a table of nsys stats, is"
