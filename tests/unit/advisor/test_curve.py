"""`curve_of`: which batch, which latency, which throughput; what is flagged; what is joined."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.advice_curves import runs

from nsightlens.advisor.curve import curve_of
from nsightlens.errors import AdviceError

if TYPE_CHECKING:
    from nsightlens.advisor.answers import Curve

BATCHES = (1, 4, 16, 64, 128)


def run(batch: float, **changes: Any) -> dict[str, Any]:
    """Return a run of a law of 10 ms and 0.2 ms per sequence; all of a batch run."""
    itl = 10 + 0.2 * batch
    output = 1e3 * batch / itl
    return {
        "run": f"b{batch:g}",
        "max_num_seqs": batch,
        "request_rate_per_s": math.inf,
        "prompt_count": 2000,
        "completed_count": 2000,
        "duration_s": 2000 * 100 / output,
        "mean_itl_ms": itl,
        "median_itl_ms": itl,
        "mean_tpot_ms": itl,
        "mean_running": batch,
        "max_running": batch,
        "output_tok_per_s": output,
        "total_tok_per_s": 1.5 * output,
        "requests_per_s": output / 100,
        "preemption_count": 0,
        "kv_peak_pct": batch / 2,
        **changes,
    }


def sweep(**changes: dict[int, Any]) -> list[dict[str, Any]]:
    """Return runs of `BATCHES`, with columns changed at batch sizes."""
    return [
        run(batch, **{name: values[batch] for name, values in changes.items() if batch in values})
        for batch in BATCHES
    ]


def column(curve: Curve, name: str) -> list[Any]:
    """Return a column of a curve."""
    return list(curve.rows[name].to_pylist())


def flags(curve: Curve, row: int = 0) -> set[str]:
    """Return the flags of a row, but for those of all."""
    return set(column(curve, "flags")[row].split(",")) - {"single_run", ""}


def keys(curve: Curve) -> set[str]:
    """Return the keys of the warnings of a curve."""
    return {one.key for one in curve.warnings}


def sentence(curve: Curve, key: str) -> str:
    """Return the sentence of a warning."""
    return next(one.text for one in curve.warnings if one.key == key)


def test_rows_are_in_the_order_of_batch_with_efficiency_gain_and_share() -> None:
    """T(B) / (B T(1)) by requests; the gain is per sequence added; the best has a share of 1."""
    curve = curve_of(runs(sweep()[::-1]))
    assert column(curve, "batch_size") == [1, 4, 16, 64, 128]
    assert column(curve, "efficiency") == pytest.approx(
        [10.2 / (10 + 0.2 * batch) for batch in BATCHES]
    )
    t = [batch * 10.2 / (10 + 0.2 * batch) for batch in BATCHES]
    assert column(curve, "marginal_gain")[0] is None
    assert column(curve, "marginal_gain")[2] == pytest.approx((t[2] - t[1]) / 12)
    assert column(curve, "share_of_best")[-1] == 1.0
    assert (curve.throughput, keys(curve)) == ("total", {"single_run"})
    assert curve.single_throughput_tok_s == pytest.approx(1500 / 10.2)


@settings(max_examples=20)
@given(order=st.permutations(range(5)))
def test_the_order_of_runs_does_not_matter(order: list[int]) -> None:
    """The same rows and the same sentences come out."""
    rows = sweep(preemption_count={128: 3}, duration_s={1: 12.0})
    one, other = curve_of(runs(rows)), curve_of(runs([rows[place] for place in order]))
    assert one.rows.equals(other.rows)
    assert one.warnings == other.warnings


@settings(max_examples=20)
@given(unit=st.sampled_from([1e-3, 1e3]))
def test_the_unit_of_time_changes_nothing_but_times(unit: float) -> None:
    """Efficiency, batches and flags of a sweep in seconds are those of one in ms."""
    rows = sweep(median_itl_ms={64: 10.0})
    for row in rows:
        del row["mean_running"]
    changed = [
        {
            name: unit * value if name.endswith("_ms") else value / unit if "tok" in name else value
            for name, value in row.items()
        }
        for row in rows
    ]
    one, other = curve_of(runs(rows)), curve_of(runs(changed))
    for name in ("batch_size", "efficiency", "running_batch", "fit_weight"):
        assert column(one, name) == pytest.approx(column(other, name))
    assert column(one, "flags") == column(other, "flags")


# Which batch.


@pytest.mark.parametrize(
    ("changes", "batch", "source"),
    [
        ({}, 64, "max_num_seqs"),
        ({"max_concurrency": 16}, 16, "max_concurrency"),
        ({"max_concurrency": 64}, 64, "max_num_seqs"),
        ({"max_concurrency": 999}, 64, "max_num_seqs"),
        ({"prompt_count": 50}, 50, "prompt_count"),
        ({"max_num_seqs": None, "max_concurrency": 32}, 32, "max_concurrency"),
        ({"max_num_seqs": None, "static_batch_size": 8}, 8, "static"),
        ({"static_batch_size": 8}, 8, "static"),
        ({"max_num_seqs": None, "concurrency": 23.4, "mean_running": None}, 23, "concurrency"),
        ({"max_num_seqs": 0, "max_concurrency": 32}, 32, "max_concurrency"),
    ],
)
def test_the_batch_is_the_hardest_limit(changes: dict[str, Any], batch: float, source: str) -> None:
    """The server's or the client's; without any, the mean in flight. A zero is no limit."""
    row = run(64, **{"output_tok_per_s": None, **changes})
    curve = curve_of(runs([row]))
    assert (column(curve, "batch_size"), column(curve, "batch_source")) == ([batch], [source])


def test_a_client_that_limits_harder_is_named() -> None:
    """Trap 1: what the server may run says nothing where the client sends less."""
    curve = curve_of(runs([run(64, max_concurrency=16, mean_running=15.8)]))
    assert "client_bound" in flags(curve)
    assert "at batch size 16" in sentence(curve, "client_bound")


def test_a_rate_that_the_server_keeps_up_with_sets_the_batch() -> None:
    """Runs of one limit at several rates are no repetitions of one batch."""
    rows = [
        run(256, run=f"rate{rate}", request_rate_per_s=rate, concurrency=load, mean_running=load)
        for rate, load in ((1.0, 0.3), (4.0, 12.3), (16.0, 90.0), (64.0, 255.0))
    ]
    curve = curve_of(runs(rows))
    assert column(curve, "batch_size") == [1, 12, 90, 256]
    assert column(curve, "batch_source") == ["concurrency"] * 3 + ["max_num_seqs"]
    assert column(curve, "running_batch") == [1.0, 12.3, 90.0, 255.0]
    assert curve.single_throughput_tok_s is None
    assert "idled" in sentence(curve, "no_single")


def test_without_a_limit_requests_that_wait_are_not_in_the_batch() -> None:
    """An old SGLang file: 880 requests in flight, of which 436 had their first token."""
    row = {
        "run": "a", "request_rate_per_s": 8.0, "requests_per_s": 3.6, "concurrency": 880.0,
        "mean_e2e_ms": 244_444.0, "median_ttft_ms": 123_333.0, "median_itl_ms": 189.7,
        "total_tok_per_s": 3647.0,
    }  # fmt: skip
    curve = curve_of(runs([row]))
    assert (column(curve, "batch_size"), column(curve, "batch_source")) == ([436], ["running"])
    assert column(curve, "running_batch") == pytest.approx([436], rel=1e-3)
    assert flags(curve) == {"by_load"}


# How many ran.


def test_what_ran_is_taken_from_samples_then_by_littles_law() -> None:
    """Trap 2: generated tokens per second times TPOT is what decoded, whatever was asked for."""
    rows = sweep(mean_running={128: 103.0}, max_running={128: 110})
    curve = curve_of(runs(rows))
    assert column(curve, "running_batch")[-1] == 103.0
    for row in rows:
        del row["mean_running"]
    curve = curve_of(runs(rows))
    assert column(curve, "running_source") == ["little"] * 5
    assert column(curve, "running_batch") == pytest.approx(BATCHES)
    for row in rows:
        row.update(output_tok_per_s=None, concurrency=1.7 * row["max_num_seqs"])
    curve = curve_of(runs(rows))
    assert set(column(curve, "running_source")) == {"concurrency"}
    assert column(curve, "running_batch") == list(BATCHES)  # those that wait do not run


def test_a_batch_of_which_much_less_ran_is_told() -> None:
    """512 asked for, 103 ran: the weight stays, since fits are over what ran."""
    curve = curve_of(runs([run(512, mean_running=103.0, max_running=130)]))
    assert "nominal_beyond_running" in flags(curve)
    assert "(103 ran on average)" in sentence(curve, "nominal_beyond_running")
    assert column(curve, "fit_weight") == [1.0]


def test_a_batch_of_which_nothing_else_is_known_stands_for_what_ran() -> None:
    """With a flag."""
    row = run(64, mean_running=None, output_tok_per_s=None)
    curve = curve_of(runs([row]))
    assert (column(curve, "running_batch"), flags(curve)) == ([64.0], {"nominal_only"})


def test_more_than_the_batch_cannot_have_run() -> None:
    """A name that lies, or the sum of several servers."""
    assert "running_beyond_batch" in flags(curve_of(runs([run(64, mean_running=120.0)])))


def test_sources_that_differ_by_rows_are_told() -> None:
    """A fit over means of samples and over Little's law may be bent."""
    curve = curve_of(runs(sweep(mean_running={16: None})))
    assert "little, mean_running" in sentence(curve, "mixed_running_sources")


