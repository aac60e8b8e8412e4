"""Many reports, one at a time: in processes beside this one, or on a Dask cluster.

- `nsightlens.pipelines.each`: `map_reports`, a task for each report.
- `nsightlens.pipelines.reading`: how a task reads its report.
- `nsightlens.pipelines.processes`: tasks in processes beside this one.
- `nsightlens.pipelines.cluster`: tasks on a Dask cluster.
- `nsightlens.pipelines.cluster_job`: what a worker of the cluster is sent, and answers.
- `nsightlens.pipelines.sweep`: a sweep of many reports.
- `nsightlens.pipelines.export`: a dataset of many reports.
- `nsightlens.pipelines.contents`: what one report brings to a dataset.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nsightlens.pipelines.each import map_reports
from nsightlens.pipelines.reading import distinct, file_of, read_one

if TYPE_CHECKING:
    from nsightlens.pipelines.contents import ExportOptions
    from nsightlens.pipelines.export import ExportSummary, export_reports
    from nsightlens.pipelines.sweep import Filters, SweptReports, sweep_reports

__all__ = [
    "ExportOptions",
    "ExportSummary",
    "Filters",
    "SweptReports",
    "distinct",
    "export_reports",
    "file_of",
    "map_reports",
    "read_one",
    "sweep_reports",
]

# Imported when first used: a process that does one of them does not load the other.
_HOME = {
    "ExportOptions": "contents",
    "ExportSummary": "export",
    "export_reports": "export",
    "Filters": "sweep",
    "SweptReports": "sweep",
    "sweep_reports": "sweep",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'nsightlens.pipelines' has no attribute {name!r}")
    return getattr(import_module(f"nsightlens.pipelines.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
