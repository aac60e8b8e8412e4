"""A report without what names people, machines and programs; NVIDIA's tools still open it.

`nsightlens.ncurep.redacted_fields` says of each field what becomes of it. Metrics, section
definitions and rule results are kept byte for byte, so every value stays what it was. What they
may still give away is searched for in the bytes that are written, by
`nsightlens.ncurep.leftovers`, and told in the `Redaction`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.files import check_place, write_bytes
from nsightlens.ncurep.encode import length_prefixed, message_field, text_field
from nsightlens.ncurep.faults import wire_error
from nsightlens.ncurep.leftovers import Leftover, Leftovers, Secrets, without_users
from nsightlens.ncurep.redacted_fields import (
    CONTEXT_NAME,
    FIELDS,
    KERNEL_NAME,
    NVTX_NAME,
    SOURCE,
    UNDOCUMENTED,
    FieldRule,
)
from nsightlens.ncurep.rewrite import blocks, header_with, indexed, raw_fields
from nsightlens.ncurep.session import SessionMerger
from nsightlens.ncurep.wire import BYTES, Message, WireFault, decode_text, padded

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from nsightlens.ncurep.container import Entry
    from nsightlens.ncurep.redacted_fields import TextPath
    from nsightlens.ncurep.rewrite import Block, Extent, RawField, Source

    Note = Callable[[FieldRule, RawField, bool], None]

__all__ = ["Redaction", "Remaining", "redact_ncu_rep"]

_SESSION, _STRING_TABLE = 3, 4
_PROFILER_COMMAND_LINE = 11
_SESSION_KIND = FIELDS["header"][_SESSION].kind
_USER_NAME = FieldRule("user name in a path")
_DEFAULT_DOMAIN = "<default domain>"


class Remaining(NamedTuple):
    """A text in a redacted report that still names something.

    ``kind`` is what it is: a ``kernel name``, ``NVTX name``, ``context or stream name``, ``device
    name``, ``path``, or ``removed ...`` for a text that was removed from its own place and stands
    in another. ``where`` is the part of a result or header that holds it, ``occurrence_count`` how
    often it does.
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
) -> Redaction:
    """Write a report without what names people, machines and programs.

    Removed are names and addresses of hosts, names of processes, executables, folders, command
    lines, environments, comments, call stacks, sources (code and binaries) and every field that
    is not documented. Of the command line of ncu, the options that say how clocks, caches and
    replay were handled are kept. Metrics, section definitions and rule results stay byte for byte.

    Parameters
    ----------
    path
        A .ncu-rep file. What lies inside the metrics of its launches is not looked at.
    out
        Where to write; its folder must exist. Never the report itself.
    keep_kernel_names
        False replaces each by ``kernel_0001`` and so on: the same for the same kernel.
    keep_nvtx
        False removes NVTX ranges, and the names that the program gave contexts and streams.
    overwrite
        Replace a file that is there.

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
    >>> sorted({remaining.kind for remaining in done.remaining})
    ['NVTX name', 'device name', 'kernel name']
    """
    target = Path(out)
    check_place(target, force=overwrite, inputs=[Path(path)], remedy="say overwrite=True")
    unwanted = set() if keep_kernel_names else {KERNEL_NAME}
    unwanted |= set() if keep_nvtx else {NVTX_NAME, CONTEXT_NAME}
    with indexed(path) as source:
        if source.container.damage is not None:
            raise source.container.damage
        redactor = _Redactor(source, frozenset(unwanted))
        redactor.examine()
        leftovers = Leftovers(redactor.secrets)
        pieces = redactor.pieces(leftovers)
        write_bytes(target, pieces, force=overwrite, remedy="say overwrite=True")
    remaining = redactor.names + leftovers.counts
    ordered = sorted(remaining.items(), key=_order)
    removed = dict(sorted(redactor.removed.items()))
    return Redaction(target, removed, tuple(Remaining(*found, n) for found, n in ordered))


def _order(one: tuple[Leftover, int]) -> tuple[str, str, int, str]:
    found, count = one
    return found.kind, found.where, -count, found.text


