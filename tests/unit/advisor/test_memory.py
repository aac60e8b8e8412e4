"""`memory_advice`: what the choice needs of the KV pool, and the setting that gives back more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.advice_curves import curve, runs

from nsightlens.advisor.answers import Slo
from nsightlens.advisor.batch import choose_batch
from nsightlens.advisor.kv_pool import kv_pool_of
from nsightlens.advisor.memory import memory_advice
from nsightlens.errors import AdviceError
from nsightlens.models import read_model

if TYPE_CHECKING:
    from nsightlens.advisor.answers import BatchChoice, Curve, MemoryAdvice
    from nsightlens.advisor.kv_pool import KvPool

SETTING: dict[str, Any] = {
    "run": "b96",
    "engine": "vllm",
    "max_model_len": 2048,
    "total_memory_gib": 80.0,
    "gpu_memory_utilization": 0.9,
    "kv_pool_gib": 60.0,
    "kv_block_count": 20_000,
    "peak_torch_gib": 11.5,
    "non_torch_gib": 0.5,
}


def case(peak: float | None = 20.0, pool: float | None = 60.0) -> tuple[Curve, BatchChoice]:
    """Return a curve of one batch size of 96, and its choice."""
    row = {
        "batch_size": 96.0,
        "throughput_tok_s": 9000.0,
        "mean_itl_ms": 10.0,
        "kv_peak_pct": peak,
        "kv_pool_gib": pool,
    }
    rows = curve([row])
    return rows, choose_batch(rows)


def advice(
    setting: dict[str, Any] | None = None, peak: float | None = 20.0, **options: Any
) -> MemoryAdvice:
    """Return the advice on memory for changes of the setting above."""
    merged = {**SETTING, **(setting or {})}
    rows, choice = case(peak, merged["kv_pool_gib"])
    return memory_advice(runs([merged]), rows, choice, **options)


def pool_of(setting: dict[str, Any], **options: Any) -> KvPool:
    """Return the memory of one server for changes of the setting above."""
    merged = {**SETTING, **setting}
    _, choice = case(pool=merged["kv_pool_gib"])
    return kv_pool_of(runs([merged]), choice, options.get("model"))


def test_what_is_freed_needed_and_given_back() -> None:
    """60 GiB used to 20 %: 12 are used, 48 freed; with a tenth of margin 13.2 are needed."""
    found = advice()
    assert (found.kv_used_gib, found.kv_freed_gib, found.freed_pct) == (12.0, 48.0, 60.0)
    assert found.kv_blocks_needed == 4400
    assert found.kv_needed_gib == pytest.approx(13.2)
    assert found.kv_given_back_gib == pytest.approx(46.8)
    assert found.gpu_memory_utilization == 0.315  # 0.9 - 46.8 / 80
    assert found.missing == ()
    assert found.text == (
        "At batch size 96 the KV pool of 60.00 GiB is used to 20.00 % at its peak (12.00 GiB), so "
        "48.00 GiB are never used; with a margin of 10 % (13.20 GiB, 4,400 blocks) 46.80 GiB can "
        "be given back by gpu_memory_utilization 0.315 instead of 0.9."
    )


def test_a_margin_of_zero_is_the_papers_figure() -> None:
    """Without a margin all that was not used is given back."""
    found = advice(margin=0.0)
    assert found.kv_given_back_gib == pytest.approx(found.kv_freed_gib)


def test_a_full_pool_gives_nothing_back_and_that_is_said() -> None:
    """99 % and a margin are more than there is: nothing, and no new setting above the old."""
    found = advice(peak=99.0)
    assert (found.kv_given_back_gib, found.gpu_memory_utilization) == (0.0, 0.9)
    assert found.kv_freed_gib == pytest.approx(0.6)
    assert found.text.endswith("(65.34 GiB, 21,780 blocks) nothing can be given back.")


def test_less_than_a_thousandth_of_the_memory_is_nothing() -> None:
    """90.86 % and a margin leave 0.03 GiB, which no setting of three digits expresses."""
    found = advice(peak=90.86)
    assert found.kv_given_back_gib == pytest.approx(0.03, abs=0.01)
    assert found.gpu_memory_utilization == 0.9
    assert found.text.endswith("nothing can be given back.")


def test_a_server_must_hold_one_sequence_of_the_longest_context() -> None:
    """At batch size 1 a use of 0.1 % is 22 blocks, but no server starts with less than 128."""
    found = advice(peak=0.1)
    assert found.kv_blocks_needed == 128
    assert found.kv_needed_gib == pytest.approx(128 * 60 / 20_000)
    assert advice({"max_model_len": None}, peak=0.1).kv_blocks_needed == 22


def test_the_second_rule_shows_the_largest_pool_and_sets_by_its_own() -> None:
    """As the paper's figure has it; the setting must hold on the pool of the choice."""
    rows = curve(
        [
            {"batch_size": 1.0, "mean_tpot_ms": 5.0, "kv_pool_gib": 61.0, "kv_peak_pct": 1.0},
            {"batch_size": 96.0, "mean_tpot_ms": 10.0, "kv_pool_gib": 60.0, "kv_peak_pct": 20.0},
        ]
    )
    choice = choose_batch(rows, [Slo("tpot", "mean", 11.0)], rule="largest")
    found = memory_advice(runs([SETTING]), rows, choice)
    assert found.kv_pool_gib == 61.0
    assert found.kv_freed_gib == pytest.approx(48.8)
    assert found.kv_needed_gib == pytest.approx(13.2)
    assert found.gpu_memory_utilization == 0.315


