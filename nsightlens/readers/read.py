"""One report: what it is by its first bytes, and the reader for it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from nsightlens.errors import NotAReportError, ReportFormatError
from nsightlens.ncurep.container import read_file_header
from nsightlens.ncurep.faults import within_memory
from nsightlens.ncurep.model import FILE_VERSION, MAGIC
from nsightlens.readers.columns import shown_path
from nsightlens.readers.ncu_rep import report_from_ncu_rep
from nsightlens.readers.source import plain_file, size_of

if TYPE_CHECKING:
    from collections.abc import Callable

    Progress = Callable[[str, int, int], None]

    from nsightlens.readers.source import PlainFile
    from nsightlens.report import Report

__all__ = ["READERS", "OnError", "ReadOptions", "Reader", "read_here", "read_report", "report_of"]

OnError = Literal["raise", "salvage"]
Reader = Literal["auto", "native", "ncu_report"]

LARGEST_TEXT = 1 << 30
"""[byte] Of what ncu printed: it is read whole, and takes several times its size in memory."""
_SHORTER_TEXT = (
    "Give the .ncu-rep file that ncu writes with -o, which has no such limit, or split the text "
    "between launches, each part with the header."
)

READERS: tuple[Reader, ...] = ("auto", "native", "ncu_report")


class ReadOptions(NamedTuple):
    """How a report is read; see `nsightlens.open_report`."""

    instances: bool | tuple[str, ...] = False
    on_error: OnError = "raise"
    reader: Reader = "auto"


def read_report(
    name: str, options: ReadOptions, *, progress: Callable[[int, int], None] | None = None
) -> Report:
    """Read what the user named, with the reader for it.

    Parameters
    ----------
    name
        As `nsightlens.readers.source.typed` returns it.
    options
        How to read it.
    progress
        Called with the number of results read so far and their total.

    Raises
    ------
    NsightLensError
        It cannot be read; see `nsightlens.open_report`.
    """
    with plain_file(name, salvage=options.on_error == "salvage") as file:
        return report_of(file, name, options, progress=progress)


def read_here(name: str, options: ReadOptions, progress: Progress | None) -> Report:
    """Read what the user named, telling its name with the progress; see `read_report`."""
    return read_report(
        name, options, progress=None if progress is None else partial(progress, name)
    )


def report_of(
    file: PlainFile,
    name: str,
    options: ReadOptions,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Read the plain file with what the user named; see `read_report`."""
    with within_memory(shown_path(name)):
        report = _read(file, name, options, progress)
    return replace(report, warnings=file.warnings + report.warnings)


def _read(
    file: PlainFile,
    name: str,
    options: ReadOptions,
    progress: Callable[[int, int], None] | None,
) -> Report:
    if options.reader == "ncu_report" and file.head:  # else the native one says what is wrong
        return _read_with_ncu_report(file, name, options, progress)
    if not file.head.startswith(MAGIC) and _is_text(file.head):
        return _read_csv(file, name, options)
    try:
        return report_from_ncu_rep(
            file.path,
            shown=name,
            instances=options.instances,
            on_error=options.on_error,
            progress=progress,
        )
    except ReportFormatError as error:
        version = _newer_version(file.head)
        if version is None:
            raise
        if options.reader == "native" or find_spec("ncu_report") is None:
            raise _with_other_reader(error, version) from error
        told = f"{shown_path(name)}: read by NVIDIA's ncu_report: {_newer(version)}"
    report = _read_with_ncu_report(file, name, options, progress)
    return replace(report, warnings=(told, *report.warnings))


def _read_with_ncu_report(
    file: PlainFile,
    name: str,
    options: ReadOptions,
    progress: Callable[[int, int], None] | None,
) -> Report:
    # Imported here, as below: most reports need it not, and a short command is to answer at once.
    from nsightlens.readers.nvidia import report_from_ncu_report  # noqa: PLC0415

    return report_from_ncu_report(
        file.path, shown=name, instances=options.instances, progress=progress
    )


def _is_text(head: bytes) -> bool:
    from nsightlens.ncucsv import looks_like_csv  # noqa: PLC0415

    return looks_like_csv(head)


def _read_csv(file: PlainFile, name: str, options: ReadOptions) -> Report:
    from nsightlens.readers.ncu_csv import report_from_ncu_csv  # noqa: PLC0415

    size = size_of(file.path)
    if size > LARGEST_TEXT:
        problem = f"it is text of {size} bytes, and more than {LARGEST_TEXT} are not read"
        raise ReportFormatError(shown_path(name), problem, _SHORTER_TEXT)
    return report_from_ncu_csv(name, Path(file.path).read_bytes(), on_error=options.on_error)


def _newer_version(head: bytes) -> int | None:
    """Return the version of a container that is newer than what is known, else None."""
    try:
        version, _ = read_file_header(head, "")
    except (NotAReportError, ReportFormatError):
        return None
    return version if version > FILE_VERSION else None


def _newer(version: int) -> str:
    return f"the container has version {version} and the native reader knows {FILE_VERSION}"


def _with_other_reader(error: ReportFormatError, version: int) -> ReportFormatError:
    advice = (
        f"Maybe it is only new: {_newer(version)}. Update nsightlens, or let NVIDIA's reader read "
        "it with --reader ncu_report (in Python: reader='ncu_report')."
    )
    return type(error)(error.path, error.problem, advice, offset=error.offset, where=error.where)
