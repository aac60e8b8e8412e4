"""Exports of Nsight Systems made from plain lists of events, in the layout of real ones.

`tables_of` gives the tables of an export as one version of nsys would have written them, and
`write_tables` writes tables in one of the three formats; `write_trace` does both.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from nsightlens.nsys.raw import assembled

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from nsightlens.nsys.raw import Kind

    Form = Literal["sqlite", "arrowdir", "parquetdir"]
    Age = Literal["2021", "2022", "2025", "2026"]

__all__ = [
    "AGES",
    "FORMS",
    "Call",
    "Copy",
    "Events",
    "Gpu",
    "GraphLaunch",
    "Kernel",
    "MadeExport",
    "Memset",
    "Range",
    "Sample",
    "Sync",
    "global_pid",
    "global_tid",
    "tables_of",
    "write_tables",
    "write_trace",
]

FORMS: tuple[Form, ...] = ("sqlite", "arrowdir", "parquetdir")
AGES: tuple[Age, ...] = ("2021", "2022", "2025", "2026")
"""Versions of nsys whose exports have 26, 27, 28 and 39 columns per kernel."""

_VIRTUAL_MACHINE = 1 << 48
_PROCESS = 1000


def global_pid(process: int) -> int:
    """Return a process as exports spell it."""
    return _VIRTUAL_MACHINE | process << 24


def global_tid(process: int, thread: int) -> int:
    """Return a thread as exports spell it."""
    return global_pid(process) | thread


class Kernel(NamedTuple):
    """A kernel; ``correlation`` joins it with the `Call` that launched it."""

    start: int
    end: int
    name: str = "kernel"
    correlation: int | None = None
    process: int | None = _PROCESS
    device: int = 0
    context: int = 1
    stream: int = 7
    demangled: str | None = None
    mangled: str | None = None
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (32, 1, 1)
    registers: int = 32
    static_shared: int = 0
    dynamic_shared: int = 0
    node: int | None = None
    graph: int | None = None


class Copy(NamedTuple):
    """A copy; kinds are the numbers of nsys: 1 host to device, 2 device to host, 8 within."""

    start: int
    end: int
    bytes: int = 4096
    kind: int = 1
    source: int | None = 0
    destination: int | None = 2
    correlation: int | None = None
    process: int = _PROCESS
    device: int = 0
    context: int = 1
    stream: int = 7
    source_device: int | None = None
    destination_device: int | None = None
    node: int | None = None


class Memset(NamedTuple):
    """A memset; ``kind`` is that of the memory: 2 for device."""

    start: int
    end: int
    bytes: int = 4096
    kind: int | None = 2
    correlation: int | None = None
    process: int = _PROCESS
    device: int = 0
    context: int = 1
    stream: int = 7
    node: int | None = None


class GraphLaunch(NamedTuple):
    """A CUDA graph that was traced as a whole."""

    start: int
    end: int
    graph: int = 1
    executable: int = 2
    correlation: int | None = None
    process: int = _PROCESS
    device: int = 0
    context: int = 1
    stream: int = 7


class Sync(NamedTuple):
    """A synchronization; kinds: 1 event, 2 stream waits for event, 3 stream, 4 context."""

    start: int
    end: int
    kind: int = 3
    correlation: int | None = None
    process: int = _PROCESS
    device: int = 0
    context: int = 1
    stream: int = 7


class Call(NamedTuple):
    """A call of the CUDA runtime or driver."""

    start: int
    end: int | None
    name: str = "cudaLaunchKernel_v7000"
    correlation: int | None = None
    process: int = _PROCESS
    thread: int = _PROCESS
    result: int = 0
    event_class: int = 0


class Range(NamedTuple):
    """An NVTX range or mark; ``domain`` is a number, 0 for the default one.

    With ``is_registered`` its text stands among the strings of the export.
    """

    start: int
    end: int | None
    text: str | None
    kind: Literal["push_pop", "start_end", "mark"] = "push_pop"
    domain: int | None = 0
    process: int = _PROCESS
    thread: int = _PROCESS
    end_thread: int | None = None
    is_registered: bool = False
    category: int | None = None
    payload: int | float | str | None = None


class Gpu(NamedTuple):
    """A GPU of the machine."""

    id: int = 0
    name: str = "NVIDIA H100 80GB HBM3"
    sm_count: int = 132
    bandwidth: int = 3_352_320_000_000
    clock: int = 1_980_000_000
    capability: tuple[int, int] = (9, 0)
    memory: int = 85_029_158_912
    l2: int = 52_428_800
    bus: str = "0000:18:00.0"
    uuid: str = "8ce2a1ad-4a33-8e7a-9f3a-4c3f6a1f0000"


class Sample(NamedTuple):
    """A sampled metric of a GPU."""

    time: int
    metric: str = "SM Active [Throughput %]"
    value: float = 50
    gpu: int = 0


@dataclass
class Events:
    """What a trace holds.

    Parameters
    ----------
    domains
        Name of each NVTX domain by process and number.
    devices
        GPU of each CUDA ordinal of each process, where they are not the same.
    capture
        Rows of ``META_DATA_CAPTURE``.
    """

    kernels: Sequence[Kernel] = ()
    copies: Sequence[Copy] = ()
    memsets: Sequence[Memset] = ()
    graphs: Sequence[GraphLaunch] = ()
    syncs: Sequence[Sync] = ()
    calls: Sequence[Call] = ()
    ranges: Sequence[Range] = ()
    gpus: Sequence[Gpu] = (Gpu(),)
    samples: Sequence[Sample] = ()
    domains: Mapping[tuple[int, int], str] = field(default_factory=dict)
    devices: Mapping[tuple[int, int], int] = field(default_factory=dict)
    capture: Sequence[tuple[str, str]] = ()


def write_trace(
    events: Events,
    path: Path,
    *,
    form: Form = "sqlite",
    age: Age = "2025",
    without: Collection[str] = (),
    without_columns: Collection[str] = (),
) -> Path:
    """Write an export, and return its path.

    Parameters
    ----------
    events
        What it holds.
    path
        A file for ``sqlite``, a folder otherwise.
    form
        Its format.
    age
        The version of nsys whose layout it has.
    without
        Tables that are left out, as nsys does with those that nothing is in.
    without_columns
        Columns that are left out of every table.
    """
    tables = tables_of(events, age=age)
    for name in without:
        tables.pop(name, None)
    for name, table in tables.items():
        kept = [one for one in table.column_names if one not in without_columns]
        tables[name] = table.select(kept)
    return write_tables(tables, path, form=form)


def write_tables(tables: Mapping[str, pa.Table], path: Path, *, form: Form = "sqlite") -> Path:
    """Write tables as an export of ``form``, and return its path."""
    if form == "sqlite":
        with closing(sqlite3.connect(path)) as file:
            for name, table in tables.items():
                _create(file, name, table)
            file.commit()
        return path
    path.mkdir(exist_ok=True)
    for name, table in tables.items():
        if form == "parquetdir":
            pq.write_table(table, path / f"{name}.parquet")
        else:
            with pa.ipc.new_stream(path / f"{name}.arrow", table.schema) as stream:
                stream.write_table(table)
    return path


class MadeExport:
    """Tables as an export that lies in no file; see `nsightlens.nsys.raw.Export`."""

    form = "made"
    shown = "made"

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        self.table_names = frozenset(tables)
        self._tables = tables

    def columns_of(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table."""
        return tuple(self._tables[table].column_names) if table in self._tables else ()

    def read(self, table: str, wanted: Mapping[str, Kind]) -> pa.Table:
        """Return columns of a table."""
        count = len(self._tables[table]) if table in self._tables else 0
        has = self.columns_of(table)
        pieces = {
            name: [_encoded(self._tables[table][name].combine_chunks().cast(_PLAIN[kind]))]
            for name, kind in wanted.items()
            if name in has and count
        }
        return assembled(wanted, pieces, count)


