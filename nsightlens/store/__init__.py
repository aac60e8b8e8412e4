"""Reports and their labels become a dataset: a folder of Parquet files that can be added to.

- `nsightlens.store.dataset`: `open_dataset`, to read one.
- `nsightlens.store.writer`: `DatasetWriter`, to add reports; `nsightlens.pipelines.export_reports`
  reads and labels them too.
- `nsightlens.store.layout`, `nsightlens.store.manifest`: where things lie in it, and what it says
  of them.
- `nsightlens.store.rows`, `nsightlens.store.parts`, `nsightlens.store.schemas`,
  `nsightlens.store.checksums`: rows of reports become Parquet files, and back.
- `nsightlens.store.merge`: several runs become one.
- `nsightlens.store.place`: which folders are never written.
- `nsightlens.store.staging`, `nsightlens.store.exchange`, `nsightlens.store.lock`: one step from
  one sound dataset to the next, by one process at a time.
"""

from __future__ import annotations

from nsightlens.store.dataset import Dataset, open_dataset
from nsightlens.store.place import check_dataset_place
from nsightlens.store.writer import DatasetWriter, ReportContents

__all__ = ["Dataset", "DatasetWriter", "ReportContents", "check_dataset_place", "open_dataset"]
