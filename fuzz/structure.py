"""Changes to a report that leave it nearly one: random bytes rarely get past the container.

A file is taken apart into blocks, entries and protobuf fields, some of these are changed, and it is
put together again with every length and count as it has to be, or with a lie about one of them.
What cannot be taken apart is left to the bytewise changes of the caller. The wire format is read
and written here without the package's help, which is what is being tested.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

__all__ = ["Node", "Tree", "crossed", "encode", "mutated", "parse"]

_MAGIC = b"NVR\0"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: 8, _FIXED32: 4}
_SIZE = struct.Struct("<I")
_UINT64 = 2**64 - 1

# Fields of a block header that count its entries, in the order of the payload, and its size.
_COUNTS = (1, 2, 7, 8, 9)
_PAYLOAD_SIZE = 5

_INTEGERS = (
    0, 1, 2, 3, 7, 127, 128, 255, 2**14, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53 + 1,
    2**63 - 1, 2**63, _UINT64,
)  # fmt: skip
_LENGTHS = (0, 1, 2, 127, 128, 1000, 2**31 - 1, 2**31, 2**32 - 1, 10 * 2**30, 2**63, _UINT64)
_DOUBLES = tuple(
    struct.pack("<d", number)
    for number in (0.0, -0.0, 1.0, -1.0, 5e-324, 1e308, float("inf"), float("-inf"), float("nan"))
)
_TEXTS = (b"", b"a", b"\xff\xfe", b"\0", b"\n", "\U0001f600".encode(), b"\xed\xb2\x80", b"x" * 200)
_NUMBERS = tuple(range(1, 30))


@dataclass(slots=True)
class Node:
    """A field of a message, or an entry of a payload (its number is that of its count).

    ``value`` is a number, the bytes of a fixed-width field or of something opaque, or the fields
    of an embedded message. ``lie`` is what its length is said to be instead of the truth.
    """

    number: int
    wire_type: int
    value: int | bytes | list[Node]
    lie: int | None = None


@dataclass(slots=True)
class Block:
    """One block; counts and sizes in ``lies`` (by field number) are said instead of the truth."""

    header: list[Node]
    entries: list[Node]
    lies: dict[int, int] = field(default_factory=dict)
    header_lie: int | None = None


@dataclass(slots=True)
class Tree:
    """A whole file; ``tail`` is what follows the last block that could be taken apart."""

    head: list[Node]
    blocks: list[Block]
    tail: bytes


def mutated(
    data: bytes, chance: random.Random, most_bytes: int, change: Callable[[bytes], bytes]
) -> bytes:
    """Return a changed report.

    Parameters
    ----------
    data
        A report, or what is left of one.
    chance
        Where every choice comes from.
    most_bytes
        [byte] How long the result may be.
    change
        Changes bytes that have no structure: texts, numbers, and files beyond repair.
    """
    tree = parse(data) if chance.random() < 0.8 else None
    if tree is None:
        return change(data)[:most_bytes]
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        chance.choice(_CHANGES)(tree, chance, change)
    found = encode(tree)
    return found if len(found) <= most_bytes else change(data)[:most_bytes]


def crossed(data: bytes, other: bytes, chance: random.Random, most_bytes: int) -> bytes:
    """Return a report with something of another one in it."""
    tree, source = parse(data), parse(other)
    if tree is None or source is None or not source.blocks:
        at, start = chance.randrange(len(data) + 1), chance.randrange(len(other) + 1)
        return (data[:at] + other[start:])[:most_bytes]
    donor = chance.choice(source.blocks)
    if chance.random() < 0.3 or not tree.blocks:
        tree.blocks.insert(chance.randint(0, len(tree.blocks)), donor)
    else:
        given = donor.entries or donor.header
        taker = chance.choice(tree.blocks)
        into = taker.entries if given is donor.entries else taker.header
        if given:
            into.insert(chance.randint(0, len(into)), chance.choice(given))
    found = encode(tree)
    return found if len(found) <= most_bytes else data[:most_bytes]


def parse(data: bytes) -> Tree | None:
    """Take a file apart; None where it does not even begin like a report."""
    if len(data) < 8 or data[:4] != _MAGIC:
        return None
    position = 8 + _SIZE.unpack_from(data, 4)[0]
    head = _fields(data[8:position]) if position <= len(data) else None
    if head is None:
        return None
    blocks: list[Block] = []
    while True:
        found = _block(data, position)
        if found is None:
            return Tree(head, blocks, data[position:])
        block, position = found
        blocks.append(block)


def _block(data: bytes, position: int) -> tuple[Block, int] | None:
    content = _prefixed(data, position, len(data))
    header = None if content is None else _fields(content[0])
    if content is None or header is None:
        return None
    said = {node.number: node.value for node in header if isinstance(node.value, int)}
    size, position = said.get(_PAYLOAD_SIZE, 0), content[1]
    stop = position + (size if isinstance(size, int) else 0)
    entries = []
    for number in _COUNTS:
        count = said.get(number, 0)
        for _ in range(count if isinstance(count, int) else 0):
            entry = _prefixed(data, position, min(stop, len(data)))
            if entry is None:
                return None
            entries.append(Node(number, _BYTES, entry[0]))
            position = entry[1]
    if position != stop:
        return None
    kept = [node for node in header if node.number not in {*_COUNTS, _PAYLOAD_SIZE}]
    return Block(kept, entries), position


def _prefixed(data: bytes, position: int, stop: int) -> tuple[bytes, int] | None:
    """Return what lies behind a size at a position, and the position behind it."""
    start = position + 4
    if start > stop:
        return None
    end = int(start + _SIZE.unpack_from(data, position)[0])
    return (data[start:end], end) if end <= stop else None


def _fields(data: bytes) -> list[Node] | None:
    """Return the fields of a message, embedded ones unopened; None where it does not add up."""
    found, position = [], 0
    try:
        while position < len(data):
            key, position = _varint(data, position)
            number, wire_type = key >> 3, key & 7
            if number == 0 or wire_type not in {_VARINT, _FIXED64, _BYTES, _FIXED32}:
                return None
            value: int | bytes
            if wire_type == _VARINT:
                value, position = _varint(data, position)
            else:
                size = _FIXED.get(wire_type)
                if size is None:
                    size, position = _varint(data, position)
                value = data[position : position + size]
                position += size
                if position > len(data):
                    return None
            found.append(Node(number, wire_type, value))
    except IndexError:
        return None
    return found


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value & _UINT64, position
        if shift >= 70:
            raise IndexError


def encode(tree: Tree) -> bytes:
    """Put a file together again, with true lengths and counts wherever nothing lies."""
    head = _encode_fields(tree.head)
    parts = [_MAGIC, _SIZE.pack(len(head)), head]
    for block in tree.blocks:
        entries = sorted(block.entries, key=lambda entry: _COUNTS.index(entry.number))
        payload = b"".join(_encode_entry(entry) for entry in entries)
        counts = dict.fromkeys(_COUNTS, 0)
        for entry in entries:
            counts[entry.number] += 1
        said = {**counts, _PAYLOAD_SIZE: len(payload), **block.lies}
        numbers = [Node(number, _VARINT, value) for number, value in said.items() if value]
        header = _encode_fields([*numbers, *block.header])
        size = len(header) if block.header_lie is None else block.header_lie
        parts += [_SIZE.pack(size & 0xFFFFFFFF), header, payload]
    return b"".join([*parts, tree.tail])


def _encode_entry(entry: Node) -> bytes:
    content = _encode_value(entry)
    size = len(content) if entry.lie is None else entry.lie
    return _SIZE.pack(size & 0xFFFFFFFF) + content


def _encode_fields(nodes: list[Node]) -> bytes:
    parts = []
    for node in nodes:
        parts.append(_encode_varint(node.number << 3 | node.wire_type))
        content = _encode_value(node)
        if node.wire_type == _BYTES:
            parts.append(_encode_varint(len(content) if node.lie is None else node.lie))
        parts.append(content)
    return b"".join(parts)


def _encode_value(node: Node) -> bytes:
    if isinstance(node.value, int):
        return _encode_varint(node.value)
    return node.value if isinstance(node.value, bytes) else _encode_fields(node.value)


def _encode_varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _any_node(tree: Tree, chance: random.Random) -> tuple[list[Node], int] | None:
    """Return a list and the position of one of its nodes, or None where there is none.

    A walk down from a block, so that only what is on its way has to be opened. At each level every
    field number is as likely as the next: a state of NVTX as hundreds of metrics.
    """
    block = chance.choice(tree.blocks) if tree.blocks and chance.random() < 0.98 else None
    nodes = tree.head if block is None else chance.choice((block.header, *[block.entries] * 3))
    if not nodes:
        return None
    while True:
        number = chance.choice(sorted({node.number for node in nodes}))
        i = chance.choice([i for i, node in enumerate(nodes) if node.number == number])
        inner = _opened(nodes[i]) if chance.random() < 0.8 else None
        if not inner:
            return nodes, i
        nodes = inner


def _opened(node: Node) -> list[Node] | None:
    """Return the fields of an embedded message, which stand in its node from now on."""
    if isinstance(node.value, bytes) and node.wire_type == _BYTES:
        node.value = _fields(node.value) or node.value
    return node.value if isinstance(node.value, list) else None


def _is_payload(tree: Tree, nodes: list[Node]) -> bool:
    """Tell whether the nodes are the entries of a block, not the fields of a message."""
    return any(nodes is block.entries for block in tree.blocks)


def _drop(tree: Tree, chance: random.Random, _: Callable[[bytes], bytes]) -> None:
    if found := _any_node(tree, chance):
        del found[0][found[1]]


def _repeat(tree: Tree, chance: random.Random, _: Callable[[bytes], bytes]) -> None:
    if found := _any_node(tree, chance):
        nodes, i = found
        # Repeats of repeats must not outgrow the memory: what is large is repeated once.
        most = 1 + 20_000 // (1 + len(_encode_value(nodes[i])))
        nodes[i:i] = [nodes[i]] * min(most, chance.choice((1, 1, 2, 5, 40, 2000)))


def _copy(tree: Tree, chance: random.Random, _: Callable[[bytes], bytes]) -> None:
    """Put a field where another stands; entries and fields do not mix, having other prefixes."""
    source, target = _any_node(tree, chance), _any_node(tree, chance)
    if source and target and _is_payload(tree, source[0]) == _is_payload(tree, target[0]):
        # A copy of its own: a message that held itself would never end.
        target[0].insert(target[1], _copied(source[0][source[1]]))


def _copied(node: Node) -> Node:
    """Return a node that shares nothing with another."""
    value = node.value
    inner = [_copied(part) for part in value] if isinstance(value, list) else value
    return Node(node.number, node.wire_type, inner, node.lie)


def _renumber(tree: Tree, chance: random.Random, _: Callable[[bytes], bytes]) -> None:
    if found := _any_node(tree, chance):
        nodes, i = found
        nodes[i].number = chance.choice(_COUNTS if _is_payload(tree, nodes) else _NUMBERS)


def _revalue(tree: Tree, chance: random.Random, change: Callable[[bytes], bytes]) -> None:
    """Give a field another value of its type, or one of another type."""
    found = _any_node(tree, chance)
    if not found:
        return
    nodes, i = found
    node = nodes[i]
    wire_type = node.wire_type
    if not _is_payload(tree, nodes) and chance.random() < 0.1:
        wire_type = chance.choice((_VARINT, _FIXED64, _BYTES, _FIXED32))
    if wire_type == _VARINT:
        near = (node.value if isinstance(node.value, int) else 0) + chance.choice((-1, 1))
        node.value = chance.choice((chance.choice(_INTEGERS), near & _UINT64))
    elif wire_type == _FIXED64:
        node.value = chance.choice(_DOUBLES)
    elif wire_type == _FIXED32:
        node.value = chance.randbytes(4)
    elif chance.random() < 0.5:
        old = _encode_value(node)
        node.value = change(old or b"a")
    else:
        node.value = chance.choice(_TEXTS)
    node.wire_type = wire_type


def _lie(tree: Tree, chance: random.Random, _: Callable[[bytes], bytes]) -> None:
    """Say of something that it is longer or shorter than it is."""
    if found := _any_node(tree, chance):
        node = found[0][found[1]]
        true = len(_encode_value(node))
        near = true + chance.choice((-1, 1, 4))
        node.lie = max(0, chance.choice((chance.choice(_LENGTHS), near)))


def _lie_in_a_header(tree: Tree, chance: random.Random, _: Callable[[bytes], bytes]) -> None:
    if not tree.blocks:
        return
    block = chance.choice(tree.blocks)
    if chance.random() < 0.2:
        block.header_lie = chance.choice(_LENGTHS)
        return
    number = chance.choice((*_COUNTS, _PAYLOAD_SIZE))
    true = sum(entry.number == number for entry in block.entries)
    block.lies[number] = max(0, chance.choice((chance.choice(_LENGTHS), true - 1, true + 1)))


def _nest(tree: Tree, chance: random.Random, _: Callable[[bytes], bytes]) -> None:
    """Wrap what a message holds into many messages of the same number."""
    if found := _any_node(tree, chance):
        node = found[0][found[1]]
        if node.wire_type == _BYTES:
            content = _encode_value(node)
            for _level in range(chance.choice((1, 2, 10, 500))):
                content = _encode_fields([Node(chance.choice((1, 2, 3)), _BYTES, content)])
            node.value = content


def _move_blocks(tree: Tree, chance: random.Random, _: Callable[[bytes], bytes]) -> None:
    if not tree.blocks:
        return
    block = chance.choice(tree.blocks)
    choice = chance.randrange(3)
    if choice == 0:
        tree.blocks.remove(block)
    else:
        at = chance.randint(0, len(tree.blocks))
        copy = Block(
            [_copied(node) for node in block.header],
            [_copied(node) for node in block.entries] if choice == 1 else [],
        )
        tree.blocks.insert(at, copy)


def _new_tail(tree: Tree, chance: random.Random, change: Callable[[bytes], bytes]) -> None:
    tree.tail = chance.choice((b"", bytes(3), bytes(8), bytes(5000), change(tree.tail or b"a")))


_CHANGES = (
    _drop, _repeat, _copy, _copy, _renumber, _revalue, _revalue, _revalue, _lie, _lie_in_a_header,
    _nest, _move_blocks, _new_tail,
)  # fmt: skip
