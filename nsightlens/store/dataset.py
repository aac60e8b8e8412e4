"""Dataset: the tables of a dataset, whole or scanned lazily, and checked for damage."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.fs

from nsightlens.errors import DatasetFormatError
from nsightlens.report import data_frame
from nsightlens.store.checksums import scan_format
from nsightlens.store.layout import EXPORT, GPU, OF_LAUNCHES, TABLES, gpu_of
from nsightlens.store.manifest import AGAIN, export_names, read_exports, read_marker
from nsightlens.store.schemas import damaged, schema_of_files

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from nsightlens.store.manifest import Export, PartFile

__all__ = ["Dataset", "open_dataset"]

_RUN = EXPORT.rstrip("=")
_ATTEMPTS = 3
"""Looks at a dataset that is being replaced, before what is missing counts as damage."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """The reports of a dataset, as `open_dataset` found them.

    Parameters
    ----------
    path
        Its folder.
    exports
        Its export runs, the oldest first.
    """

    path: Path
    exports: tuple[Export, ...]

    def __len__(self) -> int:
        return sum(len(export.reports) for export in self.exports)

    def __repr__(self) -> str:
        rows = ", ".join(f"{name} {self.row_count(name)}" for name in self.tables)
        return f"<Dataset of {len(self)} reports at {self.path}: {rows}>"

    def _repr_html_(self) -> str:
        from html import escape  # noqa: PLC0415 - only a notebook asks for it

        rows = "".join(
            f"<tr><td>{name}</td><td style='text-align:right'>{self.row_count(name):,}</td></tr>"
            for name in self.tables
        )
        head = f"Dataset of {len(self):,} reports at <code>{escape(str(self.path))}</code>"
        return f"<p>{head}</p><table><tr><th>table</th><th>rows</th></tr>{rows}</table>"

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables that it holds."""
        found = {file.table for export in self.exports for file in export.files}
        return tuple(name for name in TABLES if name in found)

    @cached_property
    def reports(self) -> pa.Table:
        """The table ``reports``: one row per report."""
        return self.table("reports")

    @property
    def gpus(self) -> tuple[str | None, ...]:
        """Names of the GPUs that tables are partitioned by, sorted; None where it is not known."""
        files = (file for export in self.exports for file in export.files)
        found = {
            gpu_of(file.path) for file in files if file.table in OF_LAUNCHES and file.row_count
        }
        return (*sorted(name for name in found if name), *([None] if None in found else []))

    def row_count(self, name: str) -> int:
        """Return how many rows a table has, without reading it.

        Raises
        ------
        ValueError
            There is no such table in it.
        """
        return sum(file.row_count for _, file in self._files(name))

    def table(
        self,
        name: str,
        columns: Sequence[str] | None = None,
        filter: Any = None,  # noqa: A002 - as in pyarrow
    ) -> pa.Table:
        """Read a table.

        Parameters
        ----------
        name
            One of ``tables``.
        columns
            The columns to read; None for those of the table. ``gpu`` and ``export`` name the
            partition that a row lies in.
        filter
            An expression of `pyarrow.compute` over columns and partitions; only what passes is
            read from the disk.

        Returns
        -------
        pyarrow.Table
            As it was written, with the metadata of its columns. The rows of a report and GPU are
            in the order that they have in the report; that of reports is not promised.

        Raises
        ------
        DatasetFormatError
            A file of it is damaged, or has been replaced since the dataset was opened.
        ValueError
            There is no such table or column in it.

        Examples
        --------
        >>> import pyarrow.compute as pc
        >>> dataset = open_dataset("dataset/")  # doctest: +SKIP
        >>> dataset.table("labels", filter=pc.field("family") == "attention")  # doctest: +SKIP
        """
        scan = self.dataset(name)
        own = [column for column in scan.schema.names if column not in (GPU, _RUN)]
        wanted = own if columns is None else list(columns)
        unknown = [column for column in wanted if column not in scan.schema.names]
        if unknown:
            raise ValueError(f"{name} has no column {unknown[0]!r}: it has {', '.join(own)}")
        try:
            found = scan.to_table(columns=wanted, filter=filter)
        except (OSError, pa.ArrowInvalid) as error:
            if isinstance(error, pa.ArrowInvalid) and not _is_of_file(error):
                raise  # the expression's fault
            raise damaged(self.path, error) from error
        schema = pa.schema([scan.schema.field(column) for column in wanted], scan.schema.metadata)
        return found.cast(schema).unify_dictionaries().combine_chunks()

    def dataset(self, name: str) -> Any:
        """Return a table as a `pyarrow.dataset.Dataset`, for scans that read only what they need.

        Parameters
        ----------
        name
            One of ``tables``.

        Returns
        -------
        pyarrow.dataset.Dataset
            With the columns of the table, ``export``, and ``gpu`` where it is partitioned by it:
            a filter on these opens no file of another partition.

        Raises
        ------
        DatasetFormatError
            A file of it is damaged, or has been replaced since the dataset was opened.
        ValueError
            There is no such table in it.
        """
        files = self._files(name)
        schema = self._schema(name, files)
        form = scan_format()
        local = pyarrow.fs.LocalFileSystem()
        partitions = [pa.field(_RUN, pa.string())]
        if name in OF_LAUNCHES:
            partitions.append(pa.field(GPU, pa.string()))
        whole = pa.schema([*schema, *partitions], schema.metadata)
        fragments = [
            _checked(
                form.make_fragment(str(export.place(file)), local, _partition(export, file)), file
            )
            for export, file in files
        ]
        return pads.FileSystemDataset(fragments, whole, form, local)

    def to_pandas(self, name: str, columns: Sequence[str] | None = None, filter: Any = None) -> Any:  # noqa: A002 - as above
        """Return a table as a pandas DataFrame; see `table`.

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        """
        return data_frame(self.table(name, columns, filter), "Dataset.to_pandas()")

    def _files(self, name: str) -> list[tuple[Export, PartFile]]:
        found = [
            (export, file) for export in self.exports for file in export.files if file.table == name
        ]
        if not found and (self.exports or name not in TABLES):
            known = ", ".join(self.tables) or "none"
            raise ValueError(f"no table {name!r} in {self.path}: it has {known}")
        return found

    def _schema(self, name: str, files: list[tuple[Export, PartFile]]) -> pa.Schema:
        """Return the schema of a table, by one file of each version that wrote some."""
        newest = {export.tool_version: export.place(file) for export, file in files}
        return schema_of_files(name, reversed(newest.values()))


