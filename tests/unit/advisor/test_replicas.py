"""`replica_advice`: how many servers fit, what they gain, limits, measured runs, commands."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import asdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.advice_curves import curve, runs

from nsightlens.advisor.answers import Slo
from nsightlens.advisor.batch import choose_batch
from nsightlens.advisor.memory import memory_advice
from nsightlens.advisor.replicas import replica_advice
from nsightlens.errors import AdviceError
from nsightlens.tables import ADVICE_REPLICAS, schema_of

if TYPE_CHECKING:
    from nsightlens.advisor.answers import ReplicaAdvice

# 0.9 of 80 GiB are 72, of which 12 are no KV pool; 60 GiB in 20,000 blocks of 3 MiB.
SINGLE: dict[str, Any] = {
    "run": "b96",
    "model": "opt",
    "engine": "vllm",
    "max_num_seqs": 96,
    "total_memory_gib": 80.0,
    "gpu_memory_utilization": 0.9,
    "kv_pool_gib": 60.0,
    "kv_block_count": 20_000,
    "peak_torch_gib": 11.5,
    "non_torch_gib": 0.5,
    "total_tok_per_s": 9000.0,
    "mean_itl_ms": 14.0,
    "preemption_count": 0.0,
}
ROW: dict[str, Any] = {
    "batch_size": 96.0,
    "throughput_tok_s": 9000.0,
    "itl_ms": 14.0,
    "itl_source": "mean_itl_ms",
    "mean_itl_ms": 14.0,
    "p99_itl_ms": 20.0,
    "mean_ttft_ms": 100.0,
    "kv_peak_pct": 15.0,
    "kv_pool_gib": 60.0,
}
LARGER: dict[str, Any] = {
    **ROW,
    "batch_size": 256.0,
    "throughput_tok_s": 11000.0,
    "itl_ms": 30.0,
    "mean_itl_ms": 30.0,
    "p99_itl_ms": 50.0,
}
BUSY = (0.7, "a trace")


def measured(replicas: int, tok_s: float, itl_ms: float, **more: Any) -> dict[str, Any]:
    """Return a run of several servers of batch size 96 under MPS."""
    return {
        "run": f"x{replicas}{more}",
        "max_num_seqs": 96,
        "replicas": replicas,
        "mps": True,
        "total_tok_per_s": tok_s,
        "mean_itl_ms": itl_ms,
        "preemption_count": 0.0,
        **more,
    }


def advice(
    *others: dict[str, Any],
    row: dict[str, Any] | None = None,
    single: dict[str, Any] | None = None,
    limit_ms: float = 16.0,
    **options: Any,
) -> ReplicaAdvice:
    """Return the advice for batch size 96, chosen by a limit, with other runs beside."""
    rows = curve([{**ROW, **(row or {})}, LARGER])
    choice = choose_batch(rows, [Slo(limit_ms=limit_ms)])
    assert choice.batch_size == 96
    table = runs([{**SINGLE, **(single or {})}, *others])
    return replica_advice(table, rows, choice, **{"busy_share": BUSY, **options})


ANY: dict[str, Any] = {"slos": [Slo(limit_ms=1e6)]}


def rows_of(found: ReplicaAdvice) -> list[dict[str, Any]]:
    """Return the rows of an answer."""
    return list(found.rows.to_pylist())


def test_the_rows_have_the_schema_of_their_table() -> None:
    """One per number of servers, in order."""
    found = advice()
    assert found.rows.schema.equals(schema_of(ADVICE_REPLICAS))
    assert found.rows["replicas"].to_pylist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert advice(most=1).rows["replicas"].to_pylist() == [1]


def test_servers_fit_while_each_pool_holds_what_one_used() -> None:
    """72 / R - 12 - 0.3 GiB; 15 % of 20,000 blocks, 3,000, are 9 GiB: three fit, four do not."""
    found = advice()
    two, three, four = rows_of(found)[1:4]
    assert two["kv_pool_gib"] == pytest.approx(23.7)
    assert (two["kv_block_count"], two["kv_blocks_needed"]) == (7900, 3000)
    assert two["gpu_memory_utilization"] == 0.45
    assert [one["fits"] for one in (two, three, four)] == [True, True, False]
    assert three["note"] == "3,900 blocks, 3,000 needed"
    assert four["note"] == "1,900 blocks, 3,000 needed"
    assert found.replicas_max == 3


def test_a_margin_and_more_memory_for_each_let_fewer_fit() -> None:
    """4,500 blocks are more than the 3,900 of three servers; so are 3,000 with 4 GiB less each."""
    assert advice(margin=0.5).replicas_max == 2
    assert advice(extra_gib=4.0).replicas_max == 2


def test_servers_for_which_nothing_is_left_say_so() -> None:
    """Six times 12 GiB are the whole budget: no negative pool."""
    six = rows_of(advice())[5]
    assert (six["kv_pool_gib"], six["kv_block_count"], six["fits"]) == (0.0, 0.0, False)
    assert six["note"] == "weights and activations leave no memory for a KV pool"


def test_the_gain_is_bounded_by_servers_and_by_idle_time() -> None:
    """1 / 0.7 = 1.43 for two and more; two of which each is busy 0.4 can gain 2."""
    found = advice()
    assert [one["gain_bound"] for one in rows_of(found)[:3]] == [1.0, 1 / 0.7, 1 / 0.7]
    assert found.gain_bound == 1 / 0.7
    assert rows_of(advice(busy_share=(0.4, "a trace")))[1]["gain_bound"] == 2.0
    assert (found.gpu_busy_share, found.busy_source) == BUSY


def test_more_servers_take_longer_steps_at_the_bound() -> None:
    """Two servers that give 1.43 times as much have steps of 2 x 0.7 times the length."""
    two = rows_of(advice())[1]
    assert (two["origin"], two["mps"]) == ("predicted", True)
    assert two["itl_ms"] == pytest.approx(14.0 * 2 * 0.7)
    assert two["throughput_tok_s"] == pytest.approx(9000 / 0.7)


def test_the_limit_is_checked_again_and_one_server_recommended_where_it_is_exceeded() -> None:
    """19.6 ms are above the 16 ms that chose the batch size."""
    found = advice()
    assert rows_of(found)[1]["meets_slo"] is False
    assert (found.recommended, found.commands) == (1, ())
    assert found.text == (
        "Up to 3 servers of batch size 96 fit on the GPU, each with at least 3,000 KV blocks; the "
        "GPU works in 70.0 % of a step, so they gain at most 1.43x. 2 servers of batch size 96 "
        "under MPS would have an ITL of at least 19.6 ms, and exceed the limit (mean ITL of "
        "16 ms): one is recommended."
    )


def test_within_the_limit_the_fewest_servers_with_the_most_gain_are_recommended() -> None:
    """Two, three and four are bounded alike; two have the shortest steps."""
    found = advice(limit_ms=20.0)
    assert found.recommended == 2
    assert "are worth measuring: at most 1.43x and an ITL of at least 19.6 ms" in found.text
    assert {one.key for one in found.warnings} == {"mps_needed", "replicas_predicted"}


def test_every_limit_is_checked() -> None:
    """p99 follows the steps as the mean does; of the time to the first token nothing is known."""
    p99 = [Slo("itl", "p99", 27.0)]
    assert rows_of(advice(slos=p99))[1]["meets_slo"] is False
    p99 = [Slo("itl", "p99", 29.0)]
    assert rows_of(advice(slos=p99))[1]["meets_slo"] is True
    ttft = Slo("ttft", "mean", 500.0)
    assert rows_of(advice(slos=[ttft]))[1]["meets_slo"] is None
    assert rows_of(advice(slos=[ttft, Slo(limit_ms=16.0)]))[1]["meets_slo"] is False
    assert advice(slos=[ttft]).recommended == 1


def test_without_any_limit_none_is_met_or_missed() -> None:
    """Null, and the bound alone decides."""
    rows = curve([ROW])
    found = replica_advice(runs([SINGLE]), rows, choose_batch(rows), busy_share=BUSY)
    assert rows_of(found)[1]["meets_slo"] is None
    assert found.recommended == 2


def test_a_gpu_that_is_busy_leaves_nothing_to_gain() -> None:
    """A bound of 1.02 is not worth a second server."""
    found = advice(busy_share=(0.98, "a trace"), **ANY)
    assert found.recommended == 1
    assert found.text.endswith("One is recommended: no gain is known.")


def test_without_a_busy_share_no_gain_is_invented() -> None:
    """How many fit is known all the same."""
    found = advice(busy_share=None)
    two = rows_of(found)[1]
    assert (two["gain"], two["gain_bound"], two["itl_ms"], two["meets_slo"]) == (None,) * 4
    assert (found.replicas_max, found.gain_bound, found.recommended) == (3, None, 1)
    assert found.missing == ("how busy the GPU is in a step",)


def test_without_the_memory_it_is_not_known_how_many_fit() -> None:
    """Null, not one; and nothing is recommended that may not fit."""
    nothing = dict.fromkeys(("total_memory_gib", "peak_torch_gib"))
    found = advice(single=nothing, **ANY)
    assert (found.replicas_max, found.gain_bound, found.recommended) == (None, None, 1)
    assert [one["fits"] for one in rows_of(found)[:2]] == [True, None]
    assert rows_of(found)[1]["note"] == "whether they fit is not known"
    assert found.missing == ("the memory of the GPU",)
    assert found.text.startswith("How many servers of batch size 96 fit on the GPU is not known")


def test_without_blocks_the_size_of_the_pool_decides() -> None:
    """9 GiB are needed; three servers have 11.7, four 5.7."""
    found = advice(single={"kv_block_count": None})
    assert found.replicas_max == 3
    assert rows_of(found)[1]["kv_block_count"] is None
    assert found.text.startswith("Up to 3 servers of batch size 96 fit on the GPU; the GPU works")


# Measured runs of several servers.


def test_measured_runs_stand_in_place_of_predictions() -> None:
    """Gain, latency and blocks are those that were measured; other counts stay predicted."""
    found = advice(measured(2, 12150.0, 19.0, kv_block_count=8000), **ANY)
    two, three = rows_of(found)[1:3]
    assert (two["origin"], two["gain"], two["itl_ms"]) == ("measured", pytest.approx(1.35), 19.0)
    assert (two["kv_block_count"], two["fits"], two["note"]) == (8000, True, "measured")
    assert three["origin"] == "predicted"
    # The bound of three is higher than what two were measured to gain, and only a bound.
    assert found.recommended == 2
    assert "are recommended: 1.35x and an ITL of 19 ms" in found.text
    assert [one.key for one in found.warnings] == ["mps_needed"]


def test_measured_runs_are_checked_against_limits_by_their_own_latency() -> None:
    """19 ms were measured, whatever the prediction says; an unmeasured p99 is not known."""
    run = measured(2, 12150.0, 15.0)
    assert rows_of(advice(run))[1]["meets_slo"] is True
    assert advice(run).recommended == 2
    assert rows_of(advice(run, slos=[Slo("itl", "p99", 99.0)]))[1]["meets_slo"] is None


def test_without_mps_what_was_measured_and_what_mps_promises_stand_side_by_side() -> None:
    """The measured one first; its commands have no MPS."""
    found = advice(measured(2, 10350.0, 22.0, mps=False), **ANY)
    first, second = rows_of(found)[1:3]
    assert [(one["mps"], one["origin"]) for one in (first, second)] == [
        (False, "measured"),
        (True, "predicted"),
    ]
    assert found.recommended == 2
    assert not [one for one in found.commands if "mps-control" in one]
    assert not [one for one in found.warnings if one.key == "mps_needed"]


def test_servers_that_were_preempted_do_not_fit_nor_do_more() -> None:
    """Three would fit by the prediction: two were preempted, so they would not."""
    found = advice(measured(2, 13000.0, 25.0, preemption_count=3.0), **ANY)
    two, three = rows_of(found)[1:3]
    assert two["fits"] is False
    assert two["note"] == "measured, preempted: 3 sequences lost their KV blocks"
    assert (three["fits"], three["note"]) == (False, "2 servers were preempted")
    assert (found.replicas_max, found.recommended) == (1, 1)
    assert found.text == (
        "Only one server of batch size 96 fits on the GPU (each of two: measured, preempted: 3 "
        "sequences lost their KV blocks)."
    )


def test_servers_that_ran_fit_as_do_fewer() -> None:
    """Five would not fit by the prediction; they ran, so four do too."""
    found = advice(measured(5, 13000.0, 25.0), **ANY)
    assert found.replicas_max == 5
    assert rows_of(found)[3]["note"] == "5 servers ran without preemption"


def test_preemptions_that_are_not_known_prove_nothing() -> None:
    """Then the prediction says whether they fit."""
    found = advice(measured(5, 13000.0, 25.0, preemption_count=None), **ANY)
    five = [one for one in rows_of(found) if one["replicas"] == 5]
    assert [(one["fits"], one["note"]) for one in five] == [
        (False, "measured, preemptions not known")
    ]
    assert found.replicas_max == 3


def test_repeated_runs_are_joined_by_their_median_and_the_worst_preemption() -> None:
    """One of three that was preempted makes the setting unsafe."""
    three = [measured(2, tok_s, 19.0, run=f"r{tok_s}") for tok_s in (9900.0, 10800.0, 12600.0)]
    assert rows_of(advice(*three))[1]["gain"] == pytest.approx(1.2)
    three[0]["preemption_count"] = 1.0
    assert rows_of(advice(*three))[1]["fits"] is False


def test_runs_of_other_batch_sizes_are_only_compared_with() -> None:
    """Two servers of 256 are no measurement of two servers of 96."""
    other = measured(2, 14000.0, 37.0, max_num_seqs=256)
    found = advice(other, **ANY)
    assert rows_of(found)[1]["origin"] == "predicted"
    assert (
        "than the best measured of other batch sizes, 2 servers of batch size 256"
        in (found.comparisons[2])
    )


def test_a_gain_above_its_bound_is_reported() -> None:
    """Then the busy share is of other runs; two per cent are noise."""
    high = advice(measured(2, 9000 * 1.5, 19.0))
    assert "gain_above_bound" in {one.key for one in high.warnings}
    noise = advice(measured(2, 9000 * 1.44, 19.0))
    assert "gain_above_bound" not in {one.key for one in noise.warnings}


def test_chunked_prefill_of_measured_servers_is_another_row_and_is_named() -> None:
    """Runs with and without it are no repetitions."""
    found = advice(measured(2, 12150.0, 19.0), measured(2, 12600.0, 20.0, chunked_prefill=True))
    assert [one["note"] for one in rows_of(found)[1:3]] == [
        "measured",
        "measured, with chunked prefill",
    ]


# Comparisons and commands.


def test_servers_are_compared_with_the_best_single_one_and_with_a_larger_batch() -> None:
    """Chunked prefill counts; a run that was preempted does not."""
    chunked = {**SINGLE, "run": "c", "max_num_seqs": 512, "chunked_prefill": True}
    lost = {**SINGLE, "run": "p", "total_tok_per_s": 20_000.0, "preemption_count": 1.0}
    found = advice(
        {**chunked, "total_tok_per_s": 12_000.0, "mean_itl_ms": 60.0},
        lost,
        measured(2, 12_600.0, 15.5),
    )
    servers = "2 servers of batch size 96 under MPS (within the limit) give 12600.0 token/s"
    beyond = "token/s, beyond the limit)."
    single = "the best single server, batch size 512 with chunked prefill"
    larger = "simply a larger batch, batch size 256"
    assert found.comparisons == (
        f"{servers}, 5.0 % more than {single} (12000.0 {beyond}",
        f"{servers}, 14.5 % more than {larger} (11000.0 {beyond}",
    )


def test_a_best_single_server_that_is_simply_a_larger_batch_is_named_once() -> None:
    """And a single server is not compared with itself."""
    larger = {**SINGLE, "run": "b256", "max_num_seqs": 256, "total_tok_per_s": 11_000.0}
    first, *others = advice(larger).comparisons
    assert "% more than the best single server, simply a larger batch, batch size 256" in first
    assert not [one for one in others if "simply" in one]
    (alone,) = advice(single={"total_memory_gib": None, "peak_torch_gib": None}).comparisons
    assert alone == (
        "One server of batch size 96 (within the limit) gives 9000.0 token/s, 18.2 % less than "
        "simply a larger batch, batch size 256 (11000.0 token/s, beyond the limit)."
    )


def test_where_the_limit_forbids_more_servers_a_smaller_batch_of_them_is_proposed() -> None:
    """Two of 64 take 11 x 2 x 0.7 = 15.4 ms; two of 80 more than 16; two of 8 give too little."""
    smaller = [
        {**ROW, "batch_size": batch, "mean_itl_ms": itl, "itl_ms": itl, "throughput_tok_s": tok_s}
        for batch, itl, tok_s in ((8.0, 5.0, 2000.0), (64.0, 11.0, 8000.0), (80.0, 12.5, 8500.0))
    ]
    rows = curve([*smaller, ROW, LARGER])
    choice = choose_batch(rows, [Slo(limit_ms=16.0)])
    found = replica_advice(runs([SINGLE]), rows, choice, busy_share=BUSY)
    assert (choice.batch_size, found.recommended) == (96, 1)
    assert found.comparisons[-1] == (
        "Within the limit, 2 servers of batch size 64 under MPS would give at most 11428.6 "
        "token/s, 27.0 % more than one of 96: measure them."
    )
    few = curve([smaller[0], ROW, LARGER])
    found = replica_advice(runs([SINGLE]), few, choice, busy_share=BUSY)
    assert not [one for one in found.comparisons if "would give" in one]


def test_predictions_are_compared_as_bounds() -> None:
    """At most: nothing was measured. Where nothing larger ran, that is said."""
    rows = curve([ROW])
    found = replica_advice(runs([SINGLE]), rows, choose_batch(rows), busy_share=BUSY)
    assert found.comparisons[0].startswith(
        "2 servers of batch size 96 under MPS give at most 12857"
    )
    assert found.comparisons[1] == "No batch size above 96 ran without preemption, to compare with."


def test_the_commands_start_mps_and_servers_and_stop_mps() -> None:
    """Equal shares of the memory, and a port each."""
    assert advice(limit_ms=20.0, single={"tensor_parallel_size": 1}).commands == (
        "nvidia-cuda-mps-control -d",
        (
            "# Instead of one server, 2. Start one server after the other: each measures the free "
            "memory when it starts."
        ),
        "vllm serve opt --max-num-seqs 96 --gpu-memory-utilization 0.45 --port 8000 &",
        "vllm serve opt --max-num-seqs 96 --gpu-memory-utilization 0.45 --port 8001 &",
        "# Send the requests in turn to ports 8000 to 8001.",
        "# Afterwards stop the servers, and then MPS:",
        "echo quit | nvidia-cuda-mps-control",
    )


def test_graphs_that_do_not_fit_beside_the_budgets_are_warned_of() -> None:
    """Two of 5 GiB, where 0.9 leaves 8 GiB."""
    found = advice(single={"cuda_graph_gib": 5.0}, limit_ms=20.0)
    assert "graphs_beside_budget" in {one.key for one in found.warnings}
    found = advice(single={"cuda_graph_gib": 3.0}, limit_ms=20.0)
    assert "graphs_beside_budget" not in {one.key for one in found.warnings}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"busy_share": (0.0, "")}, "busy share of the GPU is 0.0"),
        ({"busy_share": (66.0, "")}, "busy share of the GPU is 66.0"),
        ({"busy_share": (float("nan"), "")}, "busy share of the GPU is nan"),
        ({"margin": -1.0}, "The margin is -1.0"),
        ({"extra_gib": -0.1}, "takes -0.1 GiB"),
        ({"most": 0}, "0 servers cannot be looked at"),
        ({"most": 61}, "61 servers cannot be looked at"),
        ({"slos": [Slo("tpot", limit_ms=1.0)]}, "No run says mean_tpot_ms"),
    ],
)
def test_questions_that_have_no_answer_say_why(options: dict[str, Any], problem: str) -> None:
    """Every one is a sentence."""
    with pytest.raises(AdviceError, match=problem):
        advice(**options)


def test_where_nothing_was_chosen_there_is_nothing_to_run_several_of() -> None:
    """An infeasible limit has no replicas."""
    rows = curve([ROW])
    with pytest.raises(AdviceError, match="Nothing was chosen"):
        replica_advice(runs([SINGLE]), rows, choose_batch(rows, [Slo(limit_ms=1.0)]))


@settings(max_examples=40)
@given(
    peak=st.floats(0.1, 100),
    busy=st.floats(0.05, 1),
    total=st.floats(20, 200),
    overhead=st.floats(0.5, 15),
    extra=st.floats(0, 2),
)
def test_more_servers_never_have_more_memory_nor_fit_where_fewer_do_not(
    peak: float, busy: float, total: float, overhead: float, extra: float
) -> None:
    """Pools fall with R, bounds rise with R and end at 1 / busy share, and steps grow."""
    pool = total * 0.9 - overhead
    single = {
        "total_memory_gib": total,
        "kv_pool_gib": pool,
        "peak_torch_gib": overhead - 0.5 or None,
        "kv_block_count": max(int(pool * 341), 1),
    }
    row = {"kv_peak_pct": peak, "kv_pool_gib": pool}
    found = advice(row=row, single=single, busy_share=(busy, "drawn"), extra_gib=extra, **ANY)
    several = rows_of(found)[1:]
    for fewer, more in pairwise(several):
        assert more["kv_pool_gib"] <= fewer["kv_pool_gib"]
        assert fewer["fits"] or not more["fits"]
        assert fewer["gain_bound"] <= more["gain_bound"] <= 1 / busy
        assert (fewer["itl_ms"] is None) == (not fewer["fits"])
        if more["fits"]:
            assert fewer["itl_ms"] <= more["itl_ms"] * (1 + 1e-12)
    assert found.recommended <= (found.replicas_max or 1)


BROKEN = [None, 0.0, -5.0, 1e300, 1e-300, float("inf"), float("nan"), 0.9, 50.0]
WHOLE = [None, 0, -3, 1, 5000, 2**62]


@settings(max_examples=80)
@given(data=st.data(), rule=st.sampled_from(["throughput", "largest"]), interpolate=st.booleans())
def test_broken_numbers_end_in_an_answer_without_them_or_in_a_sentence(
    data: st.DataObject, rule: Any, interpolate: bool
) -> None:
    """No number that is not finite comes out, whatever files said."""
    broken = st.sampled_from(BROKEN)
    measured_names = [*ROW, "efficiency", "running_batch", "preemption_count"]
    rows: list[dict[str, Any]] = [
        {
            **{name: data.draw(broken) for name in measured_names},
            "batch_size": batch,
            "itl_source": "mean_itl_ms",
        }
        for batch in (1.0, 96.0, 1e9)
    ]
    numbers = [name for name, value in SINGLE.items() if isinstance(value, float)]
    whole = ("kv_block_count", "block_size", "max_model_len", "tensor_parallel_size", "replicas")
    table = runs(
        [
            {
                "run": f"b{one['batch_size']:g}",
                "max_num_seqs": int(one["batch_size"]),
                **{name: data.draw(broken) for name in numbers},
                **{name: data.draw(st.sampled_from(WHOLE)) for name in whole},
            }
            for one in rows
        ]
    )
    found: list[Any] = []
    with suppress(AdviceError):
        choice = choose_batch(curve(rows), rule=rule, interpolate=interpolate)
        found += [asdict(one) for one in (choice.smaller, choice.larger) if one]
        if choice.row is not None:
            found.append(asdict(memory_advice(table, curve(rows), choice)))
            found += rows_of(replica_advice(table, curve(rows), choice, busy_share=BUSY))
    values = [value for one in found for value in one.values() if isinstance(value, float)]
    assert all(math.isfinite(one) for one in values)
