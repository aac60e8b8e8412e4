"""The native reader: what `nsightlens.ncurep` found in a file, as the tables of a `Report`.

Identity comes from the results themselves, every measured column from `nsightlens.metrics`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens import tables
from nsightlens.arrays import number_array, run_starts
from nsightlens.errors import ReportFormatError
from nsightlens.metrics import derive_launch_columns, launches_schema, stall_table
from nsightlens.ncurep import read_columns
from nsightlens.ncurep.container import KINDS
from nsightlens.ncurep.faults import MADE_TO_FILL
from nsightlens.ncurep.model import DEFAULT_DOMAIN
from nsightlens.patterns import matcher_of
from nsightlens.readers.columns import (
    alone_in_range,
    category,
    constant,
    encoded,
    first_known,
    joined_runs,
    shown_path,
)
from nsightlens.readers.side_tables import (
    instances_table,
    nvtx_table,
    rules_table,
    sessions_table,
)
from nsightlens.report import Report

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nsightlens.ncurep.columns import FileColumns

__all__ = ["report_from_ncu_rep", "report_of_columns"]


def report_from_ncu_rep(
    path: str,
    *,
    shown: str,
    instances: bool | Sequence[str] = False,
    on_error: Literal["raise", "salvage"] = "raise",
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Read one .ncu-rep file into a `Report`; see `nsightlens.readers.open_report`.

    ``shown`` is what tables and messages call it; ``path`` may be the temporary copy of another.
    """
    content = read_columns(
        path,
        shown=shown,
        instances=_instance_filter(instances),
        on_error=on_error,
        progress=progress,
    )
    return report_of_columns(content)


def report_of_columns(content: FileColumns) -> Report:
    """Return what was read of one file, by whichever reader, as a `Report`."""
    name = shown_path(content.path)
    launches, origins = _launches(name, content)
    key = (launches["report"].combine_chunks(), launches["launch_id"].combine_chunks())
    return Report(
        launches=launches,
        stalls=stall_table(content.store, *key),
        rules=rules_table(name, content.rules),
        nvtx=nvtx_table(name, content.nvtx),
        sessions=sessions_table(name, content),
        store=content.store,
        sources=(name,),
        warnings=_warnings(name, content),
        instances=instances_table(name, content.instances),
        column_origins=origins,
    )


def _warnings(path: str, content: FileColumns) -> tuple[str, ...]:
    damage = content.damage
    if damage is None:
        return ()
    count = content.launches.num_rows
    read = f"{count} sound launch{'es' if count != 1 else ''}"
    return (f"{path}: damaged at byte {damage.offset}, {read} salvaged: {damage.problem}",)


def _instance_filter(wanted: bool | Sequence[str]) -> Callable[[str], bool] | Literal[True] | None:
    if isinstance(wanted, bool):
        return True if wanted else None
    return matcher_of(wanted)


def _launches(path: str, content: FileColumns) -> tuple[pa.Table, dict[str, pa.Array]]:
    own = content.launches.combine_chunks()
    count = own.num_rows
    measured, origins = derive_launch_columns(content.store)
    process = own["process"].combine_chunks()
    nvtx_path = _nvtx_path(path, content.nvtx, count)
    identity: dict[str, Any] = {
        "report": constant(path, count),
        "launch_id": number_array(np.arange(count, dtype=np.uint32)),
        "kind": pa.DictionaryArray.from_arrays(
            own["kind"].combine_chunks().cast(pa.int32()), pa.array(KINDS)
        ),
        "process_id": pa.array(
            [one.process_id for one in content.processes], type=pa.uint32()
        ).take(process),
        "process_name": category(one.process_name for one in content.processes).take(process),
        "kernel_name": encoded(own["function_name"]),
        "kernel_demangled_name": encoded(own["demangled_name"]),
        "kernel_mangled_name": encoded(own["mangled_name"]),
        "nvtx_path": nvtx_path,
        "is_alone_in_range": alone_in_range(nvtx_path),
        **{
            name: own[name].combine_chunks()
            for name in (
                "context_id", "stream_id", "thread_id", "api_call_id", "is_clock_locked",
                "is_unsupported_device",
            )
        },
        **_launch_configuration(own),
    }  # fmt: skip
    types = {column.name: column.type for column in tables.LAUNCHES}
    columns = dict(measured)
    for name, values in identity.items():
        # Text is encoded by `table_of`: older pyarrow cannot cast to a dictionary.
        is_text = pa.types.is_dictionary(types[name])
        array = values if is_text else values.cast(types[name])
        columns[name] = first_known(array, measured.get(name))
    return tables.table_of(launches_schema(), columns, count), origins


