"""The table of a server's metrics that AIPerf writes: means and peaks over the run, no samples.

``server_metrics_export.csv`` has a section per type of metric, each with its own header; read in
the source of AIPerf 0.13, ``aiperf/server_metrics/csv_exporter.py``.
"""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING, Any

from nsightlens.errors import ServingFileError
from nsightlens.serving.part import Format, Part
from nsightlens.serving.telemetry.sample_columns import metric_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nsightlens.serving.opened import OpenedFile

__all__ = ["STATISTICS_FORMAT"]

_HEADER = "Endpoint,Type,Metric,Unit,"
_INFO_HEADER = "Endpoint,Metric,Key,Value"
# Column of samples, statistic -> column of a run, factor, how several engines are put together.
_TAKEN = (
    ("running", "avg", "mean_running", 1.0, sum),
    ("running", "max", "max_running", 1.0, sum),
    ("waiting", "avg", "mean_waiting", 1.0, sum),
    ("kv_usage_pct", "max", "kv_peak_pct", 100.0, max),
    ("kv_usage_pct", "avg", "kv_mean_pct", 100.0, max),
    ("preemption_total", "total", "preemption_count", 1.0, sum),
)
_INFO = {
    "block_size": ("block_size", int),
    "num_gpu_blocks": ("kv_block_count", int),
    "gpu_memory_utilization": ("gpu_memory_utilization", float),
}
_NOT_ZERO = frozenset({"mean_running", "max_running", "kv_peak_pct", "kv_mean_pct"})


def _claims(file: OpenedFile) -> bool:
    if not file.head.startswith(("# AIPerf Server Metrics", _HEADER, _INFO_HEADER)):
        return False
    return _HEADER in file.head or _INFO_HEADER in file.head


def _rows(file: OpenedFile) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line number and the cells of each row, by the header of its section."""
    header: list[str] = []
    reader = csv.reader(io.StringIO(file.text, newline=""))
    for cells in reader:
        if not cells or cells[0].startswith("#"):
            header = [] if not cells else header
        elif cells[0] == "Endpoint":
            header = cells
        elif header:
            yield reader.line_num, dict(zip(header, cells, strict=False))


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _read(file: OpenedFile) -> list[Part]:
    found: dict[str, list[float]] = {}
    values: dict[str, Any] = {}
    wheres: dict[str, str] = {}
    try:
        for line, row in _rows(file):
            if row.get("Key") in _INFO and row.get("Metric", "").endswith("cache_config_info"):
                column, kind = _INFO[row["Key"]]
                number = _number(row.get("Value"))
                if number:
                    values.setdefault(column, kind(number))
                    wheres.setdefault(column, f"line {line}")
            metric = metric_of(row.get("Metric", ""))
            for name, statistic, column, factor, _ in _TAKEN:
                number = _number(row.get(statistic))
                if metric and metric.column == name and number is not None:
                    found.setdefault(column, []).append(factor * number)
                    wheres.setdefault(column, f"line {line}")
    except csv.Error as error:
        raise ServingFileError(
            file.shown, f"is no CSV that can be read: {error}", "Export it again."
        ) from None
    for _, statistic, column, _, how in _TAKEN:
        total = how(found[column]) if column in found else 0.0
        # A use of 0 was not exported: see trap 9, zeros that are no measurement.
        if column in found and (total or column not in _NOT_ZERO):
            values[column] = total
            wheres.setdefault(column, statistic)
    if not values:
        raise ServingFileError(
            file.shown,
            "has no metric that is known",
            "Collect the metrics of vLLM or SGLang: requests that run and wait, KV use.",
        )
    derived = {
        column: f"{statistic} over the run, of {len(found[column])} engines"
        for _, statistic, column, _, _ in _TAKEN
        if column in values and len(found.get(column, ())) > 1
    }
    return [Part("samples", file.shown, "aiperf-server-metrics", values, "", wheres, derived)]


STATISTICS_FORMAT = Format(
    "aiperf-server-metrics", "AIPerf statistics of a server's metrics", _claims, _read
)
