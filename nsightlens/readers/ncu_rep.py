"""The native reader: what `nsightlens.ncurep` found in a file, as the tables of a `Report`.

Identity comes from the results themselves, every measured column from `nsightlens.metrics`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens import tables
from nsightlens.metric_store import MetricStore
from nsightlens.metrics import derive_launch_columns, launches_schema, stall_table
from nsightlens.ncurep import read_ncu_rep
from nsightlens.patterns import pattern_of
from nsightlens.readers.columns import category, constant, shown_path
from nsightlens.readers.side_tables import (
    instances_table,
    nvtx_table,
    rules_table,
    sessions_table,
)
from nsightlens.report import Report

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nsightlens.ncurep.model import (
        NcuRepFile,
        NvtxDomainState,
        Result,
    )

__all__ = ["report_from_ncu_rep"]

DEFAULT_DOMAIN = "<default domain>"


def report_from_ncu_rep(
    path: str,
    *,
    instances: bool | Sequence[str] = False,
    on_error: Literal["raise", "salvage"] = "raise",
    progress: Callable[[str, int, int], None] | None = None,
) -> Report:
    """Read one .ncu-rep file into a `Report`; see `nsightlens.readers.open_report`."""
    content = read_ncu_rep(
        path,
        instances=_instance_filter(instances),
        on_error=on_error,
        progress=None if progress is None else lambda done, total: progress(path, done, total),
    )
    path = shown_path(path)
    store = _metric_store(content)
    launches, origins = _launches(path, content, store)
    key = (launches["report"].combine_chunks(), launches["launch_id"].combine_chunks())
    return Report(
        launches=launches,
        stalls=stall_table(store, *key),
        rules=rules_table(path, content.results),
        nvtx=nvtx_table(path, content.results),
        sessions=sessions_table(path, content.sessions, content.results),
        store=store,
        sources=(path,),
        warnings=_warnings(path, content),
        instances=instances_table(path, content),
        column_origins=origins,
    )


def _warnings(path: str, content: NcuRepFile) -> tuple[str, ...]:
    damage = content.damage
    if damage is None:
        return ()
    count = len(content.results)
    read = f"{count} sound launch{'es' if count != 1 else ''}"
    return (f"{path}: damaged at byte {damage.offset}, {read} salvaged: {damage.problem}",)


def _instance_filter(wanted: bool | Sequence[str]) -> Callable[[str], bool] | Literal[True] | None:
    if isinstance(wanted, bool):
        return True if wanted else None
    patterns = [pattern_of(name) for name in wanted]
    return lambda name: any(pattern.match(name) for pattern in patterns)


def _metric_store(content: NcuRepFile) -> MetricStore:
    """Keep the names that occur; the string table also defines many that no result uses."""
    scalars = content.scalars
    string_index = (
        np.frombuffer(scalars.name, dtype=np.uint32) if scalars.name else np.empty(0, np.uint32)
    )
    used, name = np.unique(string_index, return_inverse=True)
    names = [content.strings[i] for i in used.tolist()]
    # Two string indices may spell the same name: it is one metric.
    distinct = {text: i for i, text in enumerate(dict.fromkeys(names))}
    merge = np.array([distinct[text] for text in names] or [0], dtype=np.uint32)
    return MetricStore(
        launch_count=len(content.results),
        names=tuple(distinct),
        row=np.array(scalars.result, dtype=np.uint32),
        name=merge[name] if len(name) else np.empty(0, np.uint32),
        kind=np.array(scalars.kind, dtype=np.uint8),
        value=np.array(scalars.value, dtype=np.float64),
        integer=np.array(scalars.integer, dtype=np.uint64),
        text=dict(scalars.text),
    )


def _launches(
    path: str, content: NcuRepFile, store: MetricStore
) -> tuple[pa.Table, dict[str, pa.Array]]:
    results = content.results
    measured, origins = derive_launch_columns(store)
    identity: dict[str, Any] = {
        "report": constant(path, len(results)),
        "launch_id": pa.array(np.arange(len(results), dtype=np.uint32)),
        "kind": category(r.kind for r in results),
        "process_id": [r.process.process_id if r.process else None for r in results],
        "process_name": category(r.process.process_name if r.process else None for r in results),
        "context_id": [r.context_id for r in results],
        "stream_id": [r.stream_id for r in results],
        "thread_id": [r.thread_id for r in results],
        "api_call_id": [r.api_call_id for r in results],
        "kernel_name": category(r.function_name for r in results),
        "kernel_demangled_name": category(r.demangled_name for r in results),
        "kernel_mangled_name": category(r.mangled_name for r in results),
        "nvtx_path": category(_nvtx_path(r.nvtx) for r in results),
        "is_clock_locked": [r.is_clock_locked for r in results],
        "is_unsupported_device": [r.is_unsupported_device for r in results],
    }
    identity |= _launch_configuration(results)
    types = {column.name: column.type for column in tables.LAUNCHES}
    columns = dict(measured)
    for name, values in identity.items():
        own = values if isinstance(values, pa.Array) else pa.array(values, type=types[name])
        columns[name] = _first_known(own, measured.get(name))
    return tables.table_of(launches_schema(), columns, len(results)), origins


def _first_known(own: pa.Array, derived: pa.Array | None) -> pa.Array:
    """Fill what the result itself does not say from the column that its metrics gave."""
    if derived is None or not own.null_count:
        return own
    plain = own.cast(own.type.value_type) if pa.types.is_dictionary(own.type) else own
    return pc.coalesce(plain, derived.cast(plain.type))


def _launch_configuration(results: Sequence[Result]) -> dict[str, list[int | None]]:
    """Grid and block of each result; the 0,0,0 of a failed collection is no grid."""
    grids = [r.grid if r.grid and all(r.grid) else (None, None, None) for r in results]
    blocks = [r.block if r.block and all(r.block) else (None, None, None) for r in results]
    columns: dict[str, list[int | None]] = {}
    for axis, letter in enumerate("xyz"):
        columns[f"grid_{letter}"] = [grid[axis] for grid in grids]
        columns[f"block_{letter}"] = [block[axis] for block in blocks]
    columns["grid_block_count"] = [_volume(grid) for grid in grids]
    columns["block_thread_count"] = [_volume(block) for block in blocks]
    return columns


def _volume(extent: tuple[int | None, int | None, int | None]) -> int | None:
    x, y, z = extent
    if x is None or y is None or z is None:
        return None
    return min(x * y * z, 2**64 - 1)  # a damaged file may claim any extent


def _nvtx_path(state: tuple[NvtxDomainState, ...] | None) -> str | None:
    if not state:
        return None
    parts = []
    for domain in state:
        prefix = "" if domain.name == DEFAULT_DOMAIN else f"{domain.name}@"
        if domain.push_pop:
            parts.append(prefix + "/".join(r.name for r in domain.push_pop))
        parts.extend(prefix + r.name for r in domain.start_end)
    return ";".join(parts) or None
