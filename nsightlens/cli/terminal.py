"""What the terminal can show: width, colours, signs; and progress on stderr."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from nsightlens.render.style import Style

__all__ = ["Progress", "style_for", "width_of"]

DEFAULT_WIDTH = 100
"""[character] Width where nothing says one: most log viewers show it without wrapping."""
_LEAST_WIDTH = 40
_PATIENCE_S = 1.0
"""[s] Work that is done by then needs no progress."""
_INTERVAL_S = 0.1


def style_for(stream: TextIO | None, width: int | None) -> Style:
    """Return how text may look on a stream.

    Parameters
    ----------
    stream
        Where the text goes; ``None`` for a file.
    width
        [character] What was asked for; ``None`` to ask ``$COLUMNS``, then the terminal.
    """
    from nsightlens.render.style import Style

    is_terminal = stream is not None and stream.isatty()
    return Style(
        width=max(_LEAST_WIDTH, width or width_of(sys.stdout if is_terminal else None)),
        colour=stream is not None and _has_colour(is_terminal=is_terminal),
        unicode=stream is None or _can_write_signs(stream),
    )


def width_of(terminal: TextIO | None, default: int = DEFAULT_WIDTH) -> int:
    """Return the width [character] that ``$COLUMNS`` says, or the terminal, or the default."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    return (_columns_of(terminal) if terminal is not None else 0) or default


def _columns_of(stream: TextIO) -> int:
    """Return the columns of a terminal, 0 where it does not say."""
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return 0


def _has_colour(*, is_terminal: bool) -> bool:
    # https://no-color.org: any value but the empty one switches colours off.
    if os.environ.get("NO_COLOR"):
        return False
    # As in Node, where FORCE_COLOR comes from: 0 forces them off.
    if os.environ.get("FORCE_COLOR"):
        return os.environ["FORCE_COLOR"] != "0"
    if not is_terminal or os.environ.get("TERM") == "dumb":
        return False
    # The old Windows console shows escape sequences as text; these variables tell the new ones.
    return os.name != "nt" or any(name in os.environ for name in ("WT_SESSION", "ANSICON", "TERM"))


def _can_write_signs(stream: TextIO) -> bool:
    try:
        "…·→─".encode(stream.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


class Progress:
    """One line on stderr that says how far reading has come, if it takes longer than a second.

    Use as a context manager and call `update` or `show`. It writes nothing where stderr is no
    terminal.

    Parameters
    ----------
    is_wanted
        Whether to show it at all.
    """

    def __init__(self, *, is_wanted: bool) -> None:
        self._stream = sys.stderr
        self._is_on = is_wanted and self._stream is not None and self._stream.isatty()
        self._begin = self._last = time.monotonic()
        self._shown = ""

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._show("")

    def update(self, what: str, done: int, total: int) -> None:
        """Say that ``done`` of ``total`` parts of something are done."""
        self.show(f"reading {done}/{total}  {what}")

    def show(self, text: str) -> None:
        """Show how far it is, in words."""
        now = time.monotonic()
        if not self._is_on or now - self._begin < _PATIENCE_S or now - self._last < _INTERVAL_S:
            return
        self._last = now
        width = (_columns_of(self._stream) or 80) - 1
        from nsightlens.render.style import plain

        self._show(plain(text)[:width])

    def clear(self) -> None:
        """Make room for a line of something else."""
        self._show("")

    def _show(self, text: str) -> None:
        if self._is_on and text != self._shown:
            blank = " " * max(0, len(self._shown) - len(text))
            self._stream.write(f"\r{text}{blank}\r" if not text else f"\r{text}{blank}")
            self._stream.flush()
            self._shown = text
