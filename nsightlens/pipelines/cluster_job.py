"""What a worker of a Dask cluster is sent, and what it answers."""

from __future__ import annotations

import os
import pickle
import socket
import traceback
from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens._version import __version__
from nsightlens.errors import ReportNotFoundError
from nsightlens.pipelines.processes import unpickled
from nsightlens.pipelines.reading import counted_from, file_of
from nsightlens.readers.columns import shown_path
from nsightlens.worker import portable

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Done", "Failed", "Job", "Refused"]


class Job:
    """What a worker is sent: to unpickle it is to do it.

    So that all that Dask has to understand is `pickle.loads` and some bytes: a worker or scheduler
    without nsightlens would break off at a function of ours, instead of giving an error.
    """

    def __init__(self, folder: str, task: Callable[..., Any], name: str, sent: bytes) -> None:
        # The task by its name: it may be of a version that the worker does not have.
        call = pickle.dumps((task, name), pickle.HIGHEST_PROTOCOL)
        self._arguments = (__version__, folder, call, sent)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _run, self._arguments


class Refused(NamedTuple):
    """The worker's answer where it is not fit for a job."""

    problem: str


class Failed(NamedTuple):
    """The worker's answer where the task raised an error."""

    error: Exception
    where: str


class Done(NamedTuple):
    """The worker's answer."""

    result: Any


def _run(version: str, folder: str, call: bytes, sent: bytes) -> Refused | Failed | Done:
    """Run a task on a worker of the cluster."""
    host = socket.gethostname()
    if version != __version__:
        return Refused(f"its worker on {host} has nsightlens {__version__}, and this is {version}")
    task, name = pickle.loads(call)
    try:
        with counted_from(folder):
            if not os.path.exists(file_of(name)):  # noqa: PTH110 - any name
                raise ReportNotFoundError(
                    f"{shown_path(name)}: the Dask worker on {host} finds no such file. Reports "
                    "have to lie in a folder that all workers see under the same name."
                )
            return Done(task(name, unpickled(sent)))
    except Exception as error:  # the caller raises it
        return Failed(portable(error), traceback.format_exc())
