"""What a redacted report still says: removed texts that occur elsewhere, and texts that are paths.

The search is over the bytes that are written, whatever message they belong to. A find is only
taken where it lies in a text: fields are opened around it, level by level, until one is a text.
Used by `nsightlens.ncurep.redact`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.ncurep.redacted_fields import FIELDS
from nsightlens.ncurep.wire import BYTES, WireFault, decode_text, padded, scan_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Leftover", "Leftovers", "Secrets", "without_users"]

_SHORTEST = 3
"""[character] Shorter texts, such as an argument ``1``, are all over a report by chance."""

_DEEPEST = 16
"""Messages inside one another that are opened; documented ones are 8 deep."""

_USER = re.compile(rb"(?:/home|/homes|/Users|\\Users)[/\\]([^/\\\s\"':;,\x00-\x1f]+)")
_SPLIT = re.compile(r"[\s=:;,\"']+")
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

# A path of two parts and more. Bytes above 0x7f are letters of other languages.
_PART = rb"/[\w.+@~%\x80-\xff-]+"
# Each begins with one sign, which is found fast; none covers the beginning of another.
_CANDIDATES = tuple(
    re.compile(pattern)
    for pattern in (_PART + rb"(?=/[\w.\x80-\xff])", rb"~(?=/[\w.\x80-\xff])", rb":(?=\\\w)")
)
_PATH = re.compile(
    # Not the rest of a word, of a tag (</p/...) or of a web address.
    rb"(?<![\w.<\x80-\xff])(?<!:/)"
    rb"(?:(?:~|" + _PART + rb")(?:" + _PART + rb")+/?|[A-Za-z]:\\[^\s\"'<>|:*?]+)"
)


class Secrets:
    """Texts that were removed, and what can be read from them, such as the name of a user."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}

    def add(self, kind: str, text: str) -> None:
        """Take a removed text of a kind."""
        self._add(kind, text.strip())
        self.add_users(text.encode("utf-8", "surrogateescape"))
        if kind == "host name" and not text.replace(".", "").isdigit():
            self._add(kind, text.partition(".")[0])
        elif kind in _NAMES_OF_FILES:
            self._add(kind, re.split(r"[/\\]", text)[-1])
        elif kind in _LINES:
            for word in _SPLIT.split(text):
                if re.search(r"[/\\]\w", word):
                    self._add(kind, word)

    def add_users(self, content: bytes) -> None:
        """Take the names of the users whose home folders are named somewhere in the bytes."""
        for name in _USER.findall(content):
            self._add("user name", decode_text(name))

    def _add(self, kind: str, text: str) -> None:
        if len(text) >= _SHORTEST:
            self._kinds.setdefault(text, kind)

    def found(self) -> dict[str, str]:
        """Return the kind of each text, without those in which a shorter one would be found."""
        kept: dict[str, str] = {}
        for text in sorted(self._kinds, key=len):
            if not any(_occurs(text, shorter) for shorter in kept):
                kept[text] = self._kinds[text]
        return kept


_NAMES_OF_FILES = frozenset(["executable", "process name"])
_LINES = frozenset(["command line", "environment", "profiler command line", "comment"])


def _occurs(text: str, shorter: str) -> bool:
    content, word = text.encode("utf-8", "replace"), shorter.encode("utf-8", "replace")
    position = content.find(word)
    return position >= 0 and _is_whole_word(content, position, position + len(word))


def _is_whole_word(content: bytes, start: int, stop: int) -> bool:
    """Tell whether ``[start, stop)`` does not end amid letters."""
    edges = ((content[start - 1 : start], start), (content[stop : stop + 1], stop - 1))
    return not any(_is_letter(outer) and _is_letter(content[at : at + 1]) for outer, at in edges)


def _is_letter(byte: bytes) -> bool:
    return byte.isalnum() or byte == b"_" or byte >= b"\x80"


class Leftover(NamedTuple):
    """A text that was found: what it is, the text, and the part of the report that holds it."""

    kind: str
    text: str
    where: str


class _Sought(NamedTuple):
    """What is looked for: candidates in the bytes, then whether the text around one has it."""

    kind: str
    candidates: Callable[[bytes], Iterator[tuple[int, int]]]
    in_text: Callable[[bytes, int, int], str | None]


