"""What the labels of the details page stand for: section and label to raw metric.

The details page prints "DRAM Throughput" where the report stores
``gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed``. The table holds what the section
definitions inside reports of Nsight Compute 2020.3 to 2025.2 say, where all of them agree.
"""

from __future__ import annotations

import re

__all__ = ["METRICS", "metric_of"]

_OF_PEAK_ELAPSED = "avg.pct_of_peak_sustained_elapsed"
_OF_PEAK_ACTIVE = "avg.pct_of_peak_sustained_active"
_SASS = "sass_thread_inst_executed_op"

_SPEED_OF_LIGHT = {
    "Duration": "gpu__time_duration.sum",
    "Elapsed Cycles": "gpc__cycles_elapsed.max",
    "SM Active Cycles": "sm__cycles_active.avg",
    "SM Frequency": "gpc__cycles_elapsed.avg.per_second",
    "DRAM Frequency": "dram__cycles_elapsed.avg.per_second",
    "Compute (SM) Throughput": f"sm__throughput.{_OF_PEAK_ELAPSED}",
    "Memory Throughput": f"gpu__compute_memory_throughput.{_OF_PEAK_ELAPSED}",
    "DRAM Throughput": f"gpu__dram_throughput.{_OF_PEAK_ELAPSED}",
    "L1/TEX Cache Throughput": f"l1tex__throughput.{_OF_PEAK_ACTIVE}",
    "L2 Cache Throughput": f"lts__throughput.{_OF_PEAK_ELAPSED}",
    # 2020.3
    "SOL SM": f"sm__throughput.{_OF_PEAK_ELAPSED}",
    "SOL Memory": f"gpu__compute_memory_throughput.{_OF_PEAK_ELAPSED}",
    "SOL DRAM": f"gpu__dram_throughput.{_OF_PEAK_ELAPSED}",
    "SOL L1/TEX Cache": f"l1tex__throughput.{_OF_PEAK_ACTIVE}",
    "SOL L2 Cache": f"lts__throughput.{_OF_PEAK_ELAPSED}",
}


def _core_labels(operation: str) -> dict[str, str]:
    """Return the labels of the roofline of FP32 (F) or FP64 (D)."""
    name = operation.lower()
    prefix = f"Predicated-On {operation}"
    return {
        f"Theoretical {prefix}FMA Thread Instructions Executed": (
            f"sm__{_SASS}_{name}fma_pred_on.sum.peak_sustained"
        ),
        f"Theoretical {prefix}FMA Operations": f"derived__sm__{_SASS}_{name}fma_pred_on_x2",
        f"{prefix}FMA Operations Per Cycle": f"derived__smsp__{_SASS}_{name}fma_pred_on_x2",
        **{
            f"{prefix}{verb.upper()} Thread Instructions Executed Per Cycle": (
                f"smsp__{_SASS}_{name}{verb}_pred_on.sum.per_cycle_elapsed"
            )
            for verb in ("add", "mul", "fma")
        },
    }


