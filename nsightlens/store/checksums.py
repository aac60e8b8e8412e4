"""Checksums of the pages of Parquet files, where the installed Arrow knows them."""

from __future__ import annotations

import inspect
from typing import Any

import pyarrow.dataset as pads
import pyarrow.parquet as pq

__all__ = ["READER_OPTIONS", "WRITER_OPTIONS", "scan_format"]


def _options(function: Any, name: str) -> dict[str, bool]:
    """Return an option that is switched on, nothing where a function does not have it."""
    return {name: True} if name in inspect.signature(function).parameters else {}


# Each of the three came with a version of its own.
WRITER_OPTIONS = _options(pq.write_table, "write_page_checksum")
"""For `pyarrow.parquet.ParquetWriter`."""
READER_OPTIONS = _options(pq.ParquetFile, "page_checksum_verification")
"""For `pyarrow.parquet.ParquetFile`."""


def scan_format() -> Any:
    """Return how `pyarrow.dataset` reads the files."""
    try:
        options = pads.ParquetFragmentScanOptions(page_checksum_verification=True)
    except TypeError:
        return pads.ParquetFileFormat()
    return pads.ParquetFileFormat(default_fragment_scan_options=options)