# Which latency.


def test_gaps_of_pieces_are_no_times_between_tokens() -> None:
    """Trap 3: mean ITL is 8 times TPOT, so TPOT is used: for all rows, not to bend the curve."""
    curve = curve_of(runs(sweep(mean_itl_ms={64: 8 * 22.8})))
    assert column(curve, "itl_source") == ["mean_tpot_ms"] * 5
    assert column(curve, "itl_ms")[3] == pytest.approx(22.8)
    assert flags(curve, 3) == {"itl_per_chunk"}
    assert "8 times mean TPOT at batch size 64" in sentence(curve, "itl_per_chunk")
    assert "itl_per_chunk" in flags(curve_of(runs(sweep(mean_itl_ms={64: 0.7 * 22.8}))), 3)
    assert "itl_per_chunk" not in keys(curve_of(runs(sweep(mean_itl_ms={64: 1.2 * 22.8}))))


def test_a_preempted_run_does_not_choose_the_latency_of_the_others() -> None:
    """It is in no fit."""
    rows = sweep(mean_itl_ms={128: 100.0}, preemption_count={128: 9})
    assert column(curve_of(runs(rows)), "itl_source")[:4] == ["mean_itl_ms"] * 4


def test_a_median_of_nothing_is_not_used() -> None:
    """Trap 4: many tokens of one read make a median of 0.05 us; the mean is right."""
    curve = curve_of(runs(sweep(median_itl_ms=dict.fromkeys(BATCHES, 4.8e-5))))
    assert column(curve, "itl_source") == ["mean_itl_ms"] * 5