METRICS: dict[str, dict[str, str]] = {
    "GPU Speed Of Light Throughput": _SPEED_OF_LIGHT,
    "GPU Speed Of Light": _SPEED_OF_LIGHT,
    "GPU Speed Of Light Roofline Chart": {
        **_core_labels("F"),
        **_core_labels("D"),
        "DRAM Bandwidth": "dram__bytes.sum.per_second",
        "DRAM Frequency": "dram__cycles_elapsed.avg.per_second",
        "Theoretical DRAM Bytes Accessible": "dram__bytes.sum.peak_sustained",
    },
    "Memory Workload Analysis": {
        "Memory Throughput": "dram__bytes.sum.per_second",
        "Mem Busy": f"gpu__compute_memory_access_throughput.{_OF_PEAK_ELAPSED}",
        "Max Bandwidth": f"gpu__compute_memory_request_throughput.{_OF_PEAK_ELAPSED}",
        "Mem Pipes Busy": f"sm__memory_throughput.{_OF_PEAK_ELAPSED}",
        "L1/TEX Hit Rate": "l1tex__t_sector_hit_rate.pct",
        "L2 Hit Rate": "lts__t_sector_hit_rate.pct",
        "L2 Compression Success Rate": "lts__average_gcomp_input_sector_success_rate.pct",
        "L2 Compression Ratio": "lts__average_gcomp_output_sector_compression_achieved_rate.ratio",
    },
    "Compute Workload Analysis": {
        "Executed Ipc Active": "sm__inst_executed.avg.per_cycle_active",
        "Executed Ipc Elapsed": "sm__inst_executed.avg.per_cycle_elapsed",
        "Issued Ipc Active": "sm__inst_issued.avg.per_cycle_active",
        "Issue Slots Busy": f"sm__inst_issued.{_OF_PEAK_ACTIVE}",
        "SM Busy": f"sm__instruction_throughput.{_OF_PEAK_ACTIVE}",
    },
    "Instruction Statistics": {
        "Executed Instructions": "smsp__inst_executed.sum",
        "Avg. Executed Instructions Per Scheduler": "smsp__inst_executed.avg",
        "Issued Instructions": "smsp__inst_issued.sum",
        "Avg. Issued Instructions Per Scheduler": "smsp__inst_issued.avg",
    },
    "Scheduler Statistics": {
        "Active Warps Per Scheduler": "smsp__warps_active.avg.per_cycle_active",
        "Eligible Warps Per Scheduler": "smsp__warps_eligible.avg.per_cycle_active",
        "Issued Warp Per Scheduler": "smsp__issue_active.avg.per_cycle_active",
        "One or More Eligible": f"smsp__issue_active.{_OF_PEAK_ACTIVE}",
        "No Eligible": f"smsp__issue_inst0.{_OF_PEAK_ACTIVE}",
    },
    "Warp State Statistics": {
        "Warp Cycles Per Issued Instruction": "smsp__average_warp_latency_per_inst_issued.ratio",
        "Warp Cycles Per Executed Instruction": (
            "smsp__average_warps_active_per_inst_executed.ratio"
        ),
        "Avg. Active Threads Per Warp": "smsp__thread_inst_executed_per_inst_executed.ratio",
        "Avg. Not Predicated Off Threads Per Warp": (
            "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"
        ),
    },
    "Source Counters": {
        "Branch Instructions": "smsp__inst_executed_op_branch.sum",
        "Branch Instructions Ratio": "derived__smsp__inst_executed_op_branch_pct",
        "Branch Efficiency": "smsp__sass_average_branch_targets_threads_uniform.pct",
        "Avg. Divergent Branches": "smsp__sass_branch_targets_threads_divergent.avg",
    },
    "Launch Statistics": {
        "Grid Size": "launch__grid_size",
        "Block Size": "launch__block_size",
        "Threads": "launch__thread_count",
        "Registers Per Thread": "launch__registers_per_thread",
        "Static Shared Memory Per Block": "launch__shared_mem_per_block_static",
        "Dynamic Shared Memory Per Block": "launch__shared_mem_per_block_dynamic",
        "Driver Shared Memory Per Block": "launch__shared_mem_per_block_driver",
        "Shared Memory Configuration Size": "launch__shared_mem_config_size",
        "Function Cache Configuration": "launch__func_cache_config",
        "Waves Per SM": "launch__waves_per_multiprocessor",
        "Cluster Size": "launch__cluster_size",
        "Cluster Scheduling Policy": "launch__cluster_scheduling_policy",
        "Preferred Cluster Size": "launch__preferred_cluster_size",
        "Stack Size": "launch__stack_size",
        "Uses Green Context": "launch__uses_green_context",
        "# SMs": "launch__sm_count",
        "# TPCs": "launch__tpc_count",
        "Enabled TPC IDs": "launch__tpc_enabled",
    },
    "Occupancy": {
        "Theoretical Occupancy": "sm__maximum_warps_per_active_cycle_pct",
        "Theoretical Active Warps per SM": "sm__maximum_warps_avg_per_active_cycle",
        "Achieved Occupancy": f"sm__warps_active.{_OF_PEAK_ACTIVE}",
        "Achieved Active Warps Per SM": "sm__warps_active.avg.per_cycle_active",
        "Block Limit SM": "launch__occupancy_limit_blocks",
        "Block Limit Registers": "launch__occupancy_limit_registers",
        "Block Limit Shared Mem": "launch__occupancy_limit_shared_mem",
        "Block Limit Warps": "launch__occupancy_limit_warps",
        "Block Limit Barriers": "launch__occupancy_limit_barriers",
        "Max Cluster Size": "launch__cluster_max_potential_size",
        "Max Active Clusters": "launch__cluster_max_active",
        "Cluster Occupancy": "launch__occupancy_cluster_pct",
        "Overall GPU Occupancy": "launch__occupancy_cluster_gpu_pct",
    },
    "GPU and Memory Workload Distribution": {
        **{
            f"Average {unit} Active Cycles": f"{counter}__cycles_active.avg"
            for unit, counter in (
                ("SM", "sm"), ("SMSP", "smsp"), ("L1", "l1tex"), ("L2", "lts"), ("DRAM", "dram"),
                ("MC Channel", "mcc"),
            )
        },
        **{
            f"Total {unit} Elapsed Cycles": f"{counter}__cycles_elapsed.sum"
            for unit, counter in (
                ("SM", "sm"), ("SMSP", "smsp"), ("L1", "l1tex"), ("L2", "lts"), ("DRAM", "dram"),
                ("MC Channel", "mcc"),
            )
        },
    },
    "PM Sampling": {
        "Maximum Sampling Interval": "profiler__pmsampler_interval_cycles",
        "# Pass Groups": "profiler__pmsampler_pass_groups",
        "Maximum Buffer Size": "profiler__pmsampler_buffer_size_bytes",
        "Dropped Samples": "profiler__pmsampler_dropped_samples",
    },
    "NVLink": {
        "Physical Links": "nvlink__count_physical",
        "Logical Links": "nvlink__count_logical",
    },
}  # fmt: skip

