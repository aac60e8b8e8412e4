"""A task for each of many reports, on the workers of a Dask cluster.

Nothing else in this package imports ``distributed``. Its client runs in an event loop of ours, in
a thread that is there only as long as reports are read: the loop that `distributed.Client` starts
by itself outlives a scheduler that does not answer.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pickle
import sys
import threading
import time
import warnings
from collections import deque
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from nsightlens._version import __version__
from nsightlens.errors import (
    ClusterError,
    MissingExtraError,
    ReaderFailedError,
)
from nsightlens.pipelines.cluster_job import Failed, Job, Refused
from nsightlens.pipelines.processes import AHEAD
from nsightlens.readers.columns import shown_path
from nsightlens.readers.source import STDIN, is_url
from nsightlens.worker import WorkerTraceback

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator, Iterable
    from types import TracebackType

__all__ = ["on_cluster"]

Argument = TypeVar("Argument")
Result = TypeVar("Result")

CONNECT_S = 10.0
"""[s] A scheduler that lives answers in less."""
NO_WORKER_S = 60.0
"""[s] Without any worker: a cluster that grows with its work takes a while for the first one."""
CHECK_S = 2.0
"""[s] Between two looks at the workers."""
_CLOSE_S = 5.0


def on_cluster(
    task: Callable[[str, Argument], Result],
    names: Iterable[str],
    argument: Argument,
    address: str,
) -> Generator[Callable[[], Result], None, None]:
    """Yield for each name in order the function that waits for the result of its task.

    Standard input, pipes and URLs are the caller's to read, when that function is called.

    Parameters
    ----------
    task, names, argument
        As in `nsightlens.pipelines.map_reports`.
    address
        That of a scheduler, or the path of its scheduler file. Closing the iterator takes back
        the tasks that no worker has begun.

    Raises
    ------
    ClusterError
        The scheduler cannot be reached, or is lost on the way.
    MissingExtraError
        ``distributed`` is not installed.
    """
    folder = os.path.realpath(os.curdir)
    sent = pickle.dumps(argument, pickle.HIGHEST_PROTOCOL)
    with _Client(address) as client:
        running: deque[Callable[[], Result]] = deque()
        for name in names:
            while len(running) >= AHEAD * client.thread_count():
                yield running.popleft()
            if _is_ours_to_read(name):
                running.append(partial(task, name, argument))
            else:
                running.append(client.start(name, Job(folder, task, name, sent)))
        while running:
            yield running.popleft()


def _is_ours_to_read(name: str) -> bool:
    # What is not there at all may be on the workers.
    return name == STDIN or is_url(name) or (os.path.exists(name) and not os.path.isfile(name))  # noqa: PTH110, PTH113 - any name


class _KilledError(Exception):
    """Every worker died that was given a job."""


class _Client:
    """A connection to a Dask scheduler, for as long as the context lasts."""

    def __init__(self, address: str) -> None:
        self._given = address
        self._loop: asyncio.AbstractEventLoop | None = None
        self._client: Any = None
        self._stopped: asyncio.Event | None = None
        self._thread_count = 1
        self._looked_at = self._worker_seen_at = time.monotonic()

    def __enter__(self) -> _Client:
        library = _library()
        address = _address_of(self._given)
        is_ready = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(is_ready)), name="nsightlens-dask", daemon=True
        )
        self._thread.start()
        is_ready.wait()
        try:
            self._ask(self._connect(library, address))
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._stop()

    async def _serve(self, is_ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        is_ready.set()
        await self._stopped.wait()
        if self._client is not None:
            # A scheduler that is gone cannot be told.
            with suppress(Exception), _quiet():
                await asyncio.wait_for(self._client._close(fast=True), _CLOSE_S)

    def _ask(self, question: Coroutine[Any, Any, Result]) -> Result:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(question, self._loop).result()

    def _stop(self) -> None:
        assert self._loop is not None
        assert self._stopped is not None
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    async def _connect(self, library: Any, address: str) -> None:
        try:
            with _quiet():
                self._client = library.Client(
                    address,
                    asynchronous=True,
                    set_as_default=False,
                    timeout=CONNECT_S,
                    name="nsightlens",
                )
                await self._client
        except Exception as error:  # each transport has errors of its own
            raise ClusterError(
                f"{self._given}: no Dask scheduler can be reached: {_one_line(error)}. Give the "
                "address that it prints when it starts, such as tcp://host:8786, or its scheduler "
                "file."
            ) from error
        await self._look_at_workers()

    def thread_count(self) -> int:
        """Return how many tasks the workers can do at once, at least 1."""
        if time.monotonic() - self._looked_at > CHECK_S:
            self._ask(self._look_at_workers())
        return self._thread_count

    async def _look_at_workers(self) -> None:
        try:
            found = await asyncio.wait_for(self._client.nthreads(), CONNECT_S)
        except Exception:
            return  # what waits for a result is told that the scheduler is lost
        finally:
            self._looked_at = time.monotonic()
        if found:
            self._worker_seen_at = self._looked_at
        self._thread_count = max(1, sum(found.values()))

    def start(self, name: str, job: Job) -> Callable[[], Any]:
        """Send a job to the cluster; return the function that waits for its result."""
        sent = pickle.dumps(job, pickle.HIGHEST_PROTOCOL)
        future = self._ask(self._submit(sent))

        def wait() -> Any:
            try:
                answer = self._ask(self._answer(future))
            except _KilledError:
                # Dask charges all that a worker had to do with its end: once more, and then only
                # what did it fails.
                answer = self._ask(self._again(name, sent))
            if isinstance(answer, Failed):
                raise answer.error from WorkerTraceback(answer.where)
            if isinstance(answer, Refused):
                raise ClusterError(
                    f"{self._given}: {answer.problem}. Install the same version on all of its "
                    "workers: results of two versions are not the same."
                )
            return answer.result

        return wait

    async def _submit(self, sent: bytes) -> Any:
        return self._client.submit(pickle.loads, sent, key=f"nsightlens-{uuid4()}")

    async def _again(self, name: str, sent: bytes) -> Any:
        try:
            return await self._answer(await self._submit(sent))
        except _KilledError as killed:
            problem = "the Dask workers that were to read it died, one after another"
            advice = "Read it alone with --jobs 1 (in Python: jobs=1); it may need more memory."
            raise ReaderFailedError(shown_path(name), problem, advice) from killed

    async def _answer(self, future: Any) -> Any:
        waiting = asyncio.ensure_future(future.result())
        try:
            while not (await asyncio.wait({waiting}, timeout=CHECK_S))[0]:
                await self._look_at_workers()
                if time.monotonic() - self._worker_seen_at > NO_WORKER_S:
                    raise ClusterError(
                        f"{self._given}: the Dask scheduler has had no worker for "
                        f"{NO_WORKER_S:g} s. Start one with: dask worker ADDRESS"
                    )
        finally:
            waiting.cancel()
        if waiting.cancelled():
            raise self._lost("the connection to its scheduler broke off")
        error = waiting.exception()
        if error is not None:
            raise self._told(error) from error
        return waiting.result()

    def _told(self, error: BaseException) -> Exception:
        """Return what to say of an error that no task raised."""
        if type(error).__name__ == "KilledWorker":
            return _KilledError()
        if isinstance(error, (ImportError, AttributeError)):
            return ClusterError(
                f"{self._given}: a worker cannot import nsightlens "
                f"{__version__}: {_one_line(error)}. Install the same version there as here."
            )
        if isinstance(error, (OSError, CancelledError, asyncio.CancelledError)):
            return self._lost("the connection to its scheduler broke off")
        return self._lost(_one_line(error))

    def _lost(self, problem: str) -> ClusterError:
        return ClusterError(
            f"{self._given}: the Dask cluster gave no result: {problem}. Look at what its "
            "scheduler and workers say, and run the command again."
        )


def _library() -> Any:
    """Return ``distributed``, which keeps quiet if nobody else has loaded it."""
    is_ours = "distributed" not in sys.modules
    try:
        with _quiet():
            # An optional library.
            import distributed  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("--dask", package="distributed", extra="dask") from error
    if is_ours:
        for name in list(logging.root.manager.loggerDict):
            if name.partition(".")[0] == "distributed":
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return distributed


class _quiet(warnings.catch_warnings):  # noqa: N801 - used as a function
    """Drop the warnings of the library: of versions that differ, of what it will leave out."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore")


def _address_of(given: str) -> str:
    """Return the address of the scheduler, out of its file if that is what was given."""
    if not os.path.isfile(given):  # noqa: PTH113 - any name
        return given
    try:
        with open(given, encoding="utf-8") as file:  # noqa: PTH123 - any name
            return str(json.load(file)["address"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ClusterError(
            f"{given}: not the scheduler file of a Dask scheduler. Write one with: "
            "dask scheduler --scheduler-file FILE"
        ) from error


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
