"""Hand-made sweeps for the tests of everything that shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens import tables
from nsightlens.sweeps import Sweep, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from nsightlens.tables import Column

BATCHES = (1, 8, 64, 512)
RIDGE = 256.0

PLACE: dict[str, Any] = {
    "origin": "measured",
    "device_name": "NVIDIA H100 80GB HBM3",
    "phase": "decode",
}


def attention_row(batch: int) -> dict[str, Any]:
    """Return attention at a batch size: flat intensity, bandwidth that is used up from 64 on."""
    is_large = batch >= 64
    return {
        **PLACE,
        "family": "attention",
        "subtype": "flash_splitkv",
        "component": "attention",
        "batch_size": batch,
        "batch_source": "annotation",
        "context_length": 500,
        "report_count": 1,
        "launch_count": 1,
        "failed_launch_count": 0,
        "duration_ns": 10_000.0 + 100.0 * batch,
        "duration_share_pct": 20.0 + 40.0 * is_large,
        "flop_count": 66e6 * batch,
        "dram_bytes": 1e6 * batch,
        "arithmetic_intensity_flop_per_byte": 66.0,
        "useful_flop_count": 1e6 * batch,
        "algorithmic_bytes": 1e6 * batch,
        "useful_arithmetic_intensity_flop_per_byte": 1.0,
        "useful_source": "annotation",
        "executed_per_useful_flop": 66.0,
        "dram_per_algorithmic_byte": 1.0,
        "expectation": "beyond",
        "expectation_reason": "66 operations are executed for each useful one",
        "ridge_point_flop_per_byte": 171.0,
        "fraction_of_roof": 0.91 if is_large else 0.21,
        "bound_ratio": 0.39,
        "dram_throughput_pct": 91.0 if is_large else 21.0,
        "dram_read_pct": 90.0 if is_large else 20.0,
        "dram_write_pct": 1.0,
        "sm_throughput_pct": 30.0,
        "achieved_occupancy_pct": 12.0,
        "active_warps_per_scheduler": 1.9,
        "stalled_for_data_pct": 48.0,
        "bound": "memory",
        "roofline_bound": "memory",
        "regime": "saturated" if is_large else "small_grid",
        "limiter": "dram",
        "limiter_fraction": 0.91 if is_large else 0.21,
        "evidence": "counters",
        "confidence": "high",
        "reason": "DRAM is busiest",
    }


def gemm_row(batch: int) -> dict[str, Any]:
    """Return the GEMMs at a batch size: intensity is the batch size, compute-bound beyond 256."""
    is_compute = batch > RIDGE
    return {
        **attention_row(batch),
        "family": "gemm",
        "subtype": "dense",
        "component": "matmul",
        "launch_count": 4,
        "duration_ns": 40_000.0 + 50.0 * batch,
        "duration_share_pct": 70.0 - 40.0 * (batch >= 64),
        "arithmetic_intensity_flop_per_byte": float(max(8, batch)),
        "useful_arithmetic_intensity_flop_per_byte": float(batch),
        "executed_per_useful_flop": max(8, batch) / batch,
        "expectation": "within",
        "expectation_reason": None,
        "ridge_point_flop_per_byte": RIDGE,
        "fraction_of_roof": 0.72,
        "bound_ratio": max(8, batch) / RIDGE,
        "dram_throughput_pct": 40.0 if is_compute else 72.0,
        "bound": "compute" if is_compute else "memory",
        "regime": "saturated",
        "limiter": "tensor_fp16" if is_compute else "dram",
    }


def norm_row(batch: int) -> dict[str, Any]:
    """Return the norms at a batch size: short, and half a FLOP per byte."""
    return {
        **attention_row(batch),
        "family": "norm",
        "subtype": "layer_norm",
        "component": "other",
        "launch_count": 2,
        "duration_ns": 5_000.0,
        "duration_share_pct": 10.0,
        "arithmetic_intensity_flop_per_byte": 0.5,
        "useful_arithmetic_intensity_flop_per_byte": None,
        "expectation": None,
        "expectation_reason": None,
        "dram_throughput_pct": 12.0,
        "regime": "latency",
    }


ATTENTION_TREND: dict[str, Any] = {
    **PLACE,
    "family": "attention",
    "subtype": "flash_splitkv",
    "component": "attention",
    "batch_size_count": 4,
    "batch_size_min": 1,
    "batch_size_max": 512,
    "duration_ns": 98_500.0,
    "intensity_slope": 0.0004,
    "intensity_slope_stderr": 0.0001,
    "intensity_slope_min": -0.01,
    "intensity_slope_max": 0.01,
    "intensity_growth": "flat",
    "useful_intensity_slope": -0.0001,
    "useful_intensity_slope_stderr": 0.0002,
    "useful_intensity_slope_min": -0.01,
    "useful_intensity_slope_max": 0.01,
    "useful_intensity_growth": "flat",
    "flip": "none",
    "dram_saturated_batch_size": 64,
    "dram_throughput_max_pct": 91.0,
}
GEMM_TREND: dict[str, Any] = {
    **ATTENTION_TREND,
    "family": "gemm",
    "subtype": "dense",
    "component": "matmul",
    "intensity_slope": 0.71,
    "intensity_slope_stderr": 0.08,
    "intensity_slope_min": 0.0,
    "intensity_slope_max": 1.0,
    "intensity_growth": "below_proportion",
    "useful_intensity_slope": 0.98,
    "useful_intensity_slope_stderr": 0.01,
    "useful_intensity_slope_min": 0.95,
    "useful_intensity_slope_max": 1.0,
    "useful_intensity_growth": "proportional",
    "flip": "memory_to_compute",
    "flip_batch_size_before": 64,
    "flip_batch_size": 512,
    "flip_batch_size_interpolated": 256.0,
    "useful_flip_batch_size": 301.2,
    "analytic_flip_batch_size": 293.4,
    "bound_flip_batch_size": 512,
    "dram_saturated_batch_size": None,
    "dram_throughput_max_pct": 72.0,
}
NORM_TREND: dict[str, Any] = {
    **ATTENTION_TREND,
    "family": "norm",
    "subtype": "layer_norm",
    "component": "other",
    "useful_intensity_slope": None,
    "useful_intensity_slope_stderr": None,
    "useful_intensity_growth": None,
    "dram_saturated_batch_size": None,
    "dram_throughput_max_pct": 12.0,
}


def step_row(batch: int) -> dict[str, Any]:
    """Return a whole step at a batch size."""
    is_large = batch >= 64
    return {
        **PLACE,
        "batch_size": batch,
        "launch_count": 7,
        "failed_launch_count": 0,
        "duration_ns": 55_000.0 + 150.0 * batch,
        "attention_share_pct": 60.0 if is_large else 20.0,
        "matmul_share_pct": 30.0 if is_large else 70.0,
        "other_share_pct": 10.0,
        "attention_intensity_flop_per_byte": 66.0,
        "matmul_intensity_flop_per_byte": float(max(8, batch)),
        "useful_attention_intensity_flop_per_byte": 1.0,
        "useful_matmul_intensity_flop_per_byte": float(batch),
        "attention_dram_throughput_pct": 91.0,
        "matmul_dram_throughput_pct": 72.0,
        "dram_read_pct": 61.0,
        "dram_write_pct": 1.4,
        "achieved_occupancy_pct": 12.5,
        "active_warps_per_scheduler": 2.1,
        "stalled_for_data_pct": 48.0,
        "bound": "memory",
        "regime": "saturated",
    }


VERDICT = Verdict(
    "bandwidth_saturated_attention",
    "Attention takes 60 % of the kernel time at batch 512 and reads DRAM at 91 % of its peak.",
)


def table(columns: Sequence[Column], rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Return a table of a schema; what a row lacks is null."""
    data = {column.name: [row.get(column.name) for row in rows] for column in columns}
    return tables.table_of(tables.schema_of(columns), data, len(rows))


