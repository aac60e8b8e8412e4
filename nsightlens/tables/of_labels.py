"""What `nsightlens.classify` says: labels, and the roofline times behind them."""

from __future__ import annotations

import pyarrow as pa

from nsightlens.tables.column import KEY, Column, category, count, flag, real, text, whole

__all__ = ["LABELS", "RESOURCES", "ROOFLINES"]

RESOURCES: tuple[Column, ...] = (
    *KEY,
    category(
        "resource",
        "tensor_fp16 ..., fp64, fp32, fp16, integer, xu, issue, dram, l2, l1; tensor where the data"
        " type is not known, fma where FP32, FP16 or integer multiply-adds may have used that pipe,"
        " sm and memory where the part of that side is not known",
    ),
    category("side", "compute or memory"),
    real(
        "work",
        "",
        "work done on the resource, in `work_unit`; null where only a percentage is known",
    ),
    category("work_unit", "FLOP, op, B; null where only a percentage is known"),
    real(
        "peak_per_s",
        "",
        "peak rate of the resource, in work_unit per second; null where its activity was measured",
    ),
    category(
        "peak_source",
        "measured_ceiling or named_device where the user gave one, else report, attributes,"
        " architecture, data_sheet or percent_of_peak",
    ),
    real(
        "roofline_time_ns",
        "ns",
        "work over peak: the time needed if this were the only limit; the time in which the unit"
        " was active where that is longer, or the work was not counted",
    ),
    real("fraction_of_peak", "1", "roofline time over duration"),
    category("measured_by", "counter (work was counted) or activity (percent of peak of the unit)"),
    category(
        "busiest_counter",
        "percent-of-peak counter that gives the activity its value: the busiest part of the unit;"
        " null where work was counted, nothing was active, or only the maximum over parts is known",
    ),
)

ROOFLINES: tuple[Column, ...] = (
    *KEY,
    category("level", "memory level that the bytes passed: dram, l2 or l1"),
    category(
        "resource",
        "data type with the largest roofline time, whose peak is the flat roof; null where not every"
        " operation was counted",
    ),
    real("flop_count", "FLOP", "floating-point and tensor operations of every data type"),
    real("level_bytes", "B", "bytes at this level"),
    category(
        "bytes_counted",
        "where in the level they were counted: transferred (DRAM); returned (sent back by L2 to the"
        " SMs, by L1 to registers, as in NVIDIA's rooflines); looked_up (sectors of loads and"
        " stores); missed (in L2, where DRAM has no counters); annotated. peak_bytes_per_s is that"
        " of the same path",
    ),
    real("arithmetic_intensity_flop_per_byte", "FLOP/B", "flop_count over level_bytes"),
    real("ridge_point_flop_per_byte", "FLOP/B", "peak_flop_per_s over peak_bytes_per_s"),
    real("peak_flop_per_s", "FLOP/s", "flat roof: peak of the resource"),
    real("peak_bytes_per_s", "B/s", "slanted roof: peak bandwidth of the level"),
    category("peak_flop_source", "where the flat roof comes from: see resources"),
    category("peak_bytes_source", "where the slanted roof comes from: see resources"),
    real(
        "attainable_flop_per_s",
        "FLOP/s",
        "flop_count over the larger roofline time, that of the resource or of the bytes; for one data"
        " type min(flat roof, intensity x slanted roof)",
    ),
    real("achieved_flop_per_s", "FLOP/s", "operations over duration"),
    real(
        "fraction_of_roof",
        "1",
        "the larger of the two roofline times over duration: achieved over attainable",
    ),
    real("fraction_of_bandwidth", "1", "roofline time of the bytes over duration"),
    category(
        "roofline_bound",
        "which of the two roofline times is larger: memory left of this level's ridge point, compute"
        " right of it, or unknown",
    ),
)

