"""The table ``launches``: one row per result of a report."""

from __future__ import annotations

from nsightlens.tables.column import KEY, Column, category, count, flag, real

__all__ = ["FLOP_COUNT_COLUMNS", "LAUNCHES"]

# CUDA-core and tensor work, by data type. "op" instead of "flop" where the type is an integer.
FLOP_COUNT_COLUMNS = (
    "fp64_flop_count", "fp32_flop_count", "fp16_flop_count",
    "tensor_fp64_flop_count", "tensor_tf32_flop_count", "tensor_fp16_flop_count",
    "tensor_bf16_flop_count", "tensor_fp8_flop_count", "tensor_fp4_flop_count",
    "tensor_int8_op_count", "tensor_int4_op_count", "tensor_int1_op_count",
)  # fmt: skip

_FLOP_MEANING = {
    "fp64": "FP64 add + mul + 2 fma on CUDA cores",
    "fp32": "FP32 add + mul + 2 fma on CUDA cores",
    "fp16": "FP16 work on CUDA cores, two lanes an instruction: 2 add + 2 mul + 4 fma",
    "tensor_fp64": "FP64 operations on tensor cores",
    "tensor_tf32": "TF32 operations on tensor cores",
    "tensor_fp16": "FP16 operations on tensor cores, either accumulator",
    "tensor_bf16": "BF16 operations on tensor cores",
    "tensor_fp8": "FP8 (and mixed FP6/FP4 through the same path) operations on tensor cores",
    "tensor_fp4": "FP4 operations on tensor cores",
    "tensor_int8": "INT8 operations on tensor cores",
    "tensor_int4": "INT4 operations on tensor cores",
    "tensor_int1": "1-bit operations on tensor cores",
}

LAUNCHES: tuple[Column, ...] = (
    *KEY,
    category("kind", "what was profiled as one result: kernel, range, graph or cmdlist"),
    # Where it ran.
    count("process_id", "operating system's id of the profiled process"),
    category("process_name", "name of the profiled process"),
    count("device_id", "CUDA device ordinal (launch__device_id)"),
    category("device_name", "name of the GPU as its driver gives it"),
    category("compute_capability", 'compute capability as text, such as "9.0"'),
    count("context_id", "CUDA context"),
    count("stream_id", "CUDA stream"),
    count("thread_id", "operating system's id of the launching thread"),
    count("api_call_id", "number of the launching API call in its process"),
    # What it is.
    category("kernel_name", "function name without namespaces and arguments"),
    category("kernel_demangled_name", "full name with template arguments"),
    category("kernel_mangled_name", "name as the linker sees it"),
    category("nvtx_path", "push/pop ranges of the launching thread, outermost first, joined by '/'"
              "; 'domain@' in front where the domain is not the default one; domains and start/end"
              " ranges joined by ';'"),
    flag("is_alone_in_range", "no launch beside it in its file has the same nvtx_path: the work of"
          " the innermost range is its own; null where no range was open"),
    # Launch configuration.
    count("grid_x", "blocks in x", "block"),
    count("grid_y", "blocks in y", "block"),
    count("grid_z", "blocks in z", "block"),
    count("block_x", "threads per block in x", "thread"),
    count("block_y", "threads per block in y", "thread"),
    count("block_z", "threads per block in z", "thread"),
    count("grid_block_count", "blocks of the launch", "block"),
    count("block_thread_count", "threads per block", "thread"),
    count("registers_per_thread_count", "registers per thread"),
    count("shared_memory_per_block_bytes", "shared memory per block: static, dynamic and driver's", "B"),
    count("shared_memory_static_bytes", "static shared memory per block", "B"),
    count("shared_memory_dynamic_bytes", "dynamic shared memory per block", "B"),
    real("waves_per_multiprocessor", "", "blocks of the launch over the blocks that fit at once"),
    count("sm_count", "multiprocessors of the device"),
    # Time and clocks.
    real("duration_ns", "ns", "time between start and end of the launch on the GPU, under ncu"),
    real("sm_clock_hz", "Hz", "SM clock during the launch"),
    real("l2_clock_hz", "Hz", "L2 clock during the launch"),
    real("dram_clock_hz", "Hz", "DRAM clock during the launch"),
    # Memory levels.
    real("dram_read_bytes", "B", "bytes read from DRAM"),
    real("dram_write_bytes", "B", "bytes written to DRAM"),
    real("dram_bytes", "B", "bytes read from and written to DRAM"),
    real("dram_bandwidth_bytes_per_s", "B/s", "DRAM bytes per second"),
    real("dram_throughput_pct", "%", "DRAM throughput, percent of peak sustained"),
    real("l2_bytes", "B", "bytes looked up in L2"),
    real("l2_hit_rate_pct", "%", "share of L2 sector look-ups that hit; may exceed 100"),
    real("l2_throughput_pct", "%", "L2 throughput, percent of peak sustained"),
    real("l2_memory_bytes", "B", "bytes between L2 and system memory, by what misses in L2: on a GPU that shares its memory with the CPU and has no DRAM counters, what stands in for dram_bytes"),
    real("l1_bytes", "B", "bytes looked up in L1"),
    real("l1_hit_rate_pct", "%", "share of L1 sector look-ups that hit"),
    real("l1_throughput_pct", "%", "L1 throughput, percent of peak sustained while active"),
    real("memory_throughput_pct", "%", "busiest part of the memory system, percent of peak sustained"),
    real("sm_throughput_pct", "%", "busiest part of the SMs, percent of peak sustained"),
    # Work.
    *(
        real(name, "FLOP" if name.endswith("flop_count") else "op", _FLOP_MEANING[name.rsplit("_", 2)[0]])
        for name in FLOP_COUNT_COLUMNS
    ),
    real("integer_op_count", "inst", "integer instructions of threads on CUDA cores; no part of any FLOP count"),
    real("tensor_pipe_active_pct", "%", "cycles in which a tensor pipe was active, percent of elapsed cycles, else of active ones"),
    # Warps.
    real("achieved_occupancy_pct", "%", "warps active on average, percent of the SM's maximum"),
    real("theoretical_occupancy_pct", "%", "warps that the launch configuration allows, percent of maximum"),
    category("occupancy_limiter", "what limits theoretical occupancy: blocks, registers, shared_mem,"
              " warps, barriers, joined by '+' where several tie; none at 100 %; null where nothing is known"),
    real("issue_active_pct", "%", "cycles in which a scheduler issued an instruction, percent"),
    real("eligible_warps_per_scheduler", "warp", "warps ready to issue, per scheduler and active cycle"),
    real("active_warps_per_scheduler", "warp", "warps resident, per scheduler and active cycle"),
    real("warp_cycles_per_issue", "cycle", "cycles that a warp spends per issued instruction"),
    real("stalled_for_data_pct", "%", "share of warp latency stalled on long_scoreboard"),
    category("top_stall", "warp state with the largest share of warp latency, 'selected' aside"),
    real("top_stall_cycles_per_issue", "cycle", "cycles per issued instruction in the top stall"),
    real("top_stall_pct", "%", "share of warp latency in the top stall"),
    # How it was collected.
    count("replay_pass_count", "times the launch was replayed to collect its metrics"),
    flag("is_clock_locked", "ncu held the clocks during the launch; null where it does not say"),
    flag("is_failed_collection", "the launch was cut short by the profiler: no metric of it counts"),
    flag("is_unsupported_device", "ncu said that it does not support this device"),
)  # fmt: skip
