"""Real launches of which metrics are taken away, or that do more or less work."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.removal import broken_by_removal, metrics_read, scaled, without

from nsightlens.analysis import classify
from nsightlens.readers import open_report

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.report import Report

pytestmark = pytest.mark.corpus

IS_EXHAUSTIVE = bool(os.environ.get("NSIGHTLENS_EXHAUSTIVE"))
"""Take every metric away from every launch, one at a time, which takes minutes."""

OPERATIONS = re.compile(r"(sass_thread_inst_executed_op_|ops_path_tensor_)\w+\.sum(\.per_\w+)?$")
# A random subset leaves more of what decides if it is drawn from that alone.
DECISIVE = re.compile(
    r"breakdown:|throughput|issue_active|pipe_|inst_executed\.|peak_sustained$|per_second"
    r"|dram__bytes|lts__t_|sass_thread_inst_executed_op|time_duration|device__|launch__"
)


@pytest.fixture(scope="module")
def report(corpus_reports: list[Path]) -> Report:
    """Return all real reports as one."""
    return open_report(corpus_reports)


@pytest.fixture(scope="module")
def labels(report: Report) -> list[dict[str, Any]]:
    """Return the label of every launch."""
    return labels_of(report)


def labels_of(report: Report) -> list[dict[str, Any]]:
    """Return what a removed metric may not change."""
    names = ["bound", "roofline_bound", "evidence", "key"]
    rows: list[dict[str, Any]] = classify(report).labels.select(names).to_pylist()
    return rows


def test_a_metric_taken_away_breaks_no_promise(
    report: Report, labels: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of every launch one metric that its label reads: every twelfth, or all where asked for."""
    names = metrics_read(report, monkeypatch)
    everywhere = np.ones(len(report), dtype=bool)
    pairs = 0
    broken: Counter[tuple[str, str]] = Counter()
    for name in names if IS_EXHAUSTIVE else names[::12]:
        left = labels_of(without(report, {name: everywhere}))
        has_it = report.store.kind(name) != 0
        pairs += int(has_it.sum())
        for before, after in zip(labels, left, strict=True):
            if promise := broken_by_removal(before, after):
                broken[name, promise] += 1
    sys.stdout.write(f"{pairs} pairs of launch and metric, {len(names)} metrics are read\n")
    assert not broken
    assert pairs > (25_000 if IS_EXHAUSTIVE else 1_500)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.6, 0.9])
def test_many_metrics_taken_away_break_no_promise(
    report: Report, labels: list[dict[str, Any]], share: float
) -> None:
    """Of every launch another random part of what decides, attributes of the device included."""
    random = np.random.default_rng(round(1000 * share))
    names = [name for name in report.store.names if DECISIVE.search(name)]
    for _ in range(40 if IS_EXHAUSTIVE else 2):
        removed = {name: random.random(len(report)) < share for name in names}
        left = labels_of(without(report, removed))
        broken = Counter(
            promise
            for before, after in zip(labels, left, strict=True)
            if (promise := broken_by_removal(before, after))
        )
        assert not broken


def test_the_bound_never_goes_back_to_memory_as_operations_are_added(
    report: Report, labels: list[dict[str, Any]]
) -> None:
    """Every counted operation of a launch so many times, with the same bytes."""
    names = [name for name in report.store.names if OPERATIONS.search(name)]
    assert len(names) >= 6
    factors = (0.0, 0.5, 0.9, 1.0, 1.1, 4.0, 1e4)
    answers = [labels_of(scaled(report, names, factor)) for factor in factors]
    assert answers[factors.index(1.0)] == labels
    order = ("memory", "unknown", "compute")
    turned = 0
    for steps in zip(*answers, strict=True):
        for name in ("bound", "roofline_bound"):
            ranks = [order.index(label[name]) for label in steps]
            assert ranks == sorted(ranks), (steps[0]["key"], name, ranks)
            turned += ranks[0] == 0 and ranks[-1] == 2
    # Most of the 46 counted launches did no floating-point work, of which nothing is a multiple.
    assert turned >= 8
