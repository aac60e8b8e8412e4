"""One Arrow schema per table: name, type, unit and meaning of every column.

This is the contract that everything to the right of it (see ``docs/architecture.md``) builds on.
A column that a report cannot fill is null, never zero. ``SCHEMA_VERSION`` rises when a column
changes its name, type, unit or meaning; a new column alone does not raise it.

- `nsightlens.tables.column`: what a table is made of.
- `nsightlens.tables.of_launches`, `nsightlens.tables.of_reports`: what a report holds.
- `nsightlens.tables.of_labels`: what `nsightlens.classify` says of it.
- `nsightlens.tables.of_datasets`: what a dataset of many reports adds.
- `nsightlens.tables.of_serving`: what serving benchmarks say, and the advisor works on.
- `nsightlens.tables.of_sweeps`: what `nsightlens.sweep` says of a sweep over batch sizes.
- `nsightlens.tables.of_comparisons`: what `nsightlens.compare` says of two sides, and a gate.
- `nsightlens.tables.of_joined`: launches of a report beside kernels of a trace.
- `nsightlens.tables.of_timelines`: what `nsightlens.timeline` says of a trace.
- `nsightlens.tables.of_traces`: what a trace of Nsight Systems holds.
"""

from __future__ import annotations

from nsightlens.tables.column import SCHEMA_VERSION, Column, empty_table, schema_of, table_of
from nsightlens.tables.of_comparisons import COMPARED, COMPARISON, COMPARISON_FAMILIES, GATE
from nsightlens.tables.of_datasets import REPORT_ID, REPORTS
from nsightlens.tables.of_joined import JOINED, JOINED_FAMILIES
from nsightlens.tables.of_labels import LABELS, RESOURCES, ROOFLINES
from nsightlens.tables.of_launches import FLOP_COUNT_COLUMNS, LAUNCHES
from nsightlens.tables.of_reports import (
    INSTANCES,
    METRICS,
    NVTX,
    RULES,
    SESSIONS,
    STALL_REASONS,
    STALLS,
)
from nsightlens.tables.of_serving import (
    ADVICE_CURVE,
    ADVICE_REPLICAS,
    SERVING_FILES,
    SERVING_ORIGINS,
    SERVING_RUNS,
)
from nsightlens.tables.of_sweeps import SWEEP, SWEEP_STEPS, SWEEP_TRENDS
from nsightlens.tables.of_timelines import (
    TIMELINE_ADVICE,
    TIMELINE_COPIES,
    TIMELINE_FAMILIES,
    TIMELINE_GAPS,
    TIMELINE_RUNS,
    TIMELINE_STEPS,
)
from nsightlens.tables.of_traces import (
    TRACE_API_CALLS,
    TRACE_COPIES,
    TRACE_GPU_METRICS,
    TRACE_GPUS,
    TRACE_GRAPH_LAUNCHES,
    TRACE_KERNELS,
    TRACE_MEMSETS,
    TRACE_RANGES,
    TRACE_SESSIONS,
    TRACE_SYNCHRONIZATIONS,
)

__all__ = [
    "ADVICE_CURVE",
    "ADVICE_REPLICAS",
    "COMPARED",
    "COMPARISON",
    "COMPARISON_FAMILIES",
    "FLOP_COUNT_COLUMNS",
    "GATE",
    "INSTANCES",
    "JOINED",
    "JOINED_FAMILIES",
    "LABELS",
    "LAUNCHES",
    "METRICS",
    "NVTX",
    "REPORTS",
    "REPORT_ID",
    "RESOURCES",
    "ROOFLINES",
    "RULES",
    "SCHEMA_VERSION",
    "SERVING_FILES",
    "SERVING_ORIGINS",
    "SERVING_RUNS",
    "SESSIONS",
    "STALLS",
    "STALL_REASONS",
    "SWEEP",
    "SWEEP_STEPS",
    "SWEEP_TRENDS",
    "TIMELINE_ADVICE",
    "TIMELINE_COPIES",
    "TIMELINE_FAMILIES",
    "TIMELINE_GAPS",
    "TIMELINE_RUNS",
    "TIMELINE_STEPS",
    "TRACE_API_CALLS",
    "TRACE_COPIES",
    "TRACE_GPUS",
    "TRACE_GPU_METRICS",
    "TRACE_GRAPH_LAUNCHES",
    "TRACE_KERNELS",
    "TRACE_MEMSETS",
    "TRACE_RANGES",
    "TRACE_SESSIONS",
    "TRACE_SYNCHRONIZATIONS",
    "Column",
    "empty_table",
    "schema_of",
    "table_of",
]
