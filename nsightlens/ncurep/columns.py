"""What a .ncu-rep file holds as columns: the contract between the two scanners and the readers.

`nsightlens.ncurep.read.read_columns` returns a `FileColumns`, whichever scanner filled it: the
compiled one writes columns straight from the bytes of the file (`nsightlens.ncurep.compiled`), the
pure-Python one makes them here from the objects of `nsightlens.ncurep.model`. ``launch`` is the
position of a result in the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from nsightlens.arrays import number_array, positions_in_runs, text_array
from nsightlens.metric_store import MetricColumn, MetricKind, StorePart
from nsightlens.ncurep.container import KINDS
from nsightlens.ncurep.model import ScalarColumns, ValueKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from nsightlens.errors import ReportFormatError
    from nsightlens.metric_store import MetricStore
    from nsightlens.ncurep.model import (
        InstanceColumns,
        NvtxDomainState,
        ProcessInfo,
        Result,
        SessionInfo,
    )

__all__ = [
    "INSTANCES",
    "LAUNCHES",
    "NVTX",
    "REPEATED_TEXT",
    "RULES",
    "FileColumns",
    "instances_of",
    "launches_of",
    "nvtx_of",
    "rules_of",
    "store_parts_of",
]

REPEATED_TEXT = pa.dictionary(pa.int32(), pa.string())
"""Text that many rows share. Spelled out in each, one long name could fill all memory."""

LAUNCHES = pa.schema(
    [
        ("kind", pa.uint8()),  # number in nsightlens.ncurep.container.KINDS
        ("process", pa.int32()),  # index into FileColumns.processes
        ("thread_id", pa.uint32()),
        ("api_call_id", pa.uint64()),
        ("context_id", pa.uint32()),
        ("stream_id", pa.uint32()),
        ("creation_time", pa.uint64()),
        ("is_unsupported_device", pa.bool_()),
        ("is_clock_locked", pa.bool_()),
        ("grid_x", pa.uint64()),
        ("grid_y", pa.uint64()),
        ("grid_z", pa.uint64()),
        ("block_x", pa.uint64()),
        ("block_y", pa.uint64()),
        ("block_z", pa.uint64()),
        ("function_name", pa.string()),  # the three names are after the fallback rule
        ("mangled_name", pa.string()),
        ("demangled_name", pa.string()),
        ("context_name", pa.string()),
        ("stream_name", pa.string()),
    ]
)
"""One row per result; null where the file does not say."""

RULES = pa.schema(
    [
        ("launch", pa.uint32()),
        ("rule", REPEATED_TEXT),
        ("rule_name", REPEATED_TEXT),
        ("section", REPEATED_TEXT),
        ("severity", pa.int32()),
        ("title", pa.string()),
        ("message", pa.string()),
        ("speedup_pct", pa.float64()),
        ("speedup_scope", pa.int32()),
    ]
)
"""One row per message of a rule; see `nsightlens.ncurep.model.RuleMessage`."""

NVTX = pa.schema(
    [
        ("launch", pa.uint32()),
        ("domain_index", pa.uint32()),  # position of the domain in the state of its launch
        ("domain", REPEATED_TEXT),
        ("depth", pa.uint32()),  # null for a start/end range
        ("name", pa.string()),
        ("thread_id", pa.uint32()),
        ("range_id", pa.uint64()),
        ("category", pa.uint32()),
        ("color", pa.uint32()),
        ("payload", pa.string()),
        ("message", pa.string()),
    ]
)
"""One row per range that was open at a launch, by domain, push/pop ranges first."""

INSTANCES = pa.schema(
    [
        ("launch", pa.uint32()),
        ("metric", REPEATED_TEXT),
        ("instance", pa.uint32()),  # position in its metric
        ("correlation_kind", pa.uint8()),
        ("correlation_value", pa.float64()),
        ("correlation_integer", pa.uint64()),
        ("correlation_text", pa.string()),
        ("kind", pa.uint8()),
        ("value", pa.float64()),
        ("integer", pa.uint64()),
        ("text", pa.string()),
    ]
)
"""One row per instance that was asked for. Kinds are `MetricKind`; value, integer and text are
null but for the kind that they hold (an integer has its value as float64 too)."""


class FileColumns(NamedTuple):
    """Everything that was read from one file, as columns.

    ``launches``, ``rules``, ``nvtx`` and ``instances`` have the schemas of this module.
    ``processes`` are those that ``launches`` points to; ``metric_names`` are all that the file
    defines, whether they were asked for or not. ``damage`` is the error that reading
    stopped at, when the caller asked for what comes before it; ``None`` for a sound file.
    """

    path: str
    size_bytes: int
    version: int
    processes: tuple[ProcessInfo, ...]
    sessions: list[SessionInfo]
    launches: pa.Table
    rules: pa.Table
    nvtx: pa.Table
    instances: pa.Table
    store: MetricStore
    damage: ReportFormatError | None = None
    metric_names: tuple[str, ...] = ()


def launches_of(results: Sequence[Result], processes: Sequence[int | None]) -> pa.Table:
    """Return the rows of results; ``processes`` has the number of each one's process."""
    own = {
        "thread_id": [r.thread_id for r in results],
        "api_call_id": [r.api_call_id for r in results],
        "context_id": [r.context_id for r in results],
        "stream_id": [r.stream_id for r in results],
        "creation_time": [r.creation_time for r in results],
        "is_unsupported_device": [r.is_unsupported_device for r in results],
        "is_clock_locked": [r.is_clock_locked for r in results],
        "function_name": [r.function_name for r in results],
        "mangled_name": [r.mangled_name for r in results],
        "demangled_name": [r.demangled_name for r in results],
        "context_name": [r.context_name for r in results],
        "stream_name": [r.stream_name for r in results],
        "kind": [KINDS.index(r.kind) for r in results],
        "process": list(processes),
    }
    for axis, letter in enumerate("xyz"):
        own[f"grid_{letter}"] = [r.grid[axis] if r.grid else None for r in results]
        own[f"block_{letter}"] = [r.block[axis] if r.block else None for r in results]
    return pa.table(own, schema=LAUNCHES)


