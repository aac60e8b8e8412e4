"""The wire format: fields as protobuf defines them, and nothing else."""

from __future__ import annotations

import math

import pytest

from nsightlens.ncurep.encode import (
    double_field,
    float_field,
    message_field,
    text_field,
    uint_field,
    varint,
)
from nsightlens.ncurep.wire import (
    Message,
    WireFault,
    decode_text,
    padded,
    read_varint,
    scan_fields,
)


def message(*fields: bytes) -> Message:
    content = b"".join(fields)
    return Message.at(padded(content), 0, len(content))


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**32 - 1, 2**63, 2**64 - 1])
def test_a_varint_reads_back(value: int) -> None:
    """Every unsigned 64-bit integer survives, and the position moves behind it."""
    content = varint(value)
    assert read_varint(padded(content), 0) == (value, len(content))


def test_a_varint_beyond_64_bits_is_cut_to_them() -> None:
    """Bits above the 64th are dropped, as protobuf does."""
    assert read_varint(padded(b"\xff" * 9 + b"\x7f"), 0) == (2**64 - 1, 10)


def test_a_varint_longer_than_ten_bytes_is_a_fault() -> None:
    """A row of continuation bits does not run on through the file."""
    with pytest.raises(WireFault, match="longer than 10 bytes"):
        read_varint(padded(b"\x80" * 40), 0)


def test_fields_keep_their_order_and_extent() -> None:
    """Each field says its number, its wire type and where its value lies."""
    content = uint_field(1, 5) + text_field(2, "ab") + double_field(3, 1.0) + float_field(4, 1.0)
    found = [tuple(field) for field in scan_fields(padded(content), 0, len(content))]
    assert found == [(1, 0, 5, 2), (2, 2, 4, 6), (3, 1, 7, 15), (4, 5, 16, 20)]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\x0b", "a group"),
        (b"\x0c", "a group"),
        (b"\x0e", "wire type 6, which is not defined"),
        (b"\x0f\x01", "wire type 7, which is not defined"),
        (b"\x00\x01", "the number 0"),
        (b"\x0a\x05ab", "needs 7 bytes where its message has 4 left"),
        (b"\x09\x00\x00", "needs 9 bytes"),
        (b"\x0d\x00", "needs 5 bytes"),
        (b"\x08", "needs 2 bytes where its message has 1 left"),
        (b"\x08\x80", "needs 3 bytes"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "where its message has 11 left"),
    ],
)
def test_bytes_that_are_not_protobuf_are_a_fault(content: bytes, problem: str) -> None:
    """Damage is found where it lies, even where the message is the last thing in the file."""
    with pytest.raises(WireFault, match=problem):
        scan_fields(padded(content), 0, len(content))


def test_a_fault_says_where_the_damaged_field_begins() -> None:
    """The offset counts from the start of the bytes that were given."""
    content = uint_field(1, 5) + b"\x0e"
    with pytest.raises(WireFault) as caught:
        scan_fields(padded(content), 0, len(content))
    assert caught.value.offset == 2


def test_the_last_scalar_wins() -> None:
    """A singular field that occurs twice has the later value."""
    assert message(uint_field(1, 5), uint_field(1, 6)).uint64(1) == 6


def test_embedded_messages_are_merged() -> None:
    """A singular message that occurs twice has the fields of both, the later one first."""
    twice = message(
        message_field(1, uint_field(1, 5), uint_field(2, 6)), message_field(1, uint_field(2, 7))
    ).message(1)
    assert twice is not None
    assert (twice.uint64(1), twice.uint64(2)) == (5, 7)


def test_a_field_of_another_wire_type_counts_as_absent() -> None:
    """A text where an integer belongs is an unknown field, not an integer."""
    found = message(text_field(1, "7"))
    assert found.uint64(1) is None
    assert found.text(1) == "7"


def test_an_absent_field_is_none() -> None:
    """Absent is not zero and not empty."""
    found = message()
    values = (found.uint64(1), found.int32(1), found.double(1), found.single(1), found.text(1))
    assert values == (None,) * 5
    assert found.message(1) is None
    assert found.messages(1) == []


def test_numbers_have_the_width_and_sign_of_their_type() -> None:
    """The same varint is another number as a signed or a narrow field."""
    found = message(uint_field(1, 2**64 - 5))
    assert found.uint64(1) == 2**64 - 5
    assert found.int64(1) == -5
    assert found.uint32(1) == 2**32 - 5
    assert found.int32(1) == -5


def test_floats_of_both_widths_read() -> None:
    """A 64-bit float is exact; a 32-bit float has the value that was stored."""
    found = message(double_field(1, 0.1), float_field(2, 1.5), double_field(3, math.inf))
    assert (found.double(1), found.single(2), found.double(3)) == (0.1, 1.5, math.inf)


def test_text_that_is_not_utf8_shows_its_bytes() -> None:
    """The text can be encoded again whatever the file holds."""
    assert decode_text(b"k\xff<\xc3\xa4>") == "k\\xff<ä>"
    assert decode_text(b"\xed\xa0\x80").encode() == b"\\xed\\xa0\\x80"
