"""What is said to the person at the terminal: lines on stderr, never the result."""

from __future__ import annotations

import sys

__all__ = ["say"]


def say(kind: str, message: str) -> None:
    """Write one line to the person who runs the command.

    Parameters
    ----------
    kind
        ``error``, ``warning``, or what is being done.
    message
        What happened; line breaks become blanks.
    """
    if sys.stderr is not None:
        print(f"nsightlens: {kind}: {' '.join(message.split())}", file=sys.stderr, flush=True)
