"""What is taken as known of a side whose parts were not collected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.architectures import configured
from support.rooflines import aggregates, parts
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
