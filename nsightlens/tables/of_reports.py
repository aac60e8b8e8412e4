"""The tables of a report beside ``launches``."""

from __future__ import annotations

import pyarrow as pa

from nsightlens.tables.column import KEY, Column, category, count, real, text

__all__ = ["INSTANCES", "METRICS", "NVTX", "RULES", "SESSIONS", "STALLS", "STALL_REASONS"]

STALL_REASONS = (
    "barrier", "branch_resolving", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle",
    "long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction",
    "not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait",
)  # fmt: skip
"""NVIDIA's names of the warp states, alphabetical; not every architecture has all of them."""

STALLS: tuple[Column, ...] = (
    *KEY,
    category("stall_reason", "warp state, in NVIDIA's words"),
    real(
        "cycles_per_issue",
        "cycle",
        "cycles that a warp spends in this state per issued instruction",
    ),
    real(
        "share_of_warp_latency_pct",
        "%",
        "cycles_per_issue over the warp_cycles_per_issue of the launch; may exceed 100",
    ),
    count("sample_count", "samples in this state, where the sampler ran", "sample"),
    count(
        "sample_not_issued_count",
        "of these, samples in which the scheduler issued nothing",
        "sample",
    ),
)

METRICS: tuple[Column, ...] = (
    *KEY,
    category("metric", "name of the metric, as ncu stored it"),
    real("value", "", "the value as a float64; null for text and for a metric without a value"),
    count("integer", "the exact value, where the report stores an integer"),
    text("text", "the value, where the report stores text"),
    category("unit", "unit of the value by its name; null where it is not known"),
    real(
        "rounding",
        "",
        "how far the true value may lie from the one stored: 0 where it is exact, as in a .ncu-rep "
        "file; half of the last printed digit where it was read from text; null without a number",
    ),
)

INSTANCES: tuple[Column, ...] = (
    *KEY,
    category("metric", "name of the metric"),
    Column("instance", pa.uint32(), "", "position of the instance in its metric, from 0"),
    count(
        "correlation_integer",
        "what the instance belongs to, as a number: an address, a count, a time",
    ),
    real("correlation_value", "", "the same as float64; null where it is text"),
    text("correlation_text", "what the instance belongs to, as text: an opcode, a link"),
    real("value", "", "value of the instance as float64"),
    count("integer", "the exact value, where the report stores an integer"),
    text("text", "the value, where the report stores text"),
)

RULES: tuple[Column, ...] = (
    *KEY,
    category("rule", "identifier of NVIDIA's rule"),
    category("rule_name", "its display name"),
    category("section", "section that the rule belongs to"),
    category("severity", "none, ok, optimization, warning or error"),
    text("title", "heading of the message"),
    text("message", "the message"),
    real("estimated_speedup_pct", "%", "speed-up that the rule estimates"),
    category("speedup_scope", "local (this unit) or global (the whole launch)"),
)

NVTX: tuple[Column, ...] = (
    *KEY,
    category("domain", "NVTX domain; '<default domain>' is the default one"),
    category("range_kind", "push_pop or start_end"),
    Column(
        "depth", pa.uint32(), "", "position on the stack from 0 (outermost); null for start_end"
    ),
    category("name", "name of the range"),
    count("thread_id", "thread that pushed or started the range"),
    count("range_id", "id of a start_end range"),
    count("category", "category attribute"),
    count("color", "colour attribute, ARGB"),
    text("payload", "payload attribute, as text"),
    text("message", "message attribute, where it differs from the name"),
)

SESSIONS: tuple[Column, ...] = (
    category("report", "path of the report, as it was given"),
    Column(
        "session_id",
        pa.uint32(),
        "",
        "position of the session in its report: one per profiled process",
    ),
    count("process_id", "operating system's id of the profiled process"),
    text("process_name", "name of the profiled process"),
    text("host_name", "machine on which it ran"),
    text("command_line", "command line of the profiled program"),
    text("profiler_command_line", "command line of ncu"),
    text("ncu_version", "version of Nsight Compute that collected the report"),
    text("cuda_version", "CUDA version"),
    text("driver_version", "display driver"),
    text(
        "clock_control",
        "what ncu did to the clocks, such as base or none; locked where the report only says that it held them",
    ),
    text("cache_control", "what ncu did to the caches before each pass"),
    text("replay_mode", "kernel, application, range or app-range"),
    Column(
        "created_at", pa.timestamp("ms", tz="UTC"), "", "when the report was made, to the second"
    ),
    text("operating_system", "operating system of the profiled machine"),
    Column("device_names", pa.list_(pa.string()), "", "GPUs that the session describes"),
)
