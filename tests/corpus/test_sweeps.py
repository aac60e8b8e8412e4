"""Every real report can be swept, and nothing of it is lost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from nsightlens import classify, open_report, sweep
from nsightlens.steps import StepRules
from nsightlens.sweeps import part_of, sweep_of_parts
from nsightlens.tables import SWEEP, SWEEP_STEPS, SWEEP_TRENDS

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.report import Report
    from nsightlens.sweeps import Sweep

pytestmark = pytest.mark.corpus

LABEL = (
    "bound", "roofline_bound", "regime", "limiter", "limiter_fraction", "bound_ratio", "evidence",
    "confidence", "reason", "peak_source", "clock_dependent", "top_stall", "launch_count",
    "failed_launch_count", "duration_ns", "ridge_point_flop_per_byte", "dram_throughput_pct",
)  # fmt: skip
KEY = ("family", "subtype", "phase", "batch_size")


@pytest.fixture(scope="module")
def corpus(corpus_reports: list[Path]) -> list[Report]:
    """Return every report by itself, and all of them as one."""
    return [*(open_report(path) for path in corpus_reports), open_report(corpus_reports)]


def checked(report: Report, **options: Any) -> Sweep:
    """Sweep a report and hold what must hold of every sweep."""
    result = sweep(report, **options)
    for table, columns in (
        (result.rows, SWEEP),
        (result.trends, SWEEP_TRENDS),
        (result.steps, SWEEP_STEPS),
    ):
        assert table.column_names == [column.name for column in columns]
        for row in table.to_pylist():
            assert all(math.isfinite(v) for v in row.values() if isinstance(v, float)), row
    failed = sum(value is True for value in report.launches["is_failed_collection"].to_pylist())
    for table in (result.rows, result.steps):
        assert sum(table["launch_count"].to_pylist()) == len(report)
        assert sum(table["failed_launch_count"].to_pylist()) == failed
    for step in result.steps.to_pylist():
        shares = [step[f"{name}_share_pct"] for name in ("attention", "matmul", "other")]
        if step["duration_ns"] is None:
            assert shares == [None, None, None]
        else:
            known = [share for share in shares if share is not None]
            assert sum(known) == pytest.approx(100.0)
    assert result.verdict.paragraph
    return result


@pytest.mark.parametrize("by", ["family", "kernel"])
def test_every_launch_of_every_report_is_in_one_row(corpus: list[Report], by: Any) -> None:
    """No column holds what is no number, and the shares of a step are all of it."""
    for report in corpus:
        checked(report, by=by)


def test_rows_have_the_labels_of_families(corpus: list[Report]) -> None:
    """Those that `classify` gives, with the same numbers and the same reason."""
    for report in corpus:
        labels = classify(report, by="family").labels.to_pylist()
        rows = sweep(report).rows.to_pylist()
        assert len(rows) == len(labels)

        def key(row: dict[str, Any]) -> tuple[Any, ...]:
            gpu = (row["device_name"] or "").removeprefix("NVIDIA ")
            return (gpu, *(row[name] for name in KEY))

        by_key = {key(row): row for row in rows}
        for label in labels:
            row = by_key[key(label)]
            assert {n: row[n] for n in LABEL} == {n: label[n] for n in LABEL}


def test_real_reports_without_steps_leave_the_verdict_open(corpus: list[Report]) -> None:
    """None of them names a phase or a batch size, and the paragraph says what is missing."""
    for report in corpus:
        verdict = sweep(report).verdict
        assert verdict.explanation == "undecided"
        assert "decode steps" in verdict.paragraph


def test_a_batch_size_of_the_users_is_no_trend(corpus: list[Report]) -> None:
    """One batch size for all launches still says no phase."""
    result = checked(corpus[-1], step_rules=StepRules(batch_size=8))
    assert set(result.rows["batch_size"].to_pylist()) == {8}
    assert result.verdict.explanation == "undecided"


def test_the_reports_together_are_the_sum_of_each(corpus: list[Report]) -> None:
    """Though they come from different GPUs, clocks and versions."""
    parts = [part_of(report) for report in corpus[:-1]]
    whole, added = sweep(corpus[-1]), sweep_of_parts(reversed(parts))
    assert whole.rows.num_rows == added.rows.num_rows
    for one, other in zip(whole.rows.to_pylist(), added.rows.to_pylist(), strict=True):
        for name, value in one.items():
            is_number = isinstance(value, float)
            assert other[name] == (pytest.approx(value, rel=1e-12) if is_number else value), name
    assert set(whole.notes) == set(added.notes)
