"""How busy the GPU is comes from traces and from shares of time, and says where from."""

from __future__ import annotations

from typing import Any

import pytest

from nsightlens.advisor.answers import StepCosts
from nsightlens.advisor.busy import busy_share_at
from nsightlens.tables import SERVING_RUNS, schema_of, table_of


def _costs(shares: dict[float | None, float]) -> list[StepCosts]:
    return [StepCosts(batch, 1e3, share, (), "run.sqlite") for batch, share in shares.items()]


def _runs(**columns: list[Any]) -> Any:
    count = len(next(iter(columns.values())))
    columns.setdefault("run", [f"table.tsv[{row}]" for row in range(count)])
    return table_of(schema_of(SERVING_RUNS), columns, count)


def test_a_measured_batch_is_taken_as_it_is() -> None:
    """With the trace that says it."""
    found = busy_share_at(16, _costs({8: 0.5, 16: 0.7}), None)
    assert found == (0.7, "at batch 16 of timelines (run.sqlite)")


def test_between_batches_it_lies_on_a_line() -> None:
    """And the text says so; beyond them the nearest stands."""
    costs = _costs({16: 0.7, 8: 0.5})
    assert busy_share_at(10, costs, None) == (
        0.55,
        "interpolated between batch 8 and 16 of timelines (run.sqlite)",
    )
    assert busy_share_at(512, costs, None) == (
        0.7,
        "at the nearest batch, 16, of timelines (run.sqlite)",
    )
    below = busy_share_at(1, costs, None)
    assert below is not None
    assert below[0] == 0.5


def test_shares_of_time_tell_it_too() -> None:
    """The paper's OPT-1.3B: no kernel runs in 33.84 % of a step at 256, 36.64 % at 512."""
    runs = _runs(static_batch_size=[256, 512], host_share_pct=[33.84, 36.64])
    exact = (0.6616, "at batch 256 of host_share_pct (table.tsv[0] and others)")
    assert busy_share_at(256, (), runs) == exact
    between = busy_share_at(384, (), runs)
    assert between is not None
    assert between[0] == pytest.approx(0.6476)
    assert between[1].startswith("interpolated between batch 256 and 512")


def test_a_busy_share_wins_over_what_the_host_leaves() -> None:
    """It was measured on the GPU."""
    runs = _runs(static_batch_size=[8], gpu_busy_pct=[80.0], host_share_pct=[50.0])
    assert busy_share_at(8, (), runs) == (0.8, "at batch 8 of gpu_busy_pct (table.tsv[0])")


def test_timelines_win_unless_the_runs_alone_reach_so_far() -> None:
    """A trace of batch 8 says little of batch 256."""
    runs = _runs(max_num_seqs=[128, 512], gpu_busy_pct=[60.0, 64.0])
    costs = _costs({8: 0.5})
    near, far, beyond = (busy_share_at(batch, costs, runs) for batch in (8, 256, 1024))
    assert near is not None
    assert far is not None
    assert beyond is not None
    assert "timelines" in near[1]
    assert far[0] == pytest.approx(0.6133, abs=1e-4)
    assert "gpu_busy_pct" in far[1]
    assert "timelines" in beyond[1]


def test_replicas_do_not_say_how_busy_one_server_is() -> None:
    """Two servers fill each other's gaps."""
    runs = _runs(max_num_seqs=[8, 8], gpu_busy_pct=[60.0, 95.0], replicas=[None, 2])
    assert busy_share_at(8, (), runs) == (0.6, "at batch 8 of gpu_busy_pct (table.tsv[0])")


@pytest.mark.parametrize("share", [0.0, -5.0, 120.0, float("nan"), float("inf")])
def test_a_share_that_cannot_be_is_no_answer(share: float) -> None:
    """Nothing is divided by zero, and no bound lies below one."""
    assert busy_share_at(8, (), _runs(max_num_seqs=[8], gpu_busy_pct=[share])) is None


@pytest.mark.parametrize("batch", [0.0, -1.0, float("nan"), float("inf")])
def test_a_batch_that_cannot_be_has_no_share(batch: float) -> None:
    """Nor has anything without a source."""
    assert busy_share_at(batch, _costs({8: 0.5}), None) is None
    assert busy_share_at(8, _costs({None: 0.5}), _runs(max_num_seqs=[8])) is None


def test_utilization_of_nvidia_smi_is_never_taken() -> None:
    """No column of it is among those that answer."""
    assert "gpu_utilization_pct" not in {column.name for column in SERVING_RUNS}
