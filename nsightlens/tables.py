"""One Arrow schema per table: name, type, unit and meaning of every column.

This is the contract that everything to the right of it (see ``docs/architecture.md``) builds on.
The unit and the meaning of a column are in its field metadata (``unit``, ``meaning``); the metrics
that can fill it are added under ``source`` by ``nsightlens.metrics``, which owns the spellings.
A column that a report cannot fill is null, never zero. ``SCHEMA_VERSION`` rises when a column
changes its name, type, unit or meaning; a new column alone does not raise it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "FLOP_COUNT_COLUMNS",
    "INSTANCES",
    "LABELS",
    "LAUNCHES",
    "METRICS",
    "NVTX",
    "RESOURCES",
    "ROOFLINES",
    "RULES",
    "SCHEMA_VERSION",
    "SESSIONS",
    "STALLS",
    "STALL_REASONS",
    "Column",
    "empty_table",
    "schema_of",
    "table_of",
]

SCHEMA_VERSION = 1

CATEGORY = pa.dictionary(pa.int32(), pa.string())


class Column(NamedTuple):
    """One column: its name, Arrow type, unit ("" where it has none) and meaning."""

    name: str
    type: pa.DataType
    unit: str
    meaning: str


def _real(name: str, unit: str, meaning: str) -> Column:
    return Column(name, pa.float64(), unit, meaning)


def _count(name: str, meaning: str, unit: str = "") -> Column:
    return Column(name, pa.uint64(), unit, meaning)


def _text(name: str, meaning: str) -> Column:
    return Column(name, pa.string(), "", meaning)


def _category(name: str, meaning: str) -> Column:
    return Column(name, CATEGORY, "", meaning)


def _flag(name: str, meaning: str) -> Column:
    return Column(name, pa.bool_(), "", meaning)


# The two columns that name a launch in every table.
_KEY = (
    _category("report", "path of the report, as it was given"),
    Column(
        "launch_id", pa.uint32(), "", "position of the result in its report, from 0, file order"
    ),
)

STALL_REASONS = (
    "barrier", "branch_resolving", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle",
    "long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction",
    "not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait",
)  # fmt: skip
"""NVIDIA's names of the warp states, alphabetical; not every architecture has all of them."""

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
    *_KEY,
    _category("kind", "what was profiled as one result: kernel, range, graph or cmdlist"),
    # Where it ran.
    _count("process_id", "operating system's id of the profiled process"),
    _category("process_name", "name of the profiled process"),
    _count("device_id", "CUDA device ordinal (launch__device_id)"),
    _category("device_name", "name of the GPU as its driver gives it"),
    _category("compute_capability", 'compute capability as text, such as "9.0"'),
    _count("context_id", "CUDA context"),
    _count("stream_id", "CUDA stream"),
    _count("thread_id", "operating system's id of the launching thread"),
    _count("api_call_id", "number of the launching API call in its process"),
    # What it is.
    _category("kernel_name", "function name without namespaces and arguments"),
    _category("kernel_demangled_name", "full name with template arguments"),
    _category("kernel_mangled_name", "name as the linker sees it"),
    _category("nvtx_path", "push/pop ranges of the launching thread, outermost first, joined by '/'"
              "; 'domain@' in front where the domain is not the default one; domains and start/end"
              " ranges joined by ';'"),
    _flag("is_alone_in_range", "no launch beside it in its file has the same nvtx_path: the work of"
          " the innermost range is its own; null where no range was open"),
    # Launch configuration.
    _count("grid_x", "blocks in x", "block"),
    _count("grid_y", "blocks in y", "block"),
    _count("grid_z", "blocks in z", "block"),
    _count("block_x", "threads per block in x", "thread"),
    _count("block_y", "threads per block in y", "thread"),
    _count("block_z", "threads per block in z", "thread"),
    _count("grid_block_count", "blocks of the launch", "block"),
    _count("block_thread_count", "threads per block", "thread"),
    _count("registers_per_thread_count", "registers per thread"),
    _count("shared_memory_per_block_bytes", "shared memory per block: static, dynamic and driver's", "B"),
    _count("shared_memory_static_bytes", "static shared memory per block", "B"),
    _count("shared_memory_dynamic_bytes", "dynamic shared memory per block", "B"),
    _real("waves_per_multiprocessor", "", "blocks of the launch over the blocks that fit at once"),
    _count("sm_count", "multiprocessors of the device"),
    # Time and clocks.
    _real("duration_ns", "ns", "time between start and end of the launch on the GPU, under ncu"),
    _real("sm_clock_hz", "Hz", "SM clock during the launch"),
    _real("l2_clock_hz", "Hz", "L2 clock during the launch"),
    _real("dram_clock_hz", "Hz", "DRAM clock during the launch"),
    # Memory levels.
    _real("dram_read_bytes", "B", "bytes read from DRAM"),
    _real("dram_write_bytes", "B", "bytes written to DRAM"),
    _real("dram_bytes", "B", "bytes read from and written to DRAM"),
    _real("dram_bandwidth_bytes_per_s", "B/s", "DRAM bytes per second"),
    _real("dram_throughput_pct", "%", "DRAM throughput, percent of peak sustained"),
    _real("l2_bytes", "B", "bytes looked up in L2"),
    _real("l2_hit_rate_pct", "%", "share of L2 sector look-ups that hit; may exceed 100"),
    _real("l2_throughput_pct", "%", "L2 throughput, percent of peak sustained"),
    _real("l2_memory_bytes", "B", "bytes between L2 and system memory, by what misses in L2: on a GPU that shares its memory with the CPU and has no DRAM counters, what stands in for dram_bytes"),
    _real("l1_bytes", "B", "bytes looked up in L1"),
    _real("l1_hit_rate_pct", "%", "share of L1 sector look-ups that hit"),
    _real("l1_throughput_pct", "%", "L1 throughput, percent of peak sustained while active"),
    _real("memory_throughput_pct", "%", "busiest part of the memory system, percent of peak sustained"),
    _real("sm_throughput_pct", "%", "busiest part of the SMs, percent of peak sustained"),
    # Work.
    *(
        _real(name, "FLOP" if name.endswith("flop_count") else "op", _FLOP_MEANING[name.rsplit("_", 2)[0]])
        for name in FLOP_COUNT_COLUMNS
    ),
    _real("integer_op_count", "inst", "integer instructions of threads on CUDA cores; no part of any FLOP count"),
    _real("tensor_pipe_active_pct", "%", "cycles in which a tensor pipe was active, percent of elapsed cycles, else of active ones"),
    # Warps.
    _real("achieved_occupancy_pct", "%", "warps active on average, percent of the SM's maximum"),
    _real("theoretical_occupancy_pct", "%", "warps that the launch configuration allows, percent of maximum"),
    _category("occupancy_limiter", "what limits theoretical occupancy: blocks, registers, shared_mem,"
              " warps, barriers, joined by '+' where several tie; none at 100 %; null where nothing is known"),
    _real("issue_active_pct", "%", "cycles in which a scheduler issued an instruction, percent"),
    _real("eligible_warps_per_scheduler", "warp", "warps ready to issue, per scheduler and active cycle"),
    _real("active_warps_per_scheduler", "warp", "warps resident, per scheduler and active cycle"),
    _real("warp_cycles_per_issue", "cycle", "cycles that a warp spends per issued instruction"),
    _real("stalled_for_data_pct", "%", "share of warp latency stalled on long_scoreboard"),
    _category("top_stall", "warp state with the largest share of warp latency, 'selected' aside"),
    _real("top_stall_cycles_per_issue", "cycle", "cycles per issued instruction in the top stall"),
    _real("top_stall_pct", "%", "share of warp latency in the top stall"),
    # How it was collected.
    _count("replay_pass_count", "times the launch was replayed to collect its metrics"),
    _flag("is_clock_locked", "ncu held the clocks during the launch; null where it does not say"),
    _flag("is_failed_collection", "the launch was cut short by the profiler: no metric of it counts"),
    _flag("is_unsupported_device", "ncu said that it does not support this device"),
)  # fmt: skip

