"""Several reports: side by side where that pays, one after another where it does not.

Results come in the order of the names, whichever is ready first, and a report that cannot be read
stands among them as its error.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from nsightlens.errors import NsightLensError, ReaderFailedError, ReportNotFoundError
from nsightlens.ncurep.scanner import compiled_scanner
from nsightlens.readers.columns import shown_path
from nsightlens.readers.read import ReadOptions, read_report
from nsightlens.readers.source import lies_on_disk
from nsightlens.readers.worker import Worker, WorkerDiedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from nsightlens.report import Report

    Progress = Callable[[str, int, int], None]

__all__ = ["ReadOptions", "read_each"]

WORTH_A_POOL_S = 4.0
"""[s] Of reading one after another. To start a process takes half a second of a processor, and to
send a small report from there a quarter of the time that it takes to read it."""
_PER_REPORT_S = 0.03  # its tables, whatever it holds; as the rates, measured on real reports
_PURE_BYTES_PER_S = 30e6
_COMPILED_BYTES_PER_S = 1e9
_LARGE = 16 << 20  # [byte] where a report takes the compiled scanner as long as its tables take


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
            yield _outcome(partial(_read_here, name, options, progress), name)
        return
    pool = _Pool(count, options, progress)
    try:
        reading = [pool.start(name) for name in names]
        for name, result in zip(names, reading, strict=True):
            yield _outcome(result, name)
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
    return min(_processor_count(), len(names))


def _expected_s(names: Sequence[str]) -> float:
    """Return about how long [s] it takes to read reports one after another."""
    rate = _PURE_BYTES_PER_S if compiled_scanner() is None else _COMPILED_BYTES_PER_S
    return _PER_REPORT_S * len(names) + sum(map(_size, names)) / rate


def _size(name: str) -> int:
    """Return the size [byte] of a file on a disk, 0 for anything else."""
    try:
        return os.stat(name).st_size  # noqa: PTH116 - also takes what pathlib cannot hold
    except (OSError, ValueError):
        return 0


def _processor_count() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _read_here(name: str, options: ReadOptions, progress: Progress | None) -> Report:
    return read_report(
        name, options, progress=None if progress is None else partial(progress, name)
    )


def _needs_process(name: str, options: ReadOptions) -> bool:
    """Tell whether threads that read such a report would wait for one another.

    They do for Python code: the pure scanner, and the tables of small reports. The compiled
    scanner leaves the interpreter to others, and NVIDIA's reader has a process of its own. A
    pipe, a URL and standard input belong to this process.
    """
    if options.reader == "ncu_report" or not lies_on_disk(name):
        return False
    return compiled_scanner() is None or _size(name) < _LARGE


class _Pool:
    """Threads that read reports, each with a process beside it where that is needed.

    Parameters
    ----------
    count
        How many reports are read at once.
    options, progress
        As in `read_each`.
    """

    def __init__(self, count: int, options: ReadOptions, progress: Progress | None) -> None:
        self._options = options
        self._progress = None if progress is None else _one_at_a_time(progress)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="nsightlens")
        self._lock = threading.Lock()
        self._is_closed = False
        self._workers: list[Worker] = []
        self._idle: list[Worker] = []

    def start(self, name: str) -> Callable[[], Report]:
        """Begin to read a report; return the function that waits for it."""
        if not _needs_process(name, self._options):
            return self._threads.submit(_read_here, name, self._options, self._progress).result
        return self._threads.submit(self._read_in_worker, name).result

    def _read_in_worker(self, name: str) -> Report:
        worker = self._take_worker()
        progress = self._progress
        try:
            return worker.call(
                read_report,
                name,
                self._options,
                progress=None if progress is None else partial(progress, name),
            )
        except WorkerDiedError as died:
            problem = f"the process that read it {died}"
            advice = "Read it alone with --jobs 1 (in Python: jobs=1); it may need more memory."
            raise ReaderFailedError(shown_path(name), problem, advice) from died
        finally:
            if worker.is_idle:
                self._idle.append(worker)

    def _take_worker(self) -> Worker:
        with self._lock:
            if self._is_closed:
                raise InterruptedError("the pool is closed")
            if self._idle:
                return self._idle.pop()
            worker = Worker()
            self._workers.append(worker)
            return worker

    def close(self) -> None:
        """End whatever still runs and wait for it."""
        with self._lock:
            self._is_closed = True
        for worker in self._workers:
            worker.kill()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.__exit__(None, None, None)


def _one_at_a_time(progress: Progress) -> Progress:
    lock = threading.Lock()

    def told(name: str, done: int, total: int) -> None:
        with lock:
            progress(name, done, total)

    return told
