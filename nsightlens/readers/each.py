"""Several reports: side by side where that pays, one after another where it does not.

Results come in the order of the names, whichever is ready first, and a report that cannot be read
stands among them as its error.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from nsightlens.errors import NsightLensError, ReportNotFoundError
from nsightlens.ncurep.scanner import compiled_scanner
from nsightlens.processors import processor_count
from nsightlens.readers.columns import shown_path
from nsightlens.readers.read import read_here
from nsightlens.readers.source import size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nsightlens.readers.read import Progress, ReadOptions
    from nsightlens.report import Report

__all__ = ["read_each"]

WORTH_A_POOL_S = 4.0
"""[s] Of reading one after another. To start a process takes half a second of a processor, and to
send a small report from there a quarter of the time that it takes to read it."""
_AHEAD = 2
"""Reports in memory per one that is read at once: those behind a slow one must not pile up."""
_PER_REPORT_S = 0.03  # its tables, whatever it holds; as the rates, measured on real reports
_PURE_BYTES_PER_S = 30e6
_COMPILED_BYTES_PER_S = 1e9


def read_each(
    names: Sequence[str],
    options: ReadOptions,
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Iterator[Report | NsightLensError]:
    """Yield the report, or the error, of each name in order.

    Parameters
    ----------
    names
        As `nsightlens.readers.source.typed` returns them.
    options
        How to read them.
    jobs
        How many to read at once; 0 and 1 for one after another, each when it is asked for. None
        takes as many as there are processors, if the reports are large enough.
    progress
        Called with the name, the number of results read so far and their total; by one thread at
        a time.
    """
    count = _job_count(names, jobs)
    if count < 2:
        for name in names:
            yield _outcome(partial(read_here, name, options, progress), name)
        return
    # Imported here: one report needs no threads and processes, and is to be there at once.
    from nsightlens.readers.pool import Pool  # noqa: PLC0415

    pool = Pool(count, options, progress)
    try:
        reading: deque[tuple[Callable[[], Report], str]] = deque()
        for name in names:
            if len(reading) == count * _AHEAD:
                yield _outcome(*reading.popleft())
            reading.append((pool.start(name), name))
        while reading:
            yield _outcome(*reading.popleft())
    finally:
        pool.close()


def _outcome(read: Callable[[], Report], name: str) -> Report | NsightLensError:
    try:
        return read()
    except NsightLensError as error:
        return error
    except OSError as error:
        problem = error.strerror or error
        told = ReportNotFoundError(f"{shown_path(name)}: cannot be read: {problem}.")
        told.__cause__ = error
        return told


def _job_count(names: Sequence[str], jobs: int | None) -> int:
    if jobs is not None:
        return min(jobs, len(names))
    if len(names) < 2 or _expected_s(names) < WORTH_A_POOL_S:
        return 1
    return min(processor_count(), len(names))


def _expected_s(names: Sequence[str]) -> float:
    """Return about how long [s] it takes to read reports one after another."""
    rate = _PURE_BYTES_PER_S if compiled_scanner() is None else _COMPILED_BYTES_PER_S
    return _PER_REPORT_S * len(names) + sum(map(size_of, names)) / rate
