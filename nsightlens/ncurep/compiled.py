"""The compiled scanner: what `nsightlens.ncurep._scanner` read, as the tables of `columns`.

The C code accepts only what is plainly sound and stops before anything else; it has no errors of
its own. An entry that it refuses is read by the pure-Python scanner, which finds it sound after
all or raises the one error that there is for it. It works on the mapped file, a window at a time,
and the pages of a window are given back when it is done: memory does not grow with what a report
holds beside its metrics.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.arrays import LONGEST_TEXTS, number_array, positions_in_runs, validity_of
from nsightlens.metric_store import (
    MetricColumn,
    MetricKind,
    MetricStore,
    StorePart,
)
from nsightlens.ncurep.columns import INSTANCES, LAUNCHES, NVTX, RULES
from nsightlens.ncurep.container import KINDS, SoundBlocks
from nsightlens.ncurep.pages import WINDOW, release_pages
from nsightlens.ncurep.scanner import ScanJob, Scanned, concat_scanned, scan_entries, scan_pure

if TYPE_CHECKING:
    import mmap
    from collections.abc import Iterator, Mapping
    from types import ModuleType

    from numpy.typing import NDArray

__all__ = ["scan_compiled", "skim_blocks"]

_MOST_REFUSED = 64
"""Beyond so many refused entries, the file is one for the other scanner."""

_RULES_OPTION, _NVTX_OPTION = 2, 4
_SCALAR_WANTED, _INSTANCES_WANTED = 1, 2


def skim_blocks(scanner: ModuleType, buffer: mmap.mmap, offset: int) -> Iterator[SoundBlocks]:
    """Yield the sound blocks from an offset on, a window at a time."""
    while True:
        begin, limit = offset, offset + WINDOW
        offset, blocks, entries = scanner.index_blocks(buffer, begin, limit)
        yield SoundBlocks(
            offset,
            np.frombuffer(blocks, dtype=np.int64).reshape(-1, 6),
            np.frombuffer(entries, dtype=np.int64).reshape(-1, 4),
        )
        if offset < limit:
            return
        release_pages(buffer, begin, offset)


def scan_compiled(scanner: ModuleType, job: ScanJob) -> Scanned:
    """Read all results with the compiled scanner."""
    index = job.container.index.columns
    # Closed before the file is, whatever holds on to this frame: the error of damage does.
    with closing(
        scanner.Builder(
            job.buffer,
            len(index),
            _canonical(job.container.strings),
            _wanted(job),
            _RULES_OPTION | _NVTX_OPTION if job.has_side_tables else 0,
        )
    ) as builder:
        refused, end = _scan_windows(builder, job, index)
        if len(refused) > _MOST_REFUSED:
            return scan_pure(job)
        found = _scanned(builder.finish(), job, index)
    return _with_refused(found, refused, end) if refused else found


def _scan_windows(
    builder: Any, job: ScanJob, index: NDArray[np.int64]
) -> tuple[dict[int, Scanned], int]:
    """Scan all entries.

    Returns
    -------
    refused
        What the pure-Python scanner made of each entry that the builder refused, by launch; more
        than `_MOST_REFUSED` where it is to read the file.
    end
        Number of sound launches before the damage.
    """
    extents = np.ascontiguousarray(index[:, 1:3])
    kinds = (index[:, 0] + 1).astype(np.uint8)
    refused: dict[int, Scanned] = {}
    for first, last in _windows(extents):
        row = first
        while row < last:
            row += builder.scan(row, kinds[row:last], extents[row:last])
            if row == last:
                break
            refused[row] = scan_entries(job, job.container.index.entries(row, row + 1), row)
            if refused[row].damage is not None or len(refused) > _MOST_REFUSED:
                return refused, row
            row += 1
        release_pages(job.buffer, int(extents[first, 0]), int(extents[last - 1, 1]))
        job.tick(last)
    return refused, len(index)


def _canonical(strings: list[str]) -> NDArray[np.uint32]:
    """Return, for each name id, the first that spells the same name."""
    first: dict[str, int] = {}
    return np.array([first.setdefault(text, i) for i, text in enumerate(strings)], dtype=np.uint32)


def _wanted(job: ScanJob) -> bytes:
    """Return, for each name id, what to read of the metric."""
    strings = job.container.strings
    scalars = [True] * len(strings)
    if job.metrics is not None:
        scalars = [bool(job.metrics(name)) for name in strings]
    instances = job.instances or [False] * len(strings)
    # Which occurrence of a metric is its last is told by its scalars.
    return bytes(
        _SCALAR_WANTED * (scalar or instance) + _INSTANCES_WANTED * instance
        for scalar, instance in zip(scalars, instances, strict=True)
    )


def _windows(extents: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield first and one past the last entry of each window of the file."""
    first = 0
    while first < len(extents):
        stop = extents[first, 0] + WINDOW
        last = max(first + 1, int(np.searchsorted(extents[:, 1], stop, side="right")))
        yield first, last
        first = last


