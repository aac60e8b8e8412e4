"""Predictions follow from what was measured, are marked, and are refused where they cannot be."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.advice_curves import curve, runs

from nsightlens.advisor.answers import Plateau, StepCosts, Warned
from nsightlens.advisor.fitting import fit
from nsightlens.advisor.what_if import analytic_knee, what_if
from nsightlens.errors import AdviceError, UnknownDeviceError
from nsightlens.models import kv_bytes_of_sequence, read_model, step_time_bound_s

if TYPE_CHECKING:
    from nsightlens.advisor.answers import Curve, Prediction

# ITL = 4 ms + 0.1 ms x running; nine of ten sequences run; 0.1 % of the pool for each that is set.
BATCHES = (1, 8, 32, 64, 128, 256)
ROWS = [
    {
        "batch_size": float(batch),
        "running_batch": 0.9 * batch,
        "itl_ms": 4 + 0.09 * batch,
        "throughput_tok_s": 1.5e3 * 0.9 * batch / (4 + 0.09 * batch),
        "output_tok_s": 1e3 * 0.9 * batch / (4 + 0.09 * batch),
        "kv_peak_pct": 0.1 * batch,
        "kv_pool_gib": 50.0,
        "fit_weight": 1.0,
    }
    for batch in BATCHES
]
OPT = read_model("opt-1.3b")
H100, H200 = "H100 SXM5 80GB", "H200 SXM 141GB"
MEMORY = {"gpu_memory_utilization": 0.9, "total_memory_gib": 80.0}


def _ask(rows: Any = None, *, over: Any = "running", **options: Any) -> Prediction:
    made = curve(ROWS if rows is None else rows)
    return what_if(made, options.pop("plateau", None) or _plateau(made, over), **options)


def _plateau(made: Curve, over: Any = "running") -> Plateau:
    name = "running_batch" if over == "running" else "batch_size"
    found = fit(made.rows[name], made.rows["itl_ms"], made.rows["fit_weight"], over=over)
    return Plateau(found, None, None, 64.0, 128.0, 256.0, 1e4, is_plateau_reached=True)


def _keys(found: Prediction) -> set[str]:
    return {one.key for one in found.warnings}


def test_a_batch_between_two_follows_the_law() -> None:
    """At the batch that would run, with throughput and KV use, and no error on exact data."""
    found = _ask(batch_size=160)
    assert found.itl_ms == pytest.approx(4 + 0.1 * 144)
    assert found.throughput_tok_s == pytest.approx(1.5e3 * 144 / (4 + 0.1 * 144))
    assert found.kv_peak_pct == pytest.approx(16)
    assert found.backtest_max_error_pct == pytest.approx(0, abs=1e-9)
    assert found.itl_low_ms == pytest.approx(found.itl_ms)
    assert found.question == "batch 160"
    assert found.text.startswith("Predicted for batch 160: 18.4 ms between tokens")
    assert not found.warnings


def test_a_law_over_the_nominal_batch_is_asked_at_it() -> None:
    """The running batch then enters the throughput alone."""
    found = _ask(batch_size=160, over="nominal")
    assert found.itl_ms == pytest.approx(4 + 0.09 * 160)
    assert found.throughput_tok_s == pytest.approx(1.5e3 * 144 / 18.4)


def test_the_interval_is_that_of_the_back_test() -> None:
    """One row of 10 % more time widens it on both sides."""
    rows = [
        one | {"itl_ms": one["itl_ms"] * (1.1 if one["batch_size"] == 32 else 1)} for one in ROWS
    ]
    found = _ask(rows, batch_size=160)
    assert found.itl_ms is not None
    assert found.backtest_max_error_pct is not None
    assert 5 < found.backtest_max_error_pct < 15
    assert found.itl_low_ms == pytest.approx(
        found.itl_ms / (1 + found.backtest_max_error_pct / 100)
    )
    assert found.itl_high_ms == pytest.approx(
        found.itl_ms / (1 - found.backtest_max_error_pct / 100)
    )
    assert f"{found.backtest_max_error_pct:.1f} % at most" in found.text


def test_three_rows_are_too_few_for_a_back_test() -> None:
    """There is a prediction and no interval."""
    found = _ask(ROWS[:3], batch_size=16)
    assert found.itl_ms == pytest.approx(4 + 0.1 * 14.4)
    assert (found.itl_low_ms, found.backtest_mean_error_pct) == (None, None)
    assert "Too few batch sizes" in found.text


@pytest.mark.parametrize("batch", [1, 300, 900])
def test_outside_of_what_was_measured_it_is_warned_of(batch: float) -> None:
    """A batch of one was measured; 300 and 900 were not."""
    found = _ask(ROWS, batch_size=batch)
    assert ("extrapolated" in _keys(found)) is (batch > 256)
    assert found.itl_ms == pytest.approx(4 + 0.09 * batch)


def test_beyond_the_kv_pool_nothing_is_predicted() -> None:
    """A batch of 1024 would need 102 % of it."""
    found = _ask(batch_size=1024)
    assert (found.itl_ms, found.throughput_tok_s) == (None, None)
    assert found.kv_peak_pct == pytest.approx(102.4)
    assert found.text.startswith("Predicted not to run: batch 1024 would need 102 % of the KV pool")
    assert "about 1000 fit" in found.text
    assert _keys(found) == {"does_not_fit"}


def test_what_was_preempted_when_measured_is_not_predicted() -> None:
    """Also where nothing says how full the pool was."""
    rows: list[dict[str, Any]] = [one | {"kv_peak_pct": None} for one in ROWS[:-1]]
    lost: dict[str, Any] = {"kv_peak_pct": None, "preemption_count": 7.0, "fit_weight": 0.0}
    rows.append(ROWS[-1] | lost)
    assert _ask(rows, batch_size=200).itl_ms is not None
    found = _ask(rows, batch_size=256)
    assert found.itl_ms is None
    assert "batch 256, which is no larger, was preempted" in found.text


def test_an_unknown_pool_is_warned_of_beyond_the_measured() -> None:
    """Within it, the runs have shown that it fits."""
    rows = [one | {"kv_peak_pct": None} for one in ROWS]
    assert "kv_unknown" in _keys(_ask(rows, batch_size=300))
    assert "kv_unknown" not in _keys(_ask(rows, batch_size=160))


def test_a_measured_batch_says_what_was_measured() -> None:
    """Beside what is predicted."""
    assert "It was measured too: 15.52 ms." in _ask(batch_size=128).text


def test_another_context_without_a_gpu_scales_all_of_the_time_per_sequence() -> None:
    """The other end of the interval is that nothing changes; tokens are the generated ones."""
    found = _ask(batch_size=160, context_length=800, measured_context=400)
    assert found.itl_ms == pytest.approx(4 + 0.2 * 144)
    assert found.itl_low_ms == pytest.approx(4 + 0.1 * 144)
    assert found.kv_peak_pct == pytest.approx(32)
    assert found.throughput_tok_s == pytest.approx(1e3 * 144 / 32.8)
    assert _keys(found) == {"context_scaled"}
    assert "(generated)" in found.text


def test_with_model_and_gpu_the_cache_alone_grows() -> None:
    """Its bytes over the bandwidth; that all grows is the upper end."""
    found = _ask(
        batch_size=160, context_length=800, measured_context=400, model=OPT, measured_device=H100
    )
    cache_ms = 1e3 * kv_bytes_of_sequence(OPT, 400) / 3.352e12
    assert found.itl_ms == pytest.approx(18.4 + 144 * cache_ms, rel=1e-3)
    assert found.itl_low_ms == pytest.approx(found.itl_ms)
    assert found.itl_high_ms == pytest.approx(4 + 0.2 * 144)
    shorter = _ask(
        batch_size=160, context_length=200, measured_context=400, model=OPT, measured_device=H100
    )
    assert shorter.itl_low_ms == pytest.approx(4 + 0.05 * 144)
    assert shorter.itl_high_ms == pytest.approx(18.4 - 72 * cache_ms, rel=1e-3)


def test_a_sliding_window_sees_no_more_of_a_longer_context() -> None:
    """Gemma 2: half of the layers see 4096 tokens, so that twice the context reads 1.5 times."""
    found = _ask(
        batch_size=32, context_length=8192, measured_context=4096, model=read_model("gemma-2-9b")
    )
    assert found.itl_ms == pytest.approx(4 + 0.15 * 28.8)


def test_the_measured_context_is_what_the_pool_held() -> None:
    """Mean use times the pool over the running batch; else prompt and half of the output."""
    row = {"kv_mean_pct": 20.0, "kv_pool_tokens": 50_000.0, "mean_running": 25.0,
           "mean_input_tokens": 100.0, "mean_output_tokens": 200.0}  # fmt: skip
    for change, context in (({}, 400), ({"kv_mean_pct": None}, 200)):
        found = _ask(batch_size=160, context_length=800, runs=runs([row | change]))
        assert found.itl_ms == pytest.approx(4 + 0.1 * 144 * 800 / context)
    pool = {"kv_pool_tokens": None, "kv_pool_gib": 50_000 * 196608 / 2**30}
    found = _ask(batch_size=160, context_length=800, runs=runs([row | pool]), model=OPT)
    assert found.itl_ms == pytest.approx(4 + 0.2 * 144)
    with pytest.raises(AdviceError, match="the context that was measured is not known"):
        _ask(batch_size=160, context_length=800)


def test_a_context_that_fills_the_pool_is_refused() -> None:
    """160 sequences of 8 times the tokens need 128 %."""
    found = _ask(batch_size=160, context_length=3200, measured_context=400)
    assert found.itl_ms is None
    assert "128 % of the KV pool" in found.text


def test_another_gpu_scales_all_but_the_host() -> None:
    """By the least times of the step on both."""
    least = [
        step_time_bound_s(
            OPT, batch_size=144, context_length=400, flop_per_s=989.4e12, bytes_per_s=one
        )
        for one in (3.352e12, 4.814e12)
    ]
    options: dict[str, Any] = {
        "batch_size": 160, "device": H200, "model": OPT, "measured_device": H100,
        "measured_context": 400,
    }  # fmt: skip
    found = _ask(**options)
    assert found.itl_ms == pytest.approx(18.4 * least[1] / least[0], rel=0.01)
    assert {"host_unknown", "device_scaled", "kv_unknown"} <= _keys(found)
    found = _ask(**options, costs=[StepCosts(160, 1e3, 0.75, (), "run.sqlite")])
    assert found.itl_ms == pytest.approx(4.6 + 13.8 * least[1] / least[0], rel=0.01)
    assert "host_unknown" not in _keys(found)
    assert "the 4.6 ms without a kernel stay (at batch 160 of timelines" in found.text


def test_the_pool_of_another_gpu_is_what_its_memory_leaves() -> None:
    """Nine tenths of 61 GiB more than 80, beside a pool of 50."""
    options: dict[str, Any] = {
        "device": H200, "model": OPT, "measured_device": H100, "measured_context": 400,
        "runs": runs([MEMORY]),
    }  # fmt: skip
    found = _ask(batch_size=160, **options)
    assert found.kv_peak_pct == pytest.approx(16 * 50 / (50 + 0.9 * 61), rel=0.01)
    small = _ask(batch_size=160, **(options | {"device": "L4"}))
    assert small.itl_ms is None
    assert small.text.startswith("Predicted not to run: L4 has no memory left for a KV pool")


def test_memory_that_no_log_says_is_that_of_the_sheet() -> None:
    """The part that the server may use has to be known."""
    options: dict[str, Any] = {
        "batch_size": 160, "device": H200, "model": OPT, "measured_device": H100,
        "measured_context": 400,
    }  # fmt: skip
    known = _ask(**options, runs=runs([MEMORY | {"total_memory_gib": None}]))
    assert known.kv_peak_pct == pytest.approx(16 * 50 / (50 + 0.9 * 61), rel=0.01)
    unknown = _ask(**options, runs=runs([MEMORY | {"gpu_memory_utilization": None}]))
    assert unknown.kv_peak_pct is None
    assert "kv_unknown" in _keys(unknown)


def test_without_throughput_latency_alone_is_predicted() -> None:
    """And nothing stands for it."""
    rows = [one | {"throughput_tok_s": None} for one in ROWS]
    found = _ask(rows, batch_size=160)
    assert found.throughput_tok_s is None
    assert "token/s" not in found.text


def test_the_same_gpu_by_another_name_is_no_other_gpu() -> None:
    """Nothing is scaled."""
    same = _ask(batch_size=160, device="NVIDIA H100 80GB HBM3", model=OPT, measured_device=H100)
    assert same.itl_ms == pytest.approx(18.4)
    unknown = _ask(batch_size=160, device="foo", measured_device="FOO")
    assert unknown.itl_ms == pytest.approx(18.4)


def test_a_gpu_with_another_memory_is_warned_of() -> None:
    """The paper's H100 has 64 GB, and half of the bandwidth."""
    log = runs([MEMORY | {"total_memory_gib": 63.43}])
    found = _ask(batch_size=160, model=OPT, measured_device=H100, runs=log)
    assert "device_mismatch" in _keys(found)
    fine = _ask(batch_size=160, model=OPT, measured_device=H100, runs=runs([MEMORY]))
    assert "device_mismatch" not in _keys(fine)


