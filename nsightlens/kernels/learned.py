"""`NameReader`: what was learned from one name answers for all names of its frame, exactly.

The way from a name to its rule is long, and nearly every name differs from an earlier one in
numbers alone: tile sizes, head sizes, counters of a compiler. Names that do share a *frame*
(`frames`); what one of them taught (`learned_frame`) reads the others in less than half the time.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nsightlens.kernels.demangle import MangledFrames
from nsightlens.kernels.engine import kernel_of
from nsightlens.kernels.frames import Vocabulary, frame_of
from nsightlens.kernels.learned_frame import LearnedFrame, Room, frame_bytes
from nsightlens.kernels.spelling import normal_text, parts_of, spelled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nsightlens.kernels.model import KernelName
    from nsightlens.kernels.rulebook import Rulebook

__all__ = ["NameReader"]

# Longer names are read the plain way and not remembered: they are cut before they are read.
_LONGEST = 5000
# Of `NameReader.read`: names, and characters of theirs.
_MOST_NAMES = 16384
_MOST_CHARACTERS = 8_000_000
# [byte] Of all frames together, and of the results that they remember.
_FRAME_BYTES = 96_000_000
_RESULT_BYTES = 64_000_000
# [byte] What a key takes in a table beside its text.
_KEY_BYTES = 150


class NameReader:
    """Reads names by one set of rules.

    Parameters
    ----------
    book
        The rules.
    """

    def __init__(self, book: Rulebook) -> None:
        self.book = book
        self._vocabulary: Vocabulary | None = None
        self._mangled = MangledFrames()
        self._frames: dict[bytes, LearnedFrame | None] = {}
        self._room = Room(_FRAME_BYTES, _RESULT_BYTES)
        self._known: dict[str, KernelName] = {}
        self._known_length = 0

    def read(self, name: str) -> KernelName:
        """Say what a kernel is from its name alone."""
        known = self._known.get(name)
        if known is not None:
            return known
        kernel = self.read_new(name)
        if len(name) <= _LONGEST:
            if len(self._known) >= _MOST_NAMES or self._known_length >= _MOST_CHARACTERS:
                self._known.clear()
                self._known_length = 0
            self._known[name] = kernel
            self._known_length += len(name)
        return kernel

    def read_new(self, name: str) -> KernelName:
        """Do the same without looking among the names that were read before."""
        text = self._steady_text(name)
        if text is None:
            return kernel_of(name, spelled(name), self.book)
        key = frame_of(text)
        frame = self._frames.get(key)
        if frame is None:
            if key not in self._frames:
                self._make_room(key, 0)
                self._frames[key] = None  # learned from when it comes again
                return kernel_of(name, parts_of(text), self.book)
            frame = self._learned(key, text)
        return frame.read(name, text)

    def read_all(self, names: Sequence[str]) -> list[KernelName]:
        """Read names frame by frame, which takes half the time: what one needs is at hand.

        Parameters
        ----------
        names
            Names, each of them once.
        """
        with _without_garbage_collection():
            return self._read_all(names)

    def _read_all(self, names: Sequence[str]) -> list[KernelName]:
        kernels: list[Any] = [None] * len(names)
        texts: list[str | None] = [self._steady_text(name) for name in names]
        places: dict[bytes, list[int]] = {}
        for i, text in enumerate(texts):
            if text is None:
                kernels[i] = kernel_of(names[i], spelled(names[i]), self.book)
            else:
                places.setdefault(frame_of(text), []).append(i)
        for key, same in places.items():
            frame = self._frames.get(key)
            first = texts[same[0]] or ""
            if frame is None and len(same) > 1:
                frame = self._learned(key, first)
            if frame is None:
                kernels[same[0]] = kernel_of(names[same[0]], parts_of(first), self.book)
                continue
            for i in same:
                kernels[i] = frame.read(names[i], texts[i] or "")
        return kernels

    def _steady_text(self, name: str) -> str | None:
        """Return the text of a name, or None where its frame would not hold for other names."""
        if len(name) > _LONGEST:
            return None
        text = normal_text(name, self._mangled.demangled)
        if text.isascii() or not any(letter.isnumeric() for letter in text if letter > "\x7f"):
            return text
        return None

    def _learned(self, key: bytes, text: str) -> LearnedFrame:
        self._make_room(key, frame_bytes(len(text)))
        frame = LearnedFrame(text, self.book, self._words(), self._room)
        self._frames[key] = frame
        return frame

    def _make_room(self, key: bytes, size: int) -> None:
        """Forget all frames where there is no room for one more."""
        size += len(key) + _KEY_BYTES
        if not self._room.take_for_frames(size):
            self._frames.clear()
            self._room = Room(_FRAME_BYTES, _RESULT_BYTES)
            self._room.take_for_frames(size)

    def _words(self) -> Vocabulary:
        if self._vocabulary is None:
            first = [one.rule for one, _ in self.book.first]
            self._vocabulary = Vocabulary([*first, *self.book.rules])
        return self._vocabulary


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Do not look for garbage among results, where there is none, for a fifth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
