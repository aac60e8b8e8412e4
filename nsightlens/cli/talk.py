"""What is said to the person at the terminal: lines on stderr, never the result."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["let_go_of", "say", "tell"]


def say(kind: str, message: str) -> None:
    """Write one line to the person who runs the command.

    Parameters
    ----------
    kind
        ``error``, ``warning``, or what is being done.
    message
        What happened; line breaks become blanks.
    """
    tell(f"nsightlens: {kind}: {' '.join(message.split())}\n")


def tell(text: str) -> None:
    """Write text to stderr; where nobody can read it, the exit code has to do.

    Names from a report and arguments may hold sequences that steer a terminal: they are shown as
    question marks.
    """
    from nsightlens.render.style import plain

    stream = sys.stderr
    if stream is None:
        return
    try:
        stream.write("\n".join(map(plain, text.split("\n"))))
        stream.flush()
    except (OSError, ValueError):
        let_go_of(stream)


def let_go_of(stream: TextIO | None) -> None:
    """Send what is left in the buffer of a standard stream nowhere.

    The interpreter flushes it once more at exit and would complain there.
    """
    try:
        descriptor = stream.fileno()  # type: ignore[union-attr]
    except (AttributeError, OSError, ValueError):
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)
