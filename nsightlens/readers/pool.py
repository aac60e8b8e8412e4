"""Threads that read reports side by side, each with a process beside it where that is needed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from nsightlens.errors import ReaderFailedError
from nsightlens.ncurep.scanner import compiled_scanner
from nsightlens.readers.columns import shown_path
from nsightlens.readers.read import read_here, read_report
from nsightlens.readers.source import lies_on_disk, size_of
from nsightlens.worker import WorkerDiedError, Workers

if TYPE_CHECKING:
    from collections.abc import Callable

    from nsightlens.readers.read import Progress, ReadOptions
    from nsightlens.report import Report

__all__ = ["Pool", "lost"]

_LARGE = 16 << 20  # [byte] where a report takes the compiled scanner as long as its tables take


def _needs_process(name: str, options: ReadOptions) -> bool:
    """Tell whether threads that read such a report would wait for one another.

    They do for Python code: the pure scanner, and the tables of small reports. The compiled
    scanner leaves the interpreter to others. NVIDIA's reader needs a process in any case.
    """
    is_slow = options.reader == "ncu_report" or compiled_scanner() is None
    return is_slow or size_of(name) < _LARGE


class Pool:
    """Reads some reports at once.

    Parameters
    ----------
    count
        How many reports are read at once.
    options, progress
        As in `nsightlens.readers.each.read_each`.
    """

    def __init__(self, count: int, options: ReadOptions, progress: Progress | None) -> None:
        self._options = options
        self._progress = None if progress is None else _one_at_a_time(progress)
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="nsightlens")
        self._workers = Workers()

    def start(self, name: str) -> Callable[[], Report]:
        """Begin to read a report; return the function that waits for it.

        What does not lie on a disk is read when that function is called, by who calls it: nothing
        can end the wait of another thread for a pipe, not even an interrupt.
        """
        if not lies_on_disk(name):
            return partial(read_here, name, self._options, self._progress)
        if not _needs_process(name, self._options):
            return self._threads.submit(read_here, name, self._options, self._progress).result
        return self._threads.submit(self._read_in_worker, name).result

    def _read_in_worker(self, name: str) -> Report:
        progress = self._progress
        # NVIDIA's reader fills the memory of its process.
        only_once = self._options.reader == "ncu_report"
        try:
            with self._workers.lend(only_once=only_once) as worker:
                return worker.call(
                    read_report,
                    name,
                    self._options,
                    progress=None if progress is None else partial(progress, name),
                )
        except WorkerDiedError as died:
            raise lost(name, died) from died

    def close(self) -> None:
        """End whatever still runs and wait for it."""
        self._workers.kill()
        self._threads.shutdown(cancel_futures=True)
        self._workers.close()


def lost(name: str, died: WorkerDiedError) -> ReaderFailedError:
    """Return what to tell of a report whose process ended before it was read."""
    problem = f"the process that was to read it {died}"
    advice = "Read it alone with --jobs 1 (in Python: jobs=1); it may need more memory."
    if "SIGBUS" in str(died):
        advice = "The file was cut while it was read: read it when it is written whole."
    return ReaderFailedError(shown_path(name), problem, advice)


def _one_at_a_time(progress: Progress) -> Progress:
    lock = threading.Lock()

    def told(name: str, done: int, total: int) -> None:
        with lock:
            progress(name, done, total)

    return told