_PLAIN = {"whole": pa.int64(), "real": pa.float64(), "text": pa.string()}


def _encoded(column: pa.Array) -> pa.Array:
    return column.dictionary_encode() if pa.types.is_string(column.type) else column


def _create(file: sqlite3.Connection, name: str, table: pa.Table) -> None:
    kinds = {pa.string(): "TEXT", pa.float64(): "REAL"}
    columns = ", ".join(
        f'"{one.name}" {kinds.get(one.type, "INTEGER")}{"" if one.nullable else " NOT NULL"}'
        for one in table.schema
    )
    file.execute(f'CREATE TABLE "{name}" ({columns})')
    places = ", ".join("?" * table.num_columns)
    for batch in table.to_batches():
        rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
        file.executemany(f'INSERT INTO "{name}" VALUES ({places})', rows)


# --- the tables of an export ---

_IDS = ("deviceId", "contextId", "streamId", "correlationId", "globalPid")
_GREEN_IDS = ("deviceId", "contextId", "greenContextId", "streamId", "correlationId", "globalPid")
_KERNEL_END = (
    "launchType", "cacheConfig", "registersPerThread", "gridX", "gridY", "gridZ", "blockX",
    "blockY", "blockZ", "staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread",
    "localMemoryTotal", "gridId", "sharedMemoryExecuted", "graphNodeId", "sharedMemoryLimitConfig",
)  # fmt: skip
_KERNEL_2026 = (
    "qmdBulkReleaseDone", "qmdPreexitDone", "qmdLastCtaDone", "graphId", "clusterX", "clusterY",
    "clusterZ", "clusterSchedulingPolicy", "maxPotentialClusterSize", "maxActiveClusters",
    "sharedMemoryRequestedPercentage",
)  # fmt: skip
_COPY_END = (
    "bytes", "copyKind", "deprecatedSrcId", "srcKind", "dstKind", "srcDeviceId", "srcContextId",
    "dstDeviceId", "dstContextId", "migrationCause", "graphNodeId",
)  # fmt: skip
_RANGE = (
    "start", "end", "eventType", "rangeId", "category", "color", "text", "globalTid",
    "endGlobalTid", "textId", "domainId", "uint64Value", "int64Value", "doubleValue",
    "uint32Value", "int32Value", "floatValue", "jsonTextId", "jsonText",
)  # fmt: skip
_NULLABLE = frozenset({"end", "correlationId", "globalPid", "mangledName", "text", "value"})
_TEXTS = frozenset({"text", "jsonText", "binaryData", "name", "value", "busLocation", "uuid",
                    "typeName", "metricName", "label", "utcTime"})  # fmt: skip
