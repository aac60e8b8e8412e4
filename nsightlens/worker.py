"""A Python process beside this one, which does what it is told and can be lost without harm.

For what holds the interpreter (the pure scanner, when there are many reports; kernel names, when
there are very many) and for what must not live in the caller's process (NVIDIA's reader). Unlike
those of `multiprocessing`, it never imports the caller's main module, so that a script needs no
guard on its account.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, TypeVar

from nsightlens.processors import mark_as_worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

__all__ = ["Worker", "WorkerDiedError", "WorkerTraceback", "Workers", "portable", "serve"]

Result = TypeVar("Result")

_BOOT = """
import sys
sys.path[:] = {path!r}
from nsightlens.no_pandas import keep_pandas_out
keep_pandas_out()
from nsightlens.worker import serve
serve()
"""


class WorkerDiedError(Exception):
    """The process ended before it answered, or did not start; the message says how."""


class WorkerTraceback(Exception):  # noqa: N818 - the cause of an error, no error by itself
    """Where in the worker an error was raised."""


class Worker:
    """One process, for as long as the context lasts.

    ``is_idle`` is False while a call runs, and stays so if the call was given up.

    Raises
    ------
    WorkerDiedError
        No process could be started.
    """

    def __init__(self) -> None:
        with ExitStack() as opened:
            try:
                self._said = opened.enter_context(tempfile.TemporaryFile())
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _BOOT.format(path=sys.path)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._said,
                )
            except OSError as error:
                raise WorkerDiedError(f"did not start: {error.strerror or error}") from error
            opened.pop_all()  # close() closes it
        self.is_idle = True

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process, whatever it does, and let go of all that belongs to it."""
        self.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._said):
            if stream is not None:
                with suppress(OSError):  # what was still to be sent has no reader
                    stream.close()

    @property
    def has_ended(self) -> bool:
        """Whether the process is there no more."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """End the process, whatever it does; also from another thread than that of a `call`."""
        self._process.kill()

    def call(
        self,
        function: Callable[..., Result],
        *arguments: Any,
        progress: Callable[[int, int], None] | None = None,
    ) -> Result:
        """Let the process run a function; return what it returns, raise what it raises.

        Parameters
        ----------
        function
            A function of a module, which also takes ``progress``.
        arguments
            What can be pickled.
        progress
            Called here with what the function calls its own with.

        Raises
        ------
        WorkerDiedError
            The process ended before it answered.
        """
        self.is_idle = False
        self._ask((function, arguments, progress is not None))
        while True:
            kind, answer = self._next_answer()
            self.is_idle = kind != "progress"
            if kind == "error":
                error, where = answer
                raise error from WorkerTraceback(where)
            if kind == "result":
                result: Result = answer
                return result
            if progress is not None:
                progress(*answer)

    def _ask(self, task: Any) -> None:
        stream = self._process.stdin
        assert stream is not None
        try:
            pickle.dump(task, stream, pickle.HIGHEST_PROTOCOL)
            stream.flush()
        except OSError:  # EPIPE; on Windows EINVAL
            raise WorkerDiedError(self._how_it_ended()) from None

    def _next_answer(self) -> tuple[str, Any]:
        stream = self._process.stdout
        assert stream is not None
        try:
            kind, answer = pickle.load(stream)
        except (EOFError, pickle.UnpicklingError):  # the second where it ended in mid-sentence
            raise WorkerDiedError(self._how_it_ended()) from None
        return kind, answer

    def _how_it_ended(self) -> str:
        code = self._process.wait()
        self._said.seek(0)
        lines = self._said.read().decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        how = f"was ended by {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
        return f"{how}, saying: {last}" if last else how


class Workers:
    """Workers for the threads that share this: started when needed, used again, ended together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_closed = False
        self._all: set[Worker] = set()
        self._idle: list[Worker] = []

    @contextmanager
    def lend(self, *, only_once: bool = False) -> Iterator[Worker]:
        """Give an idle worker, or a new one, for as long as the context lasts.

        Parameters
        ----------
        only_once
            End it then: what it does leaves it of no more use.

        Raises
        ------
        WorkerDiedError
            No process could be started.
        InterruptedError
            The workers were ended.
        """
        worker = self._take()
        try:
            yield worker
        finally:
            self._give_back(worker, only_once=only_once)

    def _take(self) -> Worker:
        with self._lock:
            if self._is_closed:
                raise InterruptedError("the workers were ended")
            if self._idle:
                return self._idle.pop()
            worker = Worker()
            self._all.add(worker)
            return worker

    def _give_back(self, worker: Worker, *, only_once: bool) -> None:
        with self._lock:
            if worker.is_idle and not only_once:
                self._idle.append(worker)
                return
            self._all.discard(worker)
        worker.close()

    def kill(self) -> None:
        """End all of them, whatever they do; threads that wait for one need wait no more."""
        with self._lock:
            self._is_closed = True
            for worker in self._all:
                worker.kill()

    def close(self) -> None:
        """Let go of all that belongs to them, once no thread uses one."""
        self.kill()
        for worker in self._all:
            worker.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def serve() -> None:
    """Do what stdin asks for until it ends: the main function of the process of a `Worker`."""
    mark_as_worker()
    # Ctrl-C reaches every process of a terminal; the caller hears it and ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tasks, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # What a library prints is no answer.
    os.dup2(2, 1)
    while True:
        try:
            function, arguments, is_told = pickle.load(tasks)
        except EOFError:
            return
        told = (lambda *state: _send(answers, ("progress", state))) if is_told else None
        try:
            answer = ("result", function(*arguments, progress=told))
        except Exception as error:  # the caller raises it
            answer = ("error", (portable(error), traceback.format_exc()))
        _send(answers, answer)


def portable(error: Exception) -> Exception:
    """Return an error that says the same and can be sent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever its class makes of it
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _send(stream: IO[bytes], message: Any) -> None:
    pickle.dump(message, stream, pickle.HIGHEST_PROTOCOL)
    stream.flush()
