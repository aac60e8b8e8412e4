"""The container: magic, file header, blocks, and the entries of their payloads.

First pass over a file. It reads every block header, puts the string tables of *all* blocks
together (a result may use a string that only a later block defines), and splits each payload
into entries by their length prefixes without looking inside. Payloads of sources, often the
largest part of a file, are stepped over. `nsightlens.ncurep.results` reads the entries afterwards.

Format: Nsight Compute, Customization Guide, "Report File Format".
https://docs.nvidia.com/nsight-compute/CustomizationGuide/index.html
"""

from __future__ import annotations

import re
from struct import unpack_from
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from nsightlens.arrays import positions_in_runs
from nsightlens.errors import (
    NotAReportError,
    ReportFormatError,
    TrailingBytesError,
    TruncatedReportError,
    UnsupportedVersionError,
    WireFormatError,
)
from nsightlens.ncurep.faults import (
    COPY_AGAIN,
    MADE_TO_FILL,
    READER_SLIPS,
    SALVAGE,
    reader_error,
    wire_error,
)
from nsightlens.ncurep.model import FILE_VERSION, MAGIC, Kind, ProcessInfo
from nsightlens.ncurep.pages import PageReleaser
from nsightlens.ncurep.session import SessionMerger, read_process
from nsightlens.ncurep.wire import Message, WireFault, padded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from mmap import mmap

    from numpy.typing import NDArray

    from nsightlens.ncurep.model import SessionInfo

__all__ = ["KINDS", "Container", "Entry", "EntryIndex", "SoundBlocks", "read_file_header"]

# BlockHeader: how many entries of each kind the payload holds, in the order of the payload.
KINDS: tuple[Kind, ...] = ("kernel", "range", "cmdlist", "graph")
"""Kinds of result by their number in an `EntryIndex`: the order of the payload."""
_ENTRY_COUNTS: tuple[tuple[int, Literal["source"] | Kind], ...] = (
    (1, "source"),
    *zip((2, 7, 8, 9), KINDS, strict=True),
)
_SESSION, _STRING_TABLE, _PAYLOAD_SIZE, _PROCESS = 3, 4, 5, 6

# Keys with which the header of a block can begin (field number and wire type in one byte).
_BLOCK_HEADER_KEYS = frozenset(b"\x08\x10\x1a\x22\x28\x32\x38\x40\x48")

# What every report of ncu says somewhere (behind its sources), and how far to look for it [byte].
_EARLY_WORDS = (b"Nsight Compute", b"launch__grid_size", b"gpu__time_duration")
_SEARCHED = 64 << 20

_ZEROS = re.compile(rb"\0*")

_ENTRIES_AT_A_TIME = 4096  # as Python objects, which take more memory than the columns

_MOST_REPEATED = 1 << 26
"""[character] Of sessions: many times what a thousand processes of one program have."""

_MAX_PADDING = 4096  # [byte] a page: the coarsest unit that files are commonly padded to

# What people have in hand when it is not a report: first bytes, what it is, what to do.
_LOOKALIKES = (
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself", "Run 'git lfs pull'."),
    (b"\x1f\x8b", "gzip data", "Decompress it first."),
    (b"PK\x03\x04", "a zip archive", "Unpack it first."),
    (b"\x28\xb5\x2f\xfd", "zstd data", "Decompress it first."),
    (
        b"SQLite format 3\0",
        "an SQLite database, as Nsight Systems exports",
        "Give the .ncu-rep that ncu wrote.",
    ),
    (b"<!DOCTYPE", "a web page", "Download the file itself."),
    (b"<html", "a web page", "Download the file itself."),
)


class Entry(NamedTuple):
    """Where one result lies: bytes ``[start, stop)`` of the file."""

    kind: Kind
    start: int
    stop: int
    process: ProcessInfo | None
    block: int
    position: int

    def where(self) -> tuple[str, ...]:
        """Return the breadcrumb of the entry."""
        return (f"block {self.block}", f"{self.kind} {self.position}")


