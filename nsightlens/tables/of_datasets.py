"""What a dataset of `nsightlens.store` adds to the tables of its reports."""

from __future__ import annotations

import pyarrow as pa

from nsightlens.tables.column import Column, category, count, text

__all__ = ["REPORTS", "REPORT_ID"]

REPORT_ID = category(
    "report_id",
    "SHA-256 of the report, decompressed: the same on every machine and under every name",
)
"""First column of every table of a dataset: with ``launch_id`` it names a launch."""

REPORTS: tuple[Column, ...] = (
    REPORT_ID,
    text("report", "path of the report, as it was given when it was added"),
    count("size_bytes", "size of the report, decompressed", "B"),
    count("launch_count", "launches of it in the dataset: those that passed the filters"),
    category("ncu_version", "version of Nsight Compute that collected it, of its first session"),
    category("tool_version", "version of nsightlens that added it"),
    count("schema_version", "version of the tables, see SCHEMA_VERSION"),
    category(
        "options", "what it was read and labelled with, as JSON: tables, filters, peaks, rules"
    ),
    category("options_id", "first 16 digits of the SHA-256 of options"),
    Column("exported_at", pa.timestamp("ms", tz="UTC"), "", "when the run that added it began"),
    Column(
        "warnings", pa.list_(pa.string()), "", "what was noticed while it was read and labelled"
    ),
)
