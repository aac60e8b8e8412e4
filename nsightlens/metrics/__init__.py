"""Our columns, from raw metrics in the spellings of every architecture.

`catalog` says which formulas fill a column and how to collect them, `tensor` the tensor counters
of each architecture, `formula` and `columns` evaluate them, `derive` and `stalls` build the
columns of ``launches`` and the ``stalls`` table, `coverage` says what a report lacks.
"""

from nsightlens.metrics.catalog import minimal_metrics, peak_metrics
from nsightlens.metrics.coverage import COVERAGE, coverage, to_collect
from nsightlens.metrics.derive import SOURCES, derive_launch_columns, launches_schema
from nsightlens.metrics.stalls import stall_table, stalls_schema

__all__ = [
    "COVERAGE",
    "SOURCES",
    "coverage",
    "derive_launch_columns",
    "launches_schema",
    "minimal_metrics",
    "peak_metrics",
    "stall_table",
    "stalls_schema",
    "to_collect",
]
