"""Ctrl-C ends the command line, whatever the code that it falls into makes of it.

NumPy turns an interrupt of its import into an ImportError. The handler here remembers that there
was one. Imported before everything else, and so imports next to nothing.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

__all__ = ["listen", "was_interrupted"]

_noticed: list[int] = []


def listen() -> None:
    """Remember interrupts from now on; leave a handler that somebody else installed."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _notice)


def was_interrupted() -> bool:
    """Return whether there was an interrupt since `listen` was called."""
    return bool(_noticed)


def _notice(number: int, _: FrameType | None) -> NoReturn:
    _noticed.append(number)
    raise KeyboardInterrupt
