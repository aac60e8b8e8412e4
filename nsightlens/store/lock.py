"""One process at a time: a lock that is free again when its holder ends, however it ends."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["locked"]

_INTERVAL_S = 0.1
"""[s] Between two looks whether a lock is free; waiting in the system could not be interrupted
everywhere."""


@contextlib.contextmanager
def locked(folder: Path, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock of a folder, which is made for it and removed afterwards if it is empty.

    Parameters
    ----------
    folder
        The folder. Its parent exists.
    on_wait
        Called once, if another process holds the lock.

    Raises
    ------
    OSError
        The folder or the file in it could not be made.
    """
    file = folder / "lock"
    descriptor = _held(folder, file, on_wait)
    try:
        yield
    finally:
        # While it is held: who waits for it sees that it is another one now, and asks again. Where
        # the system removes no open file, it is removed after.
        with contextlib.suppress(OSError):
            file.unlink()
        os.close(descriptor)
        with contextlib.suppress(OSError):
            if os.name == "nt":
                file.unlink()
        with contextlib.suppress(OSError):
            folder.rmdir()


def _held(folder: Path, file: Path, on_wait: Callable[[], None] | None) -> int:
    """Return the descriptor of the locked file; to close it lets go of the lock."""
    while True:
        folder.mkdir(exist_ok=True)
        try:
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:
            continue  # its last holder has just removed the folder
        try:
            while not _locks(descriptor):
                if on_wait is not None:
                    on_wait()
                    on_wait = None
                time.sleep(_INTERVAL_S)
            if _is_still(descriptor, file):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_still(descriptor: int, file: Path) -> bool:
    """Return whether an open file still has its name: its last holder may have removed it."""
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except OSError:
        return False


def _locks(descriptor: int) -> bool:
    """Lock an open file, if nobody else has; return whether it is locked now."""
    if os.name == "nt":
        import msvcrt  # noqa: PLC0415 - where there is one

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except OSError:
            return False
        return True
    import fcntl  # noqa: PLC0415 - as above

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
