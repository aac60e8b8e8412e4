"""How text may look on this output: colours or none, which signs, how wide.

`Style` is decided once, by the command line, and passed to every renderer; no renderer asks the
environment. The bounds are told apart by words first: a colour only repeats them.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

__all__ = ["Style", "cell_width", "plain", "shorten_end", "shorten_middle"]

_SGR = {
    "memory": "1;34",
    "compute": "1;33",
    "unknown": "1;35",
    "head": "1",
    "dim": "2",
}
_SIGNS = {"…": "..", "·": "|", "→": "->", "─": "-", "×": "x", "≥": ">=", "≤": "<="}  # noqa: RUF001


class Style(NamedTuple):
    """What the output can show.

    Parameters
    ----------
    width
        [character] Columns that a line may take.
    colour
        Whether escape sequences for colours may be written.
    unicode
        Whether signs outside ASCII may be written.
    """

    width: int = 100
    colour: bool = False
    unicode: bool = True

    def paint(self, text: str, name: str | None) -> str:
        """Return the text in the colour of a name such as ``memory`` or ``dim``."""
        code = _SGR.get(name or "")
        if not (self.colour and code and text):
            return text
        return f"\x1b[{code}m{text}\x1b[0m"

    def sign(self, sign: str) -> str:
        """Return a sign, or what stands for it in ASCII."""
        return sign if self.unicode else _SIGNS[sign]


def plain(text: str) -> str:
    r"""Return text from a report without line breaks and control characters.

    A kernel or range name may hold anything, also sequences that would steer a terminal.

    Examples
    --------
    >>> plain("a\x1b[31mb\nc")
    'a?[31mb c'
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else " " if sign.isspace() else "?" for sign in text)


def cell_width(text: str) -> int:
    """Return the number of terminal columns that a text takes.

    Examples
    --------
    >>> cell_width("abc"), cell_width("日本")
    (3, 4)
    """
    if text.isascii():
        return len(text)
    return sum(_sign_width(sign) for sign in text)


def _sign_width(sign: str) -> int:
    if unicodedata.combining(sign):
        return 0
    return 2 if unicodedata.east_asian_width(sign) in "WF" else 1


def shorten_middle(text: str, width: int, ellipsis: str = "…") -> str:
    """Return a text cut in its middle, so that its beginning and its end stay readable.

    Examples
    --------
    >>> shorten_middle("flash_fwd_splitkv_combine_kernel", 20)
    'flash_fwd_sp…_kernel'
    """
    if cell_width(text) <= width:
        return text
    room = width - cell_width(ellipsis)
    if room < 2:
        return _head(text, width)
    tail_room = room * 2 // 5
    return _head(text, room - tail_room) + ellipsis + _head(text[::-1], tail_room)[::-1]


def shorten_end(text: str, width: int, ellipsis: str = "…") -> str:
    """Return a text cut at its end.

    Examples
    --------
    >>> shorten_end("attention", 6)
    'atten…'
    """
    if cell_width(text) <= width:
        return text
    room = width - cell_width(ellipsis)
    return _head(text, room) + ellipsis if room >= 1 else _head(text, width)


def _head(text: str, width: int) -> str:
    used = 0
    for position, sign in enumerate(text):
        used += _sign_width(sign)
        if used > width:
            return text[:position]
    return text