def test_prefill_in_the_mean_is_flagged_and_the_mean_kept() -> None:
    """Trap 5: the paper fits the mean up to a ratio of 1.37; throughput follows the mean."""
    curve = curve_of(runs(sweep(median_itl_ms={64: 22.8 / 2.1})))
    assert flags(curve, 3) == {"prefill_interference"}
    assert column(curve, "itl_ms")[3] == pytest.approx(22.8)
    assert "2.10 times the median" in sentence(curve, "prefill_interference")


def test_a_median_is_used_where_nothing_else_is_there() -> None:
    """Old SGLang files have no mean ITL."""
    rows = sweep(mean_itl_ms=dict.fromkeys(BATCHES), mean_tpot_ms=dict.fromkeys(BATCHES))
    curve = curve_of(runs(rows))
    assert column(curve, "itl_source") == ["median_itl_ms"] * 5


def test_a_latency_that_one_row_lacks_is_told() -> None:
    """Then rows do not come from one column."""
    rows = sweep(mean_itl_ms={4: None}, mean_tpot_ms={16: None})
    curve = curve_of(runs(rows))
    assert column(curve, "itl_source")[:3] == ["mean_itl_ms", "mean_tpot_ms", "mean_itl_ms"]
    assert "mixed_itl_sources" in keys(curve)


# Which throughput.


def test_total_throughput_is_taken_where_all_rows_have_it() -> None:
    """Else that of generated tokens, which is told; what is asked for wins."""
    rows = sweep()
    assert curve_of(runs(rows)).throughput == "total"
    assert curve_of(runs(rows), throughput="output").throughput == "output"
    rows[1]["total_tok_per_s"] = None
    curve = curve_of(runs(rows))
    assert curve.throughput == "output"
    assert "throughput_is_output" in keys(curve)
    assert curve_of(runs(rows), throughput="total").rows["throughput_tok_s"].null_count == 1


