"""``reader="ncu_report"`` gives the same tables as the native reader, in all that it can know."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.parity import import_ncu_report

import nsightlens

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from nsightlens.report import Report

pytestmark = [pytest.mark.corpus, pytest.mark.ncu_report, pytest.mark.slow]

# Not in the interface of ncu_report: the process, its session and what it called.
UNKNOWN = {"process_id", "process_name", "thread_id", "api_call_id", "is_clock_locked",
           "is_unsupported_device"}  # fmt: skip
UNKNOWN_UNLESS_A_METRIC_SAYS_IT = {"context_id", "stream_id"}
UNKNOWN_OF_A_RANGE = {"thread_id", "range_id"}


def rows(table: pa.Table, unknown: set[str] | frozenset[str] = frozenset()) -> list[str]:
    """Return the rows in an order of their own, as text, in which NaN is NaN."""
    known = [name for name in table.column_names if name not in unknown]
    return sorted(map(str, table.select(known).to_pylist()))


def assert_same_launches(theirs: Report, ours: Report) -> None:
    for name in ours.launches.column_names:
        found, expected = (list(map(str, r.launches[name].to_pylist())) for r in (theirs, ours))
        if name in UNKNOWN:
            assert set(found) <= {"None"}, name
        elif name in UNKNOWN_UNLESS_A_METRIC_SAYS_IT:
            assert all(one in {"None", other} for one, other in zip(found, expected, strict=True))
        else:
            assert found == expected, name


def test_every_real_report_reads_alike(corpus_reports: list[Path]) -> None:
    """Every table of every report."""
    import_ncu_report()
    counts = dict.fromkeys(("launches", "metrics", "instances", "rules", "nvtx", "stalls"), 0)
    for path in corpus_reports:
        ours = nsightlens.open_report(path, instances=True, reader="native")
        theirs = nsightlens.open_report(path, instances=True, reader="ncu_report")
        assert_same_launches(theirs, ours)
        for name in ("metrics", "instances", "rules", "stalls"):
            assert rows(getattr(theirs, name)) == rows(getattr(ours, name)), (path.name, name)
        assert rows(theirs.nvtx, UNKNOWN_OF_A_RANGE) == rows(ours.nvtx, UNKNOWN_OF_A_RANGE)
        assert theirs.sessions.schema == ours.sessions.schema
        assert theirs.sessions.num_rows == 0
        for name in counts:
            counts[name] += getattr(ours, name).num_rows
    # Least numbers, so that having looked at nothing cannot pass.
    assert counts["launches"] > 200
    assert counts["metrics"] > 90_000
    assert counts["instances"] > 500_000
    assert counts["rules"] > 600
