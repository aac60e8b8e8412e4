"""Operations and bytes of a step, held against the formulas they stand for."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from nsightlens.kernels.model import FAMILIES
from nsightlens.models import (
    ModelConfig,
    OperationWork,
    StoredWeights,
    attention_intensity_flop_per_byte,
    builtin_models,
    parameter_count,
    read_model,
    step_work,
)
from nsightlens.models.attention import visible_pair_count
from nsightlens.models.mlp import expected_expert_count

NAMES = [one.name for one in builtin_models()]


def one_of(works: list[OperationWork], operation: str) -> OperationWork:
    """Return an operation by its name."""
    (found,) = [work for work in works if work.operation == operation]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_weights_that_a_step_reads_are_those_of_the_model(name: str) -> None:
    """With enough tokens to touch every expert, every matrix, bias and norm is read once."""
    model = read_model(name)
    works = step_work(model, batch_size=10**7 if model.experts else 1, context_length=500)
    read = sum(work.weight_bytes for work in works if work.operation != "embedding") / 2
    # Rows of tables are looked up, not read whole; sinks are too few to be counted.
    width = model.embedding_size or model.hidden_size
    tables = 0 if model.has_tied_embeddings else model.vocab_size * width
    tables += model.position_count * model.hidden_size
    sinks = model.layer_count * model.head_count if model.has_sinks else 0
    assert read == pytest.approx(parameter_count(model) - tables - sinks, rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("query", [1, 500])
def test_every_operation_is_sound(name: str, query: int) -> None:
    """Families are those of kernels, nothing is negative, and parts are no more than the whole."""
    works = step_work(read_model(name), batch_size=4, context_length=500, query_length=query)
    assert len({work.operation for work in works}) == len(works)
    for work in works:
        assert work.family in FAMILIES
        assert work.launches_per_step > 0
        assert work.flop >= 0
        assert work.bytes > 0
        assert work.weight_bytes + work.kv_cache_bytes <= work.read_bytes * (1 + 1e-12)


@pytest.mark.parametrize("batch", [1, 7, 512])
@pytest.mark.parametrize("context", [1, 500, 32768])
def test_attention_follows_its_formula(batch: int, context: int) -> None:
    """FLOPs 4 h_q S d; bytes 2 h_kv S d b and 4 h_q d for query and output."""
    model = read_model("llama-3-8b")
    work = one_of(step_work(model, batch_size=batch, context_length=context), "attention")
    per_layer = batch * 32
    assert work.flop == per_layer * 4 * 32 * context * 128
    assert work.bytes == per_layer * (2 * 8 * context * 128 * 2 + 4 * 32 * 128)
    assert work.kv_cache_bytes == per_layer * 2 * 8 * context * 128 * 2
    assert work.launches_per_step == 32


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kv_bytes", [1.0, 2.0])
def test_with_a_long_context_attention_has_the_intensity_of_its_heads(
    name: str, kv_bytes: float
) -> None:
    """Whatever the batch size: queries and outputs no longer count."""
    model = replace(read_model(name), windowed_layer_count=0)
    expected = attention_intensity_flop_per_byte(model, kv_bytes=kv_bytes)
    for batch in (1, 256):
        works = step_work(model, batch_size=batch, context_length=10**6, kv_bytes=kv_bytes)
        work = one_of(works, "attention")
        assert work.flop / work.bytes == pytest.approx(expected, rel=2e-3)


def test_the_intensities_are_those_of_the_literature() -> None:
    """Multi-head 1, groups of eight 8, latent attention with 128 heads about 242 FLOP/B."""
    names = ("opt-1.3b", "llama-3-70b", "deepseek-v3")
    found = [attention_intensity_flop_per_byte(read_model(name)) for name in names]
    assert found == [1.0, 8.0, pytest.approx(241.8, abs=0.05)]
    speculative = attention_intensity_flop_per_byte(read_model("opt-1.3b"), query_length=4)
    assert speculative == 4.0


@pytest.mark.parametrize(("context", "query", "window"), [
    (1, 1, None), (10, 1, None), (10, 10, None), (10, 4, None), (10, 1, 3), (10, 10, 3),
    (10, 4, 8), (10, 10, 100), (10, 7, 1),
])  # fmt: skip
def test_the_pairs_are_those_that_the_mask_leaves(
    context: int, query: int, window: int | None
) -> None:
    """Counted one by one: each query sees the keys up to its own, the last so many of them."""
    pairs = sum(
        key <= position and (window is None or key > position - window)
        for position in range(context - query, context)
        for key in range(context)
    )
    assert visible_pair_count(context, query, window) == pairs


def test_a_prefill_does_half_of_the_square() -> None:
    model = read_model("llama-2-7b")
    work = one_of(
        step_work(model, batch_size=2, context_length=4096, query_length=4096), "attention"
    )
    square = 2 * 32 * 4 * 32 * 128 * 4096 * 4096
    assert work.flop == pytest.approx(square / 2, rel=1e-3)


def test_a_window_caps_what_attention_reads() -> None:
    """The windowed half of Gemma 2 reads 4096 keys of 16384."""
    works = step_work(read_model("gemma-2-9b"), batch_size=3, context_length=16384)
    full, windowed = (one_of(works, name) for name in ("attention", "attention_in_window"))
    assert full.launches_per_step == windowed.launches_per_step == 21
    assert full.kv_cache_bytes == 4 * windowed.kv_cache_bytes
    assert full.flop == 4 * windowed.flop


@pytest.mark.parametrize("batch", [1, 64])
def test_a_linear_layer_follows_its_formula(batch: int) -> None:
    """FLOPs 2 B K N; bytes b K N and 2 B (K + N)."""
    works = step_work(
        read_model("llama-3-8b"), batch_size=batch, context_length=100, weight_bytes=1.0
    )
    work = one_of(works, "qkv_proj")
    k, n = 4096, (32 + 2 * 8) * 128
    assert work.flop == 32 * 2 * batch * k * n
    assert work.bytes == 32 * (k * n + 2 * batch * (k + n))
    down = one_of(works, "down_proj")
    assert down.weight_bytes == 32 * 14336 * 4096


def test_quantised_weights_leave_the_last_product_in_16_bit() -> None:
    """As checkpoints do; embeddings and norms as well."""
    works = {
        size: step_work(
            read_model("llama-3-8b"), batch_size=1, context_length=100, weight_bytes=size
        )
        for size in (2.0, 0.5)
    }
    for name, share in (("lm_head", 1.0), ("final_norm", 1.0), ("o_proj", 0.25)):
        small, large = (one_of(works[size], name).weight_bytes for size in (0.5, 2.0))
        assert small == share * large


def test_where_only_experts_are_quantised_attention_is_not() -> None:
    stored = StoredWeights("mxfp4", 0.53125, only_experts=True)
    model = replace(read_model("gpt-oss-20b"), stored_weights=stored)
    works = step_work(model, batch_size=1, context_length=100, weight_bytes=0.53125)
    assert one_of(works, "qkv_proj").weight_bytes == 24 * 2 * (2880 + 1) * (64 + 16) * 64
    assert one_of(works, "experts_down").weight_bytes < 24 * 4 * 2880 * 2880


@pytest.mark.parametrize(
    ("tokens", "expected"), [(1, 8.0), (2, 256 * (1 - (248 / 256) ** 2)), (10**6, 256.0)]
)
def test_tokens_touch_as_many_experts_as_chance_says(tokens: int, expected: float) -> None:
    """One token its own, very many all."""
    assert expected_expert_count(256, 8, tokens) == pytest.approx(expected)


def test_the_work_of_experts_follows_from_their_tokens() -> None:
    """FLOPs of k experts per token; weights of the experts that are touched."""
    works = step_work(read_model("mixtral-8x7b"), batch_size=4, context_length=100)
    up = one_of(works, "experts_gate_up")
    assert up.flop == 32 * 2 * 4 * 2 * 4096 * 2 * 14336
    touched = expected_expert_count(8, 2, 4)
    assert up.weight_bytes == pytest.approx(32 * touched * 4096 * 2 * 14336 * 2)
    assert (up.family, up.subtype) == ("gemm", "grouped")


def test_latent_attention_is_absorbed_in_decode_and_expanded_in_prefill() -> None:
    model = read_model("deepseek-v3")
    decode = step_work(model, batch_size=2, context_length=1000)
    work = one_of(decode, "attention")
    assert work.flop == 2 * 61 * 2 * 128 * 1000 * (2 * 512 + 64)
    assert work.kv_cache_bytes == 2 * 61 * 1000 * (512 + 64) * 2
    assert one_of(decode, "absorb_key").flop == 61 * 2 * 2 * 128 * 128 * 512
    prefill = step_work(model, batch_size=2, context_length=1000, query_length=1000)
    assert one_of(prefill, "kv_b_proj").flop == 61 * 2 * 2000 * 512 * 128 * 256
    pairs = 1000 * 1001 // 2
    assert one_of(prefill, "attention").flop == 2 * 61 * 2 * 128 * pairs * (192 + 128)


def test_a_prefill_predicts_one_token_per_sequence_and_a_decode_every_token() -> None:
    """A chunk of a prompt is a prefill where it is said to be one."""
    model = read_model("opt-1.3b")

    def head(**step: object) -> float:
        works = step_work(model, batch_size=3, context_length=64, **step)  # type: ignore[arg-type]
        return one_of(works, "lm_head").flop / (2 * 2048 * 50272)

    assert head() == 3
    assert head(query_length=64) == 3
    assert head(query_length=4) == 12
    assert head(query_length=4, phase="prefill") == 3


def test_positions_are_learned_or_rotary() -> None:
    """OPT looks them up; Llama rotates queries and keys."""
    opt, llama = (step_work(read_model(n), batch_size=1, context_length=9)
                  for n in ("opt-1.3b", "llama-2-7b"))  # fmt: skip
    assert not [work for work in opt if work.family == "rope"]
    assert one_of(llama, "rope").launches_per_step == 32
    assert one_of(opt, "embedding").read_bytes == 2 * 2 * 2048


def test_the_cache_is_written_in_its_own_type() -> None:
    works = step_work(read_model("llama-3-8b"), batch_size=5, context_length=9, kv_bytes=1.0)
    write = one_of(works, "kv_cache_write")
    assert (write.read_bytes, write.written_bytes) == (5 * 65536 * 2, 5 * 65536)


@pytest.mark.parametrize(
    "wrong",
    [
        {"batch_size": 0},
        {"context_length": 0},
        {"query_length": 0},
        {"query_length": 101},
        {"weight_bytes": 0.0},
        {"kv_bytes": float("nan")},
        {"activation_bytes": float("inf")},
        {"batch_size": 1.5},
        {"batch_size": True},
        {"batch_size": 2**63},
        {"context_length": 10**400},
        {"phase": "verify"},
    ],
)
def test_a_step_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    """The message names the number and says what is wanted."""
    step: dict[str, Any] = {"batch_size": 1, "context_length": 100, **wrong}
    with pytest.raises(ValueError, match=rf"{next(iter(wrong))} must be |counts the"):
        step_work(read_model("opt-125m"), **step)


def test_the_largest_step_is_one() -> None:
    """What tables can hold can be computed with."""
    most = 2**63 - 1
    works = step_work(
        read_model("deepseek-v3"), batch_size=most, context_length=most, query_length=most
    )
    assert all(math.isfinite(work.flop) and math.isfinite(work.bytes) for work in works)


def test_a_model_of_any_sizes_can_be_built_by_hand() -> None:
    """The sizes are all that is needed."""
    model = ModelConfig(
        name="tiny",
        source="by hand",
        architecture="llama",
        layer_count=2,
        hidden_size=64,
        head_count=4,
        kv_head_count=2,
        head_dim=16,
        intermediate_size=128,
        vocab_size=100,
    )
    works = step_work(model, batch_size=1, context_length=10)
    assert one_of(works, "attention").flop == 2 * 4 * 4 * 10 * 16
