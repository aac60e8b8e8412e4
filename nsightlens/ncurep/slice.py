"""A smaller report with some of the launches of another, for NVIDIA's tools as much as for ours.

Chosen results are copied byte for byte, with the sources that they refer to. Only block headers
are written anew, with other counts: string tables and session parts stay, because a result names
its metrics by their place in the string tables of *all* blocks.
"""

from __future__ import annotations

import os
from collections import Counter
from itertools import chain
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, SupportsIndex

from nsightlens.errors import FilterError, StringIndexError
from nsightlens.files import check_place, write_bytes
from nsightlens.ncurep.encode import length_prefixed, message_field, text_field, uint_field
from nsightlens.ncurep.faults import COPY_AGAIN, wire_error
from nsightlens.ncurep.read import read_columns
from nsightlens.ncurep.results import layout_of
from nsightlens.ncurep.rewrite import Extent, blocks, fields_of, header_with, indexed
from nsightlens.ncurep.wire import BYTES, VARINT, Message, WireFault, padded, read_varint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nsightlens.ncurep.columns import FileColumns
    from nsightlens.ncurep.container import Entry
    from nsightlens.ncurep.model import Kind
    from nsightlens.ncurep.rewrite import Block, Source

__all__ = ["launch_count", "slice_ncu_rep"]

_SOURCE_REFERENCE = 1
"""SourceData: what results call it by."""

_PIECE = 1 << 20
"""[byte] What is copied at a time."""

_STRING_TABLE, _PAYLOAD_SIZE = 4, 5
_LASTING = {3, _STRING_TABLE}
"""BlockHeader: session and string table, which outlive the entries of their block."""

_MOST_LOST = 1 << 16
"""Names that a cut file may lack; real reports have some thousand in all."""


class _ReferenceField(NamedTuple):
    """Where a kind of result names its sources: in a repeated field, or in a message of one."""

    number: int
    is_in_message: bool


_REFERENCES: dict[Kind, _ReferenceField] = {
    "kernel": _ReferenceField(15, is_in_message=True),
    "range": _ReferenceField(15, is_in_message=False),
    "cmdlist": _ReferenceField(17, is_in_message=False),
    "graph": _ReferenceField(17, is_in_message=False),
}


def slice_ncu_rep(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    launches: Iterable[SupportsIndex],
    *,
    on_error: Literal["raise", "salvage"] = "raise",
    overwrite: bool = False,
    shown: str | None = None,
) -> Path:
    """Write a report that holds some of the launches of another; return its path.

    The launches keep all that the report says of them, byte for byte, and their order; their ids
    are counted anew. All sessions stay, and the sources that the launches refer to.

    Parameters
    ----------
    path
        A .ncu-rep file. What lies inside the metrics of its launches is not looked at.
    out
        Where to write; its folder must exist. Never the report itself.
    launches
        Ids of launches, as in the table ``launches``: positions of the results in the report,
        from 0. The order does not matter, nor does an id that is given twice.
    on_error
        ``"raise"`` fails on a damaged report. ``"salvage"`` takes launches that lie before the
        damage. A metric whose name was lost with the end of the file is called ``lost_name_7`` or
        so in the new report.
    overwrite
        Replace a file that is there.
    shown
        What errors call the report, where it is the temporary copy of another.

    Raises
    ------
    FilterError
        No launch is chosen, one that is not there, or one by something else than a whole number.
    ReportNotFoundError, ReportFormatError
        See `nsightlens.ncurep.read_ncu_rep`.
    OutputExistsError
        The file is there already and ``overwrite`` was not given.
    OutputError
        It is the report itself, or the file system refuses.
    ValueError
        ``on_error`` is neither of the two.

    Examples
    --------
    >>> import tempfile
    >>> import nsightlens.example
    >>> from nsightlens.ncurep import read_ncu_rep, slice_ncu_rep
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = slice_ncu_rep(nsightlens.example.path(), folder + "/two.ncu-rep", [0, 7])
    ...     len(read_ncu_rep(path).results)
    2
    """
    if on_error not in ("raise", "salvage"):
        raise ValueError(f"on_error must be 'raise' or 'salvage', not {on_error!r}")
    target = Path(out)
    check_place(target, force=overwrite, inputs=[Path(path)], remedy="say overwrite=True")
    wanted_launches = _ids(launches, os.fspath(path) if shown is None else shown)
    # Results are copied unread: what is wrong inside them would be copied too.
    sound = read_columns(path, metrics=lambda _: False, on_error=on_error, shown=shown)
    with indexed(path, shown) as source:
        chosen = _chosen(source, wanted_launches, sound)
        wanted = {reference for entry in chosen for reference in _references(source, entry)}
        lost = _lost_names(source, chosen) if source.container.damage is not None else b""
        pieces = chain(_pieces(source, frozenset(chosen), wanted), [lost])
        write_bytes(target, pieces, force=overwrite, remedy="say overwrite=True")
    return target


def launch_count(path: str | os.PathLike[str], shown: str | None = None) -> int:
    """Return how many launches a report has, without reading them; ``shown`` as in `slice_ncu_rep`.

    Raises
    ------
    ReportNotFoundError, ReportFormatError
        See `nsightlens.ncurep.read_ncu_rep`.

    Examples
    --------
    >>> import nsightlens.example
    >>> launch_count(nsightlens.example.path())
    113
    """
    with indexed(path, shown) as source:
        if source.container.damage is not None:
            raise source.container.damage
        return len(source.entries)