def _with_refused(found: Scanned, refused: Mapping[int, Scanned], end: int) -> Scanned:
    """Put the rows that the pure-Python scanner read between those of the compiled one."""
    pieces = []
    first = 0
    (part,) = found.store.parts
    cut_store = _StoreCutter(part)
    for row, piece in refused.items():
        pieces += [_cut(found, cut_store, first, row), piece]
        first = row + 1
    pieces.append(_cut(found, cut_store, first, max(first, end)))
    return concat_scanned(pieces)


class _StoreCutter:
    """Gives the metrics of consecutive launches, without those that none of them has."""

    def __init__(self, part: StorePart) -> None:
        self._part = part
        self._columns = list(part.columns.items())
        # Together, as a look at every column for every cut would take longer than reading.
        kinds = [column.kind for column in part.columns.values()]
        self._kinds = np.array(kinds, dtype=np.uint8).reshape(len(kinds), part.launch_count)

    def __call__(self, first: int, last: int) -> StorePart:
        found = np.flatnonzero(self._kinds[:, first:last].any(axis=1))
        columns = {
            name: MetricColumn(column.raw[first:last], column.kind[first:last])
            for name, column in (self._columns[i] for i in found.tolist())
        }
        return StorePart(last - first, columns, self._part.texts)


def _cut(found: Scanned, cut_store: _StoreCutter, first: int, last: int) -> Scanned:
    """Return the launches in ``[first, last)``."""
    return Scanned(
        launches=found.launches.slice(first, last - first),
        rules=_cut_side(found.rules, first, last),
        nvtx=_cut_side(found.nvtx, first, last),
        instances=_cut_side(found.instances, first, last),
        store=MetricStore((cut_store(first, last),)),
        damage=None,
    )


def _cut_side(table: pa.Table, first: int, last: int) -> pa.Table:
    begin, end = np.searchsorted(np.asarray(table["launch"]), (first, last))
    return table.slice(begin, end - begin)


def _scanned(found: Mapping[str, Any], job: ScanJob, index: NDArray[np.int64]) -> Scanned:
    """Return what the builder holds, for all entries of the file."""
    strings = job.container.strings
    launch = _Columns(found["launch"])
    texts = _text(found["text"])
    metrics = found["metric"]
    columns = {}
    for name in np.frombuffer(found["metric_order"], dtype=np.uint32).tolist():
        if job.metrics is not None and not job.metrics(strings[name]):
            continue  # scanned only because its instances were asked for
        raw, kind, kinds = metrics[name]
        columns[strings[name]] = MetricColumn(
            np.frombuffer(raw, dtype=np.uint64), np.frombuffer(kind, dtype=np.uint8), kinds
        )
    return Scanned(
        _launches(launch, index),
        _rules(_Columns(found["rule"]), _Columns(found["rule_item"])),
        _nvtx(found, launch),
        _instances(_Columns(found["instance"]), _Columns(found["repeat"]), strings, texts),
        MetricStore((StorePart(len(index), columns, texts),)),
        None,
    )


