"""Why throughput stops to grow is said with evidence, or not said."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.advice_curves import curve, runs
from support.sweeps import MAKERS, attention_row, norm_row, step_row, sweep_of, table

import nsightlens
import nsightlens.example
from nsightlens.advisor.answers import Plateau, StepCosts
from nsightlens.advisor.why import why
from nsightlens.tables import SWEEP_STEPS

if TYPE_CHECKING:
    from nsightlens.advisor.answers import Why
    from nsightlens.sweeps import Sweep

CURVE = curve([{"batch_size": batch} for batch in (1.0, 8.0, 64.0, 512.0)])
PLATEAU = Plateau(None, None, None, 64.0, 512.0, 512.0, 1e4, is_plateau_reached=True)
# The paper's shares of OPT-1.3B.
SHARES = [
    {"run": f"shares.tsv: row {at}", "static_batch_size": batch, "attention_share_pct": attention,
     "matmul_share_pct": matmul, "host_share_pct": host}
    for at, (batch, attention, matmul, host) in enumerate(
        [(1, 9.55, 36.03, 24.87), (32, 24.34, 31.86, 28.49), (512, 42.78, 7.38, 36.64)], 1
    )
]  # fmt: skip


def _why(*sweeps: Sweep, **options: Any) -> Why:
    return why(CURVE, options.pop("plateau", PLATEAU), sweeps=sweeps, **options)


def _costs(batch: float, busy: float) -> StepCosts:
    return StepCosts(batch, 1e3, busy, (), "run.sqlite")


def _changed(maker: Any, **changes: Any) -> Sweep:
    """Return the sweep with changes to the rows of one maker."""
    rows = [
        one(batch) | (changes if one is maker else {}) for one in MAKERS for batch in (1, 64, 512)
    ]
    return sweep_of((1, 64, 512), rows=rows)


@pytest.fixture(scope="module")
def example() -> Sweep:
    """Return the sweep of the bundled example."""
    return nsightlens.sweep(nsightlens.open_report(nsightlens.example.path()))


def test_the_bundled_example_is_limited_by_attention(example: Sweep) -> None:
    """With the numbers that its own verdict has, and with the shares at each batch size."""
    found = _why(example)
    assert found.verdict == "attention_bandwidth"
    for part in ("from 14 % to 84 %", "from 61 % to 12 %", "attention uses 91 % of the DRAM"):
        assert part in found.text
    assert len(found.shares) == 10
    assert found.shares[-1][1] == pytest.approx(84.3, abs=0.05)


def test_a_short_context_ends_in_compute() -> None:
    """Where the counters say so, matmul is named instead."""
    short = nsightlens.sweep(nsightlens.open_report(nsightlens.example.path("short_context")))
    found = _why(short)
    assert found.verdict == "compute"
    assert "matmul is compute-bound" in found.text


def test_hand_made_shares_agree() -> None:
    """Attention from 20 to 60 % and saturated, matmul from 70 to 30 %."""
    found = _why(sweep_of())
    assert found.verdict == "attention_bandwidth"
    assert found.shares[0] == (1, 20, 70, 10, None)


def test_the_host_can_be_the_largest_part() -> None:
    """A trace in which no kernel runs for 70 % of the step outweighs 60 % of what is left."""
    found = _why(sweep_of(), costs=[_costs(512, 0.3)])
    assert found.verdict == "host"
    assert "no kernel runs in 70 % of a step (at batch 512 of timelines (run.sqlite))" in found.text
    assert found.shares[-1] == pytest.approx((512, 18, 9, 3, 70))
    assert found.sources == ("run.sqlite",)


def test_a_smaller_share_of_the_host_is_said_beside() -> None:
    """30 % of the step leave attention 42 %."""
    found = _why(sweep_of(), costs=[_costs(512, 0.7)])
    assert found.verdict == "attention_bandwidth"
    assert found.text.count("No kernel runs in 30 % of the step") == 1
    assert found.shares[-1] == pytest.approx((512, 42, 21, 7, 30))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dram_throughput_pct": None, "regime": "unknown"}, "MemoryWorkloadAnalysis"),
        ({"dram_throughput_pct": 35.0, "regime": "latency"}, "35 % of the DRAM bandwidth"),
    ],
)
def test_without_saturation_attention_is_not_blamed(changes: dict[str, Any], words: str) -> None:
    """A rising share with low or unknown DRAM throughput is another cause."""
    found = _why(_changed(attention_row, **changes))
    assert found.verdict == "unclear"
    assert words in found.text


def test_a_share_that_does_not_rise_is_no_plateau_of_attention() -> None:
    """Saturated from the start, and the same part of every step."""
    steps = [step_row(batch) | {"attention_share_pct": 60.0} for batch in (1, 8, 64, 512)]
    found = _why(replace(sweep_of(), steps=table(SWEEP_STEPS, steps)))
    assert found.verdict == "unclear"
    assert "its share does not rise" in found.text


def test_matmul_with_most_of_the_time_leaves_it_open() -> None:
    """Memory-bound GEMMs read weights that a larger batch shares."""
    sweep = sweep_of(
        (1, 8),
        rows=[one(batch) | {"regime": "saturated"} for one in MAKERS for batch in (1, 8)],
    )
    steps = [
        step_row(1),
        step_row(8) | {"attention_share_pct": 30.0, "matmul_share_pct": 60.0},
    ]
    found = _why(replace(sweep, steps=table(SWEEP_STEPS, steps)))
    assert found.verdict == "unclear"
    assert "matmul, memory-bound, still has more of the time: profile a larger batch" in found.text


@pytest.mark.parametrize(
    ("sweep", "words"),
    [
        (sweep_of((64,)), "One batch size, 64, shows no trend"),
        (sweep_of(rows=[attention_row(1), attention_row(512)]), "matmul"),
        (sweep_of(changes={"phase": "prefill"}), "decode"),
    ],
)
def test_what_the_profile_lacks_is_named(sweep: Sweep, words: str) -> None:
    """One batch size, attention alone, prefills alone."""
    found = _why(sweep)
    assert found.verdict == "unclear"
    assert words in found.text


def test_a_prediction_is_no_evidence() -> None:
    """It is what the profile would be compared with."""
    found = _why(nsightlens.predict("opt-1.3b", "H100 SXM5 80GB", [1, 512], 500))
    assert found.verdict == "no_profile"
    assert found.text.startswith("A prediction is no evidence")


def test_profiles_that_contradict_one_another_decide_nothing(example: Sweep) -> None:
    """Both are told; one that is open does not stand against one that decides."""
    short = nsightlens.sweep(nsightlens.open_report(nsightlens.example.path("short_context")))
    found = _why(example, short)
    assert found.verdict == "unclear"
    assert "contradict" in found.text
    assert "12 %" in found.text
    assert _why(sweep_of((64,)), example).verdict == "attention_bandwidth"


def test_a_profile_that_ends_before_the_plateau_says_so(example: Sweep) -> None:
    """Throughput levels off at 700, beyond the 512 that were profiled."""
    found = _why(example, plateau=replace(PLATEAU, batch_at_90=700.0))
    assert "levels off at batch 700 (90 % of the best), and the profile ends at 512" in found.text
    growing = _why(example, plateau=replace(PLATEAU, is_plateau_reached=False))
    assert "has not levelled off yet" in growing.text


def test_rising_shares_alone_are_no_evidence_of_saturation() -> None:
    """The paper's figure of shares fits, and says nothing of DRAM."""
    found = _why(runs=runs(SHARES))
    assert found.verdict == "unclear"
    assert "attention goes from 9.6 to 42.8 % of a step and matmul from 36.0 to 7.4 %" in found.text
    assert "a share is no evidence" in found.text
    assert found.shares[0] == pytest.approx((1, 9.55, 36.03, 29.55, 24.87))
    assert found.sources == ("shares.tsv",)


