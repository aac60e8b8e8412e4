"""Where things lie in a dataset: names of its tables, folders and files.

A dataset is a folder with a marker and one folder per export run, a hive partition each::

    DATASET/nsightlens-dataset.json
    DATASET/export=<id>/_export.json
    DATASET/export=<id>/table=labels/gpu=NVIDIA H100 80GB HBM3/part-00000.parquet

All tables of all reports of a run are below one folder, so that one rename adds them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from nsightlens import tables

if TYPE_CHECKING:
    import pyarrow as pa

    from nsightlens.tables import Column

__all__ = [
    "EXPORT",
    "GPU",
    "LAYOUT_VERSION",
    "MANIFEST",
    "MARKER",
    "OF_LAUNCHES",
    "TABLES",
    "gpu_of",
    "part_path",
    "schema_of_table",
]

MARKER = "nsightlens-dataset.json"
MANIFEST = "_export.json"
"""Of one run. Libraries that look for data files step over names with an underscore in front."""
LAYOUT_VERSION = 1
"""Rises when a dataset can no longer be read as before; the tables have a version of their own."""
EXPORT = "export="
GPU = "gpu"

TABLES: dict[str, tuple[Column, ...]] = {
    "reports": tables.REPORTS,
    "launches": tables.LAUNCHES,
    "labels": tables.LABELS,
    "resources": tables.RESOURCES,
    "rooflines": tables.ROOFLINES,
    "stalls": tables.STALLS,
    "metrics": tables.METRICS,
    "rules": tables.RULES,
    "nvtx": tables.NVTX,
    "sessions": tables.SESSIONS,
    "instances": tables.INSTANCES,
}
"""Every table that a dataset may hold, without the column ``report_id``."""

OF_LAUNCHES = frozenset(TABLES) - {"reports", "sessions"}
"""Tables whose rows belong to a launch, and so to a GPU: these are partitioned by it."""

_NO_GPU = "__HIVE_DEFAULT_PARTITION__"
"""What stands for null in a hive partition."""
_SAFE = " -_.()+,@~"
_LONGEST = 180
"""[byte] Of the name of a GPU in a folder; file systems take 255."""


def schema_of_table(name: str) -> pa.Schema:
    """Return the schema of a table of a dataset, as this version writes it.

    Parameters
    ----------
    name
        One of `TABLES`. Its ``source`` metadata is left to those who have the table.

    Examples
    --------
    >>> schema_of_table("labels").names[0]
    'report_id'
    """
    columns = TABLES[name]
    return tables.schema_of(columns if name == "reports" else (tables.REPORT_ID, *columns))


def part_path(table: str, gpu: str | None, number: int) -> str:
    """Return where a file of a run lies below its folder, with ``/`` between the parts.

    Parameters
    ----------
    table
        One of `TABLES`.
    gpu
        Name of the GPU; None where it is not known, and for a table that has none.
    number
        Of the file, unique in the table: folders of two GPUs may be one where case counts not.

    Examples
    --------
    >>> part_path("labels", "NVIDIA H100 80GB HBM3", 0)
    'table=labels/gpu=NVIDIA H100 80GB HBM3/part-00000.parquet'
    >>> part_path("sessions", None, 1)
    'table=sessions/part-00001.parquet'
    """
    folder = f"table={table}"
    if table in OF_LAUNCHES:
        folder += f"/{GPU}={_folder_of(gpu)}"
    return f"{folder}/part-{number:05d}.parquet"


def gpu_of(path: str) -> str | None:
    """Return the GPU of a file by its place, as `part_path` gives it.

    Examples
    --------
    >>> gpu_of(part_path("labels", "A/B 100%", 0))
    'A/B 100%'
    >>> gpu_of(part_path("labels", None, 0)) is None
    True
    """
    match = re.search(rf"/{GPU}=([^/]*)/", path)
    return None if match is None or match[1] == _NO_GPU else unquote(match[1])


def _folder_of(gpu: str | None) -> str:
    if gpu is None or not gpu:
        return _NO_GPU
    # As hive writes it, so that every reader gives the name back. Windows drops a blank or a dot
    # at the end of a name.
    text = quote(gpu, safe=_SAFE)
    if text[-1] in " .":
        text = f"{text[:-1]}%{ord(text[-1]):02X}"
    return re.sub(r"%[0-9A-F]?\Z", "", text[:_LONGEST])