class _Columns:
    """The columns of one table of the builder."""

    def __init__(self, found: Mapping[str, tuple[Any, ...]]) -> None:
        self._found = found

    def values(self, name: str) -> NDArray[Any]:
        """Return the numbers of a column, whatever stands where there is none."""
        values = self._found[name][0]
        return np.frombuffer(values, dtype=_DTYPES[name])

    def is_valid(self, name: str) -> NDArray[np.bool_]:
        """Return where a column has a value."""
        return np.frombuffer(self._found[name][-1], dtype=np.bool_)

    def array(self, name: str) -> pa.Array:
        """Return a column of numbers, null where there is none."""
        return number_array(self.values(name), self.is_valid(name))

    def flag(self, name: str) -> pa.Array:
        """Return a column of truth values, null where there is none."""
        return number_array(self.values(name) != 0, self.is_valid(name))

    def text(self, name: str) -> pa.StringArray:
        """Return a column of text, null where there is none."""
        offsets, data, _ = self._found[name]
        return _text((offsets, data), self.is_valid(name))


_U8, _U32, _U64 = np.uint8, np.uint32, np.uint64
_DTYPES: dict[str, type[np.generic]] = {
    "thread_id": _U32, "api_call_id": _U64, "context_id": _U32, "stream_id": _U32,
    "creation_time": _U64, "is_unsupported_device": _U8, "is_clock_locked": _U8, "has_nvtx": _U8,
    **{f"{extent}_{axis}": _U64 for extent in ("grid", "block") for axis in "xyz"},
    "launch": _U32, "rule": _U32, "severity": np.int32, "speedup_pct": np.float64,
    "has_speedup": _U8, "speedup_scope": np.int32,
    "domain_id": _U64, "thread": _U32, "parent": _U32, "is_start_end": _U8, "range_id": _U64,
    "start_thread_id": _U32, "category": _U32, "color": _U32,
    "payload_u64": _U64, "payload_i64": np.int64, "payload_f64": np.float64, "payload_u32": _U32,
    "payload_i32": np.int32, "payload_f32": np.float32,
    "name": _U32, "ordinal": _U32, "correlation_kind": _U8, "correlation_raw": _U64,
    "kind": _U8, "raw": _U64,
}  # fmt: skip
"""Element type of each column of numbers in the C code."""


def _text(column: tuple[Any, Any], is_valid: NDArray[np.bool_] | None = None) -> pa.StringArray:
    """Return text that lies in one buffer as an Arrow array; the C code found it to be UTF-8."""
    places = np.frombuffer(column[0], dtype=np.int64)
    if len(places) and places[-1] > LONGEST_TEXTS:
        raise pa.ArrowCapacityError(f"a column has {places[-1]} bytes of text")
    offsets = places.astype(np.int32)
    validity, null_count = validity_of(is_valid)
    return pa.StringArray.from_buffers(
        max(len(offsets) - 1, 0),
        pa.py_buffer(offsets),
        pa.py_buffer(column[1]),
        validity,
        null_count,
    )


def _launches(launch: _Columns, index: NDArray[np.int64]) -> pa.Table:
    is_kernel = number_array(index[:, 0] == KINDS.index("kernel"))
    columns: dict[str, pa.Array] = {
        "kind": number_array(index[:, 0].astype(np.uint8)),
        "process": number_array(index[:, 5].astype(np.int32), index[:, 5] >= 0),
        **_names(launch, is_kernel),
    }
    for field in LAUNCHES:
        if field.name in columns:
            continue
        if field.type == pa.bool_():
            columns[field.name] = launch.flag(field.name)
        elif field.type == pa.string():
            columns[field.name] = _none_if_empty(launch.text(field.name))
        else:
            columns[field.name] = launch.array(field.name)
    return pa.table([columns[name] for name in LAUNCHES.names], schema=LAUNCHES)


def _names(launch: _Columns, is_kernel: pa.Array) -> dict[str, pa.Array]:
    """Return the three names of a kernel, an empty one taken from the others.

    The rule is that of `nsightlens.ncurep.results`.
    """
    names = ("function_name", "mangled_name", "demangled_name")
    function, mangled, demangled = (_none_if_empty(launch.text(name)) for name in names)
    filled = {
        "function_name": pc.coalesce(function, mangled, demangled),
        "mangled_name": pc.coalesce(mangled, function, demangled),
        "demangled_name": pc.coalesce(demangled, mangled, function),
    }
    own = dict(zip(names, (function, mangled, demangled), strict=True))
    return {name: pc.if_else(is_kernel, filled[name], own[name]) for name in names}