def _launch_configuration(own: pa.Table) -> dict[str, pa.Array]:
    """Grid and block of each result; the 0,0,0 of a failed collection is no grid."""
    columns: dict[str, pa.Array] = {}
    for extent, total in (("grid", "grid_block_count"), ("block", "block_thread_count")):
        axes = [own[f"{extent}_{axis}"].combine_chunks() for axis in "xyz"]
        sizes = [np.asarray(axis.fill_null(0)) for axis in axes]
        is_known = np.all([size > 0 for size in sizes], axis=0)
        for axis, size in zip("xyz", sizes, strict=True):
            columns[f"{extent}_{axis}"] = number_array(size, is_known)
        columns[total] = number_array(_volume(*sizes), is_known)
    return columns


def _volume(x: Any, y: Any, z: Any) -> Any:
    """Return the product, at most 2**64 - 1: a damaged file may claim any extent."""
    with np.errstate(over="ignore"):
        product = x * y * z
    is_small = x.astype(float) * y * z < 2.0**63
    # Few are beyond what floats tell apart; those are multiplied exactly.
    for i in np.flatnonzero(~is_small):
        product[i] = min(int(x[i]) * int(y[i]) * int(z[i]), 2**64 - 1)
    return product


_LONGEST_PREFIXES = 1 << 26
"""[character] Of the NVTX paths of a file: far beyond what a program to be read by people has."""


def _nvtx_path(path: str, ranges: pa.Table, launch_count: int) -> pa.Array:
    """Return the ranges of each launch as one text: stacks with /, domains and others with ;.

    Raises
    ------
    ReportFormatError
        Together they would fill the memory: each repeats the names of its ranges and domains.
    """
    if not ranges.num_rows:
        return pa.nulls(launch_count, pa.string())
    launch = np.asarray(ranges["launch"])
    is_start_end = np.asarray(ranges["depth"].is_null())
    # A stack of a domain is one part of the path, a start/end range another.
    starts = np.flatnonzero(
        run_starts(launch, np.asarray(ranges["domain_index"]))
        | is_start_end
        | np.append(False, is_start_end[:-1])
    )
    names = ranges["name"].combine_chunks()
    stacks = joined_runs(names, starts, "/")
    domain = ranges["domain"].combine_chunks().take(number_array(starts))
    spelled = ["" if one == DEFAULT_DOMAIN else f"{one}@" for one in domain.dictionary.to_pylist()]
    code = domain.indices
    sizes = np.array([len(one) for one in spelled])[np.asarray(code)]
    if sizes.sum() > _LONGEST_PREFIXES:
        raise ReportFormatError(
            path,
            f"its NVTX paths would take {sizes.sum() / 1e9:.1f} GB, with a domain's name of "
            f"{max(map(len, spelled))} characters repeated for every launch",
            MADE_TO_FILL,
        )
    prefix = pa.array(spelled, type=pa.string()).take(code)
    parts = pc.binary_join_element_wise(prefix, stacks, "")
    launch = launch[starts]
    starts = np.flatnonzero(run_starts(launch))
    paths = joined_runs(parts, starts, ";")
    row = np.full(launch_count, -1, dtype=np.int64)
    row[launch[starts]] = np.arange(len(starts))
    of_launch = paths.take(number_array(row, row >= 0))
    return pc.if_else(pc.equal(of_launch, ""), pa.scalar(None, pa.string()), of_launch)
