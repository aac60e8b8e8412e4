"""What a table of labels adds up to."""

from __future__ import annotations

import math
from typing import Any

from support.labels import GEMM, UNKNOWN, labels_of, sessions_of, three_launches

from nsightlens.render import facts, summary


def test_time_is_shared_out_by_family_and_bound() -> None:
    """The family with the most time stands first, and the shares of a family add up to 100."""
    shares = summary.bound_shares(three_launches().to_pydict())
    assert [share.family for share in shares] == ["attention", "gemm", "elementwise"]
    assert shares[0].share_pct == {"memory": 100.0, "compute": 0.0, "unknown": 0.0}
    assert shares[1].launch_count == {"memory": 0, "compute": 1, "unknown": 0}


def test_a_family_without_any_duration_has_no_share() -> None:
    """It is not called zero per cent."""
    rows = labels_of({"duration_ns": None}, {"duration_ns": math.nan}).to_pydict()
    (share,) = summary.bound_shares(rows)
    assert share.share_pct["memory"] is None
    assert summary.total_duration_ns(rows) is None


def test_reasons_for_unknown_are_counted_the_commonest_first() -> None:
    """The user mends what helps most."""
    other = {**UNKNOWN, "reason": "The launch failed.", "launch_count": 1}
    rows = labels_of(other, {**UNKNOWN, "launch_count": 3}, GEMM).to_pydict()
    found = summary.unknown_reasons(rows)
    assert [(reason.reason, reason.launch_count) for reason in found] == [
        (UNKNOWN["reason"], 3),
        ("The launch failed.", 1),
    ]


def test_reasons_that_differ_in_numbers_are_one() -> None:
    """What differs is written N; what is a name or the same everywhere stays."""
    texts = ["DRAM is at 39 % of its FP16 peak", "DRAM is at 4.5 % of its FP16 peak", "L2 at 3 %"]
    rows: dict[str, list[Any]] = {
        "bound": ["unknown"] * 3,
        "reason": [*texts],
        "launch_count": [2, 3, 1],
    }
    found = summary.unknown_reasons(rows)
    assert found == [("DRAM is at N % of its FP16 peak", 5), ("L2 at 3 %", 1)]


def test_notes_tell_of_failed_launches_locked_clocks_and_the_boost_clock() -> None:
    """Each changes what the labels mean."""
    rows = labels_of({"failed_launch_count": 1, "clock_dependent": True}).to_pydict()
    sessions = sessions_of("a", clock_control="base")
    found = facts.notes(rows, list(facts.report_facts(["a"], sessions, []).values()), ["cut"])
    assert found[0] == "cut"
    assert [note.split()[0] for note in found[1:]] == ["1", "ncu", "1"]


def test_nothing_is_noted_where_nothing_is_special() -> None:
    """Silence means that all is well."""
    sessions = sessions_of("a", clock_control="none")
    of_reports = list(facts.report_facts(["a"], sessions, []).values())
    assert facts.notes(three_launches().to_pydict(), of_reports) == []


def test_a_report_is_described_by_its_launches_first_and_its_session_second() -> None:
    """A machine has GPUs on which nothing was profiled."""
    sessions = sessions_of("a", "b")
    found = facts.report_facts(["a", "b", "c"], sessions, [("a", "NVIDIA T4"), ("a", None)])
    assert found["a"].device_names == ("NVIDIA T4",)
    assert found["b"].device_names == ("NVIDIA H100 PCIe",)
    assert found["b"].ncu_version == "2025.1.1"
    assert found["c"] == facts.ReportFacts("c", (), None, None)