def _none_if_empty(texts: pa.StringArray) -> pa.StringArray:
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def _rules(rule: _Columns, item: _Columns) -> pa.Table:
    parent = item.values("rule")
    rows = number_array(parent)
    return pa.table(
        [
            number_array(rule.values("launch")[parent]),
            rule.text("identifier").dictionary_encode().take(rows),
            rule.text("display_name").dictionary_encode().take(rows),
            rule.text("section").dictionary_encode().take(rows),
            number_array(item.values("severity")),
            item.text("title"),
            pc.fill_null(item.text("message"), ""),
            item.array("speedup_pct"),
            # A speed-up that does not say its scope has the one with the number 0.
            number_array(item.values("speedup_scope"), item.values("has_speedup") != 0),
        ],
        schema=RULES,
    )


def _instances(
    found: _Columns, repeats: _Columns, strings: list[str], texts: pa.StringArray
) -> pa.Table:
    keep = _not_replaced(found, repeats)
    launch, name = found.values("launch")[keep], found.values("name")[keep]
    ordinal = found.values("ordinal")[keep]
    if not len(launch):
        return INSTANCES.empty_table()
    used, index = np.unique(name, return_inverse=True)
    names = pa.array([strings[i] for i in used.tolist()], type=pa.string())
    return pa.table(
        [
            number_array(launch),
            pa.DictionaryArray.from_arrays(number_array(index.astype(np.int32)), names),
            number_array(positions_in_runs(launch, ordinal).astype(np.uint32)),
            *_values(
                found.values("correlation_kind")[keep],
                found.values("correlation_raw")[keep],
                texts,
            ),
            *_values(found.values("kind")[keep], found.values("raw")[keep], texts),
        ],
        schema=INSTANCES,
    )


def _not_replaced(found: _Columns, repeats: _Columns) -> NDArray[np.bool_] | slice:
    """Say which instances are of the last occurrence of their metric in its launch.

    Most files store some metric twice, but hardly one with instances.
    """
    repeated = (repeats.values("launch").astype(np.uint64) << 32) | repeats.values("name")
    if not len(repeated):
        return slice(None)
    # In file order, so that of each key the last row has the last ordinal.
    keys, from_end = np.unique(repeated[::-1], return_index=True)
    last = repeats.values("ordinal")[::-1][from_end]
    key = (found.values("launch").astype(np.uint64) << 32) | found.values("name")
    place = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
    keep: NDArray[np.bool_] = (keys[place] != key) | (found.values("ordinal") >= last[place])
    return keep


def _values(
    kind: NDArray[np.uint8], raw: NDArray[np.uint64], texts: pa.StringArray
) -> list[pa.Array]:
    """Return kind, float64, exact integer and text of values; null where it is none."""
    is_integer = kind == MetricKind.INTEGER
    value = raw.view(np.float64).copy()
    value[is_integer] = raw[is_integer]
    return [
        number_array(kind),
        number_array(value, is_integer | (kind == MetricKind.DOUBLE)),
        number_array(raw, is_integer),
        texts.take(number_array(raw, kind == MetricKind.TEXT)),
    ]


def _nvtx(found: Mapping[str, Any], launch: _Columns) -> pa.Table:
    """Put ranges into the order of `nsightlens.ncurep.nvtx`: by launch, domain and kind."""
    ranges = _Columns(found["nvtx_range"])
    parent, is_start_end = ranges.values("parent"), ranges.values("is_start_end") != 0
    category = ranges.values("category")
    if not len(parent):
        return NVTX.empty_table()
    domains = _Domains(found, launch)
    domain = np.full(len(parent), -1, dtype=np.intp)
    domain[~is_start_end] = domains.of_stack[parent[~is_start_end]]
    domain[is_start_end] = domains.of_start_end[parent[is_start_end]]
    order = np.lexsort((is_start_end, domain))
    order = order[domain[order] >= 0]
    domain, is_start_end = domain[order], is_start_end[order]
    rows = number_array(order)
    on_launch = number_array(domains.launch[domain])
    thread = pc.if_else(
        number_array(is_start_end),
        ranges.array("start_thread_id").take(rows),
        launch.array("thread_id").take(on_launch),
    )
    return pa.table(
        [
            number_array(domains.launch[domain].astype(np.uint32)),
            number_array(domains.position[domain].astype(np.uint32)),
            domains.names.take(number_array(domain)),
            number_array(positions_in_runs(domain).astype(np.uint32), ~is_start_end),
            ranges.text("name").take(rows),
            thread,
            ranges.array("range_id").take(rows),
            # 0 is NVTX's word for none.
            number_array(category, ranges.is_valid("category") & (category != 0)).take(rows),
            ranges.array("color").take(rows),
            _payload(ranges).take(rows),
            ranges.text("message").take(rows),
        ],
        schema=NVTX,
    )


