"""Damaged reports: every way in which a file can go wrong on its way, made deterministically.

`mutants` yields them by kind of damage. `claimed_result_count` says, by a reading of the container
that shares no code with the package, how many results a file claims to hold, so that a test can
tell a sound file that became empty from damage that was swallowed.
"""

from __future__ import annotations

import random
import struct
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_SIZE = struct.Struct("<I")
_RESULT_COUNT_FIELDS = (2, 7, 8, 9)
_PAYLOAD_SIZE_FIELD = 5
_UINT32 = 0xFFFFFFFF


class Mutant(NamedTuple):
    """A damaged report, and the sound one that it was made from."""

    data: bytes
    original: bytes


def mutants(kind: str, originals: Sequence[bytes], count: int) -> Iterator[Mutant]:
    """Yield ``count`` reports with one kind of damage (a key of `DAMAGES`), always the same ones.

    A mutant that came out equal to its original is made again.
    """
    chance = random.Random(f"mutants of kind {kind}")
    for i in range(count):
        original = originals[i % len(originals)]
        data = original
        while data == original:
            data = DAMAGES[kind](chance, original, originals)
        yield Mutant(data, original)


def _cut(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    return data[: chance.randrange(len(data))]


def _cut_the_beginning(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    return data[chance.randrange(1, len(data)) :]


def _flip_bits(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    damaged = bytearray(data)
    for _flip in range(chance.choice((1, 1, 1, 2, 4, 16))):
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def _overwrite(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = chance.randrange(len(data))
    size = min(chance.choice((1, 2, 4, 8, 64)), len(data) - at)
    new = chance.choice((bytes(size), b"\xff" * size, b"\x80" * size, chance.randbytes(size)))
    return data[:at] + new + data[at + size :]


def _splice_bytes(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """Leave bytes out, put bytes in, or repeat some of the file at another place."""
    at, size = chance.randrange(len(data)), chance.randrange(1, 40)
    source = chance.randrange(len(data))
    return chance.choice(
        (
            data[:at] + data[at + size :],
            data[:at] + chance.randbytes(size) + data[at:],
            data[:at] + data[source : source + size] + data[at:],
        )
    )


def _splice_reports(chance: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Begin as one report and end as another, at places that fit or that do not."""
    other = chance.choice(others)
    if chance.random() < 0.5:
        return (
            data[: chance.choice(_block_starts(data))]
            + other[chance.choice(_block_starts(other)) :]
        )
    return data[: chance.randrange(len(data))] + other[chance.randrange(len(other)) :]


def _lie_about_a_length(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """Change one of the container's own sizes: of a header, of a block's header, of an entry."""
    at = chance.choice(_size_offsets(data))
    (true,) = _SIZE.unpack_from(data, at)
    lies = (0, 1, true - 1, true + 1, true + 4, true * 2, len(data), 2**31 - 1, 2**31, _UINT32)
    return data[:at] + _SIZE.pack(chance.choice(lies) & _UINT32) + data[at + 4 :]


def _lie_inside_a_message(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """Change one byte to a value that reads as a length, a tag or an endless number."""
    at = chance.randrange(8, len(data))
    lie = bytes([chance.choice((0, 1, 7, 0x0B, 0x0C, 0x3F, 0x7F, 0x80, 0xFF))])
    run = lie * chance.choice((1, 1, 1, 11))
    return data[:at] + run + data[at + len(run) :]


def _extend(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    size = chance.choice((1, 2, 3, 4, 5, 8, 100, 1000))
    return data + chance.choice(
        (bytes(size), b"\xff" * size, chance.randbytes(size), data[-size:], data[:size])
    )


def _rearrange_blocks(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """Drop, repeat or swap whole blocks: every one is sound, the file may not be."""
    starts = _block_starts(data)
    blocks = [data[a:b] for a, b in pairwise(starts)]
    i, j = chance.randrange(len(blocks)), chance.randrange(len(blocks))
    arrangement = chance.choice(
        (
            blocks[:i] + blocks[i + 1 :],
            [*blocks[:i], blocks[j], *blocks[i:]],
            [blocks[{i: j, j: i}.get(k, k)] for k in range(len(blocks))] + blocks[i:j],
        )
    )
    return data[: starts[0]] + b"".join(arrangement)


DAMAGES: dict[str, Callable[[random.Random, bytes, Sequence[bytes]], bytes]] = {
    "cut": _cut,
    "beginning cut": _cut_the_beginning,
    "bits flipped": _flip_bits,
    "bytes overwritten": _overwrite,
    "bytes spliced": _splice_bytes,
    "reports spliced": _splice_reports,
    "lengths changed": _lie_about_a_length,
    "messages changed": _lie_inside_a_message,
    "extended": _extend,
    "blocks rearranged": _rearrange_blocks,
}


def claimed_result_count(data: bytes) -> int | None:
    """Return how many results the block headers claim; None where the blocks do not add up.

    A file without any block is one that was cut: ncu writes some even for zero results.
    """
    if len(data) < 8 or data[:4] != b"NVR\0":
        return None
    position = 8 + _SIZE.unpack_from(data, 4)[0]
    first_block, total = position, 0
    while position < len(data):
        if not data[position:].strip(b"\0"):
            # Padding, as a block-wise copy leaves it: NVIDIA's reader passes over it as well.
            return total if position > first_block else None
        if position + 4 > len(data):
            return None
        header_start = position + 4
        position = header_start + _SIZE.unpack_from(data, position)[0]
        if position > len(data):
            return None
        numbers = _numbers(data[header_start:position])
        if numbers is None:
            return None
        total += sum(numbers.get(number, 0) for number in _RESULT_COUNT_FIELDS)
        position += numbers.get(_PAYLOAD_SIZE_FIELD, 0)
    return total if position == len(data) and position > first_block else None


def _numbers(message: bytes) -> dict[int, int] | None:
    """Return the varint fields of a message as uint32; None where it does not add up."""
    found: dict[int, int] = {}
    position = 0
    try:
        while position < len(message):
            key, position = _varint(message, position)
            wire_type = key & 7
            if wire_type == 0:
                value, position = _varint(message, position)
                found[key >> 3] = value & _UINT32
            elif wire_type == 2:
                size, position = _varint(message, position)
                position += size
            else:
                position += {1: 8, 5: 4}[wire_type]
    except (IndexError, KeyError):
        return None
    return found if position == len(message) else None


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise KeyError("a number without an end")


def _block_starts(data: bytes) -> list[int]:
    """Return where the blocks of a sound report begin, and its end."""
    starts = [8 + _SIZE.unpack_from(data, 4)[0]]
    while starts[-1] < len(data):
        starts.append(_payload(data, starts[-1])[1])
    return starts


def _payload(data: bytes, block_start: int) -> tuple[int, int]:
    start = block_start + 4 + _SIZE.unpack_from(data, block_start)[0]
    numbers = _numbers(data[block_start + 4 : start])
    assert numbers is not None
    return start, start + numbers.get(_PAYLOAD_SIZE_FIELD, 0)


def _size_offsets(data: bytes) -> list[int]:
    """Return where a sound report has one of its uint32 sizes."""
    offsets = [4]
    for block_start in _block_starts(data)[:-1]:
        offsets.append(block_start)
        position, stop = _payload(data, block_start)
        while position < stop:
            offsets.append(position)
            position += 4 + _SIZE.unpack_from(data, position)[0]
    return offsets
