"""Attention of a step: the products around it, the cache, and attention itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.models.checks import check_above_zero, check_counts
from nsightlens.models.operation import OperationWork, linear
from nsightlens.models.streaming import norm_work, streaming

if TYPE_CHECKING:
    from nsightlens.models.config import LatentAttention, ModelConfig
    from nsightlens.models.operation import Step

__all__ = ["attention_intensity_flop_per_byte", "attention_operations", "visible_pair_count"]


def attention_operations(model: ModelConfig, step: Step) -> list[OperationWork]:
    """Return the operations of attention, in their order.

    Parameters
    ----------
    model
        Its sizes.
    step
        The step.
    """
    if model.latent is not None:
        return _latent_operations(model, model.latent, step)
    heads, kv_heads, dim = model.head_count, model.kv_head_count, model.head_dim
    layers, hidden = model.layer_count, model.hidden_size
    all_heads = (heads + 2 * kv_heads) * dim
    is_quantised = not _only_experts(model)
    found = [
        linear(
            "qkv_proj",
            step,
            (hidden, all_heads),
            layer_count=layers,
            has_bias=model.has_qkv_bias,
            is_quantised=is_quantised,
        )
    ]
    rotated = (heads + kv_heads) * dim
    if model.has_qk_norm:
        found.append(_qk_norm(model, step, rotated))
    if not model.position_count:
        found.append(_rope(step, rotated, layers))
    found.append(_cache_write(step, 2 * kv_heads * dim, layers))
    found += [_attention(name, model, step, count, window) for name, count, window in _kinds(model)]
    found.append(
        linear(
            "o_proj",
            step,
            (heads * dim, hidden),
            layer_count=layers,
            has_bias=model.has_output_bias,
            is_quantised=is_quantised,
        )
    )
    return found


def _only_experts(model: ModelConfig) -> bool:
    return model.stored_weights is not None and model.stored_weights.only_experts


def _kinds(model: ModelConfig) -> list[tuple[str, int, int | None]]:
    """Return the layers that see everything and those with a window: name, count and window."""
    full = model.layer_count - model.windowed_layer_count
    kinds = [
        ("attention", full, None),
        ("attention_in_window", model.windowed_layer_count, model.window_token_count),
    ]
    return [kind for kind in kinds if kind[1]]


def visible_pair_count(context_length: int, query_length: int, window: int | None = None) -> int:
    """Count the pairs of a query and a key that it sees, in one sequence and head.

    Parameters
    ----------
    context_length
        [token] Keys, those of the query tokens included: S.
    query_length
        [token] Queries, the last tokens of the context: q. Each sees the keys before it and its
        own.
    window
        [token] It sees no more than so many keys; ``None`` for all.

    Returns
    -------
    int
        q (S - q) + q (q + 1) / 2 without a window: S for decode, and for a prefill (q = S) half of
        S x S and the diagonal.

    Examples
    --------
    >>> visible_pair_count(500, 1), visible_pair_count(500, 500), visible_pair_count(500, 1, 128)
    (500, 125250, 128)
    """
    before = context_length - query_length
    seen = query_length
    if window is not None:
        seen = min(query_length, max(0, window - before))
    pairs = seen * before + seen * (seen + 1) // 2
    return pairs + (query_length - seen) * (window or 0)


def _read_keys(step: Step, window: int | None) -> int:
    """Count the keys of a sequence that any of its queries sees."""
    if window is None:
        return step.context_length
    return min(step.context_length, window + step.query_length - 1)


def _attention(
    name: str, model: ModelConfig, step: Step, layer_count: int, window: int | None
) -> OperationWork:
    """Return the work of softmax attention.

    FLOPs = 4 s_q h_q S d and bytes = 2 h_kv S d b_kv + 2 s_q h_q d b_a per sequence and layer: two
    products over the keys; keys and values, query and output each once (Mind the Memory Gap, arXiv
    2503.08311). Of the pairs of query and key only those count that are not masked.
    """
    sequences = layer_count * step.batch_size
    pairs = visible_pair_count(step.context_length, step.query_length, window)
    kv = 2.0 * model.kv_head_count * model.head_dim * _read_keys(step, window) * step.kv_bytes
    query = step.query_length * model.head_count * model.head_dim * step.activation_bytes
    return OperationWork(
        name,
        "attention",
        "",
        layer_count,
        sequences * 4.0 * model.head_count * model.head_dim * pairs,
        sequences * (kv + query),
        sequences * query,
        kv_cache_bytes=sequences * kv,
    )


def _qk_norm(model: ModelConfig, step: Step, width: int) -> OperationWork:
    # All heads of the queries share their weights, and so do those of the keys.
    return norm_work(
        "qk_norm",
        model,
        step,
        width,
        layer_count=model.layer_count,
        weight_count=2 * model.head_dim,
        subtype="qk_norm",
    )


def _rope(step: Step, width: int, layers: int) -> OperationWork:
    # Four products and two sums for a pair of elements.
    return streaming("rope", "rope", "rope", step, width, layer_count=layers, flop_per_element=3.0)


def _cache_write(step: Step, width: int, layers: int) -> OperationWork:
    elements = float(layers * step.token_count * width)
    return OperationWork(
        "kv_cache_write",
        "kv_cache",
        "write",
        layers,
        0.0,
        elements * step.activation_bytes,
        elements * step.kv_bytes,
    )


def _latent_operations(
    model: ModelConfig, latent: LatentAttention, step: Step
) -> list[OperationWork]:
    """Return the operations of multi-head latent attention (DeepSeek-V2, arXiv 2405.04434).

    A decode step multiplies queries and outputs by the matrices that would expand the latent
    vectors, and attends to the latent vectors themselves; a prefill expands them.
    """
    layers, hidden, heads = model.layer_count, model.hidden_size, model.head_count
    cached = latent.kv_rank + latent.rope_dim
    query = heads * (latent.nope_dim + latent.rope_dim)

    def product(name: str, inputs: int, outputs: int) -> OperationWork:
        return linear(name, step, (inputs, outputs), layer_count=layers)

    found = []
    if latent.query_rank is None:
        found.append(product("q_proj", hidden, query))
    else:
        found += [
            product("q_a_proj", hidden, latent.query_rank),
            norm_work("q_a_norm", model, step, latent.query_rank, layer_count=layers),
            product("q_b_proj", latent.query_rank, query),
        ]
    found += [
        product("kv_a_proj", hidden, cached),
        norm_work("kv_a_norm", model, step, latent.kv_rank, layer_count=layers),
        _rope(step, (heads + 1) * latent.rope_dim, layers),
        _cache_write(step, cached, layers),
        *(_expanded if step.is_prefill else _absorbed)(model, latent, step),
        product("o_proj", heads * latent.value_dim, hidden),
    ]
    return found


def _absorbed(model: ModelConfig, latent: LatentAttention, step: Step) -> list[OperationWork]:
    """Return attention to latent vectors, with the products before and after it.

    FLOPs = 2 s_q h_q S (2 r + r_rope) and bytes = S (r + r_rope) b_kv + s_q h_q (2 r + r_rope) b_a
    per sequence and layer: all heads share what is read, so that 128 heads in 16 bit have an
    intensity of 242 FLOP/B.
    """
    layers, heads, rank = model.layer_count, model.head_count, latent.kv_rank
    sequences = layers * step.batch_size
    pairs = visible_pair_count(step.context_length, step.query_length)
    kv = float(step.context_length * (rank + latent.rope_dim)) * step.kv_bytes
    rows = step.query_length * heads * step.activation_bytes
    attention = OperationWork(
        "attention",
        "attention",
        "mla",
        layers,
        sequences * 2.0 * heads * pairs * (2 * rank + latent.rope_dim),
        sequences * (kv + rows * (rank + latent.rope_dim)),
        sequences * rows * rank,
        kv_cache_bytes=sequences * kv,
    )
    before = _per_head("absorb_key", model, step, (latent.nope_dim, rank))
    after = _per_head("absorb_value", model, step, (rank, latent.value_dim))
    return [before, attention, after]


def _per_head(name: str, model: ModelConfig, step: Step, sizes: tuple[int, int]) -> OperationWork:
    """Return a product of every head with a matrix of its own."""
    one = linear(name, step, sizes, layer_count=model.layer_count)
    heads = model.head_count
    return one._replace(
        flop=one.flop * heads,
        read_bytes=one.read_bytes * heads,
        written_bytes=one.written_bytes * heads,
        weight_bytes=one.weight_bytes * heads,
    )


def _expanded(model: ModelConfig, latent: LatentAttention, step: Step) -> list[OperationWork]:
    """Return attention with a key and a value per head, made anew from all latent vectors."""
    layers, heads = model.layer_count, model.head_count
    key, value = latent.nope_dim + latent.rope_dim, latent.value_dim
    sequences = layers * step.batch_size
    tokens = step.batch_size * step.context_length
    expand = linear(
        "kv_b_proj",
        step,
        (latent.kv_rank, heads * (latent.nope_dim + value)),
        layer_count=layers,
        row_count=tokens,
    )
    pairs = visible_pair_count(step.context_length, step.query_length)
    kv = float(step.context_length * heads * (key + value)) * step.activation_bytes
    rows = step.query_length * heads * step.activation_bytes
    attention = OperationWork(
        "attention",
        "attention",
        "mla",
        layers,
        sequences * 2.0 * heads * pairs * (key + value),
        sequences * (kv + rows * key),
        sequences * rows * value,
        kv_cache_bytes=sequences * kv,
    )
    return [expand, attention]


def attention_intensity_flop_per_byte(
    model: ModelConfig, *, kv_bytes: float = 2.0, query_length: int = 1
) -> float:
    """Return what the intensity of decode attention comes to with a long context [FLOP/B].

    2 s_q (h_q / h_kv) / b_kv, whatever batch and context are; with latent attention
    2 s_q h_q (2 r + r_rope) / ((r + r_rope) b_kv). Queries and outputs, which a short context makes
    visible, and the mask among the query tokens are left out.

    Parameters
    ----------
    model
        Its sizes.
    kv_bytes
        [B] Per element of the cache.
    query_length
        [token] Query tokens per sequence, more than one in speculative decoding.

    Raises
    ------
    ValueError
        A number is not above zero.

    Examples
    --------
    >>> from nsightlens.models import read_model
    >>> [attention_intensity_flop_per_byte(read_model(m)) for m in ("opt-1.3b", "llama-3-70b")]
    [1.0, 8.0]
    >>> round(attention_intensity_flop_per_byte(read_model("deepseek-v3")))
    242
    """
    check_above_zero(kv_bytes=kv_bytes)
    check_counts(query_length=query_length)
    if model.latent is not None:
        rank, rope = model.latent.kv_rank, model.latent.rope_dim
        per_element = (2 * rank + rope) / (rank + rope)
        return 2.0 * query_length * model.head_count * per_element / kv_bytes
    return 2.0 * query_length * model.head_count / model.kv_head_count / kv_bytes
