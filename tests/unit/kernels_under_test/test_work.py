"""Formulas of single operations add up to those of `nsightlens.models`, or differ as stated."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from kernels_under_test.dtypes import sizes_of
from kernels_under_test.models import OWN_MODELS, model_to_run
from kernels_under_test.operations import StepShape, Variant, layer_kinds, step_operations
from nsightlens.models import step_work
from nsightlens.models.attention import visible_pair_count
from nsightlens.models.mlp import expected_expert_count

if TYPE_CHECKING:
    from kernels_under_test.operations import Phase
    from nsightlens.models import ModelConfig

    Differences = dict[str, tuple[float, float]]
    """FLOP and bytes by family."""

MODELS = [
    "opt-1.3b", "opt-2.7b", "llama-2-7b", "llama-2-13b", "llama-3-8b", "mistral-7b", "qwen2.5-7b",
    "qwen3-8b", "phi-4", "mixtral-8x7b", "qwen1.5-moe-a2.7b", "deepseek-v2-lite", "deepseek-v2",
    *OWN_MODELS,
]  # fmt: skip
BATCH, CONTEXT, INDEX = 6, 500, 8


def _counts(model: ModelConfig, tokens: int) -> tuple[tuple[int, ...], ...]:
    """Return tokens that pile up at the first experts, so that some have none."""
    experts = model.experts
    if experts is None:
        return ()
    of_each = [0] * experts.expert_count
    for number in range(tokens):
        for place in range(experts.experts_per_token):
            of_each[(number % 2 + place) % experts.expert_count] += 1
    return (tuple(of_each),) * experts.layer_count


def _differences(
    model: ModelConfig, variant: Variant, *, query: int = 1, phase: Phase = "decode"
) -> Differences:
    """Return our sums over families less those of `step_work`, where they are not equal."""
    shape = StepShape(BATCH, CONTEXT, query, phase)
    sizes = variant.sizes
    found: Counter[tuple[str, str]] = Counter()
    for one in step_operations(model, shape, variant, _counts(model, shape.token_count)).all:
        found[one.family, "flop"] += one.flop
        found[one.family, "bytes"] += one.bytes
    for other in step_work(
        model,
        batch_size=BATCH,
        context_length=CONTEXT,
        query_length=query,
        phase="prefill" if variant.expands_latent else phase,
        weight_bytes=sizes.weight,
        kv_bytes=sizes.cache,
        activation_bytes=sizes.activation,
    ):
        found[other.family, "flop"] -= other.flop  # type: ignore[assignment]
        found[other.family, "bytes"] -= other.bytes  # type: ignore[assignment]
    families = {family for family, _ in found}
    sums = {family: (found[family, "flop"], found[family, "bytes"]) for family in families}
    return {family: pair for family, pair in sums.items() if pair != (0, 0)}


def _unfused(model: ModelConfig, size: int) -> Differences:
    """Return what a decode step of separate operations does beside one of fused ones."""
    layers, hidden, tokens = model.layer_count, model.hidden_size, BATCH
    row = tokens * hidden
    # A norm that adds the residual reads and writes two streams; a sum and a norm on their own move
    # five. The first norm has nothing to add, though it is counted as the others are.
    norms = (-row, (2 * layers - 2) * row * size)
    wide = tokens * model.intermediate_size * model.dense_layer_count
    copies = 0
    routing = [0.0, 0.0]
    products = 0.0
    if model.experts is not None:
        experts = model.experts
        pairs, many = tokens * experts.experts_per_token, experts.layer_count
        wide += many * pairs * experts.intermediate_size
        wide += many * tokens * experts.shared_intermediate_size
        # Weights of routing and of the sum, rows in the order of their experts, and that order.
        routing[1] += many * (2 * pairs * size + (row + pairs * hidden) * size + 3 * INDEX * pairs)
        if experts.shared_intermediate_size:
            routing[0] += many * row
            routing[1] += many * 3 * row * size
        if experts.has_shared_gate:
            routing[0] += many * (row + 3 * tokens)
            routing[1] += many * (2 * row + tokens) * size
        expected = expected_expert_count(experts.expert_count, experts.experts_per_token, tokens)
        used = sum(map(bool, _counts(model, tokens)[0]))
        products = many * (used - expected) * 3 * hidden * experts.intermediate_size * size
    angles = model.head_dim
    if model.latent is not None:
        latent = model.latent
        angles = latent.rope_dim
        width = latent.kv_rank + latent.rope_dim + latent.value_dim
        copies = 2 * layers * tokens * model.head_count * width * size
    found: Differences = {
        "gemm": (0, products),
        "norm": norms,
        # The product of the gate is written and read again.
        "activation": (0, 2 * wide * size if model.has_gated_mlp else 0),
        # Sines and cosines, for queries and for keys.
        "rope": (0, 0 if model.position_count else layers * 4 * angles * size),
        "copy": (0, copies),
        "moe_routing": (routing[0], routing[1]),
        "embedding": (row, 4 * row * size + 2 * INDEX * tokens)
        if model.position_count
        else (0, INDEX * tokens),
        # The most likely token is taken, and no softmax made.
        "softmax_sampling": (-2 * tokens * model.vocab_size, 0),
    }
    return {family: pair for family, pair in found.items() if pair != (0, 0)}


def _plus(first: Differences, second: Differences) -> Differences:
    families = {*first, *second}
    nothing = (0.0, 0.0)
    pairs = {
        one: tuple(map(sum, zip(first.get(one, nothing), second.get(one, nothing), strict=True)))
        for one in families
    }
    return {one: (flop, moved) for one, (flop, moved) in pairs.items() if (flop, moved) != (0, 0)}


def _close(found: Differences, wanted: Differences) -> None:
    """Compare: whole numbers, but for the share of experts that is expected."""
    assert set(found) == set(wanted)
    for family, pair in wanted.items():
        tolerance = 1e-9 if family == "gemm" else 0
        assert found[family] == pytest.approx(pair, rel=tolerance, abs=0.01), family


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", MODELS)
def test_a_decode_step_needs_what_step_work_says_but_for_what_is_not_fused(
    name: str, dtype: str
) -> None:
    """Products, attention and cache are equal to the byte; the rest differs by whole streams."""
    model, sizes = model_to_run(name), sizes_of(dtype)
    _close(_differences(model, Variant(sizes)), _unfused(model, sizes.activation))


@pytest.mark.parametrize("name", ["opt-1.3b", "llama-3-8b", "mixtral-8x7b", "deepseek-v2-lite"])
def test_eager_attention_keeps_scores_and_makes_a_softmax(name: str) -> None:
    """Scores are written, read, written as shares and read again; latent vectors are read twice."""
    model, sizes = model_to_run(name), sizes_of("float16")
    pairs = model.layer_count * BATCH * model.head_count * CONTEXT
    moved = 4 * pairs * 2
    if model.latent is not None:
        moved += model.layer_count * BATCH * CONTEXT * model.latent.kv_rank * 2
    wanted = _plus(_unfused(model, 2), {"attention": (4 * pairs, moved)})
    if model.position_count:
        # Queries are cut out of the rows of qkv_proj.
        copied = 2 * model.layer_count * BATCH * model.hidden_size * 2
        wanted = _plus(wanted, {"copy": (0, copied)})
    _close(_differences(model, Variant(sizes, is_eager=True)), wanted)


@pytest.mark.parametrize("name", ["opt-1.3b", "llama-3-8b", "deepseek-v2-lite"])
def test_a_paged_cache_is_brought_into_one_piece(name: str) -> None:
    """Unless the kernel reads blocks: all that is seen is read and written once more."""
    model, sizes = model_to_run(name), sizes_of("float16")
    parts, heads = (1, 1) if model.latent is not None else (2, model.kv_head_count)
    places = 2 * INDEX * BATCH * model.layer_count  # of new tokens, for two writes
    moved = 2 * 2 * BATCH * CONTEXT * model.kv_elements_per_token
    moved += parts * INDEX * (BATCH * CONTEXT + heads) * model.layer_count
    found = _differences(model, Variant(sizes, is_paged=True))
    _close(found, _plus(_unfused(model, 2), {"kv_cache": (0, places + moved)}))
    found = _differences(model, Variant(sizes, is_paged=True, reads_blocks=True))
    _close(found, _plus(_unfused(model, 2), {"kv_cache": (0, places)}))


@pytest.mark.parametrize("name", ["opt-1.3b", "llama-3-8b", "mistral-7b"])
def test_products_in_fp8_read_one_byte_and_a_quantised_input(name: str) -> None:
    """Which is made by an operation of its own, from the 16 bit that all else has."""
    model, sizes = model_to_run(name), sizes_of("fp8")
    of_layer = 2 * model.hidden_size + model.head_count * model.head_dim + model.intermediate_size
    inputs = model.layer_count * BATCH * of_layer
    scales = 8 * 4 * model.layer_count
    wanted = _plus(
        _unfused(model, 2), {"gemm": (0, scales - inputs), "quantise": (inputs, 3 * inputs)}
    )
    _close(_differences(model, Variant(sizes)), wanted)


@pytest.mark.parametrize("name", ["opt-1.3b", "llama-3-8b", "mistral-7b"])
def test_a_prefill_normalises_the_last_tokens_alone(name: str) -> None:
    """It takes them out first; `step_work` normalises all of them."""
    model, sizes = model_to_run(name), sizes_of("float16")
    layers, hidden = model.layer_count, model.hidden_size
    rows, row = BATCH * CONTEXT * hidden, BATCH * hidden
    of_norm = 7 if model.has_norm_bias else 4
    wide = BATCH * CONTEXT * model.intermediate_size * layers
    wanted: Differences = {
        "norm": (of_norm * (row - rows) - rows, 2 * ((2 * layers - 4) * rows + 2 * row)),
        "copy": (0, 2 * 2 * row),
        "embedding": (0, INDEX * BATCH * CONTEXT),
        "softmax_sampling": (-2 * BATCH * model.vocab_size, 0),
    }
    if model.position_count:
        wanted["embedding"] = (rows, 2 * 4 * rows + 2 * INDEX * BATCH * CONTEXT)
    else:
        wanted["activation"] = (0, 2 * 2 * wide)
        wanted["rope"] = (0, layers * 4 * CONTEXT * model.head_dim * 2)
    _close(_differences(model, Variant(sizes), query=CONTEXT, phase="prefill"), wanted)


@pytest.mark.parametrize("name", ["deepseek-v2-lite", "small-mla"])
def test_expanded_latent_attention_is_that_of_a_prefill(name: str) -> None:
    """Keys of all heads are put together, values are cut out."""
    model, sizes = model_to_run(name), sizes_of("float16")
    latent, heads, layers = model.latent, model.head_count, model.layer_count
    assert latent is not None
    key, value = latent.nope_dim + latent.rope_dim, latent.value_dim
    kept = BATCH * CONTEXT
    copied = 2 * BATCH * heads * key + 2 * kept * heads * (key + value)
    copied -= kept * latent.rope_dim * (heads - 1)  # the part that all heads share
    wanted = _unfused(model, 2) | {"copy": (0, layers * copied * 2)}
    _close(_differences(model, Variant(sizes, expands_latent=True)), wanted)


@pytest.mark.parametrize("name", ["mixtral-8x7b", "deepseek-v2-lite"])
def test_grouped_experts_need_what_a_loop_over_them_does(name: str) -> None:
    """And 4 bytes for where the rows of each end: written once, and read by two products."""
    model, sizes = model_to_run(name), sizes_of("float16")
    counts = _counts(model, BATCH)
    sums = []
    for groups in (False, True):
        variant = Variant(sizes, groups_experts=groups)
        operations = step_operations(model, StepShape(BATCH, CONTEXT), variant, counts).all
        sums.append((sum(one.flop for one in operations), sum(one.bytes for one in operations)))
    experts = model.experts
    assert experts is not None
    ends = experts.layer_count * 3 * 4 * experts.expert_count
    assert sums[1] == (sums[0][0], sums[0][1] + ends)


def test_a_layer_with_a_window_sees_no_more() -> None:
    """Mistral at a context beyond its window; Qwen2 with windows in its last layers only."""
    sizes = sizes_of("float16")
    mistral = model_to_run("mistral-7b", 1)
    of_context = {
        context: next(
            one
            for one in step_operations(mistral, StepShape(1, context), Variant(sizes)).all
            if one.name == "attention"
        )
        for context in (4096, 9000)
    }
    assert of_context[4096] == of_context[9000]
    assert visible_pair_count(9000, 1, 4096) == 4096
    assert [kind.window for kind in layer_kinds(OWN_MODELS["tiny-mistral"])] == [16, 16]


@pytest.mark.parametrize(
    ("counts", "problem"),
    [
        ((), "has 2 layers with experts, not 0"),
        (((3, 3, 0, 0), (3, 3, 0)), "6 pairs of tokens and experts over 3 experts"),
        (((3, 3, 0, 0), (3, 2, 0, 0)), "5 pairs of tokens and experts over 4 experts"),
    ],
)
def test_counts_of_experts_must_fit_the_step(
    counts: tuple[tuple[int, ...], ...], problem: str
) -> None:
    """What is annotated would be wrong with any other."""
    variant = Variant(sizes_of("float16"))
    with pytest.raises(ValueError, match=problem):
        step_operations(OWN_MODELS["tiny-moe"], StepShape(3, 20), variant, counts)


def test_names_within_a_layer_are_all_different() -> None:
    """A range is found by its name, and neighbours of one name count as one operation."""
    for name in MODELS:
        model = model_to_run(name)
        found = step_operations(
            model, StepShape(BATCH, CONTEXT), Variant(sizes_of("float16")), _counts(model, BATCH)
        )
        for one in (found.entrance, *found.layers, found.exit):
            assert len({work.name for work in one}) == len(one)
