"""Metric stores with known content, from one dictionary per launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from nsightlens import tables
from nsightlens.metric_store import ABSENT, MetricStore, store_of_values
from nsightlens.metrics import derive_launch_columns, launches_schema, stall_table
from nsightlens.report import Report

if TYPE_CHECKING:
    from collections.abc import Mapping

    Metrics = Mapping[str, float | int | str | None]

REPORT = "a.ncu-rep"

CONFIGURED: dict[str, float | int | str | None] = {
    "launch__grid_size": 264,
    "launch__block_size": 256,
    "gpu__time_duration.sum": 2000.0,
    "device__attribute_display_name": "NVIDIA H100 PCIe",
    "device__attribute_compute_capability_major": 9,
    "device__attribute_compute_capability_minor": 0,
}
"""What every sound launch has at the least."""

FAILED: dict[str, float | int | str | None] = {
    "gpu__time_duration.sum": float("nan"),
    "device__attribute_display_name": "NVIDIA H100 PCIe",
    "profiler__replayer_passes": 1,
}
"""A launch that the profiler cut short: no launch__*, no duration."""


def store_of(*launches: Metrics) -> MetricStore:
    """Return a store; an int, a float, a str and None become the four kinds of value."""
    names = dict.fromkeys(name for metrics in launches for name in metrics)
    return store_of_values(
        len(launches), {name: [one.get(name, ABSENT) for one in launches] for name in names}
    )


def launch_keys(count: int) -> tuple[pa.Array, pa.Array]:
    """Return the ``report`` and ``launch_id`` columns of launches of one report."""
    return (
        pa.array([REPORT] * count, type=pa.string()).dictionary_encode(),
        pa.array(range(count), type=pa.uint32()),
    )


def report_of(*launches: Metrics) -> Report:
    """Return a report with nothing but what metrics say."""
    store = store_of(*launches)
    report, launch_id = launch_keys(len(launches))
    columns, origins = derive_launch_columns(store)
    return Report(
        launches=tables.table_of(
            launches_schema(),
            {**columns, "report": report, "launch_id": launch_id},
            len(launches),
        ),
        stalls=stall_table(store, report, launch_id),
        rules=tables.empty_table(tables.RULES),
        nvtx=tables.empty_table(tables.NVTX),
        sessions=tables.empty_table(tables.SESSIONS),
        store=store,
        sources=(REPORT,),
        column_origins=origins,
    )
