"""Traces made from reports: the same launches as nsys would have seen them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nsightlens import tables
from nsightlens.kernels import parse_kernel_names
from nsightlens.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.report import Report

__all__ = ["trace_of", "trace_of_kernels"]

GAP_NS = 1000
LATENCY_NS = 4000
_SAME = (
    "process_id", "device_id", "context_id", "stream_id", "kernel_name", "kernel_demangled_name",
    "nvtx_path", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z",
)  # fmt: skip


def trace_of(
    report: Report,
    rows: Sequence[int] | None = None,
    *,
    factor: float = 0.5,
    without_path: Sequence[int] = (),
    **changed: Any,
) -> Trace:
    """Return the trace of a run that made launches of a report, one after another.

    Parameters
    ----------
    report
        The report.
    rows
        Launches in the order in which the run makes them; None for all, in their order.
    factor
        Duration under nsys over that under ncu.
    without_path
        Positions in ``rows`` of kernels that run in no NVTX range.
    changed
        Columns of the kernels that are not those of the report.
    """
    chosen = list(range(len(report))) if rows is None else list(rows)
    launches = report.launches.take(pa.array(chosen, pa.int64()))
    path = launches["nvtx_path"].cast(pa.string()).to_pylist()
    data: dict[str, Any] = {name: launches[name] for name in _SAME}
    data["nvtx_path"] = [None if at in without_path else one for at, one in enumerate(path)]
    data["duration_ns"] = [round(one * factor) for one in launches["duration_ns"].to_pylist()]
    return trace_of_kernels(len(chosen), **{**data, **changed})


def trace_of_kernels(count: int, **data: Any) -> Trace:
    """Return a trace of kernels that run one after another, ``GAP_NS`` apart."""
    duration = np.array(data["duration_ns"], dtype=np.int64)
    start = np.cumsum(np.append(0, duration + GAP_NS))[:-1] + LATENCY_NS
    families = parse_kernel_names(data["kernel_demangled_name"])
    kernels = tables.table_of(
        tables.schema_of(tables.TRACE_KERNELS),
        {
            "trace": ["run.sqlite"] * count,
            "kernel_id": np.arange(count, dtype=np.uint32),
            "start_ns": start,
            "end_ns": start + duration,
            "api_start_ns": start - LATENCY_NS,
            "kernel": families["short_name"],
            "family": families["family"],
            "subtype": families["subtype"],
            **data,
        },
        count,
    )
    empty = {
        name: tables.empty_table(getattr(tables, f"TRACE_{name.upper()}"))
        for name in (
            "copies", "memsets", "graph_launches", "synchronizations", "api_calls", "ranges",
            "gpus", "gpu_metrics", "sessions",
        )
    }  # fmt: skip
    return Trace(kernels=kernels, source="run.sqlite", **empty)