_REALS = frozenset({"doubleValue", "floatValue"})

_EVENT_TYPES = {"mark": 34, "push_pop": 59, "start_end": 60}
_DOMAIN_CREATE = 75

_ENUMS: dict[str, tuple[str, ...]] = {
    "ENUM_CUDA_MEMCPY_OPER": (
        "UNKNOWN", "HTOD", "DTOH", "HTOA", "ATOH", "ATOA", "ATOD", "DTOA", "DTOD", "HTOH", "PTOP",
        "UVM_HTOD", "UVM_DTOH", "UVM_DTOD",
    ),
    "ENUM_CUDA_MEM_KIND": (
        "PAGEABLE", "PINNED", "DEVICE", "ARRAY", "MANAGED", "DEVICE_STATIC", "MANAGED_STATIC",
        "UNKNOWN",
    ),
    "ENUM_CUPTI_SYNC_TYPE": (
        "UNKNOWN", "EVENT_SYNCHRONIZE", "STREAM_WAIT_EVENT", "STREAM_SYNCHRONIZE",
        "CONTEXT_SYNCHRONIZE",
    ),
}  # fmt: skip
_ENUM_PREFIXES = {
    "ENUM_CUDA_MEMCPY_OPER": "CUDA_MEMCPY_KIND_",
    "ENUM_CUDA_MEM_KIND": "CUDA_MEMOPR_MEMORY_KIND_",
    "ENUM_CUPTI_SYNC_TYPE": "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_",
}