@pytest.mark.parametrize(
    ("setting", "peak", "missing"),
    [
        ({"kv_pool_gib": None, "kv_block_count": None}, 20.0, "the size of the KV pool"),
        ({}, None, "the largest use of the KV pool"),
        ({}, 0.0, "the largest use of the KV pool"),
    ],
)
def test_without_pool_or_use_nothing_is_known_and_that_is_said(
    setting: dict[str, Any], peak: float | None, missing: str
) -> None:
    """Null, not zero; a peak of zero is a metric that was not found."""
    found = advice(setting, peak)
    assert found.missing == (missing,)
    assert (found.kv_freed_gib, found.kv_given_back_gib) == (None, None)
    assert found.gpu_memory_utilization is None
    assert found.text == f"What of the KV pool could be given back is not known without {missing}."


@pytest.mark.parametrize(
    ("setting", "missing"),
    [
        ({"total_memory_gib": None}, ("the memory of the GPU",)),
        ({"gpu_memory_utilization": None}, ("gpu_memory_utilization of the runs",)),
        ({"gpu_memory_utilization": 90.0}, ("gpu_memory_utilization of the runs",)),
    ],
)
def test_without_the_budget_the_memory_is_known_and_the_setting_is_not(
    setting: dict[str, Any], missing: tuple[str, ...]
) -> None:
    """What is needed does not depend on it. A percentage is no part of one."""
    found = advice(setting)
    assert found.missing == missing
    assert found.kv_given_back_gib == pytest.approx(46.8)
    assert found.gpu_memory_utilization is None
    assert found.text.endswith(f"can be given back. The setting needs {missing[0]}.")


def test_a_model_gives_blocks_where_no_file_does() -> None:
    """Blocks of 16 tokens of OPT-1.3B have 3 MiB: 60 GiB hold 20,480."""
    found = advice({"kv_block_count": None}, model=read_model("opt-1.3b"))
    assert found.kv_blocks_needed == 4506  # 20 % of 20,480, and a tenth
    assert advice({"kv_block_count": None}).kv_blocks_needed is None


def test_blocks_and_a_model_give_the_pool_where_no_file_does() -> None:
    """20,480 blocks of 3 MiB are 60 GiB."""
    setting = {"kv_pool_gib": None, "kv_block_count": 20_480}
    found = advice(setting, model=read_model("opt-1.3b"))
    assert found.kv_pool_gib == pytest.approx(60.0)


def test_tokens_stand_for_blocks_of_engines_that_count_those() -> None:
    """SGLang says tokens, and has pages of one token unless told otherwise."""
    setting = {"engine": "sglang", "kv_block_count": None, "kv_pool_tokens": 320_000.0}
    assert pool_of(setting).block_count == 320_000
    assert pool_of({**setting, "block_size": 64}).block_count == 5000
    assert pool_of({**setting, "engine": "vllm"}).block_count == 20_000


