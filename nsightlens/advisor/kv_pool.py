"""The memory of the servers that a choice was measured with: budget, overhead, KV pool, blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.advisor.constraints import plausible, plausible_value
from nsightlens.errors import AdviceError, FilterError
from nsightlens.models import kv_block_bytes, part_of_model

if TYPE_CHECKING:
    from nsightlens.advisor.answers import BatchChoice
    from nsightlens.models import ModelConfig

__all__ = ["GIB", "KvPool", "kv_pool_of", "runs_of_choice"]

GIB = 2.0**30
_BLOCK_TOKENS = {"vllm": 16, "sglang": 1}
"""[token] Tokens of a block where no file says it: the engine's default."""
_LARGEST_DISAGREEMENT = 0.02
"""Of the size of a block by the model against that of the log, whose numbers have three digits."""
_ROUNDING_GIB = 0.02
"""[GiB] By which sums of numbers with two decimals may differ."""


@dataclass(frozen=True, slots=True)
class KvPool:
    """Memory of one server, as measured at the choice; None where it is not known.

    Parameters
    ----------
    total_gib
        [GiB] Of the GPU.
    gpu_memory_utilization
        [1] Part of it that the server may use.
    pool_gib, peak_pct
        [GiB], [%] The KV pool, and its largest use.
    block_count, block_gib
        Blocks of the pool, and the size of one [GiB]. In tokens where an engine has no blocks.
    overhead_gib
        [GiB] What of the budget is not KV pool: weights, activations, context.
    cuda_graph_gib
        [GiB] Of CUDA graphs.
    least_block_count
        Blocks of one sequence of the longest context: with fewer, servers refuse to start.
    """

    total_gib: float | None
    gpu_memory_utilization: float | None
    pool_gib: float | None
    peak_pct: float | None
    block_count: float | None
    block_gib: float | None
    overhead_gib: float | None
    cuda_graph_gib: float | None
    least_block_count: int

    @property
    def used_gib(self) -> float | None:
        """The largest use [GiB]."""
        if self.pool_gib is None or self.peak_pct is None:
            return None
        return self.pool_gib * self.peak_pct / 100

    def blocks_needed(self, margin: float) -> int | None:
        """Return the blocks of the largest use with a margin: ceil(peak / 100 N (1 + margin))."""
        if self.block_count is None or self.peak_pct is None:
            return None
        # A product such as 0.25 * 1.1 * 1000 is 275.00000000000006: that needs 275 blocks, not 276.
        used = self.peak_pct / 100 * self.block_count * (1 + margin)
        return max(math.ceil(used - 1e-6), self.least_block_count)

    def needed_gib(self, margin: float) -> float | None:
        """Return the same as a size [GiB]; of the pool where blocks are not known."""
        blocks = self.blocks_needed(margin)
        if blocks is not None and self.pool_gib is not None and self.block_count:
            return blocks * self.pool_gib / self.block_count
        return None if self.used_gib is None else self.used_gib * (1 + margin)


def runs_of_choice(runs: pa.Table, choice: BatchChoice) -> pa.Table:
    """Return the runs that the row of a choice was made of; an empty table where it names none."""
    name = str((choice.row or {}).get("run") or "")
    names = pa.array([name, *name.split(" + ")], pa.string())
    return runs.filter(pc.is_in(runs["run"], value_set=names))


def kv_pool_of(runs: pa.Table, choice: BatchChoice, model: ModelConfig | None) -> KvPool:
    """Return the memory of the servers of a choice.

    Of repeated runs the median is taken. Between measured batch sizes it is the worse of the two:
    more overhead, fewer blocks.

    Parameters
    ----------
    runs
        With the schema ``SERVING_RUNS``.
    choice
        Of a curve of these runs.
    model
        Sizes of the model, which give the size of a block exactly; from the pool without it.

    Raises
    ------
    AdviceError
        Nothing was chosen.
    """
    if choice.row is None:
        raise AdviceError("Nothing was chosen, so its memory cannot be looked at.")
    chosen = runs_of_choice(runs, choice)

    def known(name: str, *, most: bool) -> float | None:
        values = plausible(chosen, name)
        values = values[~np.isnan(values)]
        if not values.size:
            return None
        if choice.is_interpolated:
            return float(values.max() if most else values.min())
        return float(np.median(values))

    pool = plausible_value(choice.row["kv_pool_gib"]) or known("kv_pool_gib", most=False)
    tokens_of_block = known("block_size", most=True) or _BLOCK_TOKENS.get(_text(chosen, "engine"))
    blocks = known("kv_block_count", most=False)
    if blocks is None and tokens_of_block:
        tokens = known("kv_pool_tokens", most=False)
        blocks = None if tokens is None else tokens // tokens_of_block
    block = _block_gib(chosen, model, tokens_of_block, pool, blocks)
    if blocks is None and pool is not None and block is not None:
        blocks = float(pool // block)
    if pool is None and blocks is not None and block is not None:
        pool = blocks * block
    total = known("total_memory_gib", most=False)
    utilization = known("gpu_memory_utilization", most=False)
    if utilization is not None and utilization > 1:
        utilization = None  # no part of a memory: a percentage, or another setting of that name
    torch, beside = known("peak_torch_gib", most=True), known("non_torch_gib", most=True)
    longest = known("max_model_len", most=True)
    least = math.ceil(longest / tokens_of_block) if longest and tokens_of_block else 0
    return KvPool(
        total_gib=total,
        gpu_memory_utilization=utilization,
        pool_gib=pool,
        peak_pct=plausible_value(choice.row["kv_peak_pct"]),
        block_count=blocks,
        block_gib=block,
        overhead_gib=_overhead(
            total, utilization, pool, None if torch is None else (torch, beside)
        ),
        cuda_graph_gib=known("cuda_graph_gib", most=True),
        least_block_count=least,
    )


def _overhead(
    total: float | None,
    utilization: float | None,
    pool: float | None,
    parts: tuple[float, float | None] | None,
) -> float | None:
    """Return what of the budget is no KV pool [GiB].

    By its parts, as the server's log prints them, which is more exact than what the pool leaves;
    by the latter where the pool shows that something else was subtracted too, such as CUDA graphs.
    """
    summed = None if parts is None or parts[1] is None else parts[0] + parts[1]
    if total is None or utilization is None or pool is None:
        return summed
    left = total * utilization - pool
    if summed is not None and left <= summed + _ROUNDING_GIB:
        return summed
    return max(left, 0.0)


def _block_gib(
    chosen: pa.Table,
    model: ModelConfig | None,
    tokens_of_block: float | None,
    pool: float | None,
    blocks: float | None,
) -> float | None:
    measured = pool / blocks if pool is not None and blocks else None
    if model is None or not tokens_of_block:
        return measured
    parallel = plausible(chosen, "tensor_parallel_size")
    count = 1 if np.isnan(parallel).all() else int(np.nanmax(parallel))
    try:
        part = part_of_model(model, count)
    except FilterError:
        return measured
    dtype = _text(chosen, "kv_cache_dtype")
    if dtype in {"", "auto"}:
        dtype = _text(chosen, "dtype")
    one = 1.0 if "8" in dtype else 4.0 if "32" in dtype else 2.0
    size = kv_block_bytes(part, block_token_count=int(tokens_of_block), kv_bytes=one) / GIB
    if measured is not None and abs(size / measured - 1) > _LARGEST_DISAGREEMENT:
        return measured
    return size


def _text(chosen: pa.Table, name: str) -> str:
    """Return the text of the first run that has one, in lower case; empty where none has."""
    return next((str(one).lower() for one in chosen[name].to_pylist() if one), "")