def test_cached_prompts_do_not_count() -> None:
    """Trap 8: of 14,000 tokens per second, 98 % were prompt tokens out of a cache."""
    curve = curve_of(runs(sweep(prefix_caching=dict.fromkeys(BATCHES, True))))
    assert curve.throughput == "output"
    assert "prefix_caching" in keys(curve)
    off = curve_of(runs(sweep(prefix_caching=dict.fromkeys(BATCHES, False))))
    assert off.throughput == "total"


def test_a_throughput_that_no_run_has_cannot_be_asked_for() -> None:
    """The answer is a sentence that says what to ask for."""
    rows = sweep(total_tok_per_s=dict.fromkeys(BATCHES))
    with pytest.raises(AdviceError, match="ask for output"):
        curve_of(runs(rows), throughput="total")


def test_rates_of_decoding_stand_for_throughput_where_there_is_no_other() -> None:
    """And it is said that prompts are not in them."""
    rows = [
        {"run": f"b{b}", "static_batch_size": b, "decode_tok_per_s": 1e3 * b / (10 + 0.2 * b)}
        for b in BATCHES
    ]
    curve = curve_of(runs(rows))
    assert column(curve, "throughput_tok_s")[0] == pytest.approx(1e3 / 10.2)
    assert "throughput_is_decode" in keys(curve)


def test_efficiency_is_of_tokens_where_a_row_lacks_requests() -> None:
    """The same T in all rows."""
    rows = sweep(requests_per_s={4: None}, total_tok_per_s={1: 200.0})
    curve = curve_of(runs(rows))
    assert column(curve, "efficiency")[1] == pytest.approx(rows[1]["total_tok_per_s"] / 800)


def test_without_a_batch_of_one_there_is_no_efficiency() -> None:
    """Null, and the reason."""
    curve = curve_of(runs(sweep()[1:]))
    assert column(curve, "efficiency") == [None] * 4
    assert "the smallest is 4" in sentence(curve, "no_single")


# What weighs less.


@pytest.mark.parametrize(
    ("flag", "weight", "changes"),
    [
        ("preempted", 0.0, {"preemption_count": 1}),
        ("clock_limited", 0.25, {"clock_limited": True}),
        ("clock_limited", 0.25, {"sm_clock_mhz": 1605.0, "sm_clock_max_mhz": 1980.0}),
        ("clock_limited", 0.25, {"clock_limited": False, "sm_clock_mhz": 1605.0}),
        ("too_short", 0.5, {"duration_s": 29.0}),
        ("too_short", 0.5, {"completed_count": 191}),
        ("failed_requests", 1.0, {"failed_count": 3}),
        ("many_failed", 0.5, {"failed_count": 300}),
        ("speculative", 1.0, {"speculative": True}),
        ("moe", 1.0, {"mixture_of_experts": True}),
        ("long_input", 1.0, {"mean_input_tokens": 4096.0}),
    ],
)
def test_flags_and_their_weights(flag: str, weight: float, changes: dict[str, Any]) -> None:
    """Each is named, has its weight, and a sentence with the batch size."""
    rows = [*sweep(sm_clock_mhz={16: 1980.0})[:3], run(64, **changes)]
    curve = curve_of(runs(rows))
    assert flag in flags(curve, 3)
    assert column(curve, "fit_weight") == [1.0, 1.0, 1.0, weight]
    texts = " ".join(one.text for one in curve.warnings)
    assert "64" in texts or flag == "moe"


@pytest.mark.parametrize(
    "changes",
    [
        {"preemption_count": 0},
        {"preemption_count": None},
        {"sm_clock_mhz": 1900.0, "sm_clock_max_mhz": 1980.0},
        {"completed_count": 192},
        {"duration_s": 31.0},
        {"failed_count": 0},
        {"mean_input_tokens": 3000.0},
    ],
)
def test_what_is_no_reason_is_not_flagged(changes: dict[str, Any]) -> None:
    """Unknown preemptions are not preemptions, and a clock 4 % below its largest is no limit."""
    curve = curve_of(runs([run(64, **changes)]))
    assert (flags(curve), column(curve, "fit_weight")) == (set(), [1.0])


