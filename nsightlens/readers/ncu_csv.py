"""The reader of ``ncu --csv``: what `nsightlens.ncucsv` found, as the tables of a `Report`.

The same tables as from a .ncu-rep file, as far as the text tells: identity comes from the first
columns of the rows, every measured column from `nsightlens.metrics`. Each value keeps the rounding
with which it was printed (`MetricStore.rounding`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from nsightlens import tables
from nsightlens.arrays import number_array
from nsightlens.kernels.spelling import spelled
from nsightlens.metric_store import ABSENT, MetricStore, store_of_values
from nsightlens.metrics import derive_launch_columns, launches_schema, stall_table
from nsightlens.ncucsv import read_ncu_csv
from nsightlens.ncurep.model import DEFAULT_DOMAIN
from nsightlens.readers.columns import (
    alone_in_range,
    category,
    constant,
    first_known,
    shown_path,
)
from nsightlens.readers.printed_units import is_unit_of
from nsightlens.report import Report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.ncucsv import Cell, CsvLaunch, CsvNvtxRange, CsvRule, NcuCsvFile

__all__ = ["report_from_ncu_csv"]

# ncu's words for the type of a message; it has one for "none" and "ok".
_SEVERITIES = {"INF": "ok", "OK": "ok", "OPT": "optimization", "WRN": "warning", "ERR": "error"}

# What stands under "Kernel Name" where the result is no kernel.
_OTHER_KINDS = ("range", "graph", "cmdlist")


def report_from_ncu_csv(
    name: str,
    content: bytes | str,
    *,
    on_error: Literal["raise", "salvage"] = "raise",
) -> Report:
    """Read the text that ncu prints with ``--csv`` into a `Report`.

    Parameters
    ----------
    name
        What tables and messages call the file.
    content
        What it holds.
    on_error
        ``"raise"``: a text that was cut is an error. ``"salvage"``: the launches before the cut
        are returned, and the cut stands in ``Report.warnings``.

    Returns
    -------
    Report
        With at least one launch. What the text does not tell is null.

    Raises
    ------
    ReportFormatError
        The text is no table of launches, or is damaged; the message says what it is.
    """
    path = shown_path(name)
    file = read_ncu_csv(path, content, on_error=on_error, is_unit_of=is_unit_of)
    store = _store_of(file)
    launches, origins = _launches_table(path, file, store)
    key = (launches["report"].combine_chunks(), launches["launch_id"].combine_chunks())
    return Report(
        launches=launches,
        stalls=stall_table(store, *key),
        rules=_rules_table(path, file.rules),
        nvtx=_nvtx_table(path, file.launches),
        sessions=_sessions_table(path, file.launches, launches["device_name"].to_pylist()),
        store=store,
        sources=(path,),
        warnings=_warnings(path, file),
        column_origins=origins,
    )


def _warnings(path: str, file: NcuCsvFile) -> tuple[str, ...]:
    told = tuple(f"{path}: {warning}" for warning in file.warnings)
    if file.damage is None:
        return told
    count = len(file.launches)
    read = f"{count} sound launch{'es' if count != 1 else ''}"
    place = " > ".join(file.damage.where)
    return (f"{path}: damaged in {place}, {read} salvaged: {file.damage.problem}", *told)


def _store_of(file: NcuCsvFile) -> MetricStore:
    return store_of_values(
        len(file.launches),
        {
            name: [ABSENT if cell is None else cell.value for cell in column]
            for name, column in file.metrics.items()
        },
        {name: _rounding_of(column) for name, column in file.metrics.items()},
    )


def _rounding_of(column: Sequence[Cell | None]) -> Any:
    return np.array([0.0 if cell is None else cell.rounding for cell in column])


def _launches_table(
    path: str, file: NcuCsvFile, store: MetricStore
) -> tuple[pa.Table, dict[str, pa.Array]]:
    launches = file.launches
    measured, origins = derive_launch_columns(store)
    kinds = [_kind_of(launch) for launch in launches]
    names = [
        launch.kernel_name if kind == "kernel" else None
        for launch, kind in zip(launches, kinds, strict=True)
    ]
    nvtx_path = category(_nvtx_path(launch) for launch in launches)
    own: dict[str, Any] = {
        "report": constant(path, len(launches)),
        "launch_id": number_array(np.arange(len(launches), dtype=np.uint32)),
        "kind": category(kinds),
        "process_id": [launch.process_id for launch in launches],
        "process_name": category(launch.process_name for launch in launches),
        "device_id": [launch.device_id for launch in launches],
        "compute_capability": category(launch.compute_capability for launch in launches),
        "context_id": [launch.context_id for launch in launches],
        "stream_id": [launch.stream_id for launch in launches],
        "thread_id": [_thread_of(launch) for launch in launches],
        "kernel_name": category(spelled(name).identifier if name else None for name in names),
        "kernel_demangled_name": category(names),
        "kernel_mangled_name": category(
            name if name and name.startswith("_Z") else None for name in names
        ),
        "nvtx_path": nvtx_path,
        "is_alone_in_range": alone_in_range(nvtx_path),
        **_extents("grid", "grid_block_count", [launch.grid for launch in launches]),
        **_extents("block", "block_thread_count", [launch.block for launch in launches]),
    }
    types = {column.name: column.type for column in tables.LAUNCHES}
    columns = dict(measured)
    for name, values in own.items():
        array = values if isinstance(values, pa.Array) else pa.array(values, type=types[name])
        columns[name] = first_known(array, measured.get(name))
    return tables.table_of(launches_schema(), columns, len(launches)), origins


def _kind_of(launch: CsvLaunch) -> str:
    name = launch.kernel_name
    is_other = name in _OTHER_KINDS and launch.grid is None and launch.block is None
    return name if name is not None and is_other else "kernel"


def _extents(
    name: str, product: str, extents: Sequence[tuple[int, int, int] | None]
) -> dict[str, list[int | None]]:
    columns: dict[str, list[int | None]] = {
        f"{name}_{letter}": [None if one is None else one[axis] for one in extents]
        for axis, letter in enumerate("xyz")
    }
    # A damaged text may claim any extent.
    columns[product] = [
        None if one is None else min(one[0] * one[1] * one[2], 2**64 - 1) for one in extents
    ]
    return columns


def _thread_of(launch: CsvLaunch) -> int | None:
    return next((r.thread_id for r in launch.nvtx if r.thread_id is not None), None)


def _nvtx_path(launch: CsvLaunch) -> str | None:
    if not launch.nvtx:
        return launch.nvtx_text
    domains: dict[str, list[CsvNvtxRange]] = {}
    for one in launch.nvtx:
        domains.setdefault(one.domain, []).append(one)
    parts = []
    for domain, ranges in domains.items():
        prefix = "" if domain == DEFAULT_DOMAIN else f"{domain}@"
        stack = [one.name for one in ranges if one.is_push_pop]
        if stack:
            parts.append(prefix + "/".join(stack))
        parts.extend(prefix + one.name for one in ranges if not one.is_push_pop)
    return ";".join(parts)


def _rules_table(path: str, rules: Sequence[CsvRule]) -> pa.Table:
    return tables.table_of(
        tables.schema_of(tables.RULES),
        {
            "report": constant(path, len(rules)),
            "launch_id": [rule.launch for rule in rules],
            "rule": category(rule.rule for rule in rules),
            "section": category(rule.section for rule in rules),
            "severity": category(_SEVERITIES.get(rule.kind, rule.kind or None) for rule in rules),
            "message": [rule.message for rule in rules],
            "estimated_speedup_pct": [rule.speedup_pct for rule in rules],
            "speedup_scope": category(rule.speedup_scope for rule in rules),
        },
        len(rules),
    )


def _nvtx_table(path: str, launches: Sequence[CsvLaunch]) -> pa.Table:
    rows: list[tuple[int, int | None, CsvNvtxRange]] = []
    for launch_id, launch in enumerate(launches):
        depths: dict[str, int] = {}
        for one in launch.nvtx:
            depth = depths.get(one.domain, 0) if one.is_push_pop else None
            if depth is not None:
                depths[one.domain] = depth + 1
            rows.append((launch_id, depth, one))
    ranges = [one for _, _, one in rows]
    return tables.table_of(
        tables.schema_of(tables.NVTX),
        {
            "report": constant(path, len(rows)),
            "launch_id": [launch_id for launch_id, _, _ in rows],
            "domain": category(one.domain for one in ranges),
            "range_kind": category(
                "push_pop" if one.is_push_pop else "start_end" for one in ranges
            ),
            "depth": [depth for _, depth, _ in rows],
            "name": category(one.name for one in ranges),
            "thread_id": [one.thread_id for one in ranges],
            "range_id": [one.range_id for one in ranges],
            "payload": [one.payload for one in ranges],
            "message": [one.message for one in ranges],
        },
        len(rows),
    )


def _sessions_table(
    path: str, launches: Sequence[CsvLaunch], device_names: Sequence[str | None]
) -> pa.Table:
    """Return one session per process, with the GPUs on which its kernels ran."""
    devices: dict[tuple[int | None, str | None, str | None], dict[str, None]] = {}
    for launch, device in zip(launches, device_names, strict=True):
        process = (launch.process_id, launch.process_name, launch.host_name)
        found = devices.setdefault(process, {})
        if device is not None:
            found[device] = None
    return tables.table_of(
        tables.schema_of(tables.SESSIONS),
        {
            "report": constant(path, len(devices)),
            "session_id": list(range(len(devices))),
            "process_id": [process_id for process_id, _, _ in devices],
            "process_name": [name for _, name, _ in devices],
            "host_name": [host for _, _, host in devices],
            "device_names": [list(found) for found in devices.values()],
        },
        len(devices),
    )
