"""One report of many, read where a task runs: here, in a process beside this one, on a cluster.

A task gets the name of its report as the user typed it, and what it returns speaks of the report
by that name. Where the file lies for the process that runs the task is another matter: on a
cluster a relative name counts from the folder of the user, not from that of the worker.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from nsightlens.errors import ReportNotFoundError
from nsightlens.readers.columns import shown_path
from nsightlens.readers.read import ReadOptions, report_of
from nsightlens.readers.source import STDIN, is_url, place_of, plain_file, typed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nsightlens.report import Report

__all__ = ["counted_from", "distinct", "file_of", "read_one"]

_FOLDER: ContextVar[str] = ContextVar("folder from which relative names count", default="")


def distinct(reports: Iterable[str | os.PathLike[str]]) -> list[str]:
    """Return the names of reports as text, in order, those of one file once.

    Examples
    --------
    >>> distinct(["a.ncu-rep", "b.ncu-rep", "a.ncu-rep"])
    ['a.ncu-rep', 'b.ncu-rep']
    """
    names: dict[str, str] = {}
    for report in reports:
        names.setdefault(place_of(report), typed(report))
    return list(names.values())


@contextmanager
def counted_from(folder: str) -> Iterator[None]:
    """Let relative names of reports count from a folder, in this thread, for a while."""
    token = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(token)


def file_of(name: str) -> str:
    """Return where the file of a report lies for this process.

    Parameters
    ----------
    name
        As the task was given it.

    Examples
    --------
    >>> file_of("runs/a.ncu-rep")
    'runs/a.ncu-rep'
    >>> with counted_from("/home/ada"):
    ...     file_of("runs/a.ncu-rep").replace(os.sep, "/")
    '/home/ada/runs/a.ncu-rep'
    """
    folder = _FOLDER.get()
    return name if not folder or name == STDIN or is_url(name) else os.path.join(folder, name)  # noqa: PTH118 - any name


def read_one(name: str, options: ReadOptions | None = None) -> Report:
    """Read the report of a task; as `nsightlens.open_report`, without its warnings.

    Parameters
    ----------
    name
        As the task was given it; the report keeps it as its name.
    options
        How to read it; None for the defaults of `nsightlens.open_report`. What there is to say
        stands in ``Report.warnings``.

    Raises
    ------
    NsightLensError
        It cannot be read.

    Examples
    --------
    >>> import nsightlens.example
    >>> len(read_one(str(nsightlens.example.path())))
    113
    """
    options = options or ReadOptions()
    place = file_of(name)
    try:
        with plain_file(place, salvage=options.on_error == "salvage") as file:
            return report_of(file, name, options)
    except OSError as error:
        if isinstance(error, ReportNotFoundError):
            raise
        problem = error.strerror or error
        raise ReportNotFoundError(f"{shown_path(name)}: cannot be read: {problem}.") from error
