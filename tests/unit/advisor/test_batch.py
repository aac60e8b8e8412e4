"""`choose_batch`: both rules, what binds, neighbours, what is not feasible, and interpolation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.advice_curves import curve

from nsightlens.advisor.answers import Fit, Slo
from nsightlens.advisor.batch import choose_batch
from nsightlens.errors import AdviceError

if TYPE_CHECKING:
    from nsightlens.advisor.answers import Curve

BATCHES = [1, 32, 64, 128, 256]
ITL = [10.0, 16.0, 22.0, 36.0, 64.0]
# Faster and faster, but for the last; efficiency falls from 1 to 0.2.
THROUGHPUT = [100.0, 2000.0, 2900.0, 3500.0, 3400.0]


def sweep(**changes: dict[int, Any]) -> Curve:
    """Return the sweep above, with columns changed at batch sizes."""
    rows = [
        {
            "batch_size": float(batch),
            "itl_ms": itl,
            "itl_source": "mean_itl_ms",
            "mean_itl_ms": itl,
            "running_batch": 0.9 * batch,
            "throughput_tok_s": speed,
            "efficiency": speed / (batch * 100.0),
            "kv_peak_pct": batch / 4.0,
            "flags": "",
        }
        for batch, itl, speed in zip(BATCHES, ITL, THROUGHPUT, strict=True)
    ]
    for name, values in changes.items():
        for row in rows:
            row[name] = values.get(int(row["batch_size"]), row.get(name, 0.0))  # type: ignore[call-overload]
    return curve(rows, single=100.0)


def test_most_throughput_within_the_limit_is_chosen_and_the_limit_named() -> None:
    """The next larger batch size is faster and too slow a step: so the limit binds, in numbers."""
    choice = choose_batch(sweep(), [Slo(limit_ms=30.0)])
    assert choice.batch_size == 64
    assert choice.binding_constraint == "slo"
    assert choice.binding_text == (
        "Batch size 128 would give 20.7 % more throughput, but has a mean ITL of 36 ms, above the "
        "limit of 30 ms."
    )
    assert choice.largest_feasible == 64
    assert choice.row is not None
    assert choice.row["mean_itl_ms"] == 22.0
    assert not choice.is_interpolated
    assert choice.nearest_feasible_slo_ms is None


def test_the_limit_is_met_by_a_latency_that_equals_it() -> None:
    """At most means at most, in ms as well as in seconds that were multiplied."""
    assert choose_batch(sweep(), [Slo(limit_ms=22.0)]).batch_size == 64
    assert choose_batch(sweep(), [Slo(limit_ms=0.022 * 1000)]).batch_size == 64


def test_epsilon_binds_where_efficiency_falls_first() -> None:
    """0.4531 at 64 is above 0.4, and 0.2734 at 128 is not; equal is not above."""
    choice = choose_batch(sweep(), epsilon=0.4)
    assert (choice.batch_size, choice.binding_constraint) == (64, "efficiency")
    assert choice.binding_text == (
        "Batch size 128 would give 20.7 % more throughput, but has an efficiency of 0.2734, not "
        "above epsilon = 0.4."
    )
    assert choose_batch(sweep(), epsilon=2900 / 6400).batch_size == 32


def test_all_that_forbids_is_in_the_sentence() -> None:
    """Where latency and efficiency both forbid, latency is the key and both are named."""
    choice = choose_batch(sweep(), [Slo(limit_ms=30.0)], epsilon=0.4)
    assert choice.binding_constraint == "slo"
    assert "above the limit of 30 ms and has an efficiency of 0.2734" in choice.binding_text


def test_a_larger_batch_size_that_is_slower_is_named_as_such() -> None:
    """Nothing forbids 256: it gives less."""
    choice = choose_batch(sweep())
    assert (choice.batch_size, choice.binding_constraint) == (128, "throughput")
    assert choice.binding_text == (
        "No larger batch size that was measured is faster: the next, 256, gives 3400.0 token/s, "
        "2.9 % fewer than 128."
    )
    assert choice.largest_feasible == 256


def test_nothing_larger_was_measured() -> None:
    """Where throughput still grows at the end, the end of the measurements binds."""
    choice = choose_batch(sweep(throughput_tok_s={256: 3600.0}))
    assert (choice.batch_size, choice.binding_constraint) == (256, "measured_range")
    assert choice.larger is None


def test_a_slower_neighbour_does_not_hide_the_limit_behind_it() -> None:
    """64 is allowed and no faster than 32; it is 128, beyond the limit, that would be."""
    choice = choose_batch(sweep(throughput_tok_s={64: 1999.0}), [Slo(limit_ms=30.0)])
    assert (choice.batch_size, choice.binding_constraint) == (32, "slo")
    assert choice.binding_text.startswith("Batch size 128 ")
    assert choice.larger is not None
    assert choice.larger.excluded_by is None


def test_a_preempted_run_is_never_returned_and_named_first() -> None:
    """The fastest run was preempted: the next best is chosen, and preemption binds."""
    choice = choose_batch(sweep(preemption_count={128: 7.0}), [Slo(limit_ms=30.0)])
    assert (choice.batch_size, choice.binding_constraint) == (64, "preemption")
    assert "lost the KV blocks of 7 sequences to preemption" in choice.binding_text
    largest = choose_batch(
        sweep(preemption_count={128: 7.0, 256: 9.0}), [Slo(limit_ms=1e3)], rule="largest"
    )
    assert (largest.batch_size, largest.binding_constraint) == (64, "preemption")


def test_equally_fast_batch_sizes_give_the_smaller() -> None:
    """A tie is for the smaller batch: its latency is lower."""
    assert choose_batch(sweep(throughput_tok_s={64: 3500.0})).batch_size == 64


def test_neighbours_say_what_they_would_cost() -> None:
    """Throughput and latency against the choice, and what forbids each."""
    choice = choose_batch(sweep(), [Slo(limit_ms=30.0)])
    smaller, larger = choice.smaller, choice.larger
    assert smaller is not None
    assert larger is not None
    assert (smaller.batch_size, larger.batch_size) == (32, 128)
    assert smaller.throughput_change_pct == pytest.approx(100 * (2000 / 2900 - 1))
    assert larger.latency_change_pct == pytest.approx(100 * (36 / 22 - 1))
    assert (smaller.excluded_by, larger.excluded_by) == (None, "slo")


def test_neighbours_show_the_latency_that_is_limited() -> None:
    """With a limit of p99 TTFT, that is what a neighbour costs; without limits it is ITL."""
    table = sweep(p99_ttft_ms={1: 50.0, 32: 60.0, 64: 70.0, 128: 80.0, 256: 90.0})
    larger = choose_batch(table, [Slo("ttft", "p99", 75.0)]).larger
    assert larger is not None
    assert larger.latency_ms == 80.0
    larger = choose_batch(table).larger
    assert larger is not None
    assert larger.latency_ms == 64.0


def test_a_factor_is_of_the_nearest_measured_batch_size() -> None:
    """Of 32 where it was measured; of the smaller of two equally near; of one that has a value."""
    assert choose_batch(sweep(), [Slo(factor=2)]).limits_ms == (32.0,)
    assert choose_batch(sweep(), [Slo(factor=2, reference_batch=48)]).limits_ms == (32.0,)
    assert choose_batch(sweep(mean_itl_ms={32: None}), [Slo(factor=2)]).limits_ms == (20.0,)


def test_all_of_several_limits_must_be_met() -> None:
    """ITL alone would allow 64; TTFT allows 32 only."""
    table = sweep(mean_ttft_ms={1: 1.0, 32: 90.0, 64: 150.0, 128: 200.0, 256: 300.0})
    slos = [Slo(limit_ms=30.0), Slo("ttft", "mean", 100.0)]
    choice = choose_batch(table, slos)
    assert choice.batch_size == 32
    assert "has a mean TTFT of 150 ms, above the limit of 100 ms" in choice.binding_text


def test_nothing_within_the_limit_is_an_answer_with_the_nearest_limit() -> None:
    """Less than a single sequence takes: the least latency is the nearest feasible limit."""
    choice = choose_batch(sweep(), [Slo(limit_ms=9.0)])
    assert choice.batch_size is None
    assert choice.row is None
    assert choice.largest_feasible is None
    assert (choice.binding_constraint, choice.nearest_feasible_slo_ms) == ("slo", 10.0)
    assert choice.binding_text == (
        "Nothing is feasible: the least mean ITL that the other limits leave is 10 ms, at batch "
        "size 1, above the limit of 9 ms."
    )
    assert choose_batch(sweep(), [Slo(limit_ms=10.0)]).batch_size == 1


def test_the_nearest_limit_is_of_rows_that_nothing_else_forbids() -> None:
    """Batch size 1 was preempted, so the limit must allow 32."""
    choice = choose_batch(sweep(preemption_count={1: 1.0}), [Slo(limit_ms=9.0)])
    assert choice.nearest_feasible_slo_ms == 16.0


def test_of_several_limits_the_one_to_relax_least_is_named() -> None:
    """TTFT must grow by half, ITL to the double: TTFT is named; both at once have no single one."""
    table = sweep(mean_ttft_ms={1: 300.0, 32: 90.0, 64: 150.0, 128: 200.0, 256: 300.0})
    choice = choose_batch(table, [Slo(limit_ms=16.0), Slo("ttft", "mean", 60.0)])
    assert choice.nearest_feasible_slo_ms == 90.0
    assert "mean TTFT" in choice.binding_text
    both = choose_batch(table, [Slo(limit_ms=8.0), Slo("ttft", "mean", 60.0)])
    assert both.nearest_feasible_slo_ms is None
    assert both.binding_text == (
        "Nothing is feasible: no single limit that is relaxed would be enough. Batch size 32 "
        "misses them by a factor of 2 at most."
    )


def test_limits_of_which_no_row_knows_all_cannot_be_relaxed() -> None:
    """One row has ITL and the other TTFT, so no single limit is enough, nor a factor known."""
    table = sweep(
        mean_itl_ms=dict.fromkeys(BATCHES[1:]),
        mean_ttft_ms={1: None, **dict.fromkeys(BATCHES[1:], 90.0)},
    )
    choice = choose_batch(table, [Slo(limit_ms=8.0), Slo("ttft", "mean", 60.0)])
    assert (choice.binding_constraint, choice.nearest_feasible_slo_ms) == ("slo", None)
    assert choice.binding_text == (
        "Nothing is feasible: no single limit that is relaxed would be enough."
    )


def test_of_limits_that_can_each_be_relaxed_the_first_need_not_be_the_least() -> None:
    """ITL by a tenth, with TTFT met at 1; TTFT to the double, with ITL met at none but 32."""
    table = sweep(mean_ttft_ms={1: 50.0, 32: 120.0, 64: 150.0, 128: 200.0, 256: 300.0})
    table = curve(
        [
            {**one, "mean_itl_ms": {1.0: 22.0, 32.0: 20.0}.get(one["batch_size"], 99.0)}
            for one in table.rows.to_pylist()
        ]
    )
    slos = [Slo(limit_ms=20.0), Slo("ttft", "mean", 60.0)]
    choice = choose_batch(table, slos)
    assert choice.nearest_feasible_slo_ms == 22.0
    assert choose_batch(table, slos[::-1]).nearest_feasible_slo_ms == 22.0


def test_an_epsilon_that_nothing_reaches_is_named() -> None:
    """Even a batch of one has an efficiency of 1 only."""
    choice = choose_batch(sweep(), epsilon=1.0)
    assert (choice.batch_size, choice.binding_constraint) == (None, "efficiency")
    assert (
        "best efficiency of a run without preemption is 1, at batch size 1" in choice.binding_text
    )


def test_where_every_run_was_preempted_that_is_the_answer() -> None:
    """No limit helps; smaller batch sizes must be measured."""
    choice = choose_batch(sweep(preemption_count=dict.fromkeys(BATCHES, 1.0)))
    assert (choice.batch_size, choice.binding_constraint) == (None, "preemption")
    assert "Give the KV cache more memory" in choice.binding_text


def test_preemptions_that_are_not_known_are_allowed_with_a_warning() -> None:
    """Not known is neither none nor some."""
    choice = choose_batch(sweep(preemption_count={128: None}))
    assert choice.batch_size == 128
    assert [one.key for one in choice.warnings] == ["preemption_unknown"]
    assert not choose_batch(sweep()).warnings


def test_without_a_batch_of_one_epsilon_is_not_applied_and_that_is_said() -> None:
    """No T(1), no efficiency: the answer has no epsilon, and a warning."""
    choice = choose_batch(sweep(efficiency=dict.fromkeys(BATCHES)), epsilon=0.4)
    assert (choice.batch_size, choice.epsilon) == (128, None)
    assert [one.key for one in choice.warnings] == ["efficiency_unknown"]
    part = choose_batch(sweep(efficiency={128: None}), epsilon=0.4)
    assert part.batch_size == 128
    assert [one.key for one in part.warnings] == ["efficiency_unknown_in_part"]


def test_a_row_without_the_limited_latency_is_not_chosen_and_that_is_said() -> None:
    """What is not known is not within a limit."""
    choice = choose_batch(sweep(mean_itl_ms={64: None}), [Slo(limit_ms=30.0)])
    assert choice.batch_size == 32
    assert choice.binding_text.startswith("Batch size 64 ")
    assert "has no known mean ITL" in choice.binding_text
    assert [one.key for one in choice.warnings] == ["latency_unknown_in_part"]


def test_the_second_rule_takes_the_largest_within_three_times_tpot_at_32() -> None:
    """No epsilon, and throughput does not matter: 48 ms allow 128, which is slower here than 64."""
    tpot = dict(zip(BATCHES, ITL, strict=True))
    table = sweep(mean_tpot_ms=tpot, throughput_tok_s={128: 1.0})
    choice = choose_batch(table, rule="largest", epsilon=0.9)
    assert (choice.batch_size, choice.limits_ms, choice.epsilon) == (128, (48.0,), None)
    assert choice.slos == (Slo("tpot", "mean", factor=3.0),)
    assert choice.binding_constraint == "slo"
    without = choose_batch(sweep(), rule="largest")
    assert without.batch_size == 128
    assert [one.key for one in without.warnings] == ["itl_for_tpot"]


def test_the_second_rule_needs_no_throughput() -> None:
    """Where no run says it, the largest within the limit is still the largest."""
    table = sweep(throughput_tok_s=dict.fromkeys(BATCHES))
    choice = choose_batch(table, [Slo(limit_ms=30.0)], rule="largest")
    assert choice.batch_size == 64
    assert choice.smaller is not None
    assert choice.smaller.batch_size == 32
    assert choice.smaller.throughput_tok_s is None
    assert choice.binding_text == (
        "Batch size 128 has a mean ITL of 36 ms, above the limit of 30 ms."
    )
    with pytest.raises(AdviceError, match="No run says its throughput"):
        choose_batch(table)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"slos": [Slo("tpot", "p99", 30.0)]}, "No run says p99_tpot_ms.*There are mean_itl_ms"),
        ({"slos": [Slo(limit_ms=0.0)]}, "is 0.0; it must be above zero"),
        ({"slos": [Slo(limit_ms=-1.0)]}, "must be above zero"),
        ({"slos": [Slo(limit_ms=float("nan"))]}, "must be above zero"),
        ({"slos": [Slo(factor=2.0, reference_batch=0.0)]}, "reference batch size is 0.0"),
        ({"slos": [Slo()]}, "is None; it must be above zero"),
        ({"slos": [Slo(limit_ms=1.0, factor=2.0)]}, "both in ms and as a multiple"),
        ({"epsilon": -0.1}, "epsilon is -0.1"),
        ({"epsilon": float("nan")}, "epsilon is nan"),
        ({"rule": "fastest"}, "no rule 'fastest'"),
    ],
)
def test_questions_that_have_no_answer_say_why(arguments: dict[str, Any], problem: str) -> None:
    """Every one is a sentence."""
    with pytest.raises(AdviceError, match=problem):
        choose_batch(sweep(), **arguments)


def test_a_curve_without_rows_is_no_answer() -> None:
    """There is nothing to choose from."""
    empty = sweep()
    with pytest.raises(AdviceError, match="nothing can be chosen"):
        choose_batch(type(empty)(empty.rows.slice(0, 0), "total", None))


# Interpolation.


def test_between_measured_batch_sizes_is_looked_only_when_asked_for() -> None:
    """From 22 ms at 64 to 36 ms at 128, 30 ms are met up to 100: marked, and with mixed numbers."""
    choice = choose_batch(sweep(), [Slo(limit_ms=30.0)], interpolate=True)
    assert (choice.batch_size, choice.is_interpolated, choice.largest_feasible) == (100, True, 100)
    row = choice.row
    assert row is not None
    assert row["mean_itl_ms"] == pytest.approx(22 + 14 * 36 / 64)
    assert row["throughput_tok_s"] == pytest.approx(2900 + 600 * 36 / 64)
    assert row["efficiency"] == pytest.approx(row["throughput_tok_s"] / (100 * 100.0))
    assert row["run"] == "b64 + b128"
    assert choice.smaller is not None
    assert choice.larger is not None
    assert (choice.smaller.batch_size, choice.larger.batch_size) == (64, 128)
    assert choice.binding_constraint == "slo"


def test_nothing_is_interpolated_towards_a_preempted_run() -> None:
    """Nobody knows from where on sequences would be preempted."""
    table = sweep(preemption_count={128: 3.0})
    choice = choose_batch(table, [Slo(limit_ms=30.0)], interpolate=True)
    assert (choice.batch_size, choice.is_interpolated) == (64, False)


def test_nothing_is_looked_for_beyond_what_was_measured() -> None:
    """Neither above the largest, nor below the smallest."""
    table = sweep(throughput_tok_s={256: 3600.0})
    assert choose_batch(table, [Slo(limit_ms=99.0)], interpolate=True).batch_size == 256
    assert choose_batch(table, [Slo(limit_ms=9.0)], interpolate=True).batch_size is None


def test_epsilon_limits_batch_sizes_between_measured_ones_too() -> None:
    """T grows linearly from 2900 at 64 to 3500 at 128, and T / (100 B) is above 0.4 up to 75."""
    choice = choose_batch(sweep(), epsilon=0.4, interpolate=True)
    assert choice.batch_size == 75
    assert choice.row is not None
    assert choice.row["efficiency"] > 0.4
    assert (2900 + 600 * 12 / 64) / 7600 < 0.4


def law(t0_ms: float, a_ms: float, over: str = "running") -> Fit:
    """Return a fitted law; what it was fitted to does not matter here."""
    nothing: dict[str, Any] = dict.fromkeys(("knee", "knee_low", "knee_high", "r2"))
    return Fit(
        "relative",
        over,  # type: ignore[arg-type]
        t0_ms,
        a_ms,
        mean_error_pct=0.0,
        max_error_pct=0.0,
        row_count=5,
        asymptote_tok_s=None,
        **nothing,
    )


def test_the_fitted_law_may_shorten_and_never_stretch_what_is_interpolated() -> None:
    """The larger of both counts: the law alone meets 30 ms up to 88 in one case, 200 in another."""
    slos = [Slo(limit_ms=30.0)]
    slow = choose_batch(sweep(), slos, interpolate=True, fit=law(10.0, 0.25))
    assert slow.batch_size == 88
    assert slow.row is not None
    assert slow.row["mean_itl_ms"] == slow.row["itl_ms"] == pytest.approx(10 + 0.25 * 0.9 * 88)
    over_nominal = choose_batch(sweep(), slos, interpolate=True, fit=law(10.0, 0.25, "nominal"))
    assert over_nominal.batch_size == 80
    quick = choose_batch(sweep(), slos, interpolate=True, fit=law(10.0, 0.1))
    assert quick.batch_size == 100


def test_the_fitted_law_says_nothing_of_other_latencies() -> None:
    """It is of mean ITL here; a limit of p99 ITL is interpolated linearly."""
    table = sweep(p99_itl_ms=dict(zip(BATCHES, ITL, strict=True)))
    slos = [Slo("itl", "p99", 30.0)]
    choice = choose_batch(table, slos, interpolate=True, fit=law(10.0, 0.25))
    assert choice.batch_size == 100


def test_neighbouring_whole_numbers_have_nothing_between_them() -> None:
    """Batch sizes are whole; between 64 and 65 is none."""
    rows = [
        {"batch_size": b, "mean_itl_ms": i, "throughput_tok_s": b}
        for b, i in ((64.0, 1.0), (65.0, 9.0))
    ]
    choice = choose_batch(curve(rows), [Slo(limit_ms=5.0)], interpolate=True)
    assert (choice.batch_size, choice.is_interpolated) == (64, False)


def test_a_law_that_allows_nothing_in_between_leaves_the_measured_row() -> None:
    """It says 40 ms and more at 65 already."""
    choice = choose_batch(sweep(), [Slo(limit_ms=30.0)], interpolate=True, fit=law(40.0, 0.25))
    assert (choice.batch_size, choice.is_interpolated) == (64, False)


def test_the_law_is_not_used_where_rows_are_of_different_latencies() -> None:
    """It is of one of them, and it is not known which."""
    table = sweep(itl_source={64: "mean_itl_ms", 128: "mean_tpot_ms"})
    choice = choose_batch(table, [Slo(limit_ms=30.0)], interpolate=True, fit=law(40.0, 0.25))
    assert choice.batch_size == 100


def test_flags_of_both_neighbours_weigh_against_what_lies_between_them() -> None:
    """A clock-limited neighbour makes the interpolated row no better."""
    table = sweep(flags={64: "single_run", 128: "single_run,clock_limited"})
    row = choose_batch(table, [Slo(limit_ms=30.0)], interpolate=True).row
    assert row is not None
    assert row["flags"] == "single_run,clock_limited"


# Properties.

numbers = st.floats(0.1, 1e4, allow_nan=False)


@st.composite
def rising(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw a sweep in which latency rises with the batch size, and the rest is as it likes."""
    batches = sorted(draw(st.sets(st.integers(1, 2000), min_size=1, max_size=8)))
    latencies = sorted(draw(st.lists(numbers, min_size=len(batches), max_size=len(batches))))
    return [
        {
            "batch_size": float(batch),
            "mean_itl_ms": latency,
            "throughput_tok_s": draw(numbers),
            "efficiency": draw(st.none() | st.floats(0, 1.2)),
            "preemption_count": draw(st.sampled_from([0.0, 0.0, 0.0, None, 3.0])),
        }
        for batch, latency in zip(batches, latencies, strict=True)
    ]


