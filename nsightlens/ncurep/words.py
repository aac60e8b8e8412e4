"""Many words looked for in some bytes at once, in a time that hardly grows with their number.

A program can have thousands of kernels, and each of their names is searched for in all of a
redacted report. Used by `nsightlens.ncurep.leftovers`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = ["SHORTEST_WORD", "Words"]

SHORTEST_WORD = 3
"""[byte] Of a word that can be looked for."""

_WIDEST = 8
"""[byte] What an integer of NumPy holds."""

_PIECE = 1 << 20
"""[byte] Of the content that is looked through at a time; each takes some 25 bytes of memory."""

_MIXER = np.uint64(0x9E3779B97F4A7C15)
_KEPT_BITS = 16


class Words:
    """Words to look for.

    Parameters
    ----------
    words
        Each of `SHORTEST_WORD` bytes or more.
    """

    def __init__(self, words: Collection[bytes]) -> None:
        # Long words are told apart by more bytes, so that few places have to be looked at.
        long = [word for word in words if len(word) >= _WIDEST]
        short = [word for word in words if len(word) < _WIDEST]
        alike = ((_WIDEST, long), (SHORTEST_WORD, short))
        self._beginnings = [_Beginnings(width, found) for width, found in alike if found]

    def places(self, content: bytes) -> Iterator[tuple[bytes, int]]:
        """Yield each word that the content holds, and where; words may overlap."""
        for beginnings in self._beginnings:
            yield from beginnings.places(content)


class _Beginnings:
    """The first ``width`` bytes of some words: where one is found, its words are compared.

    A table says which 16-bit hashes they have, and few places of the content have one of these.
    """

    def __init__(self, width: int, words: list[bytes]) -> None:
        self._width = width
        self._words = frozenset(words)
        self._sizes: dict[bytes, set[int]] = {}
        for word in words:
            self._sizes.setdefault(word[:width], set()).add(len(word))
        self._has_hash = np.zeros(1 << _KEPT_BITS, dtype=np.bool_)
        for beginning in self._sizes:
            self._has_hash[self._hashes(beginning)] = True

    def places(self, content: bytes) -> Iterator[tuple[bytes, int]]:
        for begin in range(0, len(content) - self._width + 1, _PIECE):
            piece = content[begin : begin + _PIECE + self._width - 1]
            for position in np.flatnonzero(self._has_hash[self._hashes(piece)]).tolist():
                start = begin + position
                for size in self._sizes.get(content[start : start + self._width], ()):
                    word = content[start : start + size]
                    if word in self._words:
                        yield word, start

    def _hashes(self, content: bytes) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        """Return a hash of the bytes from each position on."""
        surplus = _WIDEST - self._width
        shape = (len(content) - self._width + 1,)
        # The integers overlap: one begins at each byte.
        numbers = np.ndarray(shape, dtype="<u8", buffer=content + bytes(surplus), strides=(1,))
        own = numbers << np.uint64(8 * surplus)
        return (own * _MIXER) >> np.uint64(64 - _KEPT_BITS)
