"""Attention of a layer: its products, the cache, and the backend in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from kernels_under_test.backends.call import AttentionCall
from kernels_under_test.inputs import first_key
from kernels_under_test.layers import linear, norm, rope

if TYPE_CHECKING:
    from kernels_under_test.backends.call import Backend
    from kernels_under_test.cache import Cache
    from kernels_under_test.inputs import StepInputs
    from kernels_under_test.models import Facts
    from kernels_under_test.ranges import Ranges
    from kernels_under_test.weights import LayerWeights
    from nsightlens.models import ModelConfig

__all__ = ["Attention", "Place"]


@dataclass(frozen=True)
class Attention:
    """Attention of all layers of a model.

    Parameters
    ----------
    model, facts
        Its sizes, and what its code says beside them.
    backend
        How attention itself is computed.
    expands_latent
        Latent attention makes keys and values of all heads anew in a decode step too.
    """

    model: ModelConfig
    facts: Facts
    backend: Backend
    expands_latent: bool = False

    def layer(self, place: Place, rows: Any) -> Any:
        """Return the output of attention, without the addition of the residual.

        Parameters
        ----------
        place
            Which layer of which step.
        rows
            Shape (tokens, hidden), normalised.
        """
        inner = self._heads if self.model.latent is None else self._latent
        return linear(place.op, "o_proj", inner(place, rows), place.weights.linear["o_proj"])

    def _heads(self, place: Place, rows: Any) -> Any:
        """Return attention with keys and values of every head."""
        model, op, inputs = self.model, place.op, place.inputs
        heads, kv_heads, dim = model.head_count, model.kv_head_count, model.head_dim
        batch, queries = inputs.shape.batch_size, inputs.shape.query_length
        all_heads = linear(op, "qkv_proj", rows, place.weights.linear["qkv_proj"]).view(
            batch, queries, heads + 2 * kv_heads, dim
        )
        query, key, value = all_heads.split((heads, kv_heads, kv_heads), 2)
        if model.has_qk_norm:
            query = self._norm(place, "query_norm", query)
            key = self._norm(place, "key_norm", key)
        if inputs.cosines is not None:
            query = rope(op, "rope_query", query, inputs.cosines, inputs.sines)
            key = rope(op, "rope_key", key, inputs.cosines, inputs.sines)
        for part, (name, new) in enumerate((("key", key), ("value", value))):
            with op(f"{name}_cache_write"):
                place.write(part, new)
        keys, values = self._read(place, "key", 0), self._read(place, "value", 1)
        return self._attend(place, query, keys, values, dim**-0.5)

    def _norm(self, place: Place, name: str, rows: Any) -> Any:
        return norm(place.op, name, rows, place.weights.norm[name], self.facts.norm_epsilon)

    def _read(self, place: Place, name: str, part: int) -> Any:
        """Return the keys or values that any query sees, or all blocks for who reads them."""
        cache, window = place.cache, place.weights.kind.window
        context = place.inputs.shape.context_length
        first = first_key(place.inputs.shape, window)
        if not cache.is_paged:
            return cache.read(place.index, part, first, context)
        if self.backend.reads_blocks:
            return cache.parts[place.index][part]
        with place.op(f"{name}_gather"):
            return cache.read(place.index, part, first, context)

    def _attend(self, place: Place, query: Any, keys: Any, values: Any, scale: float) -> Any:
        window = place.weights.kind.window
        reads_table = place.cache.is_paged and self.backend.reads_blocks
        call = AttentionCall(
            query=query,
            keys=keys,
            values=values,
            scale=scale,
            mask=place.inputs.masks[window],
            window=window,
            inputs=place.inputs,
            table=getattr(place.cache, "table", None) if reads_table else None,
        )
        return self.backend.attend(call, place.op)

    # --- Latent attention ---

    def _latent(self, place: Place, rows: Any) -> Any:
        """Return multi-head latent attention (DeepSeek-V2, arXiv 2405.04434)."""
        model, op, inputs, linears = self.model, place.op, place.inputs, place.weights.linear
        latent = model.latent
        assert latent is not None
        batch, queries, heads = inputs.shape.batch_size, inputs.shape.query_length, model.head_count
        if latent.query_rank is None:
            query = linear(op, "q_proj", rows, linears["q_proj"])
        else:
            narrow = linear(op, "q_a_proj", rows, linears["q_a_proj"])
            narrow = self._norm(place, "q_a_norm", narrow)
            query = linear(op, "q_b_proj", narrow, linears["q_b_proj"])
        query = query.view(batch, queries, heads, latent.nope_dim + latent.rope_dim)
        nope, turned = query.split((latent.nope_dim, latent.rope_dim), -1)
        new = linear(op, "kv_a_proj", rows, linears["kv_a_proj"])
        vector, shared = new.split((latent.kv_rank, latent.rope_dim), -1)
        vector = self._norm(place, "kv_a_norm", vector).view(batch, queries, 1, latent.kv_rank)
        shared = shared.view(batch, queries, 1, latent.rope_dim)
        turned = rope(op, "rope_query", turned, inputs.cosines, inputs.sines)
        shared = rope(op, "rope_key", shared, inputs.cosines, inputs.sines)
        with op("latent_cache_write"):
            place.write(0, vector)
        with op("rope_cache_write"):
            place.write(0, shared, column=latent.kv_rank)
        kept = self._read(place, "latent", 0)
        is_expanded = self.expands_latent or inputs.shape.phase == "prefill"
        inner = self._expanded if is_expanded else self._absorbed
        return inner(place, nope, turned, kept)

    def _absorbed(self, place: Place, nope: Any, turned: Any, kept: Any) -> Any:
        """Attend to the latent vectors, between the products that would expand them."""
        op, (keys_of, values_of) = place.op, self._expanding(place)
        latent = self.model.latent
        assert latent is not None
        batch, queries, heads, _ = nope.shape
        rows = batch * queries
        with op("absorb_key"):
            # One product per head: (heads, tokens, nope) with (heads, nope, rank).
            absorbed = torch.bmm(nope.reshape(rows, heads, -1).transpose(0, 1), keys_of)
        with op("query_concat"):
            absorbed = absorbed.transpose(0, 1).view(batch, queries, heads, latent.kv_rank)
            query = torch.cat((absorbed, turned), -1)
        values = kept[..., : latent.kv_rank]
        mixed = self._attend(place, query, kept, values, self._latent_scale)
        with op("absorb_value"):
            of_heads = mixed.view(rows, heads, latent.kv_rank).transpose(0, 1)
            out = torch.bmm(of_heads, values_of.transpose(1, 2))
        with op("value_merge"):
            return out.transpose(0, 1).reshape(rows, heads * latent.value_dim)

    def _expanded(self, place: Place, nope: Any, turned: Any, kept: Any) -> Any:
        """Attend with a key and a value per head, made anew from all latent vectors."""
        op, latent = place.op, self.model.latent
        assert latent is not None
        heads = self.model.head_count
        batch, _, tokens, _ = kept.shape
        with op("query_concat"):
            query = torch.cat((nope, turned), -1)
        vectors, shared = kept.split((latent.kv_rank, latent.rope_dim), -1)
        with op("kv_b_proj"):
            both = torch.nn.functional.linear(
                vectors.reshape(batch * tokens, latent.kv_rank),
                place.weights.linear["kv_b_proj"].weight,
            )
        width = latent.nope_dim + latent.value_dim
        both = both.view(batch, tokens, heads, width).transpose(1, 2)
        of_keys, of_values = both.split((latent.nope_dim, latent.value_dim), -1)
        with op("key_concat"):
            shape = (batch, heads, tokens, latent.rope_dim)
            keys = torch.cat((of_keys, shared.expand(shape)), -1)
        with op("value_split"):
            values = of_values.contiguous()
        return self._attend(place, query, keys, values, self._latent_scale)

    @property
    def _latent_scale(self) -> float:
        latent = self.model.latent
        assert latent is not None
        return float((latent.nope_dim + latent.rope_dim) ** -0.5)

    def _expanding(self, place: Place) -> tuple[Any, Any]:
        """Return the matrices that expand latent vectors: of keys, and of values, per head."""
        latent = self.model.latent
        assert latent is not None
        weight = place.weights.linear["kv_b_proj"].weight
        width = latent.nope_dim + latent.value_dim
        split: tuple[Any, Any] = weight.view(self.model.head_count, width, latent.kv_rank).split(
            (latent.nope_dim, latent.value_dim), 1
        )
        return split


@dataclass(frozen=True)
class Place:
    """Where in a step attention is.

    Parameters
    ----------
    op
        The ranges of the layer.
    weights
        Of the layer.
    index
        Of the layer, from 0.
    cache
        Holds what lies before, and gets what is new.
    inputs
        What the step starts from.
    """

    op: Ranges
    weights: LayerWeights
    index: int
    cache: Cache
    inputs: StepInputs

    def write(self, part: int, values: Any, column: int = 0) -> None:
        """Keep new tokens, shape (sequences, queries, heads, width)."""
        self.cache.write(self.index, part, values, first=self.inputs.first, column=column)