class EntryIndex:
    """Where every result lies, as columns: what a scanner takes.

    Iterating gives each as an `Entry`. Columns are int64: ``kind`` (number in `KINDS`),
    ``start``, ``stop`` [byte], ``block``, ``position`` (among its kind in its block), ``process``
    (index into ``processes``, -1 for none).
    """

    def __init__(self) -> None:
        self.processes: dict[ProcessInfo, int] = {}
        self._chunks: list[NDArray[np.int64]] = []
        self._columns: NDArray[np.int64] | None = None

    def add(self, rows: NDArray[np.int64] | Sequence[tuple[int, ...]]) -> None:
        """Add rows of kind, start, stop, block, position, process."""
        if len(rows):
            self._chunks.append(np.asarray(rows, dtype=np.int64).reshape(-1, 6))
            self._columns = None

    def process_index(self, process: ProcessInfo | None) -> int:
        """Return the number of a process, a new one if need be; -1 for none."""
        return -1 if process is None else self.processes.setdefault(process, len(self.processes))

    @property
    def columns(self) -> NDArray[np.int64]:
        """All rows so far. Shape (n, 6)."""
        if self._columns is None:
            empty = np.empty((0, 6), dtype=np.int64)
            self._columns = np.concatenate(self._chunks) if self._chunks else empty
            self._chunks = [self._columns]
        return self._columns

    def __len__(self) -> int:
        return sum(map(len, self._chunks))

    def __iter__(self) -> Iterator[Entry]:
        return self.entries(0, len(self))

    def entries(self, first: int, last: int) -> Iterator[Entry]:
        """Yield the entries in ``[first, last)``."""
        processes = [*self.processes, None]  # -1 is none
        for begin in range(first, last, _ENTRIES_AT_A_TIME):
            rows = self.columns[begin : min(begin + _ENTRIES_AT_A_TIME, last)]
            for kind, start, stop, block, position, process in rows.tolist():
                yield Entry(KINDS[kind], start, stop, processes[process], block, position)


def read_file_header(buffer: mmap | bytes, path: str) -> tuple[int, int]:
    """Return the version of the container and the offset [byte] of its first block.

    Raises
    ------
    NotAReportError
        Where the file does not begin with the magic bytes of a report.
    TruncatedReportError
        Where it ends inside the header.
    UnsupportedVersionError
        Where the header states no version, or one whose layout is not known.
    """
    size = len(buffer)
    if buffer[:4] != MAGIC:
        raise _not_a_report(buffer, path)
    header_size = unpack_from("<I", buffer, 4)[0] if size >= 8 else 0
    if size < 8 or 8 + header_size > size:
        problem = f"the file ends inside its own header, after {size} bytes"
        raise TruncatedReportError(path, problem, COPY_AGAIN, offset=min(size, 4))
    try:
        version = Message.at(padded(buffer[8 : 8 + header_size]), 0, header_size).uint32(1)
    except WireFault as fault:
        raise wire_error(path, fault, 8, ("file header",)) from fault
    if version is None or version < FILE_VERSION:
        found = "states no container version" if version is None else f"has version {version}"
        problem = f"the container {found}, and only version {FILE_VERSION} and later can be read"
        advice = "Open it with the Nsight Compute that wrote it, or profile again with 2020.3+."
        raise UnsupportedVersionError(path, problem, advice, offset=8)
    return version, 8 + header_size


def _not_a_report(buffer: mmap | bytes, path: str) -> NotAReportError:
    head = buffer[:64]
    for beginning, what, advice in _LOOKALIKES:
        if head.startswith(beginning):
            return NotAReportError(path, f"this is {what}", advice, offset=0)
    shown = " ".join(f"{byte:02x}" for byte in head[:4])
    found = f"it begins with the bytes {shown} instead of {MAGIC.hex(' ')} ('NVR')"
    at = head.find(MAGIC)
    if at > 0:
        found += f"; the beginning of a report follows {at} bytes later"
        return NotAReportError(path, found, "Remove the bytes before it.", offset=0)
    if _is_text(head):
        found += "; this is text, such as ncu prints with --csv"
        return NotAReportError(path, found, "Give the .ncu-rep file that ncu wrote.", offset=0)
    if _lacks_beginning(buffer):
        found += "; what follows looks like a report whose first bytes are missing"
        return NotAReportError(path, found, COPY_AGAIN, offset=0)
    return NotAReportError(path, found, "Give a .ncu-rep file that ncu wrote.", offset=0)


