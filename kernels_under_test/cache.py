"""KV cache of a batch: one piece per layer, or blocks in any order.

A layer keeps *parts*: keys and values, or one latent vector per token. Every part is a tensor, and
the same functions write new tokens into it and show a range of tokens as (sequences, heads, tokens,
width).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

if TYPE_CHECKING:
    from nsightlens.models import ModelConfig

__all__ = ["Cache", "ContiguousCache", "PagedCache", "PartSizes", "make_cache", "part_sizes"]


class PartSizes(NamedTuple):
    """Heads and width of one part of the cache."""

    heads: int
    width: int


def part_sizes(model: ModelConfig) -> tuple[PartSizes, ...]:
    """Return the parts that a layer keeps.

    Examples
    --------
    >>> from nsightlens.models import read_model
    >>> part_sizes(read_model("llama-3-8b"))
    (PartSizes(heads=8, width=128), PartSizes(heads=8, width=128))
    """
    if model.latent is not None:
        return (PartSizes(1, model.latent.kv_rank + model.latent.rope_dim),)
    part = PartSizes(model.kv_head_count, model.head_dim)
    return (part, part)


class ContiguousCache:
    """Every part of a layer is one tensor (sequences, heads, tokens, width).

    Parameters
    ----------
    parts
        For every layer its parts.
    """

    is_paged = False

    def __init__(self, parts: list[tuple[Any, ...]]) -> None:
        self.parts = parts

    def write(self, layer: int, part: int, values: Any, *, first: int, column: int = 0) -> None:
        """Keep new tokens.

        Parameters
        ----------
        layer, part
            Where.
        values
            Shape (sequences, tokens, heads, width); it may be a part of the width.
        first
            [token] Place of the first of them.
        column
            Where in the width they begin.
        """
        tokens, width = values.shape[1], values.shape[3]
        place = self.parts[layer][part][:, :, first : first + tokens, column : column + width]
        place.copy_(values.transpose(1, 2))

    def read(self, layer: int, part: int, first: int, last: int) -> Any:
        """Show tokens first to last - 1, shape (sequences, heads, tokens, width)."""
        return self.parts[layer][part][:, :, first:last]

    @property
    def bytes(self) -> int:
        """[B] Of all parts."""
        return _bytes(self.parts)


class PagedCache:
    """Every part of a layer is a pool of blocks (blocks, tokens of a block, heads, width).

    The blocks of a sequence lie anywhere in the pool: `table` says where.

    Parameters
    ----------
    parts
        For every layer its parts.
    table
        Number of the block that holds each stretch of a sequence, shape (sequences, stretches).
    """

    is_paged = True

    def __init__(self, parts: list[tuple[Any, ...]], table: Any) -> None:
        self.parts = parts
        # Kernels that read blocks take numbers of 32 bit.
        self.table = table.to(torch.int32)
        self.block_token_count = int(parts[0][0].shape[1])
        # Made once: a step must not compute places, and all layers have the same.
        heads = {part.shape[2] for layer in parts for part in layer}
        self._heads = {
            count: torch.arange(count, device=table.device)[None, :, None] for count in heads
        }
        tokens = torch.arange(table.shape[1] * self.block_token_count, device=table.device)
        blocks = table[:, tokens // self.block_token_count]
        self._places = blocks * self.block_token_count + tokens % self.block_token_count
        self._ranges: dict[tuple[int, int], Any] = {}

    def prepare(self, first: int, last: int) -> None:
        """Make the list of places of tokens first to last - 1, so that steps only read it."""
        if (first, last) not in self._ranges:
            self._ranges[first, last] = self._places[:, first:last].contiguous()

    def write(self, layer: int, part: int, values: Any, *, first: int, column: int = 0) -> None:
        """Keep new tokens; as `ContiguousCache.write`."""
        sequences, tokens, heads, width = values.shape
        self.prepare(first, first + tokens)
        places = self._ranges[first, first + tokens]
        pool = self.parts[layer][part].flatten(0, 1)[..., column : column + width]
        pool.index_copy_(0, places.view(-1), values.reshape(sequences * tokens, heads, width))

    def read(self, layer: int, part: int, first: int, last: int) -> Any:
        """Bring tokens first to last - 1 into one piece; as `ContiguousCache.read`."""
        pool = self.parts[layer][part]
        self.prepare(first, last)
        places = self._ranges[first, last]
        return pool.flatten(0, 1)[places[:, None, :], self._heads[pool.shape[2]]]

    @property
    def bytes(self) -> int:
        """[B] Of all parts."""
        return _bytes(self.parts)


Cache = ContiguousCache | PagedCache


def _bytes(parts: list[tuple[Any, ...]]) -> int:
    return sum(part.numel() * part.element_size() for layer in parts for part in layer)


def make_cache(
    model: ModelConfig,
    *,
    batch_size: int,
    context_length: int,
    device: Any,
    dtype: Any,
    block_token_count: int | None = None,
    seed: int | None = None,
) -> Cache:
    """Make a cache, and fill it with random keys and values.

    Parameters
    ----------
    model
        Its sizes.
    batch_size
        Sequences.
    context_length
        [token] That it can hold of each. Layers with a sliding window hold as many.
    device, dtype
        Of its tensors.
    block_token_count
        [token] Of a block; None for one piece.
    seed
        Of its content and of the order of the blocks; None for zeros and for blocks in order.

    Examples
    --------
    >>> from kernels_under_test.models import model_to_run
    >>> cache = make_cache(model_to_run("tiny-llama"), batch_size=2, context_length=20,
    ...                    device=torch.device("cpu"), dtype=torch.float32, block_token_count=16)
    >>> cache.parts[0][0].shape
    torch.Size([4, 16, 2, 16])
    """
    generator = None
    if seed is not None and device.type != "meta":
        generator = torch.Generator(device)
        generator.manual_seed(seed)

    def part(sizes: PartSizes) -> Any:
        if block_token_count is None:
            shape = (batch_size, sizes.heads, context_length, sizes.width)
        else:
            blocks = batch_size * -(-context_length // block_token_count)
            shape = (blocks, block_token_count, sizes.heads, sizes.width)
        if seed is None:
            return torch.zeros(shape, dtype=dtype, device=device)
        return torch.empty(shape, dtype=dtype, device=device).normal_(generator=generator)

    sizes = part_sizes(model)
    parts = [tuple(part(one) for one in sizes) for _ in range(model.layer_count)]
    if block_token_count is None:
        return ContiguousCache(parts)
    count = batch_size * -(-context_length // block_token_count)
    order = torch.arange(count, device=device)
    if generator is not None:
        order = torch.randperm(count, generator=generator, device=device)
    return PagedCache(parts, order.view(batch_size, -1))