LABELS: tuple[Column, ...] = (
    Column(
        "key",
        pa.string(),
        "",
        "names the launch in the same way in every report of the same program; unique together with"
        " report",
    ),
    category("report", "path of the report, as it was given; null for a group over several"),
    Column("launch_id", pa.uint32(), "", "position of the result in its report; null for a group"),
    category("kind", "kernel, range, graph or cmdlist; null for a group of several kinds"),
    category("kernel", "the kernel's name as a person would say it; null where none is stored"),
    category("kernel_demangled_name", "full name with template arguments"),
    category("family", "what the kernel computes: attention, gemm, norm, ..."),
    category("subtype", "finer class within the family"),
    category("phase", "prefill, decode, mixed or capture; null where nothing says so"),
    whole("batch_size", "sequences in the step, real ones; null where nothing says so"),
    category(
        "batch_source",
        "where the batch size came from: annotation (our own NVTX ranges), the name of the engine whose"
        " step label it was, batch_from:nvtx, batch_from:file or batch_from:command (a pattern of the"
        " user's), batch_size (given by the user)",
    ),
    category(
        "step_engine", "engine in whose words the step label is; nsightlens for our own annotation"
    ),
    whole("step_index", "number of the step as its label gives it"),
    whole(
        "query_tokens", "tokens that run through the model in the step, of all sequences", "token"
    ),
    whole("kv_tokens", "keys and values that are attended to, summed over the sequences", "token"),
    whole("context_length", "keys and values per sequence, where all have as many", "token"),
    category("nvtx_path", "see launches"),
    text("grid", "blocks as x,y,z"),
    text("block", "threads per block as x,y,z"),
    count("process_id", "see launches; null for a group over several"),
    count("device_id", "see launches; null for a group over several"),
    category("device_name", "name of the GPU"),
    count("launch_count", "launches in the row: 1, or the size of the group"),
    count(
        "failed_launch_count",
        "of these, launches that failed to be collected and are left out of sums",
    ),
    real("duration_ns", "ns", "time under ncu; the sum over the launches of a group"),
    real("duration_share_pct", "%", "share of the duration of all rows"),
    category("bound", "memory, compute or unknown"),
    category("limiter", "resource with the largest roofline time"),
    real(
        "limiter_fraction",
        "1",
        "roofline time of the limiter over duration; the share of it in which its pipe was active"
        " where that is more",
    ),
    category(
        "roofline_bound", "memory, compute or unknown: arithmetic intensity against the ridge point"
    ),
    category(
        "nvidia_verdict",
        "what NVIDIA's SpeedOfLight rule makes of the same launch: high_throughput, balanced, compute,"
        " memory, latency or small_grid; null where its metrics were not collected, and for a group",
    ),
    category(
        "nvidia_stored_verdict",
        "the same as the rule's message in the report says it; null where the report has none",
    ),
    real(
        "bound_ratio",
        "1",
        "compute roofline time over DRAM roofline time; 1 is on the ridge; null where the operations"
        " were not all counted",
    ),
    real("arithmetic_intensity_flop_per_byte", "FLOP/B", "operations per DRAM byte"),
    real(
        "ridge_point_flop_per_byte",
        "FLOP/B",
        "peak of the data type used most over peak DRAM bandwidth",
    ),
    real("ridge_point_boost_flop_per_byte", "FLOP/B", "the same at the boost clock"),
    flag("clock_dependent", "compute-bound at the report's clock, memory-bound at the boost clock"),
    real(
        "executed_per_useful_flop",
        "1",
        "operations executed over those that the annotated shape needs: 1 without padding; null where"
        " either is not known",
    ),
    real(
        "dram_per_algorithmic_byte",
        "1",
        "DRAM bytes over those that the annotated shape needs; null where either is not known",
    ),
    real("dram_throughput_pct", "%", "see launches"),
    real("sm_throughput_pct", "%", "see launches"),
    real("achieved_occupancy_pct", "%", "see launches"),
    real("stalled_for_data_pct", "%", "see launches"),
    category("top_stall", "see launches"),
    category("regime", "saturated, latency, small_grid, balanced or unknown"),
    category("evidence", "counters, throughput, analytic or none"),
    category("confidence", "high, medium, low or none"),
    category("peak_source", "where the peaks came from, joined by '+': see resources"),
    text("reason", "why, in one sentence with the numbers"),
)
