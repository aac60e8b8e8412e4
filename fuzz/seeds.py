"""What the search begins with: reports of our own writer that use every part of the format."""

from __future__ import annotations

import random
import tempfile
from dataclasses import replace
from pathlib import Path

from support import reports as fixtures
from support.ncu_csv import Locale, ncu_csv
from support.small_reports import small_reports

import nsightlens
from nsightlens.ncurep import LaunchSpec, RuleMessage, encode_ncu_rep, write_ncu_rep

__all__ = ["csv_texts", "measured_reports", "random_bytes", "reports"]


def reports() -> list[bytes]:
    """Return reports of up to three kilobytes that have everything the format has."""
    return [
        encode_ncu_rep([]),
        encode_ncu_rep([LaunchSpec(metrics={"a": 1.0})]),
        encode_ncu_rep(fixtures.report_of([])),
        *small_reports(),
    ]


def measured_reports() -> list[bytes]:
    """Return also reports that have the metrics from which labels are made."""
    return [
        *reports(),
        *(encode_ncu_rep(fixtures.report_of([launch])) for launch in fixtures.everything()),
    ]


def csv_texts() -> list[bytes]:
    """Return both pages of a report as ncu prints them, in the formats of several machines."""
    metrics: dict[str, float | int | str] = {
        "gpu__time_duration.sum": 1_234_567.5,
        "dram__bytes_read.sum": 2.5e9,
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": 85.0,
        "launch__grid_size": 4096,
        "launch__func_cache_config": "CachePreferNone",
    }
    plain = LaunchSpec(metrics=dict(metrics), demangled_name="void f<int, 2>(T1 *, (a)b)")
    launches = [
        plain,
        replace(plain, rules=[RuleMessage("R", "Rule", "S", 4, None, "do", 12.5, 2)]),
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = write_ncu_rep(Path(folder) / "report.ncu-rep", fixtures.report_of(launches))
        report = nsightlens.open_report(path)
    texts = [
        ncu_csv(report, "raw"),
        ncu_csv(report, "details"),
        ncu_csv(report, "raw", base_units=True),
        ncu_csv(report, "details", locale=Locale(decimal=",", group=".")),
        ncu_csv(report, "details", old_units=True),
    ]
    return [f"==PROF== Connected to process 1\n{text}".encode() for text in texts]


def random_bytes() -> list[bytes]:
    """Return bytes without a meaning, always the same, for a target that makes its own of them."""
    chance = random.Random("seeds")
    return [chance.randbytes(size) for size in (0, 8, 64, 256, 256, 1024, 1024, 4096)]