STALLS: tuple[Column, ...] = (
    *_KEY,
    _category("stall_reason", "warp state, in NVIDIA's words"),
    _real(
        "cycles_per_issue",
        "cycle",
        "cycles that a warp spends in this state per issued instruction",
    ),
    _real(
        "share_of_warp_latency_pct",
        "%",
        "cycles_per_issue over the warp_cycles_per_issue of the launch; may exceed 100",
    ),
    _count("sample_count", "samples in this state, where the sampler ran", "sample"),
    _count(
        "sample_not_issued_count",
        "of these, samples in which the scheduler issued nothing",
        "sample",
    ),
)

METRICS: tuple[Column, ...] = (
    *_KEY,
    _category("metric", "name of the metric, as ncu stored it"),
    _real("value", "", "the value as a float64; null for text and for a metric without a value"),
    _count("integer", "the exact value, where the report stores an integer"),
    _text("text", "the value, where the report stores text"),
    _category("unit", "unit of the value by its name; null where it is not known"),
    _real(
        "rounding",
        "",
        "how far the true value may lie from the one stored: 0 where it is exact, as in a .ncu-rep "
        "file; half of the last printed digit where it was read from text; null without a number",
    ),
)

INSTANCES: tuple[Column, ...] = (
    *_KEY,
    _category("metric", "name of the metric"),
    Column("instance", pa.uint32(), "", "position of the instance in its metric, from 0"),
    _count(
        "correlation_integer",
        "what the instance belongs to, as a number: an address, a count, a time",
    ),
    _real("correlation_value", "", "the same as float64; null where it is text"),
    _text("correlation_text", "what the instance belongs to, as text: an opcode, a link"),
    _real("value", "", "value of the instance as float64"),
    _count("integer", "the exact value, where the report stores an integer"),
    _text("text", "the value, where the report stores text"),
)

