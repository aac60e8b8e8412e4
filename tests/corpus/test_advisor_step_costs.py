"""Costs of real traces add up to their time, and agree with the advice of their timelines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nsightlens.advisor.step_costs import step_costs
from nsightlens.readers.trace import open_trace
from nsightlens.timelines.timeline import timeline

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.timelines import Timeline

pytestmark = pytest.mark.corpus

FILES = (
    "GindaChen__nsys-ai__tests_fixtures_mfu_2gpu_after.sqlite",
    "brycelelbach__nsightful__tests_power_iteration__baseline.sqlite",
)


@pytest.fixture(scope="module", params=FILES)
def made(request: pytest.FixtureRequest, corpus_ncu: Path) -> Timeline:
    """Return the timeline of a trace."""
    path = corpus_ncu.parent / "nsys" / request.param
    if not path.is_file():
        pytest.skip(f"the corpus beside this checkout has no {request.param}")
    return timeline(open_trace(path))


def test_kernels_copies_and_gaps_fill_the_step(made: Timeline) -> None:
    """No nanosecond is lost and none counts twice, but for memsets, which are neither."""
    (found,) = step_costs([made])
    costs = {one.key: one.per_step_us for one in found.costs}
    parts = sum(costs[key] for key in ("copies", "gaps", "syncs", "host"))
    assert parts + found.gpu_busy_share * found.step_us == pytest.approx(found.step_us, rel=1e-6)


def test_savings_are_those_of_the_timeline(made: Timeline) -> None:
    """The mean over the devices of what `nsightlens.timeline` sums over them."""
    (found,) = step_costs([made])
    devices = max(len(set(made.steps["device_id"].to_pylist()) - {None}), 1)
    advice = {row["advice"]: row["saving_ns"] / devices / 1e3 for row in made.advice.to_pylist()}
    saving = {one.key: one.saving_us for one in found.costs}
    assert saving["syncs"] == pytest.approx(advice["fewer_syncs"], abs=0.01)
    assert saving["host"] == pytest.approx(advice["host_work"], abs=0.01)
    # All waits for launches, not only those between short kernels of one stream.
    assert saving["gaps"] >= advice["cuda_graph"] - 0.01
