"""Datasets with known content: reports by their number, and what is in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from nsightlens import tables
from nsightlens.store import DatasetWriter, ReportContents, open_dataset
from support.labels import sessions_of, three_launches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

GPUS = ("NVIDIA H100 PCIe", "NVIDIA A100-SXM4-80GB", None)


def contents_of(
    number: int, *, gpus: Sequence[str | None] = GPUS[:1], names: Sequence[str] | None = None
) -> ReportContents:
    """Return a report of three launches, on the GPUs in turn.

    Parameters
    ----------
    number
        Tells reports apart: it is in their id, their name and the durations of their launches.
    gpus
        GPU of each launch in turn; None for one that is not known.
    names
        Tables; None for all that there are.
    """
    labels = three_launches()
    of_launch = pa.array([gpus[i % len(gpus)] for i in range(3)], pa.string())
    labels = _with(labels, "device_name", of_launch.dictionary_encode())
    labels = _with(labels, "duration_ns", pa.array([100.0 * number + i for i in range(3)]))
    every = {
        "launches": _launches(of_launch),
        "labels": labels,
        "rules": tables.empty_table(tables.RULES),
        "sessions": sessions_of(),
    }
    contents = {name: every[name] for name in names or every}
    return ReportContents(
        f"{number:064x}", f"r{number}.ncu-rep", 1000 + number, every["launches"], contents, "2025.1"
    )


def values_of(table: pa.Table) -> pa.Table:
    """Return a table with text in place of codes, and a number in place of NaN.

    Whether two tables are equal depends else on values that no row has, and NaN equals nothing.
    """
    columns = []
    for column in table.columns:
        if pa.types.is_dictionary(column.type):
            columns.append(column.cast(pa.string()))
        elif pa.types.is_floating(column.type):
            columns.append(pc.if_else(pc.is_nan(column), -1.5, column))
        else:
            columns.append(column)
    return pa.table(columns, names=table.column_names)


def _launches(of_launch: pa.Array) -> pa.Table:
    schema = tables.schema_of(tables.LAUNCHES, {"duration_ns": "gpu__time_duration.sum"})
    data = {"report": ["r"] * 3, "launch_id": [0, 1, 2], "device_name": of_launch}
    return tables.table_of(schema, data, 3)


def _with(table: pa.Table, name: str, values: Any) -> pa.Table:
    at = table.schema.get_field_index(name)
    return table.set_column(at, table.schema.field(at), values)


def write_reports(folder: Path, numbers: Iterable[int], **options: Any) -> list[str]:
    """Add reports to a dataset in one run; return what became of each."""
    with DatasetWriter(folder, **options) as writer:
        return [writer.add(contents_of(number)) for number in numbers]


def reports_in(folder: Path) -> list[int]:
    """Return the numbers of the reports of a dataset, sorted; every table has each of them once."""
    dataset = open_dataset(folder)
    found = [int(one, 16) for one in dataset.reports["report_id"].to_pylist()]
    assert len(found) == len(set(found)) == len(dataset)
    for name in ("labels", "launches"):
        ids = dataset.table(name)["report_id"].to_pylist()
        assert sorted(ids) == sorted(f"{number:064x}" for number in found for _ in range(3)), name
    return sorted(found)


def files_in(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its content, hidden ones too."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
