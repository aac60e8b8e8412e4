"""Reports put together field by field, for what a writer of sound reports would never write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.ncurep.encode import length_prefixed, message_field, text_field, uint_field
from nsightlens.ncurep.model import MAGIC

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

# Fields of a kernel result without which it is not one, by number.
REQUIRED: dict[int, bytes] = {
    1: uint_field(1, 77),
    2: uint_field(2, 5),
    3: uint_field(3, 0),
    4: uint_field(4, 0),
    5: text_field(5, "_Z4axpyv"),
    6: text_field(6, "axpy"),
    7: text_field(7, "axpy()"),
    8: uint_field(8, 3),
    9: message_field(9),
    10: message_field(10, uint_field(1, 4), uint_field(2, 2), uint_field(3, 1)),
    11: message_field(11, uint_field(1, 128), uint_field(2, 1), uint_field(3, 1)),
    15: message_field(15),
}


def kernel(*fields: bytes, without: Iterable[int] = ()) -> bytes:
    """Return a kernel result with more fields, or without some that it needs."""
    dropped = set(without)
    needed = [field for number, field in REQUIRED.items() if number not in dropped]
    return b"".join([*needed, *fields])


def metric(name_id: int, *fields: bytes) -> bytes:
    """Return one metric of a kernel result: a name id and more fields."""
    return message_field(13, uint_field(1, name_id), *fields)


def block(
    results: Sequence[bytes] = (),
    *header: bytes,
    strings: Sequence[str] = (),
    sources: Sequence[bytes] = (),
    payload_size: int | None = None,
) -> bytes:
    """Return a block of kernel results; ``payload_size`` overrides what it says of its payload."""
    payload = b"".join(length_prefixed(entry) for entry in (*sources, *results))
    size = len(payload) if payload_size is None else payload_size
    fields = [
        uint_field(1, len(sources)),
        uint_field(2, len(results)),
        *([message_field(4, *(text_field(1, name) for name in strings))] if strings else []),
        uint_field(5, size),
        *header,
    ]
    return length_prefixed(b"".join(fields)) + payload


def file_of(*blocks: bytes, version: int | None = 7) -> bytes:
    """Return a report of these blocks."""
    return MAGIC + length_prefixed(uint_field(1, version)) + b"".join(blocks)


DAMAGED_INSIDE: dict[str, bytes] = {
    "metric_without_name_id": message_field(13, message_field(2, uint_field(5, 12))),
    "metric_with_an_unknown_name": metric(9),
    "value_that_is_cut": metric(0, message_field(2, b"\x19\x00")),
    "rule_without_name": message_field(19, message_field(3)),
    "range_without_name": message_field(
        21,
        message_field(2, uint_field(1, 77), message_field(2, uint_field(1, 0), message_field(3))),
    ),
}
"""Fields that make a kernel result one that cannot be read, though its own bytes are sound."""


def write_bytes(folder: Path, content: bytes) -> Path:
    """Write the bytes as a report and return its path."""
    path = folder / "handmade.ncu-rep"
    path.write_bytes(content)
    return path
