"""Reports with known content: launches as ncu stores them for an H100 SXM, and files of them.

The numbers are round on purpose, so that a test can state what it expects: SM clock 1.5 GHz, DRAM
peak 1280 B/cycle x 2.619 GHz = 3352.32 GB/s, dense fp16 tensor peak 540,672 operations a cycle.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from nsightlens.ncurep.model import (
    NvtxDomainState,
    NvtxRange,
    ProcessInfo,
    RuleMessage,
    SessionInfo,
)
from nsightlens.ncurep.spec import LaunchSpec, Layout, ReportSpec, Value
from nsightlens.ncurep.write import write_ncu_rep

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

SM_COUNT = 132
SM_CLOCK_HZ = 1.5e9
DRAM_CLOCK_HZ = 2.619e9
DRAM_BYTES_PER_CYCLE = 1280.0
DRAM_PEAK_BYTES_PER_S = DRAM_BYTES_PER_CYCLE * DRAM_CLOCK_HZ
FP32_PEAK_INST_PER_CYCLE = 16896.0
FP64_PEAK_INST_PER_CYCLE = 8448.0
FP16_PEAK_INST_PER_CYCLE = 16896.0
TENSOR_FP16_PEAK_OP_PER_CYCLE = 540672.0
TENSOR_FP16_SPARSE_PEAK_OP_PER_CYCLE = 1081344.0

PROCESS = ProcessInfo(process_id=4242, host_name="127.0.0.1", process_name="decode")

DEVICE_METRICS: dict[str, Value] = {
    "device__attribute_display_name": "NVIDIA H100 80GB HBM3",
    "device__attribute_compute_capability_major": 9,
    "device__attribute_compute_capability_minor": 0,
    "device__attribute_architecture": 384,
    "device__attribute_implementation": 384,
    "device__attribute_chip": 384,
    "device__attribute_multiprocessor_count": SM_COUNT,
    "device__attribute_clock_rate": 1980000,
    "device__attribute_max_gpu_frequency_khz": 1980000,
    "device__attribute_memory_clock_rate": 2619000,
    "device__attribute_max_mem_frequency_khz": 2619000,
    "device__attribute_global_memory_bus_width": 5120,
    "device__attribute_fb_bus_width": 5120,
    "device__attribute_integrated": 0,
    "device__attribute_l2_cache_size": 52428800,
    "device__attribute_l2s_count": 80,
    "device__attribute_max_warps_per_multiprocessor": 64,
    "device__attribute_max_blocks_per_multiprocessor": 32,
    "device__attribute_max_threads_per_multiprocessor": 2048,
    "device__attribute_num_schedulers_per_multiprocessor": 4,
    "device__attribute_warp_size": 32,
    "device__attribute_total_memory": 85029158912,
}
"""What ncu stores of the GPU with every launch, shortened."""

STALL_REASONS = (
    "barrier", "branch_resolving", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle",
    "long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction",
    "not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait",
)  # fmt: skip
"""Warp states of compute capability 9.0."""

ATTENTION_NAME = (
    "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<64, 64, 256, 4, false, false,"
    " cutlass::half_t, Flash_kernel_traits<64, 64, 256, 4, cutlass::half_t>>, false, false, false,"
    " false, true, false, false, false>(flash::Flash_fwd_params)"
)
GEMM_NAME = "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT"


def launch_metrics(
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    *,
    registers: int = 64,
    shared_dynamic: int = 0,
    blocks_per_sm: int = 4,
) -> dict[str, Value]:
    """Return the launch__* and theoretical-occupancy metrics that every launch has."""
    block_count, thread_count = math.prod(grid), math.prod(block)
    warps = min(64, blocks_per_sm * math.ceil(thread_count / 32))
    return {
        "launch__grid_size": block_count,
        **{f"launch__grid_dim_{axis}": n for axis, n in zip("xyz", grid, strict=True)},
        "launch__block_size": thread_count,
        **{f"launch__block_dim_{axis}": n for axis, n in zip("xyz", block, strict=True)},
        "launch__thread_count": block_count * thread_count,
        "launch__registers_per_thread": registers,
        "launch__shared_mem_per_block": 1024 + shared_dynamic,
        "launch__shared_mem_per_block_static": 0,
        "launch__shared_mem_per_block_dynamic": shared_dynamic,
        "launch__shared_mem_per_block_driver": 1024,
        "launch__waves_per_multiprocessor": block_count / (SM_COUNT * blocks_per_sm),
        "launch__sm_count": SM_COUNT,
        "launch__device_id": 0,
        "launch__context_id": 1,
        "launch__stream_id": 7,
        "launch__func_cache_config": "CachePreferNone",
        "launch__occupancy_limit_blocks": 32.0,
        "launch__occupancy_limit_barriers": 32.0,
        "launch__occupancy_limit_registers": float(blocks_per_sm),
        "launch__occupancy_limit_shared_mem": 32.0,
        "launch__occupancy_limit_warps": float(64 // math.ceil(thread_count / 32)),
        "sm__maximum_warps_avg_per_active_cycle": float(warps),
        "sm__maximum_warps_per_active_cycle_pct": 100.0 * warps / 64,
    }


def make_launch(
    name: str = "kernel",
    metrics: Mapping[str, Value] | None = None,
    *,
    grid: tuple[int, int, int] = (132, 1, 1),
    block: tuple[int, int, int] = (128, 1, 1),
    **fields: Any,
) -> LaunchSpec:
    """Return a launch with the metrics that ncu always stores, and ``metrics`` over them."""
    always = {
        **DEVICE_METRICS,
        **launch_metrics(grid, block),
        "profiler__replayer_passes": 1,
    }
    return LaunchSpec(
        name=name, grid=grid, block=block, metrics={**always, **(metrics or {})}, **fields
    )


def dram_metrics(duration_ns: float, read: float, written: float) -> dict[str, Value]:
    """Return consistent DRAM metrics of a launch; bytes read and written in [B]."""
    per_second = (read + written) / duration_ns * 1e9
    return {
        "dram__bytes_read.sum": read,
        "dram__bytes_write.sum": written,
        "dram__bytes.sum.per_second": per_second,
        "dram__bytes.sum.peak_sustained": DRAM_BYTES_PER_CYCLE,
        "dram__cycles_elapsed.avg.per_second": DRAM_CLOCK_HZ,
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": (
            100 * per_second / DRAM_PEAK_BYTES_PER_S
        ),
    }


def cuda_core_metrics(*, ffma: float = 0.0, fadd: float = 0.0, fmul: float = 0.0, duration_ns: float
                      ) -> dict[str, Value]:  # fmt: skip
    """Return the FP32 and FP64 counters of the roofline sections; counts in [thread inst]."""
    cycles = duration_ns * SM_CLOCK_HZ / 1e9
    counts = {"ffma": ffma, "fadd": fadd, "fmul": fmul, "dfma": 0.0, "dadd": 0.0, "dmul": 0.0}
    return {
        **{
            f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum.per_cycle_elapsed": n / cycles
            for op, n in counts.items()
        },
        "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": (
            FP32_PEAK_INST_PER_CYCLE
        ),
        "sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained": (
            FP64_PEAK_INST_PER_CYCLE
        ),
        "sm__cycles_elapsed.avg.per_second": SM_CLOCK_HZ,
        "smsp__cycles_elapsed.avg.per_second": SM_CLOCK_HZ,
    }


def tensor_metrics(
    operations: float, duration_ns: float, *, instruction: Literal["hgmma", "hmma"] = "hgmma"
) -> dict[str, Value]:
    """Return the fp16 tensor counters of cc 9.0, fp32 accumulators, and the activity of the pipe.

    wgmma (hgmma) and mma.sync (hmma, two thirds of the rate) are counted apart, each with and
    without sparsity; the peak of the total is the sparse one.
    """
    prefix = "sm__ops_path_tensor"
    totals: dict[str, Value] = {
        f"{prefix}_src_fp16.sum": operations,
        f"{prefix}_src_fp16.sum.peak_sustained": TENSOR_FP16_SPARSE_PEAK_OP_PER_CYCLE,
    }
    for path, used in (("hgmma_src_fp16", "hgmma"), ("hmma_src_fp16_dst_fp32", "hmma")):
        dense_peak = tensor_peak_op_per_cycle(used)
        done = operations if used == instruction else 0.0
        totals |= {
            f"{prefix}_op_{path}_sparsity_off.sum": done,
            f"{prefix}_op_{path}_sparsity_off.sum.peak_sustained": dense_peak,
            f"{prefix}_op_{path}_sparsity_on.sum": 0.0,
            f"{prefix}_op_{path}_sparsity_on.sum.peak_sustained": 2 * dense_peak,
        }
    busy = tensor_pct(operations, duration_ns, instruction)
    return totals | {
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active": busy,
        "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active": busy,
    }


def tensor_peak_op_per_cycle(instruction: str) -> float:
    """Return the dense fp16 peak of wgmma, or of mma.sync, which reaches two thirds of it."""
    return TENSOR_FP16_PEAK_OP_PER_CYCLE * (1.0 if instruction == "hgmma" else 2 / 3)


def tensor_pct(operations: float, duration_ns: float, instruction: str) -> float:
    """Return tensor work as percent of the dense peak of its instruction."""
    peak = tensor_peak_op_per_cycle(instruction) * SM_CLOCK_HZ
    return 100 * operations / duration_ns * 1e9 / peak


def stall_metrics(cycles_per_issue: Mapping[str, float]) -> dict[str, Value]:
    """Return stall metrics by reason, the rest of the reasons of cc 9.0 zero, and their sum."""
    cycles = dict.fromkeys(STALL_REASONS, 0.0) | dict(cycles_per_issue)
    return {
        **{
            f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio": n
            for reason, n in cycles.items()
        },
        "smsp__average_warp_latency_per_inst_issued.ratio": sum(cycles.values()),
    }


def activity_metrics(
    *, issue_active_pct: float, occupancy_pct: float, eligible_warps: float
) -> dict[str, Value]:
    """Return the scheduler and occupancy metrics."""
    return {
        "smsp__issue_active.avg.pct_of_peak_sustained_active": issue_active_pct,
        "smsp__issue_active.avg.per_cycle_active": issue_active_pct / 100,
        "smsp__issue_inst0.avg.pct_of_peak_sustained_active": 100 - issue_active_pct,
        "smsp__warps_eligible.avg.per_cycle_active": eligible_warps,
        "smsp__warps_active.avg.per_cycle_active": occupancy_pct / 100 * 16,
        "sm__warps_active.avg.pct_of_peak_sustained_active": occupancy_pct,
        "sm__warps_active.avg.per_cycle_active": occupancy_pct / 100 * 64,
    }


def throughput_metrics(*, sm: float, memory: float, l2: float, l1: float) -> dict[str, Value]:
    """Return the percentages of the SpeedOfLight section [%]."""
    suffix = "avg.pct_of_peak_sustained_elapsed"
    return {
        f"sm__throughput.{suffix}": sm,
        f"gpu__compute_memory_throughput.{suffix}": memory,
        f"lts__throughput.{suffix}": l2,
        "l1tex__throughput.avg.pct_of_peak_sustained_active": l1,
    }


def cache_metrics(
    *, l2_bytes: float, l1_bytes: float, l2_hit_pct: float, l1_hit_pct: float
) -> dict[str, Value]:
    """Return the bytes looked up in L2 and L1 and their hit rates."""
    return {
        "lts__t_bytes.sum": l2_bytes,
        "lts__t_sectors.sum": l2_bytes / 32,
        "lts__t_sector_hit_rate.pct": l2_hit_pct,
        "l1tex__t_bytes.sum": l1_bytes,
        "l1tex__t_sector_hit_rate.pct": l1_hit_pct,
    }


def step_state(batch_size: int, operation: str | None = None) -> list[NvtxDomainState]:
    """Return the NVTX state inside one of our decode steps, and inside one of its operations."""
    names = [f"step v1 phase=decode batch_size={batch_size} context=500 query=1"]
    names += [f"op v1 name={operation}"] if operation else []
    ranges = tuple(NvtxRange(name) for name in names)
    return [
        NvtxDomainState(domain_id=0, name="<default domain>"),
        NvtxDomainState(domain_id=1, name="nsightlens", push_pop=ranges),
    ]


def gemm_launch(batch_size: int = 512) -> LaunchSpec:
    """Return a feed-forward GEMM (2048 to 8192) that is compute-bound: tensor 70.6 %, DRAM 44 %."""
    duration_ns = 30_000.0
    k, n = 2048, 8192
    read, written = 2.0 * (k * n + batch_size * k), 2.0 * batch_size * n
    operations = 2.0 * batch_size * k * n
    busy = tensor_pct(operations, duration_ns, "hgmma")
    dram = dram_metrics(duration_ns, read, written)
    return make_launch(
        GEMM_NAME,
        {
            "gpu__time_duration.sum": duration_ns,
            **dram,
            **cuda_core_metrics(fmul=float(batch_size * n), duration_ns=duration_ns),
            **tensor_metrics(operations, duration_ns),
            **throughput_metrics(sm=busy, memory=45.0, l2=45.0, l1=40.0),
            **cache_metrics(l2_bytes=1.2e8, l1_bytes=1e6, l2_hit_pct=60.0, l1_hit_pct=10.0),
            **activity_metrics(issue_active_pct=12.0, occupancy_pct=18.0, eligible_warps=0.2),
            **stall_metrics({"gmma": 9.0, "barrier": 2.0, "long_scoreboard": 3.0, "selected": 1.0}),
            "profiler__replayer_passes": 38,
        },
        grid=(132, 1, 1),
        block=(384, 1, 1),
        nvtx=step_state(batch_size, "fc1"),
        rules=[
            RuleMessage(
                "SOLBottleneck", "Bottleneck", "SpeedOfLight", 2, "High Compute Throughput",
                "Compute is more heavily utilized than Memory.",
            )
        ],
    )  # fmt: skip


def attention_launch(batch_size: int = 64) -> LaunchSpec:
    """Return a decode attention at context 500 that saturates DRAM: 90 %, mma.sync 36 %."""
    read = 2.0 * 2 * batch_size * 500 * 2048
    written = 2.0 * batch_size * 2048
    duration_ns = round((read + written) / (0.9 * DRAM_PEAK_BYTES_PER_S) * 1e9)
    # The one query row of a sequence is padded to a tile of 64.
    operations = 64 * 4.0 * batch_size * 500 * 2048
    busy = tensor_pct(operations, duration_ns, "hmma")
    return make_launch(
        "flash_fwd_splitkv_kernel",
        {
            "gpu__time_duration.sum": float(duration_ns),
            **dram_metrics(duration_ns, read, written),
            **cuda_core_metrics(ffma=500.0 * 32 * batch_size, duration_ns=duration_ns),
            **tensor_metrics(operations, duration_ns, instruction="hmma"),
            **throughput_metrics(sm=busy, memory=90.0, l2=40.0, l1=30.0),
            **cache_metrics(l2_bytes=read + written, l1_bytes=read, l2_hit_pct=2.0, l1_hit_pct=1.0),
            **activity_metrics(issue_active_pct=15.0, occupancy_pct=12.0, eligible_warps=0.2),
            **stall_metrics({"long_scoreboard": 7.5, "wait": 1.0, "barrier": 0.5, "selected": 1.0}),
            "profiler__replayer_passes": 38,
        },
        grid=(1, batch_size, 32),
        block=(128, 1, 1),
        demangled_name=ATTENTION_NAME,
        mangled_name="_ZN5flash24flash_fwd_splitkv_kernelE",
        nvtx=step_state(batch_size, "attention"),
    )


def basic_set_launch() -> LaunchSpec:
    """Return a launch with what ``--set basic`` stores: percentages, but neither bytes nor FLOP."""
    suffix = "avg.pct_of_peak_sustained_elapsed"
    occupancy = activity_metrics(issue_active_pct=0.0, occupancy_pct=80.0, eligible_warps=0.0)
    return make_launch(
        "vectorized_elementwise_kernel",
        {
            "gpu__time_duration.sum": 50_000.0,
            f"gpu__dram_throughput.{suffix}": 85.0,
            "dram__cycles_elapsed.avg.per_second": DRAM_CLOCK_HZ,
            **throughput_metrics(sm=12.0, memory=85.0, l2=35.0, l1=20.0),
            **{name: v for name, v in occupancy.items() if name.startswith("sm__warps_active")},
            f"breakdown:sm__throughput.{suffix}": ",".join(
                f"{name}.{suffix}" for name in ("sm__inst_executed", "sm__issue_active")
            ),
            f"sm__inst_executed.{suffix}": 10.0,
            f"sm__issue_active.{suffix}": 12.0,
            f"breakdown:gpu__compute_memory_throughput.{suffix}": ",".join(
                f"{name}.{suffix}" for name in ("dram__cycles_active", "lts__t_sectors")
            ),
            f"dram__cycles_active.{suffix}": 85.0,
            f"lts__t_sectors.{suffix}": 35.0,
            "profiler__replayer_passes": 10,
        },
        grid=(40960, 1, 1),
        demangled_name=(
            "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>,"
            " std::array<char *, 1>>(int, T2, T3)"
        ),
    )


def failed_launch() -> LaunchSpec:
    """Return a launch whose collection was cut short, as ncu stores it at the end of a report."""
    return LaunchSpec(
        name="flash_fwd_splitkv_kernel",
        demangled_name=ATTENTION_NAME,
        grid=(0, 0, 0),
        block=(0, 0, 0),
        metrics={
            **DEVICE_METRICS,
            "gpu__time_duration.sum": math.nan,
            "profiler__replayer_passes": 1,
        },
    )


def launch_only() -> LaunchSpec:
    """Return a launch for which no metric was collected beyond those that are always stored."""
    return make_launch("softmax_warp_forward", grid=(64, 1, 1))


def session(process: ProcessInfo = PROCESS, **fields: Any) -> SessionInfo:
    """Return the session of one process as ncu describes it."""
    base = SessionInfo(
        process=process,
        creation_time=1_740_308_185,
        operating_system="Linux",
        computer_name="gpu-node",
        profiler_command_line="ncu --set full --nvtx -o decode python decode.py",
        versions={
            "CUDA Version": "12.6",
            "Display Driver Version": "560.28.03",
            "Nsight Compute Target": "2025.1.0.0 (build 35237751) (public-release)",
        },
        device_names=("NVIDIA H100 80GB HBM3",),
        device_attributes={0: {"device__attribute_clock_rate": 1980000}},
    )
    return replace(base, **fields)


def report_of(launches: Iterable[LaunchSpec], **session_fields: Any) -> ReportSpec:
    """Return a report of one process with these launches."""
    return ReportSpec(
        launches=list(launches), sessions=[session(**session_fields)], process=PROCESS
    )


def write_report(
    folder: Path,
    launches: Iterable[LaunchSpec],
    *,
    name: str = "report.ncu-rep",
    layout: Layout | None = None,
    **session_fields: Any,
) -> Path:
    """Write a report of these launches into ``folder`` and return its path."""
    return write_ncu_rep(folder / name, report_of(launches, **session_fields), layout)


def write_empty_report(folder: Path, *, name: str = "empty.ncu-rep") -> Path:
    """Write a sound report of zero launches."""
    return write_report(folder, [], name=name)


def everything() -> list[LaunchSpec]:
    """Return one of each launch of this module."""
    return [attention_launch(), gemm_launch(), basic_set_launch(), launch_only(), failed_launch()]
