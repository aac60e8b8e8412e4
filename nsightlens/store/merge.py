"""Several export runs become one: thousands of small files would make every query slow.

Runs are merged as they come, as in a log-structured merge tree: when there are `_FEW` runs that
are no larger than the new one, they and it become one run. Reports that are added one by one are
so rewritten a few times each, and ten thousand of them lie in some dozens of runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from nsightlens._version import __version__
from nsightlens.errors import DatasetFormatError
from nsightlens.store.checksums import READER_OPTIONS
from nsightlens.store.layout import MANIFEST, gpu_of
from nsightlens.store.manifest import Export
from nsightlens.store.parts import Parts
from nsightlens.store.schemas import damaged, schema_of_files, with_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from nsightlens.store.manifest import PartFile

__all__ = ["merge", "runs_to_merge"]

_FEW = 16
"""Runs of about one size that may lie side by side."""
_LARGE_BYTES = 256 << 20
"""[B] A run of this size is left alone: its files are large enough for any query."""


def runs_to_merge(runs: Sequence[Export], new: Export) -> list[Export]:
    """Return the runs with which a new one is to be merged, the oldest first; mostly none.

    Parameters
    ----------
    runs
        The runs of the dataset, the oldest first.
    new
        The new one.
    """
    small = [run for run in runs if run.size_bytes < _LARGE_BYTES]
    merged: set[str] = set()
    count = len(new.reports)
    while True:
        more = {run.folder.name for run in small if len(run.reports) <= count} - merged
        if len(more) < _FEW:
            return [run for run in small if run.folder.name in merged]
        count += sum(len(run.reports) for run in small if run.folder.name in more)
        merged |= more


def merge(runs: Sequence[Export], folder: Path) -> Export:
    """Write the rows of several runs as one.

    Parameters
    ----------
    runs
        The oldest first.
    folder
        The folder of the new run, which is made.

    Raises
    ------
    DatasetFormatError
        A file of a run is damaged.
    OSError
        Something could not be written.
    """
    files = [(run, file) for run in runs for file in run.files]
    names = dict.fromkeys(file.table for _, file in files)
    schemas = {
        name: schema_of_files(
            name, [run.place(file) for run, file in reversed(files) if file.table == name]
        )
        for name in names
    }
    with Parts(folder) as parts:
        for run, file in files:
            for rows in _row_groups(run.place(file), file):
                parts.append(file.table, gpu_of(file.path), with_schema(rows, schemas[file.table]))
        written = parts.close()
    reports = {report: options for run in runs for report, options in run.reports.items()}
    merged = Export(folder, written, reports, __version__)
    (folder / MANIFEST).write_text(merged.text(), encoding="utf-8", newline="\n")
    return merged


def _row_groups(place: Path, file: PartFile) -> Iterator[pa.Table]:
    """Yield the rows of a file, a table of no rows where it has none."""
    row_count = 0
    try:
        with pq.ParquetFile(place, **READER_OPTIONS) as opened:
            if not opened.num_row_groups:
                yield opened.schema_arrow.empty_table()
            for i in range(opened.num_row_groups):
                rows = opened.read_row_group(i)
                row_count += rows.num_rows
                yield rows
    except (OSError, pa.ArrowInvalid) as error:
        raise damaged(place, error) from error
    if row_count != file.row_count:
        raise DatasetFormatError(str(place), f"{row_count} rows instead of {file.row_count}", "")