def test_an_unknown_gpu_is_named() -> None:
    """With what is spelled like it."""
    with pytest.raises(UnknownDeviceError, match="H200"):
        _ask(batch_size=160, device="h2000", model=OPT, measured_device=H100)


def test_what_another_gpu_needs_is_said() -> None:
    """The model, the context, or which GPU was measured."""
    with pytest.raises(AdviceError, match="another GPU needs the sizes of the model"):
        _ask(batch_size=160, device=H200, measured_device=H100)
    with pytest.raises(AdviceError, match=r"context length \(context=TOKENS\)"):
        _ask(batch_size=160, device=H200, measured_device=H100, model=OPT)
    found = _ask(batch_size=160, device=H200, model=OPT, measured_context=400)
    assert found.itl_ms is None
    assert found.itl_low_ms is not None
    assert "which GPU was measured is not known" in found.text
    found = _ask(
        batch_size=160, device=H200, model=OPT, measured_context=400, measured_device="H100 64GB"
    )
    assert "the peaks of the GPU that was measured, 'H100 64GB', are not known" in found.text


def test_without_a_law_a_bound_alone_is_given() -> None:
    """The least time of the step, marked as a bound, with the reason."""
    made = curve(ROWS)
    refused = replace(_plateau(made), fit=None, refused=Warned("moe", "Experts break the law."))
    found = what_if(
        made, refused, batch_size=160, model=OPT, measured_device=H100, measured_context=400
    )
    least = step_time_bound_s(
        OPT, batch_size=144, context_length=400, flop_per_s=989.4e12, bytes_per_s=3.352e12
    )
    assert found.itl_ms is None
    assert found.itl_low_ms == pytest.approx(1e3 * least, rel=1e-3)
    assert found.text.startswith("Predicted bound for batch 160: no step takes less than")
    assert "(Experts break the law)" in found.text
    assert _keys(found) == {"bound_only"}
    with pytest.raises(AdviceError) as caught:
        what_if(made, refused, batch_size=160)
    for part in ("the sizes of the model", "the GPU", "the context length", "are missing"):
        assert part in str(caught.value)


