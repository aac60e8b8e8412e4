"""Which measured columns a report fills, from what, and how to collect the rest.

Behind ``nsightlens info``. A column may be empty for two reasons that a user must not confuse: the
report was collected without it, or the GPU has no such counter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens import tables
from nsightlens.arrays import number_array
from nsightlens.metrics.catalog import MEASURED, is_countable, minimal_metrics
from nsightlens.metrics.derive import SOURCES
from nsightlens.metrics.stalls import cycles_metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nsightlens.report import Report

__all__ = ["COVERAGE", "coverage", "to_collect"]

COVERAGE: tuple[tables.Column, ...] = (
    tables.Column("column", pa.string(), "", "column of launches"),
    tables.Column("unit", pa.string(), "", "unit of the column"),
    tables.Column("filled_count", pa.uint64(), "", "launches with a value"),
    tables.Column(
        "missing_count", pa.uint64(), "", "launches without one; failed collections aside"
    ),
    tables.Column("is_countable", pa.bool_(), "", "some GPU of the report has such a counter"),
    tables.Column("origins", pa.list_(pa.string()), "", "formulas that gave the values"),
    tables.Column("sections", pa.list_(pa.string()), "", "any of these ncu sections fills it"),
    tables.Column(
        "metrics", pa.list_(pa.string()), "", "ncu --metrics that fills it on these GPUs"
    ),
)
"""Schema of `coverage`."""

_ALL_STATES = (
    f"regex:{cycles_metric('.*').removesuffix('.ratio')}",
    "smsp__average_warp_latency_per_inst_issued.ratio",
)
# Columns that compare states of a warp have no formula in the catalog.
_STALL_COLUMNS = {
    "stalled_for_data_pct",
    "top_stall",
    "top_stall_cycles_per_issue",
    "top_stall_pct",
}
_NOT_COLLECTED = {"is_failed_collection"}


def coverage(report: Report) -> pa.Table:
    """Say for each measured column how many launches have it, and what would fill it.

    Parameters
    ----------
    report
        The report.

    Returns
    -------
    pyarrow.Table
        Schema `COVERAGE`, one row per column, in the order of ``launches``. ``sections`` and
        ``metrics`` are empty where nothing is missing, or nothing can be done.
    """
    launches = report.launches
    is_collected = ~np.asarray(launches["is_failed_collection"].fill_null(False), dtype=bool)
    capabilities = _capabilities(launches, is_collected)
    rows = [
        _row(report, column, is_collected, capabilities)
        for column in tables.LAUNCHES
        if column.name in SOURCES and column.name not in _NOT_COLLECTED
    ]
    data = {column.name: [row[i] for row in rows] for i, column in enumerate(COVERAGE)}
    return tables.table_of(tables.schema_of(COVERAGE), data, len(rows))


def to_collect(covered: pa.Table) -> tuple[list[str], list[str]]:
    """Return ncu's sections and metrics that together fill every column that can be filled.

    Either list alone is enough; metrics need fewer replays of each launch.

    Parameters
    ----------
    covered
        From `coverage`.
    """
    first = [names[0] for names in covered["sections"].to_pylist() if names]
    metrics = [name for names in covered["metrics"].to_pylist() for name in names]
    return list(dict.fromkeys(first)), list(dict.fromkeys(metrics))


def _capabilities(launches: pa.Table, is_collected: NDArray[np.bool_]) -> list[str | None]:
    of_launches = launches["compute_capability"].filter(number_array(is_collected))
    return pc.unique(of_launches.cast(pa.string())).to_pylist() or [None]


def _row(
    report: Report,
    column: tables.Column,
    is_collected: NDArray[np.bool_],
    capabilities: Sequence[str | None],
) -> tuple[object, ...]:
    is_filled = np.asarray(report.launches[column.name].is_valid()) & is_collected
    missing = int(is_collected.sum() - is_filled.sum())
    countable = any(is_countable(column.name, one) for one in capabilities)
    can_be_filled = missing > 0 and countable
    return (
        column.name,
        column.unit,
        int(is_filled.sum()),
        missing,
        countable,
        _origins(report, column.name),
        _sections(column.name) if can_be_filled else [],
        _metrics(column.name, capabilities) if can_be_filled else [],
    )


def _origins(report: Report, column: str) -> list[str]:
    origin = report.column_origins.get(column)
    return [] if origin is None else pc.unique(origin.drop_null().cast(pa.string())).to_pylist()


def _sections(column: str) -> list[str]:
    if column in _STALL_COLUMNS:
        return ["WarpStateStats"]
    return list(MEASURED[column].sections) if column in MEASURED else []


def _metrics(column: str, capabilities: Sequence[str | None]) -> list[str]:
    if column in _STALL_COLUMNS:
        return list(_ALL_STATES)
    names = (name for one in capabilities for name in minimal_metrics(column, one))
    return list(dict.fromkeys(names))
