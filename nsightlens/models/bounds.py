"""Closed forms: size of the KV cache, where it outweighs the weights, least time of a step.

After the analytic model of "Mind the Memory Gap" (arXiv 2503.08311): P parameters of b_w bytes,
kappa bytes of KV cache per token, B sequences of S tokens, a GPU with F FLOP/s and BW bytes/s.

Every function raises ValueError for a number that is not finite or not above zero.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from nsightlens.models.attention import visible_pair_count
from nsightlens.models.checks import check_above_zero, check_counts
from nsightlens.models.mlp import expected_expert_count
from nsightlens.models.parameters import (
    active_parameter_count,
    linear_parameter_count,
    parameter_count,
)

if TYPE_CHECKING:
    from nsightlens.models.config import ModelConfig

__all__ = [
    "crossover_context_length",
    "knee_batch_size",
    "kv_block_bytes",
    "kv_bytes_of_sequence",
    "kv_bytes_per_token",
    "largest_batch_size",
    "step_time_bound_s",
    "weights_bytes",
]


def kv_bytes_per_token(model: ModelConfig, *, kv_bytes: float = 2.0) -> float:
    """Return what the cache keeps of one token, over all layers [B]: kappa.

    2 L h_kv d b_kv; with latent attention L (r + r_rope) b_kv. A layer with a sliding window
    forgets it again; see `kv_bytes_of_sequence`.

    Parameters
    ----------
    model
        Its sizes.
    kv_bytes
        [B] Per element.

    Examples
    --------
    >>> from nsightlens.models import read_model
    >>> kv_bytes_per_token(read_model("opt-1.3b"))
    196608.0
    """
    check_above_zero(kv_bytes=kv_bytes)
    return kv_bytes * model.kv_elements_per_token


def kv_block_bytes(
    model: ModelConfig, *, block_token_count: int = 16, kv_bytes: float = 2.0
) -> float:
    """Return the size of a block of a paged cache, over all layers [B].

    Parameters
    ----------
    model
        Its sizes.
    block_token_count
        [token] Tokens in a block.
    kv_bytes
        [B] Per element.
    """
    check_counts(block_token_count=block_token_count)
    return block_token_count * kv_bytes_per_token(model, kv_bytes=kv_bytes)


def kv_bytes_of_sequence(
    model: ModelConfig, context_length: float, *, kv_bytes: float = 2.0
) -> float:
    """Return the keys and values that a decode step reads of one sequence [B].

    Parameters
    ----------
    model
        Its sizes.
    context_length
        [token] S; a layer with a sliding window sees no more than that.
    kv_bytes
        [B] Per element.

    Examples
    --------
    >>> from nsightlens.models import read_model
    >>> gemma = read_model("gemma-2-9b")
    >>> kv_bytes_of_sequence(gemma, 8192) / kv_bytes_of_sequence(gemma, 4096)
    1.5
    """
    check_above_zero(context_length=context_length)
    windowed, window = model.windowed_layer_count, model.window_token_count
    seen = context_length if window is None else min(context_length, window)
    tokens = (model.layer_count - windowed) * context_length + windowed * seen
    return kv_bytes_per_token(model, kv_bytes=kv_bytes) * tokens / model.layer_count


def weights_bytes(
    model: ModelConfig, *, weight_bytes: float = 2.0, other_bytes: float = 2.0
) -> float:
    """Return the size of all weights [B].

    Parameters
    ----------
    model
        Its sizes.
    weight_bytes
        [B] Per element of linear layers.
    other_bytes
        [B] Per element of everything else, which is not stored in fewer bits; where
        ``weight_bytes`` is more, that.

    Examples
    --------
    >>> from nsightlens.models import read_model
    >>> [round(weights_bytes(read_model("llama-3-8b"), weight_bytes=b) / 1e9, 1) for b in (2, 1)]
    [16.1, 9.1]
    """
    check_above_zero(weight_bytes=weight_bytes, other_bytes=other_bytes)
    linear = linear_parameter_count(model)
    others = parameter_count(model) - linear
    return linear * weight_bytes + others * max(weight_bytes, other_bytes)


def _read_weights_bytes(model: ModelConfig, token_count: int, weight_bytes: float) -> float:
    """Return the bytes of weights that a step reads [B]: of experts, those that tokens go to."""
    total = weights_bytes(model, weight_bytes=weight_bytes)
    if model.experts is None:
        return total
    experts = model.experts
    used = expected_expert_count(experts.expert_count, experts.experts_per_token, token_count)
    matrices = 3 if model.has_gated_mlp else 2
    size = matrices * model.hidden_size * experts.intermediate_size * weight_bytes
    return total - experts.layer_count * (experts.expert_count - used) * size


def knee_batch_size(
    model: ModelConfig, context_length: float, *, weight_bytes: float = 2.0, kv_bytes: float = 2.0
) -> float:
    """Return the batch size at which a decode step reads as much cache as weights: B*.

    P b_w / (S kappa). Below it a step takes about as long whatever the batch is; above it, time
    grows with the batch, and throughput levels off. Of a mixture of experts all weights count.

    Parameters
    ----------
    model
        Its sizes.
    context_length
        [token] S: mean of the tokens that are in the cache of a running sequence.
    weight_bytes, kv_bytes
        [B] Per element.

    Examples
    --------
    >>> from nsightlens.models import read_model
    >>> round(knee_batch_size(read_model("llama-2-7b"), 500), 1)
    51.4
    """
    weights = weights_bytes(model, weight_bytes=weight_bytes)
    return weights / kv_bytes_of_sequence(model, context_length, kv_bytes=kv_bytes)


def crossover_context_length(
    model: ModelConfig, *, flop_per_s: float, bytes_per_s: float, kv_bytes: float = 2.0
) -> float:
    """Return the context from which on a large batch waits for the cache, not for products: S*.

    2 P BW / (F kappa) tokens, with P the parameters that a token passes. Below it the matrix
    products of a step with a large batch take longer than reading the cache: more sequences then
    meet a compute-bound plateau. Sliding windows are left out.

    Parameters
    ----------
    model
        Its sizes.
    flop_per_s
        [FLOP/s] Peak of the matrix products: F.
    bytes_per_s
        [B/s] DRAM bandwidth: BW.
    kv_bytes
        [B] Per element.

    Examples
    --------
    >>> from nsightlens.models import read_model
    >>> h100 = {"flop_per_s": 989.4e12, "bytes_per_s": 3.35e12}
    >>> [round(crossover_context_length(read_model(m), **h100)) for m in ("opt-1.3b", "llama-3-8b")]
    [45, 415]
    """
    check_above_zero(flop_per_s=flop_per_s, bytes_per_s=bytes_per_s)
    kappa = kv_bytes_per_token(model, kv_bytes=kv_bytes)
    return 2.0 * active_parameter_count(model) * bytes_per_s / (flop_per_s * kappa)


def step_time_bound_s(
    model: ModelConfig,
    *,
    batch_size: int,
    context_length: int,
    flop_per_s: float,
    bytes_per_s: float,
    weight_bytes: float = 2.0,
    kv_bytes: float = 2.0,
    host_s: float = 0.0,
) -> float:
    """Return the least time of a decode step [s].

    max(P b_w / BW, 2 P B / F) + max(B S kappa / BW, attention FLOPs / F) + host: the products wait
    for weights or for the tensor cores, attention for the cache or for them. Small kernels,
    activations and communication are left out.

    Parameters
    ----------
    model
        Its sizes.
    batch_size
        B.
    context_length
        [token] S.
    flop_per_s, bytes_per_s
        [FLOP/s] and [B/s]: F and BW.
    weight_bytes, kv_bytes
        [B] Per element.
    host_s
        [s] Time in which the GPU waits for the host.

    Examples
    --------
    >>> from nsightlens.models import read_model
    >>> gpu = {"flop_per_s": 989.4e12, "bytes_per_s": 1.631e12}
    >>> one = step_time_bound_s(read_model("opt-1.3b"), batch_size=1, context_length=330, **gpu)
    >>> round(one * 1e3, 2)
    1.65
    """
    check_counts(batch_size=batch_size, context_length=context_length)
    check_above_zero(flop_per_s=flop_per_s, bytes_per_s=bytes_per_s)
    if not 0.0 <= host_s < math.inf:
        raise ValueError(f"host_s must be a finite number, zero or above, not {host_s!r}")
    weights = _read_weights_bytes(model, batch_size, weight_bytes)
    product_flop = 2.0 * active_parameter_count(model) * batch_size
    cache = batch_size * kv_bytes_of_sequence(model, context_length, kv_bytes=kv_bytes)
    products_s = max(weights / bytes_per_s, product_flop / flop_per_s)
    attention_flop = batch_size * _attention_flop_of_sequence(model, context_length)
    return products_s + max(cache / bytes_per_s, attention_flop / flop_per_s) + host_s


def _attention_flop_of_sequence(model: ModelConfig, context_length: int) -> float:
    """Return the FLOP of one query token over all layers; see `nsightlens.models.attention`."""
    if model.latent is not None:
        per_key = 2.0 * model.head_count * (2 * model.latent.kv_rank + model.latent.rope_dim)
    else:
        per_key = 4.0 * model.head_count * model.head_dim
    windowed = model.windowed_layer_count
    keys = (model.layer_count - windowed) * visible_pair_count(context_length, 1)
    keys += windowed * visible_pair_count(context_length, 1, model.window_token_count)
    return per_key * keys


def largest_batch_size(
    model: ModelConfig,
    context_length: int,
    *,
    memory_bytes: float,
    weight_bytes: float = 2.0,
    kv_bytes: float = 2.0,
) -> int:
    """Return how many sequences fit beside the weights.

    Parameters
    ----------
    model
        Its sizes.
    context_length
        [token] Tokens of each sequence.
    memory_bytes
        [B] Memory of the GPU. What else needs memory, such as activations, is left out, so that
        fewer fit in practice.
    weight_bytes, kv_bytes
        [B] Per element.

    Returns
    -------
    int
        0 where the weights alone do not fit, or leave no room for a sequence.
    """
    check_above_zero(memory_bytes=memory_bytes)
    room = memory_bytes - weights_bytes(model, weight_bytes=weight_bytes)
    of_one = kv_bytes_of_sequence(model, context_length, kv_bytes=kv_bytes)
    return max(0, int(room // of_one))
