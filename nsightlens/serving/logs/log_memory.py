"""What a server's log says of memory -> columns of ``serving_runs``: per GPU, and per KV pool.

Workers of one server each print their own; vLLM takes the smallest pool for all, and so does this.
"GB" of vLLM and SGLang is 2**30 bytes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nsightlens.serving.benchmarks.collected import Collected
    from nsightlens.serving.logs.log_text import LogText, Record
    from nsightlens.serving.logs.log_version import Version

__all__ = ["take_memory"]

_BLOCK_SIZES = (1, 8, 16, 32, 64, 128, 256)
_AGREE = 0.01
"""Relative difference up to which two statements of the pool are one, but for what was rounded."""


def take_memory(log: LogText, version: Version, into: Collected) -> None:
    """Take sizes of memory, weights and the KV pool."""
    _profile(log, into)
    _weights(log, into)
    _blocks(log, into)
    _tokens(log, version, into)
    _sglang(log, into)
    _tensorrt(log, into)


def _line(log: LogText, record: Record) -> str:
    return f"line {log.line_number(record.offset)}"


def _real(log: LogText, into: Collected, column: str, record: Record, group: str) -> None:
    into.real(column, record.match[group], where=_line(log, record))


def _whole(text: str) -> int:
    return int(text.replace(",", "")[:18])


def _smallest(records: Iterable[Record], group: str) -> Record | None:
    return min(records, key=lambda one: float(one.match[group]), default=None)


def _profile(log: LogText, into: Collected) -> None:
    """Take the memory profile of vLLM: of the worker with the smallest pool."""
    override = log.last("v0_override")
    old = _smallest(log.records("v0_profile_062"), "kv")
    new = _smallest(log.records("v0_profile_07"), "kv")
    pool = old or new or _smallest(log.records("kv_avail"), "gib")
    group = "gib" if old is None and new is None else "kv"
    if pool is not None:
        if override is None:
            _real(log, into, "kv_pool_gib", pool, group)
        elif int(override.match["was"]):
            share = int(override.match["now"]) / int(override.match["was"])
            words = "the pool that fits, by num_gpu_blocks_override over the blocks that fit"
            size = float(pool.match[group]) * share
            into.real("kv_pool_gib", size, where=_line(log, override), derived=words)
    if old is not None:
        for column, name in (
            ("total_memory_gib", "total"), ("peak_torch_gib", "peak"), ("non_torch_gib", "nt"),
            ("gpu_memory_utilization", "gmu"),
        ):  # fmt: skip
            _real(log, into, column, old, name)
    elif new is not None:
        _real(log, into, "non_torch_gib", new, "nt")
        _real(log, into, "weights_gib", new, "w")
        peak = float(new.match["w"]) + float(new.match["act"])
        words = "weights and peak of activations added"
        into.real("peak_torch_gib", peak, where=_line(log, new), derived=words)
    budget = log.last("v0_budget_07")
    if budget is not None:
        _real(log, into, "total_memory_gib", budget, "total")
        _real(log, into, "gpu_memory_utilization", budget, "gmu")


def _weights(log: LogText, into: Collected) -> None:
    """Take the largest that any worker loaded: a drafting model prints a line of its own."""
    for name in ("weights_took", "model_took", "sgl_weights"):
        records = list(log.records(name))
        if records:
            largest = max(records, key=lambda one: float(one.match["gib"]))
            _real(log, into, "weights_gib", largest, "gib")
    for name in ("graph", "sgl_graph"):
        graphs = list(log.records(name))
        if graphs:
            largest = max(graphs, key=lambda one: float(one.match["gib"]))
            if float(largest.match["gib"]) > 0:
                _real(log, into, "cuda_graph_gib", largest, "gib")


def _blocks(log: LogText, into: Collected) -> None:
    """Take the blocks of vLLM V0, and their size where two lines tell it."""
    records = [one for one in log.records("v0_blocks") if one.match["dev"] != "CPU"]
    fewest = min(records, key=lambda one: _whole(one.match["gpu"]), default=None)
    if fewest is None:
        return
    count, line = _whole(fewest.match["gpu"]), _line(log, fewest)
    into.count("kv_block_count", count, where=line)
    concurrency = log.last("max_conc")
    if "block_size" not in into.values and concurrency is not None and count:
        tokens = float(concurrency.match["x"]) * _whole(concurrency.match["len"])
        size = min(_BLOCK_SIZES, key=lambda one: abs(one - tokens / count))
        if abs(size - tokens / count) < 0.1 * size:
            words = "concurrency times its tokens, over the blocks"
            into.count("block_size", size, where=_line(log, concurrency), derived=words)
    tokens_of_block = into.values.get("block_size")
    if tokens_of_block:
        total = count * tokens_of_block
        into.count("kv_pool_tokens", total, where=line, derived="blocks times block size")


def _tokens(log: LogText, version: Version, into: Collected) -> None:
    """Take the tokens that the pool of vLLM V1 holds, of which two meanings exist.

    Up to 0.20 the line is the blocks of one group of layers times their size: of a model with
    several groups (sliding windows, Mamba) it is several times too small. From 0.21 on it is the
    concurrency at the largest context times that context. Both agree for all other models; where
    they do not, the second is taken, which holds of every version.
    """
    fewest = min(log.records("kv_tokens"), key=lambda one: _whole(one.match["tok"]), default=None)
    if fewest is None:
        return
    tokens, line = _whole(fewest.match["tok"]), _line(log, fewest)
    factors = list(log.records("max_conc"))
    lowest = min(factors, key=lambda one: float(one.match["x"]), default=None)
    agree = None
    if lowest is not None and float(lowest.match["x"]) > 0:
        factor, length = float(lowest.match["x"]), _whole(lowest.match["len"])
        rounding = 0.005 * length + length  # of two digits, and of a last block of a request
        agree = abs(factor * length - tokens) <= _AGREE * tokens + rounding
        if not agree:
            words = (
                f"{factor:g} requests of {length} tokens: {tokens} of the line before it count one "
                "group of layers"
            )
            tokens = round(factor * length)
            into.note(
                "kv_groups",
                f"{into.path}, {line}: the KV pool is of several groups of layers, so that its "
                "tokens are what fits at the largest context.",
            )
            into.count("kv_pool_tokens", tokens, where=_line(log, lowest), derived=words)
    into.count("kv_pool_tokens", tokens, where=line)
    size = into.values.get("block_size")
    if agree and size and version.is_before(0, 21):
        words = "tokens of the pool over the tokens of a block"
        into.count("kv_block_count", tokens // size, where=line, derived=words)


def _sglang(log: LogText, into: Collected) -> None:
    limits = log.last("sgl_max")
    if limits is not None:
        line = _line(log, limits)
        into.count("kv_pool_tokens", limits.match["tok"], where=line)
        page = into.values.get("block_size")
        if page:
            words = "tokens of the pool over the tokens of a page"
            count = _whole(limits.match["tok"]) // page
            into.count("kv_block_count", count, where=line, derived=words)
    pools: dict[str, list[Record]] = {}
    for record in log.records("sgl_pool"):
        rank = re.search(r"(?:DP\d+ )?(?:TP\d+)?(?: ?EP\d+)?\]", record.line)
        pools.setdefault(rank[0] if rank else "", []).append(record)
    if pools:
        mine = next(iter(pools.values()))
        size = sum(_gib_of(one) for one in mine)
        parts = "K and V added" if mine[0].match["kv"] is None else ""
        words = f"sum of {len(mine)} pools" if len(mine) > 1 else parts
        into.real("kv_pool_gib", size, where=_line(log, mine[0]), derived=words)
        if limits is None and len(mine) == 1:
            into.count("kv_pool_tokens", mine[0].match["tok"], where=_line(log, mine[0]))


def _gib_of(record: Record) -> float:
    whole = record.match["kv"]
    return float(whole) if whole else float(record.match["k"]) + float(record.match["v"])


def _tensorrt(log: LogText, into: Collected) -> None:
    """Take the last pool that was made: the first is of a pass that finds how large it may be."""
    pool = log.last("trt_kv")
    if pool is None:
        return
    into.count("kv_pool_tokens", pool.match["tok"], where=_line(log, pool))
    _real(log, into, "kv_pool_gib", pool, "gib")  # 0.00 where the backend counts elsewhere
    for name, column, group in (
        ("trt_blocks", "kv_block_count", "n"),
        ("trt_batch", "max_num_seqs", "n"),
        ("trt_length", "max_model_len", "n"),
    ):
        record = log.last(name)
        if record is not None:
            into.count(column, record.match[group], where=_line(log, record))
    memory = log.last("trt_memory")
    if memory is not None:
        _real(log, into, "total_memory_gib", memory, "total")
