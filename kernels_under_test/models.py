"""Which models can be decoded: small ones of this package, and those of `nsightlens.models`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kernels_under_test.refusals import NotAvailableError
from nsightlens.models import Experts, LatentAttention, ModelConfig, read_model

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ARCHITECTURES", "OWN_MODELS", "Facts", "facts_of", "first_layers", "model_to_run"]


class Facts(NamedTuple):
    """What the code of a model says and its sizes do not.

    Parameters
    ----------
    renormalises_experts
        The weights of the experts of a token are made to add up to one.
    norm_epsilon
        Added to the mean square of a norm.
    """

    renormalises_experts: bool = True
    norm_epsilon: float = 1e-5


ARCHITECTURES: Mapping[str, Facts] = {
    "opt": Facts(),
    "llama": Facts(),
    "mistral": Facts(),
    "mixtral": Facts(),
    "phi3": Facts(),
    "qwen2": Facts(norm_epsilon=1e-6),
    "qwen2_moe": Facts(renormalises_experts=False, norm_epsilon=1e-6),
    "qwen3": Facts(norm_epsilon=1e-6),
    "qwen3_moe": Facts(norm_epsilon=1e-6),
    "deepseek_v2": Facts(renormalises_experts=False, norm_epsilon=1e-6),
}
"""Architectures that can be run, by ``model_type``."""

ROTARY_BASE = 10_000.0
"""Base of the angles of rotary positions. Models have others, which cost the same."""


def _small(name: str, architecture: str, heads: tuple[int, int, int], **sizes: int) -> ModelConfig:
    """Return a model of this package: heads of queries, of keys, and their size."""
    return ModelConfig(
        name=name,
        source="kernels_under_test",
        architecture=architecture,
        layer_count=sizes.get("layers", 2),
        hidden_size=sizes.get("hidden", 64),
        head_count=heads[0],
        kv_head_count=heads[1],
        head_dim=heads[2],
        intermediate_size=sizes.get("intermediate", 128),
        vocab_size=sizes.get("vocab", 512),
        longest_context=2048,
    )


_TINY_OPT = replace(
    _small("tiny-opt", "opt", (4, 4, 16), intermediate=256),
    has_gated_mlp=False,
    has_tied_embeddings=True,
    position_count=2050,
    has_qkv_bias=True,
    has_output_bias=True,
    has_mlp_bias=True,
    has_norm_bias=True,
)
_TINY_MISTRAL = replace(
    _small("tiny-mistral", "mistral", (4, 2, 16)), window_token_count=16, windowed_layer_count=2
)
_TINY_MLA = replace(
    _small("tiny-mla", "deepseek_v2", (4, 4, 24)),
    latent=LatentAttention(kv_rank=32, rope_dim=8, nope_dim=16, value_dim=16, query_rank=None),
    experts=Experts(8, 3, 32, shared_intermediate_size=64, layer_count=1),
)
_TINY_MOE = replace(
    _small("tiny-moe", "mixtral", (4, 2, 16)),
    intermediate_size=0,
    experts=Experts(4, 2, 64, shared_intermediate_size=0, layer_count=2),
)
_TINY_QWEN_MOE = replace(
    _small("tiny-qwen-moe", "qwen2_moe", (4, 4, 16)),
    intermediate_size=0,
    has_qkv_bias=True,
    experts=Experts(6, 2, 32, shared_intermediate_size=48, layer_count=2, has_shared_gate=True),
)
# Sizes of DeepSeek-V2-Lite and of Mixtral, with fewer layers and narrower experts, so that either
# fits into a few GB.
_SMALL_MLA = replace(
    _small("small-mla", "deepseek_v2", (16, 16, 192), layers=8, hidden=2048,
           intermediate=10_944, vocab=102_400),
    latent=LatentAttention(kv_rank=512, rope_dim=64, nope_dim=128, value_dim=128, query_rank=None),
    longest_context=32_768,
)  # fmt: skip
_SMALL_MOE = replace(
    _small("small-moe", "mixtral", (32, 8, 64), layers=8, hidden=2048, vocab=32_000),
    intermediate_size=0,
    experts=Experts(8, 2, 7168, shared_intermediate_size=0, layer_count=8),
    longest_context=32_768,
)

OWN_MODELS: Mapping[str, ModelConfig] = {
    model.name: model
    for model in (
        _TINY_OPT,
        _small("tiny-llama", "llama", (4, 2, 16)),
        _TINY_MISTRAL,
        replace(_small("tiny-qwen2", "qwen2", (4, 2, 16)), has_qkv_bias=True),
        replace(_small("tiny-qwen3", "qwen3", (4, 2, 32)), has_qk_norm=True),
        _TINY_MLA,
        replace(_TINY_MLA, name="tiny-mla-query-rank", experts=None,
                latent=LatentAttention(32, 8, 16, 16, query_rank=48)),
        _TINY_MOE,
        _TINY_QWEN_MOE,
        _SMALL_MLA,
        _SMALL_MOE,
    )
}  # fmt: skip
"""Models of this package by name: ``tiny-...`` for a CPU, ``small-...`` for a small GPU."""


def model_to_run(name_or_path: str, layer_count: int | None = None) -> ModelConfig:
    """Return the sizes of a model that can be decoded here.

    Parameters
    ----------
    name_or_path
        A name of `OWN_MODELS`; else as for `nsightlens.models.read_model`.
    layer_count
        Only its first so many layers; None for all.

    Raises
    ------
    UnknownModelError, ModelConfigError
        As of `nsightlens.models.read_model`.
    NotAvailableError
        The architecture is not written here.
    ValueError
        It has fewer layers.

    Examples
    --------
    >>> model_to_run("tiny-moe").experts.experts_per_token
    2
    >>> model_to_run("llama-3-8b", 2).layer_count
    2
    """
    model = OWN_MODELS.get(name_or_path) or read_model(name_or_path)
    facts_of(model)
    return model if layer_count is None else first_layers(model, layer_count)


def facts_of(model: ModelConfig) -> Facts:
    """Return what the code of a model says.

    Raises
    ------
    NotAvailableError
        It is not written here.
    """
    facts = ARCHITECTURES.get(model.architecture)
    if facts is None:
        raise NotAvailableError(
            f"{model.name} is a {model.architecture}, which is not written here: run one of "
            f"{', '.join(ARCHITECTURES)}"
        )
    if not model.has_final_norm or model.embedding_size is not None:
        raise NotAvailableError(
            f"{model.name} normalises behind its layers or has a narrower embedding, which is not "
            "written here: run another size of it"
        )
    return facts


def first_layers(model: ModelConfig, layer_count: int) -> ModelConfig:
    """Return the first layers of a model, as a model.

    Dense layers come before those with experts, and layers that see everything before those with a
    sliding window: `kernels_under_test.operations.layer_kinds`.

    Parameters
    ----------
    model
        Its sizes.
    layer_count
        How many.

    Raises
    ------
    ValueError
        It has fewer, or the number is not above zero.

    Examples
    --------
    >>> lite = first_layers(read_model("deepseek-v2-lite"), 3)
    >>> lite.layer_count, lite.dense_layer_count
    (3, 1)
    """
    if not 1 <= layer_count <= model.layer_count:
        raise ValueError(f"{model.name} has {model.layer_count} layers, not {layer_count}")
    full = model.layer_count - model.windowed_layer_count
    windowed = max(0, layer_count - full)
    experts = model.experts
    if experts is not None:
        expert_layers = max(0, layer_count - model.dense_layer_count)
        experts = experts._replace(layer_count=expert_layers) if expert_layers else None
    return replace(
        model,
        layer_count=layer_count,
        experts=experts,
        windowed_layer_count=windowed,
        window_token_count=model.window_token_count if windowed else None,
    )
