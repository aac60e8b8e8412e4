"""The metrics that `info` advises are enough for a label."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.rooflines import H100, dram_bytes, flop_counts, label_of, launch, parts
from support.stores import report_of

from nsightlens.metrics import coverage, to_collect

if TYPE_CHECKING:
    from support.rooflines import Metrics

TENSOR = "sm__ops_path_tensor"
SHARED = ("bound", "limiter", "roofline_bound", "regime", "evidence", "confidence", "peak_source")


def mma_sync(operations: float) -> Metrics:
    """Return tensor work of one instruction, divided by it, with the peaks of both."""
    none = ("op_hgmma_src_fp16", "op_hmma_src_fp16_dst_fp16", "op_hgmma_src_bf16_dst_fp32",
            "op_hmma_src_bf16_dst_fp32", "op_hgmma_src_tf32_dst_fp32", "op_hmma_src_tf32_dst_fp32",
            "src_fp8", "op_igmma_src_int8", "op_imma_src_int8", "op_bgmma_src_int1",
            "op_bmma_src_int1", "src_fp64")  # fmt: skip
    return {
        **{f"{TENSOR}_{name}.sum": 0.0 for name in none},
        f"{TENSOR}_op_hmma_src_fp16_dst_fp32.sum": operations,
        f"{TENSOR}_op_hgmma_src_fp16_sparsity_off.sum.peak_sustained": 540672.0,
        f"{TENSOR}_op_hmma_src_fp16_dst_fp32_sparsity_off.sum.peak_sustained": 360448.0,
    }


def whole(*, tensor: float, issue: float, dram: float) -> Metrics:
    """Return what every section together would collect of a launch on an H100."""
    done = tensor / 100 * 360448.0 * 1.5e9 * 1e-3
    peaks = {
        f"sm__sass_thread_inst_executed_op_{name}_pred_on.sum.peak_sustained": peak
        for name, peak in (("ffma", 16896.0), ("dfma", 8448.0), ("hfma", 16896.0))
    }
    measured = dram_bytes(dram / 100)
    measured["fbpa__dram_read_bytes.sum"] = measured["dram__bytes_read.sum"]
    measured["fbpa__dram_write_bytes.sum"] = 0.0
    busy = parts(tensor=tensor, issue=issue, dram=dram)
    return launch(busy, measured, flop_counts(fp32=1e9), peaks, mma_sync(done))


def advised(metrics: Metrics) -> Metrics:
    """Return what is left of them when exactly the advised list is collected."""
    bare = H100 | {"launch__grid_size": 1320}
    _, names = to_collect(coverage(report_of(bare)))
    parts_of = [str(metrics[name]) for name in names if name.startswith("breakdown:")]
    kept = {*names, *(part.strip() for text in parts_of for part in text.split(","))}
    always = ("device__", "launch__", "gpu__time_duration")
    return {n: v for n, v in metrics.items() if n in kept or n.startswith(always)}


@pytest.mark.parametrize(
    ("tensor", "issue", "dram"), [(87.0, 20.0, 30.0), (10.0, 88.0, 30.0), (83.0, 20.0, 67.0)]
)
def test_the_advised_metrics_label_as_well_as_all_sections(
    tensor: float, issue: float, dram: float
) -> None:
    """A GEMM by mma.sync, a launch bound by its issue slots, and one close to the ridge."""
    metrics = whole(tensor=tensor, issue=issue, dram=dram)
    by_section, by_metric = label_of(metrics), label_of(advised(metrics))
    assert by_section["evidence"] == "counters"
    assert {name: by_metric[name] for name in SHARED} == {name: by_section[name] for name in SHARED}
    assert by_metric["bound_ratio"] == pytest.approx(by_section["bound_ratio"])