class Leftovers:
    """Searches what is written, piece by piece, and counts what it finds.

    Parameters
    ----------
    secrets
        What was removed.
    """

    def __init__(self, secrets: Secrets) -> None:
        self.counts: Counter[Leftover] = Counter()
        words = secrets.found()
        self._sought = [_PATHS, *(_word(kind, text) for text, kind in words.items())]
        # The same section definitions lie in every result: what stands around a find decides it.
        self._known: dict[tuple[int, str, bytes, bytes], Leftover | None] = {}

    def search(self, piece: bytes, message: str) -> None:
        """Search a block header or a result; ``message`` is its name in `FIELDS`."""
        for index, sought in enumerate(self._sought):
            for start, stop in sought.candidates(piece):
                before, after = (
                    piece[max(0, start - _CONTEXT) : start],
                    piece[start : start + _CONTEXT],
                )
                key = index, message, before, after
                if key not in self._known:
                    self._known[key] = _leftover(sought, piece, message, start, stop)
                found = self._known[key]
                if found is not None:
                    self.counts[found] += 1


_CONTEXT = 128
"""[byte] Before and behind a find, by which another is taken for the same."""


def _leftover(
    sought: _Sought, piece: bytes, message: str, start: int, stop: int
) -> Leftover | None:
    """Return what was found, or None where it lies in no text or is no whole word of it."""
    found = None
    for number, begin, end in _texts_around(piece, start, stop):
        text = sought.in_text(piece[begin:end], start - begin, stop - begin)
        # A message can look like a text: the innermost that fits counts.
        if text is not None:
            found = Leftover(sought.kind, text, FIELDS[message][number].kind)
    return found


def _texts_around(piece: bytes, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """Yield the texts that hold ``[start, stop)``, outermost first: each as its place.

    The first number is that of the field of ``piece`` in which they lie.
    """
    data, begin, end = padded(piece), 0, len(piece)
    outermost = 0
    for _ in range(_DEEPEST):
        try:
            fields = scan_fields(data, begin, end)
        except WireFault:
            return
        around = [f for f in fields if f.wire_type == BYTES and f.start <= start < f.stop]
        if not around:
            return
        number, _, begin, end = around[0]
        outermost = outermost or number
        if stop <= end and _is_text(data, begin, end):
            yield outermost, begin, end


_FIELD_1 = 0x0A


def _is_text(data: bytes, begin: int, end: int) -> bool:
    if _NOT_TEXT.search(data, begin, end):
        return False
    if data[begin] != _FIELD_1:
        return True
    # A message of one text in field 1 looks like a text that begins with a line break.
    try:
        scan_fields(data, begin, end)
    except WireFault:
        return True
    return False


def without_users(field: bytes) -> bytes:
    """Return a field with an ``x`` for each letter of the users whose home folders it names.

    No length changes, so everything around it stays valid.
    """
    if b"/home" not in field and b"Users" not in field:
        return field
    masked = bytearray(field)
    for match in _USER.finditer(field):
        texts = list(_texts_around(field, match.start(), match.start(1)))
        if texts:
            begin, end = match.start(1), min(match.end(1), texts[-1][2])
            masked[begin:end] = b"x" * (end - begin)
    return bytes(masked)


def _paths(piece: bytes) -> Iterator[tuple[int, int]]:
    for pattern in _CANDIDATES:
        for match in pattern.finditer(piece):
            # The letter of a drive stands before its colon.
            start = match.start() - (piece[match.start()] == _COLON)
            yield max(0, start), match.end()


_COLON = ord(":")


def _path_at(content: bytes, start: int, stop: int) -> str | None:
    match = _PATH.match(content, start)
    return decode_text(match.group()) if match and match.end() >= stop else None


_PATHS = _Sought("path", _paths, _path_at)


def _word(kind: str, text: str) -> _Sought:
    word = text.encode("utf-8", "surrogateescape")

    def candidates(piece: bytes) -> Iterator[tuple[int, int]]:
        start = piece.find(word)
        while start >= 0:
            yield start, start + len(word)
            start = piece.find(word, start + 1)

    def in_text(content: bytes, start: int, stop: int) -> str | None:
        return text if _is_whole_word(content, start, stop) else None

    return _Sought(f"removed {kind}", candidates, in_text)
