"""A file becomes a Report.

`open_report` takes one path or many and returns one `Report`; `find_reports` turns what a user
typed (files and folders) into paths. The format itself is read by `nsightlens.ncurep`; columns are
derived by `nsightlens.metrics`.
"""

from __future__ import annotations

import os
import stat
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from nsightlens.errors import ReportNotFoundError, SalvageWarning
from nsightlens.readers.ncu_rep import report_from_ncu_rep
from nsightlens.report import Report, concat_reports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Literal

__all__ = ["find_reports", "open_report"]


def open_report(
    path_or_paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    instances: bool | str | Sequence[str] = False,
    on_error: Literal["raise", "salvage"] = "raise",
    progress: Callable[[str, int, int], None] | None = None,
) -> Report:
    """Read one or more .ncu-rep files into one `Report`.

    Parameters
    ----------
    path_or_paths
        A file, or several. Launches keep the order of the files and, within each, its order. A
        file that is named twice is read once.
    instances
        Read instanced values too: True for all, or metric names and ``*`` patterns. They are the
        bulk of a report collected with ``--set full``.
    on_error
        ``"raise"``: a damaged file is an error. ``"salvage"``: the launches before the damage are
        returned with a `SalvageWarning`, and the damage stands in ``Report.warnings``.
    progress
        Called with the path, the number of results read so far and their total.

    Returns
    -------
    Report
        Possibly with no launches, if the files are sound and hold none.

    Raises
    ------
    ReportNotFoundError
        There is no such file, or no path was given.
    ReportFormatError
        A file is not a report, or is damaged. The subclass says how.
    ValueError
        ``on_error`` is neither of the two.

    Examples
    --------
    >>> import nsightlens, nsightlens.example
    >>> report = nsightlens.open_report(nsightlens.example.path())
    >>> report.launches.schema.field("duration_ns").metadata[b"unit"]
    b'ns'
    """
    if isinstance(path_or_paths, (str, os.PathLike)):
        path_or_paths = [path_or_paths]
    # By where they lie: report and launch_id have to name one launch.
    files: dict[str, str] = {}
    for path in path_or_paths:
        files.setdefault(os.path.realpath(path), os.fspath(path))
    paths = list(files.values())
    if not paths:
        raise ReportNotFoundError("no report was given. Name at least one .ncu-rep file.")
    if isinstance(instances, str):
        instances = [instances]
    reports = [
        report_from_ncu_rep(path, instances=instances, on_error=on_error, progress=progress)
        for path in paths
    ]
    for text in (text for report in reports for text in report.warnings):
        warnings.warn(text, SalvageWarning, stacklevel=2)
    return concat_reports(reports)


def find_reports(
    paths: Iterable[str | os.PathLike[str]],
    *,
    on_error: Callable[[ReportNotFoundError], None] | None = None,
) -> list[Path]:
    """Return the report files that a list of files and folders stands for.

    Parameters
    ----------
    paths
        Files are kept as they are, whatever their suffix. A folder stands for every ``.ncu-rep``
        file below it, sorted by path.
    on_error
        Called with the error of each path that cannot be used, which is then left out. By default
        the first of them is raised.

    Raises
    ------
    ReportNotFoundError
        A path does not exist or cannot be looked at, or a folder holds no report.
    """
    found: list[Path] = []
    for given in paths:
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
            if os.path.normcase(name).endswith(".ncu-rep")
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
