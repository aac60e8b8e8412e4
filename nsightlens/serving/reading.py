"""Files -> parts, each with what became of it; many files in processes beside this one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nsightlens.errors import MissingExtraError, ReportNotFoundError, ServingFileError
from nsightlens.processors import is_worker, processor_count
from nsightlens.serving.formats import format_of
from nsightlens.serving.grouping import Located
from nsightlens.serving.opened import OpenedFile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nsightlens.serving.folder import Found
    from nsightlens.serving.part import Format, Part

    Progress = Callable[[str, int, int], None]

__all__ = ["MANY", "FileRow", "ReadFile", "read_files"]

MANY = 1500
"""[file] What is read in about the time that processes take to start and to be asked."""
_AT_ONCE = 100
_MOST_PROCESSES = 8
_COMPRESSED = (".gz", ".zst", ".xz", ".bz2", ".zip", ".tar", ".tgz", ".7z")


class FileRow(NamedTuple):
    """A row of ``serving_files``, without its runs."""

    path: str
    format: str | None
    state: str
    reason: str | None


class ReadFile(NamedTuple):
    """The parts of a file, and what became of it."""

    located: list[Located]
    row: FileRow


def read_files(found: Sequence[Found], progress: Progress | None = None) -> list[ReadFile]:
    """Read files, in their order.

    Parameters
    ----------
    found
        From `nsightlens.serving.folder.find_files`.
    progress
        Called with a file, how many are done and how many there are.

    Raises
    ------
    ServingFileError, ReportNotFoundError, MissingExtraError
        A file that was named alone cannot be used; others are refused in their row.
    """
    count = min(processor_count(), _MOST_PROCESSES)
    if len(found) >= MANY and count > 1 and not is_worker():
        return _beside(found, count, progress)
    result = []
    for index, file in enumerate(found):
        result.append(_read(file, is_only=len(found) == 1))
        if progress is not None:
            progress(file.shown, index + 1, len(found))
    return result


def _beside(found: Sequence[Found], count: int, progress: Progress | None) -> list[ReadFile]:
    # What starts processes takes longer to import than a few files to read.
    from nsightlens.beside import do_beside  # noqa: PLC0415

    parts = [list(found[i : i + _AT_ONCE]) for i in range(0, len(found), _AT_ONCE)]

    def done(number: int) -> None:
        if progress is not None:
            last = min(number * _AT_ONCE, len(found))
            progress(found[last - 1].shown, last, len(found))

    lists = do_beside(read_some, parts, (), count, done=done)
    return [one for each in lists for one in each]


def read_some(
    found: Sequence[Found], progress: Callable[..., None] | None = None
) -> list[ReadFile]:
    """Read some of many files here; also what a worker is told to do."""
    del progress
    return [_read(file, is_only=False) for file in found]


def _read(file: Found, *, is_only: bool) -> ReadFile:
    """Read one file; one among others is refused in its row, not by an error."""
    kind = None
    try:
        opened = OpenedFile(file.path, file.shown)
        if file.path.suffix.lower() in _COMPRESSED:
            raise ServingFileError(file.shown, "is compressed", "Unpack it first.")
        kind = format_of(opened)
        if kind is None:
            if file.is_named:
                raise _unknown(opened)
            return ReadFile([], FileRow(file.shown, None, "unknown", None))
        parts = _parts(kind, opened)
    except (ServingFileError, ReportNotFoundError, MissingExtraError) as error:
        if file.is_named and is_only:
            raise
        reason = str(error).removeprefix(f"{file.shown}: ")
        return ReadFile([], FileRow(file.shown, kind.name if kind else None, "refused", reason))
    row = FileRow(file.shown, kind.name, "read", None)
    return ReadFile([Located(one, file.relative) for one in parts], row)


def _parts(kind: Format, file: OpenedFile) -> list[Part]:
    try:
        return kind.read(file)
    except (ServingFileError, ReportNotFoundError, MissingExtraError):
        raise
    except (ValueError, OverflowError, RecursionError) as error:
        # A number of thousands of digits, or nesting without end: no reader looks for each.
        raise ServingFileError(
            file.shown,
            f"holds what cannot be understood: {str(error).splitlines()[0][:120]}",
            "Write it again, or leave it out.",
        ) from error


def _unknown(file: OpenedFile) -> ServingFileError:
    if file.looks_like_json and file.json is None and not file.json_lines:
        return ServingFileError(
            file.shown, file.json_problem(), "Copy it again, or run the benchmark again."
        )
    return ServingFileError(
        file.shown,
        "is no result, log or telemetry that is known",
        "docs/serving-formats.md lists what is read; a CSV with named columns always is.",
    )
