"""What devices did: the tables of kernels, copies, memsets, graphs and synchronizations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens import tables
from nsightlens.arrays import number_array
from nsightlens.errors import NotATraceError
from nsightlens.kernels import parse_launch_kernels
from nsightlens.nsys.correlation import NONE, calls_of
from nsightlens.readers.columns import constant
from nsightlens.readers.trace_columns import (
    column_of,
    counts,
    numbers,
    process_ids,
    whole_array,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from nsightlens.nsys import Export
    from nsightlens.nsys.raw import Kind
    from nsightlens.readers.trace_columns import Strings
    from nsightlens.readers.trace_facts import Known
    from nsightlens.tables import Column

    Numbers = NDArray[np.int64]

__all__ = [
    "KINDS",
    "Activities",
    "Asked",
    "raw_events",
    "read_activities",
    "rows_of",
    "table_of_activities",
]

_WHERE: dict[str, Kind] = dict.fromkeys(
    ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",
     "graphNodeId"),
    "whole",
)  # fmt: skip
_SIZES = (
    "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread",
    "staticSharedMemory", "dynamicSharedMemory",
)  # fmt: skip
_NAMES = ("shortName", "demangledName", "mangledName")


class KindOfActivity(NamedTuple):
    """A table of an export, and what becomes of it."""

    raw: str
    more: tuple[str, ...]
    schema: tuple[Column, ...]
    row: str
    """The column that numbers the rows."""


KINDS: dict[str, KindOfActivity] = {
    "kernels": KindOfActivity(
        "CUPTI_ACTIVITY_KIND_KERNEL", (*_SIZES, *_NAMES, "graphId"), tables.TRACE_KERNELS,
        "kernel_id",
    ),
    "copies": KindOfActivity(
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        ("bytes", "copyKind", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId", "graphId"),
        tables.TRACE_COPIES, "copy_id",
    ),
    "memsets": KindOfActivity(
        "CUPTI_ACTIVITY_KIND_MEMSET", ("bytes", "memKind", "graphId"), tables.TRACE_MEMSETS,
        "memset_id",
    ),
    "graph_launches": KindOfActivity(
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", ("graphId", "graphExecId"), tables.TRACE_GRAPH_LAUNCHES,
        "graph_launch_id",
    ),
    "synchronizations": KindOfActivity(
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", ("syncType",), tables.TRACE_SYNCHRONIZATIONS,
        "synchronization_id",
    ),
}  # fmt: skip


class Activities(NamedTuple):
    """Activities of one kind, as the export has them, in the order of their start."""

    kind: KindOfActivity
    raw: pa.Table
    call: Numbers
    """Row of the API call that asked for each, -1 for none. Shape (n,)."""


class Asked(NamedTuple):
    """What is known of the calls that asked for something, by row of the API calls.

    Parameters
    ----------
    table
        The API calls.
    call
        Rows of those that asked for something, ascending. Shape (c,).
    path, texts
        Position in ``texts`` of the path of each of them, -1 for none. Shape (c,).
    range
        Row of the innermost push/pop range of each of them, -1 for none. Shape (c,).
    """

    table: pa.Table
    call: Numbers
    path: Numbers
    texts: pa.StringArray
    range: Numbers


def raw_events(
    export: Export,
    name: str,
    wanted: Mapping[str, Kind],
    notes: list[str],
    *,
    is_longest_first: bool = False,
) -> pa.Table:
    """Return a raw table of events in the order of ``start``; those without one are left out.

    Parameters
    ----------
    export, name, wanted
        The table, and its columns, ``start`` and ``end`` among them.
    notes
        Gets a note where events are left out.
    is_longest_first
        Of events that start together, the one that ends last comes first.

    Raises
    ------
    NotATraceError
        The table has rows and no column ``start``.
    """
    table = export.read(name, wanted)
    if not table.num_rows:
        return table
    if "start" not in export.columns_of(name):
        raise NotATraceError(
            export.shown,
            "has no column start, which every event has",
            "Export the report again, with all of its columns.",
            where=(name,),
        )
    start = numbers(column_of(table, "start"))
    if (lacking := int(np.count_nonzero(start == NONE))) > 0:
        notes.append(f"{lacking} of {len(start)} rows of {name} have no start and are left out")
        table = table.filter(number_array(start != NONE))
        start = start[start != NONE]
    end = numbers(column_of(table, "end"))
    later = np.where(end == NONE, NONE, -end) if is_longest_first else np.zeros(len(start))
    in_order = (start[1:] > start[:-1]) | ((start[1:] == start[:-1]) & (later[1:] >= later[:-1]))
    if in_order.all():
        return table
    return table.take(number_array(np.lexsort((later, start))))


def read_activities(
    export: Export, kind: KindOfActivity, call_process: Numbers, calls: pa.Table, notes: list[str]
) -> Activities:
    """Read activities of one kind, and find the calls that asked for them.

    Parameters
    ----------
    export, kind
        What to read.
    call_process
        Identity of the process of each API call, as exports spell it. Shape (m,).
    calls
        The API calls, as of the trace.
    notes
        Gets what is to be said.
    """
    wanted: dict[str, Kind] = {**_WHERE, **dict.fromkeys(kind.more, "whole")}
    raw = raw_events(export, kind.raw, wanted, notes)
    call = calls_of(
        numbers(column_of(raw, "globalPid")),
        numbers(column_of(raw, "correlationId")),
        call_process,
        numbers(column_of(calls, "correlation_id")),
    )
    return Activities(kind, raw, call)


def table_of_activities(
    shown: str,
    activities: Activities,
    asked: Asked,
    strings: Strings,
    known: Known,
) -> pa.Table:
    """Return the table of activities of one kind.

    Parameters
    ----------
    shown
        The trace, as its tables call it.
    activities
        What the export has.
    asked
        What is known of the calls.
    strings
        The strings of the export.
    known
        What numbers of the export mean.
    """
    kind, raw, _ = activities
    meanings = known.meanings
    count = raw.num_rows
    has = {one.name for one in kind.schema}
    columns: dict[str, Any] = {
        "trace": constant(shown, count),
        kind.row: number_array(np.arange(count, dtype=np.uint32)),
        **_where(raw, known.gpus),
        **_asked(activities.call, asked),
    }
    more = {
        "kernels": lambda: _kernel_columns(raw, strings),
        "copies": lambda: _copy_columns(raw, meanings),
        "memsets": lambda: {
            "set_bytes": counts(column_of(raw, "bytes")),
            "memory": words(column_of(raw, "memKind"), meanings["memory"]),
        },
        "graph_launches": lambda: {"graph_exec_id": column_of(raw, "graphExecId")},
        "synchronizations": lambda: {
            "kind": words(column_of(raw, "syncType"), meanings["synchronization"])
        },
    }
    name = next(name for name, one in KINDS.items() if one is kind)
    columns |= more[name]()
    return tables.table_of(
        tables.schema_of(kind.schema),
        {name: column for name, column in columns.items() if name in has},
        count,
    )


def _where(raw: pa.Table, gpus: Mapping[tuple[int, int], int]) -> dict[str, Any]:
    """Return where and when something was done."""
    start, end = (numbers(column_of(raw, name)) for name in ("start", "end"))
    process = process_ids(numbers(column_of(raw, "globalPid")))
    return {
        "process_id": whole_array(process),
        "device_id": _gpu(process, column_of(raw, "deviceId"), gpus),
        "context_id": column_of(raw, "contextId"),
        "stream_id": column_of(raw, "streamId"),
        "correlation_id": column_of(raw, "correlationId"),
        # CUPTI says 0 for what runs outside of a graph, and nsys mostly null.
        "graph_node_id": _but_zero(column_of(raw, "graphNodeId")),
        "graph_id": _but_zero(column_of(raw, "graphId"))
        if "graphId" in raw.column_names
        else pa.nulls(raw.num_rows, pa.int64()),
        "start_ns": column_of(raw, "start"),
        "end_ns": column_of(raw, "end"),
        "duration_ns": whole_array(np.where(end == NONE, NONE, end - start)),
    }


def _but_zero(column: pa.Array) -> pa.Array:
    values = numbers(column)
    return number_array(values, (values != NONE) & (values != 0))


def _gpu(process: Numbers, ordinal: pa.Array, gpus: Mapping[tuple[int, int], int]) -> pa.Array:
    """Return the GPU that a process knows by an ordinal."""
    given = numbers(ordinal)
    found = given
    for (of_process, cuda), gpu in gpus.items():
        if gpu != cuda:
            found = np.where((process == of_process) & (given == cuda), gpu, found)
    return whole_array(found)


def _asked(call: Numbers, asked: Asked) -> dict[str, Any]:
    """Return what is known of the calls that asked for activities."""
    is_called = call >= 0
    place = np.searchsorted(asked.call, np.where(is_called, call, 0))
    if not len(asked.call):
        path = inner = np.full(len(call), -1, dtype=np.int64)
    else:
        place = np.minimum(place, len(asked.call) - 1)
        path = np.where(is_called, asked.path[place], -1)
        inner = np.where(is_called, asked.range[place], -1)
    row = number_array(np.where(is_called, call, 0), is_called)
    return {
        "api_call_id": number_array(call.astype(np.uint32), is_called),
        "api_start_ns": column_of(asked.table, "start_ns").take(row),
        "api_end_ns": column_of(asked.table, "end_ns").take(row),
        "thread_id": column_of(asked.table, "thread_id").take(row),
        "nvtx_path": pa.DictionaryArray.from_arrays(
            number_array(path.astype(np.int32), path >= 0), asked.texts
        ),
        "nvtx_range_id": number_array(inner.astype(np.uint32), inner >= 0),
    }


def _kernel_columns(raw: pa.Table, strings: Strings) -> dict[str, Any]:
    short, demangled, mangled = (strings.of(column_of(raw, name)) for name in _NAMES)
    columns = dict(zip(
        ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z",
         "registers_per_thread_count", "shared_memory_static_bytes",
         "shared_memory_dynamic_bytes"),
        (counts(column_of(raw, name)) for name in _SIZES),
        strict=True,
    ))  # fmt: skip
    read = _read_names(demangled, short, mangled)
    return {
        **columns,
        "kernel_name": short,
        "kernel_demangled_name": demangled,
        "kernel_mangled_name": mangled,
        **{name: read[name] for name in ("kernel", "family", "subtype")},
    }


def _read_names(
    demangled: pa.DictionaryArray, short: pa.DictionaryArray, mangled: pa.DictionaryArray
) -> dict[str, pa.DictionaryArray]:
    """Return what kernels are, by the names that occur together, each triple read once."""
    triple = np.zeros(len(short), dtype=np.int64)
    for names in (demangled, short, mangled):
        code = np.asarray(names.indices.fill_null(-1)).astype(np.int64)
        _, triple = np.unique(triple * (len(names.dictionary) + 1) + code + 1, return_inverse=True)
        triple = triple.reshape(-1).astype(np.int64)
    _, first = np.unique(triple, return_index=True)
    row = number_array(first)
    read = parse_launch_kernels(demangled.take(row), short.take(row), mangled.take(row))
    place = number_array(triple)
    fields = {"kernel": "short_name", "family": "family", "subtype": "subtype"}
    return {name: _one(read[field]).take(place) for name, field in fields.items()}


def _one(column: Any) -> pa.DictionaryArray:
    joined = column.unify_dictionaries().combine_chunks()
    return joined if isinstance(joined, pa.Array) else pa.nulls(0, tables.column.CATEGORY)


def _copy_columns(raw: pa.Table, meanings: Mapping[str, Mapping[int, str]]) -> dict[str, Any]:
    kind = column_of(raw, "copyKind")
    migrations = [number for number, word in meanings["copy"].items() if word.startswith("UVM_")]
    return {
        "copied_bytes": counts(column_of(raw, "bytes")),
        "direction": words(kind, meanings["direction"], "unknown"),
        "source_memory": words(column_of(raw, "srcKind"), meanings["memory"]),
        "destination_memory": words(column_of(raw, "dstKind"), meanings["memory"]),
        "source_device_id": column_of(raw, "srcDeviceId"),
        "destination_device_id": column_of(raw, "dstDeviceId"),
        "is_migration": pc.if_else(
            kind.is_null(),
            pa.scalar(None, pa.bool_()),
            pc.is_in(kind, value_set=pa.array(migrations, pa.int64())),
        ),
    }


def rows_of(activities: Sequence[Activities], call_count: int) -> Numbers:
    """Return the rows of all calls that asked for something, ascending."""
    has_asked = np.zeros(call_count, dtype=bool)
    for one in activities:
        has_asked[one.call[one.call >= 0]] = True
    return np.flatnonzero(has_asked)
