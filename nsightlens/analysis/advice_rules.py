"""The rules of advice, as a table: when one holds, and its text for each kind of kernel.

``{name}`` in a text stands for a number of `nsightlens.analysis.quantities`, printed with its unit.
The order of the table is that in which advice is given; `nsightlens.analysis.advice` takes the
first few that hold.
"""

from __future__ import annotations

from nsightlens.analysis.advice_caches import L1_RULES, L2_RULES
from nsightlens.analysis.advice_conditions import (
    BUSY_PCT,
    FEW_FP64,
    FULL_ENOUGH,
    LOCAL_PCT,
    PART_PCT,
    RAMP_NS,
    SATURATED_PCT,
    SHORT_NS,
    SMALL_BLOCK,
    WASTE,
    has_bank_conflicts,
    has_excess_sectors,
    has_few_ready,
    has_scattered_loads,
    has_short_blocks,
    has_tail,
    idles,
    is_at_its_tensor_roof,
    is_below_its_tensor_roof,
    is_clock_dependent,
    is_limited_by,
    is_never_read_back,
    is_occupancy_limited_by,
    is_occupancy_low,
    is_on_cuda_cores,
    says,
    waits_in,
)
from nsightlens.analysis.advice_rule import Rule

__all__ = ["RULES"]


_FEWER_BYTES = {
    "decode": "DRAM is at {dram_of_peak_pct}: fewer bytes make this faster. Each key and value is "
    "read once for a sequence, so a larger batch adds bytes as fast as work: keep the KV cache in "
    "fewer bits, share heads (GQA, MLA) or prefixes",
    "attention": "DRAM is at {dram_of_peak_pct} with {dram_bytes}: fewer bytes make this faster: "
    "larger tiles of queries for each pass over keys and values, fewer bits",
    "gemm": "DRAM is at {dram_of_peak_pct}: the weights are read once for all rows, so that up to "
    "about {rows_to_ridge} times as many rows (a larger batch) take little longer "
    "({arithmetic_intensity_flop_per_byte}, ridge {ridge_point_flop_per_byte}); weights in fewer "
    "bits take less",
    "gemv": "DRAM is at {dram_of_peak_pct}: a matrix-vector product reads every weight for one "
    "row. Batch the rows into a GEMM, which reads the {dram_bytes} once for all of them, or keep "
    "the weights in fewer bits",
    "copy": "DRAM is at {dram_of_peak_pct} with {dram_bytes}: what helps most is not to copy: "
    "another layout, writing in place, fusing it into its neighbour",
    "": "DRAM is at {dram_of_peak_pct}: fewer bytes make this faster. Fuse with the kernel before "
    "or after it, so that these {dram_bytes} are not written and read again, or use narrower types",
}
_SATURATED_WITHOUT_FLOP = {
    "gemm": "DRAM is at {dram_of_peak_pct}: weights are read once for all rows, so that more rows "
    "(a larger batch) take little longer; weights in fewer bits take less",
    "": "DRAM is at {dram_of_peak_pct}: fewer bytes make this faster: fuse with the kernel before "
    "or after it, or use narrower types",
}

_TILES_IN_REGISTERS = (
    "registers allow {theoretical_occupancy_pct} occupancy, and a scheduler has "
    "{eligible_warps_per_scheduler} warps ready: tiles in registers are why data are used often, "
    "so load earlier (more stages, asynchronous copies) before making them smaller"
)

