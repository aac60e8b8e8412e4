"""Labels of the real reports: every launch has one or a reason why not, and known cases hold."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.stores import report_of

from nsightlens.analysis import classify
from nsightlens.analysis.label import EVIDENCES
from nsightlens.devices import PEAK_SOURCES, peak_rates, rate_of
from nsightlens.devices.columns import metric, number_column
from nsightlens.metric_store import MetricKind
from nsightlens.readers import open_report

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.metric_store import MetricStore
    from nsightlens.report import Report

pytestmark = pytest.mark.corpus

SM, MEMORY, DRAM = (
    f"{name}.avg.pct_of_peak_sustained_elapsed"
    for name in ("sm__throughput", "gpu__compute_memory_throughput", "gpu__dram_throughput")
)

# What labels are made of: percentages and their lists, peaks, clocks, bytes and operations.
DECISIVE = re.compile(
    r"pct_of_peak_sustained_elapsed|peak_sustained$|per_second|_bytes|sass_thread_inst_executed_op"
)


@pytest.fixture(scope="module")
def report(corpus_reports: list[Path]) -> Report:
    """Return all real reports as one."""
    return open_report([str(path) for path in corpus_reports])


@pytest.fixture(scope="module")
def labels(report: Report) -> list[dict[str, Any]]:
    """Return the label of every launch."""
    rows: list[dict[str, Any]] = classify(report).labels.to_pylist()
    return rows


def of_report(rows: list[dict[str, Any]], part: str) -> list[dict[str, Any]]:
    """Return the labels of the reports with a text in their path."""
    found = [row for row in rows if part in row["report"]]
    assert found, f"no report has {part!r} in its path"
    return found


def test_every_launch_has_a_label_or_a_reason_why_not(labels: list[dict[str, Any]]) -> None:
    """Unknown are the launches without metrics and those that the profiler cut short."""
    counts = Counter(row["bound"] for row in labels)
    for row in labels:
        assert row["reason"]
        if row["bound"] == "unknown":
            assert (row["limiter"], row["evidence"], row["confidence"]) == (None, "none", "none")
            said = ("cut this launch short", "neither throughput nor operation counters")
            assert any(text in row["reason"] for text in said), row["reason"]
        else:
            assert 0 < row["limiter_fraction"] < 1.3
    assert counts["unknown"] == 34
    assert sum(row["failed_launch_count"] for row in labels) == 4


def test_the_bound_is_the_side_of_nvidias_percentages(
    report: Report, labels: list[dict[str, Any]]
) -> None:
    """Where SM and memory throughput are apart, and the SM's is not that of its way to L1."""
    sm, memory = metric(report.store, SM), metric(report.store, MEMORY)
    lsu = metric(report.store, "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed")
    checked = 0
    for row, compute, other, way in zip(labels, sm, memory, lsu, strict=True):
        if np.isnan(compute) or np.isnan(other) or abs(compute - other) < 5 or compute == way:
            continue
        checked += 1
        assert row["bound"] == ("compute" if compute > other else "memory"), row["key"]
    assert checked > 100


def test_every_key_is_unique_in_its_report(labels: list[dict[str, Any]]) -> None:
    """A report and a key name one launch."""
    keys = Counter((row["report"], row["key"]) for row in labels)
    assert set(keys.values()) == {1}


@pytest.mark.parametrize("by", ["kernel", "family"])
def test_groups_lose_no_launch_and_no_time(
    report: Report, labels: list[dict[str, Any]], by: Any
) -> None:
    """Counts and durations of the groups are those of the launches."""
    groups = classify(report, by=by).labels.to_pylist()
    assert sum(group["launch_count"] for group in groups) == len(labels)
    assert sum(group["failed_launch_count"] for group in groups) == 4
    total = sum(row["duration_ns"] or 0.0 for row in labels)
    assert sum(group["duration_ns"] or 0.0 for group in groups) == pytest.approx(total)
    assert len({group["key"] for group in groups}) == len(groups)


def test_large_rounding_kernels_are_memory_bound_and_saturated(
    labels: list[dict[str, Any]],
) -> None:
    """Random numbers and a copy on an H100 with 2.45 TB/s: DRAM at 92 %, no FP32 at all.

    FP16 was not counted and shares a pipe that was active for 9 %: there is no intensity.
    """
    large = [row for row in of_report(labels, "philox") if row["duration_ns"] > 1e5]
    assert len(large) == 6
    for row in large:
        assert (row["bound"], row["limiter"], row["regime"]) == ("memory", "dram", "saturated")
        assert (row["roofline_bound"], row["evidence"]) == ("memory", "throughput")
        assert row["arithmetic_intensity_flop_per_byte"] is None
        assert row["limiter_fraction"] == pytest.approx(0.92, abs=0.02)
        assert "of 2.45 TB/s" in row["reason"]
        assert row["confidence"] == "high"


def test_the_naive_gemm_is_memory_bound_by_l1(labels: list[dict[str, Any]]) -> None:
    """DRAM 0.5 %, L1 97 %; its fma pipe is busier than DRAM, and no FLOP were counted."""
    (row,) = [row for row in of_report(labels, "be34af6f") if row["key"].startswith("basic")]
    assert (row["bound"], row["limiter"], row["regime"]) == ("memory", "l1", "saturated")
    assert row["limiter_fraction"] == pytest.approx(0.975, abs=0.001)
    assert (row["roofline_bound"], row["bound_ratio"]) == ("unknown", None)
    assert "FLOP were not counted" in row["reason"]


