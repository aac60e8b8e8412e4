r"""Protobuf wire format, outwards: fields as bytes. The reader's twin is `nsightlens.ncurep.wire`.

Every function returns one whole field, tag included, and ``b""`` for ``None``, so that a message
is the concatenation of its fields in order. Text is UTF-8; a surrogate escape (``"\udcff"``)
stands for a byte that is not, so that fixtures can have such names.
"""

from __future__ import annotations

import struct

__all__ = [
    "double_field",
    "float_field",
    "int_field",
    "length_prefixed",
    "message_field",
    "text_field",
    "uint_field",
    "varint",
]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DOUBLE = struct.Struct("<d")
_FLOAT = struct.Struct("<f")
_LENGTH = struct.Struct("<I")
UINT64_MAX = 2**64 - 1


def varint(value: int) -> bytes:
    """Return an unsigned integer of up to 64 bits as a base-128 varint.

    Raises
    ------
    ValueError
        The integer is negative or needs more than 64 bits.

    Examples
    --------
    >>> varint(300).hex()
    'ac02'
    """
    if not 0 <= value <= UINT64_MAX:
        raise ValueError(f"{value} is not an unsigned 64-bit integer")
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


# Tags of fields below 16 are one byte and are asked for hundreds of thousands of times.
_TAGS = [[varint(number << 3 | wire_type) for wire_type in range(6)] for number in range(64)]


def uint_field(number: int, value: int | None) -> bytes:
    """Return a varint field (uint32, uint64, bool, enum); see the module for ``None``."""
    if value is None:
        return b""
    return _TAGS[number][_VARINT] + varint(int(value))


def int_field(number: int, value: int | None) -> bytes:
    """Return a varint field of a signed integer (int32, int64); see the module for ``None``.

    Raises
    ------
    ValueError
        The integer needs more than 64 bits.
    """
    if value is not None and value < -(2**63):
        raise ValueError(f"{value} is not a signed 64-bit integer")
    # Two's complement in 64 bits, whatever the width of the field.
    return uint_field(number, value + 2**64 if value is not None and value < 0 else value)


def double_field(number: int, value: float | None) -> bytes:
    """Return a 64-bit float field."""
    return b"" if value is None else _TAGS[number][_FIXED64] + _DOUBLE.pack(value)


def float_field(number: int, value: float | None) -> bytes:
    """Return a 32-bit float field."""
    return b"" if value is None else _TAGS[number][_FIXED32] + _FLOAT.pack(value)


def message_field(number: int, *parts: bytes) -> bytes:
    """Return a length-delimited field whose content is ``parts`` joined (a message or bytes)."""
    content = b"".join(parts)
    return b"".join((_TAGS[number][_BYTES], varint(len(content)), content))


def text_field(number: int, value: str | None) -> bytes:
    """Return a string field."""
    return b"" if value is None else message_field(number, value.encode("utf-8", "surrogateescape"))


def length_prefixed(content: bytes) -> bytes:
    """Return ``content`` behind its size as a little-endian uint32, as the container wants it."""
    return _LENGTH.pack(len(content)) + content
