"""Real traces of Nsight Systems read as what they are, and attribution equals a slow reference."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from support.attribution import attributed, attribution_of, rows_of_file

import nsightlens

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from nsightlens.trace import Trace

pytestmark = pytest.mark.corpus


class Real(NamedTuple):
    """What a real trace holds, as counted by hand, and what is said of it."""

    kernels: int
    copies: int
    memsets: int
    ranges: int
    called: int
    """Kernels whose API call is in the trace."""
    notes: tuple[str, ...] = ()


_NO_NVTX = "it has no NVTX ranges"
_CUT = "kernels have no API call in the trace"
_AI = "GindaChen__nsys-ai__tests_fixtures_"
_EXTRAP = "extra-p__extrap__tests_data_nsight_"
# By the name of the file without its suffix.
REAL = {
    f"{_AI}h100_2gpu_1s": Real(3442, 904, 22, 16782, 1632, (f"1810 of 3442 {_CUT}",)),
    f"{_AI}healthy_1pct": Real(400, 0, 0, 0, 400, (_NO_NVTX,)),
    f"{_AI}healthy_1pct_at_6d01e5a7": Real(400, 0, 0, 0, 400, (_NO_NVTX,)),
    f"{_AI}mfu_2gpu_after": Real(3587, 904, 242, 17113, 3577, (f"10 of 3587 {_CUT}",)),
    f"{_AI}mfu_2gpu_before": Real(4010, 1020, 269, 19118, 3986, (f"24 of 4010 {_CUT}",)),
    f"{_AI}mock": Real(2, 1, 0, 0, 2, (_NO_NVTX,)),
    "NVIDIA__Fuser__report1": Real(18, 3, 3, 13513, 18),
    "NVIDIA__Fuser__report1_at_da819b5f": Real(19, 1, 1, 639, 19),
    "NVIDIA__Fuser__report2_at_bab69540": Real(19, 1, 1, 1054, 19),
    "YoonKyonghwan__EfficientCenterFormer__poolformer_at_6571948b": Real(
        0, 0, 0, 576, 0, ("NVTX ranges but neither kernels nor API calls",)
    ),
    "amir-ghz__DynamicViT__nsys_profile": Real(
        0, 0, 0, 0, 0, ("it has neither kernels nor API calls of CUDA", _NO_NVTX)
    ),
    "brycelelbach__nsightful__tests_power_iteration__baseline": Real(3689, 89, 0, 786, 3689),
    "bwyogatama__Mordred-Deprecated__report1_at_bb50baf9": Real(12, 188, 16, 0, 12, (_NO_NVTX,)),
    f"{_EXTRAP}concurrent_example_concurrent.s16_profile16": Real(12, 30, 17, 76, 12),
    f"{_EXTRAP}concurrent_example_concurrent.s1_profile1": Real(12, 30, 17, 76, 12),
    f"{_EXTRAP}concurrent_example_concurrent.s4_profile4": Real(12, 30, 17, 76, 12),
    f"{_EXTRAP}sampled_callchains_ex-gpu.s1000_ex-gpu.s1000": Real(6, 0, 0, 0, 6, (_NO_NVTX,)),
}


@pytest.fixture(scope="module")
def corpus_nsys(corpus_ncu: Path) -> Path:
    """Return the folder of real traces beside that of the reports."""
    folder = corpus_ncu.parent / "nsys"
    if not folder.is_dir():
        pytest.skip("the corpus of real traces does not lie beside this checkout")
    return folder


def test_every_real_trace_is_expected_here(corpus_nsys: Path) -> None:
    """No trace is forgotten, and each of them is an export that reads."""
    assert {path.stem for path in corpus_nsys.iterdir()} == set(REAL)


@pytest.mark.parametrize("name", REAL)
def test_a_real_trace_holds_what_its_file_does(corpus_nsys: Path, name: str) -> None:
    """Counts and sums are those of SQL by hand; what a person must know is said."""
    path = corpus_nsys / f"{name}.sqlite"
    before = sorted(path.parent.iterdir())
    trace = nsightlens.open_trace(path)
    assert sorted(path.parent.iterdir()) == before
    real = REAL[name]
    found = (trace.kernels, trace.copies, trace.memsets, trace.ranges)
    assert tuple(one.num_rows for one in found) == real[:4]
    assert len(trace) - trace.kernels["api_call_id"].null_count == real.called
    assert len(trace.warnings) == len(real.notes)
    for said, expected in zip(trace.warnings, real.notes, strict=True):
        assert said.startswith(f"{path}: ")
        assert expected in said
    with closing(sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)) as file:
        _check_sums(trace, file)
    for table in found:
        start = np.asarray(table["start_ns"])
        assert (np.diff(start) >= 0).all()


def _check_sums(trace: Trace, file: sqlite3.Connection) -> None:
    """Compare sums and counts with SQL, where the export has the table."""
    asked: tuple[tuple[str, str, pa.Table, tuple[str, ...]], ...] = (
        (
            "sum(end - start), sum(gridX), sum(blockX), count(DISTINCT shortName)",
            "CUPTI_ACTIVITY_KIND_KERNEL",
            trace.kernels,
            ("duration_ns", "grid_x", "block_x", "kernel_name"),
        ),
        (
            "sum(end - start), sum(bytes)",
            "CUPTI_ACTIVITY_KIND_MEMCPY",
            trace.copies,
            ("duration_ns", "copied_bytes"),
        ),
        (
            "sum(end - start), sum(bytes)",
            "CUPTI_ACTIVITY_KIND_MEMSET",
            trace.memsets,
            ("duration_ns", "set_bytes"),
        ),
        (
            "sum(end - start), max(end)",
            "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
            trace.synchronizations,
            ("duration_ns",),
        ),
        ("sum(end - start)", "NVTX_EVENTS WHERE eventType = 59", trace.ranges, ("duration_ns",)),
        # Calls that are repeated for their call stack are left out; the later row is the call.
        (
            "sum(e - s), sum(c)",
            """(SELECT max(start) AS s, end AS e, correlationId AS c
                FROM CUPTI_ACTIVITY_KIND_RUNTIME GROUP BY globalTid, correlationId)""",
            trace.api_calls,
            ("duration_ns", "correlation_id"),
        ),
    )
    for select, source, table, columns in asked:
        try:
            told = file.execute(f"SELECT {select} FROM {source}").fetchone()
        except sqlite3.OperationalError:  # there is no such table
            assert table.num_rows == 0
            continue
        for expected, name in zip(told, columns, strict=False):
            column = table[name]
            if name == "kernel_name":
                assert len(column.unique()) == expected
            else:
                assert (sum(column.drop_null().to_pylist()) or None) == (expected or None), name


@pytest.mark.parametrize("name", REAL)
def test_attribution_equals_a_slow_and_obvious_one(corpus_nsys: Path, name: str) -> None:
    """Kernels, copies and memsets: their call, its thread, and the ranges that were open.

    Of the largest traces some are looked at; all of them with NSIGHTLENS_EXHAUSTIVE=1, in minutes.
    """
    most = 10**12 if os.environ.get("NSIGHTLENS_EXHAUSTIVE") else 1_500_000
    path = corpus_nsys / f"{name}.sqlite"
    trace = nsightlens.open_trace(path)
    calls = rows_of_file(path, "CUPTI_ACTIVITY_KIND_RUNTIME")
    nvtx = rows_of_file(path, "NVTX_EVENTS")
    strings = rows_of_file(path, "StringIds")
    for table, kind in (
        (trace.kernels, "KERNEL"), (trace.copies, "MEMCPY"), (trace.memsets, "MEMSET"),
    ):  # fmt: skip
        rows = rows_of_file(path, f"CUPTI_ACTIVITY_KIND_{kind}")
        # The reference looks at every range and call for every activity.
        step = max(1, len(rows) * (len(nvtx) + len(calls)) // most)
        rows.sort(key=lambda row: row["start"])
        expected = attributed(rows[::step], calls, nvtx, strings)
        ours = attribution_of(trace, table)[::step]
        assert ours == expected