def _ids(launches: Iterable[SupportsIndex], path: str) -> list[int]:
    return sorted({_id(launch, path) for launch in launches})


def _id(launch: SupportsIndex, path: str) -> int:
    try:
        return index(launch)
    except TypeError as error:
        problem = f"{launch!r} is no launch id: name launches by whole numbers, such as [0, 3]"
        raise FilterError(f"{path}: {problem}.") from error


def _chosen(source: Source, wanted: Sequence[int], sound: FileColumns) -> list[Entry]:
    entries = source.entries[: sound.launches.num_rows]
    missing = [launch for launch in wanted if not 0 <= launch < len(entries)]
    if wanted and not missing:
        return [entries[launch] for launch in wanted]
    before = " before its damage" if sound.damage is not None else ""
    count = len(entries)
    there = f"the report has launches 0 to {count - 1}{before}" if count > 1 else (
        f"the report has {'only launch 0' if count else 'no launch'}{before}"
    )  # fmt: skip
    what = f"there is no launch {missing[0]}" if missing else "no launch was chosen"
    raise FilterError(f"{source.path}: {what}: {there}.")


def _references(source: Source, entry: Entry) -> list[int]:
    """Return what a result calls its sources by.

    Readers do not look into these fields, so that a damaged one is no fault of the report: it names
    no source.
    """
    number, is_in_message = _REFERENCES[entry.kind]
    data = padded(source.bytes_of(entry))
    try:
        result = Message.at(data, 0, entry.stop - entry.start)
        if not is_in_message:
            return _integers(result, number)
        inside = result.messages(number)
        return [found for message in inside for found in _integers(message, _SOURCE_REFERENCE)]
    except WireFault:
        return []


def _lost_names(source: Source, chosen: Sequence[Entry]) -> bytes:
    """Return a block that names the metrics whose names lay behind the damage; b"" for none.

    Raises
    ------
    StringIndexError
        A result asks for more names than any report has: it is damaged itself.
    """
    first = len(source.container.strings)
    stop = first
    for entry in chosen:
        highest = max(_name_ids(source, entry), default=-1)
        if highest >= first + _MOST_LOST:
            problem = f"a metric has the name id {highest} and the file has {first} strings"
            where = entry.where()
            raise StringIndexError(
                source.path, problem, COPY_AGAIN, offset=entry.start, where=where
            )
        stop = max(stop, highest + 1)
    if stop == first:
        return b""
    names = (text_field(1, f"lost_name_{name}") for name in range(first, stop))
    return length_prefixed(message_field(_STRING_TABLE, *names) + uint_field(_PAYLOAD_SIZE, 0))


def _name_ids(source: Source, entry: Entry) -> Iterator[int]:
    metrics = layout_of(entry.kind).metrics
    for field in fields_of(source, entry, entry.where()):
        if field.number == metrics and field.wire_type == BYTES:
            try:
                name = Message.at(padded(field.content), 0, len(field.content)).uint32(1)
            except WireFault as fault:
                where = (*entry.where(), "metric")
                raise wire_error(source.path, fault, entry.start, where) from fault
            yield name or 0


def _integers(message: Message, number: int) -> list[int]:
    """Return the numbers of a repeated field, packed or not."""
    found = [field.start for field in message.all(number, VARINT)]
    for field in message.all(number, BYTES):
        position = field.start
        while position < field.stop:
            value, position = read_varint(message.data, position)
            found.append(value)
    return found


def _pieces(source: Source, chosen: frozenset[Entry], wanted: set[int]) -> Iterator[bytes]:
    """Yield the new file."""
    yield source.buffer[: source.start]
    for block in blocks(source):
        results = [entry for entry in block.results if entry in chosen]
        sources = [place for place in block.sources if _reference(source, place) in wanted]
        if len(results) + len(sources) == block.entry_count:
            header = source.bytes_of(block.header)
        else:
            header = _header(source, block, sources, results)
        if header:
            yield length_prefixed(header)
        for start, stop in _extents(sources, results):
            # With the length prefix, and in pieces: a source can be large.
            for piece in range(start - 4, stop, _PIECE):
                yield source.buffer[piece : min(piece + _PIECE, stop)]


def _reference(source: Source, place: Extent) -> int | None:
    """Return what results call a source by; None for one that says none, or is damaged.

    Readers step over sources, so that a damaged one is no fault of the report; it is left out.
    """
    try:
        return Message.at(padded(source.bytes_of(place)), 0, place.stop - place.start).uint64(
            _SOURCE_REFERENCE
        )
    except WireFault:
        return None


def _header(
    source: Source, block: Block, sources: Sequence[Extent], results: Sequence[Entry]
) -> bytes:
    """Return the header of a block that lost some entries; b"" where it says nothing any more."""
    fields = fields_of(source, block.header, (f"block {block.number}", "header"))
    if not sources and not results and not {field.number for field in fields} & _LASTING:
        return b""
    size = sum(4 + stop - start for start, stop in _extents(sources, results))
    return header_with(fields, len(sources), Counter(e.kind for e in results), size)


def _extents(sources: Sequence[Extent], results: Sequence[Entry]) -> list[Extent]:
    return [*sources, *(Extent(entry.start, entry.stop) for entry in results)]
