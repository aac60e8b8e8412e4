"""What `nsightlens.ncurep.slice` and `nsightlens.ncurep.redact` share: a report block by block.

Both copy a report without decoding its results. `blocks` gives every block of a sound or salvaged
container with the places of its entries; `header_with` writes a block header anew with other
counts and leaves every other field of it, the string table above all, byte for byte.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from struct import unpack_from
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.ncurep.container import Container, Entry, read_file_header
from nsightlens.ncurep.encode import uint_field
from nsightlens.ncurep.faults import wire_error
from nsightlens.ncurep.mapped import open_mapped
from nsightlens.ncurep.wire import BYTES, Message, WireFault, padded, scan_fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from mmap import mmap

    from nsightlens.ncurep.model import Kind

__all__ = [
    "COUNT_FIELD",
    "EMPTY_HEADER",
    "Block",
    "Extent",
    "RawField",
    "Source",
    "blocks",
    "fields_of",
    "header_with",
    "indexed",
    "raw_fields",
]

# BlockHeader: the field that counts the entries of each kind.
_SOURCE_COUNT, _PAYLOAD_SIZE = 1, 5
COUNT_FIELD: dict[Kind, int] = {"kernel": 2, "range": 7, "cmdlist": 8, "graph": 9}


_FILE_HEADER = 8
"""[byte] Where the message of the file header begins: behind the magic and its length."""


class Extent(NamedTuple):
    """Bytes ``[start, stop)`` of the file."""

    start: int
    stop: int


class Block(NamedTuple):
    """One block: its header, and where the messages of its sources and results lie.

    ``entry_count`` is how many entries the header claims: more than there are where a salvaged
    file is cut.
    """

    number: int
    header: Extent
    sources: tuple[Extent, ...]
    results: tuple[Entry, ...]
    entry_count: int


class RawField(NamedTuple):
    """One field of a message: ``raw`` with its key, ``content`` what a text or a message holds."""

    number: int
    wire_type: int
    raw: bytes
    content: bytes


class Source(NamedTuple):
    """A report that is open: its bytes, its name and its index.

    ``start`` [byte] is where its first block begins, behind the file header.
    """

    buffer: mmap
    path: str
    version: int
    start: int
    container: Container
    entries: list[Entry]

    @property
    def file_header(self) -> bytes:
        """Its message, without magic and length."""
        return self.buffer[_FILE_HEADER : self.start]

    def bytes_of(self, extent: Extent | Entry) -> bytes:
        """Return the bytes of a header or an entry."""
        return self.buffer[extent.start : extent.stop]


@contextmanager
def indexed(path: str | os.PathLike[str], shown: str | None = None) -> Iterator[Source]:
    """Open a report and index its blocks; the damage that it may have is the container's.

    ``shown`` is what errors call it, where it is the temporary copy of another.

    Raises
    ------
    ReportNotFoundError, NotAReportError, UnsupportedVersionError
        See `nsightlens.ncurep.read_ncu_rep`.
    """
    name = os.fspath(path) if shown is None else shown
    with open_mapped(os.fspath(path), name) as buffer:
        version, start = read_file_header(buffer, name)
        container = Container(buffer, name, start)
        yield Source(buffer, name, version, start, container, container.entries)


def blocks(source: Source) -> Iterator[Block]:
    """Yield the blocks that the container has indexed, in file order."""
    buffer, size = source.buffer, len(source.buffer)
    entries = iter(source.entries)
    entry = next(entries, None)
    offset, index = source.start, 0
    while index < source.container.block_count:
        header_size = unpack_from("<I", buffer, offset)[0]
        start = offset + 4 + header_size
        if header_size == 0:  # padding: a block that says nothing and is not counted
            offset = start
            continue
        extent = Extent(offset + 4, start)
        header = Message.at(padded(source.bytes_of(extent)), 0, header_size)
        stop = start + (header.uint32(_PAYLOAD_SIZE) or 0)
        sources = _entries(buffer, start, min(stop, size), header.uint32(_SOURCE_COUNT) or 0)
        results = []
        while entry is not None and entry.block == index:
            results.append(entry)
            entry = next(entries, None)
        count = sum(header.uint32(n) or 0 for n in (_SOURCE_COUNT, *COUNT_FIELD.values()))
        yield Block(index, extent, tuple(sources), tuple(results), count)
        offset, index = stop, index + 1


def _entries(buffer: mmap, start: int, stop: int, count: int) -> Iterator[Extent]:
    """Yield the entries that lie wholly before ``stop``, as all of them do in a sound block."""
    for _ in range(count):
        if start + 4 > stop:
            return
        end = start + 4 + unpack_from("<I", buffer, start)[0]
        if end > stop:
            return
        yield Extent(start + 4, end)
        start = end


def fields_of(source: Source, place: Extent | Entry, where: tuple[str, ...]) -> list[RawField]:
    """Return the fields of a header or an entry.

    Raises
    ------
    WireFormatError
        Its bytes are damaged.
    """
    try:
        return raw_fields(source.bytes_of(place))
    except WireFault as fault:
        raise wire_error(source.path, fault, place.start, where) from fault


def raw_fields(message: bytes) -> list[RawField]:
    """Return the fields of a message, in file order: their ``raw`` joined is the message.

    Raises
    ------
    WireFault
        The bytes are no message.
    """
    data = padded(message)
    found, begin = [], 0
    for number, wire_type, start, stop in scan_fields(data, 0, len(message)):
        content = message[start:stop] if wire_type == BYTES else b""
        found.append(RawField(number, wire_type, message[begin:stop], content))
        begin = stop
    return found


EMPTY_HEADER = uint_field(_PAYLOAD_SIZE, 0)
"""Header of a block that says no more than that there is one; no bytes at all would be padding."""


def header_with(
    fields: list[RawField], source_count: int, results: Mapping[Kind, int], payload_size: int
) -> bytes:
    """Return a block header with other counts, everything else as it was.

    Parameters
    ----------
    fields
        The header.
    source_count, results
        How many entries the payload holds; kinds of result that are not named have none.
    payload_size
        [byte] Size of the payload, with the length prefixes of the entries.
    """
    numbers = {
        _SOURCE_COUNT: source_count,
        _PAYLOAD_SIZE: payload_size,
        **{number: results.get(kind, 0) for kind, number in COUNT_FIELD.items()},
    }
    # A number that stands twice, as no known writer leaves it, stands twice again: the last counts.
    parts = [
        uint_field(field.number, numbers[field.number]) if field.number in numbers else field.raw
        for field in fields
    ]
    present = {field.number for field in fields}
    parts += [uint_field(n, value) for n, value in numbers.items() if value and n not in present]
    return b"".join(parts)
