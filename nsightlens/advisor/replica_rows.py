"""How much memory each of several servers has, and what they were measured or predicted to do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.advisor.constraints import is_within, plausible
from nsightlens.advisor.run_columns import numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nsightlens.advisor.answers import Slo
    from nsightlens.advisor.kv_pool import KvPool

__all__ = ["ReplicaCase", "ReplicaMemory", "replica_memory", "replica_rows"]

Row = dict[str, Any]


class ReplicaMemory(NamedTuple):
    """Memory of each of R servers: its setting, its KV pool [GiB], its blocks; None if unknown."""

    gpu_memory_utilization: float | None
    pool_gib: float | None
    block_count: int | None


def replica_memory(pool: KvPool, replicas: int, extra_gib: float) -> ReplicaMemory:
    """Predict the memory of each of R servers with equal shares of the GPU.

    ::

        pool_R = total gpu_memory_utilization / R - overhead - extra   (extra: R > 1)
        blocks_R = floor(pool_R / block)

    Parameters
    ----------
    pool
        Of one server alone.
    replicas
        R.
    extra_gib
        [GiB] What a server needs beside a second one: context, and workspace that the first does
        not count as its own.
    """
    setting = pool.gpu_memory_utilization
    share = None if setting is None else setting / replicas
    if share is None or pool.total_gib is None or pool.overhead_gib is None:
        return ReplicaMemory(share, None, None)
    extra = extra_gib if replicas > 1 else 0.0
    size = max(pool.total_gib * share - pool.overhead_gib - extra, 0.0)
    blocks = None if not pool.block_gib else math.floor(size / pool.block_gib + 1e-9)
    return ReplicaMemory(share, size, blocks)


@dataclass(frozen=True, eq=False)
class ReplicaCase:
    """What the rows of replicas are made from.

    Parameters
    ----------
    row
        Of the choice.
    batch_size
        Of each server.
    is_measured
        Whether the choice itself was measured.
    runs
        Runs of several servers of that batch size, with the schema ``SERVING_RUNS``.
    singles
        Runs of one server of that batch size.
    pool
        Memory of one server alone.
    needed_blocks, needed_gib
        What a server needs of its pool.
    slos, limits_ms
        Limits to check again.
    busy_share
        [1] Of a step with a kernel on the GPU, at one server.
    throughput_column
        Of ``serving_runs``.
    most
        Servers to look at.
    extra_gib
        See `replica_memory`.
    """

    row: Row
    batch_size: float
    is_measured: bool
    runs: pa.Table
    singles: pa.Table
    pool: KvPool
    needed_blocks: int | None
    needed_gib: float | None
    slos: tuple[Slo, ...]
    limits_ms: tuple[float, ...]
    busy_share: float | None
    throughput_column: str
    most: int
    extra_gib: float

    def bound(self, replicas: int) -> float | None:
        """min(R, 1 / busy share): idle time is all that further servers can fill."""
        return None if self.busy_share is None else min(float(replicas), 1 / self.busy_share)

    def fits(self, memory: ReplicaMemory) -> bool | None:
        """Whether the pool of each server holds what it needs; None where that is not known."""
        if memory.block_count is not None and self.needed_blocks is not None:
            return memory.block_count >= self.needed_blocks
        if memory.pool_gib is not None and self.needed_gib is not None:
            return memory.pool_gib >= self.needed_gib
        return None

    def meets(self, latencies_ms: Sequence[float | None]) -> bool | None:
        """Whether latencies meet the limits: False wins over not known. None without a limit."""
        pairs = zip(latencies_ms, self.limits_ms, strict=True)
        met = [None if one is None else bool(is_within(one, limit)) for one, limit in pairs]
        if False in met:
            return False
        return True if met and None not in met else None

    def meets_at(self, row: Row, replicas: int) -> bool | None:
        """Whether R servers meet the limits at the bound, where one has the latencies of a row.

        Of the time to the first token that is not known: it is mostly queueing, which does not
        follow the time of a step.
        """
        bound = self.bound(replicas)
        alone = [None if slo.metric == "ttft" else row.get(slo.column) for slo in self.slos]
        return self.meets(
            [None if one is None or bound is None else one * replicas / bound for one in alone]
        )


def replica_rows(case: ReplicaCase) -> list[Row]:
    """Return rows of ``ADVICE_REPLICAS`` in the order of R, those without MPS first.

    Measured runs stand in place of predictions for the same R with MPS; what ran shows too that
    fewer servers fit, and what was preempted that more do not.
    """
    rows = [_single(case)]
    measured = list(_measured(case))
    known = {one["replicas"] for one in measured if one["mps"] is not False}
    counts = [count for count in range(2, case.most + 1) if count not in known]
    rows += measured + [_predicted(case, count, measured) for count in counts]
    return sorted(rows, key=lambda one: (one["replicas"], one["mps"] is True))


def _single(case: ReplicaCase) -> Row:
    memory = replica_memory(case.pool, 1, case.extra_gib)
    pool, blocks = case.pool.pool_gib, case.pool.block_count
    latencies = [case.row.get(slo.column) for slo in case.slos]
    return {
        **_common(case, 1, memory),
        "mps": False,
        "kv_pool_gib": memory.pool_gib if pool is None else pool,
        "kv_block_count": memory.block_count if blocks is None else blocks,
        "fits": True,
        "origin": "measured" if case.is_measured else "predicted",
        "gain": 1.0,
        "throughput_tok_s": case.row.get("throughput_tok_s"),
        "itl_ms": case.row.get("itl_ms"),
        "meets_slo": case.meets(latencies),
        "note": "one server" if case.is_measured else "one server, interpolated",
    }


def _predicted(case: ReplicaCase, replicas: int, measured: Sequence[Row]) -> Row:
    memory = replica_memory(case.pool, replicas, case.extra_gib)
    fits, note = case.fits(memory), _note(case, memory)
    ran = [one["replicas"] for one in measured if one["fits"]]
    failed = [one["replicas"] for one in measured if one["fits"] is False]
    if ran and replicas <= max(ran):
        fits, note = True, f"{max(ran)} servers ran without preemption"
    elif failed and replicas >= min(failed):
        fits, note = False, f"{min(failed)} servers were preempted"
    # What does not fit gains nothing: neither a throughput nor a latency is promised for it.
    bound = case.bound(replicas) if fits is not False else None
    throughput, itl = case.row.get("throughput_tok_s"), case.row.get("itl_ms")
    return {
        **_common(case, replicas, memory),
        "mps": True,
        "fits": fits,
        "origin": "predicted",
        "gain": bound,
        "throughput_tok_s": None if bound is None or throughput is None else throughput * bound,
        "itl_ms": None if bound is None or itl is None else itl * replicas / bound,
        "meets_slo": case.meets_at(case.row, replicas) if bound is not None else None,
        "note": note,
    }


def _common(case: ReplicaCase, replicas: int, memory: ReplicaMemory) -> Row:
    return {
        "replicas": replicas,
        "batch_size": case.batch_size,
        "gpu_memory_utilization": memory.gpu_memory_utilization,
        "kv_pool_gib": memory.pool_gib,
        "kv_block_count": memory.block_count,
        "kv_blocks_needed": case.needed_blocks,
        "gain_bound": case.bound(replicas),
    }


def _note(case: ReplicaCase, memory: ReplicaMemory) -> str:
    if memory.pool_gib == 0:
        return "weights and activations leave no memory for a KV pool"
    if memory.block_count is not None and case.needed_blocks is not None:
        return f"{memory.block_count:,} blocks, {case.needed_blocks:,} needed"
    return "" if case.fits(memory) is not None else "whether they fit is not known"


def _measured(case: ReplicaCase) -> Iterator[Row]:
    """Yield a row for each number of servers, with or without MPS and chunked prefill."""
    if case.runs.num_rows == 0:
        return
    count = plausible(case.runs, "replicas")
    mps, chunked = numbers(case.runs, "mps"), numbers(case.runs, "chunked_prefill")
    # NaN is not equal to itself; -1 stands for not known.
    keys = np.stack([count, np.nan_to_num(mps, nan=-1), np.nan_to_num(chunked, nan=-1)])
    for key in np.unique(keys, axis=1).T:
        chosen = case.runs.filter(pa.array((keys == key[:, None]).all(axis=0)))
        yield _measured_row(case, int(key[0]), None if key[1] < 0 else bool(key[1]), chosen)


def _measured_row(case: ReplicaCase, replicas: int, mps: bool | None, runs: pa.Table) -> Row:
    preempted = numbers(runs, "preemption_count")
    is_known = not np.isnan(preempted).any()
    lost = float(np.nanmax(preempted, initial=0.0))
    throughput = _median(runs, case.throughput_column)
    base = _base(case, runs)
    source = case.row.get("itl_source") or "mean_itl_ms"
    memory = replica_memory(case.pool, replicas, case.extra_gib)
    latencies = [_median(runs, slo.column) for slo in case.slos]
    words = ["measured"]
    if pc.any(runs["chunked_prefill"]).as_py():
        words.append("with chunked prefill")
    if lost:
        words.append(f"preempted: {lost:g} sequences lost their KV blocks")
    elif not is_known:
        words.append("preemptions not known")
    return {
        **_common(case, replicas, memory),
        "mps": mps,
        "gpu_memory_utilization": _median(runs, "gpu_memory_utilization")
        or memory.gpu_memory_utilization,
        "kv_pool_gib": _median(runs, "kv_pool_gib") or memory.pool_gib,
        "kv_block_count": _median(runs, "kv_block_count") or memory.block_count,
        "fits": False if lost else True if is_known else case.fits(memory),
        "origin": "measured",
        "gain": throughput / base if throughput is not None and base else None,
        "throughput_tok_s": throughput,
        "itl_ms": _median(runs, source) or _median(runs, "mean_itl_ms"),
        "meets_slo": case.meets(latencies),
        "note": ", ".join(words),
    }


def _base(case: ReplicaCase, runs: pa.Table) -> float | None:
    """Return the throughput of one server to compare with: of the same table, else of the choice.

    Runs of another day differ by more than a bound that is near: of the paper's two sweeps of one
    server, one has 1 % more.
    """
    tables = {name.rpartition(": ")[0] for name in runs["run"].to_pylist()} - {""}
    beside = [name.rpartition(": ")[0] in tables for name in case.singles["run"].to_pylist()]
    same = case.singles.filter(pa.array(beside, pa.bool_()))
    chunked = {bool(one) for one in runs["chunked_prefill"].to_pylist()}
    as_chunked = [bool(one) in chunked for one in same["chunked_prefill"].to_pylist()]
    throughput = _median(same.filter(pa.array(as_chunked, pa.bool_())), case.throughput_column)
    return case.row.get("throughput_tok_s") if throughput is None else throughput


def _median(runs: pa.Table, name: str) -> float | None:
    values = plausible(runs, name)
    return None if np.isnan(values).all() else float(np.nanmedian(values))
