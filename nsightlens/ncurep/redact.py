"""A report without what names people, machines and programs; NVIDIA's tools still open it.

`nsightlens.ncurep.redacted_fields` says of each field what becomes of it. No value of a metric
changes, but for names of kernels where these are replaced. Section definitions and rule results
stay byte for byte, but for names of users in the paths that they hold. What is kept may still give
something away: it is searched for in the bytes that are written, by `nsightlens.ncurep.leftovers`,
and told in the `Redaction`.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.errors import ReportFormatError
from nsightlens.files import check_place, write_bytes
from nsightlens.ncurep.encode import length_prefixed, message_field, text_field, uint_field
from nsightlens.ncurep.faults import SALVAGE, wire_error
from nsightlens.ncurep.leftovers import Leftover, Leftovers, Secrets
from nsightlens.ncurep.model import DEFAULT_DOMAIN, MAGIC
from nsightlens.ncurep.read import read_columns
from nsightlens.ncurep.redacted_fields import (
    CONTEXT_NAME,
    FIELDS,
    KERNEL_NAME,
    KERNEL_NAME_METRIC,
    KERNEL_NAME_METRICS,
    METRIC,
    NVTX_NAME,
    SOURCE,
    UNDOCUMENTED,
    FieldRule,
)
from nsightlens.ncurep.rewrite import EMPTY_HEADER, blocks, header_with, indexed, raw_fields
from nsightlens.ncurep.session import SessionMerger
from nsightlens.ncurep.users import without_users
from nsightlens.ncurep.wire import (
    BYTES,
    VARINT,
    Message,
    WireFault,
    decode_text,
    padded,
    read_varint,
    scan_fields,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from nsightlens.ncurep.container import Entry
    from nsightlens.ncurep.redacted_fields import TextPath
    from nsightlens.ncurep.rewrite import Extent, Source
    from nsightlens.ncurep.wire import Field

__all__ = ["Redaction", "Remaining", "redact_ncu_rep"]

_SESSION, _STRING_TABLE = 3, 4
_PROFILER_COMMAND_LINE = 11
_NAME_ID, _NAME_ID_KEY = 1, 0x08
_INTEGER = rb"[\x80-\xff]*[\x00-\x7f]"
_SHORT_TEXT = b"|".join(re.escape(bytes([size])) + rb".{%d}" % size for size in range(49))
_VALUE = (
    rb"[\x00-\x32](?:\x19.{8}|\x28" + _INTEGER + rb"|\x15.{4}|\x20" + _INTEGER
    + rb"|\x0a(?:" + _SHORT_TEXT + rb"))?"
)  # fmt: skip
_PLAIN_METRIC = re.compile(
    rb"\x08" + _INTEGER + rb"(?:\x12" + _VALUE + rb")?"
    rb"(?:\x1a[\x02-\x68](?:\x0a" + _VALUE + rb")?\x12" + _VALUE + rb")*"
    rb"(?:\x20" + _INTEGER + rb")?",
    re.DOTALL,
)
"""A metric of documented fields alone, as nearly all are: there is nothing to remove.

