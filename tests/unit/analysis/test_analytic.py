"""Labels from annotated shapes, where metrics do not decide."""

from __future__ import annotations

from typing import Any

import pytest
from support.rooflines import (
    DRAM,
    DRAM_PEAK,
    FP32_PEAK,
    MEMORY,
    SM,
    TENSOR_PEAK,
    launch,
    parts,
    with_columns,
)
from support.stores import report_of

from nsightlens.analysis import classify

GEMM = "cutlass_80_tensorop_f16_s16816gemm_f16_128x128_32x4_tn_align8"


def annotated(flop: float, transferred: float, name: str = "axpy") -> dict[str, Any]:
    """Return the label of a launch of 1 ms inside an operation of that many FLOP and bytes."""
    path = f"nsightlens@op v1 name=fc flop={flop} bytes={transferred}"
    report = with_columns(report_of(launch()), nvtx_path=[path], kernel_name=[name])
    (label,) = classify(report).labels.to_pylist()
    row: dict[str, Any] = label
    return row


def test_a_shape_left_of_every_ridge_is_memory_bound() -> None:
    """1 FLOP/B: even on CUDA cores, whose ridge is at 15, memory needs longer."""
    transferred = 0.8 * DRAM_PEAK * 1e-3
    label = annotated(transferred, transferred)
    assert (label["bound"], label["limiter"], label["evidence"]) == ("memory", "dram", "analytic")
    assert label["limiter_fraction"] == pytest.approx(0.8)
    assert label["arithmetic_intensity_flop_per_byte"] == pytest.approx(1.0)
    assert label["confidence"] == "medium"
    assert "work is that of the annotated shapes" in label["reason"]


def test_a_shape_right_of_every_ridge_is_compute_bound() -> None:
    """Twice the ridge of the fastest tensor cores, INT1 at 65,536 operations per SM and cycle."""
    ridge = 132 * 65536 * 1.5e9 / DRAM_PEAK
    label = annotated(2 * ridge * 1e9, 1e9)
    assert (label["bound"], label["evidence"]) == ("compute", "analytic")


def test_a_shape_between_the_ridges_is_not_decided() -> None:
    """100 FLOP/B lies right of the ridge of CUDA cores and left of that of tensor cores."""
    label = annotated(100e6, 1e6, GEMM)
    assert (label["bound"], label["evidence"]) == ("unknown", "none")


def test_the_data_type_of_the_kernel_narrows_it_down() -> None:
    """300 FLOP/B: right of the fp16 ridge at 242, though left of that of fp8."""
    label = annotated(300e6, 1e6, GEMM)
    assert (label["bound"], label["limiter"]) == ("compute", "tensor_fp16")
    assert label["ridge_point_flop_per_byte"] == pytest.approx(TENSOR_PEAK / DRAM_PEAK)
    assert FP32_PEAK / DRAM_PEAK < 300


def test_the_slowest_way_of_an_fp64_kernel_is_the_fp64_pipe() -> None:
    """12 FLOP/B: left of the ridge of FP32 at 15, and right of that of FP64 at 7.6."""
    fp32 = annotated(12e6, 1e6, "my_own")
    fp64 = annotated(12e6, 1e6, "volta_dgemm_64x64_nn")
    assert fp32["bound"] == "memory"
    assert fp64["bound"] == "unknown"


def test_measured_evidence_comes_first() -> None:
    """Percentages decide, whatever the annotation says."""
    path = "nsightlens@op v1 name=fc flop=1 bytes=1e9"
    report = with_columns(report_of(launch(parts(fma=90, issue=50))), nvtx_path=[path])
    (label,) = classify(report).labels.to_pylist()
    assert (label["bound"], label["evidence"]) == ("compute", "throughput")


@pytest.mark.parametrize(
    "measured",
    [
        {DRAM: 5.0},
        {"dram__bytes_read.sum": 1e8, "dram__bytes_write.sum": 0.0},
        {SM: 90.0},
        {MEMORY: 90.0},
    ],
)
def test_a_shape_that_contradicts_what_was_measured_is_not_used(measured: dict[str, Any]) -> None:
    """It says DRAM 75 %."""
    path = f"nsightlens@op v1 name=fc flop=1e9 bytes={0.75 * DRAM_PEAK * 1e-3}"
    report = with_columns(report_of(launch(measured)), nvtx_path=[path])
    (label,) = classify(report).labels.to_pylist()
    assert (label["bound"], label["evidence"]) == ("unknown", "none")
    assert "the annotated shapes contradict what was measured" in label["reason"]


def test_a_shape_that_fits_what_was_measured_is_used() -> None:
    """DRAM 75 % by the shape and 70 % by its percentage."""
    path = f"nsightlens@op v1 name=fc flop=1e9 bytes={0.75 * DRAM_PEAK * 1e-3}"
    report = with_columns(report_of(launch({DRAM: 70.0})), nvtx_path=[path])
    assert classify(report).labels["evidence"].to_pylist() == ["analytic"]


def test_launches_that_share_an_operation_do_not_share_its_work() -> None:
    """The work of a range with two launches cannot be divided among them; a third is alone."""
    shared, alone = (f"nsightlens@op v1 name={name} flop=1e6 bytes=1e9" for name in "ab")
    report = with_columns(
        report_of(launch(), launch(), launch()), nvtx_path=[shared, shared, alone]
    )
    assert classify(report).labels["evidence"].to_pylist() == ["none", "none", "analytic"]


def test_an_annotation_without_bytes_or_a_launch_without_duration_gives_nothing() -> None:
    """Both sides and the duration are needed."""
    path = "nsightlens@op v1 name=fc flop=1e6"
    report = with_columns(report_of(launch()), nvtx_path=[path])
    assert classify(report).labels["bound"].to_pylist() == ["unknown"]
    whole = f"{path} bytes=1e9"
    report = with_columns(report_of(launch(duration_ns=None)), nvtx_path=[whole])
    assert classify(report).labels["bound"].to_pylist() == ["unknown"]


def test_a_group_with_an_annotated_launch_is_analytic() -> None:
    """The weaker evidence of its members counts."""
    path = "nsightlens@op v1 name=fc flop=1e9 bytes=1e9"
    report = with_columns(
        report_of(launch(), launch(parts(dram=80))),
        nvtx_path=[path, None],
        kernel_name=["axpy", "axpy"],
    )
    (group,) = classify(report, by="family").labels.to_pylist()
    assert (group["bound"], group["evidence"]) == ("memory", "analytic")
