"""What a report printed as CSV and read back says otherwise than the report itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nsightlens.metric_store import MetricKind

if TYPE_CHECKING:
    from nsightlens.report import Report

# What the first columns of the text tell; a mangled name they do not.
_IDENTITY = (
    "launch_id", "kind", "process_id", "process_name", "device_id", "compute_capability",
    "context_id", "stream_id", "kernel_name", "kernel_demangled_name", "grid_x", "grid_y",
    "grid_z", "block_x", "block_y", "block_z", "grid_block_count", "block_thread_count",
    "device_name", "is_failed_collection",
)  # fmt: skip


def differences_of_metrics(report: Report, read: Report) -> list[str]:
    """Compare every value of every metric within the rounding that the read one states."""
    names, names_read = _names(report), _names(read)
    found = [f"{name} is not there" for name in names - names_read]
    found += [f"{name} is new" for name in names_read - set(report.store.names)]
    for name in sorted(names & names_read):
        found += _differences_of(name, report, read)
    return found


def _names(report: Report) -> set[str]:
    """Return the metrics, but for those of which every value is an empty text.

    An empty cell is also how ncu prints that a launch does not have the metric.
    """
    return {name for name in report.store.names if not _is_empty(report, name).all()}


def _is_empty(report: Report, name: str) -> Any:
    kinds = report.store.kind(name)
    is_text = kinds == MetricKind.TEXT
    if not is_text.any():
        return kinds == MetricKind.ABSENT
    texts = np.array([text == "" for text in report.store.column(name).to_pylist()])
    return (kinds == MetricKind.ABSENT) | (is_text & texts)


def _differences_of(name: str, report: Report, read: Report) -> list[str]:
    kinds, kinds_read = report.store.kind(name), read.store.kind(name)
    compared = ~_is_empty(report, name)
    for kind in (MetricKind.ABSENT, MetricKind.NULL, MetricKind.TEXT):
        if ((kinds == kind) != (kinds_read == kind))[compared].any():
            return [f"{name} is of another kind"]
    if (kinds == MetricKind.TEXT).any():
        texts = (report.store.column(name).to_pylist(), read.store.column(name).to_pylist())
        return [] if texts[0] == texts[1] else [f"{name} is another text"]
    values, values_read = report.store.number(name)[0], read.store.number(name)[0]
    rounding = read.store.rounding(name)
    with np.errstate(invalid="ignore"):
        is_same = (values == values_read) | (np.isnan(values) & np.isnan(values_read))
        is_same |= np.abs(values - values_read) <= rounding * (1 + 1e-9)
    return [
        f"{name} of launch {row}: {values[row]} is read as {values_read[row]} ± {rounding[row]}"
        for row in np.flatnonzero(~is_same)
    ]


def differences_of_launches(report: Report, read: Report) -> list[str]:
    """Compare ``launches``: what names them, and columns that are one metric each."""
    found = []
    for name in _IDENTITY:
        column, column_read = (one.launches[name].to_pylist() for one in (report, read))
        if column != column_read:
            found.append(f"{name}: {column} is read as {column_read}")
    for name, origins in report.column_origins.items():
        column, column_read = (one.launches[name].to_pylist() for one in (report, read))
        metrics = set(origins.to_pylist()) & set(report.store.names)
        rounding = {metric: read.store.rounding(metric) for metric in metrics}
        for row, metric in enumerate(origins.to_pylist()):
            if metric not in metrics:
                continue
            value, other = column[row], column_read[row]
            if isinstance(value, (int, float)) and isinstance(other, (int, float)):
                is_same = abs(value - other) <= float(rounding[metric][row]) * (1 + 1e-9)
            else:
                is_same = value == other
            if not is_same:
                found.append(f"{name} of launch {row}: {value} is read as {other}")
    return found
