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
        it, sorted by path: ``.ncu-rep``, ``.ncu-repz``, ``.ncu-rep.gz`` and ``.ncu-rep.zst``. The
        text ``-``, for standard input, and URLs are kept as text.
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
        inside = sorted(
            Path(folder, name)
            for folder, _, names in os.walk(given, onerror=refused.append)
            for name in names
            if os.path.normcase(name).endswith(SUFFIXES)
        )
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
            yield ReportNotFoundError(
                f"{given}: the folder holds no .ncu-rep file. Name a file, or another folder."
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