def rules_of(results: Iterable[tuple[int, Result]]) -> pa.Table:
    """Return the rule messages of results, each with its launch."""
    rows = [(launch, rule) for launch, result in results for rule in result.rules]
    return pa.table(
        {
            "launch": [launch for launch, _ in rows],
            "rule": _encoded(rule.rule for _, rule in rows),
            "rule_name": _encoded(rule.rule_name for _, rule in rows),
            "section": _encoded(rule.section for _, rule in rows),
            "severity": [rule.severity for _, rule in rows],
            "title": [rule.title for _, rule in rows],
            "message": [rule.message for _, rule in rows],
            "speedup_pct": [rule.speedup_pct for _, rule in rows],
            "speedup_scope": [rule.speedup_scope for _, rule in rows],
        },
        schema=RULES,
    )


def _encoded(texts: Iterable[str | None]) -> pa.DictionaryArray:
    """Return a column of `REPEATED_TEXT`."""
    index_of: dict[str, int] = {}
    indices = [None if one is None else index_of.setdefault(one, len(index_of)) for one in texts]
    return pa.DictionaryArray.from_arrays(pa.array(indices, type=pa.int32()), text_array(index_of))


def nvtx_of(results: Iterable[tuple[int, Result]]) -> pa.Table:
    """Return the NVTX ranges of results, each with its launch."""
    rows = [row for launch, result in results for row in _nvtx_rows(launch, result)]
    found = zip(*rows, strict=True) if rows else ([] for _ in NVTX.names)
    columns: dict[str, Any] = dict(zip(NVTX.names, map(list, found), strict=True))
    columns["domain"] = _encoded(columns["domain"])
    return pa.table(columns, schema=NVTX)


def _nvtx_rows(launch: int, result: Result) -> Iterator[tuple[Any, ...]]:
    domain: NvtxDomainState
    for index, domain in enumerate(result.nvtx or ()):
        for depth, one in enumerate((*domain.push_pop, *domain.start_end)):
            is_start_end = depth >= len(domain.push_pop)
            yield (
                launch,
                index,
                domain.name,
                None if is_start_end else depth,
                one.name,
                one.thread_id if is_start_end else result.thread_id,
                one.range_id,
                one.category,
                one.color,
                None if one.payload is None else str(one.payload),
                one.message,
            )


def store_parts_of(
    scalars: ScalarColumns,
    launch_count: int,
    strings: Sequence[str],
    wanted: Callable[[str], bool] | None,
) -> tuple[StorePart, ...]:
    """Return flat metrics as columns, in one part, or in several where they are sparse.

    Parameters
    ----------
    scalars
        Metrics of all results, by result.
    launch_count
        Number of results.
    strings
        Names by index.
    wanted
        Whether to keep the metric of a name; None keeps all.
    """
    flat = _Flat(scalars, strings)
    if wanted is not None:
        flat = flat.take(np.array([wanted(name) for name in flat.names], dtype=bool)[flat.name])
    texts = text_array(scalars.text.values())
    return tuple(flat.parts(0, launch_count, texts))


_SPARSE_CELLS = 1_000_000
_CELLS_PER_VALUE = 16


