"""Which report files a list of files, folders and URLs stands for."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from nsightlens.errors import ReportNotFoundError
from nsightlens.readers.source import STDIN, is_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["find_reports"]

SUFFIXES = (".ncu-rep", ".ncu-repz", ".ncu-rep.gz", ".ncu-rep.zst")
"""Of the files that a folder stands for; ``.ncu-repz`` is what ncu calls one packed with zstd."""

PARTIAL = ".partial"
"""Folder of a run folder in which a profiler is writing: what lies there is no report yet."""

TEXT_SUFFIXES = (".csv", ".txt", ".log", ".out")
"""Of files that may hold the text of ``ncu --csv``. A folder does not stand for them: beside the
reports of a run lie texts of everything else."""


def find_reports(
    paths: Iterable[str | os.PathLike[str]],
    *,
    on_error: Callable[[ReportNotFoundError], None] | None = None,
) -> list[Path | str]:
    """Return the reports that a list of files, folders and URLs stands for.

    Parameters
    ----------
    paths
        Files are kept as they are, whatever their suffix. A folder stands for every report below
        it, sorted by path: ``.ncu-rep``, ``.ncu-repz``, ``.ncu-rep.gz`` and ``.ncu-rep.zst``, but
        for what a run of ``nsightlens profile`` has not finished (in ``.partial``). The text
        ``-``, for standard input, and URLs are kept as text.
    on_error
        Called with the error of each path that cannot be used, which is then left out. By default
        the first of them is raised.

    Raises
    ------
    ReportNotFoundError
        A path does not exist or cannot be looked at, or a folder holds no report.
    """
    found: list[Path | str] = []
    for given in paths:
        if isinstance(given, str) and (given == STDIN or is_url(given)):
            found.append(given)
            continue
        for one in _reports_of(os.fspath(given)):
            if isinstance(one, Path):
                found.append(one)
            elif on_error is None:
                raise one
            else:
                on_error(one)
    return list(dict.fromkeys(found))


def _reports_of(given: str) -> Iterator[Path | ReportNotFoundError]:
    """Yield the files that one path stands for, and the errors met on the way to them."""
    status = _status(given)
    if isinstance(status, ReportNotFoundError):
        yield status
    elif not stat.S_ISDIR(status.st_mode):
        yield Path(given)
    else:
        refused: list[OSError] = []
        every = [
            Path(folder, name)
            for folder, _, names in os.walk(given, onerror=refused.append)
            if PARTIAL not in Path(folder).relative_to(given).parts
            for name in names
        ]
        inside = sorted(one for one in every if _ends_with(one, SUFFIXES))
        yield from (_refusal(error.filename or given, error) for error in refused)
        reports = 0
        for path in inside:
            of_path = _status(str(path))
            if isinstance(of_path, ReportNotFoundError):
                reports += 1
                yield of_path
            elif stat.S_ISREG(of_path.st_mode):
                reports += 1
                yield path
        if not reports and not refused:
            texts = [one for one in every if _ends_with(one, TEXT_SUFFIXES)]
            yield ReportNotFoundError(f"{given}: the folder holds no .ncu-rep file{_advice(texts)}")


def _ends_with(path: Path, suffixes: tuple[str, ...]) -> bool:
    return os.path.normcase(path.name).endswith(suffixes)


def _advice(texts: list[Path]) -> str:
    """Go on after the error of a folder without reports; ``texts`` are files that may be some."""
    if not texts:
        return ". Name a file, or another folder."
    files, of = ("file", "it") if len(texts) == 1 else ("files", "them")
    like = min(texts).with_name(f"*{min(texts).suffix}")
    return (
        f", but {len(texts)} text {files}. A folder stands for .ncu-rep files only: if text of "
        f"ncu --csv is among {of}, name it, as {like} does."
    )


def _status(path: str) -> os.stat_result | ReportNotFoundError:
    """Return what lies at a path, or why it cannot be known."""
    if not path:
        return ReportNotFoundError("the name of a report is empty. Name a file or a folder.")
    try:
        return os.stat(path)  # noqa: PTH116 - pathlib cannot hold an empty path
    except (FileNotFoundError, NotADirectoryError):
        is_link = os.path.islink(path)  # noqa: PTH114 - as above
        what = "the link leads to no file" if is_link else "there is no such file"
        return ReportNotFoundError(f"{path}: {what}. Check the path.")
    except (OSError, ValueError) as error:
        return _refusal(path, error)


def _refusal(path: str, error: OSError | ValueError) -> ReportNotFoundError:
    told = ReportNotFoundError(f"{path}: cannot be read: {getattr(error, 'strerror', error)}.")
    told.__cause__ = error
    return told
