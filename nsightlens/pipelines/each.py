"""A task for each of many reports: here, in processes beside this one, or on a Dask cluster.

Results come in the order of the reports, and few of them are in memory at any time, so that ten
thousand reports need no more of it than a hundred.
"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from nsightlens.errors import ClusterError, NsightLensError
from nsightlens.processors import is_worker, processor_count
from nsightlens.readers.source import size_of, typed

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator, Iterable, Sequence

    Progress = Callable[[str, int, int], None]

__all__ = ["map_reports"]

Argument = TypeVar("Argument")
Result = TypeVar("Result")

WORTH_PROCESSES_S = 4.0
"""[s] Of work one after another; to start a process takes half a second of a processor."""
_PER_REPORT_S = 0.08  # to read a small one and to label its launches, measured
_BYTES_PER_S = 100e6  # beyond that, with the labels


def map_reports(
    task: Callable[[str, Argument], Result],
    reports: Iterable[str | os.PathLike[str]],
    argument: Argument,
    *,
    jobs: int | None = None,
    dask: str | None = None,
    progress: Progress | None = None,
) -> Generator[Result | NsightLensError, None, None]:
    """Do a task for each report; yield what it returns, in the order of the reports.

    Parameters
    ----------
    task
        Called with the name of a report, as text, and with ``argument``: a function that can be
        imported by its name, where it runs in another process. It reads the report with
        `nsightlens.pipelines.read_one`.
    reports
        Paths, URLs, ``"-"``. One that is named twice is read twice; see
        `nsightlens.pipelines.distinct`.
    argument
        The second argument of each call. As what the task returns, it can be pickled and is
        better small.
    jobs
        How many reports at once, in a process each; 0 and 1 for one after another in this
        process, each when it is asked for. None for one per processor where there is so much to
        read that this pays.
    dask
        Address of a Dask scheduler, such as ``tcp://host:8786``, or its scheduler file: tasks run
        on its workers, which find the files under the same names. ``jobs`` then says nothing.
        Standard input and URLs are read in this process in any case, also with ``jobs``.
    progress
        Called with the name of each report, the number of reports that are done and their total.

    Yields
    ------
    object
        For each report what the task returned, or the `NsightLensError` that it raised; if its
        process ended before, a `ReaderFailedError`. At any time two results per process are in
        memory. Closing the iterator ends the processes at once.

    Raises
    ------
    ValueError
        ``jobs`` is negative.
    ClusterError
        The scheduler cannot be reached or used.
    MissingExtraError
        ``dask`` is given, and ``distributed`` is not installed.

    Examples
    --------
    >>> import nsightlens.example
    >>> def launches_of(name, argument):
    ...     return len(read_one(name))
    >>> from nsightlens.pipelines import read_one
    >>> list(map_reports(launches_of, [nsightlens.example.path()], None, jobs=1))
    [113]
    """
    if jobs is not None and jobs < 0:
        raise ValueError(f"jobs must not be negative: {jobs}")
    names = [typed(report) for report in reports]
    if dask is not None:
        from nsightlens.pipelines.cluster import on_cluster  # noqa: PLC0415 - as below

        return _outcomes(names, on_cluster(task, names, argument, dask), progress)
    return _outcomes(names, _waits(task, names, argument, jobs), progress)


def _waits(
    task: Callable[[str, Any], Result],
    names: Sequence[str],
    argument: Any,
    jobs: int | None,
) -> Generator[Callable[[], Result], None, None]:
    """Return for each name, when it is asked for, the function that waits for its result."""
    count = _process_count(names, jobs)
    if count < 2:
        return (partial(task, name, argument) for name in names)
    # Imported here: one report needs no threads and processes, and is to be there at once.
    from nsightlens.pipelines.processes import in_processes  # noqa: PLC0415

    return in_processes(task, names, argument, count)


def _outcomes(
    names: Sequence[str],
    waits: Generator[Callable[[], Result], None, None],
    progress: Progress | None,
) -> Generator[Result | NsightLensError, None, None]:
    # Closed at once, whoever still holds the iterator behind it.
    with closing(waits):
        for done, (name, wait) in enumerate(zip(names, waits, strict=True), 1):
            outcome = _outcome(wait)
            if progress is not None:
                progress(name, done, len(names))
            yield outcome


def _outcome(wait: Callable[[], Result]) -> Result | NsightLensError:
    try:
        return wait()
    except ClusterError:
        raise
    except NsightLensError as error:
        return error


def _process_count(names: Sequence[str], jobs: int | None) -> int:
    if jobs is not None:
        return min(jobs, len(names))
    if len(names) < 2 or is_worker() or _expected_s(names) < WORTH_PROCESSES_S:
        return 1
    return min(processor_count(), len(names))


def _expected_s(names: Sequence[str]) -> float:
    """Return about how long [s] the tasks take one after another."""
    return _PER_REPORT_S * len(names) + sum(map(size_of, names)) / _BYTES_PER_S