RULES: tuple[Rule, ...] = (
    # What is done and need not be.
    Rule(
        "padding",
        lambda q: q("executed_per_useful_flop") >= WASTE and says(q, "bound", "compute"),
        {
            "": "{executed_per_useful_flop} operations are executed for each that the shape "
            "needs: tiles are padded. Choose a tile or a shape that divides evenly"
        },
    ),
    Rule(
        "bytes_above_algorithm",
        lambda q: q("dram_per_algorithmic_byte") >= WASTE,
        {
            "": "{dram_per_algorithmic_byte} bytes pass DRAM for each that the shape needs: data "
            "is fetched again after L2 (hit rate {l2_hit_rate_pct}) has lost it. Order blocks so "
            "that those that share operands run together"
        },
    ),
    # Too little of the GPU in use.
    Rule(
        "small_grid",
        lambda q: (
            q("grid_block_count") < FULL_ENOUGH * q("sm_count") and not is_limited_by(q, "dram")
        ),
        {
            "decode": "the grid has work for only {grid_block_count} of {sm_count} SMs: split the "
            "KV sequence over more blocks (split-KV, more splits), or decode more sequences at "
            "once",
            "gemm": "the grid has work for only {grid_block_count} of {sm_count} SMs: split K "
            "(split-K, stream-K), or take smaller tiles",
            "attention": "the grid has work for only {grid_block_count} of {sm_count} SMs: "
            "smaller tiles of queries, or split the keys",
            "": "the grid has work for only {grid_block_count} of {sm_count} SMs: spread the work "
            "over more blocks, or run it beside other launches (streams, a graph)",
        },
    ),
    Rule(
        "small_grid",
        lambda q: says(q, "regime", "small_grid") and q("waves_per_multiprocessor") < FULL_ENOUGH,
        {
            "decode": "{waves_per_multiprocessor} waves: the grid does not fill the GPU "
            "(occupancy {achieved_occupancy_pct}). More KV splits or sequences would",
            "gemm": "{waves_per_multiprocessor} waves: the grid does not fill the GPU (occupancy "
            "{achieved_occupancy_pct}). Split K or take smaller tiles",
            "": "{waves_per_multiprocessor} waves: the grid does not fill the GPU (occupancy "
            "{achieved_occupancy_pct}). More and smaller blocks, or more work a launch",
        },
    ),
    Rule(
        "spills",
        lambda q: q("local_memory_pct") >= LOCAL_PCT and not is_never_read_back(q),
        {
            "": "{local_memory_pct} of the memory requests go to local memory: registers are "
            "spilled ({registers_per_thread_count} a thread), or arrays are indexed at run time. "
            "Allow more registers (launch bounds), or make the indices known when compiling"
        },
    ),
    Rule(
        "partial_warps",
        lambda q: q("idle_lanes_pct") >= PART_PCT,
        {
            "": "blocks of {block_thread_count} threads are no whole warps of 32: "
            "{idle_lanes_pct} of the lanes idle. Take a multiple of 32"
        },
    ),
    Rule(
        "short",
        lambda q: q("duration_ns") <= SHORT_NS and idles(q),
        {
            "": "{duration_ns} is about what a launch itself costs: fuse it with its neighbours, "
            "or launch it from a CUDA graph"
        },
    ),
    # The roof that is reached.
    Rule("dram_saturated", lambda q: is_limited_by(q, "dram"), _FEWER_BYTES),
    Rule("dram_saturated", lambda q: is_limited_by(q, "dram"), _SATURATED_WITHOUT_FLOP),
    Rule(
        "dram_headroom",
        lambda q: (
            is_limited_by(q, "dram")
            and q("dram_of_peak_pct") < SATURATED_PCT
            and q("duration_ns") >= RAMP_NS
        ),
        {
            "": "DRAM is at {dram_of_peak_pct}, and about 90 % can be had: more bytes in flight "
            "(16 bytes a thread, more elements a thread)"
        },
    ),
    Rule(
        "cuda_cores_in_a_gemm",
        is_on_cuda_cores,
        {
            "": "the tensor pipe was active {tensor_pipe_active_pct}, FP32 units reach "
            "{fp32_of_peak_pct}: where TF32 or 16-bit operands are exact enough, tensor cores "
            "have several times that peak"
        },
    ),
    Rule(
        "mma_sync_on_hopper",
        lambda q: (
            q("mma_sync_pct") >= 50.0
            and (q.text("limiter") or "").startswith("tensor_")
            and 100 * q("limiter_fraction") >= 50.0
        ),
        {
            "": "{mma_sync_pct} of the tensor work is done by mma.sync, whose peak is two thirds "
            "of that of wgmma: a kernel built for sm_90a has the higher roof"
        },
    ),
    Rule(
        "tensor_roof",
        is_at_its_tensor_roof,
        {
            "": "tensor cores are at {limiter_of_peak_pct} of their dense peak, which is what "
            "good libraries reach: faster only with fewer operations or fewer bits an operand"
        },
    ),
    Rule(
        "operands_not_hidden",
        lambda q: is_below_its_tensor_roof(q) and q("stalled_for_data_pct") >= 15.0,
        {
            "": "tensor cores reach {limiter_of_peak_pct}, good libraries 70 to 80 %, and warps "
            "wait {stalled_for_data_pct} of their time for operands: load earlier (more stages) "
            "or use each operand more often (larger tiles, more rows)"
        },
    ),
    Rule(
        "few_fp64_units",
        lambda q: q("fp64_of_peak_pct") >= BUSY_PCT and q("fp32_peak_over_fp64_peak") >= FEW_FP64,
        {
            "": "FP64 units are at {fp64_of_peak_pct}, and this GPU has "
            "{fp32_peak_over_fp64_peak} times as much FP32: use FP32 where it is exact enough; "
            "look for constants such as 1.0 that make an expression FP64 by accident"
        },
    ),
    Rule(
        "unfused_fp64",
        lambda q: is_limited_by(q, "fp64") and q("unfused_fp64_pct") >= 50.0,
        {
            "": "{unfused_fp64_pct} of the FP64 instructions are additions or multiplications "
            "alone: written as multiply-adds, two cost one"
        },
    ),
    Rule(
        "unfused_fp32",
        lambda q: is_limited_by(q, "fp32", "fma") and q("unfused_fp32_pct") >= 50.0,
        {
            "": "{unfused_fp32_pct} of the FP32 instructions are additions or multiplications "
            "alone: written as multiply-adds, two cost one"
        },
    ),
    Rule(
        "local_array",
        lambda q: (
            q("local_memory_pct") >= LOCAL_PCT
            and is_never_read_back(q)
            and not is_limited_by(q, "dram")
        ),
        {
            "": "{local_store_count} requests write to local memory and {local_load_count} read "
            "it. Spilled registers are read again: this is an array that hardly is. Unroll the "
            "loops that index it, and pass no pointer to it, so that it stays in registers"
        },
    ),
    Rule(
        "bank_conflicts",
        has_bank_conflicts,
        {
            "": "{bank_conflicts_pct} of the shared-memory wavefronts are bank conflicts, and L1 "
            "with shared memory is at {l1_of_peak_pct}: pad or swizzle the layout in shared memory"
        },
    ),
    Rule(
        "excess_sectors",
        has_excess_sectors,
        {
            "": "{excess_sectors_pct} of the sectors that global accesses touch are not needed: "
            "neighbouring threads do not access neighbouring addresses. Change the layout or go "
            "through shared memory"
        },
    ),
    Rule(
        "scattered_loads",
        has_scattered_loads,
        {
            "": "a load of a warp touches {sectors_per_load_request} sectors on average, and "
            "contiguous threads need at most 16: change the layout, or go through shared memory"
        },
    ),
    Rule(
        "atomics",
        lambda q: q("atomics_pct") >= 10.0,
        {
            "": "{atomics_pct} of the global requests are atomics: add up within a warp or block "
            "first, and write once"
        },
    ),
    *L2_RULES,
    *L1_RULES,
    Rule(
        "xu_roof",
        lambda q: is_limited_by(q, "xu"),
        {
            "": "the special-function pipe is at {xu_of_peak_pct}: fewer exp, log, sine, division "
            "and type conversions, or approximations of them in FMA"
        },
    ),
    Rule(
        "integer_roof",
        lambda q: is_limited_by(q, "integer"),
        {
            "": "the integer pipe is at {integer_of_peak_pct}: index arithmetic out of the loop, "
            "32-bit in place of 64-bit indices, divisions by constants"
        },
    ),
    Rule(
        "issue_roof",
        lambda q: is_limited_by(q, "issue"),
        {
            "": "{issue_of_peak_pct} of the issue slots are used: fewer instructions make this "
            "faster: vector loads, unrolling, index arithmetic out of the loop"
        },
    ),
    # Nothing is busy, and there are blocks enough: latency.
    Rule(
        "tail",
        has_tail,
        {
            "gemm": "{waves_per_multiprocessor} waves: the last one is not full, so that with "
            "blocks of equal length up to {tail_loss_pct} of the room for blocks stays empty. A "
            "tile size that fills whole waves, or stream-K, avoids that",
            "": "{waves_per_multiprocessor} waves: the last one is not full, so that with blocks "
            "of equal length up to {tail_loss_pct} of the room for blocks stays empty. As many "
            "blocks as fit at once, which loop over the work, avoid that",
        },
    ),
    Rule(
        "registers",
        lambda q: (
            is_occupancy_limited_by(q, "registers")
            and q("unused_registers_pct") >= PART_PCT
            and q("block_thread_count") >= 2 * SMALL_BLOCK
        ),
        {
            "": "{registers_per_thread_count} registers a thread allow "
            "{theoretical_occupancy_pct} occupancy in blocks of {block_thread_count} threads, and "
            "leave {unused_registers_pct} of the registers unused: smaller blocks fill them, and a "
            "scheduler, which has {eligible_warps_per_scheduler} warps ready, gets more"
        },
    ),
    Rule(
        "registers",
        lambda q: is_occupancy_limited_by(q, "registers"),
        {
            **dict.fromkeys(
                ("gemv", ""),
                "{registers_per_thread_count} registers a thread allow "
                "{theoretical_occupancy_pct} occupancy, and a scheduler has "
                "{eligible_warps_per_scheduler} warps ready: fewer registers (launch bounds) make "
                "room for more warps; more independent loads a thread help without them",
            ),
            **dict.fromkeys(("gemm", "attention", "decode"), _TILES_IN_REGISTERS),
        },
    ),
    Rule(
        "registers",
        lambda q: is_occupancy_limited_by(q, "registers"),
        {
            **dict.fromkeys(
                ("gemv", ""),
                "registers allow {theoretical_occupancy_pct} occupancy, and a scheduler has "
                "{eligible_warps_per_scheduler} warps ready: fewer registers (launch bounds) make "
                "room for more warps; more independent loads a thread help without them",
            ),
            **dict.fromkeys(("gemm", "attention", "decode"), _TILES_IN_REGISTERS),
        },
    ),
    Rule(
        "shared_memory",
        lambda q: is_occupancy_limited_by(q, "shared_mem"),
        {
            "": "{shared_memory_per_block_bytes} of shared memory a block allow "
            "{theoretical_occupancy_pct} occupancy, and a scheduler has "
            "{eligible_warps_per_scheduler} warps ready: smaller tiles make room for more warps; "
            "more stages help without them"
        },
    ),
    Rule(
        "block_size",
        lambda q: is_occupancy_limited_by(q, "blocks") and q("block_thread_count") < SMALL_BLOCK,
        {
            "": "blocks of {block_thread_count} threads allow {theoretical_occupancy_pct} "
            "occupancy, because the number of blocks an SM holds is limited: take larger blocks"
        },
    ),
    Rule(
        "few_warps",
        is_occupancy_low,
        {
            "": "{achieved_occupancy_pct} of the warps that an SM can hold are there, no more than "
            "{theoretical_occupancy_pct} can be, and no resource is above {limiter_of_peak_pct}: "
            "fewer registers or less shared memory a block make room for more warps; more "
            "independent work a thread helps without them"
        },
    ),
    Rule(
        "few_ready",
        has_few_ready,
        {
            "": "with occupancy at {achieved_occupancy_pct}, a scheduler has "
            "{eligible_warps_per_scheduler} warps ready, and no resource is above "
            "{limiter_of_peak_pct}: warps wait for one another or for memory. More independent "
            "work a thread (several loads before the first use) fills the gaps"
        },
    ),
    Rule(
        "short_blocks",
        has_short_blocks,
        {
            "": "{achieved_occupancy_pct} of the warps that an SM can hold are there on average, "
            "where {theoretical_occupancy_pct} can be: blocks of {block_thread_count} threads end "
            "sooner than new ones begin, or some much later than others. More work a block, or as "
            "many blocks as fit at once that loop over the work"
        },
    ),
    Rule(
        "loads_in_flight",
        lambda q: idles(q) and q("stalled_for_data_pct") >= 30.0,
        {
            "": "warps wait {stalled_for_data_pct} of their time for data while DRAM is at "
            "{dram_of_peak_pct}: put more loads in flight (16 bytes a thread, unrolling, "
            "asynchronous copies) before the first use, or shorten chains of loads that depend on "
            "each other"
        },
    ),
    Rule(
        "barriers",
        lambda q: waits_in(q, "barrier"),
        {
            "": "warps wait {top_stall_pct} of their time at barriers, in blocks of "
            "{block_thread_count} threads: exchange within a warp (shuffles) where that is "
            "enough, and take smaller blocks, so that others run while one waits"
        },
    ),
    Rule(
        "narrow_accesses",
        lambda q: waits_in(q, "lg_throttle"),
        {
            "": "{top_stall_pct} of warp latency is a full queue of global and local accesses: "
            "fewer and wider ones (16 bytes a thread), and no spilled registers"
        },
    ),
    Rule(
        "shared_memory_queue",
        lambda q: waits_in(q, "mio_throttle", "short_scoreboard"),
        {
            "": "{top_stall_pct} of warp latency is waiting for shared memory, shuffles or "
            "special functions: read wider, keep values in registers, and put independent work "
            "between request and use"
        },
    ),
    Rule(
        "dependent_instructions",
        lambda q: waits_in(q, "wait"),
        {
            "": "{top_stall_pct} of warp latency is the fixed latency of dependent instructions: "
            "several independent chains a thread (unrolling, more accumulators) hide it"
        },
    ),
    Rule(
        "code_size",
        lambda q: waits_in(q, "no_instruction") and q("duration_ns") > 2 * SHORT_NS,
        {
            "": "warps wait {top_stall_pct} of their time for instructions: less unrolling and "
            "inlining, so that the loop fits the instruction cache"
        },
    ),
    Rule(
        "divergence",
        lambda q: q("threads_per_instruction") < 24 and says(q, "bound", "compute"),
        {
            "": "{threads_per_instruction} of 32 threads are active in an instruction on average: "
            "branches or short loops leave lanes idle. Sort or regroup the work"
        },
    ),
    Rule(
        "clock_dependent",
        is_clock_dependent,
        {
            "": "by the classical roofline alone, compute-bound at {sm_clock_hz} and memory-bound "
            "at the boost clock ({boost_clock_hz}), with arithmetic at {flop_of_peak_pct}: profile "
            "with --clock-control none before choosing what to change"
        },
    ),
)
"""Every rule, the most promising first."""
