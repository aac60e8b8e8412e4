"""The tables beside ``launches``: rules, NVTX ranges, sessions, instances of one report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from nsightlens import tables
from nsightlens.arrays import number_array
from nsightlens.readers.columns import constant, encoded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.ncurep.columns import FileColumns
    from nsightlens.ncurep.model import ProcessInfo, SessionInfo

__all__ = ["instances_table", "nvtx_table", "rules_table", "sessions_table"]

# The numbers of the file, in its order.
_SEVERITIES = ("none", "ok", "warning", "error", "optimization")
_NCU_PROVIDERS = ("Nsight Compute Target", "Nsight Compute Host", "Nsight Compute")
_SPEEDUP_SCOPES = ("unknown", "local", "global")


def rules_table(path: str, rules: pa.Table) -> pa.Table:
    """Return the ``rules`` table: one row per message."""
    return tables.table_of(
        tables.schema_of(tables.RULES),
        {
            "report": constant(path, rules.num_rows),
            "launch_id": rules["launch"],
            "rule": encoded(rules["rule"]),
            "rule_name": encoded(rules["rule_name"]),
            "section": encoded(rules["section"]),
            "severity": _named(_SEVERITIES, rules["severity"]),
            "title": rules["title"],
            "message": rules["message"],
            "estimated_speedup_pct": rules["speedup_pct"],
            "speedup_scope": _named(_SPEEDUP_SCOPES, rules["speedup_scope"]),
        },
        rules.num_rows,
    )


def _named(names: Sequence[str], numbers: pa.ChunkedArray) -> pa.DictionaryArray:
    """Return the name of each number; one that has none is spelled as it is."""
    column = numbers.combine_chunks().dictionary_encode()
    known = dict(enumerate(names))
    spelled = [known.get(number, str(number)) for number in column.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(column.indices, pa.array(spelled, type=pa.string()))


def nvtx_table(path: str, ranges: pa.Table) -> pa.Table:
    """Return the ``nvtx`` table: one row per range that was open at a launch."""
    is_start_end = np.asarray(ranges["depth"].is_null())
    return tables.table_of(
        tables.schema_of(tables.NVTX),
        {
            "report": constant(path, ranges.num_rows),
            "launch_id": ranges["launch"],
            "domain": encoded(ranges["domain"]),
            "range_kind": pa.DictionaryArray.from_arrays(
                number_array(is_start_end.astype(np.int32)), pa.array(["push_pop", "start_end"])
            ),
            "name": encoded(ranges["name"]),
            **{
                name: ranges[name]
                for name in (
                    "depth", "thread_id", "range_id", "category", "color", "payload", "message",
                )
            },
        },
        ranges.num_rows,
    )  # fmt: skip


def sessions_table(path: str, content: FileColumns) -> pa.Table:
    """Return the ``sessions`` table: one row per profiled process."""
    sessions = content.sessions
    held = _clocks_held(content)
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


def _clocks_held(content: FileColumns) -> dict[ProcessInfo | None, str]:
    """Say per process what its launches agree on, for reports that do not state clock control."""
    columns = [content.launches[name].combine_chunks() for name in ("process", "is_clock_locked")]
    process, is_locked = (np.asarray(column.cast(pa.int32()).fill_null(-1)) for column in columns)
    counts = np.zeros((len(content.processes) + 1, 3), dtype=np.intp)
    np.add.at(counts, (process, is_locked), 1)  # -1 counts in the last place
    launch_count = counts.sum(axis=1)
    held: dict[ProcessInfo | None, str] = {}
    for state, word in enumerate(("none", "locked")):
        agree = np.flatnonzero((counts[:, state] == launch_count) & (launch_count > 0))
        everyone = (*content.processes, None)
        held |= {everyone[number]: word for number in agree.tolist()}
    return held


def _version(session: SessionInfo, *providers: str) -> str | None:
    """Return the version that the first of these providers states."""
    return next((session.versions[name] for name in providers if name in session.versions), None)


def _unix_milliseconds(session: SessionInfo) -> int | None:
    """Return the time of creation, unless it is beyond what a calendar knows (a damaged file)."""
    seconds = session.creation_time
    return 1000 * seconds if seconds is not None and seconds < 2**36 else None


def instances_table(path: str, instances: pa.Table) -> pa.Table:
    """Return the ``instances`` table: one row per instance that was read."""
    return tables.table_of(
        tables.schema_of(tables.INSTANCES),
        {
            "report": constant(path, instances.num_rows),
            "launch_id": instances["launch"],
            "metric": encoded(instances["metric"]),
            **{
                name: instances[name]
                for name in (
                    "instance", "correlation_integer", "correlation_value", "correlation_text",
                    "value", "integer", "text",
                )
            },
        },
        instances.num_rows,
    )  # fmt: skip