class _Flat:
    """Metrics of results as one row per value; where a name occurs twice, the last one counts."""

    def __init__(self, scalars: ScalarColumns, strings: Sequence[str]) -> None:
        used, name = np.unique(np.array(scalars.name, dtype=np.uint32), return_inverse=True)
        # Two string indices may spell the same name: it is one metric.
        index_of = {text: i for i, text in enumerate(dict.fromkeys(strings[i] for i in used))}
        self.names = list(index_of)
        merged = np.array([index_of[strings[i]] for i in used], dtype=np.intp)
        self.name = merged[name] if len(name) else np.empty(0, dtype=np.intp)
        self.launch = np.array(scalars.result, dtype=np.intp)
        self.kind = np.array(scalars.kind, dtype=np.uint8)
        self.raw = _raw(scalars)

    def take(self, keep: NDArray[np.bool_]) -> _Flat:
        """Return some of the values."""
        taken = object.__new__(_Flat)
        taken.names = self.names
        taken.name, taken.launch = self.name[keep], self.launch[keep]
        taken.kind, taken.raw = self.kind[keep], self.raw[keep]
        return taken

    def parts(self, begin: int, end: int, texts: pa.StringArray) -> Iterator[StorePart]:
        """Yield the columns of the launches in ``[begin, end)``.

        A damaged file can name thousands of metrics that one launch each has. Columns of all
        launches for every one of them would be far larger than the file, so they are halved.
        """
        first, last = np.searchsorted(self.launch, (begin, end))
        name, launch = self.name[first:last], self.launch[first:last] - begin
        used, first_use = np.unique(name, return_index=True)
        cells = len(used) * (end - begin)
        if cells > _SPARSE_CELLS + _CELLS_PER_VALUE * len(name) and end - begin > 1:
            middle = (begin + end) // 2
            yield from self.parts(begin, middle, texts)
            yield from self.parts(middle, end, texts)
            return
        raw = np.zeros((len(used), end - begin), dtype=np.uint64)
        kind = np.zeros((len(used), end - begin), dtype=np.uint8)
        order = used[np.argsort(first_use)]
        column = np.empty(len(self.names), dtype=np.intp)
        column[order] = np.arange(len(order))
        # Of several values for one place the last one stays: NumPy assigns in order.
        raw[column[name], launch] = self.raw[first:last]
        kind[column[name], launch] = self.kind[first:last]
        names = [self.names[i] for i in order.tolist()]
        columns = {name: MetricColumn(raw[i], kind[i]) for i, name in enumerate(names)}
        yield StorePart(end - begin, columns, texts)


def _raw(scalars: ScalarColumns) -> NDArray[np.uint64]:
    """Return the bits of each value; for a text its position among the texts."""
    kind = np.array(scalars.kind, dtype=np.uint8)
    raw = np.array(scalars.integer, dtype=np.uint64)
    is_double = kind == ValueKind.DOUBLE
    raw[is_double] = np.array(scalars.value, dtype=np.float64).view(np.uint64)[is_double]
    raw[list(scalars.text)] = np.arange(len(scalars.text), dtype=np.uint64)
    return raw


def instances_of(
    found: InstanceColumns | None, scalars: ScalarColumns, strings: Sequence[str], first: int = 0
) -> pa.Table:
    """Return instances as a table; those of a metric that a later one replaces are left out.

    Parameters
    ----------
    found, scalars
        What was read of consecutive results.
    strings
        Names by index.
    first
        Launch of the first of these results.
    """
    if found is None or not len(found.scalar):
        return INSTANCES.empty_table()
    flat = _Flat(scalars, strings)
    key = flat.launch * max(len(flat.names), 1) + flat.name
    _, from_end = np.unique(key[::-1], return_index=True)
    is_last = np.zeros(len(key), dtype=bool)
    is_last[len(key) - 1 - from_end] = True
    every = np.array(found.scalar, dtype=np.intp)
    rows = np.flatnonzero(is_last[every])
    scalar = every[rows]
    return pa.Table.from_arrays(
        [
            number_array((flat.launch[scalar] + first).astype(np.uint32)),
            pa.DictionaryArray.from_arrays(
                number_array(flat.name[scalar].astype(np.int32)),
                text_array(flat.names),
            ),
            number_array(positions_in_runs(scalar).astype(np.uint32)),
            *_values(
                found.correlation_kind, found.correlation_value, found.correlation_integer,
                found.correlation_text, rows,
            ),
            *_values(found.kind, found.value, found.integer, found.text, rows),
        ],
        schema=INSTANCES,
    )  # fmt: skip


def _values(
    kind: Any, value: Any, integer: Any, text: dict[int, str], rows: NDArray[np.intp]
) -> list[pa.Array]:
    """Return kind, float64, exact integer and text of values; null where it is none."""
    kinds = np.array(kind, dtype=np.uint8)[rows]
    is_number = (kinds == MetricKind.INTEGER) | (kinds == MetricKind.DOUBLE)
    texts = pa.nulls(len(rows), pa.string())
    if text:
        texts = text_array(map(text.get, rows.tolist()))
    return [
        number_array(kinds),
        number_array(np.array(value, dtype=np.float64)[rows], is_number),
        number_array(np.array(integer, dtype=np.uint64)[rows], kinds == MetricKind.INTEGER),
        texts,
    ]
