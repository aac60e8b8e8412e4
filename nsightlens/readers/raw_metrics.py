"""Raw metrics alone: the shortest way from a file to Arrow columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from nsightlens import tables
from nsightlens.arrays import number_array
from nsightlens.ncurep import read_columns
from nsightlens.ncurep.model import MAGIC
from nsightlens.patterns import is_pattern, pattern_of
from nsightlens.readers.columns import constant, encoded, shown_path
from nsightlens.readers.read import ReadOptions, report_of
from nsightlens.readers.source import plain_file, typed
from nsightlens.report import matching_metric_names, metric_fields

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

__all__ = ["read_metrics"]

_KEY = ("report", "launch_id", "kernel_name")


def read_metrics(
    path: str | os.PathLike[str], metrics: str | Sequence[str] | None = None
) -> pa.Table:
    """Read raw metrics of one report, and nothing else of it.

    What is not asked for is neither derived nor kept: of a large report this is several times
    faster than `open_report`, which reads rules, NVTX ranges and every table.

    Parameters
    ----------
    path
        What `open_report` takes: a .ncu-rep file, one that is compressed, a CSV of ncu, a URL.
    metrics
        Metric names and patterns with ``*`` and ``?``; None for every metric.

    Returns
    -------
    pyarrow.Table
        One row per launch, in file order: ``report``, ``launch_id``, ``kernel_name``, and one
        column per metric in the order asked for (by default, in which the file first stores
        them). uint64 where every value is an integer, string where every value is text, else
        float64; null where a launch has no value. The unit is in the field metadata.

    Raises
    ------
    MissingMetricError
        A name, or a pattern, that no launch has.
    ReportNotFoundError, ReportFormatError
        See `open_report`.

    Examples
    --------
    >>> import nsightlens, nsightlens.example
    >>> table = nsightlens.read_metrics(nsightlens.example.path(), ["gpu__time_duration.sum"])
    >>> table.column_names
    ['report', 'launch_id', 'kernel_name', 'gpu__time_duration.sum']
    """
    names = [metrics] if isinstance(metrics, str) else metrics
    name = typed(path)
    known: tuple[str, ...] = ()
    with plain_file(name) as file:
        if not file.head.startswith(MAGIC):
            report = report_of(file, name, ReadOptions())
            key, store = report.launches.select(list(_KEY)), report.store
        else:
            content = read_columns(
                file.path, shown=name, metrics=_filter(names), has_side_tables=False
            )
            key, store = _key(shown_path(name), content.launches), content.store
            known = content.metric_names
    wanted = store.names
    if names is not None:
        wanted = tuple(matching_metric_names(store, names, neighbours=known))
    columns = [store.column(metric) for metric in wanted]
    fields = metric_fields(wanted, columns)
    return pa.Table.from_arrays([*key.columns, *columns], schema=pa.schema([*key.schema, *fields]))


def _filter(names: Sequence[str] | None) -> Callable[[str], bool] | None:
    if names is None:
        return None
    exact = frozenset(names)
    patterns = [pattern_of(name) for name in names if is_pattern(name)]
    return lambda name: name in exact or any(pattern.match(name) for pattern in patterns)


def _key(path: str, launches: pa.Table) -> pa.Table:
    count = launches.num_rows
    schema = tables.schema_of(tables.LAUNCHES)
    return pa.Table.from_arrays(
        [
            constant(path, count),
            number_array(np.arange(count, dtype=np.uint32)),
            encoded(launches["function_name"]),
        ],
        schema=pa.schema([schema.field(name) for name in _KEY]),
    )
