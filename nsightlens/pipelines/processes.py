"""A task for each of many reports, in processes beside this one."""

from __future__ import annotations

import pickle
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from nsightlens.readers.pool import lost
from nsightlens.readers.source import lies_on_disk
from nsightlens.worker import WorkerDiedError, Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

__all__ = ["AHEAD", "in_processes", "unpickled"]

Argument = TypeVar("Argument")
Result = TypeVar("Result")

AHEAD = 2
"""Results in memory per process: those behind a slow one must not pile up."""


def in_processes(
    task: Callable[[str, Argument], Result], names: Iterable[str], argument: Argument, count: int
) -> Generator[Callable[[], Result], None, None]:
    """Yield for each name in order the function that waits for the result of its task.

    What does not lie on a disk is the caller's to read, when that function is called: standard
    input is no other process's, and nothing can end another thread's wait for a pipe.

    Parameters
    ----------
    task, names, argument
        As in `nsightlens.pipelines.map_reports`.
    count
        How many processes. Closing the iterator ends them, whatever they do.
    """
    # Once, and unpickled once by each process: options may be heavy, and what is learned from
    # kernel names by a user's rules stays with the rules.
    sent = pickle.dumps(argument, pickle.HIGHEST_PROTOCOL)
    workers = Workers()
    threads = ThreadPoolExecutor(count, thread_name_prefix="nsightlens")

    def start(name: str) -> Callable[[], Result]:
        if not lies_on_disk(name):
            return partial(task, name, argument)
        return threads.submit(_in_worker, workers, task, name, sent).result

    try:
        running: deque[Callable[[], Result]] = deque()
        for name in names:
            if len(running) == count * AHEAD:
                yield running.popleft()
            running.append(start(name))
        while running:
            yield running.popleft()
    finally:
        workers.kill()
        threads.shutdown(cancel_futures=True)
        workers.close()


def _in_worker(
    workers: Workers, task: Callable[[str, Any], Result], name: str, sent: bytes
) -> Result:
    try:
        with workers.lend() as worker:
            result: Result = worker.call(_run, task, name, sent)
    except WorkerDiedError as died:
        raise lost(name, died) from died
    return result


def _run(
    task: Callable[[str, Any], Result],
    name: str,
    sent: bytes,
    *,
    progress: Callable[..., None] | None = None,
) -> Result:
    """Run a task in the worker, which asks for no progress."""
    del progress
    return task(name, unpickled(sent))


@lru_cache(maxsize=4)
def unpickled(sent: bytes) -> Any:
    """Return an argument that was sent, the same object for the same bytes."""
    return pickle.loads(sent)