def test_a_clock_that_idles_under_a_light_load_is_no_limit() -> None:
    """Its mean is low because nothing is there to do."""
    row = run(64, request_rate_per_s=1.0, concurrency=3, mean_running=3, sm_clock_mhz=900.0)
    assert flags(curve_of(runs([row, *sweep(sm_clock_mhz={64: 1980.0})[2:]]))) == {"by_load"}


def test_weights_of_several_flags_multiply() -> None:
    """A short run with a limited clock says an eighth."""
    row = run(64, clock_limited=True, duration_s=10.0)
    assert column(curve_of(runs([row])), "fit_weight") == [0.125]


def test_a_static_batch_of_some_seconds_is_not_too_short() -> None:
    """It has no ramp, and no prompts beside decoding."""
    row = {
        "run": "a", "static_batch_size": 64, "duration_s": 3.0, "completed_count": 64,
        "mean_itl_ms": 22.8, "mean_input_tokens": 8192.0,
    }  # fmt: skip
    assert flags(curve_of(runs([row]))) == set()


@pytest.mark.parametrize(
    "changes", [{"kv_peak_pct": {64: 100.0}}, {"mean_waiting": {4: 0.0, 16: 0.1, 64: 12.6}}]
)
def test_latency_that_falls_while_requests_are_kept_out_is_thrash(
    changes: dict[str, dict[int, float]],
) -> None:
    """Trap 10: 37 ms at 16, 29 ms at 64, with a full pool or a queue: no better batch."""
    itl = {16: 37.3, 64: 28.8}
    curve = curve_of(runs(sweep(mean_itl_ms=itl, mean_tpot_ms=itl, **changes)[:4]))
    assert flags(curve, 3) == {"thrash"}
    assert column(curve, "fit_weight")[3] == 0.0


def test_latency_that_falls_without_a_queue_is_noise() -> None:
    """It is not said to be thrash; nor is a fall within what runs differ by."""
    itl = {16: 37.3, 64: 28.8}
    assert "thrash" not in keys(curve_of(runs(sweep(mean_itl_ms=itl, mean_tpot_ms=itl)[:4])))
    itl = {16: 23.0, 64: 22.8}
    full = {64: 100.0}
    curve = curve_of(runs(sweep(mean_itl_ms=itl, mean_tpot_ms=itl, kv_peak_pct=full)[:4]))
    assert "thrash" not in keys(curve)


# Repetitions.


def test_runs_of_one_batch_are_joined_by_the_median() -> None:
    """The row says which they are and how many; it is no single run."""
    rows = [run(64, run=name, mean_itl_ms=itl) for name, itl in (("c", 23), ("a", 22), ("b", 24))]
    curve = curve_of(runs(rows))
    assert column(curve, "run") == ["a + b + c"]
    assert (column(curve, "run_count"), column(curve, "mean_itl_ms")) == ([3], [23.0])
    assert column(curve, "flags") == [""]
    assert "single_run" not in keys(curve)


def test_repeats_that_differ_by_half_are_flagged_and_weigh_less() -> None:
    """They may be of two machines: the median of both is of neither."""
    rows = [run(64, run=name, mean_itl_ms=itl) for name, itl in (("a", 20), ("b", 30))]
    curve = curve_of(runs(rows))
    assert "repeats_differ" in column(curve, "flags")[0]
    assert column(curve, "fit_weight") == [0.5]
    assert "repeats_differ" in keys(curve)


def test_a_single_run_weighs_half_beside_repeated_ones() -> None:
    rows = [run(64, run="a"), run(64, run="b"), run(8, run="c")]
    assert column(curve_of(runs(rows)), "fit_weight") == [0.5, 1.0]
    assert column(curve_of(runs([run(64, run="a"), run(8, run="c")])), "fit_weight") == [1.0, 1.0]


def test_a_repeat_of_which_no_preemption_is_known_makes_the_row_unknown() -> None:
    rows = [run(64, run="a", preemption_count=0), run(64, run="b", preemption_count=None)]
    assert column(curve_of(runs(rows)), "preemption_count") == [None]
    rows[1]["preemption_count"] = 3
    assert column(curve_of(runs(rows)), "preemption_count") == [3.0]


