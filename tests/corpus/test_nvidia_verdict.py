"""NVIDIA's verdict, recomputed, is the one that the real reports store."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from nsightlens.analysis import classify
from nsightlens.errors import NotAReportError
from nsightlens.readers import open_report

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.report import Report

pytestmark = pytest.mark.corpus

Key = tuple[str, int]


def verdicts_of(report: Report) -> dict[Key, dict[str, Any]]:
    """Return the label of every launch, by report and launch."""
    labels = classify(report).labels.to_pylist()
    return {(label["report"], label["launch_id"]): label for label in labels}


@pytest.fixture(scope="module")
def report(corpus_reports: list[Path]) -> Report:
    """Return all real reports as one."""
    return open_report(corpus_reports)


@pytest.fixture(scope="module")
def labels(report: Report) -> dict[Key, dict[str, Any]]:
    """Return the label of every launch."""
    return verdicts_of(report)


def messages(report: Report) -> list[dict[str, Any]]:
    """Return the messages of NVIDIA's SpeedOfLight rule."""
    return [rule for rule in report.rules.to_pylist() if rule["rule"] == "SOLBottleneck"]


def test_the_recomputed_verdict_is_the_stored_one_in_every_version(
    report: Report, labels: dict[Key, dict[str, Any]]
) -> None:
    """227 of 235 messages; the other 8 say that the rule failed on 4 launches without metrics."""
    version = {one["report"]: one["ncu_version"] for one in report.sessions.to_pylist()}
    equal: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for rule in messages(report):
        label = labels[rule["report"], rule["launch_id"]]
        year = ".".join(version[rule["report"]].split(".")[:2])
        if rule["severity"] == "error":
            assert label["nvidia_verdict"] is label["nvidia_stored_verdict"] is None
            assert label["failed_launch_count"] == 1
            failed[year] += 1
        else:
            assert label["nvidia_verdict"] == label["nvidia_stored_verdict"] is not None
            equal[year] += 1
    assert equal == {
        "2020.3": 147,
        "2021.2": 13,
        "2022.1": 2,
        "2022.3": 2,
        "2022.4": 9,
        "2023.1": 12,
        "2024.3": 39,
        "2025.2": 3,
    }
    assert failed == {"2022.4": 4, "2023.1": 4}


def test_every_verdict_of_the_rule_occurs(labels: dict[Key, dict[str, Any]]) -> None:
    """Each way through the rule is taken; launches without a verdict have no label of ours."""
    counts = Counter(label["nvidia_verdict"] for label in labels.values())
    assert counts == {
        "high_throughput": 106,
        "latency": 45,
        "small_grid": 33,
        "compute": 28,
        "memory": 13,
        "balanced": 2,
        None: 34,
    }
    for label in labels.values():
        assert (label["nvidia_verdict"] is None) == (label["bound"] == "unknown")


def test_a_percentage_just_below_80_is_below_it(
    report: Report, labels: dict[Key, dict[str, Any]]
) -> None:
    """Memory throughput of 79.996 % prints as 80.0: the rule compares what it does not print."""
    rows = zip(report.launches["memory_throughput_pct"].to_pylist(), labels.values(), strict=True)
    close = [label for percent, label in rows if percent is not None and 79.99 < percent < 80]
    assert [label["nvidia_stored_verdict"] for label in close] == ["memory"]
    assert [label["nvidia_verdict"] for label in close] == ["memory"]


def test_both_views_part_only_on_the_way_to_l1(labels: dict[Key, dict[str, Any]]) -> None:
    """Four saturated queues of load/store instructions: compute for NVIDIA, L1 here."""
    apart = [label for label in labels.values() if "NVIDIA's rule says" in label["reason"]]
    assert sorted(label["kernel"] for label in apart) == [
        "esmm_shmem_multi2<fp32>",
        "esmm_shmem_multi3<fp32>",
        "gmem_coalesce<32>",
        "smem_blocking<32>",
    ]
    for label in apart:
        assert (label["bound"], label["limiter"]) == ("memory", "l1")
        assert (label["nvidia_verdict"], label["regime"]) == ("high_throughput", "saturated")
        assert "the way from the SM to L1 as compute" in label["reason"]


def test_printed_details_pages_store_the_verdict_too(corpus_ncu: Path) -> None:
    """Where a page prints both percentages the verdict is recomputed, to their rounding."""
    counts: Counter[str] = Counter()
    for path in sorted((corpus_ncu.parent / "ncu-csv").iterdir()):
        try:
            report = open_report(path)
        except NotAReportError:
            continue
        labels = verdicts_of(report)
        for rule in messages(report):
            label = labels[rule["report"], rule["launch_id"]]
            stored, ours = label["nvidia_stored_verdict"], label["nvidia_verdict"]
            assert stored is not None
            assert ours in (None, stored)
            counts["no waves or memory throughput" if ours is None else "equal"] += 1
    assert counts == {"equal": 3, "no waves or memory throughput": 20}