def test_the_size_of_a_block_follows_data_type_and_parallelism() -> None:
    """FP8 halves it, two GPUs halve it; a size that the log contradicts is not taken."""
    model = read_model("opt-1.3b")
    blocks = {"kv_block_count": None}
    one = pool_of(blocks, model=model).block_gib
    assert one == 3 / 1024
    assert pool_of({**blocks, "kv_cache_dtype": "fp8_e5m2"}, model=model).block_gib == one / 2
    assert pool_of({**blocks, "dtype": "float32"}, model=model).block_gib == one * 2
    assert pool_of({**blocks, "tensor_parallel_size": 2}, model=model).block_gib == one / 2
    measured = 60 / 20_000
    assert pool_of({}, model=model).block_gib == measured  # 2.4 % off
    assert pool_of({**blocks, "tensor_parallel_size": 7}, model=model).block_gib is None


def test_what_is_no_pool_is_counted_by_its_parts_unless_the_pool_shows_more() -> None:
    """80 x 0.9 - 60 = 12 GiB are 11.5 + 0.5; a pool of 58 shows that 2 more were subtracted."""
    assert pool_of({}).overhead_gib == 12.0
    assert pool_of({"kv_pool_gib": 60.01}).overhead_gib == 12.0
    assert pool_of({"kv_pool_gib": 58.0}).overhead_gib == pytest.approx(14.0)
    assert pool_of({"peak_torch_gib": None}).overhead_gib == pytest.approx(12.0)
    assert pool_of({"kv_pool_gib": None}).overhead_gib == 12.0
    assert pool_of({"kv_pool_gib": None, "non_torch_gib": None}).overhead_gib is None


def test_repeated_runs_give_their_median_and_neighbours_the_worse() -> None:
    """Between measured batch sizes memory must hold for both."""
    row = {"batch_size": 64.0, "throughput_tok_s": 1.0, "mean_itl_ms": 1.0, "kv_pool_gib": 60.0}
    above = {**row, "batch_size": 96.0, "throughput_tok_s": 2.0, "mean_itl_ms": 3.0}
    three = [{**SETTING, "run": f"r{i}", "peak_torch_gib": 11.0 + i} for i in range(3)]
    joined = curve([{**row, "run": "r0 + r1 + r2"}])
    assert kv_pool_of(runs(three), choose_batch(joined), None).overhead_gib == 12.5
    two = [{**SETTING, "run": "b64"}, {**SETTING, "kv_block_count": 19_000, "peak_torch_gib": 13.0}]
    choice = choose_batch(curve([row, above]), [Slo(limit_ms=2.0)], interpolate=True)
    assert choice.is_interpolated
    found = kv_pool_of(runs(two), choice, None)
    assert (found.block_count, found.overhead_gib) == (19_000, 13.5)


def test_questions_that_have_no_answer_say_why() -> None:
    """Nothing was chosen; a margin that is none."""
    rows, _ = case()
    nothing = choose_batch(rows, [Slo(limit_ms=1.0)])
    with pytest.raises(AdviceError, match="Nothing was chosen"):
        memory_advice(runs([SETTING]), rows, nothing)
    for margin in (-0.1, float("nan"), float("inf")):
        with pytest.raises(AdviceError, match="The margin is"):
            advice(margin=margin)


@settings(max_examples=80)
@given(
    total=st.floats(8, 200),
    was=st.floats(0.3, 1.0),
    overhead_share=st.floats(0.05, 0.9),
    blocks=st.integers(200, 10**6),
    peak=st.floats(0.01, 100),
    margin=st.floats(0, 1),
)
def test_the_new_setting_always_leaves_what_is_needed(
    total: float, was: float, overhead_share: float, blocks: int, peak: float, margin: float
) -> None:
    """The pool that it leaves holds the blocks needed, unless the old one did not; never more."""
    pool = total * was * (1 - overhead_share)
    setting = {
        "total_memory_gib": total,
        "gpu_memory_utilization": was,
        "kv_pool_gib": pool,
        "kv_block_count": blocks,
        "peak_torch_gib": None,
    }
    found = advice(setting, peak, margin=margin)
    new = found.gpu_memory_utilization
    assert new is not None
    assert found.kv_needed_gib is not None
    assert new <= was
    left = pool - total * (was - new)
    assert left >= min(found.kv_needed_gib, pool) - 1e-5
    # A thousandth less would be too little, where there was something to give back.
    if new < was:
        assert left - total / 1000 < found.kv_needed_gib + 1e-5
