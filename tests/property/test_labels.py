"""What must hold of a label whatever the numbers are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.rooflines import (
    COMPUTE_PARTS,
    FP32_PEAK,
    MEMORY_PARTS,
    TENSOR_PEAK,
    aggregates,
    dram_bytes,
    flop_counts,
    launch,
    parts,
    tensor_counts,
)
from support.stores import report_of

from nsightlens.analysis import classify
from nsightlens.analysis.label import BOUNDS, CONFIDENCES, EVIDENCES, REGIMES

if TYPE_CHECKING:
    from support.rooflines import Metrics

    from nsightlens.analysis.classification import By

MS = 1e-3
# Hundredths of a percent: as fine as it matters, and never a number too small to divide by.
percents = st.integers(0, 10_000).map(lambda n: n / 100)
fractions = st.integers(0, 1_000).map(lambda n: n / 1_000)


def labels_of(*launches: Metrics) -> list[dict[str, Any]]:
    """Return the label of each launch."""
    rows: list[dict[str, Any]] = classify(report_of(*launches)).labels.to_pylist()
    return rows


@st.composite
def measured(draw: st.DrawFn) -> Metrics:
    """Draw a launch with parts or maxima, and with or without counted work, that agree."""
    busy = {name: draw(percents) for name in (*COMPUTE_PARTS, *MEMORY_PARTS)}
    # The way to L1 is seen from both sides: the queue in the SM is no busier than L1 itself.
    busy["lsu"] = busy["l1"] * draw(fractions)
    # Of the two halves of the pipe, the heavy one does at most all of the work.
    busy["heavy"] = min(100.0, busy["fma"] * (1.0 + draw(fractions)))
    metrics = launch(parts(**busy))
    if draw(st.booleans()):
        share = draw(st.floats(0.5, 1.0))
        fp32 = share * busy["fma"] / 100.0
        metrics |= flop_counts(fp32=fp32 * FP32_PEAK * MS, fp64=0.0)
        metrics |= tensor_counts(bf16=busy["tensor"] / 100.0 * TENSOR_PEAK * MS)
        metrics |= dram_bytes(busy["dram"] / 100.0)
    return metrics


@given(measured(), st.floats(0.3, 3.0))
@example(launch(parts(tensor=0.01, l1=0.01)), 1.1)
@example(launch(parts(tensor=0.01, l1=0.01, lsu=0.0)), 0.7)
@settings(deadline=None, max_examples=30)
def test_labels_do_not_change_when_all_clocks_scale_together(
    metrics: Metrics, factor: float
) -> None:
    """A GPU twice as fast in every part takes half the time for the same reason."""
    duration = metrics["gpu__time_duration.sum"]
    assert isinstance(duration, float)
    faster = metrics | {"gpu__time_duration.sum": duration / factor}
    for name, value in metrics.items():
        if name.endswith(("per_second", "clock_rate")):
            assert isinstance(value, (int, float))
            faster[name] = value * factor
    before, after = labels_of(metrics, faster)
    for name in ("bound", "limiter", "roofline_bound", "regime", "evidence", "clock_dependent"):
        assert after[name] == before[name]
    for name in ("limiter_fraction", "bound_ratio", "ridge_point_flop_per_byte"):
        assert after[name] == pytest.approx(before[name])


@given(fractions, st.lists(st.floats(0.001, 1.0), min_size=2, max_size=6))
@settings(deadline=None, max_examples=30)
def test_the_bound_never_goes_back_to_memory_as_intensity_rises(
    fp32: float, transferred: list[float]
) -> None:
    """With equal work, fewer DRAM bytes turn memory into compute once, and nothing back."""
    work = flop_counts(fp32=fp32 * FP32_PEAK * MS) | tensor_counts()
    launches = [
        launch(parts(dram=100 * f, fma=100 * fp32, issue=60 * fp32), dram_bytes(f), work)
        for f in sorted(transferred, reverse=True)
    ]
    order = ("memory", "unknown", "compute")
    for name in ("bound", "roofline_bound"):
        ranks = [order.index(label[name]) for label in labels_of(*launches)]
        assert ranks == sorted(ranks)


@given(measured(), st.data())
@settings(deadline=None, max_examples=80)
def test_a_removed_metric_never_makes_a_label_or_another_one_on_equal_evidence(
    metrics: Metrics, data: st.DataObject
) -> None:
    """Less is never more: an unknown stays unknown, and another bound has weaker evidence."""
    removable = [name for name in metrics if not name.startswith(("device__", "launch__"))]
    removed = data.draw(st.sets(st.sampled_from(removable), min_size=1))
    left = {name: value for name, value in metrics.items() if name not in removed}
    before, after = labels_of(metrics, left)
    if before["bound"] == "unknown":
        assert after["bound"] == "unknown"
    assert after["roofline_bound"] in ("unknown", before["roofline_bound"])
    if after["bound"] != before["bound"]:
        assert EVIDENCES.index(after["evidence"]) < EVIDENCES.index(before["evidence"])
    assert EVIDENCES.index(after["evidence"]) <= EVIDENCES.index(before["evidence"])


@given(percents, percents, percents, percents)
@settings(deadline=None, max_examples=30)
def test_maxima_alone_never_contradict_their_parts(
    dram: float, l1: float, issue: float, lsu_share: float
) -> None:
    """Without the parts the label is the same, or unknown."""
    whole = parts(dram=dram, l1=l1, issue=issue, lsu=l1 * lsu_share / 100)
    bare = {name: v for name, v in whole.items() if "throughput" in name and "break" not in name}
    with_parts, without = labels_of(launch(whole), launch(bare))
    assert without["bound"] in ("unknown", with_parts["bound"])


@given(st.lists(measured(), min_size=1, max_size=4), st.data())
@settings(deadline=None, max_examples=30)
def test_every_launch_and_group_says_why(launches: list[Metrics], data: st.DataObject) -> None:
    """Known words, a reason, a fraction where there is a limiter, and none where there is none."""
    by: By = data.draw(st.sampled_from(["launch", "kernel", "family"]))
    cut = [
        {name: v for name, v in metrics.items() if data.draw(st.integers(0, 9)) > 0}
        for metrics in launches
    ]
    for label in classify(report_of(*cut), by=by).labels.to_pylist():
        assert label["bound"] in BOUNDS
        assert label["roofline_bound"] in BOUNDS
        assert label["regime"] in REGIMES
        assert label["evidence"] in EVIDENCES
        assert label["confidence"] in CONFIDENCES
        assert label["reason"]
        is_unknown = label["bound"] == "unknown"
        assert (label["limiter"] is None) == is_unknown
        assert (label["limiter_fraction"] is None) == is_unknown
        assert (label["evidence"] == "none") == (label["confidence"] == "none") == is_unknown


@given(measured(), st.integers(2, 5))
@settings(deadline=None, max_examples=25)
def test_a_group_of_equal_launches_has_their_label(metrics: Metrics, count: int) -> None:
    """Sums scale, their quotients do not."""
    report = report_of(*[metrics] * count)
    launches, groups = classify(report).labels, classify(report, by="family").labels
    one, group = launches.to_pylist()[0], groups.to_pylist()[0]
    assert group["launch_count"] == count
    for name in (
        "bound",
        "limiter",
        "roofline_bound",
        "regime",
        "evidence",
        "confidence",
    ):
        assert group[name] == one[name]
    # NVIDIA's rule speaks of launches alone.
    reason = re.sub(r"; NVIDIA's rule says [^;]*", "", one["reason"])
    assert group["reason"].replace(" on average", "") == reason
    for name in ("limiter_fraction", "bound_ratio", "arithmetic_intensity_flop_per_byte"):
        assert group[name] == pytest.approx(one[name])


@given(percents, percents)
@settings(deadline=None, max_examples=25)
def test_work_of_a_fraction_of_the_peak_is_that_fraction(dram: float, fp32: float) -> None:
    """Counted work and percentages are two ways to the same roofline time."""
    work = flop_counts(fp32=fp32 / 100 * FP32_PEAK * MS) | tensor_counts()
    counted = launch(parts(dram=dram, fma=fp32), dram_bytes(dram / 100), work)
    active = launch(parts(dram=dram, fma=fp32))
    first, second = labels_of(counted, active)
    if first["bound"] == second["bound"] != "unknown":
        assert first["limiter_fraction"] == pytest.approx(second["limiter_fraction"])


@given(percents, percents)
@settings(deadline=None, max_examples=25)
def test_two_maxima_name_the_larger_side(sm: float, memory: float) -> None:
    """What is unambiguous is decided even without parts."""
    (label,) = labels_of(launch(aggregates(sm=sm, memory=memory)))
    expected = "compute" if sm > memory else "memory" if memory > 0 else "unknown"
    assert label["bound"] == expected