RULES: tuple[Column, ...] = (
    *_KEY,
    _category("rule", "identifier of NVIDIA's rule"),
    _category("rule_name", "its display name"),
    _category("section", "section that the rule belongs to"),
    _category("severity", "none, ok, optimization, warning or error"),
    _text("title", "heading of the message"),
    _text("message", "the message"),
    _real("estimated_speedup_pct", "%", "speed-up that the rule estimates"),
    _category("speedup_scope", "local (this unit) or global (the whole launch)"),
)

NVTX: tuple[Column, ...] = (
    *_KEY,
    _category("domain", "NVTX domain; '<default domain>' is the default one"),
    _category("range_kind", "push_pop or start_end"),
    Column(
        "depth", pa.uint32(), "", "position on the stack from 0 (outermost); null for start_end"
    ),
    _category("name", "name of the range"),
    _count("thread_id", "thread that pushed or started the range"),
    _count("range_id", "id of a start_end range"),
    _count("category", "category attribute"),
    _count("color", "colour attribute, ARGB"),
    _text("payload", "payload attribute, as text"),
    _text("message", "message attribute, where it differs from the name"),
)

SESSIONS: tuple[Column, ...] = (
    _category("report", "path of the report, as it was given"),
    Column(
        "session_id",
        pa.uint32(),
        "",
        "position of the session in its report: one per profiled process",
    ),
    _count("process_id", "operating system's id of the profiled process"),
    _text("process_name", "name of the profiled process"),
    _text("host_name", "machine on which it ran"),
    _text("command_line", "command line of the profiled program"),
    _text("profiler_command_line", "command line of ncu"),
    _text("ncu_version", "version of Nsight Compute that collected the report"),
    _text("cuda_version", "CUDA version"),
    _text("driver_version", "display driver"),
    _text(
        "clock_control",
        "what ncu did to the clocks, such as base or none; locked where the report only says that it held them",
    ),
    _text("cache_control", "what ncu did to the caches before each pass"),
    _text("replay_mode", "kernel, application, range or app-range"),
    Column(
        "created_at", pa.timestamp("ms", tz="UTC"), "", "when the report was made, to the second"
    ),
    _text("operating_system", "operating system of the profiled machine"),
    Column("device_names", pa.list_(pa.string()), "", "GPUs that the session describes"),
)

