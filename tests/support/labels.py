"""Hand-made tables of labels and sessions for the tests of everything that shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens import tables

if TYPE_CHECKING:
    import pyarrow as pa

REPORT = "decode.ncu-rep"

ROW: dict[str, Any] = {
    "key": "k0",
    "report": REPORT,
    "launch_id": 0,
    "kind": "kernel",
    "kernel": "flash_fwd_splitkv_kernel",
    "kernel_demangled_name": "void flash::flash_fwd_splitkv_kernel<Traits<128, 64>>(Params)",
    "family": "attention",
    "subtype": "decode",
    "phase": "decode",
    "batch_size": 32,
    "nvtx_path": "DecodeStep7",
    "grid": "32,8,1",
    "block": "128,1,1",
    "process_id": 1234,
    "device_id": 0,
    "device_name": "NVIDIA H100 PCIe",
    "launch_count": 1,
    "failed_launch_count": 0,
    "duration_ns": 48_250.0,
    "duration_share_pct": 60.0,
    "bound": "memory",
    "limiter": "dram",
    "limiter_fraction": 0.914,
    "roofline_bound": "memory",
    "bound_ratio": 0.0051,
    "arithmetic_intensity_flop_per_byte": 0.994,
    "ridge_point_flop_per_byte": 205.0,
    "ridge_point_boost_flop_per_byte": 295.0,
    "clock_dependent": False,
    "dram_throughput_pct": 91.4,
    "sm_throughput_pct": 22.0,
    "achieved_occupancy_pct": 61.3,
    "stalled_for_data_pct": 74.2,
    "top_stall": "long_scoreboard",
    "regime": "saturated",
    "evidence": "counters",
    "confidence": "high",
    "peak_source": "report",
    "reason": "DRAM is busiest at 91 % of its peak; the tensor cores reach 0.5 % of theirs.",
}
"""One launch with every column filled: attention, bound by DRAM."""

GEMM: dict[str, Any] = {
    "key": "k1",
    "launch_id": 1,
    "kernel": "cutlass_80_tensorop_f16_s16816gemm_f16_128x128_32x4_tn_align8",
    "kernel_demangled_name": "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm>(Params)",
    "family": "gemm",
    "subtype": None,
    "duration_ns": 31_000.0,
    "duration_share_pct": 38.5,
    "bound": "compute",
    "limiter": "tensor_fp16",
    "limiter_fraction": 0.62,
    "roofline_bound": "compute",
    "bound_ratio": 1.31,
    "arithmetic_intensity_flop_per_byte": 268.0,
    "dram_throughput_pct": 47.0,
    "sm_throughput_pct": 62.4,
    "stalled_for_data_pct": 8.25,
    "top_stall": "math_pipe_throttle",
    "regime": "balanced",
    "confidence": "medium",
    "reason": "The tensor cores are busiest at 62 % of their FP16 peak; DRAM is at 47 %.",
}
"""What differs from `ROW` in a launch bound by tensor cores."""

UNKNOWN: dict[str, Any] = {
    "key": "k2",
    "launch_id": 2,
    "kernel": "vectorized_elementwise_kernel",
    "family": "elementwise",
    "subtype": None,
    "phase": None,
    "batch_size": None,
    "duration_ns": 1_210.0,
    "duration_share_pct": 1.5,
    "bound": "unknown",
    "limiter": None,
    "limiter_fraction": None,
    "roofline_bound": "unknown",
    "bound_ratio": None,
    "arithmetic_intensity_flop_per_byte": None,
    "ridge_point_flop_per_byte": None,
    "dram_throughput_pct": None,
    "sm_throughput_pct": None,
    "achieved_occupancy_pct": None,
    "stalled_for_data_pct": None,
    "top_stall": None,
    "regime": "unknown",
    "evidence": "none",
    "confidence": "none",
    "peak_source": None,
    "reason": "The report holds neither throughput nor operation counters for this launch.",
}
"""What differs from `ROW` in a launch whose metrics do not decide it."""


def labels_of(*changes: dict[str, Any]) -> pa.Table:
    """Return a table of labels with one row per dictionary of what differs from `ROW`."""
    rows = [{**ROW, **change} for change in changes]
    data = {column.name: [row.get(column.name) for row in rows] for column in tables.LABELS}
    return tables.table_of(tables.schema_of(tables.LABELS), data, len(rows))


def three_launches() -> pa.Table:
    """Return attention bound by memory, a GEMM bound by compute and an unknown launch."""
    return labels_of({}, GEMM, UNKNOWN)


def sweep(batches: tuple[int, ...] = (1, 8, 64, 256, 512)) -> pa.Table:
    """Return grouped labels of a decode sweep: attention stays, the GEMM crosses the ridge."""
    group: dict[str, Any] = {
        "launch_id": None,
        "kernel": None,
        "kernel_demangled_name": None,
        "launch_count": 4,
    }
    rows = []
    for batch in batches:
        rows.append({**group, "key": f"a{batch}", "batch_size": batch})
        is_compute = batch > 205
        rows.append(
            {
                **GEMM,
                **group,
                "key": f"g{batch}",
                "batch_size": batch,
                "bound": "compute" if is_compute else "memory",
                "limiter": "tensor_fp16" if is_compute else "dram",
                "arithmetic_intensity_flop_per_byte": float(batch),
            }
        )
    return labels_of(*rows)


def sessions_of(*reports: str, clock_control: str | None = None) -> pa.Table:
    """Return one session per report, of a recent ncu on an H100."""
    rows = [
        {
            "report": report,
            "session_id": 0,
            "process_id": 1234,
            "process_name": "python3",
            "ncu_version": "2025.1.1.0 (build 35528883) (public-release)",
            "driver_version": "570.86",
            "clock_control": clock_control,
            "replay_mode": "kernel",
            "device_names": ["NVIDIA H100 PCIe"],
        }
        for report in reports or (REPORT,)
    ]
    data = {column.name: [row.get(column.name) for row in rows] for column in tables.SESSIONS}
    return tables.table_of(tables.schema_of(tables.SESSIONS), data, len(rows))
