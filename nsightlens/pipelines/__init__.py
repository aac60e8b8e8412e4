"""Many reports, one at a time: in processes beside this one, or on a Dask cluster.

`map_reports` does a task for each report and yields what it returns, in order and a few at a time
(`each`, `processes`); `read_one` is how a task reads its report (`reading`).
"""

from __future__ import annotations

from nsightlens.pipelines.each import map_reports
from nsightlens.pipelines.reading import distinct, file_of, read_one

__all__ = ["distinct", "file_of", "map_reports", "read_one"]