RESOURCES: tuple[Column, ...] = (
    *_KEY,
    _category(
        "resource",
        "tensor_fp16 ..., fp64, fp32, fp16, integer, xu, issue, dram, l2, l1; tensor where the data"
        " type is not known, fma where FP32, FP16 or integer multiply-adds may have used that pipe,"
        " sm and memory where the part of that side is not known",
    ),
    _category("side", "compute or memory"),
    _real(
        "work",
        "",
        "work done on the resource, in `work_unit`; null where only a percentage is known",
    ),
    _category("work_unit", "FLOP, op, B; null where only a percentage is known"),
    _real(
        "peak_per_s",
        "",
        "peak rate of the resource, in work_unit per second; null where its activity was measured",
    ),
    _category(
        "peak_source",
        "measured_ceiling or named_device where the user gave one, else report, attributes,"
        " architecture, data_sheet or percent_of_peak",
    ),
    _real(
        "roofline_time_ns",
        "ns",
        "work over peak: the time needed if this were the only limit; the time in which the unit"
        " was active where that is longer, or the work was not counted",
    ),
    _real("fraction_of_peak", "1", "roofline time over duration"),
    _category(
        "measured_by", "counter (work was counted) or activity (percent of peak of the unit)"
    ),
    _category(
        "busiest_counter",
        "percent-of-peak counter that gives the activity its value: the busiest part of the unit;"
        " null where work was counted, nothing was active, or only the maximum over parts is known",
    ),
)

