"""The kernel of `kernels_under_test.backends.triton_decode`; importing this loads Triton."""

# ruff: noqa: ANN001, N803, PLR0917
# mypy: ignore-errors
# The signature of a kernel is Triton's: constants are in upper case there, and nothing has a type.
from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

__all__ = ["decode_kernel"]


def _decode(
    query, keys, values, out, table,
    first, context, scale,
    query_sequence, query_head,
    key_block, key_token, key_head,
    value_block, value_token, value_head,
    table_sequence,
    GROUP: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr, COLUMNS: tl.constexpr,
    KEYS: tl.constexpr, BLOCK: tl.constexpr, IS_PAGED: tl.constexpr,
) -> None:  # fmt: skip
    """Attend with the queries that share a head of keys: strides in elements."""
    sequence = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1).to(tl.int64)
    rows = tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    is_element = (rows[:, None] < GROUP) & (columns[None, :] < WIDTH)
    heads = head * GROUP + rows
    place = sequence * query_sequence + heads[:, None] * query_head + columns[None, :]
    q = tl.load(query + place, mask=is_element, other=0.0)

    largest = tl.full((ROWS,), float("-inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    sums = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(first, context, KEYS):
        tokens = start + tl.arange(0, KEYS)
        is_seen = tokens < context
        if IS_PAGED:
            block = tl.load(
                table + sequence * table_sequence + tokens // BLOCK, mask=is_seen, other=0
            )
            block = block.to(tl.int64)
            token = tokens % BLOCK
        else:
            block = sequence
            token = tokens
        is_key = is_seen[:, None] & (columns[None, :] < WIDTH)
        place = (block * key_block + token * key_token + head * key_head)[:, None] + columns[
            None, :
        ]
        k = tl.load(keys + place, mask=is_key, other=0.0)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        scores = tl.where(is_seen[None, :], scores, float("-inf"))
        now = tl.maximum(largest, tl.max(scores, 1))
        shares = tl.exp(scores - now[:, None])
        fading = tl.exp(largest - now)
        place = (block * value_block + token * value_token + head * value_head)[:, None]
        v = tl.load(values + place + columns[None, :], mask=is_key, other=0.0)
        sums = sums * fading[:, None] + tl.dot(shares.to(v.dtype), v, input_precision="ieee")
        total = total * fading + tl.sum(shares, 1)
        largest = now
    sums = sums / total[:, None]
    # The output is in one piece, and has as many heads as there are groups times programs.
    all_heads = tl.num_programs(1) * GROUP
    place = (sequence * all_heads + heads[:, None]) * WIDTH + columns[None, :]
    tl.store(out + place, sums.to(out.dtype.element_ty), mask=is_element)


decode_kernel: Any = triton.jit(_decode)
