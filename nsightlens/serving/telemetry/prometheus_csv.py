"""Metrics of a server over time, as CSV, TSV or Parquet: a column per metric, or a row per value.

Also the table of means and peaks that AIPerf writes of a server's metrics.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from nsightlens.errors import ServingFileError
from nsightlens.serving.part import Format, Note, Part, Samples
from nsightlens.serving.tabular.table_layout import is_parquet, names_of
from nsightlens.serving.tabular.table_numbers import AmbiguousNumberError
from nsightlens.serving.tabular.table_text import read_table
from nsightlens.serving.tabular.table_times import is_time_name, times_of
from nsightlens.serving.telemetry.prometheus_statistics import STATISTICS_FORMAT
from nsightlens.serving.telemetry.sample_columns import FRACTIONS, metric_of, together
from nsightlens.serving.telemetry.sample_series import is_long, series_of

if TYPE_CHECKING:
    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.tabular.table_times import Times
    from nsightlens.serving.telemetry.sample_columns import Series
    from nsightlens.serving.telemetry.sample_series import Found

__all__ = ["FORMATS"]

_OF_SAMPLES = frozenset({"running", "waiting", "kv_usage_pct"})
_KNOWN_NAME = re.compile(r"\b(?:vllm|sglang)[:_]\w|\bnum_requests_running\b")
_BEGINS_S = 60.0
"""[s] Times that begin earlier count from the begin of the run."""


def _claims(file: OpenedFile) -> bool:
    names = names_of(file)
    if not any(is_time_name(name) for name in names):
        return False
    metrics = [one for name in names if (one := metric_of(name))]
    # Counts of tokens may stand in a table of runs as well.
    if any(one.engine or one.column in _OF_SAMPLES for one in metrics):
        return True
    if not is_long(names):
        return False
    return "endpoint_url" in names if is_parquet(file) else bool(_KNOWN_NAME.search(file.head))


def _read(file: OpenedFile) -> list[Part]:
    table = read_table(file)
    index = next(i for i, name in enumerate(table.names) if is_time_name(name))
    times = times_of(table.columns[index], table.names[index], table.units[index])
    if times is None or not np.isfinite(times.seconds).any():
        raise ServingFileError(
            file.shown,
            f"has no time that is understood in its column {table.names[index]!r}",
            "Write seconds, seconds since 1970, or dates such as 2026-01-31T12:00:00.",
        )
    notes = list(table.notes)
    try:
        found = series_of(table, times)
    except AmbiguousNumberError as error:
        raise ServingFileError(
            file.shown, str(error), "Write numbers with a decimal point and no thousands."
        ) from None
    merged = together(found.series) if found.series else None
    columns = _checked(file, merged, notes) if merged is not None else {}
    if merged is None or not columns:
        raise ServingFileError(
            file.shown,
            "has no value of a metric that is known",
            "Sample vllm:num_requests_running, vllm:kv_cache_usage_perc, vllm:num_preemptions_total"
            " or the same of SGLang.",
        )
    notes += _notes(file, found, times)
    begins = not times.is_clock and abs(float(merged.time_s[0])) < _BEGINS_S
    values: dict[str, Any] = {"?engine": found.engine} if found.engine else {}
    samples = Samples(merged.time_s, columns, begins_with_run=begins)
    return [
        Part("samples", file.shown, "prometheus-csv", values, notes=tuple(notes), samples=samples)
    ]


def _notes(file: OpenedFile, found: Found, times: Times) -> list[Note]:
    notes = [
        Note(
            "not_a_number",
            f"{file.shown}: {cell[:40]!r} in column {name!r} is no number: left out.",
        )
        for name, cell in found.strange
    ]
    counts = Counter(name for one in found.series for name in one.columns)
    most = max(counts.values(), default=0)
    if most > 1:
        text = f"{most} engines are added up; of the KV use, the largest counts."
        notes.append(Note("engines_added", f"{file.shown}: {text}"))
    if times.is_unit_assumed:
        notes.append(Note("time_unit", f"{file.shown}: times without a unit are read as seconds."))
    return notes


def _checked(file: OpenedFile, merged: Series, notes: list[Note]) -> dict[str, Any]:
    """Return the columns in their units, without what cannot be."""
    columns: dict[str, Any] = {}
    for name, raw in merged.columns.items():
        values = np.where(np.isfinite(raw) & (raw >= 0), raw, np.nan)
        if name in FRACTIONS:
            values = _percent(file, name, values, notes)
        if np.isfinite(values).any():
            columns[name] = values
    usage, running = columns.get("kv_usage_pct"), columns.get("running")
    if usage is not None and running is not None and not np.nanmax(usage) and np.nanmax(running):
        del columns["kv_usage_pct"]
        notes.append(
            Note(
                "kv_not_exported",
                f"{file.shown}: the KV use is 0 while sequences ran: it was not exported under "
                "this name, and is left out.",
            )
        )
    return columns


def _percent(file: OpenedFile, name: str, values: Any, notes: list[Note]) -> Any:
    known = values[np.isfinite(values)]
    largest = float(known.max()) if known.size else 0.0
    if largest <= 1.005:
        return values * 100.0
    if largest <= 100.5:
        notes.append(
            Note(
                "already_percent",
                f"{file.shown}: {name} reaches {largest:.3g}, which no fraction does: read as "
                "percent.",
            )
        )
        return values
    notes.append(
        Note("implausible", f"{file.shown}: {name} reaches {largest:.3g}: it is left out.")
    )
    return np.full(values.shape, np.nan)


FORMATS = (
    STATISTICS_FORMAT,
    Format("prometheus-csv", "Prometheus samples as a table", _claims, _read),
)
