"""The protobuf wire format, as far as a report needs it: varints, fields, one message at a time.

Everything works on a *padded* copy of one entry or header (`padded`): zero bytes behind the end
terminate any varint and cover any fixed-width read, so the hot loops need no bounds check per
byte. They compare the position with the end of the message afterwards instead.

A violation raises `WireFault`, which knows only the position in that copy; `nsightlens.ncurep.read`
turns it into an error with the file, the absolute offset and the path of structures that led
there. Messages are opened one level at a time by code that names the levels, so the depth of
nesting in a damaged file cannot drive a recursion. Used by every other reader module of the
package; imports nothing of ours.
"""

from __future__ import annotations

from struct import unpack_from
from typing import NamedTuple

__all__ = ["PADDING", "Field", "Message", "WireFault", "decode_text", "padded", "scan_fields"]

PADDING = bytes(16)
"""Longer than the longest varint (10 bytes) and the widest fixed field (8 bytes)."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

_UINT32 = 0xFFFFFFFF
_UINT64 = 0xFFFFFFFFFFFFFFFF


class WireFault(Exception):  # noqa: N818 - internal: never leaves the package
    """Bytes that are not protobuf; ``offset`` [byte] counts from the start of the padded copy.

    ``missing`` is set instead where the bytes are sound but a field that the format requires is
    not among them.
    """

    def __init__(self, offset: int, problem: str, *, missing: bool = False) -> None:
        self.offset = offset
        self.problem = problem
        self.missing = missing
        super().__init__(f"at {offset}: {problem}")


class Field(NamedTuple):
    """One field of a message.

    ``start`` is the value itself for a varint, else the position of the value; ``stop`` is the
    position behind it.
    """

    number: int
    wire_type: int
    start: int
    stop: int


def padded(data: bytes) -> bytes:
    """Return the bytes with the padding that every function here relies on."""
    return data + PADDING


def decode_text(data: bytes) -> str:
    r"""Return the text of UTF-8 bytes; a byte that is not UTF-8 shows as ``\xNN``.

    Text from here goes to Arrow, JSON and terminals, none of which can hold the lone surrogates
    that Python's ``surrogateescape`` would leave in it.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("utf-8", "backslashreplace")


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Return the varint at a position, modulo 2**64, and the position behind it."""
    value = data[position]
    start = position
    position += 1
    if value < 0x80:
        return value, position
    value &= 0x7F
    shift = 7
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _UINT64, position
        shift += 7
        if shift >= 70:
            raise WireFault(start, "a varint is longer than 10 bytes")


def scan_fields(data: bytes, start: int, stop: int) -> list[Field]:
    """Return the fields of the message in ``[start, stop)``, in file order.

    Raises
    ------
    WireFault
        For anything that is not a sequence of fields ending exactly at ``stop``.
    """
    fields = []
    position = start
    while position < stop:
        begin = position
        key, position = read_varint(data, position)
        field, position = read_field(data, key, begin, position, stop)
        fields.append(field)
    return fields


def read_field(data: bytes, key: int, begin: int, position: int, stop: int) -> tuple[Field, int]:
    """Return the field whose key was read at ``begin`` and the position behind it."""
    number, wire_type = key >> 3, key & 7
    if wire_type == BYTES:
        size, position = read_varint(data, position)
        field = Field(number, BYTES, position, position + size)
        position += size
    elif wire_type == VARINT:
        value, position = read_varint(data, position)
        field = Field(number, VARINT, value, position)
    elif wire_type == FIXED64:
        field = Field(number, FIXED64, position, position + 8)
        position += 8
    elif wire_type == FIXED32:
        field = Field(number, FIXED32, position, position + 4)
        position += 4
    else:
        kind = "a group, which reports do not use" if wire_type in (3, 4) else "not defined"
        raise WireFault(begin, f"field {number} has wire type {wire_type}, which is {kind}")
    if number == 0 or number > 0x1FFFFFFF:
        raise WireFault(begin, f"a field has the number {number}, which cannot be")
    if position > stop:
        raise WireFault(
            begin,
            f"field {number} needs {position - begin} bytes where its message has"
            f" {stop - begin} left",
        )
    return field, position


class Message:
    """The fields of one message, by number.

    A field that occurs twice follows protobuf: the last scalar wins, embedded messages are
    merged. A field of another wire type than asked for counts as absent, as an unknown one does.

    Parameters
    ----------
    data
        Padded bytes that hold the message.
    fields
        Its fields, from `scan_fields`.
    position
        Where it starts in ``data``, for errors.
    """

    __slots__ = ("_by_number", "data", "position")

    def __init__(self, data: bytes, fields: list[Field], position: int) -> None:
        self.data = data
        self.position = position
        by_number: dict[int, list[Field]] = {}
        for field in fields:
            by_number.setdefault(field.number, []).append(field)
        self._by_number = by_number

    @classmethod
    def at(cls, data: bytes, start: int, stop: int) -> Message:
        """Return the message in ``[start, stop)``."""
        return cls(data, scan_fields(data, start, stop), start)

    def all(self, number: int, wire_type: int) -> list[Field]:
        """Return every occurrence of a field with this wire type."""
        found = self._by_number.get(number)
        return [field for field in found if field.wire_type == wire_type] if found else []

    def last(self, number: int, wire_type: int) -> Field | None:
        """Return the occurrence of a singular field that counts, or None."""
        for field in reversed(self._by_number.get(number, ())):
            if field.wire_type == wire_type:
                return field
        return None

    def uint64(self, number: int) -> int | None:
        """Return an unsigned 64-bit value."""
        field = self.last(number, VARINT)
        return field.start if field else None

    def uint32(self, number: int) -> int | None:
        """Return an unsigned 32-bit value; protobuf drops the bits above."""
        field = self.last(number, VARINT)
        return field.start & _UINT32 if field else None

    def int64(self, number: int) -> int | None:
        """Return a signed 64-bit value."""
        value = self.uint64(number)
        return value - (1 << 64) if value is not None and value >> 63 else value

    def int32(self, number: int) -> int | None:
        """Return a signed 32-bit value."""
        value = self.uint32(number)
        return value - (1 << 32) if value is not None and value >> 31 else value

    def double(self, number: int) -> float | None:
        """Return a 64-bit float."""
        field = self.last(number, FIXED64)
        return float(unpack_from("<d", self.data, field.start)[0]) if field else None

    def single(self, number: int) -> float | None:
        """Return a 32-bit float."""
        field = self.last(number, FIXED32)
        return float(unpack_from("<f", self.data, field.start)[0]) if field else None

    def text(self, number: int) -> str | None:
        """Return a text."""
        field = self.last(number, BYTES)
        return decode_text(self.data[field.start : field.stop]) if field else None

    def texts(self, number: int) -> list[str]:
        """Return every text of a repeated field."""
        return [decode_text(self.data[f.start : f.stop]) for f in self.all(number, BYTES)]

    def message(self, number: int) -> Message | None:
        """Return an embedded message, merged from all its occurrences, or None."""
        found = self.all(number, BYTES)
        if not found:
            return None
        fields = [f for part in found for f in scan_fields(self.data, part.start, part.stop)]
        return Message(self.data, fields, found[0].start)

    def messages(self, number: int) -> list[Message]:
        """Return every message of a repeated field."""
        return [Message.at(self.data, f.start, f.stop) for f in self.all(number, BYTES)]

    def missing(self, name: str) -> WireFault:
        """Return the fault to raise where this message lacks a required field."""
        return WireFault(self.position, f"has no {name}", missing=True)