def test_a_prediction_below_the_bound_is_warned_of() -> None:
    """The model or the GPU cannot be those that ran."""
    llama = read_model("llama-3-70b")
    found = _ask(batch_size=8, model=llama, measured_device=H100, measured_context=400)
    assert "below_bound" in _keys(found)


def test_a_context_that_memory_cannot_hold_is_refused() -> None:
    """By the sizes alone, where nothing says how full the pool was."""
    rows = [one | {"kv_peak_pct": None} for one in ROWS]
    found = _ask(
        rows, batch_size=256, context_length=100_000, measured_context=400, model=OPT,
        measured_device=H100,
    )  # fmt: skip
    assert found.itl_ms is None
    assert "beside the weights, memory holds 4 sequences of 1e+05 tokens" in found.text


def test_several_gpus_share_the_model() -> None:
    """Half of the cache is read by each."""
    pair = runs([{"tensor_parallel_size": 2}])
    one, two = (
        _ask(
            batch_size=160, context_length=800, measured_context=400, model=OPT,
            measured_device=H100, runs=log,
        )
        for log in (None, pair)
    )  # fmt: skip
    assert one.itl_ms is not None
    assert two.itl_ms is not None
    assert two.itl_ms - 18.4 == pytest.approx((one.itl_ms - 18.4) / 2, rel=1e-6)


