"""How text may look on this output: colours or none, which signs, how wide.

`Style` is decided once, by the command line, and passed to every renderer; no renderer asks the
environment. The bounds are told apart by words first: a colour only repeats them.
"""

from __future__ import annotations

import re
import unicodedata
from os.path import commonprefix
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "Style",
    "cell_width",
    "plain",
    "shorten_end",
    "shorten_metrics",
    "shorten_middle",
    "shorten_names",
]

_SGR = {
    "memory": "1;34",
    "compute": "1;33",
    "unknown": "1;35",
    "head": "1",
    "dim": "2",
}
_SIGNS = {"…": "..", "·": "|", "→": "->", "─": "-", "×": "x", "≥": ">=", "≤": "<=", "±": "+-"}  # noqa: RUF001


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


def shorten_names(names: Iterable[str], width: int, ellipsis: str = "…") -> dict[str, str]:
    """Return each name of a kernel as it fits, different from the others wherever that can be.

    A name that is too long gives up what stands in brackets at its end and the word kernel before
    it is cut in its middle. Where that leaves some of them equal, these show where they differ.

    Parameters
    ----------
    names
        Distinct names.
    width
        [character] Room for each.
    ellipsis
        What stands for what is cut.

    Examples
    --------
    >>> names = ["flash_fwd_kernel<64, fp16>", "flash_fwd_combine_kernel<64, fp16>"]
    >>> list(shorten_names(names, 18).values())
    ['flash_fwd_kernel', 'flash_fwd_combine']
    >>> list(shorten_names(["gemm_bias<64x64, fp16>", "gemm_bias<64x8, fp16>"], 14).values())
    ['gemm_bi…64x64,', 'gemm_b…64x8, f']
    """
    shown = {name: shorten_middle(_bare(name, width), width, ellipsis) for name in names}
    for name, start in _alike(shown, width):
        shown[name] = _around(name, start, width, ellipsis)
    return shown


def shorten_metrics(names: Iterable[str], width: int, ellipsis: str = "…") -> dict[str, str]:
    """Return each name of a metric as it fits, different from the others wherever that can be.

    What follows the first point, such as ``.avg.per_second``, is kept where there is room for it.

    Parameters
    ----------
    names
        Distinct names.
    width
        [character] Room for each.
    ellipsis
        What stands for what is cut.

    Examples
    --------
    >>> names = ["sm__inst_fadd_pred_on.sum", "sm__inst_fmul_pred_on.sum"]
    >>> list(shorten_metrics(names, 20).values())
    ['sm__ins…fadd_pre.sum', 'sm__ins…fmul_pre.sum']
    """
    split = {name: _at_the_point(name, width) for name in names}
    room = {name: width - cell_width(tail) for name, (_, tail) in split.items()}
    shown = {
        name: shorten_middle(body, room[name], ellipsis) + tail
        for name, (body, tail) in split.items()
    }
    for name, start in _alike(shown, width):
        body, tail = split[name]
        shown[name] = _around(body, start, room[name], ellipsis) + tail
    return shown


def _at_the_point(name: str, width: int) -> tuple[str, str]:
    body, point, tail = name.partition(".")
    has_room = cell_width(tail) + 1 + _LEAST_BODY <= width
    return (body, point + tail) if has_room else (name, "")


_LEAST_BODY = 12
"""[character] A shorter beginning of the name of a metric does not say what is measured."""


def _alike(shown: Mapping[str, str], width: int) -> list[tuple[str, int]]:
    """Return the names that are too long and shown like another, and where they begin to differ.

    A name that fits is left as it is: the others are told from it by their ellipsis.
    """
    groups: dict[str, list[str]] = {}
    for name, text in shown.items():
        groups.setdefault(text, []).append(name)
    return [
        (name, len(commonprefix(group)))  # noqa: RUF071 - by characters is what is meant
        for group in groups.values()
        for name in group
        if len(group) > 1 and cell_width(name) > width
    ]


def _around(name: str, start: int, width: int, ellipsis: str) -> str:
    """Return the beginning of a name and the word that holds a position."""
    while start > 0 and name[start - 1].isalnum():
        start -= 1
    room = width - cell_width(ellipsis)
    tail = _head(name[start:], room - room // 2).rstrip()
    if start == 0 or not tail:
        return shorten_middle(name, width, ellipsis)
    return _head(name, room - cell_width(tail)) + ellipsis + tail


def _bare(name: str, width: int) -> str:
    """Return as much of a name as is needed to fit, without what says least."""
    for pattern in (r"\s*[<(].*$", r"_?[kK]ernel$"):
        if cell_width(name) <= width:
            break
        name = re.sub(pattern, "", name) or name
    return name


def _head(text: str, width: int) -> str:
    used = 0
    for position, sign in enumerate(text):
        used += _sign_width(sign)
        if used > width:
            return text[:position]
    return text
