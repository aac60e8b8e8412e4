"""A table of metrics -> one series per engine: a column per metric, or a row per value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from nsightlens.serving.tabular.table_cells import codes_of
from nsightlens.serving.tabular.table_numbers import comma_meaning, numbers_of
from nsightlens.serving.telemetry.sample_columns import Series, metric_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from nsightlens.serving.tabular.table_text import CellTable
    from nsightlens.serving.tabular.table_times import Times
    from nsightlens.serving.telemetry.sample_columns import Metric

__all__ = ["Found", "is_long", "series_of"]

_NAME_COLUMNS = ("__name__", "metric_name", "metric", "name")
_VALUE_COLUMNS = ("value", "val")
_LABEL_COLUMNS = (
    "engine", "engine_id", "engine_index", "instance", "server", "server_id", "replica", "pod",
    "endpoint", "endpoint_url", "job", "dp_rank", "tp_rank", "pp_rank", "worker", "host", "model",
    "model_name", "url", "port",
)  # fmt: skip
_RANKS_OF_ONE_ENGINE = frozenset({"tp_rank", "pp_rank"})


class Found(NamedTuple):
    """What a table of metrics holds.

    Parameters
    ----------
    series
        One per engine; none where no metric has a value.
    engine
        What the prefix of the metrics' names says.
    strange
        Columns, each with a cell that is no number.
    """

    series: list[Series]
    engine: str | None
    strange: tuple[tuple[str, str], ...]


def _lower(names: Sequence[str]) -> list[str]:
    return [name.strip().lower() for name in names]


def is_long(names: Sequence[str]) -> bool:
    """Return whether a table has a row per metric and time, by its headers."""
    lower = _lower(names)
    has_name = any(name in lower for name in _NAME_COLUMNS)
    return has_name and any(name in lower for name in _VALUE_COLUMNS)


def series_of(table: CellTable, times: Times) -> Found:
    """Return what a table of metrics holds, engine by engine.

    Parameters
    ----------
    table
        With a column per metric, or a row per metric and time.
    times
        Of its rows.

    Raises
    ------
    AmbiguousNumberError
        Commas in its numbers may be of thousands or of decimals.
    """
    if is_long(table.names) and not any(metric_of(name) for name in table.names):
        return _long(table, times)
    metrics = [(i, one) for i, name in enumerate(table.names) if (one := metric_of(name))]
    comma = comma_meaning([table.columns[i] for i, _ in metrics], table.delimiter)
    codes, count = _codes(table)
    series: list[Series] = []
    strange: list[tuple[str, str]] = []
    for group in _by_labels(metrics):
        columns: dict[str, Any] = {}
        for i, metric in group:
            numbers = numbers_of(table.columns[i], comma)
            strange += [(table.names[i], cell) for cell in numbers.strange[:1]]
            # vLLM 0.9 has the use of the cache under its old name and its new one.
            there, new = columns.get(metric.column), numbers.values
            columns[metric.column] = new if there is None else np.where(np.isnan(there), new, there)
        series += [_sorted(times.seconds, columns, codes == code) for code in range(count)]
    return Found(_not_empty(series), _engine(one for _, one in metrics), tuple(strange))


def _not_empty(series: Iterable[Series]) -> list[Series]:
    return [one for one in series if one.time_s.size]


def _engine(metrics: Iterable[Metric]) -> str | None:
    return next((one.engine for one in metrics if one.engine), None)


def _by_labels(metrics: Iterable[tuple[int, Metric]]) -> list[list[tuple[int, Metric]]]:
    groups: dict[Any, list[tuple[int, Metric]]] = {}
    for i, metric in metrics:
        key = tuple(
            one
            for one in metric.labels
            if one[0] in _LABEL_COLUMNS and one[0] not in _RANKS_OF_ONE_ENGINE
        )
        groups.setdefault(key, []).append((i, metric))
    return list(groups.values())


def _codes(table: CellTable) -> tuple[NDArray[Any], int]:
    """Return for each row which engine it is of, by the columns of labels, and how many there are.

    Ranks of one engine repeat what it says: only the first of them counts, others get -1.
    """
    codes = np.zeros(table.row_count, np.int64)
    for i, name in enumerate(_lower(table.names)):
        if name in _LABEL_COLUMNS and not metric_of(table.names[i]):
            own, distinct = codes_of(table.columns[i])
            if name in _RANKS_OF_ONE_ENGINE:
                own = np.where(own == 0, 0, -1)
                codes = np.where((codes < 0) | (own < 0), -1, codes)
            else:
                codes = np.where(codes < 0, -1, codes * len(distinct) + own)
    known, packed = np.unique(codes[codes >= 0], return_inverse=True)
    codes[codes >= 0] = packed
    return codes, known.size


def _sorted(
    time_s: NDArray[Any], columns: Mapping[str, NDArray[Any]], mask: NDArray[Any]
) -> Series:
    mask = mask & np.isfinite(time_s)
    order = np.argsort(time_s[mask], kind="stable")
    return Series(
        time_s[mask][order], {name: values[mask][order] for name, values in columns.items()}
    )


def _long(table: CellTable, times: Times) -> Found:
    """Return the series of a table with a row per metric and time."""
    names = _lower(table.names)
    where = next(i for i, name in enumerate(names) if name in _NAME_COLUMNS)
    value = next(i for i, name in enumerate(names) if name in _VALUE_COLUMNS)
    name_codes, distinct = codes_of(table.columns[where])
    metrics = {code: one for code, name in enumerate(distinct) if (one := metric_of(name))}
    column = table.columns[value]
    is_used = np.isin(name_codes, list(metrics))
    numbers = numbers_of(column, comma_meaning([column.filter(pa.array(is_used))], table.delimiter))
    codes, count = _codes(table)
    is_used &= np.isfinite(numbers.values)
    series: list[Series] = []
    for code in range(count):
        singles = _not_empty(
            _sorted(
                times.seconds,
                {metric.column: numbers.values},
                is_used & (codes == code) & (name_codes == name),
            )
            for name, metric in metrics.items()
        )
        series += [_joined(singles)] if singles else []
    return Found(series, _engine(metrics.values()), ())


def _joined(singles: list[Series]) -> Series:
    """Put the metrics of one engine side by side; a time without a value of one has NaN there."""
    time = np.unique(np.concatenate([one.time_s for one in singles]))
    columns: dict[str, Any] = {}
    for one in singles:
        for name, values in one.columns.items():
            row = columns.setdefault(name, np.full(time.size, np.nan))
            row[np.searchsorted(time, one.time_s)] = values
    return Series(time, columns)
