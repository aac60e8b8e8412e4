"""What tests let a worker process do; it has to import it by name."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from nsightlens.errors import TruncatedReportError
from nsightlens.readers.read import ReadOptions, read_report

if TYPE_CHECKING:
    from collections.abc import Callable

    from nsightlens.report import Report


class UnportableError(Exception):
    """Cannot be made again from what it is pickled as."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(one + other)


def add(one: int, other: int, *, progress: Callable[[int, int], None] | None = None) -> int:
    """Return the sum, telling how far it is, and print what must not be taken for the answer."""
    sys.stdout.write("noise\n")
    os.write(1, b"more noise")
    if progress is not None:
        progress(1, 2)
        progress(2, 2)
    return one + other


def process_id(**_: Any) -> int:
    """Return the number of the process that does it."""
    return os.getpid()


def modules(**_: Any) -> list[str]:
    """Return what is loaded, once Arrow has converted something."""
    pa.array([1])
    return list(sys.modules)


def fail(**_: Any) -> None:
    """Raise an error with facts."""
    raise TruncatedReportError("a", "ends early", "Copy it.", offset=8, where=["block 3"])


def fail_unportably(**_: Any) -> None:
    """Raise an error that cannot be sent."""
    raise UnportableError("one", "other")


def leave(code: int, **_: Any) -> None:
    """End the process without an answer."""
    sys.stderr.write("out of luck\n")
    sys.stderr.flush()
    os._exit(code)


def be_killed(number: int, **_: Any) -> None:
    """End the process as the system does when memory runs out."""
    os.kill(os.getpid(), number)


def read_or_die(
    name: str, options: ReadOptions, *, progress: Callable[[int, int], None] | None = None
) -> Report:
    """Read a report, unless its name says that it is deadly or endless."""
    if "deadly" in name:
        os._exit(9)
    if "endless" in name:
        time.sleep(600)
    return read_report(name, options, progress=progress)


def read_natively(
    name: str, options: ReadOptions, *, progress: Callable[[int, int], None] | None = None
) -> Report:
    """Read a report with the native reader, whichever was asked for."""
    return read_report(name, options._replace(reader="native"), progress=progress)


def die_of_file(path: str, *_: Any, **__: Any) -> None:
    """End the process as a reader does that a file makes crash."""
    assert Path(path).exists(), path
    os._exit(1)
