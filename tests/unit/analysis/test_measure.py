"""What is taken as known of a side whose parts were not collected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.architectures import configured
from support.rooflines import (
    aggregates,
    dram_bytes,
    flop_counts,
    label_of,
    parts,
    tensor_counts,
)
from support.stores import report_of

from nsightlens.analysis import classify

if TYPE_CHECKING:
    from support.rooflines import Metrics

LOAD_STORE = "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed"


def label_on(cc: str, metrics: Metrics) -> dict[str, Any]:
    """Return the label of a launch on an architecture."""
    (label,) = classify(report_of(configured(cc) | metrics)).labels.to_pylist()
    row: dict[str, Any] = label
    return row


@pytest.mark.parametrize(
    ("cc", "sm", "expected"),
    [("7.5", 56.0, "compute"), ("7.0", 56.0, "unknown"), ("7.0", 60.0, "compute")],
)
def test_on_volta_a_slightly_larger_sm_throughput_may_be_that_of_loads(
    cc: str, sm: float, expected: str
) -> None:
    """Loads of 56 % with a memory throughput of 44 % are real there; later they would be in it."""
    label = label_on(cc, aggregates(sm=sm, memory=44.0))
    assert label["bound"] == expected
    if expected == "unknown":
        assert "the parts of the busiest unit were not collected" in label["reason"]


def test_on_volta_the_parts_decide_where_they_were_collected() -> None:
    """Loads of 56 % above issue slots of 50 % are memory; known to be at 30 %, they are not it."""
    whole = parts(lsu=56.0, l1=44.0, issue=50.0)
    assert label_on("7.0", whole)["bound"] == "memory"
    assert label_on("7.0", aggregates(sm=56.0, memory=44.0) | {LOAD_STORE: 30.0})["bound"] == (
        "compute"
    )


@pytest.mark.parametrize(("fraction", "is_doubted"), [(0.32, False), (0.6, True)])
def test_the_percentage_of_a_short_launch_is_that_of_the_real_dram_clock(
    fraction: float, is_doubted: bool
) -> None:
    """42 % at 0.76 of the clock are 32 %, as the bytes say; 60 % by the bytes are not."""
    duration_ns = 9_700.0
    bytes_and_clock = dram_bytes(fraction, duration_ns) | {
        "dram__cycles_elapsed.avg.per_second": 0.76 * 2.619e9
    }
    counted = flop_counts(fp32=1e6) | tensor_counts()
    label = label_of(
        parts(dram=42, issue=8, fma=5), bytes_and_clock, counted, duration_ns=duration_ns
    )
    assert (label["bound"], label["limiter"]) == ("memory", "dram")
    if not is_doubted:
        assert label["limiter_fraction"] == pytest.approx(0.32, abs=0.001)
        assert "DRAM 32 % of peak" in label["reason"]
    assert ("by its percentage" in label["reason"]) == is_doubted
