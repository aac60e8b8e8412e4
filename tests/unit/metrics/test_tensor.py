from __future__ import annotations

import pytest

from nsightlens.metrics.tensor import (
    TENSOR_PATHS,
    TensorPath,
    dense_peak_formula,
    tensor_paths_of,
    work_formulas,
)

PREFIX = "sm__ops_path_tensor_"


def path_of(column: str, architecture: str) -> TensorPath:
    return next(path for path in tensor_paths_of(architecture) if path.column == column)


@pytest.mark.parametrize(
    ("column", "architecture", "peak"),
    [
        ("tensor_fp16_flop_count", "7.0", "src_fp16_dst_fp32.sum.peak_sustained"),
        ("tensor_fp16_flop_count", "8.0", "src_fp16_dst_fp32_sparsity_off.sum.peak_sustained"),
        ("tensor_bf16_flop_count", "9.0", "src_bf16_dst_fp32.sum.peak_sustained / 2"),
        ("tensor_fp8_flop_count", "9.0", "src_fp8_sparsity_off.sum.peak_sustained"),
        (
            "tensor_bf16_flop_count",
            "10.0",
            "op_utchmma_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained",
        ),
        (
            "tensor_int8_op_count",
            "12.0",
            "op_imma_src_int8_sparsity_off.sum.peak_sustained",
        ),
        ("tensor_fp64_flop_count", "9.0", "src_fp64.sum.peak_sustained"),
    ],
)
def test_the_dense_peak_is_never_the_sparse_one(column: str, architecture: str, peak: str) -> None:
    """Sparse peaks are twice the dense; each path says where its dense peak stands."""
    assert dense_peak_formula(path_of(column, architecture)) == PREFIX + peak


def test_hopper_has_a_peak_per_instruction() -> None:
    """On Hopper wgmma and mma.sync reach different rates."""
    instructions = path_of("tensor_fp16_flop_count", "9.0").instructions
    assert [one.dense_peak_formula.removeprefix(PREFIX) for one in instructions] == [
        "op_hgmma_src_fp16_sparsity_off.sum.peak_sustained",
        "op_hmma_src_fp16_dst_fp32_sparsity_off.sum.peak_sustained",
    ]


def test_one_instruction_of_two_is_never_the_whole_work() -> None:
    """mma.sync alone is all tensor work on one Blackwell and a part of it on the other."""
    alone = f"{PREFIX}op_hmma_src_bf16_dst_fp32.sum"
    assert alone not in work_formulas("tensor_bf16_flop_count")


def test_every_path_has_work_and_something_to_ask_for() -> None:
    """No entry of the table is empty."""
    for path in TENSOR_PATHS:
        assert path.work_formulas
        assert path.minimal_metrics
        assert all(name.startswith(PREFIX) for name in path.minimal_metrics)