To open each of its instances as a message takes a hundred times as long.
"""
_VERSION = 1
"""FileHeader: its one field that is documented."""

_SLICE_FIRST = (
    "The file is damaged here: copy it again from where ncu wrote it, or first take the launches"
    " before the damage with `nsightlens slice --salvage` (on_error='salvage')."
)


class Remaining(NamedTuple):
    """A text in a redacted report that still names something.

    ``kind`` is what it is: a ``kernel name``, ``NVTX name``, ``context or stream name``, ``device
    name``, ``path``, ``address`` (of mail, of a machine, of a web page that is not NVIDIA's),
    ``user name`` for one that stands in a path of what is kept, or ``removed ...`` for a text that
    was removed from its own place and stands in another. ``where`` is the part of a result or
    header that holds it, ``occurrence_count`` how often it does.
    """

    kind: str
    text: str
    where: str
    occurrence_count: int


@dataclass(frozen=True, slots=True)
class Redaction:
    """What became of a report that was redacted.

    Parameters
    ----------
    path
        The new report.
    removed
        How many fields of each kind were removed or emptied, such as ``host name``.
    remaining
        What still names something, by kind and place, the most frequent first.
    """

    path: Path
    removed: Mapping[str, int]
    remaining: tuple[Remaining, ...]


def redact_ncu_rep(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    keep_kernel_names: bool = True,
    keep_nvtx: bool = True,
    overwrite: bool = False,
    shown: str | None = None,
) -> Redaction:
    """Write a report without what names people, machines and programs.

    Removed are names and addresses of hosts, names of processes, executables, folders, command
    lines, environments, comments, call stacks, sources (code and binaries) and every field that
    is not documented, outside section definitions and rule results. Of the command line of
    ncu, the options that say how clocks, caches and replay were handled are kept. No value of
    a metric changes. Section definitions and rule results stay byte for byte, but for names of
    users in the paths that they hold: each letter of these becomes an ``x``.

    Parameters
    ----------
    path
        A .ncu-rep file. Instances of metrics are copied and searched, but not checked.
    out
        Where to write; its folder must exist. Never the report itself.
    keep_kernel_names
        False replaces each by ``kernel_0001`` and so on: the same for the same kernel. So it does
        in the metric ``launch__kernel_name``.
    keep_nvtx
        False removes NVTX ranges, and the names that the program gave contexts and streams.
    overwrite
        Replace a file that is there.
    shown
        What errors call the report, where it is the temporary copy of another.

    Returns
    -------
    Redaction
        What was removed, and what still names something.

    Raises
    ------
    ReportNotFoundError, ReportFormatError
        See `nsightlens.ncurep.read_ncu_rep`.
    OutputExistsError
        The file is there already and ``overwrite`` was not given.
    OutputError
        It is the report itself, or the file system refuses.

    Examples
    --------
    >>> import tempfile
    >>> import nsightlens.example
    >>> from nsightlens.ncurep import redact_ncu_rep
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = redact_ncu_rep(nsightlens.example.path(), folder + "/shared.ncu-rep")
    >>> sorted(done.removed)
    ['comment', 'host name', 'process name', 'profiler command line']
    """
    target = Path(out)
    check_place(target, force=overwrite, inputs=[Path(path)], remedy="say overwrite=True")
    unwanted = set() if keep_kernel_names else {KERNEL_NAME}
    unwanted |= set() if keep_nvtx else {NVTX_NAME, CONTEXT_NAME}
    with _advising_slice():
        # Metrics are copied unread: what is wrong inside them would be copied too.
        read_columns(path, metrics=lambda _: False, shown=shown)
    with _advising_slice(), indexed(path, shown) as source:
        redactor = _Redactor(source, frozenset(unwanted))
        redactor.examine()
        leftovers = Leftovers(redactor.secrets)
        pieces = redactor.pieces(leftovers)
        write_bytes(target, pieces, force=overwrite, remedy="say overwrite=True")
    remaining = redactor.names + leftovers.counts
    ordered = sorted(remaining.items(), key=_order)
    removed = dict(sorted(redactor.removed.items()))
    return Redaction(target, removed, tuple(Remaining(*found, n) for found, n in ordered))


@contextmanager
def _advising_slice() -> Iterator[None]:
    """Raise damage with advice that can be followed here: nothing is salvaged and redacted at once.

    Raises
    ------
    ReportFormatError
        What runs inside met damage.
    """
    try:
        yield
    except ReportFormatError as error:
        if error.advice != SALVAGE:
            raise
        raise type(error)(
            error.path, error.problem, _SLICE_FIRST, offset=error.offset, where=error.where
        ) from error


def _order(one: tuple[Leftover, int]) -> tuple[str, str, int, str]:
    found, count = one
    return found.kind, found.where, -count, found.text


class _Edit(NamedTuple):
    """Bytes ``[start, stop)`` of a header or result become others."""

    start: int
    stop: int
    new: bytes


class _Redactor:
    """Walks a report twice: finds what is to change, then writes.

    Parameters
    ----------
    source
        The report.
    unwanted
        Kinds that are removed although they are kept by default.
    """

    def __init__(self, source: Source, unwanted: frozenset[str]) -> None:
        self.removed: Counter[str] = Counter()
        self.names: Counter[Leftover] = Counter()
        self.secrets = Secrets()
        self._source = source
        self._unwanted = unwanted
        self._edits: dict[int, list[_Edit]] = {}
        self._aliases: dict[tuple[bytes, ...], str] = {}
        strings = source.container.strings if KERNEL_NAME in unwanted else []
        self._name_ids = {i for i, name in enumerate(strings) if name in KERNEL_NAME_METRICS}

    def examine(self) -> None:
        """Find what is to change, and note what goes and what stays."""
        for field in raw_fields(self._source.file_header):
            if field.number != _VERSION:
                self._note_removed(UNDOCUMENTED, field.raw)
        for block in blocks(self._source):
            self._examine(block.header, "header", (f"block {block.number}", "header"))
            for place in block.sources:
                self.removed[SOURCE] += 1
                self.secrets.add_users(self._source.bytes_of(place), is_removed=True)
            for entry in block.results:
                self._examine(entry, entry.kind, entry.where())

    def pieces(self, leftovers: Leftovers) -> Iterator[bytes]:
        """Yield the new file, and have all of it searched."""
        yield MAGIC + length_prefixed(uint_field(_VERSION, self._source.version))
        has_block = False
        for block in blocks(self._source):
            fields = raw_fields(self._changed(block.header))
            says_nothing = {_SESSION, _STRING_TABLE}.isdisjoint(field.number for field in fields)
            if not block.results and says_nothing:
                continue
            kinds = Counter(entry.kind for entry in block.results)
            payload = sum(4 + self._new_size(entry) for entry in block.results)
            header = header_with(fields, 0, kinds, payload)
            leftovers.search(header, "header")
            has_block = True
            yield length_prefixed(header)
            for entry in block.results:
                result = self._changed(entry)
                leftovers.search(result, entry.kind)
                yield length_prefixed(result)
        if not has_block:
            # A file without any block cannot be told from one that was cut there.
            yield length_prefixed(EMPTY_HEADER)

    def _changed(self, place: Extent | Entry) -> bytes:
        """Return a header or result as it is written."""
        return _applied(self._source.bytes_of(place), self._edits[place.start])

    def _new_size(self, entry: Entry) -> int:
        edits = self._edits[entry.start]
        return entry.stop - entry.start + sum(len(e.new) - (e.stop - e.start) for e in edits)

    def _examine(self, place: Extent | Entry, message: str, where: tuple[str, ...]) -> None:
        content, size = self._source.bytes_of(place), place.stop - place.start
        self.secrets.add_users(content, is_removed=False)
        data = padded(content)
        rules = FieldRule(fields=FIELDS[message])
        try:
            alias = self._alias(data, size, message) if KERNEL_NAME in self._unwanted else None
            self._edits[place.start] = self._edits_of(data, 0, size, rules, alias)
        except WireFault as fault:
            raise wire_error(self._source.path, fault, place.start, where) from fault

    def _alias(self, data: bytes, size: int, message: str) -> str | None:
        """Return what a kernel is called instead; None for what has no name of a kernel."""
        rules = FIELDS[message]
        key = tuple(
            data[field.start : field.stop]
            for field in scan_fields(data, 0, size)
            if field.number in rules and rules[field.number].kind == KERNEL_NAME
        )
        return self._alias_of(key) if key else None

    def _alias_of(self, names: tuple[bytes, ...]) -> str:
        return self._aliases.setdefault(names, f"kernel_{len(self._aliases) + 1:04}")

    def _edits_of(
        self, data: bytes, start: int, stop: int, parent: FieldRule, alias: str | None = None
    ) -> list[_Edit]:
        """Return what changes in the message that lies in ``[start, stop)``."""
        rules = parent.fields or {}
        unlisted = FieldRule(parent.others, "remove")
        edits, begin = [], start
        for field in scan_fields(data, start, stop):
            rule = rules.get(field.number, unlisted)
            if rule is METRIC and field.wire_type == BYTES:
                if self._name_ids and self._names_kernel(data, field):
                    rule = KERNEL_NAME_METRIC
                elif _PLAIN_METRIC.fullmatch(data, field.start, field.stop):
                    begin = field.stop
                    continue
            is_as_documented = rule.is_number != (field.wire_type == BYTES)
            if rule.is_telling or not is_as_documented:
                if not is_as_documented and rule.fate != "remove":
                    rule = FieldRule(UNDOCUMENTED, "remove")
                new = self._new(data, begin, field, rule, alias)
                if new is not None:
                    edits.append(_Edit(begin, field.stop, new))
            begin = field.stop
        return edits

    def _new(
        self, data: bytes, begin: int, field: Field, rule: FieldRule, alias: str | None
    ) -> bytes | None:
        """Return what becomes of a field, None where it stays as it is; note it."""
        content = data[field.start : field.stop] if field.wire_type != VARINT else b""
        is_unwanted = rule.kind in self._unwanted
        if is_unwanted or rule.fate not in ("keep", "inside", "mask"):
            if content or field.wire_type == VARINT:
                self._note_removed(rule.kind, data[begin : field.stop])
            for text in _texts_of(content, rule):
                self.secrets.add(rule.kind, text)
            if is_unwanted and rule.kind == KERNEL_NAME:
                # A range has no name of its own, and can still have a metric that names kernels.
                new = alias or self._alias_of((content,))
                return text_field(field.number, new) if content else None
            if is_unwanted:
                return b""
            return _stand_in(data[begin : field.stop], field.number, rule)
        self.names.update(
            Leftover(rule.kind, text, rule.kind)
            for text in _texts_of(content, rule)
            if text != DEFAULT_DOMAIN
        )
        if rule.fate == "mask":
            return self._masked(data[begin : field.stop])
        if rule.fate == "inside":
            edits = self._edits_of(data, field.start, field.stop, rule, alias)
            edits = [_Edit(e.start - field.start, e.stop - field.start, e.new) for e in edits]
            return message_field(field.number, _applied(content, edits)) if edits else None
        return None

    def _names_kernel(self, data: bytes, field: Field) -> bool:
        # The id stands first in what ncu writes; to look at every field of every metric is slow.
        if data[field.start] == _NAME_ID_KEY:
            return read_varint(data, field.start + 1)[0] in self._name_ids
        return Message.at(data, field.start, field.stop).uint32(_NAME_ID) in self._name_ids

    def _note_removed(self, kind: str, raw: bytes) -> None:
        self.removed[kind] += 1
        self.secrets.add_users(raw, is_removed=True)

    def _masked(self, raw: bytes) -> bytes | None:
        masked = without_users(raw)
        if masked == raw:
            return None
        self._note_removed("user name in a path", raw)
        return masked


def _applied(message: bytes, edits: list[_Edit]) -> bytes:
    parts, begin = [], 0
    for edit in edits:
        parts += [message[begin : edit.start], edit.new]
        begin = edit.stop
    return b"".join([*parts, message[begin:]])


def _stand_in(raw: bytes, number: int, rule: FieldRule) -> bytes:
    """Return what is left in the place of a removed field."""
    if rule.fate == "empty":
        return message_field(number)
    return _neutral_command_line(raw) if rule.fate == "neutral" else b""


def _texts_of(content: bytes, rule: FieldRule) -> Iterator[str]:
    """Yield the texts in a field that name something."""
    for path in rule.texts:
        yield from filter(None, _texts(content, path))


def _texts(content: bytes, path: TextPath) -> Iterator[str]:
    """Yield the texts at a path below a field; none where the bytes do not lead there."""
    if not path:
        yield decode_text(content)
        return
    try:
        inside = raw_fields(content)
    except WireFault:
        return
    for field in inside:
        if field.number == path[0] and field.wire_type == BYTES:
            yield from _texts(field.content, path[1:])


def _neutral_command_line(raw: bytes) -> bytes:
    """Return the command line of ncu with the options alone that say how it measured."""
    merger = SessionMerger()
    merger.add(None, Message.at(padded(raw), 0, len(raw)))
    (session,) = merger.sessions()
    options = {
        "clock-control": session.clock_control,
        "cache-control": session.cache_control,
        "replay-mode": session.replay_mode,
    }
    said = [f" --{name} {value}" for name, value in options.items() if value]
    return text_field(_PROFILER_COMMAND_LINE, "ncu" + "".join(said))
