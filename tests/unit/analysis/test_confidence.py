"""What lowers confidence, and that the reason says so."""

from __future__ import annotations

from typing import Any

import pytest
from support.rooflines import (
    DRAM_PEAK,
    FP32_PEAK,
    aggregates,
    dram_bytes,
    flop_counts,
    label_of,
    launch,
    parts,
    tensor_counts,
    with_columns,
)
from support.stores import report_of

from nsightlens.analysis import classify

CLEAR = parts(dram=85, fma=10, issue=20)
COUNTED = dram_bytes(0.85) | flop_counts(fp32=0.1 * FP32_PEAK * 1e-3) | tensor_counts()


def test_a_clear_label_is_sure() -> None:
    """One side far above the other, all work counted."""
    assert label_of(CLEAR, COUNTED)["confidence"] == "high"


@pytest.mark.parametrize(
    ("metrics", "confidence", "cause"),
    [
        (parts(dram=50, issue=45), "medium", "compute at 45 % and memory at 50 % are close"),
        (parts(dram=9, issue=1), "low", "nothing is busier than 9.0 %"),
        (parts(dram=106, issue=1), "low", "a resource at 106 % of its peak cannot be"),
        (aggregates(sm=10, memory=80, dram=20), "low", "parts of the busiest unit"),
        (parts(l1=50, dram=10, fma=15, issue=20), "medium", "FLOP were not counted, add"),
        (parts(l1=50, issue=20) | {"dram__cycles_active.avg.pct_of_peak_sustained_elapsed": None},
         "medium", "roofline is not decided"),
    ],
)  # fmt: skip
def test_each_doubt_lowers_confidence_and_is_named(
    metrics: dict[str, Any], confidence: str, cause: str
) -> None:
    """The reason ends in what speaks against the label."""
    label = label_of(metrics)
    assert label["confidence"] == confidence
    assert cause in label["reason"]


def test_counted_bytes_above_the_peak_contradict_themselves() -> None:
    """106 % of the DRAM peak by bytes, whatever the percentage says."""
    label = label_of(CLEAR, COUNTED, {"dram__bytes_read.sum": 1.06 * DRAM_PEAK * 1e-3})
    assert label["confidence"] == "low"
    assert "106 % of its peak cannot be" in label["reason"]


def test_a_peak_of_the_data_sheet_is_not_that_of_the_clock() -> None:
    """Without an SM clock the roof is that of the boost clock."""
    metrics = launch(parts(fma=90, issue=60, dram=5), flop_counts(fp32=6e10), tensor_counts())
    del metrics["sm__cycles_elapsed.avg.per_second"]
    (label,) = classify(report_of(metrics)).labels.to_pylist()
    assert (label["limiter"], label["confidence"]) == ("fp32", "medium")
    assert "data sheet at boost clock" in label["reason"]


def test_a_launch_at_another_clock_than_its_report_is_marked() -> None:
    """One of four launches ran at 1.2 GHz, 20 % below the others."""
    slow = {"sm__cycles_elapsed.avg.per_second": 1.2e9}
    launches = [launch(CLEAR, COUNTED) for _ in range(3)] + [launch(CLEAR, COUNTED, slow)]
    labels = classify(report_of(*launches)).labels
    assert labels["confidence"].to_pylist() == ["high"] * 3 + ["medium"]
    assert "SM clock differs from the rest" in labels["reason"][3].as_py()


def test_the_clock_of_a_short_launch_is_not_held_against_it() -> None:
    """Below 20 us the clock is a quotient of small counts."""
    slow = {"sm__cycles_elapsed.avg.per_second": 1.2e9, "gpu__time_duration.sum": 5e3}
    launches = [launch(CLEAR) for _ in range(3)] + [launch(CLEAR, slow)]
    assert classify(report_of(*launches)).labels["confidence"][3].as_py() == "high"


def test_an_unsupported_device_is_marked() -> None:
    """Where ncu itself does not know the chip."""
    report = with_columns(report_of(launch(CLEAR, COUNTED)), is_unsupported_device=[True])
    (label,) = classify(report).labels.to_pylist()
    assert label["confidence"] == "medium"
    assert "ncu does not support this device" in label["reason"]


def test_no_doubt_goes_below_low_and_no_label_has_none() -> None:
    """Several doubts together are low; without a label there is no confidence."""
    doubtful = parts(dram=5, issue=4.9, fma=4)
    assert label_of(doubtful)["confidence"] == "low"
    assert label_of()["confidence"] == "none"