def test_a_missing_value_is_not_in_the_median() -> None:
    """Of two runs, one without a value, the other's counts; of an even number, the middle."""
    rows = [run(64, run="a", mean_itl_ms=22), run(64, run="b", mean_itl_ms=None)]
    assert column(curve_of(runs(rows)), "mean_itl_ms") == [22.0]
    rows.append(run(64, run="c", mean_itl_ms=24))
    assert column(curve_of(runs(rows)), "mean_itl_ms") == [23.0]


def test_runs_twice_give_the_same_curve() -> None:
    """But for their names and their number."""
    rows = sweep(preemption_count={128: 4})
    one, other = curve_of(runs(rows)), curve_of(runs([*rows, *rows]))
    for name in ("batch_size", "itl_ms", "running_batch", "efficiency", "fit_weight"):
        assert column(one, name) == column(other, name)
    assert column(other, "run_count") == [2] * 5


def test_a_batch_of_which_one_run_was_preempted_is_not_safe() -> None:
    """The worst counts where it harms: preemptions and the peak of the pool."""
    rows = [
        run(64, run="a", kv_peak_pct=97.0),
        run(64, run="b", kv_peak_pct=99.9, preemption_count=7),
        run(64, run="c", kv_peak_pct=96.0),
    ]
    curve = curve_of(runs(rows))
    assert column(curve, "preemption_count") == [7]
    assert column(curve, "kv_peak_pct") == [99.9]
    assert column(curve, "fit_weight") == [0.0]
    assert "preempted_in_part" in keys(curve)


def test_runs_of_one_batch_with_other_settings_are_told() -> None:
    """They are no repetition; the sentence says what differs."""
    rows = [
        run(64, run="a", gpu_memory_utilization=0.9),
        run(64, run="b", gpu_memory_utilization=0.5),
    ]
    curve = curve_of(runs(rows))
    assert "gpu_memory_utilization (0.5 to 0.9)" in sentence(curve, "mixed_settings")


# What is missing or absurd.


def test_runs_that_say_nothing_are_left_out_with_their_names() -> None:
    """One has no speed, one no batch; a profile's shares are no run that lacks something."""
    rows = [
        *sweep(),
        {"run": "mute", "max_num_seqs": 256},
        {"run": "lost", "mean_itl_ms": 12.0},
        {"run": "profile", "attention_share_pct": 24.0, "static_batch_size": 32},
    ]
    curve = curve_of(runs(rows))
    assert column(curve, "batch_size") == list(BATCHES)
    assert "(mute)" in sentence(curve, "no_speed")
    assert "(lost)" in sentence(curve, "no_batch")


def test_nothing_usable_is_a_sentence() -> None:
    """Not a traceback, and not an empty curve."""
    with pytest.raises(AdviceError, match=r"no run has both a batch size .* left out"):
        curve_of(runs([{"run": "a", "max_num_seqs": 4}]))
    with pytest.raises(AdviceError):
        curve_of(runs([]))


@settings(max_examples=30)
@given(
    values=st.lists(
        st.dictionaries(
            st.sampled_from(
                [
                    "mean_itl_ms", "median_itl_ms", "mean_tpot_ms", "mean_running", "concurrency",
                    "total_tok_per_s", "output_tok_per_s", "requests_per_s", "preemption_count",
                    "kv_peak_pct", "mean_waiting", "duration_s", "request_rate_per_s",
                ]
            ),
            st.sampled_from([0.0, -1.0, math.nan, math.inf, 1e-300, 1e300, 3.0, 700.0, None]),
        ),
        min_size=1,
        max_size=5,
    )
)  # fmt: skip
def test_absurd_numbers_end_in_null_or_in_a_sentence(values: list[dict[str, float]]) -> None:
    """Zero, negative, NaN, infinite and huge values never end in NaN, infinity or a traceback."""
    rows = [run(2**place, **changes) for place, changes in enumerate(values)]
    try:
        curve = curve_of(runs(rows))
    except AdviceError:
        return
    for name in curve.rows.column_names:
        for value in column(curve, name):
            assert not isinstance(value, float) or math.isfinite(value), name


def test_thousands_of_runs_are_put_together() -> None:
    """With three repetitions each."""
    rows = [run(batch, run=f"{batch}_{n}") for batch in range(1, 701) for n in range(3)]
    curve = curve_of(runs(rows))
    assert curve.rows.num_rows == 700
    assert column(curve, "run_count") == [3] * 700
