"""What a redacted report still says: removed texts that stand elsewhere, paths and addresses.

The search is over the bytes that are written, whatever message they belong to. A find is only
taken where it lies in a text, see `nsightlens.ncurep.texts`; `nsightlens.ncurep.signs` knows paths
and addresses. Used by `nsightlens.ncurep.redact`.
"""

from __future__ import annotations

import re
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.ncurep.redacted_fields import FIELDS
from nsightlens.ncurep.signs import (
    address_at,
    addresses,
    path_at,
    paths,
    wide_path_at,
    wide_paths,
)
from nsightlens.ncurep.texts import OpenMessage
from nsightlens.ncurep.users import user_places, users_of, words_of
from nsightlens.ncurep.wire import decode_text
from nsightlens.ncurep.words import SHORTEST_WORD, Words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Leftover", "Leftovers", "Secrets"]

_SHORTEST = SHORTEST_WORD
"""[character] Shorter texts, such as an argument ``1``, are all over a report by chance."""

USER, HOST = "user name", "host name"
_SPLIT = re.compile(r"[\s=:;,\"']+")
_VARIABLES = re.compile(
    r"(?<![A-Z])(?:(?P<user>USER|USERNAME|LOGNAME|SUDO_USER)"
    r"|HOST|HOSTNAME|COMPUTERNAME|SLURMD_NODENAME)=([^\s:;,\"'$]+)"
)


class Secrets:
    """Texts that were removed, what can be read from them, and the names of users in what stays."""

    def __init__(self) -> None:
        self._kinds: dict[str, str] = {}

    def add(self, kind: str, text: str) -> None:
        """Take a removed text of a kind."""
        self._add(kind, text.strip())
        for name in users_of(text.encode("utf-8", "surrogateescape")):
            self._add(USER, decode_text(name))
        if kind == HOST and not text.replace(".", "").isdigit():
            self._add(kind, text.partition(".")[0])
        elif kind in _NAMES_OF_FILES:
            self._add(kind, re.split(r"[/\\]", text)[-1])
        elif kind in _LINES:
            for word in _SPLIT.split(text):
                if re.search(r"[/\\]\w", word):
                    self._add(kind, word)
            for match in _VARIABLES.finditer(text):
                self._add(USER if match["user"] else HOST, match[2])

    def add_users(self, message: bytes, *, is_removed: bool) -> None:
        """Take the names of users in the paths of a message that is removed, or kept."""
        for start, stop in user_places(OpenMessage(message)):
            for name in words_of(message[start:stop]):
                self._add(USER, decode_text(name), is_removed=is_removed)

    def _add(self, kind: str, text: str, *, is_removed: bool = True) -> None:
        if len(text) < _SHORTEST:
            return
        if is_removed and self._kinds.get(text) in (None, USER):
            self._kinds[text] = f"removed {kind}"
        self._kinds.setdefault(text, kind)

    def found(self) -> dict[str, str]:
        """Return the kind of each text, without those in which a shorter one would be found."""
        kept: dict[str, str] = {}
        texts = {text.encode("utf-8", "replace"): text for text in self._kinds}
        words = Words(texts)
        for content in sorted(texts, key=len):
            inside = ((texts[word], word, start) for word, start in words.places(content))
            if not any(
                text in kept and _is_whole_word(content, start, start + len(word), kept[text])
                for text, word, start in inside
            ):
                kept[texts[content]] = self._kinds[texts[content]]
        return kept


_NAMES_OF_FILES = frozenset(["executable", "process name"])
_LINES = frozenset(["command line", "environment", "profiler command line", "comment"])


def _is_whole_word(content: bytes, start: int, stop: int, kind: str, width: int = 1) -> bool:
    """Tell whether ``[start, stop)`` does not end amid letters, of ``width`` bytes each."""
    before = content[max(0, start - width) : start]
    if width == 1 and _ESCAPED.search(content, max(0, start - 3), start):
        before = b""
    behind = content[stop : stop + width]
    edges = ((before, content[start : start + width]), (behind, content[stop - width : stop]))
    joins = kind.endswith(_NAMES)  # run_alice_2 has the name of alice
    return not any(_is_letter(outer, joins) and _is_letter(inner, joins) for outer, inner in edges)


_ESCAPED = re.compile(rb"(?:\\[nrt]|%[0-9A-Fa-f]{2})\Z")
"""A sign that JSON, or a URL, writes with a letter in the end."""
_NAMES = (USER, HOST)


