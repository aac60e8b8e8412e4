"""The counter behind an activity."""

from __future__ import annotations

from typing import Any

import pytest
from support.rooflines import aggregates, launch, parts
from support.stores import report_of

from nsightlens.analysis import classify
from nsightlens.analysis.busiest import counter_words

SUFFIX = ".avg.pct_of_peak_sustained_elapsed"


def classified(*launches: dict[str, Any], by: Any = "launch") -> tuple[dict[str, Any], str]:
    """Return the busiest counter by resource of the first launch, and the first reason."""
    result = classify(report_of(*launches), by=by)
    rows = [row for row in result.resources.to_pylist() if row["launch_id"] == 0]
    counters = {row["resource"]: row["busiest_counter"] for row in rows}
    return counters, result.labels["reason"][0].as_py()


def test_a_cache_that_limits_says_what_in_it_is_busy() -> None:
    """Bank conflicts and loads that do not coalesce are wavefronts, not bandwidth."""
    counters, reason = classified(launch(parts(l1=92, dram=10)))
    assert counters["l1"] == "l1tex__data_pipe_lsu_wavefronts" + SUFFIX
    assert "L1 with shared memory 92 % of peak (wavefronts of loads and stores)" in reason


def test_wavefronts_in_shared_memory_are_told_apart_from_those_of_accesses_to_memory() -> None:
    """Where their share is stored: bank conflicts against loads that do not coalesce."""
    name = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed"
    _, reason = classified(launch(parts(l1=92), {name: 69.0}))
    assert "(wavefronts of loads and stores, 75 % of them in shared memory)" in reason
    _, reason = classified(launch(parts(l1=40, lsu=80), {name: 30.0}))
    assert "shared memory)" not in reason


def test_instructions_of_the_load_store_unit_are_another_trouble() -> None:
    """The same level, the same percentage, and another remedy."""
    counters, reason = classified(launch(parts(l1=40, lsu=80)))
    assert counters["l1"] == "sm__inst_executed_pipe_lsu" + SUFFIX
    assert "(load/store instructions issued)" in reason


def test_the_intensity_at_the_level_is_said_where_it_is_known() -> None:
    """Against the ridge of that level."""
    counts = {
        f"smsp__sass_thread_inst_executed_op_{letter}{op}_pred_on.sum": 1e9 if op == "fma" else 0.0
        for letter in "fdh"
        for op in ("add", "mul", "fma")
        if letter == "f" or op != "fma"
    } | {f"smsp__sass_thread_inst_executed_op_{letter}fma_pred_on.sum": 0.0 for letter in "dh"}
    cycles = {"l1tex__lsu_writeback_active_mem_lgds.sum": 1e9 / 64}
    _, reason = classified(launch(parts(l1=70), counts, cycles))
    assert "1 FLOP/B at L1, left of its ridge at 2" in reason


def test_what_is_only_known_as_a_maximum_has_no_part() -> None:
    """Nor has counted work, nor a unit that was idle."""
    counters, reason = classified(launch(aggregates(sm=10, memory=70, dram=5, l2=70, l1=30)))
    assert counters["l2"] is None
    assert "L2 70 % of peak;" in reason
    counters, _ = classified(launch(parts(l1=50)))
    assert counters["fp64"] is None


def test_a_group_names_a_part_that_all_of_its_launches_share() -> None:
    """And none where they differ."""
    wavefronts, instructions = launch(parts(l1=92)), launch(parts(l1=40, lsu=80))
    _, reason = classified(wavefronts, wavefronts, by="family")
    assert "(wavefronts of loads and stores)" in reason
    _, reason = classified(wavefronts, instructions, by="family")
    assert "L1 with shared memory 86 % of peak;" in reason


def test_a_group_of_equal_launches_says_what_each_of_them_says() -> None:
    """Part, wavefronts in shared memory and intensity at the level."""
    counts = {
        f"smsp__sass_thread_inst_executed_op_{letter}{op}_pred_on.sum": 1e9
        * (letter + op == "ffma")
        for letter in "fdh"
        for op in ("add", "mul", "fma")
    }
    cycles = {
        "l1tex__lsu_writeback_active_mem_lgds.sum": 1e9 / 64,
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed": 35.0,
    }
    one = launch(parts(l1=70), counts, cycles)
    reasons = [classified(one)[1], classified(one, one, one, by="family")[1]]
    assert reasons[0] == reasons[1]
    said = (
        "(wavefronts of loads and stores, 50 % of them in shared memory), 1 FLOP/B at L1, left of"
    )
    assert said in reasons[1]
    stored = cycles | {"l1tex__lsu_writeback_active_mem_lgds.sum": 0.0, "l1tex__t_bytes.sum": 1e9}
    _, mixed = classified(one, launch(parts(l1=70), counts, stored), by="family")
    assert "FLOP/B at" not in mixed


def test_the_tensor_pipe_is_named_beside_the_work_that_explains_it() -> None:
    """The activity of a shared pipe is given to a data type."""
    counters, _ = classified(launch(parts(fma=30)))
    assert counters["fma"] == "sm__pipe_fma_cycles_active" + SUFFIX


@pytest.mark.parametrize(
    ("l1", "limiter"),
    [(14.0, "l1"), (4.6, "memory"), (None, "l1")],
)
def test_l1_is_not_what_was_busier_than_l1(l1: float | None, limiter: str) -> None:
    """Not even in its active cycles: then another part of the memory system is."""
    metrics = aggregates(sm=0.3, memory=10.5, dram=3.5, l2=2.2)
    if l1 is not None:
        metrics |= aggregates(sm=0.3, memory=10.5, l1=l1)
    (label,) = classify(report_of(launch(metrics))).labels.to_pylist()
    assert (label["bound"], label["limiter"]) == ("memory", limiter)
    assert label["limiter_fraction"] == pytest.approx(0.105)


def test_a_counter_without_words_is_its_own_name() -> None:
    """What later versions may add."""
    assert counter_words("l1tex__new_thing" + SUFFIX) == "l1tex__new_thing"
    assert counter_words("lts__t_sectors" + SUFFIX) == "sectors looked up"