ROOFLINES: tuple[Column, ...] = (
    *_KEY,
    _category("level", "memory level that the bytes passed: dram, l2 or l1"),
    _category(
        "resource",
        "data type with the largest roofline time, whose peak is the flat roof; null where not every"
        " operation was counted",
    ),
    _real("flop_count", "FLOP", "floating-point and tensor operations of every data type"),
    _real("level_bytes", "B", "bytes at this level"),
    _category(
        "bytes_counted",
        "where in the level they were counted: transferred (DRAM); returned (sent back by L2 to the"
        " SMs, by L1 to registers, as in NVIDIA's rooflines); looked_up (sectors of loads and"
        " stores); missed (in L2, where DRAM has no counters); annotated. peak_bytes_per_s is that"
        " of the same path",
    ),
    _real("arithmetic_intensity_flop_per_byte", "FLOP/B", "flop_count over level_bytes"),
    _real("ridge_point_flop_per_byte", "FLOP/B", "peak_flop_per_s over peak_bytes_per_s"),
    _real("peak_flop_per_s", "FLOP/s", "flat roof: peak of the resource"),
    _real("peak_bytes_per_s", "B/s", "slanted roof: peak bandwidth of the level"),
    _category("peak_flop_source", "where the flat roof comes from: see resources"),
    _category("peak_bytes_source", "where the slanted roof comes from: see resources"),
    _real(
        "attainable_flop_per_s",
        "FLOP/s",
        "flop_count over the larger roofline time, that of the resource or of the bytes; for one data"
        " type min(flat roof, intensity x slanted roof)",
    ),
    _real("achieved_flop_per_s", "FLOP/s", "operations over duration"),
    _real(
        "fraction_of_roof",
        "1",
        "the larger of the two roofline times over duration: achieved over attainable",
    ),
    _real("fraction_of_bandwidth", "1", "roofline time of the bytes over duration"),
    _category(
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
    _category("report", "path of the report, as it was given; null for a group over several"),
    Column("launch_id", pa.uint32(), "", "position of the result in its report; null for a group"),
    _category("kind", "kernel, range, graph or cmdlist; null for a group of several kinds"),
    _category("kernel", "the kernel's name as a person would say it; null where none is stored"),
    _category("kernel_demangled_name", "full name with template arguments"),
    _category("family", "what the kernel computes: attention, gemm, norm, ..."),
    _category("subtype", "finer class within the family"),
    _category("phase", "prefill, decode, mixed or capture; null where nothing says so"),
    Column("batch_size", pa.int64(), "", "sequences in the step; null where nothing says so"),
    _category("nvtx_path", "see launches"),
    _text("grid", "blocks as x,y,z"),
    _text("block", "threads per block as x,y,z"),
    _count("process_id", "see launches; null for a group over several"),
    _count("device_id", "see launches; null for a group over several"),
    _category("device_name", "name of the GPU"),
    _count("launch_count", "launches in the row: 1, or the size of the group"),
    _count(
        "failed_launch_count",
        "of these, launches that failed to be collected and are left out of sums",
    ),
    _real("duration_ns", "ns", "time under ncu; the sum over the launches of a group"),
    _real("duration_share_pct", "%", "share of the duration of all rows"),
    _category("bound", "memory, compute or unknown"),
    _category("limiter", "resource with the largest roofline time"),
    _real(
        "limiter_fraction",
        "1",
        "roofline time of the limiter over duration; the share of it in which its pipe was active"
        " where that is more",
    ),
    _category(
        "roofline_bound", "memory, compute or unknown: arithmetic intensity against the ridge point"
    ),
    _category(
        "nvidia_verdict",
        "what NVIDIA's SpeedOfLight rule makes of the same launch: high_throughput, balanced, compute,"
        " memory, latency or small_grid; null where its metrics were not collected, and for a group",
    ),
    _category(
        "nvidia_stored_verdict",
        "the same as the rule's message in the report says it; null where the report has none",
    ),
    _real(
        "bound_ratio",
        "1",
        "compute roofline time over DRAM roofline time; 1 is on the ridge; null where the operations"
        " were not all counted",
    ),
    _real("arithmetic_intensity_flop_per_byte", "FLOP/B", "operations per DRAM byte"),
    _real(
        "ridge_point_flop_per_byte",
        "FLOP/B",
        "peak of the data type used most over peak DRAM bandwidth",
    ),
    _real("ridge_point_boost_flop_per_byte", "FLOP/B", "the same at the boost clock"),
    _flag(
        "clock_dependent", "compute-bound at the report's clock, memory-bound at the boost clock"
    ),
    _real(
        "executed_per_useful_flop",
        "1",
        "operations executed over those that the annotated shape needs: 1 without padding; null where"
        " either is not known",
    ),
    _real(
        "dram_per_algorithmic_byte",
        "1",
        "DRAM bytes over those that the annotated shape needs; null where either is not known",
    ),
    _real("dram_throughput_pct", "%", "see launches"),
    _real("sm_throughput_pct", "%", "see launches"),
    _real("achieved_occupancy_pct", "%", "see launches"),
    _real("stalled_for_data_pct", "%", "see launches"),
    _category("top_stall", "see launches"),
    _category("regime", "saturated, latency, small_grid, balanced or unknown"),
    _category("evidence", "counters, throughput, analytic or none"),
    _category("confidence", "high, medium, low or none"),
    _category("peak_source", "where the peaks came from, joined by '+': see resources"),
    _text("reason", "why, in one sentence with the numbers"),
)


def schema_of(columns: Iterable[Column], sources: Mapping[str, str] | None = None) -> pa.Schema:
    """Build the Arrow schema of a table, with unit, meaning and source in the field metadata.

    Parameters
    ----------
    columns
        One of the tuples of this module, such as ``LAUNCHES``.
    sources
        For each column name, the metrics that can fill it, as text.

    Returns
    -------
    pyarrow.Schema
        Its metadata has ``schema_version``.

    Examples
    --------
    >>> schema_of(STALLS).field("cycles_per_issue").metadata[b"unit"]
    b'cycle'
    """
    known = sources or {}
    fields = [
        pa.field(
            c.name,
            c.type,
            metadata={"unit": c.unit, "meaning": c.meaning, "source": known.get(c.name, "")},
        )
        for c in columns
    ]
    return pa.schema(fields, metadata={"schema_version": str(SCHEMA_VERSION)})


def table_of(schema: pa.Schema, data: Mapping[str, Any], row_count: int) -> pa.Table:
    """Build a table of a schema; a column that ``data`` lacks is null in every row.

    Parameters
    ----------
    schema
        The schema, from `schema_of`.
    data
        Column name to Arrow array or Python sequence of length ``row_count``.
    row_count
        Number of rows.

    Returns
    -------
    pyarrow.Table
        With exactly the columns of ``schema``, in its order.

    Raises
    ------
    ValueError
        ``data`` has a column that the schema does not have.
    """
    unknown = set(data) - set(schema.names)
    if unknown:
        raise ValueError(f"columns that the schema does not have: {sorted(unknown)}")
    arrays = [
        _as_type(data[field.name], field.type)
        if field.name in data
        else pa.nulls(row_count, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _as_type(values: Any, wanted: pa.DataType) -> Any:
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        if values.type == wanted:
            return values
        if pa.types.is_dictionary(wanted):
            # Older pyarrow cannot cast to a dictionary, and encodes with the index type of ours.
            return values.cast(wanted.value_type).dictionary_encode()
        return values.cast(wanted)
    if pa.types.is_dictionary(wanted):
        return pa.array(values, type=wanted.value_type).dictionary_encode()
    return pa.array(values, type=wanted)


def empty_table(columns: Iterable[Column], sources: Mapping[str, str] | None = None) -> pa.Table:
    """Return the table with no rows."""
    return schema_of(columns, sources).empty_table()
