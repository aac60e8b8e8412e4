"""Values drawn from bytes, so that a search over bytes is one over values."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Draw"]

T = TypeVar("T")

# Where arithmetic and text formats break first.
_NUMBERS = (
    0.0, -0.0, 1.0, -1.0, 0.1, 5e-324, 1.7976931348623157e308, 2.0**53 + 2,
    float("inf"), float("-inf"), float("nan"),
)  # fmt: skip
_TEXTS = ("", "a", "\0", "\n", "ä", "😀", "a,b;c", '"', "<default domain>", "%s", "\x1b[2J")


class Draw:
    """Takes values from the front of some bytes; zeros follow behind their end.

    Parameters
    ----------
    data
        What the values are made of. Similar bytes give similar values.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def __bool__(self) -> bool:
        """Tell whether there is anything left to draw from."""
        return self._position < len(self._data)

    def _take(self, size: int) -> bytes:
        taken = self._data[self._position : self._position + size]
        self._position += size
        return taken.ljust(size, b"\0")

    def integer(self, low: int, high: int) -> int:
        """Return an integer in ``[low, high]``."""
        span = high - low + 1
        size = (span.bit_length() + 7) // 8
        return low + int.from_bytes(self._take(size), "little") % span

    def unsigned(self, bits: int) -> int:
        """Return an unsigned integer; small ones and the largest are as likely as all others."""
        choice = self.integer(0, 3)
        if choice < 2:
            return self.integer(0, 255)
        return 2**bits - 1 if choice == 2 else self.integer(0, 2**bits - 1)

    def is_set(self) -> bool:
        """Return a truth value."""
        return bool(self._take(1)[0] & 1)

    def one_of(self, choices: Sequence[T]) -> T:
        """Return one of the choices."""
        return choices[self.integer(0, len(choices) - 1)]

    def maybe(self, draw: Callable[[], T]) -> T | None:
        """Return what the function draws, or None."""
        return draw() if self.is_set() else None

    def some(self, draw: Callable[[], T], most: int) -> list[T]:
        """Return up to ``most`` of what the function draws, fewer where the bytes end."""
        count = self.integer(0, most)
        return [draw() for _ in range(count) if self]

    def number(self) -> float:
        """Return a double, NaN and infinities among them."""
        if self.is_set():
            return self.one_of(_NUMBERS)
        return float(struct.unpack("<d", self._take(8))[0])

    def text(self) -> str:
        """Return a text that UTF-8 can say."""
        if self.is_set():
            return self.one_of(_TEXTS)
        return self._take(self.integer(0, 12)).decode("utf-8", "replace")

    def name(self) -> str:
        """Return a text that is not empty."""
        return self.text() or "name"
