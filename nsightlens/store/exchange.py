"""Two folders change places in one step, where the system can do that."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FORMER", "exchange", "exchanged_at_once"]

FORMER = ".old"
"""What is added to the name of the one folder while the other has it, in two renames."""

# linux/fs.h, fcntl.h; sys/stdio.h of macOS.
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_RENAME_SWAP = 2


def exchange(one: Path, other: Path) -> None:
    """Let two folders of one file system change places.

    In one step on Linux and macOS. Elsewhere, and on file systems that cannot do it, in two
    renames: whoever looks between them finds nothing at ``other``.

    Parameters
    ----------
    one, other
        The folders. ``other`` is the one that people look at.

    Raises
    ------
    OSError
        It failed; both are where they were.
    """
    if exchanged_at_once(one, other):
        return
    former = one.with_name(f"{one.name}{FORMER}")
    other.rename(former)
    try:
        one.rename(other)
    except BaseException:
        former.rename(other)
        raise
    former.rename(one)


def exchanged_at_once(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; return whether the system can.

    Raises
    ------
    OSError
        It can, and failed; both are where they were.
    """
    paths = os.fsencode(one), os.fsencode(other)
    if sys.platform.startswith("linux"):
        name = "renameat2"
        words = (_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], _RENAME_EXCHANGE)
    elif sys.platform == "darwin":
        name, words = "renamex_np", (*paths, _RENAME_SWAP)
    else:
        return False
    call = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if call is None:
        return False
    if call(*words) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM):
        return False  # the kernel, a sandbox or the file system knows no exchange
    raise OSError(number, os.strerror(number), str(other))
