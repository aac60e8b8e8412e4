"""Closed forms: what the cache weighs, where it matters, how short a step can be."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from nsightlens.models import (
    attention_intensity_flop_per_byte,
    builtin_models,
    crossover_context_length,
    knee_batch_size,
    kv_block_bytes,
    kv_bytes_of_sequence,
    kv_bytes_per_token,
    largest_batch_size,
    linear_parameter_count,
    parameter_count,
    part_of_model,
    read_model,
    step_time_bound_s,
    step_work,
    weights_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Callable

H100 = {"flop_per_s": 989.4e12, "bytes_per_s": 3.35e12}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("opt-1.3b", 196_608), ("llama-3-8b", 131_072), ("deepseek-v3", 61 * 576 * 2)],
)
def test_a_token_keeps_keys_and_values_of_every_layer(name: str, expected: int) -> None:
    """Latent attention keeps one vector instead."""
    model = read_model(name)
    assert kv_bytes_per_token(model) == expected
    assert kv_bytes_per_token(model, kv_bytes=1.0) == expected / 2
    assert kv_block_bytes(model) == 16 * expected


@pytest.mark.parametrize("name", [one.name for one in builtin_models()])
@pytest.mark.parametrize("context", [1, 500, 20_000])
def test_the_cache_of_a_sequence_is_what_attention_reads(name: str, context: int) -> None:
    """Two ways to the same number, windows included."""
    model = read_model(name)
    works = step_work(model, batch_size=1, context_length=context)
    read = sum(work.kv_cache_bytes for work in works)
    assert kv_bytes_of_sequence(model, context) == pytest.approx(read)


def test_the_knee_is_where_cache_and_weights_weigh_the_same() -> None:
    model = read_model("llama-3-70b")
    batch = knee_batch_size(model, 2000, weight_bytes=1.0, kv_bytes=1.0)
    cache = batch * kv_bytes_of_sequence(model, 2000, kv_bytes=1.0)
    assert cache == pytest.approx(weights_bytes(model, weight_bytes=1.0))


def test_at_the_crossover_products_take_as_long_as_the_cache() -> None:
    """2 P B / F = B S kappa / BW."""
    model = read_model("llama-3-8b")
    context = crossover_context_length(model, **H100)
    products_s = 2 * parameter_count(model) / H100["flop_per_s"]
    assert context * kv_bytes_per_token(model) / H100["bytes_per_s"] == pytest.approx(products_s)


def test_a_mixture_of_experts_crosses_over_by_what_a_token_passes() -> None:
    """Of 47 billion parameters a token of Mixtral passes 13."""
    model = read_model("mixtral-8x7b")
    dense = replace(model, experts=None)
    assert crossover_context_length(model, **H100) == pytest.approx(
        crossover_context_length(dense, **H100) * 12.88 / 7.24, rel=0.01
    )


def test_a_small_batch_waits_for_weights_and_a_large_one_for_the_cache() -> None:
    model = read_model("llama-2-7b")

    def bound(batch: int, context: int) -> float:
        return step_time_bound_s(model, batch_size=batch, context_length=context, **H100)

    weights_s = weights_bytes(model) / H100["bytes_per_s"]
    assert bound(1, 1) == pytest.approx(weights_s, rel=1e-3)
    cache_s = 4096 * 100 * kv_bytes_of_sequence(model, 1) / H100["bytes_per_s"]
    compute_s = 2 * parameter_count(model) * 4096 / H100["flop_per_s"]
    assert bound(4096, 100) == pytest.approx(compute_s + cache_s, rel=1e-9)
    slow = step_time_bound_s(model, batch_size=1, context_length=1, host_s=1.0, **H100)
    assert slow == pytest.approx(1 + bound(1, 1))


def test_few_tokens_read_few_experts() -> None:
    """A step of one sequence reads 2 of 8 experts of Mixtral: 13 of 47 billion parameters."""
    model = read_model("mixtral-8x7b")
    one = step_time_bound_s(model, batch_size=1, context_length=1, **H100)
    assert one * H100["bytes_per_s"] / 2 == pytest.approx(12.88e9, rel=0.001)


def test_attention_with_many_heads_per_key_can_be_bound_by_compute() -> None:
    """Latent attention of 128 heads needs 242 FLOP for a byte; a chip with fewer waits for it."""
    model = read_model("deepseek-v3")
    gpu = {"flop_per_s": 100e12, "bytes_per_s": 3e12}
    lone = {
        batch: step_time_bound_s(model, batch_size=batch, context_length=10**6, **gpu)
        for batch in (10**4, 2 * 10**4)
    }
    attention_flop = 61 * 2.0 * 128 * 10**6 * (2 * 512 + 64)
    products = 2 * 37.55e9 / gpu["flop_per_s"]
    growth = (lone[2 * 10**4] - lone[10**4]) / 10**4
    assert growth == pytest.approx(attention_flop / gpu["flop_per_s"] + products, rel=1e-3)


def test_as_many_sequences_fit_as_memory_holds_beside_the_weights() -> None:
    model = read_model("llama-3-8b")
    memory = weights_bytes(model) + 10.5 * kv_bytes_of_sequence(model, 1000)
    assert largest_batch_size(model, 1000, memory_bytes=memory) == 10
    assert largest_batch_size(model, 1000, memory_bytes=1e9) == 0


def test_linear_layers_are_what_quantised_checkpoints_store_small() -> None:
    """Llama-3-8B in 8 bit takes 9.1 GB, as its checkpoints do; embeddings stay in 16 bit."""
    model = read_model("llama-3-8b")
    embeddings = 2 * 128_256 * 4096
    norms = 65 * 4096
    assert linear_parameter_count(model) == parameter_count(model) - embeddings - norms
    assert weights_bytes(model, weight_bytes=1.0) == pytest.approx(9.08e9, rel=0.001)
    assert weights_bytes(model, weight_bytes=4.0) == 4 * parameter_count(model)


@pytest.mark.parametrize("name", [one.name for one in builtin_models()])
def test_weights_in_one_size_are_parameters_times_bytes(name: str) -> None:
    model = read_model(name)
    assert weights_bytes(model) == 2 * parameter_count(model)
    assert 0 < linear_parameter_count(model) < parameter_count(model)


@pytest.mark.parametrize("wrong", [0, -5, float("nan"), float("inf"), True, "8", None])
@pytest.mark.parametrize(
    ("function", "name", "others"),
    [
        (knee_batch_size, "context_length", {}),
        (knee_batch_size, "kv_bytes", {"context_length": 500}),
        (knee_batch_size, "weight_bytes", {"context_length": 500}),
        (crossover_context_length, "flop_per_s", {"bytes_per_s": 3.35e12}),
        (crossover_context_length, "bytes_per_s", {"flop_per_s": 989.4e12}),
        (crossover_context_length, "kv_bytes", H100),
        (kv_bytes_per_token, "kv_bytes", {}),
        (kv_block_bytes, "block_token_count", {}),
        (kv_bytes_of_sequence, "context_length", {}),
        (weights_bytes, "other_bytes", {}),
        (largest_batch_size, "memory_bytes", {"context_length": 500}),
        (step_time_bound_s, "batch_size", {"context_length": 500, **H100}),
        (step_time_bound_s, "flop_per_s", {**H100, "batch_size": 1, "context_length": 500}),
        (attention_intensity_flop_per_byte, "query_length", {}),
        (part_of_model, "gpu_count", {}),
    ],
)
def test_a_number_that_cannot_be_is_refused_by_name(
    function: Callable[..., object], name: str, others: dict[str, Any], wrong: Any
) -> None:
    """No division by zero, no negative knee, and no NaN that was computed from one."""
    with pytest.raises(ValueError, match=f"^{name} must be a (whole|finite) number above zero, "):
        function(read_model("opt-125m"), **{**others, name: wrong})


def test_a_mean_context_need_be_no_whole_number() -> None:
    model = read_model("opt-1.3b")
    assert knee_batch_size(model, 499.5) > knee_batch_size(model, 500)
    with pytest.raises(ValueError, match=r"^context_length must be no more than"):
        knee_batch_size(model, 10**400)


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf")])
def test_the_host_cannot_take_less_than_no_time(wrong: float) -> None:
    with pytest.raises(ValueError, match=r"^host_s must be a finite number"):
        step_time_bound_s(
            read_model("opt-125m"), batch_size=1, context_length=9, host_s=wrong, **H100
        )
