"""The part of a model that one of several GPUs holds."""

from __future__ import annotations

import pytest

from nsightlens.errors import FilterError
from nsightlens.models import (
    kv_bytes_per_token,
    parameter_count,
    part_of_model,
    read_model,
    step_work,
)


def test_one_gpu_holds_the_whole_model() -> None:
    model = read_model("llama-3-70b")
    assert part_of_model(model, 1) is model


@pytest.mark.parametrize("name", ["llama-3-70b", "llama-2-13b", "mixtral-8x7b", "qwen3-235b-a22b"])
def test_the_parts_are_the_model_but_for_norms_that_each_holds(name: str) -> None:
    model = read_model(name)
    part = part_of_model(model, 4)
    assert 4 * parameter_count(part) == pytest.approx(parameter_count(model), rel=0.002)
    assert 4 * kv_bytes_per_token(part) == kv_bytes_per_token(model)


def test_work_is_divided_and_the_residual_stream_is_not() -> None:
    model = read_model("llama-3-70b")
    whole, part = (
        {work.operation: work for work in step_work(one, batch_size=8, context_length=1000)}
        for one in (model, part_of_model(model, 8))
    )
    for name in ("qkv_proj", "attention", "o_proj", "gate_up_proj", "down_proj", "lm_head"):
        assert 8 * part[name].flop == pytest.approx(whole[name].flop, rel=1e-3)
    assert part["mlp_norm"].bytes == whole["mlp_norm"].bytes


def test_with_more_gpus_than_key_value_heads_each_keeps_one() -> None:
    """The cache of a token is then kept several times."""
    model = read_model("llama-3-70b")
    part = part_of_model(model, 16)
    assert (part.head_count, part.kv_head_count) == (4, 1)
    assert 16 * kv_bytes_per_token(part) == 2 * kv_bytes_per_token(model)


def test_a_latent_vector_is_kept_by_every_gpu() -> None:
    model = read_model("deepseek-v3")
    assert kv_bytes_per_token(part_of_model(model, 8)) == kv_bytes_per_token(model)


@pytest.mark.parametrize(
    ("name", "count", "what"),
    [
        ("llama-3-8b", 3, "32 query heads"),
        ("phi-4", 4, "10 key-value heads"),
        ("qwen3-30b-a3b", 512, "32 query heads"),
    ],
)
def test_what_cannot_be_divided_is_said(name: str, count: int, what: str) -> None:
    with pytest.raises(FilterError, match=what):
        part_of_model(read_model(name), count)