rules = st.sampled_from(["throughput", "largest"])


@settings(max_examples=60)
@given(rows=rising(), limits=st.tuples(numbers, numbers), rule=rules, interpolate=st.booleans())
def test_a_tighter_limit_never_raises_the_choice_where_latency_rises(
    rows: list[dict[str, Any]], limits: tuple[float, float], rule: Any, interpolate: bool
) -> None:
    """What a tight limit allows is the beginning of what a loose one does, interpolated or not."""
    tight, loose = (
        choose_batch(curve(rows), [Slo(limit_ms=one)], rule=rule, interpolate=interpolate)
        for one in sorted(limits)
    )
    if tight.batch_size is None or tight.largest_feasible is None:
        return
    assert loose.batch_size is not None
    assert loose.largest_feasible is not None
    assert tight.batch_size <= loose.batch_size
    assert tight.largest_feasible <= loose.largest_feasible


@settings(max_examples=60)
@given(rows=rising(), limit=numbers, rule=rules, interpolate=st.booleans(), shuffle=st.randoms())
def test_a_preempted_run_is_never_returned(
    rows: list[dict[str, Any]], limit: float, rule: Any, interpolate: bool, shuffle: Any
) -> None:
    """Whatever else holds, and in whichever order latencies are."""
    latencies = [one["mean_itl_ms"] for one in rows]
    shuffle.shuffle(latencies)
    rows = [{**one, "mean_itl_ms": latency} for one, latency in zip(rows, latencies, strict=True)]
    table = curve(rows)
    choice = choose_batch(table, [Slo(limit_ms=limit)], rule=rule, interpolate=interpolate)
    if choice.row is None:
        return
    assert not choice.row["preemption_count"]
    assert choice.row["mean_itl_ms"] <= limit * 1.000001
    lost = {one["batch_size"] for one in rows if one["preemption_count"]}
    assert choice.batch_size not in lost
    if choice.is_interpolated:
        above = min(
            one["batch_size"] for one in rows if one["batch_size"] > choice.row["batch_size"]
        )
        assert above not in lost


