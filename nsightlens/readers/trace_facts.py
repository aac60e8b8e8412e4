"""What an export says of itself and of its machine: GPUs, sampled metrics, session, enums."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nsightlens import tables
from nsightlens.arrays import category_array, number_array
from nsightlens.nsys.correlation import NONE
from nsightlens.readers.columns import constant
from nsightlens.readers.trace_columns import column_of, numbers, whole_array

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from nsightlens.nsys import Export
    from nsightlens.nsys.raw import Kind

__all__ = ["Known", "gpu_metrics_table", "gpus_table", "known_of", "sessions_table"]


class Known(NamedTuple):
    """What numbers of an export mean.

    Parameters
    ----------
    meanings
        Words by number: ``copy`` (the spelling of nsys), ``direction``, ``memory`` and
        ``synchronization``.
    gpus
        GPU of each CUDA ordinal of a process, where the export says that.
    """

    meanings: Mapping[str, Mapping[int, str]]
    gpus: Mapping[tuple[int, int], int]


# --- enums ---

# Each with what its names begin with, and the names by number for exports without the table.
_ENUMS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "copy": (
        "ENUM_CUDA_MEMCPY_OPER", "CUDA_MEMCPY_KIND_",
        ("UNKNOWN", "HTOD", "DTOH", "HTOA", "ATOH", "ATOA", "ATOD", "DTOA", "DTOD", "HTOH", "PTOP",
         "UVM_HTOD", "UVM_DTOH", "UVM_DTOD"),
    ),
    "memory": (
        "ENUM_CUDA_MEM_KIND", "CUDA_MEMOPR_MEMORY_KIND_",
        ("PAGEABLE", "PINNED", "DEVICE", "ARRAY", "MANAGED", "DEVICE_STATIC", "MANAGED_STATIC",
         "UNKNOWN"),
    ),
    "synchronization": (
        "ENUM_CUPTI_SYNC_TYPE", "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_",
        ("UNKNOWN", "EVENT_SYNCHRONIZE", "STREAM_WAIT_EVENT", "STREAM_SYNCHRONIZE",
         "CONTEXT_SYNCHRONIZE"),
    ),
}  # fmt: skip

# An array is memory of a device.
_SIDES = {"H": "host", "D": "device", "A": "device"}


def known_of(export: Export) -> Known:
    """Read what numbers of an export mean."""
    found = {of: _enum(export, *enum) for of, enum in _ENUMS.items()}
    direction = {number: _direction(word) for number, word in found["copy"].items()}
    # Unknown memory is not said, and so is an unknown synchronization.
    lower = {
        of: {number: word.lower() for number, word in found[of].items() if word != "UNKNOWN"}
        for of in ("memory", "synchronization")
    }
    waits = {
        number: word.removesuffix("_synchronize")
        for number, word in lower["synchronization"].items()
    }
    meanings = {
        "copy": found["copy"],
        "direction": direction,
        "memory": lower["memory"],
        "synchronization": waits,
    }
    return Known(meanings, _gpu_of_ordinals(export))


def _enum(export: Export, table: str, beginning: str, names: Sequence[str]) -> dict[int, str]:
    """Return the names of an enum by number: those of the export, and our own for the others."""
    own = dict(enumerate(names))
    read = export.read(table, {"id": "whole", "name": "text"})
    ids, words = (read[name].to_pylist() for name in ("id", "name"))
    said = {
        number: word.removeprefix(beginning)
        for number, word in zip(ids, words, strict=True)
        if number is not None and word is not None and word.startswith(beginning)
    }
    return own | said


def _direction(word: str) -> str:
    """Return the direction of a copy, such as of ``HTOD``."""
    source, _, destination = word.removeprefix("UVM_").partition("TO")
    if (source, destination) == ("P", "P"):
        return "peer_to_peer"
    if source in _SIDES and destination in _SIDES:
        return f"{_SIDES[source]}_to_{_SIDES[destination]}"
    return "unknown"


def _gpu_of_ordinals(export: Export) -> dict[tuple[int, int], int]:
    """Return the GPU of each CUDA ordinal of a process: CUDA_VISIBLE_DEVICES changes them."""
    names: dict[str, Kind] = dict.fromkeys(("gpuId", "cudaId", "pid"), "whole")
    read = export.read("TARGET_INFO_CUDA_DEVICE", names)
    rows = zip(*(read[name].to_pylist() for name in names), strict=True)
    return {
        (process, ordinal): gpu
        for gpu, ordinal, process in rows
        if None not in (gpu, ordinal, process)
    }


# --- GPUs ---

# Column of ours: column of TARGET_INFO_GPU, and of TARGET_INFO_CUDA_GPU, which older exports have
# beside a smaller TARGET_INFO_GPU; there rates are in thousands per second.
_GPU: dict[str, tuple[str, str, int, Kind]] = {
    "device_name": ("name", "name", 1, "text"),
    "uuid": ("uuid", "", 1, "text"),
    "pci_bus_id": ("busLocation", "pciBusId", 1, "text"),
    "sm_count": ("smCount", "numMultiprocessors", 1, "whole"),
    "dram_bandwidth_bytes_per_s": ("memoryBandwidth", "globalMemoryBandwidth", 1000, "whole"),
    "sm_clock_hz": ("clockRate", "coreClockRate", 1000, "whole"),
    "memory_bytes": ("totalMemory", "globalMemorySize", 1, "whole"),
    "l2_bytes": ("l2CacheSize", "l2CacheSize", 1, "whole"),
    "major": ("computeMajor", "computeCapabilityMajor", 1, "whole"),
    "minor": ("computeMinor", "computeCapabilityMinor", 1, "whole"),
}
_NO_UUID = "00000000-0000-0000-0000-000000000000"


def gpus_table(export: Export, shown: str) -> pa.Table:
    """Return the table of the GPUs of the machine, in the order of their numbers."""
    gpus: dict[int, dict[str, Any]] = {}
    for number, facts in (*_gpus_now(export), *_gpus_before(export)):
        own = gpus.setdefault(number, {})
        for name, value in facts.items():
            # What is not known is written as nothing: 0 of anything, or a text without content.
            if own.get(name) is None and value not in (None, 0, "", _NO_UUID, "<UNKNOWN_BUS_ID>"):
                own[name] = value
    rows = [
        {
            **{name: facts.get(name) for name in _GPU if name not in ("major", "minor")},
            "trace": shown,
            "device_id": number,
            "compute_capability": (
                f"{facts['major']}.{facts.get('minor', 0)}" if facts.get("major") else None
            ),
        }
        for number, facts in sorted(gpus.items())
    ]
    schema = tables.schema_of(tables.TRACE_GPUS)
    columns = {
        name: [row.get(name) for row in rows] for name in schema.names if name != "memory_bus_bits"
    }
    return tables.table_of(schema, columns, len(rows))


def _gpus_now(export: Export) -> Iterator[tuple[int, dict[str, Any]]]:
    wanted: dict[str, Kind] = {now: kind for now, _, _, kind in _GPU.values()}
    read = export.read("TARGET_INFO_GPU", {"id": "whole", "deviceId": "whole", **wanted})
    for row in read.to_pylist():
        number = row["id"] if row["id"] is not None else row["deviceId"]
        if number is not None:
            yield number, {name: row[now] for name, (now, _, _, _) in _GPU.items()}


def _gpus_before(export: Export) -> Iterator[tuple[int, dict[str, Any]]]:
    wanted: dict[str, Kind] = {before: kind for _, before, _, kind in _GPU.values() if before}
    read = export.read("TARGET_INFO_CUDA_GPU", {"deviceId": "whole", **wanted})
    for row in read.to_pylist():
        if row["deviceId"] is not None:
            yield (
                row["deviceId"],
                {
                    name: row[before] * factor if factor > 1 and row[before] else row[before]
                    for name, (_, before, factor, _) in _GPU.items()
                    if before
                },
            )


# --- sampled metrics ---


def gpu_metrics_table(export: Export, shown: str, gpus: pa.Table) -> pa.Table:
    """Return the table of sampled metrics, in the order of time.

    The low byte of a type is the number of the GPU, as NVIDIA's own recipes read it.
    """
    names: dict[str, Kind] = {"typeId": "whole", "metricId": "whole", "metricName": "text"}
    read = export.read("TARGET_INFO_GPU_METRICS", names)
    wanted: dict[str, Kind] = {
        "timestamp": "whole", "typeId": "whole", "metricId": "whole", "value": "real",
    }  # fmt: skip
    samples = export.read("GPU_METRICS", wanted)
    schema = tables.schema_of(tables.TRACE_GPU_METRICS)
    time = numbers(column_of(samples, "timestamp"))
    order = np.argsort(time, kind="stable")
    samples = samples.take(number_array(order[time[order] != NONE]))
    count = samples.num_rows
    if not count:
        return schema.empty_table()
    kind, metric = (numbers(column_of(samples, name)) for name in ("typeId", "metricId"))
    code = np.full(count, -1, dtype=np.int64)
    spelled: dict[str, int] = {}
    known = zip(*(read[name].to_pylist() for name in names), strict=True)
    for type_id, metric_id, name in known:
        if None not in (type_id, metric_id, name):
            is_metric = (kind == type_id) & (metric == metric_id)
            code[is_metric] = spelled.setdefault(name, len(spelled))
    # A metric without a name is called by its number.
    for metric_id in np.unique(metric[code < 0]).tolist():
        is_metric = (code < 0) & (metric == metric_id)
        code[is_metric] = spelled.setdefault(f"metric {metric_id}", len(spelled))
    device = kind & 0xFF
    is_gpu = np.isin(device, numbers(column_of(gpus, "device_id"))) & (kind != NONE)
    return tables.table_of(
        schema,
        {
            "trace": constant(shown, count),
            "device_id": number_array(device, is_gpu),
            "time_ns": column_of(samples, "timestamp"),
            "metric": category_array(code, tuple(spelled)),
            "value": column_of(samples, "value"),
        },
        count,
    )


# --- the session ---


def sessions_table(export: Export, shown: str, graph_trace: str | None) -> pa.Table:
    """Return the table with the one row of the session.

    Parameters
    ----------
    export, shown
        The export, and what the tables call it.
    graph_trace
        What its events say of how CUDA graphs were traced, if they do.
    """
    exported = dict(_pairs(export, "META_DATA_EXPORT")) or dict(_pairs(export, "EXPORT_META_DATA"))
    captured = dict(_pairs(export, "META_DATA_CAPTURE"))
    machine = dict(_pairs(export, "TARGET_INFO_SYSTEM_ENV"))
    start = _first(export, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs")
    duration = _first(export, "ANALYSIS_DETAILS", "duration")
    mode = next((v for k, v in captured.items() if k.endswith("CUDA_GRAPH_TRACE_OPTIONS:MODE")), "")
    said = next((one for one in ("graph", "node") if mode.lower().startswith(one)), None)
    row = {
        "trace": shown,
        "format": export.form,
        "tool_version": exported.get("EXPORT_PRODUCT_VERSION"),
        "export_schema_version": exported.get("EXPORT_SCHEMA_VERSION"),
        "command_line": _command_line(captured),
        "host_name": machine.get("Hostname") or captured.get("DEVICE_DISPLAY_NAME"),
        "started_unix_ns": start,
        "duration_ns": duration,
        # What was traced counts for more than what was asked for.
        "cuda_graph_trace": graph_trace or said,
    }
    return tables.table_of(
        tables.schema_of(tables.TRACE_SESSIONS), {name: [value] for name, value in row.items()}, 1
    )


def _command_line(captured: Mapping[str, str]) -> str | None:
    """Return the program that was traced, as a shell would take it."""
    program = captured.get("PROCESS_0:COMMAND")
    if program is None:
        return None
    words = [program]
    while (word := captured.get(f"PROCESS_0:ARGUMENT_{len(words) - 1}")) is not None:
        words.append(word)
    return shlex.join(words)


def _pairs(export: Export, table: str) -> Iterator[tuple[str, str]]:
    """Yield the names and values of a table of such; the first value of a name comes last."""
    read = export.read(table, {"name": "text", "value": "text"})
    for row in reversed(read.to_pylist()):
        if row["name"] is not None and row["value"] is not None:
            yield row["name"], row["value"]


def _first(export: Export, table: str, column: str) -> int | None:
    values = whole_array(numbers(column_of(export.read(table, {column: "whole"}), column)))
    return values[0].as_py() if len(values) else None
