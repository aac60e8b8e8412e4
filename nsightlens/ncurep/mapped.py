"""A report as a mapped file: what both ways of reading it, and those that rewrite it, open.

Called by `nsightlens.ncurep.read` and `nsightlens.ncurep.rewrite`.
"""

from __future__ import annotations

import mmap
import os
import stat

from nsightlens.errors import NotAReportError, ReportNotFoundError
from nsightlens.ncurep.faults import PROFILE_AGAIN

__all__ = ["open_mapped"]


def open_mapped(path: str, shown: str | None = None) -> mmap.mmap:
    """Return a file mapped into memory, not yet known to be a report.

    Parameters
    ----------
    path
        A file on a disk.
    shown
        What errors call it, where it is the temporary copy of another.

    Raises
    ------
    ReportNotFoundError
        There is no such file, or it cannot be read.
    NotAReportError
        It is empty, a directory, a device or a pipe.
    """
    name = path if shown is None else shown
    try:
        # Before it is opened: opening a pipe waits for its writer.
        _check_kind(name, os.stat(path))  # noqa: PTH116 - also takes what pathlib cannot hold
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            status = os.fstat(file.fileno())
            _check_kind(name, status)
            if status.st_size:
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (FileNotFoundError, NotADirectoryError):
        raise ReportNotFoundError(f"{name}: there is no such file.") from None
    except NotAReportError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ReportNotFoundError(f"{name}: the file cannot be read ({reason}).") from error
    raise NotAReportError(name, "the file is empty", PROFILE_AGAIN)


def _check_kind(path: str, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise NotAReportError(path, "this is a directory", "Give the .ncu-rep file inside it.")
    if not stat.S_ISREG(status.st_mode):
        advice = "Give a .ncu-rep file on a disk."
        raise NotAReportError(path, "this is a device or a pipe, not a file", advice)
