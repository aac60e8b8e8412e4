"""From which context on a large batch of decode waits longer for the cache than for products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.models import attention_intensity_flop_per_byte, crossover_context_length

if TYPE_CHECKING:
    from nsightlens.models import ModelConfig

__all__ = ["context_crossover"]


def context_crossover(
    model: ModelConfig,
    *,
    flop_per_s: float,
    attention_flop_per_s: float,
    bytes_per_s: float,
    kv_bytes: float = 2.0,
    query_length: int = 1,
) -> float | None:
    """Return the context from which on reading the cache takes longer than the products: S*.

    Parameters
    ----------
    model
        Its sizes.
    flop_per_s, attention_flop_per_s
        [FLOP/s] Peak of the matrix products, and of attention.
    bytes_per_s
        [B/s] DRAM bandwidth.
    kv_bytes
        [B] Per element of the cache.
    query_length
        [token] Query tokens of a sequence, which read its cache once.

    Returns
    -------
    float or None
        ``None`` where there is none: attention itself lies right of the ridge point, or all layers
        have a sliding window, and what they see takes less time to read than the products take.

    Notes
    -----
    2 P s_q / F = kappa(S) / BW per sequence, see `nsightlens.models.crossover_context_length`. With
    w of L layers that see no more than W tokens, kappa(S) = kappa / L ((L - w) S + w min(S, W)).

    Examples
    --------
    >>> from nsightlens.models import read_model
    >>> h200 = {"flop_per_s": 989.4e12, "attention_flop_per_s": 989.4e12, "bytes_per_s": 4.8e12}
    >>> [round(context_crossover(read_model(m), **h200)) for m in ("llama-3-8b", "gpt-oss-20b")]
    [594, 1525]
    >>> context_crossover(read_model("deepseek-v3"), **h200) is None
    True
    """
    peaks = {"bytes_per_s": bytes_per_s, "kv_bytes": kv_bytes}
    intensity = attention_intensity_flop_per_byte(
        model, kv_bytes=kv_bytes, query_length=query_length
    )
    if intensity * bytes_per_s >= attention_flop_per_s:
        return None
    tokens = query_length * crossover_context_length(model, flop_per_s=flop_per_s, **peaks)
    if model.window_token_count is None or not model.windowed_layer_count:
        return tokens
    window = model.window_token_count + query_length - 1
    if tokens <= window:
        return tokens
    whole = model.layer_count - model.windowed_layer_count
    if not whole:
        return None
    return (model.layer_count * tokens - model.windowed_layer_count * window) / whole
