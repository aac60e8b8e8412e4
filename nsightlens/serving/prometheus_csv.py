"""Metrics of a server over time, as CSV, TSV or Parquet: a column per metric, or a row per value.

Also the table of means and peaks that AIPerf writes of a server's metrics.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from nsightlens.errors import ServingFileError
from nsightlens.serving.part import Format, Note, Part, Samples
from nsightlens.serving.prometheus_statistics import STATISTICS_FORMAT
from nsightlens.serving.sample_columns import FRACTIONS, Series, metric_of, together
from nsightlens.serving.table_cells import comma_meaning, numbers_of, texts_of
from nsightlens.serving.table_layout import is_parquet, names_of
from nsightlens.serving.table_text import CellTable, read_table
from nsightlens.serving.table_times import Times, is_time_name, times_of

if TYPE_CHECKING:
    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.sample_columns import Metric

__all__ = ["FORMATS"]

_NAME_COLUMNS = ("__name__", "metric_name", "metric", "name")
_VALUE_COLUMNS = ("value", "val")
_LABEL_COLUMNS = (
    "engine", "engine_id", "engine_index", "instance", "server", "server_id", "replica", "pod",
    "endpoint", "endpoint_url", "job", "dp_rank", "tp_rank", "pp_rank", "worker", "host", "model",
    "model_name", "url", "port",
)  # fmt: skip
_OF_SAMPLES = frozenset({"running", "waiting", "kv_usage_pct"})
_KNOWN_NAME = re.compile(r"\b(?:vllm|sglang)[:_]\w|\bnum_requests_running\b")
_RANKS_OF_ONE_ENGINE = frozenset({"tp_rank", "pp_rank"})
_BEGINS_S = 60.0
"""[s] Times that begin earlier count from the begin of the run."""


def _lower(names: tuple[str, ...]) -> list[str]:
    return [name.strip().lower() for name in names]


def _claims(file: OpenedFile) -> bool:
    names = names_of(file)
    if not any(is_time_name(name) for name in names):
        return False
    metrics = [one for name in names if (one := metric_of(name))]
    # Counts of tokens may stand in a table of runs as well.
    if any(one.engine or one.column in _OF_SAMPLES for one in metrics):
        return True
    if not _is_long(_lower(names)):
        return False
    return "endpoint_url" in names if is_parquet(file) else bool(_KNOWN_NAME.search(file.head))


def _is_long(names: list[str]) -> bool:
    has_name = any(name in names for name in _NAME_COLUMNS)
    return has_name and any(name in names for name in _VALUE_COLUMNS)


def _read(file: OpenedFile) -> list[Part]:
    table = read_table(file)
    names = _lower(table.names)
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
        series, engine = _series(file, table, names, times, notes)
    except ValueError as error:
        if isinstance(error, ServingFileError):
            raise
        raise ServingFileError(
            file.shown, str(error), "Write numbers with a decimal point and no thousands."
        ) from None
    merged = together(series)
    columns = _checked(file, merged, notes)
    if not columns:
        raise ServingFileError(
            file.shown,
            "has no value of a metric that is known",
            "Sample vllm:num_requests_running, vllm:kv_cache_usage_perc, vllm:num_preemptions_total"
            " or the same of SGLang.",
        )
    if len(series) > 1:
        notes.append(
            Note(
                "engines_added",
                f"{file.shown}: {len(series)} engines are added up; of the KV use, the largest "
                "counts.",
            )
        )
    if times.is_unit_assumed:
        notes.append(Note("time_unit", f"{file.shown}: times without a unit are read as seconds."))
    begins = not times.is_clock and abs(float(merged.time_s[0])) < _BEGINS_S
    values: dict[str, Any] = {"?engine": engine} if engine else {}
    samples = Samples(merged.time_s, columns, begins_with_run=begins)
    return [
        Part("samples", file.shown, "prometheus-csv", values, notes=tuple(notes), samples=samples)
    ]


def _series(
    file: OpenedFile, table: CellTable, names: list[str], times: Times, notes: list[Note]
) -> tuple[list[Series], str | None]:
    """Return one series per engine, and the engine that prefixes name."""
    if _is_long(names) and not any(metric_of(name) for name in table.names):
        return _long(file, table, names, times)
    found = [(i, metric) for i, name in enumerate(table.names) if (metric := metric_of(name))]
    comma = comma_meaning([table.columns[i] for i, _ in found], table.delimiter)
    codes, count = _codes(table, names)
    series = []
    for labels, group in _by_labels(found).items():
        columns: dict[str, Any] = {}
        for i, metric in group:
            numbers = numbers_of(table.columns[i], comma)
            if numbers.strange:
                notes.append(_strange(file, table.names[i], numbers.strange[0]))
            # vLLM 0.9 has the use of the cache under its old name and its new one.
            there = columns.get(metric.column)
            new = numbers.values
            columns[metric.column] = new if there is None else np.where(np.isnan(there), new, there)
        del labels
        series += [_sorted(times.seconds, columns, codes == code) for code in range(count)]
    engine = next((metric.engine for _, metric in found if metric.engine), None)
    return [one for one in series if one.time_s.size], engine


def _by_labels(found: list[tuple[int, Metric]]) -> dict[Any, list[tuple[int, Metric]]]:
    groups: dict[Any, list[tuple[int, Metric]]] = {}
    for i, metric in found:
        labels = tuple(one for one in metric.labels if one[0] in _LABEL_COLUMNS)
        groups.setdefault(_without_ranks(labels), []).append((i, metric))
    return groups


def _without_ranks(labels: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple(one for one in labels if one[0] not in _RANKS_OF_ONE_ENGINE)


def _codes(table: CellTable, names: list[str]) -> tuple[Any, int]:
    """Return for each row which engine it is of, by the columns of labels, and how many there are.

    Ranks of one engine repeat what it says: only the first of them counts, others get -1.
    """
    codes = np.zeros(table.row_count, np.int64)
    for i, name in enumerate(names):
        if name in _LABEL_COLUMNS and not metric_of(table.names[i]):
            texts = np.array([one or "" for one in texts_of(table.columns[i])])
            distinct, own = np.unique(texts, return_inverse=True)
            if name in _RANKS_OF_ONE_ENGINE:
                own = np.where(own == 0, 0, -1)
                codes = np.where((codes < 0) | (own < 0), -1, codes)
            else:
                codes = np.where(codes < 0, -1, codes * distinct.size + own)
    known, packed = np.unique(codes[codes >= 0], return_inverse=True)
    codes[codes >= 0] = packed
    return codes, known.size


def _sorted(time_s: Any, columns: dict[str, Any], mask: Any) -> Series:
    mask = mask & np.isfinite(time_s)
    order = np.argsort(time_s[mask], kind="stable")
    return Series(
        time_s[mask][order], {name: values[mask][order] for name, values in columns.items()}
    )


def _long(
    file: OpenedFile, table: CellTable, names: list[str], times: Times
) -> tuple[list[Series], str | None]:
    """Return the series of a table with a row per metric and time."""
    where = next(i for i, name in enumerate(names) if name in _NAME_COLUMNS)
    value = next(i for i, name in enumerate(names) if name in _VALUE_COLUMNS)
    metric_names = np.array([one or "" for one in texts_of(table.columns[where])])
    comma = comma_meaning([table.columns[value]], table.delimiter)
    numbers = numbers_of(table.columns[value], comma).values
    codes, count = _codes(table, names)
    metrics = {one: metric for one in np.unique(metric_names) if (metric := metric_of(str(one)))}
    if not metrics:
        raise ServingFileError(
            file.shown,
            "has a row per metric, and none that is known",
            "Sample vllm:num_requests_running, vllm:kv_cache_usage_perc, vllm:num_preemptions_total"
            " or the same of SGLang.",
        )
    series: list[Series] = []
    for code in range(count):
        singles = [
            _sorted(
                times.seconds,
                {metric.column: numbers},
                (codes == code) & (metric_names == name) & np.isfinite(numbers),
            )
            for name, metric in metrics.items()
        ]
        known = [one for one in singles if one.time_s.size]
        if known:
            series.append(_joined(known))
    engine = next((metric.engine for metric in metrics.values() if metric.engine), None)
    return series, engine


def _joined(singles: list[Series]) -> Series:
    """Put the metrics of one engine side by side; a time without a value of one has NaN there."""
    time = np.unique(np.concatenate([one.time_s for one in singles]))
    columns: dict[str, Any] = {}
    for one in singles:
        for name, values in one.columns.items():
            row = columns.setdefault(name, np.full(time.size, np.nan))
            row[np.searchsorted(time, one.time_s)] = values
    return Series(time, columns)


def _strange(file: OpenedFile, name: str, cell: str) -> Note:
    return Note(
        "not_a_number", f"{file.shown}: {cell[:40]!r} in column {name!r} is no number: left out."
    )


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
