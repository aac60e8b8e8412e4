"""Attention by two batched products and a softmax, each an operation of its own."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from kernels_under_test.backends.call import AttentionCall, Setting
    from kernels_under_test.cache import Cache
    from kernels_under_test.inputs import StepInputs
    from kernels_under_test.ranges import Ranges
    from nsightlens.models import ModelConfig

__all__ = ["Eager"]


class Eager:
    """Eager matmuls. Queries of the heads that share keys are rows of one product."""

    name = "eager"
    is_eager = True
    reads_blocks = False

    def check(self, setting: Setting) -> None:
        """Refuse nothing: it runs everywhere."""

    def chosen(self) -> AbstractContextManager[None]:
        """Return nothing: there is nothing to choose."""
        return nullcontext()

    def prepare(self, model: ModelConfig, cache: Cache, inputs: StepInputs) -> None:
        """Make nothing."""

    def attend(self, call: AttentionCall, op: Ranges) -> Any:
        """Return the output; see `kernels_under_test.work.attention_scores` and the next two."""
        sequences, queries, heads, _ = call.query.shape
        kv_heads, key_count = call.keys.shape[1], call.keys.shape[2]
        group = heads // kv_heads
        rows = _rows(call.query, kv_heads, op)
        keys, values = call.keys.flatten(0, 1), call.values.flatten(0, 1)
        with op("attention_scores"):
            mask = rows.new_empty((1, 1, 1))
            if call.mask is not None:
                mask = call.mask.expand(group, queries, key_count).reshape(1, -1, key_count)
            scores = torch.baddbmm(
                # Without a mask it is never read.
                mask.expand(rows.shape[0], *mask.shape[1:]),
                rows,
                keys.transpose(1, 2),
                beta=0 if call.mask is None else 1,
                alpha=call.scale,
            )
        with op("attention_softmax"):
            shares = torch.softmax(scores, -1)
        with op("attention_values"):
            out = torch.bmm(shares, values)
        width = values.shape[2]
        if queries == 1:
            return out.view(sequences, heads * width)
        with op("head_merge"):
            whole = out.view(sequences, kv_heads, group, queries, width).permute(0, 3, 1, 2, 4)
            return whole.reshape(sequences * queries, heads * width)


def _rows(query: Any, kv_heads: int, op: Ranges) -> Any:
    """Bring the queries that share keys together: rows of one product for each head of keys."""
    sequences, queries, heads, width = query.shape
    group = heads // kv_heads
    # Queries that were not turned by rotary positions are still a part of the rows of qkv_proj.
    if queries == 1 and query.is_contiguous():
        return query.view(sequences * kv_heads, group, width)
    with op("query_split"):
        split = query.view(sequences, queries, kv_heads, group, width).permute(0, 2, 3, 1, 4)
        return split.reshape(sequences * kv_heads, group * queries, width)