def open_dataset(path: str | os.PathLike[str]) -> Dataset:
    """Open a dataset that ``nsightlens export`` made.

    Parameters
    ----------
    path
        Its folder, on a disk of this machine or mounted like one.

    Returns
    -------
    Dataset
        Of what is there now. What is added later is not seen; a dataset that is replaced has to
        be opened again.

    Raises
    ------
    ReportNotFoundError
        There is no such folder, or it is no dataset.
    DatasetFormatError
        It has another version, or one of its files is gone, cut or not the one that was written.

    Examples
    --------
    >>> import tempfile, nsightlens.example
    >>> from nsightlens.pipelines import export_reports
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = export_reports([nsightlens.example.path()], f"{folder}/dataset")
    ...     dataset = open_dataset(f"{folder}/dataset")
    ...     dataset.table("labels", columns=["family", "bound"]).num_rows
    113
    """
    root = Path(path)
    read_marker(root)
    for attempt in range(_ATTEMPTS):
        names = export_names(root)
        try:
            exports = read_exports(root, names)
            for export in exports:
                _check_sizes(export)
        except DatasetFormatError:
            # Another process may have put other runs in the place of those.
            if attempt == _ATTEMPTS - 1 or export_names(root) == names:
                raise
            continue
        break
    return Dataset(root, tuple(exports))


def _check_sizes(export: Export) -> None:
    for file in export.files:
        place = export.place(file)
        try:
            size = place.stat().st_size
        except OSError as error:
            problem = "the file is gone" if isinstance(error, FileNotFoundError) else error.strerror
            raise DatasetFormatError(str(place), str(problem), AGAIN) from error
        if size != file.size_bytes:
            problem = f"{size} bytes instead of the {file.size_bytes} that were written"
            raise DatasetFormatError(str(place), problem, AGAIN)


def _partition(export: Export, file: PartFile) -> Any:
    run = pads.field(_RUN) == export.folder.name.removeprefix(EXPORT)
    if file.table not in OF_LAUNCHES:
        return run
    gpu = gpu_of(file.path)
    return run & (pads.field(GPU).is_null() if gpu is None else pads.field(GPU) == gpu)


def _checked(fragment: Any, file: PartFile) -> Any:
    """Return a fragment whose footer speaks of as many rows as were written."""
    try:
        row_count = fragment.metadata.num_rows
    except (OSError, pa.ArrowInvalid) as error:
        raise damaged(fragment.path, error) from error
    if row_count != file.row_count:
        problem = f"{row_count} rows instead of the {file.row_count} that were written"
        raise DatasetFormatError(str(fragment.path), problem, AGAIN)
    return fragment


def _is_of_file(error: Exception) -> bool:
    """Tell an error in a file from one in an expression, which Arrow gives the same type."""
    words = ("parquet", "page", "column chunk", "crc", "thrift", "deserializ", "decompress", "zstd")
    return any(word in str(error).lower() for word in words)