@pytest.mark.parametrize(("name", "value", "part"), [
    ("kv_cache_dtype", "fp8_e4m3", 0.5), ("kv_cache_dtype", "auto", 1.0),
])  # fmt: skip
def test_the_data_type_of_the_cache_is_that_of_the_runs(name: str, value: str, part: float) -> None:
    """One byte per element is half of the growth."""
    found = _ask(
        batch_size=160, context_length=800, measured_context=400, model=OPT,
        measured_device=H100, runs=runs([{name: value}]),
    )  # fmt: skip
    cache_ms = 1e3 * kv_bytes_of_sequence(OPT, 400) / 3.352e12
    assert found.itl_ms == pytest.approx(18.4 + part * 144 * cache_ms, rel=1e-3)


def test_the_model_says_where_cache_and_weights_weigh_the_same() -> None:
    """Without any fit, from the tokens that the pool held at its peak."""
    rows = [one | {"kv_peak_pct": 0.045 * one["batch_size"]} for one in ROWS]
    held = 0.045 / 100 * 50 * 2**30 / 0.9 / 196608
    text = _ask(rows, batch_size=160, model=OPT).text
    assert f"at {analytic_knee(OPT, held):.3g} sequences of {held:.0f} tokens" in text


@pytest.mark.parametrize(
    "question",
    [
        {"batch_size": 0.0},
        {"batch_size": -4.0},
        {"batch_size": float("nan")},
        {"batch_size": float("inf")},
        {"batch_size": 1e12},
        {"batch_size": 8, "context_length": 0.0},
        {"batch_size": 8, "measured_context": -1.0},
        {"batch_size": 8, "kv_bytes": 0.0},
        {"batch_size": 8, "weight_bytes": float("nan")},
    ],
)
def test_numbers_that_cannot_be_are_refused(question: dict[str, float]) -> None:
    """With a sentence that names them."""
    with pytest.raises(AdviceError, match="must be a number"):
        _ask(**question)


def test_nothing_asked_and_nothing_measured_are_errors() -> None:
    """The batch with the most throughput is taken where none is asked for."""
    with pytest.raises(AdviceError, match="nothing is asked"):
        _ask()
    found = _ask(device=H100, measured_device=H100)
    assert (found.batch_size, found.question) == (256, "batch 256, H100 SXM5 80GB")
    lone = replace(_plateau(curve(ROWS)), best_batch=None)
    with pytest.raises(AdviceError, match="needs a batch size"):
        _ask(plateau=lone, device=H100)
    empty = [one | {"itl_ms": None} for one in ROWS]
    with pytest.raises(AdviceError, match="no run with a batch size"):
        _ask(empty, plateau=lone, batch_size=8)


@settings(max_examples=30)
@given(st.floats(1, 900), st.floats(1, 900))
def test_a_larger_batch_never_takes_less_time_or_memory(one: float, other: float) -> None:
    """Throughput of the law does not fall either."""
    small, large = (_ask(batch_size=batch) for batch in sorted((one, other)))
    for name in ("itl_ms", "kv_peak_pct", "throughput_tok_s"):
        assert getattr(small, name) <= getattr(large, name) * (1 + 1e-9)
