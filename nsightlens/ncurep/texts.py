"""Which text of a message holds some bytes: fields are opened around them, level by level.

What lies inside metrics, sections and rules is not described field by field, so whether a field is
a text or a message of its own is read off its bytes. Used by `nsightlens.ncurep.users` and
`nsightlens.ncurep.leftovers`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING

from nsightlens.ncurep.wire import BYTES, WireFault, padded, scan_fields

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nsightlens.ncurep.wire import Field

__all__ = ["OpenMessage"]

_DEEPEST = 16
"""Messages inside one another that are opened; documented ones are 8 deep."""

_NOT_TEXT = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_FIELD_1 = 0x0A


class OpenMessage:
    """A message that is opened where something was found in it, each part of it once.

    Parameters
    ----------
    content
        Its bytes.
    """

    def __init__(self, content: bytes) -> None:
        self.content = content
        self._fields: dict[tuple[int, int], list[Field] | None] = {}
        self._texts: dict[tuple[int, int], bool] = {}

    @cached_property
    def _data(self) -> bytes:
        return padded(self.content)

    def field_at(self, position: int) -> Field | None:
        """Return the text or message among its own fields that holds a position."""
        fields = self._fields_of(0, len(self.content))
        return _around(fields, position) if fields else None

    def texts_around(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield the places of the texts that hold ``[start, stop)``, outermost first.

        A message can look like a text: the innermost that fits is one. What cannot be opened is a
        text whatever it holds, such as colours of a terminal or characters of two bytes.
        """
        begin, end, is_text = 0, len(self.content), True
        for _ in range(_DEEPEST):
            fields = self._fields_of(begin, end)
            if fields is None:
                if not is_text and stop <= end:
                    yield begin, end
                return
            field = _around(fields, start)
            if field is None:
                return
            begin, end = field.start, field.stop
            is_text = self._is_text(begin, end)
            if is_text and stop <= end:
                yield begin, end

    def text_around(self, start: int, stop: int) -> tuple[int, int] | None:
        """Return the place of the innermost text that holds ``[start, stop)``."""
        return next(reversed([*self.texts_around(start, stop)]), None)

    def _fields_of(self, begin: int, end: int) -> list[Field] | None:
        """Return the fields of a message; None of what is none."""
        if (begin, end) not in self._fields:
            try:
                fields = scan_fields(self._data, begin, end)
            except WireFault:
                fields = None
            self._fields[begin, end] = fields
        return self._fields[begin, end]

    def _is_text(self, begin: int, end: int) -> bool:
        if (begin, end) not in self._texts:
            # A message of one text in field 1 looks like a text that begins with a line break.
            self._texts[begin, end] = not _NOT_TEXT.search(self._data, begin, end) and (
                self._data[begin] != _FIELD_1 or self._fields_of(begin, end) is None
            )
        return self._texts[begin, end]


def _around(fields: list[Field], position: int) -> Field | None:
    index = bisect_right(fields, position, key=attrgetter("stop"))
    if index == len(fields):
        return None
    field = fields[index]
    return field if field.wire_type == BYTES and field.start <= position else None
