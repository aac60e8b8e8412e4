"""Launches on every architecture, in its own spellings, whose counters agree with one another.

A launch is drawn as what it did: how long each unit was needed and how long it was busy with that.
From this come the counters that ncu would have stored, of which a report may hold all or a few.
What is drawn is possible on the hardware: a pipe is active for at least as long as its counted
operations need, and the maximum over the parts of a side is that of its parts.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st

from nsightlens.devices import peak_rates
from nsightlens.devices.tensor_peaks import resource_of_column
from nsightlens.metrics.catalog import UNIFIED_MEMORY
from nsightlens.metrics.tensor import tensor_paths_of
from support.rooflines import COMPUTE_PARTS, MEMORY, MEMORY_PARTS, SM, SUFFIX
from support.stores import report_of

if TYPE_CHECKING:
    from nsightlens.metrics.tensor import TensorPath
    from support.rooflines import Metrics

DURATION_NS = 1e6
DRAM_THROUGHPUT = f"gpu__dram_throughput{SUFFIX}"
EVIDENCE_KINDS = ("counters", "throughput", "aggregates", "dram", "duration")
"""What a report may hold of a launch, from all of it to hardly anything."""


class Chip(NamedTuple):
    """A device: driver name, SMs, SM clock [kHz], memory clock [kHz] and bus width [bit]."""

    name: str
    sm_count: int
    clock: int
    memory_clock: int
    bus_width: int


CHIPS = {
    "7.0": Chip("Tesla V100-SXM2-16GB", 80, 1_530_000, 877_000, 4096),
    "7.2": Chip("GV11B", 8, 1_377_000, 1_377_000, 256),
    "7.5": Chip("Tesla T4", 40, 1_590_000, 5_001_000, 256),
    "8.0": Chip("NVIDIA A100-SXM4-40GB", 108, 1_410_000, 1_215_000, 5120),
    "8.6": Chip("NVIDIA GeForce RTX 3090", 82, 1_695_000, 9_751_000, 384),
    "8.7": Chip("GA10B", 16, 1_300_000, 1_300_000, 256),
    "8.9": Chip("NVIDIA L40S", 142, 2_520_000, 9_001_000, 384),
    "9.0": Chip("NVIDIA H100 80GB HBM3", 132, 1_980_000, 2_619_000, 5120),
    "10.0": Chip("NVIDIA B200", 148, 1_965_000, 3_996_000, 7680),
    "10.3": Chip("NVIDIA B300", 148, 2_032_000, 3_996_000, 7680),
    "11.0": Chip("GB10B", 20, 1_575_000, 1_575_000, 256),
    "12.0": Chip("NVIDIA GeForce RTX 5090", 170, 2_407_000, 14_001_000, 512),
    "12.1": Chip("GB20B", 48, 2_418_000, 2_418_000, 256),
}
"""By compute capability. Chips that share the memory of a CPU have names that no table knows: the
bandwidth of a data sheet would not follow the clocks of a report."""

UNIFIED_NAMES = {"7.2": "Xavier", "8.7": "Orin", "11.0": "Thor", "12.1": "GB10"}
"""Names that the table knows of those that share the memory of a CPU."""

_WITH_FP16_PIPE = ("7.0", "7.2", "7.5", "8.0")
_FP16_IN_BOTH_HALVES = ("8.7", "9.0")
_CORE_COUNTERS = {"fp32": ("f", 2), "fp64": ("d", 2), "fp16": ("h", 4)}
# The SM clock under ncu is below that of the attributes.
_CLOCK_SHARE = 0.75


def configured(cc: str) -> Metrics:
    """Return what ncu stores of the device and of the configuration of a launch."""
    chip = CHIPS[cc]
    major, minor = cc.split(".")
    return {
        "device__attribute_display_name": chip.name,
        "device__attribute_compute_capability_major": int(major),
        "device__attribute_compute_capability_minor": int(minor),
        "device__attribute_multiprocessor_count": chip.sm_count,
        "device__attribute_clock_rate": chip.clock,
        "device__attribute_memory_clock_rate": chip.memory_clock,
        "device__attribute_global_memory_bus_width": chip.bus_width,
        "device__attribute_integrated": int(cc in UNIFIED_MEMORY),
        "launch__grid_size": 10 * chip.sm_count,
        "launch__block_size": 256,
        "launch__waves_per_multiprocessor": 5.0,
        "sm__cycles_elapsed.avg.per_second": _CLOCK_SHARE * chip.clock * 1e3,
        "gpu__time_duration.sum": DURATION_NS,
    }


@cache
def peak(cc: str, resource: str) -> float:
    """Return the peak of a resource of a launch without stored peaks; NaN where there is none."""
    return float(peak_rates(report_of(configured(cc)), [resource]).rate[resource][0])


def work(cc: str, resource: str, fraction: float) -> float:
    """Return the work that needs a fraction of the duration at the peak."""
    return fraction * peak(cc, resource) * DURATION_NS * 1e-9


percents = st.integers(0, 1_000).map(lambda n: n / 1_000)
# An addition or an idle thread keeps a pipe busy without counting in full.
overheads = st.integers(1_000, 2_000).map(lambda n: n / 1_000)


limits = st.sampled_from([0.05, 0.3, 0.6, 1.0])


class Work(NamedTuple):
    """What a launch did, as fractions of the duration [1]: needed, and active where longer."""

    needed: dict[str, float]
    active: dict[str, float]


@st.composite
def work_done(draw: st.DrawFn, cc: str) -> Work:
    """Draw what a launch did."""
    limit, of_memory = draw(limits), draw(limits)
    needed = {name: limit * draw(percents) / 2 for name in ("fp32", "fp64", "fp16")}
    busy = {name: value * draw(overheads) for name, value in needed.items()}
    integer = limit * draw(percents) / 2
    has_own_fp16 = cc in _WITH_FP16_PIPE
    half = 0.0 if has_own_fp16 else busy["fp16"]
    light = busy["fp32"] + (half if cc in _FP16_IN_BOTH_HALVES else 0.0)
    heavy = busy["fp32"] + half + integer
    scale = max(1.0, heavy)
    light, heavy = light / scale, heavy / scale
    needed |= {name: needed[name] / scale for name in ("fp32", "fp16")}
    active = {name: limit * draw(percents) for name in ("issue", "alu", "xu")}
    active |= {name: of_memory * draw(percents) for name in ("dram", "l2", "l1")}
    # L1 takes in what the load/store pipe sends, but on Volta, where the pipe can be busier.
    most = min(1.0, active["l1"] * (1.3 if cc in ("7.0", "7.2") else 1.0))
    active |= {"fp64": busy["fp64"], "lsu": most * draw(percents)}
    if has_own_fp16:
        active |= {"fma": (busy["fp32"] + integer) / scale, "fp16": busy["fp16"]}
    elif cc == "8.0":
        active["fma"] = heavy
    else:
        active |= {"fma": (light + heavy) / 2, "heavy": heavy}
    active["tensor"] = limit * draw(percents)
    # Loads, stores, special functions and more: as busy as with any of them or with their sum.
    active["mio"] = draw(st.sampled_from([0.0, active["lsu"] / 2, limit * draw(percents)]))
    # The percentage of DRAM is the largest of several counters, its bytes are another.
    needed["dram"] = active["dram"] / draw(st.sampled_from([1.0, 1.0, 1.05, 1.2]))
    needed["tensor"] = active["tensor"] / draw(overheads)
    return Work(needed, active)


def throughput(done: Work, cc: str, *, has_parts: bool) -> Metrics:
    """Return percentages: the maxima of both sides, and their parts where they are wanted."""
    compute = {
        COMPUTE_PARTS[name]: 100.0 * value
        for name, value in done.active.items()
        if name in COMPUTE_PARTS
    }
    memory = {
        counter: 100.0 * done.active[name]
        for name, counter in MEMORY_PARTS.items()
        if name != "dram" or cc not in UNIFIED_MEMORY
    }
    maxima: Metrics = {SM: max(compute.values()), MEMORY: max(memory.values())}
    if cc not in UNIFIED_MEMORY:
        maxima[DRAM_THROUGHPUT] = 100.0 * done.active["dram"]
    if not has_parts:
        return maxima
    lists: Metrics = {
        f"breakdown:{SM}": ",".join(name + SUFFIX for name in compute),
        f"breakdown:{MEMORY}": ",".join(name + SUFFIX for name in memory),
    }
    return maxima | lists | {name + SUFFIX: value for name, value in (compute | memory).items()}


def counters(done: Work, cc: str, path: TensorPath | None) -> Metrics:
    """Return counted operations and DRAM bytes, in the spellings of the architecture."""
    metrics: Metrics = {}
    for name, (letter, per_instruction) in _CORE_COUNTERS.items():
        total = work(cc, name, done.needed[name])
        if not math.isnan(total):
            prefix = f"smsp__sass_thread_inst_executed_op_{letter}"
            metrics |= {f"{prefix}{one}_pred_on.sum": 0.0 for one in ("add", "mul")}
            metrics[f"{prefix}fma_pred_on.sum"] = total / per_instruction
    for one in tensor_paths_of(cc):
        metrics |= {f"{base}.sum": 0.0 for base in one.bases}
    if path is not None:
        total = work(cc, resource_of_column(path.column), done.needed["tensor"])
        metrics[f"{path.bases[-1]}.sum"] = total
    return metrics | dram_bytes(done.needed["dram"], cc)


def dram_bytes(fraction: float, cc: str) -> Metrics:
    """Return the bytes that need a fraction of the duration; none where there are no counters."""
    if cc in UNIFIED_MEMORY:
        return {}
    state = "op_" if cc.startswith("12") else ""
    chip, total = CHIPS[cc], work(cc, "dram", fraction)
    return {
        f"dram__bytes_{state}read.sum": 0.75 * total,
        f"dram__bytes_{state}write.sum": 0.25 * total,
        "dram__bytes.sum.peak_sustained": chip.bus_width / 4.0,
        "dram__cycles_elapsed.avg.per_second": chip.memory_clock * 1e3,
    }


@st.composite
def traffic(draw: st.DrawFn, metrics: Metrics) -> Metrics:
    """Draw what L2 misses of a launch on a chip without DRAM counters, with or without its peak."""
    major, minor = (
        metrics[f"device__attribute_compute_capability_{one}"] for one in ("major", "minor")
    )
    cc = f"{major}.{minor}"
    if cc not in UNIFIED_MEMORY:
        return {}
    name = {"device__attribute_display_name": UNIFIED_NAMES[cc]}
    bandwidth = float(peak_rates(report_of(configured(cc) | name), ["dram"]).rate["dram"][0])
    sectors = draw(limits) * draw(percents) * bandwidth * DURATION_NS * 1e-9 / 32
    missed: Metrics = {"lts__t_sectors_aperture_sysmem_lookup_miss.sum": sectors}
    return missed | (name if draw(st.booleans()) else {})


@st.composite
def launches(draw: st.DrawFn, kinds: tuple[str, ...] = EVIDENCE_KINDS) -> Metrics:
    """Draw the metrics of a launch on some architecture, with some kind of evidence."""
    cc = draw(st.sampled_from(sorted(CHIPS)))
    done, kind = draw(work_done(cc)), draw(st.sampled_from(kinds))
    metrics = configured(cc)
    if kind in ("counters", "throughput", "aggregates"):
        metrics |= throughput(done, cc, has_parts=kind != "aggregates")
    if kind == "dram" and cc not in UNIFIED_MEMORY:
        metrics[DRAM_THROUGHPUT] = 100.0 * done.active["dram"]
    if kind == "counters":
        paths = [
            path
            for path in tensor_paths_of(cc)
            if peak(cc, resource_of_column(path.column)) > 0
            and path.column != "tensor_fp64_flop_count"
        ]
        metrics |= counters(done, cc, draw(st.sampled_from(paths)) if paths else None)
    return metrics
