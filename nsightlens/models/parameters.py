"""How many parameters the sizes of a model make, counted from its matrices."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nsightlens.models.config import ModelConfig

__all__ = ["active_parameter_count", "linear_parameter_count", "parameter_count"]


def parameter_count(model: ModelConfig) -> int:
    """Count the parameters of the text model, all experts included.

    Parameters
    ----------
    model
        Its sizes.

    Returns
    -------
    int
        Embeddings, biases and norms included. Without encoders of images or sound, and without
        extra layers that predict several tokens.

    Examples
    --------
    >>> from nsightlens.models import read_model
    >>> parameter_count(read_model("opt-1.3b"))
    1315758080
    """
    return _parameter_count(model, only_active=False)


def active_parameter_count(model: ModelConfig) -> int:
    """Count the parameters that one token passes: of the routed experts only its own.

    Examples
    --------
    >>> from nsightlens.models import read_model
    >>> round(active_parameter_count(read_model("mixtral-8x7b")) / 1e9, 1)
    12.9
    """
    return _parameter_count(model, only_active=True)


def linear_parameter_count(model: ModelConfig) -> int:
    """Count the parameters that a quantised checkpoint stores in fewer bits.

    Those of the matrices of attention and of the MLPs, shared experts included; of the experts
    alone where the checkpoint says so. Without embeddings, routers, biases and norms.

    Examples
    --------
    >>> from nsightlens.models import read_model
    >>> linear_parameter_count(read_model("llama-3-8b"))
    6979321856
    """
    bare = replace(
        model,
        has_qkv_bias=False,
        has_output_bias=False,
        has_mlp_bias=False,
        has_qk_norm=False,
        has_sinks=False,
    )
    total = 0
    if model.experts is not None:
        plain = model.experts._replace(has_bias=False, has_shared_gate=False, has_router_bias=False)
        of_layer = _experts(replace(bare, experts=plain), only_active=False)
        total = plain.layer_count * (of_layer - model.hidden_size * plain.expert_count)
    if model.stored_weights is not None and model.stored_weights.only_experts:
        return total
    norms = 0 if model.latent is None else model.latent.kv_rank + (model.latent.query_rank or 0)
    total += model.layer_count * (_attention(bare) - norms)
    return total + model.dense_layer_count * _dense_mlp(bare)


def _parameter_count(model: ModelConfig, *, only_active: bool) -> int:
    per_layer = _attention(model) + model.norms_per_layer * _norm(model, model.hidden_size)
    total = model.layer_count * per_layer + model.dense_layer_count * _dense_mlp(model)
    if model.experts is not None:
        total += model.experts.layer_count * _experts(model, only_active=only_active)
    if model.has_final_norm:
        total += _norm(model, model.hidden_size)
    return total + _embeddings(model)


def _norm(model: ModelConfig, width: int) -> int:
    return width * (2 if model.has_norm_bias else 1)


def _embeddings(model: ModelConfig) -> int:
    width = model.embedding_size or model.hidden_size
    tables = 1 if model.has_tied_embeddings else 2
    # Where the embedding is narrower, a matrix leads in and another one out.
    projections = 0 if width == model.hidden_size else 2 * width * model.hidden_size
    return (
        tables * model.vocab_size * width + model.position_count * model.hidden_size + projections
    )


def _attention(model: ModelConfig) -> int:
    hidden, heads = model.hidden_size, model.head_count
    if model.latent is not None:
        latent = model.latent
        query_out = heads * (latent.nope_dim + latent.rope_dim)
        query = hidden * query_out
        if latent.query_rank is not None:
            query = latent.query_rank * (hidden + 1 + query_out)
        kv_in = hidden * (latent.kv_rank + latent.rope_dim) + latent.kv_rank
        kv_out = latent.kv_rank * heads * (latent.nope_dim + latent.value_dim)
        return query + kv_in + kv_out + heads * latent.value_dim * hidden
    query, key_value = heads * model.head_dim, 2 * model.kv_head_count * model.head_dim
    total = hidden * (2 * query + key_value)
    total += query + key_value if model.has_qkv_bias else 0
    total += hidden if model.has_output_bias else 0
    total += 2 * model.head_dim if model.has_qk_norm else 0
    return total + (heads if model.has_sinks else 0)


def _dense_mlp(model: ModelConfig) -> int:
    return _mlp(model, model.intermediate_size, has_bias=model.has_mlp_bias)


def _mlp(model: ModelConfig, width: int, *, has_bias: bool) -> int:
    first = 2 * width if model.has_gated_mlp else width
    bias = first + model.hidden_size if has_bias else 0
    return model.hidden_size * (first + width) + bias


def _experts(model: ModelConfig, *, only_active: bool) -> int:
    experts = model.experts
    if experts is None:
        return 0
    count = experts.experts_per_token if only_active else experts.expert_count
    total = count * _mlp(model, experts.intermediate_size, has_bias=experts.has_bias)
    total += model.hidden_size * experts.expert_count
    total += experts.expert_count if experts.has_router_bias else 0
    if experts.shared_intermediate_size:
        total += _mlp(model, experts.shared_intermediate_size, has_bias=False)
        total += model.hidden_size if experts.has_shared_gate else 0
    return total
