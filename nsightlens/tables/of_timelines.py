"""What `nsightlens.timeline` says: what each step of a trace spent its time on.

A step's span reaches from its first activity on the devices to its last, and begins no earlier than
the step before it ended, so that no nanosecond counts for two steps.
"""

from __future__ import annotations

import pyarrow as pa

from nsightlens.tables.column import Column, category, count, real, text, whole

__all__ = [
    "TIMELINE_ADVICE",
    "TIMELINE_COPIES",
    "TIMELINE_FAMILIES",
    "TIMELINE_GAPS",
    "TIMELINE_RUNS",
    "TIMELINE_STEPS",
]


def _row(name: str, meaning: str) -> Column:
    return Column(name, pa.uint32(), "", meaning)


_STEP = _row(
    "step_id", "row of timeline_steps, counted by the begin of the step; null outside of every step"
)
_GAP_CLASSES = ("launch", "host", "sync", "queued", "unknown")

TIMELINE_STEPS: tuple[Column, ...] = (
    _STEP,
    category("name", "text of the range; (trace) where no range is a step"),
    category("phase", "prefill, decode, mixed or capture; null where nothing says so"),
    whole("batch_size", "sequences in the step, real ones; null where nothing says so"),
    whole("step_index", "number of the step as its label gives it"),
    whole("device_id", "GPU of the row; null for all of them together"),
    whole("host_start_ns", "when the range was opened", "ns"),
    whole("host_duration_ns", "how long it was open", "ns"),
    whole("start_ns", "begin of the span on the devices", "ns"),
    whole("end_ns", "its end", "ns"),
    whole("wall_ns", "length of the span", "ns"),
    whole(
        "busy_ns",
        "of it, with a kernel, copy or memset on a device: the union of their intervals",
        "ns",
    ),
    whole("idle_ns", "wall_ns less busy_ns", "ns"),
    real("busy_pct", "%", "busy_ns over wall_ns"),
    whole("idle_before_ns", "between the span before it and this one", "ns"),
    count("kernel_count", "kernels that the step launched"),
    whole(
        "kernel_duration_ns", "sum of their durations, those that ran at once counted each", "ns"
    ),
    count("copy_count", "copies that it asked for"),
    whole("copy_exposed_ns", "time in the span with a copy and no kernel on the device", "ns"),
    whole(
        "kernel_alone_ns",
        "time in the span with a kernel and no copy on the device: what could hide a copy",
        "ns",
    ),
    *(
        whole(f"idle_{one}_ns", meaning, "ns")
        for one, meaning in zip(
            _GAP_CLASSES,
            (
                "idle time of the class launch: see timeline_gaps",
                "of the class host",
                "of the class sync",
                "of the class queued",
                "of which the trace tells no cause",
            ),
            strict=True,
        )
    ),
    real(
        "launch_latency_median_ns",
        "ns",
        "from the begin of the API call to that of the kernel, queueing included; null without API calls",
    ),
    real("launch_latency_p90_ns", "ns", "the same that nine of ten kernels do not exceed"),
    real("api_call_median_ns", "ns", "time in the API call that launches a kernel"),
)

TIMELINE_FAMILIES: tuple[Column, ...] = (
    _STEP,
    category("family", "what the kernels compute: attention, gemm, norm, ..."),
    count("kernel_count", "kernels of the step"),
    whole("duration_ns", "sum of their durations", "ns"),
    real("duration_share_pct", "%", "share of the duration of all kernels of the step"),
)

TIMELINE_COPIES: tuple[Column, ...] = (
    _STEP,
    category("direction", "see trace_copies"),
    category("source_memory", "see trace_copies"),
    category("destination_memory", "see trace_copies"),
    count("copy_count", "copies"),
    count("copied_bytes", "bytes that they moved", "B"),
    whole("duration_ns", "sum of their durations", "ns"),
    whole(
        "exposed_ns",
        "of it, time with no kernel on the device; copies that ran at once counted each",
        "ns",
    ),
    real("bandwidth_bytes_per_s", "B/s", "bytes over duration"),
    real(
        "link_peak_pct", "%", "bandwidth over the peak of the link that was given; null without one"
    ),
)

TIMELINE_GAPS: tuple[Column, ...] = (
    _STEP,
    whole("device_id", "GPU that did nothing"),
    whole("start_ns", "end of what ran before", "ns"),
    whole("end_ns", "begin of what ran next", "ns"),
    whole("duration_ns", "length of the gap", "ns"),
    category("cause", "launch, host, sync, queued or unknown: see docs/timeline.md"),
    category("next_kernel", "kernel that ended the gap; null for a copy or memset"),
)

TIMELINE_RUNS: tuple[Column, ...] = (
    _STEP,
    whole("device_id", "GPU"),
    whole("stream_id", "CUDA stream"),
    count("kernel_count", "short kernels that followed one another on the stream"),
    whole("start_ns", "begin of the first", "ns"),
    whole("end_ns", "end of the last", "ns"),
    whole("kernel_duration_ns", "sum of their durations", "ns"),
    whole("gap_ns", "idle time of the device between them", "ns"),
    whole(
        "launch_gap_ns", "of it, of the class launch: what a CUDA graph could save at most", "ns"
    ),
    category("first_kernel", "the first of them"),
    category("last_kernel", "the last of them"),
)

TIMELINE_ADVICE: tuple[Column, ...] = (
    category("advice", "cuda_graph, fewer_syncs, host_work, pinned_memory or overlap_copies"),
    whole("saving_ns", "what it could save at most, over all steps", "ns"),
    real("saving_pct", "%", "the same over the wall time of all steps, of each device"),
    real("saving_per_step_ns", "ns", "the same per step"),
    category("verdict", "worth_trying, or nothing_to_gain below 2 % of the wall time"),
    text("reason", "why, in one sentence with the numbers"),
)