class _Redactor:
    """Walks a report twice: what there is to remove, and how large each result gets; then writes.

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
        self._sizes: list[int] = []
        self._aliases: dict[tuple[bytes, ...], str] = {}

    def examine(self) -> None:
        """Note what is removed and what is kept, and how large each result gets."""
        for block in blocks(self._source):
            self._header(block, self._note)
            for place in block.sources:
                self.removed[SOURCE] += 1
                self.secrets.add_users(self._source.bytes_of(place))
            self._sizes += [len(self._result(entry, self._note)) for entry in block.results]

    def pieces(self, leftovers: Leftovers) -> Iterator[bytes]:
        """Yield the new file, and have all of it searched."""
        yield self._source.buffer[: self._source.start]
        sizes = iter(self._sizes)
        for block in blocks(self._source):
            fields = raw_fields(self._header(block, _ignore))
            says_nothing = {_SESSION, _STRING_TABLE}.isdisjoint(field.number for field in fields)
            if not block.results and says_nothing:
                continue
            kinds = Counter(entry.kind for entry in block.results)
            payload = sum(4 + next(sizes) for _ in block.results)
            header = header_with(fields, 0, kinds, payload)
            leftovers.search(header, "header")
            yield length_prefixed(header)
            for entry in block.results:
                result = self._result(entry, _ignore)
                leftovers.search(result, entry.kind)
                yield length_prefixed(result)

    def _header(self, block: Block, note: Note) -> bytes:
        return self._redacted(block.header, "header", (f"block {block.number}", "header"), note)

    def _result(self, entry: Entry, note: Note) -> bytes:
        return self._redacted(entry, entry.kind, entry.where(), note)

    def _redacted(
        self, place: Extent | Entry, message: str, where: tuple[str, ...], note: Note
    ) -> bytes:
        try:
            fields = raw_fields(self._source.bytes_of(place))
            alias = self._alias(fields, message) if KERNEL_NAME in self._unwanted else None
            return b"".join(self._kept(fields, FieldRule(fields=FIELDS[message]), alias, note))
        except WireFault as fault:
            # Its offset counts in the message that it was met in, which lies somewhere in this.
            outer = WireFault(0, fault.problem)
            raise wire_error(self._source.path, outer, place.start, where) from fault

    def _alias(self, fields: list[RawField], message: str) -> str | None:
        """Return what a kernel is called instead; None for what has no name of a kernel."""
        rules = FIELDS[message]
        names = [f for f in fields if f.number in rules and rules[f.number].kind == KERNEL_NAME]
        if not names:
            return None
        key = tuple(field.content for field in names)
        return self._aliases.setdefault(key, f"kernel_{len(self._aliases) + 1:04}")

    def _kept(
        self, fields: list[RawField], parent: FieldRule, alias: str | None, note: Note
    ) -> Iterator[bytes]:
        """Yield what stays of the fields of a message."""
        unlisted = FieldRule(parent.others, "remove")
        for field in fields:
            rule = (parent.fields or {}).get(field.number, unlisted)
            if rule.fate == "remove":
                note(rule, field, True)
            elif rule.is_number == (field.wire_type == BYTES):
                note(FieldRule(UNDOCUMENTED), field, True)
            elif rule.kind in self._unwanted:
                note(rule, field, True)
                if rule.kind == KERNEL_NAME:
                    yield text_field(field.number, alias)
            elif rule.fate == "mask":
                yield self._masked(field, note)
            elif rule.fate == "empty":
                note(rule, field, True)
                yield message_field(field.number)
            else:
                note(rule, field, False)
                yield self._inside(field, rule, note) if rule.fate == "inside" else field.raw

    def _inside(self, field: RawField, rule: FieldRule, note: Note) -> bytes:
        parts = list(self._kept(raw_fields(field.content), rule, None, note))
        if rule.kind == _SESSION_KIND:
            parts += map(_neutral_command_line, raw_fields(field.content))
        return message_field(field.number, *parts)

    def _masked(self, field: RawField, note: Note) -> bytes:
        masked = without_users(field.raw)
        if masked != field.raw:
            self.secrets.add_users(field.raw)
            note(_USER_NAME, field, True)
        return masked

    def _note(self, rule: FieldRule, field: RawField, is_removed: bool) -> None:
        """Count a field that is removed, and take the texts of one that names something."""
        if is_removed and (field.content or field.wire_type != BYTES):
            self.removed[rule.kind] += 1
        for path in rule.texts:
            for text in filter(None, _texts(field.content, path)):
                if is_removed:
                    self.secrets.add(rule.kind, text)
                elif text != _DEFAULT_DOMAIN:
                    self.names[Leftover(rule.kind, text, rule.kind)] += 1


def _ignore(rule: FieldRule, field: RawField, is_removed: bool) -> None:
    """Note nothing: the second walk finds what the first did."""


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


def _neutral_command_line(field: RawField) -> bytes:
    """Return the command line of ncu with the options alone that say how it measured."""
    if field.number != _PROFILER_COMMAND_LINE or field.wire_type != BYTES:
        return b""
    merger = SessionMerger()
    merger.add(None, Message.at(padded(field.raw), 0, len(field.raw)))
    (session,) = merger.sessions()
    options = {
        "clock-control": session.clock_control,
        "cache-control": session.cache_control,
        "replay-mode": session.replay_mode,
    }
    said = [f" --{name} {value}" for name, value in options.items() if value]
    return text_field(_PROFILER_COMMAND_LINE, "ncu" + "".join(said))
