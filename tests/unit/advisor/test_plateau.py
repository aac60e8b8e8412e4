"""`plateau`: the knee, where throughput flattens, and the reasons for which there is no knee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.advice_curves import runs

from nsightlens.advisor.curve import curve_of
from nsightlens.advisor.plateau import plateau, with_fitted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nsightlens.advisor.answers import Curve, Plateau

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def dense(batch: float) -> float:
    """Return a law of 10 ms and 0.2 ms per sequence."""
    return 10 + 0.2 * batch


def sweep(
    law: Callable[[float], float] = dense,
    batches: Sequence[int] = BATCHES,
    *,
    each: dict[str, Any] | None = None,
    **changes: dict[int, Any],
) -> list[dict[str, Any]]:
    """Return runs of a law, with columns changed in all, and at batch sizes."""
    rows = []
    for batch in batches:
        itl = law(batch)
        row = {
            "run": f"b{batch}",
            "max_num_seqs": batch,
            "mean_itl_ms": itl,
            "mean_tpot_ms": itl,
            "mean_running": float(batch),
            "output_tok_per_s": 1e3 * batch / itl,
            "preemption_count": 0,
            "duration_s": 100.0,
            "completed_count": 2000,
            **(each or {}),
        }
        row.update({name: at[batch] for name, at in changes.items() if batch in at})
        rows.append(row)
    return rows


def found(rows: list[dict[str, Any]], **options: Any) -> Plateau:
    """Return the plateau of runs."""
    return plateau(curve_of(runs(rows)), **options)


def refusal(rows: list[dict[str, Any]], **options: Any) -> str | None:
    """Return the key of a refusal; its sentence has a number, and no fit is given beside it."""
    answer = found(rows, **options)
    if answer.refused is None:
        return None
    assert (answer.fit, answer.other_fit) == (None, None)
    assert any(letter.isdigit() for letter in answer.refused.text)
    assert answer.refused.text.startswith("No knee is given")
    return answer.refused.key


def test_a_dense_model_has_a_knee_by_both_methods() -> None:
    """The one asked for comes first."""
    answer = found(sweep())
    assert answer.refused is None
    assert answer.fit is not None
    assert answer.other_fit is not None
    assert (answer.fit.method, answer.other_fit.method) == ("relative", "milliseconds")
    assert answer.fit.knee == pytest.approx(50)
    assert answer.fit.over == "running"
    other = found(sweep(), method="milliseconds")
    assert other.fit == answer.other_fit


def test_where_throughput_stops_to_grow() -> None:
    """The first batch with 90 and 95 % of the best, the best, and whether the end is flat."""
    rows = sweep(
        output_tok_per_s=dict(zip(BATCHES, (10, 20, 40, 70, 85, 91, 96, 100, 99), strict=True))
    )
    answer = found([{**row, "run": str(place)} for place, row in enumerate(rows)])
    assert (answer.batch_at_90, answer.batch_at_95) == (32, 64)
    assert (answer.best_batch, answer.best_throughput_tok_s) == (128, 100)
    assert answer.is_plateau_reached is True
    growing = found(sweep(batches=(1, 2, 4, 8, 16)))
    assert growing.is_plateau_reached is False
    assert found(sweep(batches=(1, 2))).is_plateau_reached is None


def test_a_preempted_run_is_never_the_best() -> None:
    """Nor does it count for the shares."""
    rows = sweep(preemption_count={128: 5, 256: 90})
    answer = found(rows)
    assert answer.best_batch == 64
    assert answer.batch_at_95 == 64


@settings(max_examples=12)
@given(
    batch=st.sampled_from([3, 100, 300, 512]),
    itl=st.floats(1, 1000),
    speed=st.floats(1, 1e6),
    running=st.floats(1, 300),
)
def test_one_more_preempted_run_changes_nothing(
    batch: int, itl: float, speed: float, running: float
) -> None:
    """Whatever it measured, at whatever batch size."""
    before = found(sweep())
    more = {
        "run": "preempted", "max_num_seqs": batch, "mean_itl_ms": itl, "mean_tpot_ms": 3 * itl,
        "mean_running": running, "output_tok_per_s": speed, "preemption_count": 3,
    }  # fmt: skip
    after = found([*sweep(), more])
    assert (after.fit, after.other_fit, after.refused) == (before.fit, before.other_fit, None)
    assert (after.best_batch, after.batch_at_90) == (before.best_batch, before.batch_at_90)
    assert after.is_plateau_reached == before.is_plateau_reached


@settings(max_examples=15)
@given(order=st.permutations(range(len(BATCHES))))
def test_the_order_of_runs_does_not_matter(order: list[int]) -> None:
    """Not even in the last digit."""
    rows = sweep(lambda batch: 10 + 0.2 * batch + batch % 3)
    assert found([rows[place] for place in order]) == found(rows)


@settings(max_examples=15)
@given(scale=st.sampled_from([2, 3, 8]))
def test_the_knee_scales_with_the_batch(scale: int) -> None:
    """Three times the sequences at the same times: three times the knee."""
    one = found(sweep())
    rows = sweep()
    for row in rows:
        row["max_num_seqs"] *= scale
        row["mean_running"] *= scale
        row["output_tok_per_s"] *= scale
    other = found(rows)
    assert one.fit is not None
    assert other.fit is not None
    assert other.fit.knee == pytest.approx(scale * (one.fit.knee or 0))


def test_runs_twice_keep_the_fit() -> None:
    """They are joined before it."""
    rows = sweep(lambda batch: 10 + 0.2 * batch + batch % 3)
    assert found([*rows, *rows]).fit == found(rows).fit


def test_flagged_runs_weigh_less_and_do_not_refuse_the_law() -> None:
    """A run with a limited clock is 40 % too slow; the knee hardly moves, and is not refused."""
    rows = sweep(
        mean_itl_ms={32: 1.4 * 16.4}, mean_tpot_ms={32: 1.4 * 16.4}, clock_limited={32: True}
    )
    answer = found(rows)
    assert answer.refused is None
    assert answer.fit is not None
    assert answer.fit.knee == pytest.approx(50, rel=0.06)
    del rows[5]["clock_limited"]
    assert refusal(rows) == "not_linear"


# Refusals.


def test_two_batches_are_too_few() -> None:
    """Also where others were preempted, which the sentence says."""
    assert refusal(sweep(batches=(1, 32))) == "too_few_batches"
    rows = sweep(batches=(1, 32, 64, 128), preemption_count={64: 3, 128: 9})
    answer = found(rows)
    assert answer.refused is not None
    assert "2 different batches" in answer.refused.text
    assert "2 of 4 were preempted" in answer.refused.text
    without = found(sweep(each={"mean_itl_ms": None, "mean_tpot_ms": None}))
    assert without.refused is not None
    assert "9 of 9 have no time between tokens" in without.refused.text


def test_a_mixture_of_experts_is_refused_even_where_a_line_fits() -> None:
    """Its knee would be one of other weights."""
    assert refusal(sweep(each={"mixture_of_experts": True})) == "moe"


def test_speculative_decoding_is_refused() -> None:
    """A step gives several tokens."""
    assert refusal(sweep(each={"speculative": True})) == "speculative"


def test_a_curve_that_bends_at_small_batches_is_refused() -> None:
    """Unnamed mixtures of experts are: 12 to 39 % off a line, above it at both ends."""
    answer = found(sweep(lambda batch: 8 + 4 * batch**0.5))
    assert answer.refused is not None
    assert answer.refused.key == "not_linear"
    assert "both ends" in answer.refused.text


def test_a_bend_is_refused_at_10_pct_and_a_scatter_at_15() -> None:
    """The same size of error is a pattern in one case, and noise in the other."""
    bend = {1: 0.89, 2: 0.93, 4: 1.0, 8: 1.05, 16: 1.1, 32: 1.12, 64: 1.05, 128: 0.95, 256: 0.88}
    signs = (1, -1, 1, -1, 1, -1, 1, -1, 1)
    assert refusal(sweep(lambda batch: dense(batch) * bend[int(batch)])) == "not_linear"
    scatter = dict(zip(BATCHES, (1 + 0.1 * sign for sign in signs), strict=True))
    assert refusal(sweep(lambda batch: dense(batch) * scatter[int(batch)])) is None
    scatter = dict(zip(BATCHES, (1 + 0.2 * sign for sign in signs), strict=True))
    assert refusal(sweep(lambda batch: dense(batch) * scatter[int(batch)])) == "not_linear"


def test_a_latency_that_does_not_rise_has_no_knee() -> None:
    """There is no slope to divide by."""
    assert refusal(sweep(lambda batch: 20 - batch / 100)) == "not_linear"


def test_a_line_that_begins_below_zero_is_prefill() -> None:
    """No step takes less than nothing; prompts grow with the batch."""
    assert refusal(sweep(lambda batch: 3 * batch - 2)) == "prefill_bound"


def test_long_prompts_that_use_a_server_up_early_are_prefill() -> None:
    """Best at 8 of 256, with prompts of 8,000 tokens; short ones with the same numbers are not."""
    speed = dict(zip(BATCHES, (10, 19, 30, 35, 34, 33, 32, 31, 30), strict=True))
    long = {"mean_input_tokens": 8000.0}
    assert refusal(sweep(each=long, output_tok_per_s=speed)) == "prefill_bound"
    assert refusal(sweep(output_tok_per_s=speed)) is None
    assert refusal(sweep(each=long)) is None
    assert refusal(sweep(lambda batch: 8 + 4 * batch**0.5, each=long)) == "prefill_bound"


def test_a_static_batch_with_long_prompts_is_not_prefill() -> None:
    """Decoding alone was timed."""
    rows = sweep(
        lambda batch: 8 + 4 * batch**0.5,
        each={"max_num_seqs": None, "mean_input_tokens": 8000.0},
        static_batch_size={batch: batch for batch in BATCHES},
    )
    assert refusal(rows) == "not_linear"


def test_a_server_that_thrashes_is_refused_where_nothing_sound_is_left() -> None:
    """Where three batches or more fit without those runs, they are left out instead."""
    itl = {4: 37.3, 8: 28.8}
    rows = sweep(
        batches=(1, 4, 8), mean_itl_ms=itl, mean_tpot_ms=itl, kv_peak_pct={4: 99.0, 8: 100.0}
    )
    answer = found(rows)
    assert answer.refused is not None
    assert answer.refused.key == "kv_thrash"
    assert "from 37.3 ms to 28.8 ms at batch size 8" in answer.refused.text
    itl = {256: 30.0}
    left = sweep(mean_itl_ms=itl, mean_tpot_ms=itl, kv_peak_pct={256: 100.0})
    assert refusal(left) is None


def test_the_law_over_what_was_asked_for_fails_where_less_ran() -> None:
    """Of 256, 70 ran: over what ran the line holds; over what was asked for, it does not."""
    ran = {128: 65.0, 256: 70.0}
    itl = {batch: dense(running) for batch, running in ran.items()}
    rows = sweep(mean_running=ran, mean_itl_ms=itl, mean_tpot_ms=itl)
    assert refusal(rows) is None
    assert refusal(rows, over="nominal") == "nominal_beyond_running"
    answer = found(rows, over="nominal")
    assert [one.key for one in answer.warnings] == ["nominal_only"]
    assert "70 of 256" in answer.warnings[0].text


def test_a_knee_beyond_what_was_measured_is_told() -> None:
    """It is an extrapolation then."""
    answer = found(sweep(batches=(1, 2, 4, 8)))
    assert [one.key for one in answer.warnings] == ["knee_outside"]
    assert found(sweep()).warnings == ()


def test_the_fitted_times_are_put_beside_the_measured_ones() -> None:
    """Also of rows that the fit left out; not where the law does not hold."""

    def times(rows: list[dict[str, Any]]) -> list[Any]:
        curve: Curve = curve_of(runs(rows))
        return list(with_fitted(curve, plateau(curve)).rows["fitted_itl_ms"].to_pylist())

    rows = sweep(mean_itl_ms={256: 99.0}, mean_tpot_ms={256: 99.0}, preemption_count={256: 3})
    assert times(rows) == pytest.approx([dense(batch) for batch in BATCHES])
    assert times(sweep(each={"speculative": True})) == [None] * 9
