r"""What looks like a path, or like an address of a person or machine, in a text of bytes.

For both there are candidates, which are found fast in any bytes, and a judge that looks at the
text around one. Used by `nsightlens.ncurep.leftovers`.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING

from nsightlens.ncurep.wire import decode_text

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["address_at", "addresses", "path_at", "paths", "wide_path_at", "wide_paths"]

# A path of two parts and more. Bytes above 0x7f are letters of other languages. JSON may write a
# slash as \/ and writes a backslash twice; URLs write either as a number.
_PART = rb"/[\w.+@~%\x80-\xff-]+"
_BELOW = rb"\\?/[\w.\x80-\xff]"
_CODED = rb"%(?:25)*(?:2[Ff]|5[Cc])"
_SIGN = rb"[^\s\\/\"'<>|:*?\x00-\x1f]"
_FOLDER = _SIGN + rb"+(?: " + _SIGN + rb"+){0,3}[\\/]+"

# Each begins with one sign, which is found fast; none covers the beginning of another.
_CANDIDATES = tuple(
    re.compile(pattern)
    for pattern in (
        _PART + rb"(?=" + _BELOW + rb")",
        rb"~(?=[\w.-]*" + _BELOW + rb")",
        rb":(?=[\\/]+\w)(?<=[A-Za-z]:)",
        rb"\\(?<![:\\\w]\\)(?=\\+\w)",
        rb"%(?=(?:25)*(?:2[Ff]|5[Cc])\w)",
    )
)
_PATH = re.compile(
    # Not the rest of a word, of a tag (</p/...), of a web address or of a path in JSON. A line
    # break in JSON is a letter behind a backslash.
    rb"(?:(?<![\w.<\x80-\xff])|(?<=\\[nrt]))(?<!:/)(?<!\w\\)(?:"
    rb"(?:~[\w.-]*|" + _PART + rb")(?:\\?" + _PART + rb")+/?"
    rb"|[A-Za-z]:[\\/]+(?:" + _FOLDER + rb")*" + _SIGN + rb"*"
    rb"|\\{2,}[\w.$-]+(?:\\+" + _SIGN + rb"+)+"
    rb"|(?:" + _CODED + rb"[\w.+@~-]+){2,})"
)

# Of characters of two or four bytes, as a program on Windows or with wchar_t has them.
_WIDE_SIGN = rb"[\w.+@~%$: -]\0(?:\0\0)?"
_WIDE_PATHS = tuple(
    re.compile(sign + rb"\0(?:\0\0)?(?:" + _WIDE_SIGN + rb")+(?:[/\\]\0(?:\0\0)?" + rest)
    for sign in (rb"/", rb"\\")
    for rest in [rb"(?:" + _WIDE_SIGN + rb")+)+"]
)


def paths(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield where a path may begin."""
    for pattern in _CANDIDATES:
        for match in pattern.finditer(content):
            # The letter of a drive stands before its colon.
            start = match.start() - (content[match.start()] == _COLON)
            yield start, match.end()


_COLON = ord(":")
_DRIVE = re.compile(rb"(?<!\w)[A-Za-z]:\Z")
"""Before a path that begins with it."""


def path_at(text: bytes, start: int, stop: int) -> str | None:
    """Return the path that begins at a candidate."""
    if _DRIVE.search(text, max(0, start - 2), start):
        return None
    match = _PATH.match(text, start)
    return decode_text(match.group()) if match and match.end() >= stop else None


def wide_paths(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield where a path of wide characters stands."""
    for pattern in _WIDE_PATHS:
        for match in pattern.finditer(content):
            yield match.span()


def wide_path_at(text: bytes, start: int, stop: int) -> str:
    """Return such a path."""
    return decode_text(text[start:stop].replace(b"\0", b""))


_ADDRESS_CANDIDATES = tuple(
    re.compile(pattern)
    for pattern in (
        rb"@(?<=\w@)(?=[A-Za-z][\w-])",
        rb"://(?=[\w\[])",
        rb"\.\d{1,3}\.\d{1,3}\.\d{1,3}",
        rb":[0-9a-fA-F]{1,4}:[0-9a-fA-F]{1,4}",
        rb"80::(?<=[fF][eE]80::)",  # of this link; two colons alone are C++
    )
)
# What may stand before the sign in an address, and what behind it.
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_SCHEME, _PERSON, _NUMBER = _LETTERS + b"+.-", _LETTERS + b"_.+%-", b"0123456789abcdefABCDEF.:"
_PAGE = re.compile(rb"://(?P<host>[^\s/\"'<>]+)[^\s\"'<>]*")
_HOST = re.compile(rb"@[A-Za-z][\w-]*(?:\.[\w-]+)*")
_NUMBERS = re.compile(rb"(?<!\w)(?:\d{1,3}(?:\.\d{1,3}){3}(?!\.\w)|[0-9a-fA-F:]+(?!\.\w))(?!\w)")
_NETWORK_CARD = re.compile(rb"(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}")
_NVIDIA = b".nvidia.com"
"""Rules and sections refer to its documentation."""

_LONGEST = 256
"""[byte] Of an address, to each side of its candidate."""


def addresses(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield where an address may lie: of mail, of a machine, of its network card, of a web page."""
    for pattern in _ADDRESS_CANDIDATES:
        for match in pattern.finditer(content):
            yield match.span()


def address_at(text: bytes, start: int, stop: int) -> str | None:
    """Return the address around a candidate."""
    last = min(len(text), stop + _LONGEST)
    if text.startswith(b"@", start):
        host = _HOST.match(text, start, last)
        return decode_text(_before(text, start, _PERSON) + host.group()) if host else None
    if text.startswith(b"://", start):
        page = _PAGE.match(text, start, last)
        if page is None or page["host"].lower().endswith(_NVIDIA):
            return None
        return decode_text(_before(text, start, _SCHEME) + page.group())
    first = start - len(_before(text, start, _NUMBER))
    numbers = _NUMBERS.match(text, first, last)
    if numbers is None or numbers.end() < stop or not _is_address(numbers.group()):
        return None
    return decode_text(numbers.group())


def _before(text: bytes, start: int, signs: bytes) -> bytes:
    """Return what stands before a position, as far back as it consists of some signs."""
    before = text[max(0, start - _LONGEST) : start]
    return before[len(before.rstrip(signs)) :]


def _is_address(numbers: bytes) -> bool:
    if _NETWORK_CARD.fullmatch(numbers):
        return True
    try:
        ip_address(numbers.decode("ascii"))
    except ValueError:
        return False
    return True