"""Per section by its display name: label to metric."""

# Two clocks have one label in the roofline; which it is, the part of the chart says.
_ROOFLINE_CLOCKS = {
    "Single Precision Roofline": "sm__cycles_elapsed.avg.per_second",
    "Double Precision Roofline": "sm__cycles_elapsed.avg.per_second",
    "Single Precision Achieved Value": "smsp__cycles_elapsed.avg.per_second",
    "Double Precision Achieved Value": "smsp__cycles_elapsed.avg.per_second",
}

# What ncu was asked for by name is printed by name: dram__bytes.sum, breakdown:sm__throughput...
_RAW_NAME = re.compile(r"[\w:]*[a-z0-9]__[\w.:]+")


def metric_of(section: str, body_item: str, label: str) -> str | None:
    """Return the raw metric that a row of the details page shows, or None where it is not certain.

    Parameters
    ----------
    section
        Display name of the section.
    body_item
        What the column "Body Item Label" says; empty where there is none.
    label
        What the column "Metric Name" says.

    Examples
    --------
    >>> metric_of("Memory Workload Analysis", "", "Memory Throughput")
    'dram__bytes.sum.per_second'
    >>> metric_of("A section of my own", "", "Memory Throughput") is None
    True
    """
    if _RAW_NAME.fullmatch(label):
        return label
    if label == "SM Frequency" and section == "GPU Speed Of Light Roofline Chart":
        return _ROOFLINE_CLOCKS.get(body_item)
    return METRICS.get(section, {}).get(label)