def _is_text(head: bytes) -> bool:
    return len(head) > 8 and all(byte >= 0x20 or byte in b"\t\r\n" for byte in head)


def _lacks_beginning(buffer: mmap | bytes) -> bool:
    """Tell whether the file is a report without some of its first bytes."""
    beginning = MAGIC + b"\x02\0\0\0\x08" + bytes([FILE_VERSION])
    for cut in range(1, len(beginning) + 1):
        left = beginning[cut:]
        is_telling = len(left) > 3 or _is_block_header(buffer, len(left))
        if buffer[: len(left)] == left and is_telling:
            return True
    # The cut lies somewhere inside a block: look for what every report says.
    return any(buffer.find(words, 0, _SEARCHED) >= 0 for words in _EARLY_WORDS)


def _is_block_header(buffer: mmap | bytes, offset: int) -> bool:
    if len(buffer) < offset + 5 or buffer[offset + 4] not in _BLOCK_HEADER_KEYS:
        return False
    start, size = offset + 4, unpack_from("<I", buffer, offset)[0]
    if start + size > len(buffer):
        return False
    try:
        Message.at(padded(buffer[start : start + size]), 0, size)
    except WireFault:
        return False
    return True


_SOURCE = 0
"""Kind of a source in `SoundBlocks`."""


class SoundBlocks(NamedTuple):
    """Blocks that a compiled scanner found sound.

    ``offset`` [byte] is where it stopped. ``blocks`` has a row for each: start and stop of the
    header, stop of the payload, start and stop of the process (-1 where there is none), and whether
    the header says more than that. ``entries``: block, kind (0 a source, else one more than in
    `KINDS`), start and stop. Shapes (b, 6) and (n, 4).
    """

    offset: int
    blocks: NDArray[np.int64]
    entries: NDArray[np.int64]


