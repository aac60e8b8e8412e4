"""What `nsightlens.join` says: launches under ncu beside the same kernels under nsys.

The two tools measure the same work in two runs. Under ncu a launch runs alone, several times, often
at other clocks; under nsys it runs among the others. So each duration has the tool in its name.
"""

from __future__ import annotations

import pyarrow as pa

from nsightlens.tables.column import Column, category, count, real, text, whole

__all__ = ["JOINED", "JOINED_FAMILIES"]

_PLACE = (
    category("phase", "prefill, decode, mixed or capture; null where nothing says so"),
    whole("batch_size", "sequences in the step, real ones; null where nothing says so"),
)

JOINED: tuple[Column, ...] = (
    category(
        "report",
        "path of the ncu report, as it was given; null for a kernel of the trace without counterpart",
    ),
    Column("launch_id", pa.uint32(), "", "position of the result in its report"),
    category(
        "trace", "path of the nsys trace, as it was given; null for a launch without counterpart"
    ),
    Column(
        "kernel_id",
        pa.uint32(),
        "",
        "position of the kernel in its trace, in the order of start_ns",
    ),
    category(
        "matched_by",
        "step, step_name (another spelling of the name) or order (one side has no steps); null without counterpart",
    ),
    *_PLACE,
    whole("step_index", "number of the step as its label gives it"),
    category("operation", "operation that the annotation names"),
    category("family", "what the kernel computes: attention, gemm, norm, ..."),
    category("subtype", "finer class within the family"),
    category("kernel", "the kernel's name as a person would say it"),
    category("kernel_demangled_name", "full name with template arguments"),
    text("grid", "blocks as x,y,z"),
    text("block", "threads per block as x,y,z"),
    whole("device_id", "ordinal of the GPU"),
    real("ncu_duration_ns", "ns", "time of the launch under ncu, alone on the GPU"),
    real("nsys_duration_ns", "ns", "time of the kernel under nsys, among the others"),
    real("nsys_per_ncu_duration", "1", "nsys_duration_ns over ncu_duration_ns"),
    whole("nsys_start_ns", "when the kernel began, on the clock of the trace", "ns"),
    real(
        "nsys_gap_before_ns",
        "ns",
        "time before it in which its device ran no kernel; 0 where another still ran; null for the first",
    ),
    real(
        "nsys_launch_latency_ns",
        "ns",
        "from the begin of the API call to that of the kernel; null where the call is not in the trace",
    ),
    category("bound", "memory, compute or unknown: see labels"),
    category("regime", "see labels"),
    real(
        "flop_count", "FLOP", "operations counted under ncu; null where they were not all counted"
    ),
    real("dram_bytes", "B", "DRAM bytes counted under ncu"),
    real("arithmetic_intensity_flop_per_byte", "FLOP/B", "operations per DRAM byte, under ncu"),
    real(
        "dram_bandwidth_at_nsys_duration_bytes_per_s",
        "B/s",
        "dram_bytes over nsys_duration_ns: bytes of the one run in the time of the other",
    ),
)

JOINED_FAMILIES: tuple[Column, ...] = (
    *_PLACE,
    category("family", "what the kernels compute: attention, gemm, norm, ..."),
    category("subtype", "finer class within the family"),
    count("launch_count", "launches in the reports"),
    count("kernel_count", "kernels in the traces, within steps where the reports have steps"),
    count("matched_count", "launches with a counterpart in the traces"),
    real("ncu_duration_ns", "ns", "sum over the matched launches, under ncu"),
    real("nsys_duration_ns", "ns", "sum over the same, under nsys"),
    real("nsys_per_ncu_duration", "1", "nsys_duration_ns over ncu_duration_ns"),
    real(
        "ncu_duration_share_pct", "%", "share of ncu_duration_ns of the same phase and batch size"
    ),
    real(
        "nsys_duration_share_pct", "%", "share of nsys_duration_ns of the same phase and batch size"
    ),
)
