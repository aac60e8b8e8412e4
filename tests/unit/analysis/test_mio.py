"""The queues that memory access shares with special functions, barriers and some FP64."""

from __future__ import annotations

from typing import Any

import pytest
from support.rooflines import DRAM, MEMORY, SM, label_of, launch, parts
from support.stores import report_of

from nsightlens import classify

READ, WAVEFRONTS = (
    f"{name}.avg.pct_of_peak_sustained_elapsed"
    for name in ("sm__mio_inst_issued", "l1tex__data_pipe_lsu_wavefronts")
)


def resources_of(**percent: float) -> dict[str, float]:
    """Return how busy each resource was [1]."""
    rows = classify(report_of(launch(parts(**percent)))).resources.to_pylist()
    return {row["resource"]: row["fraction_of_peak"] for row in rows}


def side(label: dict[str, Any]) -> tuple[Any, ...]:
    """Return bound, limiter and how busy that was."""
    return label["bound"], label["limiter"], label["limiter_fraction"]


def test_a_queue_filled_by_fp64_says_nothing_of_memory() -> None:
    """A chip with few FP64 units puts one in four of their cycles into the queue."""
    busy = resources_of(fp64=75.6, mio=18.9, lsu=9.45, l1=9.45)
    assert (busy["l1"], busy["fp64"]) == pytest.approx((0.0945, 0.756))
    assert busy["issue"] == 0.0


@pytest.mark.parametrize(
    ("user", "limiter"),
    [({"xu": 65.0}, "xu"), ({"fp64": 65.0}, "fp64"), ({"issue": 20.0}, "issue")],
)
def test_a_queue_busier_than_memory_access_is_of_the_compute_side(
    user: dict[str, float], limiter: str
) -> None:
    """It is given to the pipe that explains most of it, else to the instructions as such."""
    label = label_of(parts(mio=70.0, lsu=5.0, l1=5.0, **user))
    assert side(label) == ("compute", limiter, pytest.approx(0.7))


def test_a_queue_filled_by_loads_leaves_the_launch_memory_bound() -> None:
    """Load/store instructions at 91 % issue half as many percent into the queue."""
    label = label_of(parts(issue=25.0, lsu=91.0, l1=91.0, mio=45.5))
    assert side(label) == ("memory", "l1", pytest.approx(0.91))


def test_a_queue_of_which_nothing_tells_the_users_decides_nothing() -> None:
    """Without the counters of memory access it may be on either side, and no other part wins."""
    known = {name: v for name, v in parts(mio=70.0, issue=40.0).items() if name not in (SM, MEMORY)}
    unread = {name: v for name, v in known.items() if not name.startswith("l1tex")}
    label = label_of(unread)
    assert label["bound"] == "unknown"
    higher = label_of(unread | {f"sm__issue_active{READ[READ.index('.') :]}": 71.0})
    assert higher["bound"] == "unknown"


def test_maxima_alone_say_what_the_parts_of_a_busy_queue_say() -> None:
    """SM at 70 % beside memory at 40 %: compute-bound with the parts and without them."""
    whole = parts(mio=70.0, l1=40.0, lsu=40.0, issue=20.0, dram=10.0)
    bare = {name: whole[name] for name in (SM, MEMORY, DRAM)}
    assert label_of(whole)["bound"] == label_of(bare)["bound"] == "compute"