class _Domains:
    """The NVTX domains of each launch, in the order in which its state names them.

    ``launch``, ``position`` and ``names`` describe each domain; ``of_stack`` and ``of_start_end``
    give the domain of the rows of those tables, -1 for the stack of a thread that is not the
    launch's.
    """

    def __init__(self, found: Mapping[str, Any], launch: _Columns) -> None:
        named, stack = _Columns(found["nvtx_domain"]), _Columns(found["nvtx_stack"])
        thread = _Columns(found["nvtx_thread"])
        start_end = _Columns(found["nvtx_start_end_domain"])
        stack_launch = thread.values("launch")[stack.values("thread")]
        is_own = (
            (thread.is_valid("thread_id") & True)[stack.values("thread")]
            & launch.is_valid("thread_id")[stack_launch]
            & (
                thread.values("thread_id")[stack.values("thread")]
                == launch.values("thread_id")[stack_launch]
            )
        )
        launches = np.concatenate(
            [named.values("launch"), stack_launch[is_own], start_end.values("launch")]
        ).astype(np.intp)
        identifiers = np.concatenate(
            [
                named.values("domain_id"),
                stack.values("domain_id")[is_own],
                start_end.values("domain_id"),
            ]
        )
        distinct, code = np.unique(identifiers, return_inverse=True)
        key = launches * max(len(distinct), 1) + code
        keys, first, of_row = np.unique(key, return_index=True, return_inverse=True)
        # By launch, and within it by first mention; of equal launches the first row is smaller.
        order = np.lexsort((first, keys // max(len(distinct), 1)))
        rank = np.empty(len(order), dtype=np.intp)
        rank[order] = np.arange(len(order))
        of_row = rank[of_row]
        self.launch = (keys // max(len(distinct), 1))[order]
        self.position = positions_in_runs(self.launch)
        named_count, own_count = len(named.values("launch")), int(np.count_nonzero(is_own))
        self.of_stack = np.full(len(is_own), -1, dtype=np.intp)
        self.of_stack[is_own] = of_row[named_count : named_count + own_count]
        self.of_start_end = of_row[named_count + own_count :]
        # The last name that is given to a domain counts; one that only a stack mentions has none.
        row_of_name = np.full(len(self.launch), -1, dtype=np.intp)
        row_of_name[of_row[:named_count]] = np.arange(named_count)
        names = named.text("name").dictionary_encode()
        index_of = {text: i for i, text in enumerate(names.dictionary.to_pylist())}
        code = np.full(len(self.launch), index_of.setdefault("", len(index_of)), dtype=np.int32)
        has_name = row_of_name >= 0
        code[has_name] = np.asarray(names.indices)[row_of_name[has_name]]
        self.names = pa.DictionaryArray.from_arrays(
            number_array(code), pa.array(list(index_of), type=pa.string())
        )


def _payload(ranges: _Columns) -> pa.StringArray:
    """Return the payload of each range as text, by the order of `nsightlens.ncurep.nvtx`."""
    candidates = []
    for name in ("u64", "i64", "f64", "u32", "i32", "f32"):
        column = ranges.array(f"payload_{name}")
        if name.startswith("f"):
            # As Python spells a float, which Arrow does not.
            spelled = [None if value is None else str(value) for value in column.to_pylist()]
            candidates.append(pa.array(spelled, type=pa.string()))
        else:
            candidates.append(column.cast(pa.string()))
    return pc.coalesce(*candidates, ranges.text("payload_text"))
