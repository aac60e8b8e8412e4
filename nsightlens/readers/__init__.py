"""A file becomes a Report.

`open_report` takes one path or many and returns one `Report`; `find_reports` turns what a user
typed (files and folders) into paths. The format itself is read by `nsightlens.ncurep`; columns are
derived by `nsightlens.metrics`.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from nsightlens.errors import ReportNotFoundError, SalvageWarning
from nsightlens.readers.ncu_rep import report_from_ncu_rep
from nsightlens.report import Report, concat_reports

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence
    from typing import Literal

__all__ = ["find_reports", "open_report"]


def open_report(
    path_or_paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    instances: bool | Sequence[str] = False,
    on_error: Literal["raise", "salvage"] = "raise",
    progress: Callable[[str, int, int], None] | None = None,
) -> Report:
    """Read one or more .ncu-rep files into one `Report`.

    Parameters
    ----------
    path_or_paths
        A file, or several. Launches keep the order of the files and, within each, its order.
    instances
        Read instanced values too: True for all, or a list of metric names and ``*`` patterns.
        They are the bulk of a report collected with ``--set full``.
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

    Examples
    --------
    >>> import nsightlens, nsightlens.example
    >>> report = nsightlens.open_report(nsightlens.example.path())
    >>> report.launches.schema.field("duration_ns").metadata[b"unit"]
    b'ns'
    """
    if isinstance(path_or_paths, (str, Path)) or hasattr(path_or_paths, "__fspath__"):
        paths = [str(path_or_paths)]
    else:
        paths = [str(path) for path in path_or_paths]
    if not paths:
        raise ReportNotFoundError("no report was given. Name at least one .ncu-rep file.")
    reports = [
        report_from_ncu_rep(path, instances=instances, on_error=on_error, progress=progress)
        for path in paths
    ]
    for text in (text for report in reports for text in report.warnings):
        warnings.warn(text, SalvageWarning, stacklevel=2)
    return concat_reports(reports)


def find_reports(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return the report files that a list of files and folders stands for.

    Parameters
    ----------
    paths
        Files are kept as they are, whatever their suffix. A folder stands for every ``.ncu-rep``
        file below it, sorted by path.

    Raises
    ------
    ReportNotFoundError
        A path does not exist, or a folder holds no report.
    """
    found: list[Path] = []
    for given in map(Path, paths):
        if not given.is_dir():
            if not given.exists():
                raise ReportNotFoundError(f"{given}: there is no such file. Check the path.")
            found.append(given)
            continue
        inside = sorted(path for path in given.rglob("*.ncu-rep") if path.is_file())
        if not inside:
            raise ReportNotFoundError(
                f"{given}: the folder holds no .ncu-rep file. Name a file, or another folder."
            )
        found.extend(inside)
    return list(dict.fromkeys(found))
