"""The long table ``resources``: for each row, every resource of which something is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nsightlens import tables
from nsightlens.analysis.phrase import choose
from nsightlens.analysis.usage import IS_MEMORY, RESOURCES, UNITS, Usage, work_unit
from nsightlens.arrays import category_array, number_array
from nsightlens.devices import PEAK_SOURCES

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from nsightlens.analysis.busiest import BusiestCounters

__all__ = ["SOURCES", "resources_table", "source_codes"]

SOURCES = (*PEAK_SOURCES, "percent_of_peak")
"""Where the peak of a resource can come from, as in the column ``peak_source``."""


def source_codes(usage: Usage) -> NDArray[np.int8]:
    """Return where each roofline time has its peak from, as codes into `SOURCES`. Shape (R, n)."""
    by_activity = SOURCES.index("percent_of_peak")
    codes = np.where(usage.is_counted, usage.peak_source, by_activity)
    return np.where(np.isnan(usage.time_ns), -1, codes).astype(np.int8)


def resources_table(
    usage: Usage, busiest: BusiestCounters, report: Any, launch_id: Any
) -> pa.Table:
    """Build the table of resources.

    Parameters
    ----------
    usage
        Roofline times of n rows.
    busiest
        The counters behind their activities.
    report, launch_id
        Columns that name the rows.

    Returns
    -------
    pyarrow.Table
        With the schema of `nsightlens.tables.RESOURCES`: one row per resource with a known time,
        in the order of the rows.
    """
    # Transposed, so that the resources of one row stand together.
    row, resource = np.nonzero(~np.isnan(usage.time_ns.T))
    at = (resource, row)
    is_counted = usage.is_counted[at]
    work = usage.work[at]
    has_work = ~np.isnan(work)
    fraction, peak = usage.fraction()[at], usage.peak_per_s[at]
    rows = number_array(row)
    return tables.table_of(
        tables.schema_of(tables.RESOURCES),
        {
            "report": report.take(rows),
            "launch_id": launch_id.take(rows),
            "resource": category_array(resource, RESOURCES),
            "side": category_array(IS_MEMORY[resource].astype(np.int8), ("compute", "memory")),
            "work": number_array(work, has_work),
            "work_unit": choose(np.where(has_work, work_unit(resource), -1), UNITS),
            "peak_per_s": number_array(peak, is_counted & ~np.isnan(peak)),
            "peak_source": choose(source_codes(usage)[at], SOURCES),
            "roofline_time_ns": number_array(usage.time_ns[at]),
            "fraction_of_peak": number_array(fraction, ~np.isnan(fraction)),
            "busiest_counter": choose(busiest.code[at], busiest.names),
            "measured_by": category_array(is_counted.astype(np.int8), ("activity", "counter")),
        },
        len(row),
    )
