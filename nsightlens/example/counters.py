"""Work and time of a modelled kernel, said as the metrics that ncu stores on an H100.

The counters agree with one another by construction: a rate is work over duration, a percentage is
rate over peak, a throughput is the largest of the counters that its breakdown lists, and warp
states add up to the latency. Used by `nsightlens.example.decode_sweep`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nsightlens.example.model import SECTOR_BYTES, Gpu, Kernel, duration_ns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nsightlens.ncurep.spec import Value

__all__ = ["device_metrics", "metrics_of"]

MAX_WARPS_PER_SM = 64
SCHEDULERS_PER_SM = 4
REPLAY_PASSES = 38
_ELAPSED = "avg.pct_of_peak_sustained_elapsed"
_ACTIVE = "avg.pct_of_peak_sustained_active"
_TENSOR = "sm__ops_path_tensor"
# Warps are not resident from the first cycle to the last.
_RESIDENCY = 0.93
# Shares of instructions by pipe, where the model does not count them.
_ALU_SHARE, _LSU_SHARE = 0.35, 0.12

# Warp states beside `selected` and `long_scoreboard`, as shares of the rest, by family. The data
# dependence of long_scoreboard is in `_stalls`.
_OTHER_STALLS: dict[str, dict[str, float]] = {
    "gemm": {"gmma": 0.55, "barrier": 0.15, "wait": 0.1, "math_pipe_throttle": 0.06,
             "no_instruction": 0.04, "not_selected": 0.03, "branch_resolving": 0.03,
             "short_scoreboard": 0.02, "sleeping": 0.02},
    "attention": {"wait": 0.3, "barrier": 0.2, "short_scoreboard": 0.15,
                  "math_pipe_throttle": 0.13, "mio_throttle": 0.1, "not_selected": 0.07,
                  "no_instruction": 0.05},
    "": {"wait": 0.3, "imc_miss": 0.2, "no_instruction": 0.15, "short_scoreboard": 0.12,
         "barrier": 0.08, "branch_resolving": 0.07, "not_selected": 0.05, "drain": 0.03},
}  # fmt: skip
_NO_STALL = ("dispatch_stall", "lg_throttle", "membar", "misc", "tex_throttle")
# Share of warp latency in long_scoreboard with no DRAM traffic, and how much full traffic adds;
# the paper saw 26 to 54 % for flash attention from batch 1 to the largest.
_LONG_SCOREBOARD = {"gemm": (0.12, 0.5), "attention": (0.17, 0.55), "": (0.4, 0.35)}


def device_metrics(gpu: Gpu) -> dict[str, Value]:
    """Return what ncu stores of the GPU with every launch, shortened."""
    bus_width = int(gpu.dram_bytes_per_cycle * 8 / 2)
    memory_clock_khz = round(gpu.dram_clock_hz / 1e3)
    attributes: dict[str, Value] = {
        "display_name": gpu.name,
        "compute_capability_major": 9,
        "compute_capability_minor": 0,
        "architecture": 384,
        "implementation": 384,
        "chip": 384,
        "multiprocessor_count": gpu.sm_count,
        "clock_rate": 1980000,
        "max_gpu_frequency_khz": 1980000,
        "memory_clock_rate": memory_clock_khz,
        "max_mem_frequency_khz": memory_clock_khz,
        "global_memory_bus_width": bus_width,
        "fb_bus_width": bus_width,
        "integrated": 0,
        "l2_cache_size": 52428800,
        "l2s_count": 80,
        "max_blocks_per_multiprocessor": 32,
        "max_registers_per_multiprocessor": 65536,
        "max_shared_memory_per_multiprocessor": 233472,
        "max_warps_per_multiprocessor": MAX_WARPS_PER_SM,
        "num_schedulers_per_multiprocessor": SCHEDULERS_PER_SM,
        "single_to_double_precision_perf_ratio": 2,
        "total_memory": 85029158912,
        "warp_size": 32,
    }
    return {f"device__attribute_{name}": value for name, value in attributes.items()}


def metrics_of(kernel: Kernel, gpu: Gpu) -> dict[str, Value]:
    """Return every metric of a modelled launch."""
    run = _Run.of(kernel, gpu)
    return {
        **device_metrics(gpu),
        **_launch(run),
        **_time_and_clocks(run),
        **_memory(run),
        **_cuda_cores(run),
        **_tensor(run),
        **_throughputs(run),
        **_warps(run),
        "profiler__replayer_passes": REPLAY_PASSES,
    }


@dataclass(frozen=True, slots=True)
class _Run:
    """A kernel on a GPU with what follows from both."""

    kernel: Kernel
    gpu: Gpu
    duration_s: float
    blocks_per_sm: dict[str, int]

    @classmethod
    def of(cls, kernel: Kernel, gpu: Gpu) -> _Run:
        return cls(kernel, gpu, duration_ns(kernel, gpu) * 1e-9, _occupancy_limits(kernel))

    @property
    def warps_per_block(self) -> int:
        return math.ceil(self.kernel.block_threads / 32)

    @property
    def resident_blocks(self) -> int:
        return min(self.blocks_per_sm.values())

    @property
    def cycles(self) -> float:
        return self.duration_s * self.gpu.sm_clock_hz

    @property
    def active_share(self) -> float:
        """Share of the elapsed cycles in which an average SM has work."""
        busy = min(1.0, self.kernel.block_count / self.gpu.sm_count)
        return busy * (1 - 0.4 * self.kernel.floor_s / self.duration_s)

    @property
    def warps_per_scheduler(self) -> float:
        """Warps resident per scheduler and active cycle."""
        blocks = min(self.resident_blocks, max(1.0, self.kernel.block_count / self.gpu.sm_count))
        warps = min(MAX_WARPS_PER_SM, blocks * self.warps_per_block)
        return _RESIDENCY * warps / SCHEDULERS_PER_SM

    @property
    def issue_share(self) -> float:
        """Instructions issued per scheduler and elapsed cycle."""
        schedulers = SCHEDULERS_PER_SM * self.gpu.sm_count
        return self.kernel.warp_instructions / (schedulers * self.cycles)

    def per_sm_cycle(self, work: float, rate: float) -> float:
        """Return work as percent of a peak of ``rate`` per SM and cycle."""
        return 100 * work / (rate * self.gpu.sm_count * self.cycles)

    @property
    def dram_pct(self) -> float:
        return 100 * self.kernel.bytes / self.duration_s / self.gpu.dram_bytes_per_s

    @property
    def l2_pct(self) -> float:
        rate = self.gpu.l2_bytes_per_cycle * self.gpu.l2_clock_hz
        return 100 * self.kernel.l2_bytes / self.duration_s / rate

    @property
    def tensor_pct(self) -> float:
        peak = self.gpu.tensor_op_per_s(self.kernel.tensor_instruction)
        return 100 * self.kernel.tensor_op / self.duration_s / peak


def _occupancy_limits(kernel: Kernel) -> dict[str, int]:
    """Return the blocks that fit on an SM by each resource of compute capability 9.0."""
    warps = math.ceil(kernel.block_threads / 32)
    # Registers come in units of 256 per warp, warps in fours, shared memory in units of 128 B
    # after 1 KiB of the driver's for each block.
    registers_per_warp = 256 * math.ceil(kernel.registers * 32 / 256)
    warps_by_registers = 65536 // registers_per_warp // 4 * 4
    shared = 1024 + 128 * math.ceil(kernel.shared_bytes_per_block / 128)
    return {
        "blocks": 32,
        "barriers": 32,
        "registers": warps_by_registers // warps,
        "shared_mem": min(32, 233472 // shared),
        "warps": MAX_WARPS_PER_SM // warps,
    }


def _launch(run: _Run) -> dict[str, Value]:
    kernel = run.kernel
    warps = float(min(MAX_WARPS_PER_SM, run.resident_blocks * run.warps_per_block))
    grid = dict(zip("xyz", kernel.grid, strict=True))
    return {
        **{f"launch__grid_dim_{axis}": blocks for axis, blocks in grid.items()},
        "launch__grid_size": kernel.block_count,
        "launch__block_dim_x": kernel.block_threads,
        "launch__block_dim_y": 1,
        "launch__block_dim_z": 1,
        "launch__block_size": kernel.block_threads,
        "launch__thread_count": kernel.block_count * kernel.block_threads,
        "launch__registers_per_thread": kernel.registers,
        "launch__shared_mem_per_block": 1024 + kernel.shared_bytes_per_block,
        "launch__shared_mem_per_block_static": 0,
        "launch__shared_mem_per_block_dynamic": kernel.shared_bytes_per_block,
        "launch__shared_mem_per_block_driver": 1024,
        "launch__waves_per_multiprocessor": (
            kernel.block_count / (run.gpu.sm_count * run.resident_blocks)
        ),
        "launch__sm_count": run.gpu.sm_count,
        "launch__device_id": 0,
        "launch__context_id": 1,
        "launch__stream_id": 7,
        "launch__func_cache_config": "CachePreferNone",
        **{
            f"launch__occupancy_limit_{what}": float(blocks)
            for what, blocks in run.blocks_per_sm.items()
        },
        "sm__maximum_warps_avg_per_active_cycle": warps,
        "sm__maximum_warps_per_active_cycle_pct": 100 * warps / MAX_WARPS_PER_SM,
    }


def _time_and_clocks(run: _Run) -> dict[str, Value]:
    clock = run.gpu.sm_clock_hz
    return {
        "gpu__time_duration.sum": duration_ns(run.kernel, run.gpu),
        "gpc__cycles_elapsed.max": run.cycles,
        "sm__cycles_elapsed.avg.per_second": clock,
        "smsp__cycles_elapsed.avg.per_second": clock,
        "l1tex__cycles_elapsed.avg.per_second": clock,
        "sm__cycles_active.avg": run.cycles * run.active_share,
        "lts__cycles_elapsed.avg.per_second": run.gpu.l2_clock_hz,
        "dram__cycles_elapsed.avg.per_second": run.gpu.dram_clock_hz,
    }


def _memory(run: _Run) -> dict[str, Value]:
    kernel = run.kernel
    read, written = kernel.read_bytes, kernel.written_bytes
    l2_bytes = kernel.l2_bytes + written
    return {
        "dram__bytes_read.sum": read,
        "dram__bytes_write.sum": written,
        "dram__bytes.sum.per_second": (read + written) / run.duration_s,
        "dram__bytes.sum.peak_sustained": run.gpu.dram_bytes_per_cycle,
        "lts__t_bytes.sum": l2_bytes,
        "lts__t_sectors.sum": l2_bytes / SECTOR_BYTES,
        # Written sectors hit, read ones miss as often as DRAM is read for them.
        "lts__t_sector_hit_rate.pct": 100 * max(0.0, 1 - read / l2_bytes),
        "lts__lts2xbar_cycles_active.sum.per_second": (
            kernel.l2_bytes / SECTOR_BYTES / run.duration_s
        ),
        "lts__lts2xbar_cycles_active.sum.peak_sustained": run.gpu.l2_bytes_per_cycle / SECTOR_BYTES,
        "l1tex__t_bytes.sum": kernel.l1_bytes,
        "l1tex__t_sector_hit_rate.pct": 0.0,
    }


def _cuda_cores(run: _Run) -> dict[str, Value]:
    kernel, gpu = run.kernel, run.gpu
    counted = {"fadd": kernel.fadd, "fmul": kernel.fmul, "ffma": kernel.ffma}
    counted |= dict.fromkeys(("dadd", "dmul", "dfma", "hadd", "hmul", "hfma"), 0.0)
    peaks = {
        "ffma": gpu.fp32_inst_per_cycle,
        "dfma": gpu.fp64_inst_per_cycle,
        "hfma": gpu.fp32_inst_per_cycle,
    }
    return {
        **{
            f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum.per_cycle_elapsed": (
                instructions / run.cycles
            )
            for op, instructions in counted.items()
        },
        **{
            f"sm__sass_thread_inst_executed_op_{op}_pred_on.sum.peak_sustained": peak
            for op, peak in peaks.items()
        },
    }


def _tensor(run: _Run) -> dict[str, Value]:
    """Return the fp16 tensor counters: the total, and each instruction with its dense peak.

    The peak of the total is the sparse one, twice the dense peak of wgmma.
    """
    dense = run.gpu.tensor_op_per_cycle
    metrics: dict[str, Value] = {
        f"{_TENSOR}_src_fp16.sum": run.kernel.tensor_op,
        f"{_TENSOR}_src_fp16.sum.peak_sustained": 2 * dense,
    }
    paths = {"hgmma": ("hgmma_src_fp16", dense), "hmma": ("hmma_src_fp16_dst_fp32", dense * 2 / 3)}
    for instruction, (path, peak) in paths.items():
        done = run.kernel.tensor_op if instruction == run.kernel.tensor_instruction else 0.0
        base = f"{_TENSOR}_op_{path}_sparsity"
        metrics |= {
            f"{base}_off.sum": done,
            f"{base}_off.sum.peak_sustained": peak,
            f"{base}_on.sum": 0.0,
            f"{base}_on.sum.peak_sustained": 2 * peak,
        }
    metrics[f"sm__pipe_tensor_cycles_active.{_ACTIVE}"] = run.tensor_pct / run.active_share
    return metrics


def _throughputs(run: _Run) -> dict[str, Value]:
    """Return the two breakdowns of SpeedOfLight with their counters, and their maxima."""
    compute, memory = _compute_parts(run), _memory_parts(run)
    l1 = [pct for name, pct in memory.items() if name.startswith("l1tex__")]
    l2 = [pct for name, pct in memory.items() if name.startswith("lts__")]
    return {
        **_breakdown("sm__throughput", compute),
        **_breakdown("gpu__compute_memory_throughput", memory),
        f"gpu__dram_throughput.{_ELAPSED}": run.dram_pct,
        f"lts__throughput.{_ELAPSED}": max(l2),
        f"l1tex__throughput.{_ACTIVE}": min(100.0, max(l1) / run.active_share),
    }


def _breakdown(name: str, parts: Mapping[str, float]) -> dict[str, Value]:
    counters: dict[str, Value] = {f"{part}.{_ELAPSED}": pct for part, pct in parts.items()}
    return {
        f"{name}.{_ELAPSED}": max(parts.values()),
        f"breakdown:{name}.{_ELAPSED}": ",".join(counters),
        **counters,
    }


def _compute_parts(run: _Run) -> dict[str, float]:
    """Return how busy the parts of an SM are [% of peak]; rates are those of 9.0 per SM."""
    kernel = run.kernel
    issue = 100 * run.issue_share
    fp32 = kernel.fadd + kernel.fmul + kernel.ffma
    return {
        "sm__inst_executed": issue,
        "sm__issue_active": issue,
        "sm__inst_executed_pipe_lsu": run.per_sm_cycle(_LSU_SHARE * kernel.warp_instructions, 1),
        "sm__inst_executed_pipe_xu": run.per_sm_cycle(kernel.special, 16),
        "sm__pipe_alu_cycles_active": run.per_sm_cycle(_ALU_SHARE * kernel.warp_instructions, 2),
        "sm__pipe_fma_cycles_active": run.per_sm_cycle(fp32, 128),
        "sm__pipe_fp64_cycles_active": 0.0,
        "sm__pipe_tensor_cycles_active": run.tensor_pct,
    }


def _memory_parts(run: _Run) -> dict[str, float]:
    kernel = run.kernel
    width = run.gpu.l1_bytes_per_sm_and_cycle
    # Bulk copies of GEMM kernels reach shared memory without the pipe of loads and stores.
    through_pipe = kernel.l1_bytes + (kernel.shared_bytes if kernel.family != "gemm" else 0.0)
    return {
        "dram__cycles_active": run.dram_pct,
        "lts__t_sectors": 0.8 * run.l2_pct,
        "lts__lts2xbar_cycles_active": run.l2_pct,
        "l1tex__data_bank_reads": run.per_sm_cycle(kernel.shared_bytes, width),
        "l1tex__data_pipe_lsu_wavefronts": run.per_sm_cycle(through_pipe, width),
        "l1tex__lsuin_requests": run.per_sm_cycle(_LSU_SHARE * kernel.warp_instructions, 1),
    }


def _warps(run: _Run) -> dict[str, Value]:
    """Return occupancy, scheduler and warp state metrics.

    Latency per issued instruction = resident warps / instructions issued per cycle (Little's
    law), and its parts are the warp states; eligible warps = issued + not selected.
    """
    warps = run.warps_per_scheduler
    issue = min(run.issue_share / run.active_share, 0.95)
    stalls = _stalls(run, warps / issue)
    return {
        f"sm__warps_active.{_ACTIVE}": 100 * warps * SCHEDULERS_PER_SM / MAX_WARPS_PER_SM,
        "sm__warps_active.avg.per_cycle_active": warps * SCHEDULERS_PER_SM,
        "smsp__warps_active.avg.per_cycle_active": warps,
        "smsp__warps_eligible.avg.per_cycle_active": issue * (1 + stalls["not_selected"]),
        "smsp__issue_active.avg.per_cycle_active": issue,
        f"smsp__issue_active.{_ACTIVE}": 100 * issue,
        f"smsp__issue_inst0.{_ACTIVE}": 100 * (1 - issue),
        "smsp__average_warp_latency_per_inst_issued.ratio": math.fsum(stalls.values()),
        **{
            f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio": cycles
            for reason, cycles in stalls.items()
        },
    }


def _stalls(run: _Run, latency: float) -> dict[str, float]:
    """Split the latency of an instruction [cycle] into the warp states of 9.0."""
    family = run.kernel.family
    base, slope = _LONG_SCOREBOARD.get(family, _LONG_SCOREBOARD[""])
    shares = _OTHER_STALLS.get(family, _OTHER_STALLS[""])
    data = (base + slope * run.dram_pct / 100) * (1 - 0.6 * run.tensor_pct / 100) * latency
    rest = latency - 1 - data
    states = {"selected": 1.0, "long_scoreboard": data}
    states |= {reason: share * rest for reason, share in shares.items()}
    known = {*states, *_NO_STALL, *(reason for of in _OTHER_STALLS.values() for reason in of)}
    return {reason: states.get(reason, 0.0) for reason in sorted(known)}
