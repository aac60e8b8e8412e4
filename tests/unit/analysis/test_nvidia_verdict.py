"""NVIDIA's SpeedOfLight rule: recomputed from its numbers, read from its message, beside ours."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.rooflines import MEMORY, SM, aggregates, dram_bytes, launch, parts
from support.stores import REPORT, report_of

from nsightlens import tables
from nsightlens.analysis import classify
from nsightlens.analysis.nvidia_verdict import nvidia_verdict

if TYPE_CHECKING:
    from support.rooflines import Metrics

    from nsightlens.report import Report

WAVES = "launch__waves_per_multiprocessor"


def verdict_of(sm: float | None, memory: float | None, waves: float | None = 5.0) -> str | None:
    """Return the recomputed verdict of a launch with these numbers."""
    metrics = launch(aggregates(sm=sm or 0.0, memory=memory or 0.0), {WAVES: waves or 0.0})
    for name, value in ((SM, sm), (MEMORY, memory), (WAVES, waves)):
        if value is None:
            del metrics[name]
    (label,) = classify(report_of(metrics)).labels.to_pylist()
    verdict: str | None = label["nvidia_verdict"]
    return verdict


def with_rules(report: Report, *messages: dict[str, Any]) -> Report:
    """Return the report with messages of the SpeedOfLight rule, of its first launch."""
    given = {
        "rule": "SOLBottleneck",
        "severity": "ok",
        "title": None,
        "message": "",
        "launch_id": 0,
    }
    rows = [{"report": REPORT, **given, **one} for one in messages]
    names = ("report", "launch_id", "rule", "severity", "title", "message")
    columns = {name: [row[name] for row in rows] for name in names}
    return replace(
        report, rules=tables.table_of(tables.schema_of(tables.RULES), columns, len(rows))
    )


def stored_of(*messages: dict[str, Any]) -> str | None:
    """Return the stored verdict of a launch with these messages."""
    (label,) = classify(with_rules(report_of(launch()), *messages)).labels.to_pylist()
    verdict: str | None = label["nvidia_stored_verdict"]
    return verdict


@pytest.mark.parametrize(
    ("sm", "memory", "waves", "expected"),
    [
        (80.0, 5.0, 0.5, "high_throughput"),
        (5.0, 80.0, 5.0, "high_throughput"),
        (7.6, 79.9957, 0.53, "memory"),
        (60.0, 50.0, 5.0, "compute"),
        (50.0, 60.0, 0.1, "memory"),
        (60.0, 50.1, 5.0, "balanced"),
        (64.9, 64.9, 5.0, "balanced"),
        (59.99, 10.0, 1.0, "latency"),
        (10.0, 59.99, 0.99, "small_grid"),
        (0.0, 0.0, 5.0, "latency"),
    ],
)
def test_the_rule_has_its_published_thresholds(
    sm: float, memory: float, waves: float, expected: str
) -> None:
    """80 and 60 % and 10 points of the numbers as they are stored; waves only below 60 %."""
    assert verdict_of(sm, memory, waves) == expected


def test_without_a_number_that_decides_there_is_no_verdict() -> None:
    """Both percentages always, waves only where nothing is busy."""
    assert verdict_of(None, 90.0) is None
    assert verdict_of(90.0, None) is None
    assert verdict_of(10.0, 10.0, None) is None
    assert verdict_of(70.0, 10.0, None) == "compute"
    assert verdict_of(90.0, 10.0, None) == "high_throughput"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("The kernel is utilizing greater than 80.0% of the available", "high_throughput"),
        ("This workload is utilizing greater than 80.0% of the available", "high_throughput"),
        ("Compute and Memory are well-balanced: To reduce", "balanced"),
        ("Compute is more heavily utilized than Memory: Look at", "compute"),
        ("Memory is more heavily utilized than Compute: Look at", "memory"),
        ("This workload exhibits low compute throughput and memory bandwidth", "latency"),
        ("This kernel grid is too small to fill the available resources", "small_grid"),
        ("A wording that no version has", None),
    ],
)
def test_the_stored_verdict_is_that_of_the_message(message: str, expected: str | None) -> None:
    """Of kernels and of workloads, without a heading."""
    assert stored_of({"message": message}) == expected


def test_a_heading_says_it_where_the_wording_is_new() -> None:
    """The headings have been the same since there are any."""
    assert stored_of({"title": "Small Grid", "message": "Reworded."}) == "small_grid"


def test_a_rule_that_failed_or_another_one_gives_no_verdict() -> None:
    """An error repeats words of the rule, and other rules have like words."""
    said = "This kernel grid is too small to fill the available resources"
    assert stored_of({"message": said, "severity": "error"}) is None
    assert stored_of({"message": said, "rule": "LaunchConfiguration"}) is None
    assert stored_of() is None


def test_each_launch_has_the_first_verdict_of_its_own_messages() -> None:
    """Messages come in any order, several for one launch, or for a launch that is not there."""
    report = with_rules(
        report_of(launch(), launch(), launch()),
        {"launch_id": 2, "title": "Latency Issue"},
        {"launch_id": 0, "title": "Unheard of"},
        {"launch_id": 0, "title": "Small Grid"},
        {"launch_id": 0, "title": "High Throughput"},
        {"launch_id": 7, "title": "High Throughput"},
        {"launch_id": 1, "title": "High Throughput", "report": "another.ncu-rep"},
    )
    stored = classify(report).labels["nvidia_stored_verdict"].to_pylist()
    assert stored == ["small_grid", None, "latency"]


def test_groups_have_no_verdict_of_nvidias_rule() -> None:
    """The rule is about one launch."""
    report = with_rules(report_of(launch(parts(dram=90.0))), {"title": "High Throughput"})
    for by, expected in (("launch", "high_throughput"), ("kernel", None), ("family", None)):
        (label,) = classify(report, by=by).labels.to_pylist()  # type: ignore[arg-type]
        assert label["nvidia_verdict"] == label["nvidia_stored_verdict"] == expected


def reason_of(metrics: Metrics, bound: str) -> str:
    """Return the reason of a launch that has to have a bound."""
    (label,) = classify(report_of(metrics)).labels.to_pylist()
    assert label["bound"] == bound
    reason: str = label["reason"]
    return reason


def test_the_reason_says_where_the_way_to_l1_parts_the_two_views() -> None:
    """A busy load/store pipe is SM throughput for NVIDIA, and the way to memory here."""
    texture_like = launch(parts(lsu=71.0, l1=55.0, issue=30.0))
    assert nvidia_verdict(report_of(texture_like)).sm[0] == pytest.approx(0.71)
    assert (
        "; NVIDIA's rule says compute (SM 71 %, memory 55 %), for it counts the way from the SM "
        "to L1 as compute"
    ) in reason_of(texture_like, "memory")


def test_the_reason_says_which_side_the_message_on_high_throughput_points_to() -> None:
    """With equal percentages it sends the reader to the compute section."""
    queue = launch(parts(lsu=91.0, l1=91.0, issue=25.0))
    assert (
        "NVIDIA's rule says high throughput and points to compute (SM 91 %, memory 91 %), for it "
        "counts the way from the SM to L1 as compute"
    ) in reason_of(queue, "memory")


def test_the_reason_says_where_counted_work_parts_the_two_views() -> None:
    """Bytes at 80 % of the peak where the percentage says 30: their percentage is no measure."""
    contradicted = launch(parts(dram=30.0, issue=65.0), dram_bytes(0.8))
    assert (
        "NVIDIA's rule says compute (SM 65 %, memory 30 %), where counted work over its peak says "
        "more"
    ) in reason_of(contradicted, "memory")


def test_the_reason_is_silent_where_both_views_name_one_side_or_none() -> None:
    """A memory-bound launch that NVIDIA calls memory, balanced, or latency needs no word."""
    for busy in (
        {"dram": 70.0, "issue": 30.0},
        {"dram": 90.0, "issue": 30.0},
        {"l1": 65.0, "lsu": 65.0, "issue": 30.0},
        {"dram": 20.0, "issue": 10.0},
    ):
        assert "NVIDIA" not in reason_of(launch(parts(**busy)), "memory")
    assert "NVIDIA" not in reason_of(launch(parts(issue=90.0, dram=30.0)), "compute")