@settings(max_examples=60)
@given(rows=rising(), limit=numbers, batch=st.integers(1, 4000), data=st.data())
def test_a_dominated_point_changes_nothing(
    rows: list[dict[str, Any]], limit: float, batch: int, data: st.DataObject
) -> None:
    """A run that is slower and has more latency than one that is feasible is not looked at."""
    choice = choose_batch(curve(rows), [Slo(limit_ms=limit)])
    if choice.row is None or float(batch) in {one["batch_size"] for one in rows}:
        return
    worse = {
        "batch_size": float(batch),
        "mean_itl_ms": choice.row["mean_itl_ms"] * data.draw(st.floats(1, 10)),
        "throughput_tok_s": choice.row["throughput_tok_s"] * data.draw(st.floats(0.01, 0.999)),
        "efficiency": data.draw(st.floats(0, 1)),
    }
    more = sorted([*rows, worse], key=lambda one: one["batch_size"])
    again = choose_batch(curve(more), [Slo(limit_ms=limit)])
    assert (again.batch_size, again.row) == (choice.batch_size, choice.row)


@settings(max_examples=60)
@given(
    rows=rising(),
    place=st.integers(0, 7),
    factor=st.sampled_from([1e-3, 1e3, 1e6]),
    rule=rules,
)
def test_units_do_not_matter(
    rows: list[dict[str, Any]], place: int, factor: float, rule: Any
) -> None:
    """A limit that equals a measured latency is the same in another unit, turned into ms."""
    limit = rows[place % len(rows)]["mean_itl_ms"]
    one = choose_batch(curve(rows), [Slo(limit_ms=limit)], rule=rule)
    other = choose_batch(curve(rows), [Slo(limit_ms=limit * factor / factor)], rule=rule)
    assert one.batch_size == other.batch_size
    assert one.binding_constraint == other.binding_constraint
    scaled = [{**row, "mean_itl_ms": row["mean_itl_ms"] * factor} for row in rows]
    third = choose_batch(curve(scaled), [Slo(limit_ms=limit * factor)], rule=rule)
    assert one.batch_size == third.batch_size


@settings(max_examples=60)
@given(rows=rising(), limit=numbers, epsilons=st.tuples(st.floats(0, 1.3), st.floats(0, 1.3)))
def test_a_larger_epsilon_never_gives_more_throughput(
    rows: list[dict[str, Any]], limit: float, epsilons: tuple[float, float]
) -> None:
    """It allows fewer rows. It may well raise the batch size, where efficiency does not fall."""
    low, high = (
        choose_batch(curve(rows), [Slo(limit_ms=limit)], epsilon=one) for one in sorted(epsilons)
    )
    if high.row is None:
        return
    assert low.row is not None
    assert high.row["throughput_tok_s"] <= low.row["throughput_tok_s"]
