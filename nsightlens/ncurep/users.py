r"""Names of users: where they stand in paths, and the paths without them.

A name stands behind a folder of home folders, however the path is spelled: ``/home/x``,
``/home2/x``, ``/Users/x``, ``/users/a/x``, ``C:\Users\x``, ``C:\\Users\\x``, ``/mnt/c/Users/x``,
``/scratch/x``, ``%2Fhome%2Fx``; or behind a tilde. Used by `nsightlens.ncurep.redact`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nsightlens.ncurep.texts import OpenMessage

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["user_places", "users_of", "without_users", "words_of"]

# A URL can be inside another, which encodes its per cent signs again.
_CODED = rb"%(?:25)*(?:2[Ff]|5[Cc])"
_SEPARATOR = rb"(?:[/\\]|" + _CODED + rb")"
_SIGN = (
    rb"(?:(?!" + _CODED + rb")[^/\\\s\"'`:;,<>|*?(){}\[\]\x00-\x1f\x7f]|(?<=\w)'(?=\w))"
)  # an apostrophe amid letters, as in O'Brien
_WORD = _SIGN + rb"+"


def _behind(folder: bytes, more: bytes = b"") -> re.Pattern[bytes]:
    """Return what finds a folder in small letters: its name stands first, to be found fast."""
    begins = b"|".join(rb"(?<=" + sign + folder + rb")" for sign in (rb"[/\\]", b"2f", b"5c"))
    return re.compile(folder + rb"(?:" + begins + rb")" + more + _SEPARATOR + rb"+")


_HOMES = (
    _behind(b"home", rb"s?\d*"),
    _behind(b"scratch", rb"\d*"),
    re.compile(rb"~(?<!\w~)(?=[a-z_][\w.-]*" + _SEPARATOR + rb")"),
)
_WINDOWS_HOMES = (_behind(b"user", b"s?"), _behind(b"documents and settings"))

# Large sites put /home/a/alice: the letter goes too.
_LETTER = rb"(?:(?P<letter>\w)" + _SEPARATOR + rb"+)?"
_NAME = re.compile(_LETTER + rb"(?P<name>" + _WORD + rb")")
# Windows names the folder after the person. Where the text ends behind one, too much is taken
# rather than half a name left.
_WORDS = _WORD + rb"(?:,? " + _WORD + rb"){1,3}(?=" + _SEPARATOR + rb"|[\"'\r\n]|\Z)"
_PERSON = re.compile(_LETTER + rb"(?P<name>" + _WORDS + rb"|" + _WORD + rb")")

_NOBODY = frozenset(
    [b".", b"..", b"all", b"default", b"home", b"homes", b"public", b"root", b"scratch", b"shared",
     b"tmp", b"user", b"users"]
)  # fmt: skip
"""What stands in the place of a user and is none."""


def user_places(message: OpenMessage) -> Iterator[tuple[int, int]]:
    """Yield where the names of users stand in the texts of a message, as ``(start, stop)``."""
    for home, name in _homes(message.content):
        text = message.text_around(*home)
        if text is not None:
            yield from _places(message.content, name, home[1], text[1])


def _homes(content: bytes) -> Iterator[tuple[tuple[int, int], re.Pattern[bytes]]]:
    """Yield where a folder of home folders stands, and what a name behind it looks like."""
    small = content.lower()
    for patterns, name in ((_HOMES, _NAME), (_WINDOWS_HOMES, _PERSON)):
        for pattern in patterns:
            for match in pattern.finditer(small):
                yield match.span(), name


def _places(
    content: bytes, name: re.Pattern[bytes], start: int, stop: int
) -> Iterator[tuple[int, int]]:
    found = name.match(content, start, stop)
    if found is None or _is_nobody(found["name"]):
        return
    if found["letter"]:
        yield found.span("letter")
    yield found.span("name")


def _is_nobody(name: bytes) -> bool:
    return (
        name.lower() in _NOBODY
        or name.startswith(b"$")
        or name.isdigit()
        or not name.strip(b"x ")  # masked already
    )


def users_of(text: bytes) -> Iterator[bytes]:
    """Yield the names of users in a text, whole and, where they have several, each word."""
    for home, name in _homes(text):
        for start, stop in _places(text, name, home[1], len(text)):
            yield from words_of(text[start:stop])


def words_of(name: bytes) -> list[bytes]:
    """Return what to search for where a user of this name was found."""
    whole = name.rstrip(b".!")
    words = re.split(rb"[,\s]+|%20", whole)
    return [whole, *words] if len(words) > 1 else [whole]


def without_users(field: bytes) -> bytes:
    """Return a field with an ``x`` for each letter of the users whose folders it names.

    No length changes, so everything around it stays valid.
    """
    masked = bytearray(field)
    for start, stop in user_places(OpenMessage(field)):
        masked[start:stop] = re.sub(rb"\S", b"x", field[start:stop])
    return bytes(masked)