def test_the_sparse_multiplication_is_bound_by_its_issue_slots(
    labels: list[dict[str, Any]],
) -> None:
    """Issue slots 88 %, integers 78 %, DRAM 13 %."""
    rows = of_report(labels, "8fce6633")
    (row,) = [row for row in rows if row["key"].startswith("esmm_shmem_multi<")]
    assert (row["bound"], row["limiter"]) == ("compute", "issue")
    assert row["limiter_fraction"] == pytest.approx(0.876, abs=0.001)


def test_tensor_kernels_without_their_counters_get_no_intensity(
    report: Report, labels: list[dict[str, Any]]
) -> None:
    """Wherever a tensor pipe was active, these reports counted no operation of it."""
    active = number_column(report.launches, "tensor_pipe_active_pct")
    busy = [row for row, percent in zip(labels, active, strict=True) if percent > 1]
    assert len(busy) > 3
    for row in busy:
        assert row["evidence"] != "counters"
        assert row["arithmetic_intensity_flop_per_byte"] is None


def test_a_report_of_one_empty_block_is_too_idle_to_trust(labels: list[dict[str, Any]]) -> None:
    """One block on 132 SMs: nothing is above 11 %."""
    for row in of_report(labels, "dev_sr_base"):
        assert (row["regime"], row["bound"]) == ("small_grid", "memory")
        assert row["limiter_fraction"] < 0.11


def test_rates_are_the_peaks_that_the_reports_store(report: Report) -> None:
    """FP32 and FP64 per SM and cycle of every launch that stores its peak."""
    sm_count = number_column(report.launches, "sm_count")
    capability = report.launches["compute_capability"].to_pylist()
    checked: Counter[tuple[str, str]] = Counter()
    for resource, operation in (("fp32", "ffma"), ("fp64", "dfma")):
        name = f"sm__sass_thread_inst_executed_op_{operation}_pred_on.sum.peak_sustained"
        peak = 2 * metric(report.store, name) / sm_count
        for cc, per_sm in zip(capability, peak.tolist(), strict=True):
            # A collection that failed stores zeros.
            if per_sm > 0:
                assert rate_of(cc, resource) == per_sm
                checked[cc, resource] += 1
    assert {cc for cc, _ in checked} >= {"8.0", "8.6", "9.0"}


def test_the_measured_dram_roof_of_hbm_is_that_of_the_attributes(report: Report) -> None:
    """Of launches above 100 us on data-centre parts; and no roof is above the attributes."""
    peaks = peak_rates(report, ["dram"])
    attributes = (
        2e3
        * metric(report.store, "device__attribute_memory_clock_rate")
        * metric(report.store, "device__attribute_global_memory_bus_width")
        / 8
    )
    ratio = peaks.rate["dram"] / attributes
    known = ~np.isnan(ratio)
    assert (ratio[known] <= 1.0).all()
    measured = peaks.source["dram"] == PEAK_SOURCES.index("report")
    is_long = number_column(report.launches, "duration_ns") > 1e5
    names = report.launches["device_name"].to_pylist()
    is_hbm = np.array([any(part in (name or "") for part in ("A100", "H100")) for name in names])
    chosen = measured & is_long & is_hbm
    assert chosen.sum() > 5
    assert ratio[chosen] == pytest.approx(1.0, abs=0.01)


def metrics_of(store: MetricStore, row: int) -> dict[str, float | int | str | None]:
    """Return the metrics of one launch as a dictionary."""
    metrics: dict[str, float | int | str | None] = {}
    for name in store.names:
        if store.kind(name)[row] != MetricKind.ABSENT:
            metrics[name] = store.column(name)[row].as_py()
    return metrics


def test_counted_flop_taken_away_leave_the_classical_answer_or_nothing(
    report: Report, labels: list[dict[str, Any]]
) -> None:
    """Of one launch per kernel: without FLOP, and without what tells integers from FP32."""
    kernels = {(row["report"], row["kernel"]): i for i, row in enumerate(labels)}
    rows = [row for row in kernels.values() if labels[row]["bound"] != "unknown"]
    for pattern in ("sass_thread_inst_executed_op", "sass_thread_inst_executed_op|fmaheavy"):
        cut = [
            {n: v for n, v in metrics_of(report.store, row).items() if not re.search(pattern, n)}
            for row in rows
        ]
        for row, label in zip(rows, classify(report_of(*cut)).labels.to_pylist(), strict=True):
            assert label["roofline_bound"] in ("unknown", labels[row]["roofline_bound"])
            assert label["bound"] == labels[row]["bound"]
    assert len(rows) > 30


def test_metrics_taken_away_never_make_a_label_or_turn_one_over(
    report: Report, labels: list[dict[str, Any]]
) -> None:
    """Of one launch per kernel and report, with some or most of what decides taken away."""
    rng = random.Random(20)
    kernels = {(row["report"], row["kernel"]): i for i, row in enumerate(labels)}
    checked = 0
    for row in kernels.values():
        metrics = metrics_of(report.store, row)
        decisive = [name for name in metrics if DECISIVE.search(name)]
        cut = [
            {name: v for name, v in metrics.items() if name not in decisive or rng.random() > share}
            for share in (0.02, 0.05, 0.1, 0.3, 0.6, 0.9)
        ]
        before, *after = classify(report_of(metrics, *cut)).labels.to_pylist()
        for label in after:
            checked += 1
            evidence = EVIDENCES.index(label["evidence"])
            assert evidence <= EVIDENCES.index(before["evidence"])
            assert label["roofline_bound"] in ("unknown", before["roofline_bound"])
            if label["bound"] != before["bound"]:
                assert before["bound"] != "unknown"
                assert evidence < EVIDENCES.index(before["evidence"])
    assert checked > 200
