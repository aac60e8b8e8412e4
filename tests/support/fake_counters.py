"""The metrics that a fake ncu knows on its GPU, and which of them a command line asks for.

Values are those of `nsightlens.example.counters` and what follows from them; a name that is not
here is one that the chip does not have.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nsightlens.example.counters import metrics_of
from nsightlens.example.model import H100_SXM, SECTOR_BYTES, Gpu, Kernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nsightlens.ncurep.spec import Value

    Metrics = dict[str, Value]

FREE = re.compile(r"launch__|device__attribute_|sm__maximum_warps_|profiler__replayer_passes$")
"""What ncu stores with every launch, without a pass."""

SECTIONS: dict[str, str] = {
    "SpeedOfLight": (
        r"gpu__time_duration|gpc__cycles_elapsed|sm__throughput|gpu__compute_memory_throughput"
        r"|gpu__dram_throughput|lts__throughput|l1tex__throughput|sm__cycles_active"
        r"|(dram|sm)__cycles_elapsed\.avg\.per_second|breakdown:"
        r"|(sm__(inst_executed|issue_active|pipe)|dram__cycles_active|lts__|l1tex__).*_elapsed$"
    ),
    "SpeedOfLight_RooflineChart": (
        r"dram__bytes\.sum\.p|smsp__sass_thread_inst_executed_op_[fd].*cycle|"
        r"sm__sass_thread_inst_executed_op_[fd]fma|(dram|smsp?)__cycles_elapsed\.avg\.per_second"
    ),
    "SpeedOfLight_HierarchicalTensorRooflineChart": (
        r"sm__ops_path_tensor_|lts__lts2xbar|lts__cycles_elapsed|l1tex__cycles_elapsed"
        r"|dram__bytes\.sum\.p|(dram|sm)__cycles_elapsed\.avg\.per_second"
    ),
    "ComputeWorkloadAnalysis": r"sm__(inst_executed|issue_active|pipe)",
    "MemoryWorkloadAnalysis": (r"dram__bytes|dram__sectors|lts__t_|l1tex__t_|gpu__dram_throughput"),
    "Occupancy": r"sm__warps_active|sm__maximum_warps",
    "LaunchStats": r"launch__",
    "WarpStateStats": r"smsp__average_warp",
    "SchedulerStats": r"smsp__(warps_|issue_)",
    "SourceCounters": r"smsp__pcsamp_",
    "InstructionStats": r"sm__inst_executed",
}
"""Sections by what they collect, of those metrics that the model has."""

SETS: dict[str, tuple[str, ...]] = {
    "basic": ("LaunchStats", "Occupancy", "SpeedOfLight"),
    "detailed": (
        "LaunchStats", "Occupancy", "SpeedOfLight", "SpeedOfLight_RooflineChart",
        "ComputeWorkloadAnalysis", "MemoryWorkloadAnalysis", "SourceCounters",
    ),
    "full": tuple(SECTIONS),
    "roofline": (
        "SpeedOfLight", "SpeedOfLight_RooflineChart",
        "SpeedOfLight_HierarchicalTensorRooflineChart",
    ),
    "none": (),
}  # fmt: skip
_PASSES_OF_SET = {"basic": 10, "detailed": 25, "full": 38, "roofline": 11}
_ROLL_UPS = ("sum", "avg", "min", "max")


def universe(kernel: Kernel, gpu: Gpu = H100_SXM) -> Metrics:
    """Return every metric that the GPU has, of one launch."""
    metrics: Metrics = dict(metrics_of(kernel, gpu))
    cycles = _number(metrics, "gpc__cycles_elapsed.max")
    seconds = _number(metrics, "gpu__time_duration.sum") / 1e9
    for name in [name for name in metrics if name.endswith("_pred_on.sum.per_cycle_elapsed")]:
        metrics[name.removesuffix(".per_cycle_elapsed")] = _number(metrics, name) * cycles
    read, written = kernel.read_bytes, kernel.written_bytes
    metrics |= {
        "fbpa__dram_read_bytes.sum": read,
        "fbpa__dram_write_bytes.sum": written,
        "dram__bytes.sum": read + written,
        "dram__sectors_read.sum": read / SECTOR_BYTES,
        "dram__sectors_write.sum": written / SECTOR_BYTES,
        "lts__t_bytes.sum.per_second": _number(metrics, "lts__t_bytes.sum") / seconds,
        "l1tex__t_bytes.sum.per_second": kernel.l1_bytes / seconds,
        "l1tex__t_sectors.sum": kernel.l1_bytes / SECTOR_BYTES,
        "gpu__time_duration.avg": seconds * 1e9,
        "gpc__cycles_elapsed.avg.per_second": gpu.sm_clock_hz,
        "sm__cycles_elapsed.avg": cycles,
        "sm__cycles_elapsed.max": cycles,
    }
    metrics |= _other_tensor(gpu)
    # The model has no integer instructions of its own: those of addresses, one to a load.
    metrics["smsp__sass_thread_inst_executed_op_integer_pred_on.sum"] = kernel.l1_bytes / 16
    metrics |= _whole_paths(metrics)
    metrics |= _samples(metrics)
    return metrics


def _other_tensor(gpu: Gpu) -> Metrics:
    """Return the tensor counters of 9.0 that the kernels, all of them fp16, leave at zero."""
    dense = gpu.tensor_op_per_cycle
    totals = {
        "src_bf16_dst_fp32": 2 * dense, "src_tf32_dst_fp32": dense, "src_int8": 4 * dense,
        "src_fp64": 16896.0, "src_int1": 16 * dense,
    }  # fmt: skip
    split = {
        f"op_{instruction}_{source}": peak * share
        for instruction, share in (("hmma", 2 / 3), ("hgmma", 1.0))
        for source, peak in {
            "src_bf16_dst_fp32": dense, "src_tf32_dst_fp32": dense / 2, "src_fp8": 2 * dense,
        }.items()
    }  # fmt: skip
    split |= {f"op_{name}_src_int8": 2 * dense for name in ("imma", "igmma")}
    split |= {f"op_{name}_src_int1": 8 * dense for name in ("bmma", "bgmma")}
    totals["src_fp8"] = 4 * dense
    both = dict(totals)
    for name, peak in split.items():
        both[name] = 2 * peak
        both[f"{name}_sparsity_off"] = peak
        both[f"{name}_sparsity_on"] = 2 * peak
    both |= {"src_fp8_sparsity_off": 2 * dense, "src_fp8_sparsity_on": 4 * dense}
    metrics: Metrics = {}
    for name, peak in both.items():
        metrics[f"sm__ops_path_tensor_{name}.sum"] = 0.0
        metrics[f"sm__ops_path_tensor_{name}.sum.peak_sustained"] = peak
    return metrics


def _whole_paths(metrics: Metrics) -> Metrics:
    """Return the fp16 paths of 9.0 with and without sparsity together."""
    paths = ("hgmma_src_fp16", "hmma_src_fp16_dst_fp32")
    whole: Metrics = {}
    for base in (f"sm__ops_path_tensor_op_{path}" for path in paths):
        whole[f"{base}.sum"] = metrics[f"{base}_sparsity_off.sum"]
        whole[f"{base}.sum.peak_sustained"] = metrics[f"{base}_sparsity_on.sum.peak_sustained"]
    base = "sm__ops_path_tensor_op_hmma_src_fp16_dst"
    for suffix in ("", "_sparsity_off", "_sparsity_on"):
        whole[f"{base}_fp16{suffix}.sum"] = 0.0
        peak = f"fp32{suffix}.sum.peak_sustained"
        whole[f"{base}_fp16{suffix}.sum.peak_sustained"] = {**metrics, **whole}[f"{base}_{peak}"]
    return whole


def _samples(metrics: Mapping[str, Value]) -> Metrics:
    """Return sampled warp states, under the other names that they have there."""
    renamed = {"no_instruction": "no_instructions", "gmma": "warpgroup_arrive"}
    samples: Metrics = {}
    for name, value in metrics.items():
        found = re.match(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio", name)
        if found and isinstance(value, float):
            state = renamed.get(found[1], found[1])
            samples[f"smsp__pcsamp_warps_issue_stalled_{state}"] = round(1000 * value)
    return samples


def _number(metrics: Mapping[str, Value], name: str) -> float:
    value = metrics[name]
    assert isinstance(value, (int, float)), name
    return float(value)


def expressions_of(set_name: str, sections: Iterable[str]) -> list[str]:
    """Return what a set and sections ask for, as expressions over names."""
    return [SECTIONS[name] for name in (*SETS[set_name], *sections)]


def asked(
    metrics: Metrics, by_section: Sequence[str], by_name: Sequence[str], *, has_suffixes: bool
) -> tuple[Metrics, list[str]]:
    """Return the metrics that were asked for, and the names that the chip does not have."""
    unknown = []
    wanted = {name for name in metrics if FREE.match(name)}
    for expression in by_section:
        wanted |= {name for name in metrics if re.match(expression, name)}
    for word in by_name:
        found = _named(metrics, word)
        if not found and not word.startswith("regex:"):
            unknown.append(word)
        wanted |= found
    chosen = {name: value for name, value in metrics.items() if name in wanted}
    if has_suffixes:
        chosen = {**_with_suffixes(chosen), **chosen}
    return chosen, unknown


def _named(metrics: Metrics, word: str) -> set[str]:
    if word.startswith("regex:"):
        expression = re.compile(word.removeprefix("regex:"))
        return {name for name in metrics if expression.search(name)}
    if word.startswith("group:"):
        prefix = "smsp__pcsamp_" if "pcsamp" in word else word
        return {name for name in metrics if name.startswith(prefix)}
    if word.startswith("breakdown:") and word in metrics:
        return {word, *str(metrics[word]).split(",")}
    if "." not in word:  # a base name stands for all that is made of it
        return {name for name in metrics if name == word or name.startswith(f"{word}.")}
    return {word} & metrics.keys()


def _with_suffixes(chosen: Mapping[str, Value]) -> Metrics:
    """Return the other roll-ups, which ncu stores too unless told otherwise; all of one unit."""
    more: Metrics = {}
    for name, value in chosen.items():
        base, dot, suffix = name.rpartition(".")
        if dot and suffix in _ROLL_UPS:
            more |= {f"{base}.{other}": value for other in _ROLL_UPS}
    return more


def passes_of(metrics: Iterable[str], set_name: str | None) -> int:
    """Return how often the kernel is run again to count all of this, as far as a model can tell."""
    if set_name in _PASSES_OF_SET:
        return _PASSES_OF_SET[set_name]
    counted = [name for name in metrics if not FREE.match(name)]
    patched = any("sass" in name for name in counted)
    hardware = sum("peak_sustained" not in name and "sass" not in name for name in counted)
    return max(1, min(9, -(-hardware // 6)) + patched)
