"""Percent-of-peak counters: which part of which unit stands for which resource.

``sm__throughput`` and ``gpu__compute_memory_throughput`` are each the maximum of a list of
counters, and reports store that list (``breakdown:...``) and the counters. One counter in the list
of the SM belongs to the compute side or to the memory side: instructions on their way to L1,
shared memory or textures use slots of the SM, and yet it is memory that they wait for. `PARTS` says
which is which. Two parts of the SM belong to neither, for instructions of both sides go through
them: see `nsightlens.analysis.fma` and `nsightlens.analysis.mio`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsightlens.devices.columns import metric, text_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.metric_store import MetricStore

__all__ = ["PARTS", "Activity", "Part", "counter_fractions", "measure_activity", "part_of"]

_SUFFIX = ".avg.pct_of_peak_sustained_elapsed"
_BREAKDOWNS = {
    "compute": f"breakdown:sm__throughput{_SUFFIX}",
    "memory": f"breakdown:gpu__compute_memory_throughput{_SUFFIX}",
}


class Part(NamedTuple):
    """A pattern of counter names (without suffix), the resource it stands for, and why.

    An empty resource means that the counter is a sum of others of the list and says nothing new.
    """

    pattern: str
    resource: str
    why: str


PARTS: tuple[Part, ...] = (
    # Compute: pipes.
    Part(r"sm__pipe_tensor_(op|subpipe)_dmma_cycles_active", "tensor_fp64", "FP64 on tensor cores"),
    Part(r"sm__pipe_tensor_.*cycles_active", "tensor", "tensor pipes, any other data type"),
    Part(r"sm__inst_executed_pipe_tensor.*", "tensor", "tensor pipes, by instructions"),
    Part(r"sm__pipe_fp64_cycles_active", "fp64", "FP64 pipe"),
    Part(r"sm__pipe_shared_cycles_active", "", "FP64, FP16 and tensor pipes share a port"),
    Part(r"sm__pipe_fma_cycles_active", "fma", "FP32 and integer multiply-add; FP16 from 8.6 on"),
    Part(r"sm__pipe_fmaheavy_cycles_active", "fmaheavy", "the half of fma that can do integers"),
    Part(r"sm__inst_executed_pipe_fp16.*", "fp16", "half2 instructions"),
    Part(r"sm__pipe_alu_cycles_active", "integer", "integer and logic"),
    Part(r"sm__inst_executed_pipe_uniform", "integer", "integer work once per warp"),
    Part(r"sm__inst_executed_pipe_(xu|ipa)", "xu", "special functions and conversions"),
    # Compute: the way of every instruction.
    Part(r"sm__(issue_active|inst_executed)", "issue", "issue slots"),
    Part(r"sm__inst_executed_pipe_(cbu|adu).*", "issue", "branches, barriers, divergence"),
    Part(r"sm__instruction_throughput_internal_activity", "issue", "not disclosed, instructions"),
    # Memory: from the SM to L1, shared memory, constants and textures.
    Part(r"sm__inst_executed_pipe_(lsu|tex|tma).*", "l1", "loads and stores on their way to L1"),
    Part(r"sm__pipe_tma_cycles_active", "l1", "bulk copies to shared memory"),
    Part(r"sm__mio.*", "mio", "its queues carry memory access, special functions, some FP64"),
    Part(r"sm__memory_throughput_internal_activity", "l1", "not disclosed, memory"),
    Part(r"idc__.*", "l1", "indexed constants: a cache beside L1"),
    # Memory: levels.
    Part(r"l1tex__m_xbar2l1tex_read_sectors_mem_dshared", "l1", "shared memory of another SM"),
    Part(r"l1tex__m_(xbar2l1tex|l1tex2xbar).*", "l2", "between L1 and L2: what L2 is asked for"),
    Part(r"l1tex__.*", "l1", "L1 and shared memory"),
    Part(r"lts__.*", "l2", "L2"),
    Part(r"ltc__.*", "l2", "L2"),
    Part(r"(dram|fbpa)__.*", "dram", "DRAM"),
    Part(r"mcc__dram_.*", "dram", "DRAM that is shared with the CPU, at its controller"),
    Part(r"gpu__compute_memory_(access|request)_throughput_internal_activity", "memory",
         "not disclosed, any level"),
    # What later versions may add: by unit.
    Part(r"sm__.*memory.*", "l1", "by its name"),
    Part(r"sm__.*|smsp__.*", "issue", "any other part of the SM"),
    Part(r".*", "memory", "any other part of the memory system"),
)  # fmt: skip
"""First match counts. ``fma``, ``fmaheavy`` and ``mio`` are no resources: see `Activity`."""

_COMPILED = tuple((re.compile(part.pattern + r"\Z"), part) for part in PARTS)

# Counters of the list that are looked for even where a report lacks the list itself.
_ALWAYS = tuple(
    name + _SUFFIX
    for name in (
        "sm__issue_active", "sm__inst_executed", "sm__pipe_alu_cycles_active",
        "sm__pipe_fma_cycles_active", "sm__pipe_fmaheavy_cycles_active",
        "sm__pipe_fp64_cycles_active", "sm__pipe_tensor_cycles_active",
        "sm__inst_executed_pipe_xu", "sm__inst_executed_pipe_fp16", "sm__inst_executed_pipe_lsu",
        "sm__inst_executed_pipe_tex", "l1tex__data_pipe_lsu_wavefronts", "l1tex__lsuin_requests",
        "l1tex__data_bank_reads", "l1tex__data_bank_writes", "l1tex__lsu_writeback_active",
        "lts__t_sectors", "lts__t_tag_requests", "lts__d_sectors", "lts__lts2xbar_cycles_active",
        "lts__xbar2lts_cycles_active", "dram__cycles_active", "fbpa__dram_sectors",
    )
)  # fmt: skip


class _CounterList(NamedTuple):
    """One distinct list of counters, and the launches that have it."""

    is_of_launch: NDArray[np.bool_]
    counters: list[str]


class Activity(NamedTuple):
    """How busy parts of the GPU were, by percent-of-peak counters.

    Parameters
    ----------
    fraction
        [1] By resource, NaN where nothing was measured. Each of shape (launches,).
    fma, fma_heavy
        [1] Activity of the fma pipe and of its heavy half, which are no resources: see
        `nsightlens.analysis.fma`. NaN where nothing was measured. Shape (launches,).
    mio
        [1] Activity of the MIO, which is no resource either: see `nsightlens.analysis.mio`. NaN
        where nothing was measured. Shape (launches,).
    has_all_compute_parts, has_all_memory_parts
        Every counter in the list of that side has a value, so that the maximum over the parts is
        the side. Shape (launches,).
    """

    fraction: dict[str, NDArray[np.float64]]
    fma: NDArray[np.float64]
    fma_heavy: NDArray[np.float64]
    mio: NDArray[np.float64]
    has_all_compute_parts: NDArray[np.bool_]
    has_all_memory_parts: NDArray[np.bool_]


def part_of(counter: str) -> Part:
    """Return what a percent-of-peak counter stands for.

    Examples
    --------
    >>> part_of("sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed").resource
    'l1'
    """
    name = counter.partition(".")[0]
    return next(part for pattern, part in _COMPILED if pattern.match(name))


def counter_fractions(store: MetricStore) -> dict[str, NDArray[np.float64]]:
    """Return every percent-of-peak counter of a part [1], by its name. Each of shape (n,)."""
    return _fractions(store, _counter_lists(store))


def _counter_lists(store: MetricStore) -> dict[str, list[_CounterList]]:
    return {side: _listed_counters(store, name) for side, name in _BREAKDOWNS.items()}


def _fractions(
    store: MetricStore, lists: dict[str, list[_CounterList]]
) -> dict[str, NDArray[np.float64]]:
    listed = (name for found in lists.values() for one in found for name in one.counters)
    counters = dict.fromkeys([*_ALWAYS, *listed])
    return {name: metric(store, name) / 100.0 for name in counters if name in store.index_of}


def measure_activity(store: MetricStore) -> Activity:
    """Read the percent-of-peak counters of all launches."""
    lists = _counter_lists(store)
    values = _fractions(store, lists)
    fraction: dict[str, NDArray[np.float64]] = {}
    for name, value in values.items():
        resource = part_of(name).resource
        if resource:
            known = fraction.get(resource)
            fraction[resource] = value if known is None else np.fmax(known, value)
    missing = np.full(store.launch_count, np.nan)
    fma, heavy = fraction.pop("fma", missing), fraction.pop("fmaheavy", missing)
    return Activity(
        fraction,
        fma,
        heavy,
        fraction.pop("mio", missing),
        _has_all(values, lists["compute"], store.launch_count),
        _has_all(values, lists["memory"], store.launch_count),
    )


def _listed_counters(store: MetricStore, breakdown: str) -> list[_CounterList]:
    """Read the distinct lists of a breakdown."""
    if breakdown not in store.index_of:
        return []
    code, texts = text_column({"list": store.column(breakdown)}, "list")
    return [
        _CounterList(code == i, [name.strip() for name in text.split(",") if name.strip()])
        for i, text in enumerate(texts)
        if text
    ]


def _has_all(
    values: dict[str, NDArray[np.float64]], lists: list[_CounterList], count: int
) -> NDArray[np.bool_]:
    """Say where every counter of the launch's own list has a value."""
    complete = np.zeros(count, dtype=bool)
    for one in lists:
        if one.counters and all(name in values for name in one.counters):
            known = np.all([~np.isnan(values[name]) for name in one.counters], axis=0)
            complete |= one.is_of_launch & known
    return complete
