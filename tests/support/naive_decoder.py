"""A decoder as its papers describe it, in NumPy and float64: the whole sequence, and no cache.

Shares nothing with `kernels_under_test` but the weights: heads are looped over, keys and values are
never kept, latent vectors are expanded, every token passes its experts one by one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.models import ModelConfig

    Array = NDArray[np.float64]

__all__ = ["naive_logits"]


def naive_logits(
    model: ModelConfig, weights: Any, tokens: Any, *, epsilon: float, renormalises: bool
) -> Array:
    """Return the logits at every position of one sequence. Shape (tokens, vocabulary).

    Parameters
    ----------
    model
        Its sizes.
    weights
        `kernels_under_test.weights.Weights`.
    tokens
        Of the sequence, as numbers.
    epsilon
        Of norms.
    renormalises
        The weights of a token's experts add up to one.
    """
    rows = _array(weights.embedding)[tokens]
    if weights.positions is not None:
        rows = rows + _array(weights.positions)[np.arange(len(tokens)) + 2]
    full = model.layer_count - model.windowed_layer_count
    for index, layer in enumerate(weights.layers):
        window = model.window_token_count if index >= full else None
        normed = _norm(rows, layer.norm["attention_norm"], epsilon)
        attend = _heads if model.latent is None else _latent
        rows = rows + attend(model, layer, normed, window, epsilon)
        normed = _norm(rows, layer.norm["mlp_norm"], epsilon)
        if layer.experts:
            rows = rows + _experts(model, layer, normed, renormalises)
        else:
            rows = rows + _mlp(layer, normed, "")
    return _norm(rows, weights.final_norm, epsilon) @ _array(weights.head).T


def _array(tensor: Any) -> Array:
    return np.asarray(tensor.double().numpy())


def _linear(layer: Any, name: str, rows: Array) -> Array:
    one = layer.linear[name]
    out: Array = rows @ _array(one.weight).T
    return out if one.bias is None else out + _array(one.bias)


def _norm(rows: Array, layer: Any, epsilon: float) -> Array:
    if layer.bias is not None:
        rows = rows - rows.mean(-1, keepdims=True)
    scaled: Array = (
        rows / np.sqrt((rows**2).mean(-1, keepdims=True) + epsilon) * _array(layer.weight)
    )
    return scaled if layer.bias is None else scaled + _array(layer.bias)


def _turned(rows: Array) -> Array:
    """Return one head with rotary positions: element i and i + d / 2 as a complex number."""
    count, width = rows.shape
    half = width // 2
    speeds = 10_000.0 ** (-2.0 * np.arange(half) / width)
    turned = (rows[:, :half] + 1j * rows[:, half:]) * np.exp(
        1j * np.outer(np.arange(count), speeds)
    )
    return np.concatenate([turned.real, turned.imag], -1)


def _softmax(rows: Array) -> Array:
    shares: Array = np.exp(rows - rows.max(-1, keepdims=True))
    return np.asarray(shares / shares.sum(-1, keepdims=True))


def _attend(query: Array, keys: Array, values: Array, window: int | None) -> Array:
    """Return attention of one head: each token sees itself and what lies before, in its window."""
    out = np.empty((len(query), values.shape[1]))
    for token, one in enumerate(query):
        first = 0 if window is None else max(0, token + 1 - window)
        scores = keys[first : token + 1] @ one / math.sqrt(len(one))
        out[token] = _softmax(scores) @ values[first : token + 1]
    return out


def _heads(
    model: ModelConfig, layer: Any, rows: Array, window: int | None, epsilon: float
) -> Array:
    dim, heads, kv_heads = model.head_dim, model.head_count, model.kv_head_count
    parts = np.split(_linear(layer, "qkv_proj", rows), heads + 2 * kv_heads, -1)
    outputs = []
    for head in range(heads):
        pair = head // (heads // kv_heads)
        query, key, value = parts[head], parts[heads + pair], parts[heads + kv_heads + pair]
        if model.has_qk_norm:
            query = _norm(query, layer.norm["query_norm"], epsilon)
            key = _norm(key, layer.norm["key_norm"], epsilon)
        if not model.position_count:
            query, key = _turned(query), _turned(key)
        assert query.shape[1] == dim
        outputs.append(_attend(query, key, value, window))
    return _linear(layer, "o_proj", np.concatenate(outputs, -1))


def _latent(
    model: ModelConfig, layer: Any, rows: Array, window: int | None, epsilon: float
) -> Array:
    latent = model.latent
    assert latent is not None
    if latent.query_rank is None:
        query = _linear(layer, "q_proj", rows)
    else:
        narrow = _norm(_linear(layer, "q_a_proj", rows), layer.norm["q_a_norm"], epsilon)
        query = _linear(layer, "q_b_proj", narrow)
    new = _linear(layer, "kv_a_proj", rows)
    shared = _turned(new[:, latent.kv_rank :])
    vectors = _norm(new[:, : latent.kv_rank], layer.norm["kv_a_norm"], epsilon)
    expanded = _linear(layer, "kv_b_proj", vectors)
    outputs = []
    for one, both in zip(
        np.split(query, model.head_count, -1),
        np.split(expanded, model.head_count, -1),
        strict=True,
    ):
        turned = _turned(one[:, latent.nope_dim :])
        whole_query = np.concatenate([one[:, : latent.nope_dim], turned], -1)
        keys = np.concatenate([both[:, : latent.nope_dim], shared], -1)
        outputs.append(_attend(whole_query, keys, both[:, latent.nope_dim :], window))
    return _linear(layer, "o_proj", np.concatenate(outputs, -1))


def _gated(both: Array) -> Array:
    gate, value = np.split(both, 2, -1)
    return gate / (1.0 + np.exp(-gate)) * value


def _mlp(layer: Any, rows: Array, prefix: str) -> Array:
    if f"{prefix}fc1" in layer.linear:
        return _linear(layer, f"{prefix}fc2", np.maximum(_linear(layer, f"{prefix}fc1", rows), 0.0))
    inner = _gated(_linear(layer, f"{prefix}gate_up_proj", rows))
    return _linear(layer, f"{prefix}down_proj", inner)


def _experts(model: ModelConfig, layer: Any, rows: Array, renormalises: bool) -> Array:
    experts = model.experts
    assert experts is not None
    shares = _softmax(_linear(layer, "router", rows))
    up, down = (_array(layer.experts[name]) for name in ("experts_gate_up", "experts_down"))
    out = np.zeros_like(rows)
    for token, row in enumerate(rows):
        chosen = np.argsort(-shares[token])[: experts.experts_per_token]
        total = shares[token, chosen].sum() if renormalises else 1.0
        for expert in chosen:
            output = down[expert] @ _gated(up[expert] @ row)
            out[token] += shares[token, expert] / total * output
    if experts.shared_intermediate_size:
        shared = _mlp(layer, rows, "shared_")
        if experts.has_shared_gate:
            shared = shared / (1.0 + np.exp(-_linear(layer, "shared_gate", rows)))
        out += shared
    return out