def test_shares_can_show_the_host() -> None:
    """Where it takes more of the largest batch than attention and matmul."""
    rows = [SHARES[0], SHARES[2] | {"host_share_pct": 45.0}]
    found = _why(runs=runs(rows))
    assert found.verdict == "host"
    assert "45 %" in found.text


def test_one_row_of_shares_shows_no_trend() -> None:
    """And shares that cannot be are none."""
    assert "one batch size shows no trend" in _why(runs=runs(SHARES[:1])).text
    broken = [one | {"attention_share_pct": 140.0} for one in SHARES]
    assert _why(runs=runs(broken)).verdict == "no_profile"
    unknown = runs([SHARES[0] | {"host_share_pct": None}, SHARES[2] | {"host_share_pct": None}])
    assert _why(runs=unknown).shares[0] == (1, 9.55, 36.03, None, None)


@pytest.mark.parametrize(("busy", "verdict"), [(0.4, "host"), (0.8, "unclear")])
def test_a_trace_alone_says_how_long_no_kernel_runs(busy: float, verdict: str) -> None:
    """The host explains a step of which it has half; else counters are asked for."""
    found = _why(costs=[_costs(8, 0.9), _costs(64, busy)])
    assert found.verdict == verdict
    assert found.shares[-1][0] == 64
    assert found.shares[-1][4] == pytest.approx(100 * (1 - busy))
    assert found.sources == ("run.sqlite",)


def test_without_anything_the_command_to_run_is_given() -> None:
    """With the model, the batch sizes and the context of the runs."""
    row = {"model": "opt-1.3b", "mean_input_tokens": 110.0, "mean_output_tokens": 292.0}
    found = _why(runs=runs([row]))
    assert found.verdict == "no_profile"
    assert "nsightlens profile --model opt-1.3b --batch-sizes 1:512 --context 256" in found.text
    assert "--model NAME" in _why().text


def test_norms_are_neither() -> None:
    """A sweep of norms alone says what is missing."""
    found = _why(sweep_of(rows=[norm_row(1), norm_row(512)]))
    assert found.verdict == "unclear"
    assert "neither attention nor matmul" in found.text
