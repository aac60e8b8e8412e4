"""A file becomes a Report, or a Trace.

`open_report` takes one path or many and returns one `Report`; `find_reports` turns what a user
typed (files and folders) into paths. Formats are read by `nsightlens.ncurep` and its like; columns
are derived by `nsightlens.metrics`. `open_trace` reads an export of Nsight Systems by means of
`nsightlens.nsys`.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any

from nsightlens.errors import NsightLensWarning, ReportNotFoundError, SalvageWarning
from nsightlens.readers.each import read_each
from nsightlens.readers.find import find_reports
from nsightlens.readers.raw_metrics import read_metrics
from nsightlens.readers.read import READERS, ReadOptions
from nsightlens.readers.source import place_of, typed
from nsightlens.report import Report, concat_reports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nsightlens.errors import NsightLensError
    from nsightlens.readers.read import OnError, Reader
    from nsightlens.readers.trace import open_trace

__all__ = ["find_reports", "open_each", "open_report", "open_trace", "read_metrics"]


def __getattr__(name: str) -> Any:
    # When first used: who reads reports needs no SQLite.
    if name == "open_trace":
        from nsightlens.readers.trace import open_trace  # noqa: PLC0415 - see above

        return open_trace
    raise AttributeError(f"module 'nsightlens.readers' has no attribute {name!r}")


def open_report(
    path_or_paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    instances: bool | str | Sequence[str] = False,
    on_error: OnError = "raise",
    reader: Reader = "auto",
    jobs: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Report:
    """Read one or more reports of Nsight Compute into one `Report`.

    Parameters
    ----------
    path_or_paths
        A .ncu-rep file, or several. Each may be compressed with gzip or zstd, as a .ncu-repz file
        is, and may be a URL, if fsspec is installed, or ``"-"`` for standard input. Launches keep
        the order of the files and, within each, its order. A file that is named twice is read
        once.
    instances
        Read instanced values too: True for all, or metric names and ``*`` patterns. They are the
        bulk of a report collected with ``--set full``.
    on_error
        ``"raise"``: a damaged file is an error. ``"salvage"``: the launches before the damage are
        returned with a `SalvageWarning`, and the damage stands in ``Report.warnings``.
    reader
        ``"native"``: no NVIDIA software takes part. ``"ncu_report"``: NVIDIA's own reader, in a
        process of its own; it is slow, does not know processes, threads, contexts and sessions,
        and salvages nothing. ``"auto"``: the native one, and NVIDIA's for a container newer than
        what the native one can read, if it is installed; ``Report.warnings`` then says so.
    jobs
        How many files are read at once; 0 and 1 for one after another. None for one per
        processor where the files are so large that this pays.
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
    MissingExtraError
        An optional library that was asked for, or that a URL needs, is not installed.
    ValueError
        ``on_error`` or ``reader`` is none of those named, or ``jobs`` is negative.

    Examples
    --------
    >>> import nsightlens, nsightlens.example
    >>> report = nsightlens.open_report(nsightlens.example.path())
    >>> report.launches.schema.field("duration_ns").metadata[b"unit"]
    b'ns'
    """
    if isinstance(path_or_paths, (str, os.PathLike)):
        path_or_paths = [path_or_paths]
    reports = []
    for report in open_each(
        path_or_paths,
        instances=instances,
        on_error=on_error,
        reader=reader,
        jobs=jobs,
        progress=progress,
    ):
        if not isinstance(report, Report):
            raise report
        reports.append(report)
    if not reports:
        raise ReportNotFoundError("no report was given. Name at least one .ncu-rep file.")
    category = SalvageWarning if on_error == "salvage" else NsightLensWarning
    for text in (text for report in reports for text in report.warnings):
        warnings.warn(text, category, stacklevel=2)
    return concat_reports(reports)


def open_each(
    paths: Iterable[str | os.PathLike[str]],
    *,
    instances: bool | str | Sequence[str] = False,
    on_error: OnError = "raise",
    reader: Reader = "auto",
    jobs: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Iterator[Report | NsightLensError]:
    """Read reports one by one, so that one that cannot be read does not stop the rest.

    Parameters
    ----------
    paths, instances, on_error, reader, jobs, progress
        See `open_report`. With ``jobs``, files are read ahead of the one that is returned.

    Returns
    -------
    Iterator
        For each distinct file in order its `Report`, or the error that `open_report` would raise.
        Nothing is warned of: what there is to say stands in ``Report.warnings``.

    Raises
    ------
    ValueError
        See `open_report`.

    Examples
    --------
    >>> import nsightlens.example
    >>> [len(one) for one in open_each([nsightlens.example.path()]) if isinstance(one, Report)]
    [113]
    """
    if on_error not in ("raise", "salvage"):
        raise ValueError(f"on_error must be 'raise' or 'salvage', not {on_error!r}")
    if reader not in READERS:
        raise ValueError(f"reader must be one of {', '.join(READERS)}, not {reader!r}")
    if jobs is not None and jobs < 0:
        raise ValueError(f"jobs must not be negative: {jobs}")
    if isinstance(instances, str):
        instances = [instances]
    wanted = instances if isinstance(instances, bool) else tuple(instances)
    # By where they lie: report and launch_id have to name one launch.
    names: dict[str, str] = {}
    for path in paths:
        names.setdefault(place_of(path), typed(path))
    options = ReadOptions(instances=wanted, on_error=on_error, reader=reader)
    return read_each(list(names.values()), options, jobs=jobs, progress=progress)