class Container:
    """The index of a file: where its results lie, its strings and its sessions.

    Damage does not raise: it ends the walk, and ``damage`` is the error. What was indexed before
    it is sound. A block whose payload is cut short still gives the entries that lie before the
    cut; a block whose payload contradicts its header gives none.

    Parameters
    ----------
    buffer
        The whole file.
    path
        The file, as the caller named it.
    start
        [byte] Offset of the first block, from `read_file_header`.
    skim
        Yields the sound blocks from an offset on: `nsightlens.ncurep.compiled.skim_blocks`.
        Where it stops, and without it, every block is walked here.
    """

    def __init__(
        self,
        buffer: mmap | bytes,
        path: str,
        start: int,
        skim: Callable[[mmap | bytes, int], Iterator[SoundBlocks]] | None = None,
    ) -> None:
        self.strings: list[str] = []
        self.index = EntryIndex()
        self.block_count = 0
        self.source_count = 0
        self.damage: ReportFormatError | None = None
        self._buffer = buffer
        self._path = path
        self._size = len(buffer)
        self._sessions = SessionMerger()
        self._skim = skim
        try:
            self._walk(start)
        except ReportFormatError as error:
            self.damage = error

    @property
    def entries(self) -> list[Entry]:
        """Every result, in file order."""
        return list(self.index)

    def sessions(self) -> list[SessionInfo]:
        """Return the sessions that the block headers describe, one per process.

        Raises
        ------
        WireFormatError
            What is said of all processes, told for each, would fill the memory.
        """
        size = self._sessions.repeated_size()
        if size > _MOST_REPEATED:
            problem = f"what it says of all its processes would take {size / 1e9:.1f} GB"
            raise WireFormatError(self._path, problem, MADE_TO_FILL)
        return self._sessions.sessions()

    def _walk(self, offset: int) -> None:
        size, buffer = self._size, self._buffer
        pages = PageReleaser(buffer, offset)
        while True:
            pages.read_up_to(offset)
            if self._skim is not None:
                for found in self._skim(buffer, offset):
                    offset = self._take_sound_blocks(found)
            offset = self._behind_zeros(offset)
            left = size - offset
            if left == 0:
                self._check_anything_came(offset)
                return
            header_size = unpack_from("<I", buffer, offset)[0] if left >= 4 else left
            if header_size > left - 4:
                raise self._not_a_block(offset, header_size)
            offset = self._read_block(offset + 4, header_size)

    def _take_sound_blocks(self, found: SoundBlocks) -> int:
        """Index blocks that were skimmed; return the offset behind them."""
        blocks, entries = found.blocks, found.entries
        first_block = self.block_count
        process_of_block, damage = self._read_skimmed_headers(blocks)
        kept = entries[: np.searchsorted(entries[:, 0], len(process_of_block))]
        is_result = kept[:, 1] != _SOURCE
        self.source_count += len(kept) - int(np.count_nonzero(is_result))
        kept = kept[is_result]
        self.index.add(
            np.column_stack(
                [
                    kept[:, 1] - 1,
                    kept[:, 2:4],
                    kept[:, 0] + first_block,
                    positions_in_runs(kept[:, 0], kept[:, 1]),
                    process_of_block[kept[:, 0]],
                ]
            )
        )
        if damage is not None:
            raise damage
        return found.offset

    def _read_skimmed_headers(
        self, blocks: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], ReportFormatError | None]:
        """Read the headers that say something new.

        Returns
        -------
        processes
            Number of the process of each block before the damage, -1 for none. Shape (b,).
        damage
            What is wrong with the header behind them, or None.
        """
        # Blocks of one process in a row have it at the same place.
        is_new = np.append(True, blocks[1:, 3] != blocks[:-1, 3])[: len(blocks)]
        special = np.flatnonzero(is_new | (blocks[:, 5] != 0))
        processes = np.full(len(blocks), -1, dtype=np.int64)
        # A block that says nothing new has the process of the one before it.
        told_by = np.zeros(len(blocks), dtype=np.intp)
        told_by[special] = special
        told_by = np.maximum.accumulate(told_by)
        first_block = self.block_count
        for block in special.tolist():
            self.block_count = first_block + block
            start, stop = blocks[block, :2].tolist()
            try:
                _, process = self._read_header(start, stop - start)
            except ReportFormatError as error:
                return processes[told_by[:block]], error
            processes[block] = self.index.process_index(process)
        self.block_count = first_block + len(blocks)
        return processes[told_by], None

    def _check_anything_came(self, offset: int) -> None:
        if self.block_count == 0:
            problem = "the file ends behind its own header, before its first block"
            raise TruncatedReportError(self._path, problem, COPY_AGAIN, offset=offset)

    def _behind_zeros(self, offset: int) -> int:
        """Return the offset of the next block that says something.

        Four zero bytes are a legal block that says nothing, and NVIDIA's reader takes zeros
        behind the last block, as padding leaves them. More of them than any padding, or any where
        no result came before, are the hole that an unfinished download or copy leaves.
        """
        found = _ZEROS.match(self._buffer, offset)
        count = found.end() - offset if found else 0
        is_tail = count > 0 and offset + count == self._size
        if count > _MAX_PADDING or (is_tail and not len(self.index)):
            problem = f"{count} zero bytes stand in place of a block: that part was never written"
            where = (f"block {self.block_count}",)
            raise TrailingBytesError(self._path, problem, SALVAGE, offset=offset, where=where)
        return self._size if is_tail else offset + count // 4 * 4

    def _not_a_block(self, offset: int, header_size: int) -> ReportFormatError:
        left = self._size - offset
        where = (f"block {self.block_count}",)
        if left < 4:
            count = "1 byte follows" if left == 1 else f"{left} bytes follow"
            problem = f"{count} the last block, too few for another"
            return TrailingBytesError(self._path, problem, SALVAGE, offset=offset, where=where)
        key = self._buffer[offset + 4 : offset + 5]
        if key and key[0] not in _BLOCK_HEADER_KEYS:
            problem = f"{left} bytes follow the last block that do not form another"
            return TrailingBytesError(self._path, problem, SALVAGE, offset=offset, where=where)
        problem = (
            f"the header of the block needs {header_size} bytes and the file has {left - 4} left"
        )
        return TruncatedReportError(self._path, problem, SALVAGE, offset=offset, where=where)

    def _read_block(self, offset: int, header_size: int) -> int:
        """Index the block whose header lies at ``offset``; return the offset behind it."""
        header, process = self._read_header(offset, header_size)
        start = offset + header_size
        stop = start + (header.uint32(_PAYLOAD_SIZE) or 0)
        self._read_payload(header, process, start, stop)
        return stop

    def _read_header(self, offset: int, header_size: int) -> tuple[Message, ProcessInfo | None]:
        """Read the header of a block; take its strings and its part of a session."""
        where = (f"block {self.block_count}", "header")
        try:
            data = padded(self._buffer[offset : offset + header_size])
            header = Message.at(data, 0, header_size)
            process_part, table = header.message(_PROCESS), header.message(_STRING_TABLE)
            process = read_process(process_part) if process_part is not None else None
            strings = table.texts(1) if table is not None else []
            self._sessions.add(process, header.message(_SESSION))
        except WireFault as fault:
            raise wire_error(self._path, fault, offset, where) from fault
        except READER_SLIPS as slip:
            raise reader_error(self._path, slip, offset, where) from slip
        self.block_count += 1
        self.strings += strings
        return header, process

    def _read_payload(
        self, header: Message, process: ProcessInfo | None, start: int, stop: int
    ) -> None:
        block, offset = self.block_count - 1, start
        found: list[tuple[int, ...]] = []
        process_index = self.index.process_index(process)
        source_count = 0
        try:
            for number, kind in _ENTRY_COUNTS:
                for position in range(header.uint32(number) or 0):
                    end = self._entry_end(f"{kind} {position}", offset, stop)
                    if kind == "source":
                        source_count += 1
                    else:
                        row = (KINDS.index(kind), offset + 4, end, block, position, process_index)
                        found.append(row)
                    offset = end
            self._check_consumed(offset, start, stop)
        except TruncatedReportError:
            self.index.add(found)
            raise
        self.source_count += source_count
        self.index.add(found)

    def _entry_end(self, what: str, offset: int, stop: int) -> int:
        """Return the end of the entry at ``offset``, whose payload ends at ``stop``."""
        size = self._size
        end = offset + 4
        if end <= min(stop, size):
            end += unpack_from("<I", self._buffer, offset)[0]
        if end <= min(stop, size):
            return end
        where = (f"block {self.block_count - 1}", what)
        if stop > size:
            problem = f"the file ends inside it: the block should end at byte {stop}"
            raise TruncatedReportError(self._path, problem, SALVAGE, offset=offset, where=where)
        problem = f"it needs {end - offset} bytes and its block has {stop - offset} left"
        raise WireFormatError(self._path, problem, SALVAGE, offset=offset, where=where)

    def _check_consumed(self, offset: int, start: int, stop: int) -> None:
        where = (f"block {self.block_count - 1}",)
        if stop > self._size:
            left = self._size - start
            problem = f"its payload needs {stop - start} bytes and the file has {left} left"
            raise TruncatedReportError(self._path, problem, SALVAGE, offset=start, where=where)
        if offset != stop:
            problem = f"{stop - offset} bytes of its payload belong to no entry"
            raise TrailingBytesError(self._path, problem, SALVAGE, offset=offset, where=where)
