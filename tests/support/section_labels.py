"""The labels in the headers of the section definitions that a .ncu-rep file stores.

Read with a few lines of protobuf of its own, so that it checks the table of `nsightlens.ncucsv`
against the files and not against our reader. Only blocks of one result are looked at, as ncu
writes them.
"""

from __future__ import annotations

from struct import unpack_from
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# BlockHeader, ProfileResult, ProfilerSection, its header, SectionMetric
_SOURCE_COUNT, _RESULT_COUNT, _PAYLOAD_SIZE = 1, 2, 5
_SECTION = 17
_DISPLAY_NAME, _HEADER = 2, 4
_METRIC, _LABEL = 1, 2


def section_labels(path: Path) -> set[tuple[str, str, str]]:
    """Return display name of the section, label and metric of every header line of the file."""
    found: set[tuple[str, str, str]] = set()
    seen: set[bytes] = set()
    for result in _results(path.read_bytes()):
        for number, section in _fields(result):
            if number == _SECTION and isinstance(section, bytes) and section not in seen:
                seen.add(section)
                found.update(_labels(section))
    return found


def _labels(section: bytes) -> Iterator[tuple[str, str, str]]:
    fields = list(_fields(section))
    name = next(value for number, value in fields if number == _DISPLAY_NAME)
    headers = [value for number, value in fields if number == _HEADER]
    for header in headers:
        for _, line in _fields(header) if isinstance(header, bytes) else ():
            if isinstance(line, bytes) and isinstance(name, bytes):
                parts = dict(_fields(line))
                label, metric = parts.get(_LABEL, b""), parts.get(_METRIC, b"")
                if isinstance(label, bytes) and isinstance(metric, bytes):
                    yield name.decode(), label.decode(), metric.decode()


def _results(data: bytes) -> Iterator[bytes]:
    position = 8 + unpack_from("<I", data, 4)[0]
    while position < len(data):
        size = unpack_from("<I", data, position)[0]
        header = dict(_fields(data[position + 4 : position + 4 + size]))
        position += 4 + size
        end = position + int(header.get(_PAYLOAD_SIZE, 0))
        first = int(header.get(_SOURCE_COUNT, 0))
        entries = []
        while position < end:
            size = unpack_from("<I", data, position)[0]
            entries.append(data[position + 4 : position + 4 + size])
            position += 4 + size
        yield from entries[first : first + int(header.get(_RESULT_COUNT, 0))]


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    position = 0
    while position < len(message):
        key, position = _varint(message, position)
        if key & 7 == 0:
            value, position = _varint(message, position)
            yield key >> 3, value
            continue
        size = {1: 8, 5: 4}.get(key & 7)
        if size is None:
            size, position = _varint(message, position)
        yield key >> 3, message[position : position + size]
        position += size


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[position]
        position += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, position
