"""Metrics of launches whose roofline times are known, and reports of them.

Every percentage of a part also goes into its aggregate, as in a real report: ``sm__throughput`` is
the largest of its parts, the way to L1 among them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from support.stores import report_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nsightlens.report import Report

    Metrics = dict[str, float | int | str | None]

SUFFIX = ".avg.pct_of_peak_sustained_elapsed"
SM = f"sm__throughput{SUFFIX}"
MEMORY = f"gpu__compute_memory_throughput{SUFFIX}"
DRAM = f"gpu__dram_throughput{SUFFIX}"
DURATION_NS = 1e6

COMPUTE_PARTS = {
    "issue": "sm__issue_active",
    "fma": "sm__pipe_fma_cycles_active",
    "heavy": "sm__pipe_fmaheavy_cycles_active",
    "alu": "sm__pipe_alu_cycles_active",
    "fp64": "sm__pipe_fp64_cycles_active",
    "fp16": "sm__inst_executed_pipe_fp16",
    "tensor": "sm__pipe_tensor_cycles_active",
    "xu": "sm__inst_executed_pipe_xu",
    "lsu": "sm__inst_executed_pipe_lsu",
    "mio": "sm__mio_inst_issued",
}
MEMORY_PARTS = {
    "dram": "dram__cycles_active",
    "l2": "lts__t_sectors",
    "l1": "l1tex__data_pipe_lsu_wavefronts",
}

H100: Metrics = {
    "device__attribute_display_name": "NVIDIA H100 80GB HBM3",
    "device__attribute_compute_capability_major": 9,
    "device__attribute_compute_capability_minor": 0,
    "device__attribute_multiprocessor_count": 132,
    "device__attribute_clock_rate": 1_980_000,
    "device__attribute_memory_clock_rate": 2_619_000,
    "device__attribute_global_memory_bus_width": 5120,
    "device__attribute_integrated": 0,
    "device__attribute_l2s_count": 80,
    "sm__cycles_elapsed.avg.per_second": 1.5e9,
}
"""An H100 SXM at 1.5 GHz: FP32 50.69 TFLOP/s, dense fp16 tensor 811.0, DRAM 3352.32 GB/s."""

DRAM_PEAK = 3352.32e9
FP32_PEAK = 132 * 256 * 1.5e9
TENSOR_PEAK = 132 * 4096 * 1.5e9

A100: Metrics = H100 | {
    "device__attribute_display_name": "NVIDIA A100-SXM4-40GB",
    "device__attribute_compute_capability_major": 8,
    "device__attribute_multiprocessor_count": 108,
    "device__attribute_clock_rate": 1_410_000,
    "device__attribute_memory_clock_rate": 1_215_000,
    "sm__cycles_elapsed.avg.per_second": 1.41e9,
}
"""An A100 at its boost clock: FP32 19.49 TFLOP/s, DRAM 1555.2 GB/s."""


def launch(*groups: Mapping[str, Any], duration_ns: float | None = DURATION_NS) -> Metrics:
    """Return the metrics of a launch on an H100; later groups win."""
    metrics: Metrics = {**H100, "launch__grid_size": 1320, "launch__block_size": 256,
                        "launch__waves_per_multiprocessor": 5.0}  # fmt: skip
    if duration_ns is not None:
        metrics["gpu__time_duration.sum"] = duration_ns
    for group in groups:
        metrics |= group
    return metrics


def parts(**percent: float) -> Metrics:
    """Return parts of both sides [%] with the lists that name them, and their maxima."""
    always = {"issue": 0.0, "fma": 0.0, "fp64": 0.0, "tensor": 0.0}
    busy = {**always, "lsu": percent.get("l1", 0.0) / 2} | percent
    compute = {COMPUTE_PARTS[name]: p for name, p in busy.items() if name in COMPUTE_PARTS}
    memory = {MEMORY_PARTS[name]: percent.get(name, 0.0) for name in MEMORY_PARTS}
    return {
        **{name + SUFFIX: value for name, value in (compute | memory).items()},
        f"breakdown:{SM}": ",".join(name + SUFFIX for name in compute),
        f"breakdown:{MEMORY}": ", ".join(name + SUFFIX for name in memory),
        SM: max(compute.values()),
        MEMORY: max(memory.values()),
        DRAM: percent.get("dram", 0.0),
    }


def aggregates(*, sm: float, memory: float, **others: float) -> Metrics:
    """Return only the maxima [%]; ``dram``, ``l2`` and ``l1`` where they are given."""
    names = {
        "dram": DRAM,
        "l2": f"lts__throughput{SUFFIX}",
        "l1": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    }
    return {SM: sm, MEMORY: memory, **{names[name]: value for name, value in others.items()}}


def dram_bytes(fraction: float, duration_ns: float = DURATION_NS) -> Metrics:
    """Return counted DRAM bytes that need a fraction of the duration at the peak of the H100."""
    return {
        "dram__bytes_read.sum": fraction * duration_ns * 1e-9 * DRAM_PEAK,
        "dram__bytes_write.sum": 0.0,
        "dram__bytes.sum.peak_sustained": 1280.0,
        "dram__cycles_elapsed.avg.per_second": 2.619e9,
    }


def flop_counts(fp32: float = 0.0, fp64: float = 0.0, fp16: float | None = 0.0) -> Metrics:
    """Return counted CUDA-core work [FLOP], all of it multiply-adds; no FP16 for ``None``."""
    metrics: Metrics = {}
    for letter, count in (
        ("f", fp32 / 2),
        ("d", fp64 / 2),
        ("h", None if fp16 is None else fp16 / 4),
    ):
        if count is not None:
            for operation, n in (("add", 0.0), ("mul", 0.0), ("fma", count)):
                name = f"smsp__sass_thread_inst_executed_op_{letter}{operation}_pred_on.sum"
                metrics[name] = n
    return metrics


def tensor_counts(**operations: float) -> Metrics:
    """Return every total of the tensor counters of the H100 [op]; those not given are zero."""
    sources = {"fp16": "src_fp16", "bf16": "src_bf16_dst_fp32", "tf32": "src_tf32_dst_fp32",
               "fp8": "src_fp8", "int8": "src_int8", "int1": "src_int1",
               "fp64": "src_fp64"}  # fmt: skip
    return {
        f"sm__ops_path_tensor_{source}.sum": operations.get(name, 0.0)
        for name, source in sources.items()
    }


def with_columns(report: Report, /, **columns: Sequence[Any]) -> Report:
    """Return a report with some columns of ``launches`` replaced."""
    from dataclasses import replace

    launches = report.launches
    for name, values in columns.items():
        index = launches.schema.get_field_index(name)
        field = launches.schema.field(index)
        column = pa.array(values, pa.string()).dictionary_encode().cast(field.type) if (
            pa.types.is_dictionary(field.type)
        ) else pa.array(values, field.type)  # fmt: skip
        launches = launches.set_column(index, field, column)
    return replace(report, launches=launches)


def label_of(*groups: Mapping[str, Any], duration_ns: float | None = DURATION_NS) -> dict[str, Any]:
    """Return the label of one launch, as a dictionary."""
    from nsightlens.analysis import classify

    report = report_of(launch(*groups, duration_ns=duration_ns))
    (label,) = classify(report).labels.to_pylist()
    row: dict[str, Any] = label
    return row
