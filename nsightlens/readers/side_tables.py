"""The tables beside ``launches``: rules, NVTX ranges, sessions, instances of one report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nsightlens import tables
from nsightlens.metric_store import MetricKind
from nsightlens.readers.columns import category, constant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nsightlens.ncurep.model import (
        InstanceColumns,
        NcuRepFile,
        NvtxRange,
        ProcessInfo,
        Result,
        SessionInfo,
    )

__all__ = ["instances_table", "nvtx_table", "rules_table", "sessions_table"]

# The numbers of the file, in its order.
_SEVERITIES = ("none", "ok", "warning", "error", "optimization")
_NCU_PROVIDERS = ("Nsight Compute Target", "Nsight Compute Host", "Nsight Compute")
_SPEEDUP_SCOPES = ("unknown", "local", "global")


def rules_table(path: str, results: Sequence[Result]) -> pa.Table:
    """Return the ``rules`` table: one row per message."""
    rows = [(launch_id, rule) for launch_id, r in enumerate(results) for rule in r.rules]
    return tables.table_of(
        tables.schema_of(tables.RULES),
        {
            "report": constant(path, len(rows)),
            "launch_id": [launch_id for launch_id, _ in rows],
            "rule": category(rule.rule for _, rule in rows),
            "rule_name": category(rule.rule_name for _, rule in rows),
            "section": category(rule.section for _, rule in rows),
            "severity": category(_named(_SEVERITIES, rule.severity) for _, rule in rows),
            "title": [rule.title for _, rule in rows],
            "message": [rule.message for _, rule in rows],
            "estimated_speedup_pct": [rule.speedup_pct for _, rule in rows],
            "speedup_scope": category(
                _named(_SPEEDUP_SCOPES, rule.speedup_scope) for _, rule in rows
            ),
        },
        len(rows),
    )


def _named(names: Sequence[str], number: int | None) -> str | None:
    if number is None:
        return None
    return names[number] if 0 <= number < len(names) else str(number)


def nvtx_table(path: str, results: Sequence[Result]) -> pa.Table:
    """Return the ``nvtx`` table: one row per range that was open at a launch."""
    rows: list[tuple[int, Result, str, int | None, NvtxRange]] = []
    for launch_id, result in enumerate(results):
        for domain in result.nvtx or ():
            rows += [
                (launch_id, result, domain.name, depth, r)
                for depth, r in enumerate(domain.push_pop)
            ]
            rows += [(launch_id, result, domain.name, None, r) for r in domain.start_end]
    ranges = [row[-1] for row in rows]
    return tables.table_of(
        tables.schema_of(tables.NVTX),
        {
            "report": constant(path, len(rows)),
            "launch_id": [row[0] for row in rows],
            "domain": category(row[2] for row in rows),
            "range_kind": category("start_end" if row[3] is None else "push_pop" for row in rows),
            "depth": [row[3] for row in rows],
            "name": category(r.name for r in ranges),
            "thread_id": [row[4].thread_id if row[3] is None else row[1].thread_id for row in rows],
            "range_id": [r.range_id for r in ranges],
            "category": [r.category for r in ranges],
            "color": [r.color for r in ranges],
            "payload": [None if r.payload is None else str(r.payload) for r in ranges],
            "message": [r.message for r in ranges],
        },
        len(rows),
    )


def sessions_table(
    path: str, sessions: Sequence[SessionInfo], results: Sequence[Result]
) -> pa.Table:
    """Return the ``sessions`` table: one row per profiled process."""
    held = _clocks_held(results)
    return tables.table_of(
        tables.schema_of(tables.SESSIONS),
        {
            "report": constant(path, len(sessions)),
            "session_id": list(range(len(sessions))),
            "process_id": [s.process.process_id if s.process else None for s in sessions],
            "process_name": [s.process.process_name if s.process else None for s in sessions],
            "host_name": [
                (s.process.host_name if s.process else None) or s.computer_name for s in sessions
            ],
            "command_line": [s.command_line or s.executable for s in sessions],
            "profiler_command_line": [s.profiler_command_line for s in sessions],
            "ncu_version": [_version(s, *_NCU_PROVIDERS) for s in sessions],
            "cuda_version": [_version(s, "CUDA Version", "CUDA") for s in sessions],
            "driver_version": [
                _version(s, "Display Driver Version", "Display Driver") for s in sessions
            ],
            "clock_control": [s.clock_control or held.get(s.process) for s in sessions],
            "cache_control": [s.cache_control for s in sessions],
            "replay_mode": [s.replay_mode for s in sessions],
            "created_at": pa.array(
                [_unix_milliseconds(s) for s in sessions], type=pa.timestamp("ms", tz="UTC")
            ),
            "operating_system": [s.operating_system for s in sessions],
            "device_names": [list(s.device_names) for s in sessions],
        },
        len(sessions),
    )


def _clocks_held(results: Sequence[Result]) -> dict[ProcessInfo | None, str]:
    """Say per process what its launches agree on, for reports that do not state clock control."""
    held: dict[ProcessInfo | None, set[bool | None]] = {}
    for result in results:
        held.setdefault(result.process, set()).add(result.is_clock_locked)
    words = {True: "locked", False: "none"}
    return {
        process: words[flag]
        for process, flags in held.items()
        for flag in flags
        if flag is not None and len(flags) == 1
    }


def _version(session: SessionInfo, *providers: str) -> str | None:
    """Return the version that the first of these providers states."""
    return next((session.versions[name] for name in providers if name in session.versions), None)


def _unix_milliseconds(session: SessionInfo) -> int | None:
    """Return the time of creation, unless it is beyond what a calendar knows (a damaged file)."""
    seconds = session.creation_time
    return 1000 * seconds if seconds is not None and seconds < 2**36 else None


def instances_table(path: str, content: NcuRepFile) -> pa.Table:
    """Return the ``instances`` table: one row per instance that was read."""
    found = content.instances
    schema = tables.schema_of(tables.INSTANCES)
    if found is None or not len(found.scalar):
        return schema.empty_table()
    every = np.array(found.scalar, dtype=np.uint32)
    rows = np.flatnonzero(_is_last(content)[every])
    scalar = every[rows]
    launch_id = np.array(content.scalars.result, dtype=np.uint32)[scalar]
    string_index = np.array(content.scalars.name, dtype=np.uint32)[scalar]
    used, name = np.unique(string_index, return_inverse=True)
    starts = np.flatnonzero(np.append(True, scalar[1:] != scalar[:-1]))
    position = np.arange(len(scalar)) - np.repeat(starts, np.diff(np.append(starts, len(scalar))))
    return tables.table_of(
        schema,
        {
            "report": constant(path, len(scalar)),
            "launch_id": pa.array(launch_id),
            "metric": pa.DictionaryArray.from_arrays(
                pa.array(name.astype(np.int32)),
                pa.array([content.strings[i] for i in used.tolist()], type=pa.string()),
            ),
            "instance": pa.array(position.astype(np.uint32)),
            **_correlation_columns(found, rows),
            **_element_columns(found.kind, found.value, found.integer, found.text, rows),
        },
        len(scalar),
    )


def _is_last(content: NcuRepFile) -> NDArray[np.bool_]:
    """Say which stored metric is the last of its name in its launch: the one that counts."""
    index_of = {text: i for i, text in enumerate(dict.fromkeys(content.strings))}
    merged = np.array([index_of[text] for text in content.strings], dtype=np.uint64)
    name = merged[np.array(content.scalars.name, dtype=np.uint32)]
    key = np.array(content.scalars.result, dtype=np.uint64) * len(index_of) + name
    _, first_from_end = np.unique(key[::-1], return_index=True)
    is_last = np.zeros(len(key), dtype=bool)
    is_last[len(key) - 1 - first_from_end] = True
    return is_last


def _correlation_columns(found: InstanceColumns, rows: NDArray[np.intp]) -> dict[str, pa.Array]:
    columns = _element_columns(
        found.correlation_kind,
        found.correlation_value,
        found.correlation_integer,
        found.correlation_text,
        rows,
    )
    return {f"correlation_{name}": column for name, column in columns.items()}


def _element_columns(
    kind: Any, value: Any, integer: Any, text: dict[int, str], rows: NDArray[np.intp]
) -> dict[str, pa.Array]:
    """Return one stored value per row as float64, exact integer and text; null where it is none."""
    kinds = np.array(kind, dtype=np.uint8)[rows]
    is_number = (kinds == MetricKind.INTEGER) | (kinds == MetricKind.DOUBLE)
    texts = pa.nulls(len(rows), pa.string())
    if text:
        texts = pa.array(map(text.get, rows.tolist()), type=pa.string())
    values, integers = np.array(value, dtype=np.float64), np.array(integer, dtype=np.uint64)
    return {
        "value": pa.array(values[rows], mask=~is_number),
        "integer": pa.array(integers[rows], mask=kinds != MetricKind.INTEGER),
        "text": texts,
    }