def rows_of(*rows: dict[str, Any]) -> pa.Table:
    """Return rows of a sweep."""
    return table(tables.SWEEP, rows)


def sweep_of(
    batches: Sequence[int | None] = BATCHES,
    *,
    rows: Sequence[dict[str, Any]] | None = None,
    trends: Sequence[dict[str, Any]] = (ATTENTION_TREND, GEMM_TREND, NORM_TREND),
    changes: dict[str, Any] | None = None,
    verdict: Verdict = VERDICT,
    by: str = "family",
    notes: tuple[str, ...] = (),
) -> Sweep:
    """Return a decode sweep of attention, GEMMs and norms, each row with some changes."""
    of = [make(b or 1) | {"batch_size": b} for make in MAKERS for b in batches]
    changed = changes or {}
    steps = [step_row(batch or 1) | {"batch_size": batch} for batch in batches]
    return Sweep(
        rows=rows_of(*(row | changed for row in (of if rows is None else rows))),
        trends=table(tables.SWEEP_TRENDS, [trend | changed_place(changed) for trend in trends]),
        steps=table(tables.SWEEP_STEPS, [step | changed_place(changed) for step in steps]),
        verdict=verdict,
        by=by,
        notes=notes,
    )


MAKERS = (attention_row, gemm_row, norm_row)


def changed_place(changes: dict[str, Any]) -> dict[str, Any]:
    """Return those changes that concern where and how the kernels ran."""
    return {name: value for name, value in changes.items() if name in PLACE}
