"""What must hold of a label on every architecture, whatever a report holds of the launch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.architectures import (
    CHIPS,
    Work,
    configured,
    counters,
    launches,
    throughput,
    traffic,
    work_done,
)
from support.removal import broken_by_removal
from support.rooflines import with_columns
from support.stores import report_of

from nsightlens.analysis import classify
from nsightlens.metrics.tensor import tensor_paths_of

if TYPE_CHECKING:
    from support.rooflines import Metrics

COMPUTE = ("fp32", "fp64", "fp16", "tensor")
COMPUTE_ACTIVE = ("issue", "fma", "heavy", "alu", "fp64", "fp16", "tensor", "xu")


SAME = (
    "bound",
    "limiter",
    "roofline_bound",
    "regime",
    "evidence",
    "confidence",
    "clock_dependent",
    "nvidia_verdict",
)
EQUAL = (
    "limiter_fraction",
    "bound_ratio",
    "arithmetic_intensity_flop_per_byte",
    "ridge_point_flop_per_byte",
    "ridge_point_boost_flop_per_byte",
)


def labels_of(*metrics: Metrics) -> list[dict[str, Any]]:
    """Return the label of each launch."""
    rows: list[dict[str, Any]] = classify(report_of(*metrics)).labels.to_pylist()
    return rows


def annotated(metrics: Metrics, flop: float, transferred: float) -> dict[str, Any]:
    """Return the label of a launch whose range says what its shape needs."""
    report = with_columns(
        report_of(metrics),
        nvtx_path=[f"nsightlens@op v1 name=fc flop={flop} bytes={transferred}"],
        kernel_name=["cutlass_80_tensorop_f16_s16816gemm_f16_128x128_32x4_tn_align8"],
    )
    (row,) = classify(report).labels.to_pylist()
    label: dict[str, Any] = row
    return label


def faster(metrics: Metrics, factor: float) -> Metrics:
    """Return the launch on a device of which every clock is higher."""
    scaled = dict(metrics)
    for name, value in metrics.items():
        if name.endswith(("per_second", "clock_rate")):
            assert isinstance(value, (int, float))
            scaled[name] = float(value) * factor
    duration = metrics["gpu__time_duration.sum"]
    assert isinstance(duration, float)
    return scaled | {"gpu__time_duration.sum": duration / factor}


def number(value: float | None) -> float:
    """Return a number of a label, NaN for null."""
    return math.nan if value is None else value


@given(launches(), st.floats(0.3, 3.0))
@settings(max_examples=60)
def test_labels_do_not_change_when_all_clocks_scale_together(
    metrics: Metrics, factor: float
) -> None:
    """SM, L2 and DRAM clock, rates and attributes up, duration down: the same label."""
    # Each in a report of its own: in one report, another clock lowers confidence.
    (before,), (after,) = labels_of(metrics), labels_of(faster(metrics, factor))
    check_same(before, after)


def check_same(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Hold two labels equal."""
    assert {name: after[name] for name in SAME} == {name: before[name] for name in SAME}
    for name in EQUAL:
        expected = pytest.approx(number(before[name]), rel=1e-9, nan_ok=True)
        assert number(after[name]) == expected, name


shapes = st.floats(-1.0, 5.0).map(lambda exponent: 10.0**exponent)


@given(st.sampled_from(sorted(CHIPS)), shapes, st.floats(0.01, 1.0), st.floats(0.3, 3.0), st.data())
@settings(max_examples=60)
def test_labels_of_annotated_shapes_keep_the_same_promises(
    cc: str, intensity: float, share: float, factor: float, data: st.DataObject
) -> None:
    """Faster clocks, a removed metric, more operations: with nothing measured but the duration."""
    metrics = configured(cc)
    transferred = share * 1e9
    label = annotated(metrics, intensity * transferred, transferred)
    check_same(label, annotated(faster(metrics, factor), intensity * transferred, transferred))
    removed = data.draw(st.sets(st.sampled_from(sorted(metrics)), min_size=1))
    left = {name: value for name, value in metrics.items() if name not in removed}
    less = annotated(left, intensity * transferred, transferred)
    assert broken_by_removal(label, less) == ""
    more = annotated(metrics, 10 * intensity * transferred, transferred)
    order = ("memory", "unknown", "compute")
    for name in ("bound", "roofline_bound"):
        assert order.index(more[name]) >= order.index(label[name])


@given(launches(("counters", "throughput", "aggregates")), st.data())
@settings(max_examples=100)
def test_a_removed_metric_never_makes_a_label_or_turns_one_over(
    metrics: Metrics, data: st.DataObject
) -> None:
    """One metric or many, attributes of the device among them: an unknown stays unknown.

    On chips without counters for DRAM, the traffic of L2 that stands in for it as well.
    """
    metrics |= data.draw(traffic(metrics))
    names = st.sampled_from(sorted(metrics))
    removed = data.draw(st.one_of(st.sets(names, min_size=1, max_size=1), st.sets(names)))
    left = {name: value for name, value in metrics.items() if name not in removed}
    before, after = labels_of(metrics, left)
    assert broken_by_removal(before, after) == ""


@st.composite
def rising_work(draw: st.DrawFn) -> list[Metrics]:
    """Draw one launch with more and more operations, and the same bytes."""
    cc = draw(st.sampled_from(sorted(CHIPS)))
    done = draw(work_done(cc))
    room = max(done.active[name] for name in COMPUTE_ACTIVE if name in done.active)
    steps = draw(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=5))
    paths = [path for path in tensor_paths_of(cc) if path.column != "tensor_fp64_flop_count"]
    path = draw(st.sampled_from(paths)) if paths else None
    is_counted, has_parts = draw(st.booleans()), draw(st.booleans())
    rising = []
    for step in sorted(steps):
        # From nothing to a pipe that is active all the time.
        factor = step / room if room > 0 else 0.0
        more = Work(
            {n: v * (factor if n in COMPUTE else 1.0) for n, v in done.needed.items()},
            {n: v * (factor if n in COMPUTE_ACTIVE else 1.0) for n, v in done.active.items()},
        )
        counted = counters(more, cc, path) if is_counted else {}
        rising.append(configured(cc) | throughput(more, cc, has_parts=has_parts) | counted)
    return rising


@given(rising_work())
@settings(max_examples=60)
def test_the_bound_never_goes_back_to_memory_as_operations_are_added(
    rising: list[Metrics],
) -> None:
    """More operations with the same bytes turn memory into compute once, and nothing back."""
    order = ("memory", "unknown", "compute")
    labels = [one for one in labels_of(*rising) if one["nvidia_verdict"]]
    for name in ("bound", "roofline_bound"):
        answers = [label[name] for label in labels]
        ranks = [order.index(answer) for answer in answers]
        assert ranks == sorted(ranks), answers