def _is_letter(character: bytes, underscore_joins: bool) -> bool:
    first, rest = character[:1], character[1:]
    if rest.strip(b"\0"):
        return False
    return first.isalnum() or first >= b"\x80" or (first == b"_" and not underscore_joins)


class Leftover(NamedTuple):
    """A text that was found: what it is, the text, and the part of the report that holds it."""

    kind: str
    text: str
    where: str


class _Sought(NamedTuple):
    """What is looked for: of what kind, and what says whether the text around a candidate has it.

    A candidate is a place of the ``word``, in small letters where case is ignored; signs have none.
    """

    kind: str
    in_text: Callable[[bytes, int, int], str | None]
    word: bytes = b""
    ignores_case: bool = False


_SIGNS = {
    _Sought("path", path_at): paths,
    _Sought("path", wide_path_at): wide_paths,
    _Sought("address", address_at): addresses,
}
"""Each with what yields its candidates."""


class Leftovers:
    """Searches what is written, piece by piece, and counts what it finds.

    Parameters
    ----------
    secrets
        What was removed.
    """

    def __init__(self, secrets: Secrets) -> None:
        self.counts: Counter[Leftover] = Counter()
        self._by_word: dict[bytes, list[_Sought]] = {}
        for text, kind in secrets.found().items():
            for sought in _words(kind, text):
                self._by_word.setdefault(sought.word.lower(), []).append(sought)
        self._words = Words(self._by_word)
        # The same section definitions lie in every result: each is looked into once.
        self._known: dict[tuple[_Sought, int, bytes, str], Leftover | None] = {}

    def search(self, piece: bytes, message: str) -> None:
        """Search a block header or a result; ``message`` is its name in `FIELDS`."""
        opened, digests = OpenMessage(piece), dict[int, bytes]()
        for sought, start, stop in self._candidates(piece):
            field = opened.field_at(start)
            if field is None:
                continue
            if field.start not in digests:
                content = piece[field.start : field.stop]
                digests[field.start] = blake2b(content, digest_size=16).digest()
            where = FIELDS[message][field.number].kind
            key = sought, start - field.start, digests[field.start], where
            if key not in self._known:
                self._known[key] = _leftover(sought, opened, where, start, stop)
            found = self._known[key]
            if found is not None:
                self.counts[found] += 1

    def _candidates(self, piece: bytes) -> Iterator[tuple[_Sought, int, int]]:
        for sign, candidates in _SIGNS.items():
            for start, stop in candidates(piece):
                yield sign, start, stop
        for word, start in self._words.places(piece.lower()):
            stop = start + len(word)
            for sought in self._by_word[word]:
                if sought.ignores_case or piece[start:stop] == sought.word:
                    yield sought, start, stop


_BEFORE, _BEHIND = 256, 4096
"""[byte] Of a text that are looked at around a find: no system has longer paths."""

_COLOURS = re.compile(rb"\x1b\[[\d;]*[A-Za-z]")
"""As a terminal takes them: their last letter is none of the text."""


def _leftover(
    sought: _Sought, message: OpenMessage, where: str, start: int, stop: int
) -> Leftover | None:
    """Return what was found, or None where it lies in no text or is no whole word of it."""
    found = None
    for begin, end in message.texts_around(start, stop):
        first = max(begin, start - _BEFORE)
        content = message.content[first : min(end, stop + _BEHIND)]
        if b"\x1b" in content:
            content = _COLOURS.sub(lambda match: b" " * len(match.group()), content)
        text = sought.in_text(content, start - first, stop - first)
        # A message can look like a text: the innermost that fits counts.
        if text is not None:
            found = Leftover(sought.kind, text, where)
    return found


def _words(kind: str, text: str) -> Iterator[_Sought]:
    """Yield how to look for a text: as the format writes texts, and in wide characters."""
    ignores_case = kind.endswith(_NAMES)
    for encoding, width in (("utf-8", 1), ("utf-16-le", 2), ("utf-32-le", 4)):
        errors = "surrogateescape" if width == 1 else "replace"
        word = text.encode(encoding, errors)
        yield _word(kind, word.lower() if ignores_case else word, encoding, width)


def _word(kind: str, word: bytes, encoding: str, width: int) -> _Sought:
    def in_text(content: bytes, start: int, stop: int) -> str | None:
        if not _is_whole_word(content, start, stop, kind, width):
            return None
        return content[start:stop].decode(encoding, "backslashreplace")

    return _Sought(kind, in_text, word, kind.endswith(_NAMES))