class _Strings:
    """The strings of an export and their numbers."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, text: str | None) -> int | None:
        if text is None:
            return None
        return self.numbers.setdefault(text, len(self.numbers) + 1)


def tables_of(events: Events, *, age: Age = "2025") -> dict[str, pa.Table]:
    """Return the tables that nsys of some age exports; those with no row are not there."""
    strings = _Strings()
    ids = _GREEN_IDS if age >= "2025" else _IDS
    names = ("demangledName", "shortName") + (("mangledName",) if age >= "2022" else ())
    kernel = ("start", "end", *ids, *names, *_KERNEL_END)
    copy = ("start", "end", *ids, *_COPY_END)
    if age >= "2022":
        copy += ("virtualAddress",)
    if age >= "2026":
        kernel += _KERNEL_2026
        copy += ("copyCount",)
    memset = ("start", "end", *ids, "value", "bytes", "graphNodeId", "memKind")
    sync = ("start", "end", *ids, "syncType", "eventId")
    graph = ("start", "end", *ids, "graphId", "graphExecId")
    call = (
        "start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue",
        "callchainId",
    )  # fmt: skip
    found = {
        "CUPTI_ACTIVITY_KIND_KERNEL": (kernel, [_kernel(one, strings) for one in events.kernels]),
        "CUPTI_ACTIVITY_KIND_MEMCPY": (copy, [_copy(one) for one in events.copies]),
        "CUPTI_ACTIVITY_KIND_MEMSET": (memset, [_memset(one) for one in events.memsets]),
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (graph, [_graph(one) for one in events.graphs]),
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": (sync, [_sync(one) for one in events.syncs]),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (call, [_call(one, strings) for one in events.calls]),
        "NVTX_EVENTS": (
            _RANGE if age < "2025" else (*_RANGE, "binaryData"),
            [*_domains(events), *(_range(one, strings) for one in events.ranges)],
        ),
    }
    tables = {name: _table(columns, rows) for name, (columns, rows) in found.items() if rows}
    return {**tables, **_described(events, age), "StringIds": _strings_table(strings)}


def _strings_table(strings: _Strings) -> pa.Table:
    rows = [{"id": number, "value": text} for text, number in strings.numbers.items()]
    return _table(("id", "value"), rows)


def _table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    kept = list(rows)
    fields = [
        pa.field(
            name,
            pa.string() if name in _TEXTS else pa.float64() if name in _REALS else pa.int64(),
            nullable=name in _NULLABLE or any(row.get(name) is None for row in kept),
        )
        for name in columns
    ]
    arrays = [pa.array([row.get(one.name) for row in kept], type=one.type) for one in fields]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _where(one: Kernel | Copy | Memset | GraphLaunch | Sync) -> dict[str, Any]:
    return {
        "start": one.start,
        "end": one.end,
        "deviceId": one.device,
        "contextId": one.context,
        "streamId": one.stream,
        "correlationId": one.correlation,
        "globalPid": None if one.process is None else global_pid(one.process),
    }


def _kernel(one: Kernel, strings: _Strings) -> dict[str, Any]:
    return {
        **_where(one),
        "demangledName": strings(one.demangled or one.name),
        "shortName": strings(one.name),
        "mangledName": strings(one.mangled),
        "launchType": 1,
        "registersPerThread": one.registers,
        **{f"grid{axis}": size for axis, size in zip("XYZ", one.grid, strict=True)},
        **{f"block{axis}": size for axis, size in zip("XYZ", one.block, strict=True)},
        "staticSharedMemory": one.static_shared,
        "dynamicSharedMemory": one.dynamic_shared,
        "localMemoryPerThread": 0,
        "localMemoryTotal": 0,
        "gridId": 1,
        "graphNodeId": one.node,
        "graphId": one.graph,
    }


def _copy(one: Copy) -> dict[str, Any]:
    return {
        **_where(one),
        "bytes": one.bytes,
        "copyKind": one.kind,
        "srcKind": one.source,
        "dstKind": one.destination,
        "srcDeviceId": one.source_device,
        "dstDeviceId": one.destination_device,
        "graphNodeId": one.node,
    }


def _memset(one: Memset) -> dict[str, Any]:
    values = {"value": None, "bytes": one.bytes, "memKind": one.kind, "graphNodeId": one.node}
    return {**_where(one), **values}


def _graph(one: GraphLaunch) -> dict[str, Any]:
    return {**_where(one), "graphId": one.graph, "graphExecId": one.executable}


def _sync(one: Sync) -> dict[str, Any]:
    return {**_where(one), "syncType": one.kind}


def _call(one: Call, strings: _Strings) -> dict[str, Any]:
    return {
        "start": one.start,
        "end": one.end,
        "eventClass": one.event_class,
        "globalTid": global_tid(one.process, one.thread),
        "correlationId": one.correlation,
        "nameId": strings(one.name),
        "returnValue": one.result,
    }


def _range(one: Range, strings: _Strings) -> dict[str, Any]:
    payload: dict[str, Any] = {}
    if isinstance(one.payload, str):
        payload["jsonText"] = one.payload
    elif one.payload is not None:
        payload["doubleValue" if isinstance(one.payload, float) else "int64Value"] = one.payload
    return {
        "start": one.start,
        "end": one.end,
        "eventType": _EVENT_TYPES[one.kind],
        "category": one.category,
        "text": None if one.is_registered else one.text,
        "textId": strings(one.text) if one.is_registered else None,
        "globalTid": global_tid(one.process, one.thread),
        "endGlobalTid": (
            None if one.end_thread is None else global_tid(one.process, one.end_thread)
        ),
        "domainId": one.domain,
        **payload,
    }


def _domains(events: Events) -> list[dict[str, Any]]:
    return [
        {
            "start": 0,
            "eventType": _DOMAIN_CREATE,
            "text": name,
            "globalTid": global_tid(process, process),
            "domainId": number,
        }
        for (process, number), name in events.domains.items()
    ]


def _described(events: Events, age: Age) -> dict[str, pa.Table]:
    """Return what an export says of the machine, of itself and of its numbers."""
    versions = {"2022": "2022.1.3.3", "2025": "2025.1.1.110", "2026": "2026.1.1.204"}
    schemas = {"2022": "2.7.1", "2025": "3.17.1", "2026": "3.24.14"}
    tables: dict[str, pa.Table] = {}
    if events.gpus:
        columns = (
            "id", "name", "busLocation", "l2CacheSize", "totalMemory", "memoryBandwidth",
            "clockRate", "smCount", "uuid", "cuDevice", "computeMajor", "computeMinor",
        )  # fmt: skip
        tables["TARGET_INFO_GPU"] = _table(
            columns,
            [
                {
                    "id": gpu.id, "name": gpu.name, "busLocation": gpu.bus, "l2CacheSize": gpu.l2,
                    "totalMemory": gpu.memory, "memoryBandwidth": gpu.bandwidth,
                    "clockRate": gpu.clock, "smCount": gpu.sm_count, "uuid": gpu.uuid,
                    "cuDevice": gpu.id, "computeMajor": gpu.capability[0],
                    "computeMinor": gpu.capability[1],
                }
                for gpu in events.gpus
            ],
        )  # fmt: skip
    if age >= "2022":
        exported = {
            "EXPORT_PRODUCT_VERSION": versions[age],
            "EXPORT_SCHEMA_VERSION": schemas[age],
        }
        name = "META_DATA_EXPORT" if age >= "2025" else "EXPORT_META_DATA"
        tables[name] = _pairs(exported.items())
        tables["TARGET_INFO_SESSION_START_TIME"] = _table(
            ("utcEpochNs", "utcTime"),
            [{"utcEpochNs": 1_700_000_000_000_000_000, "utcTime": "2023-11-14T22:13:20"}],
        )
        for enum, words in _ENUMS.items():
            tables[enum] = _table(
                ("id", "name", "label"),
                [
                    {"id": number, "name": _ENUM_PREFIXES[enum] + word, "label": word.title()}
                    for number, word in enumerate(words)
                ],
            )
    if age >= "2025":
        if events.capture:
            tables["META_DATA_CAPTURE"] = _pairs(events.capture)
        if events.devices:
            tables["TARGET_INFO_CUDA_DEVICE"] = _table(
                ("gpuId", "cudaId", "pid"),
                [
                    {"gpuId": gpu, "cudaId": ordinal, "pid": process}
                    for (process, ordinal), gpu in events.devices.items()
                ],
            )
    if events.samples:
        tables |= _samples(events.samples)
    return tables


def _pairs(pairs: Iterable[tuple[str, str]]) -> pa.Table:
    return _table(("name", "value"), [{"name": name, "value": value} for name, value in pairs])


def _samples(samples: Sequence[Sample]) -> dict[str, pa.Table]:
    """Return the two tables of sampled metrics; the low byte of a type is the GPU."""
    numbers = {name: at for at, name in enumerate(sorted({one.metric for one in samples}))}
    gpus = sorted({one.gpu for one in samples})
    kinds = {gpu: 0x200 << 8 | gpu for gpu in gpus}
    names = [
        {"typeId": kinds[gpu], "typeName": "GPU Metrics", "metricId": number, "metricName": name}
        for gpu in gpus
        for name, number in numbers.items()
    ]
    values = pa.table(
        {
            "timestamp": [one.time for one in samples],
            "typeId": [kinds[one.gpu] for one in samples],
            "metricId": [numbers[one.metric] for one in samples],
            "value": pa.array([round(one.value) for one in samples], pa.int64()),
        }
    )
    columns = ("typeId", "typeName", "metricId", "metricName")
    return {"GPU_METRICS": values, "TARGET_INFO_GPU_METRICS": _table(columns, names)}
