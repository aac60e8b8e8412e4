from __future__ import annotations

from typing import Any

import pytest
from support.stores import CONFIGURED, launch_keys, store_of

from nsightlens.metrics import derive_launch_columns, stall_table, stalls_schema
from nsightlens.metrics.stalls import LATENCY_FORMULAS, cycles_metric, sample_metric
from nsightlens.tables import STALL_REASONS

LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"
# The states of Turing: no gmma.
STATES = {cycles_metric(reason): 0.5 for reason in STALL_REASONS if reason != "gmma"}


def stalls_of(*launches: Any) -> list[dict[str, Any]]:
    table = stall_table(store_of(*launches), *launch_keys(len(launches)))
    assert table.schema.equals(stalls_schema(), check_metadata=True)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def columns_of(*launches: Any) -> dict[str, list[Any]]:
    columns, _ = derive_launch_columns(store_of(*launches))
    return {name: array.to_pylist() for name, array in columns.items()}


def test_only_states_that_the_report_has_are_rows() -> None:
    """A state that the architecture lacks is absent, not zero."""
    rows = stalls_of({**CONFIGURED, **STATES}, CONFIGURED)
    assert [row["stall_reason"] for row in rows] == [r for r in STALL_REASONS if r != "gmma"]
    assert {row["launch_id"] for row in rows} == {0}


def test_a_share_is_over_the_measured_latency() -> None:
    """Cycles in a state over the latency of the warp, even where replays make it exceed 100."""
    rows = stalls_of({**STATES, cycles_metric("wait"): 24.0, LATENCY: 20.0})
    share = {row["stall_reason"]: row["share_of_warp_latency_pct"] for row in rows}
    assert share["wait"] == 120.0
    assert share["drain"] == 2.5


def test_the_sum_of_all_states_stands_in_for_the_latency() -> None:
    """Without the latency, and with every state known, their sum is the latency."""
    launch = {**STATES, cycles_metric("wait"): 1.5}
    columns = columns_of(launch)
    assert columns["warp_cycles_per_issue"] == [10.0]
    assert columns["top_stall_pct"] == [15.0]
    _, origins = derive_launch_columns(store_of(launch))
    assert origins["warp_cycles_per_issue"].to_pylist() == [LATENCY_FORMULAS[-1]]


def test_few_states_make_no_share_and_no_top() -> None:
    """One state alone is not 100 % of the latency, nor the top of states that were not asked."""
    launch = {cycles_metric("long_scoreboard"): 5.0}
    columns = columns_of(launch)
    assert columns["stalled_for_data_pct"] == [None]
    assert columns["top_stall"] == [None]
    (row,) = stalls_of(launch)
    assert row["cycles_per_issue"] == 5.0
    assert row["share_of_warp_latency_pct"] is None


def test_one_state_and_the_latency_make_a_share() -> None:
    """Stalled for data needs long_scoreboard and the latency, no more."""
    columns = columns_of({cycles_metric("long_scoreboard"): 5.0, LATENCY: 20.0})
    assert columns["stalled_for_data_pct"] == [25.0]
    assert columns["top_stall"] == [None]


def test_the_top_stall_is_never_selected() -> None:
    """A warp that issues is not stalled, however large the share."""
    columns = columns_of(
        {**STATES, cycles_metric("selected"): 9.0, cycles_metric("membar"): 2.0, LATENCY: 10.0}
    )
    assert columns["top_stall"] == ["membar"]
    assert columns["top_stall_cycles_per_issue"] == [2.0]
    assert columns["top_stall_pct"] == [20.0]


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        ("smsp__pcsamp_warps_issue_stalled_no_instructions", "no_instruction"),
        ("smsp__pcsamp_warps_issue_stalled_warpgroup_arrive", "gmma"),
        ("smsp__pcsamp_warps_issue_stalled_wait", "wait"),
    ],
)
def test_samples_are_found_under_the_spelling_of_the_sampler(metric: str, reason: str) -> None:
    """The sampler's names of two states differ from those of the counters."""
    assert sample_metric(reason) == metric
    (row,) = stalls_of({metric: 7, f"{metric}_not_issued": 3})
    assert (row["stall_reason"], row["sample_count"], row["sample_not_issued_count"]) == (
        reason,
        7,
        3,
    )
    assert row["cycles_per_issue"] is None


def test_a_store_without_states_gives_an_empty_table() -> None:
    """No warp state was collected: no row, and still the schema."""
    assert stalls_of(CONFIGURED) == []
    assert stalls_of() == []
