"""The analytic model says what the paper says: attention flat, GEMMs rising with the batch."""

from __future__ import annotations

import pytest

from nsightlens.example.decode_sweep import BATCH_SIZES, CONTEXT
from nsightlens.example.layer import OPT_1_3B, attention, decode_layer, gemm
from nsightlens.example.model import (
    DRAM_EFFICIENCY,
    H100_SXM,
    TENSOR_EFFICIENCY,
    Kernel,
    duration_ns,
)

RIDGE = H100_SXM.tensor_op_per_s("hgmma") / H100_SXM.dram_bytes_per_s
LINEAR = ("qkv_proj", "out_proj", "fc1", "fc2")


def kernel_of(operation: str, batch_size: int) -> Kernel:
    """Return the kernel of an operation in one step."""
    (found,) = (k for k in decode_layer(batch_size, CONTEXT) if k.operation == operation)
    return found


def intensity(kernel: Kernel) -> float:
    """Return useful arithmetic intensity [FLOP/B]."""
    return kernel.useful_flop / kernel.bytes


def test_the_modelled_gpu_has_the_figures_of_the_product() -> None:
    """3352 GB/s of DRAM, and a ridge of 256 FLOP/B at the base clock."""
    assert H100_SXM.dram_bytes_per_s == pytest.approx(3352.3e9, rel=1e-3)
    assert pytest.approx(256.4, rel=1e-3) == RIDGE


@pytest.mark.parametrize("batch_size", BATCH_SIZES)
def test_attention_has_the_same_useful_intensity_at_every_batch(batch_size: int) -> None:
    """FP16 multi-head attention does 2 / b = 1 FLOP for every byte, whatever the batch."""
    assert intensity(kernel_of("attention", batch_size)) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("operation", LINEAR)
def test_a_linear_layer_has_an_intensity_that_grows_with_the_batch(operation: str) -> None:
    """About 2 B / b, so B at fp16, while the batch is small against the layer."""
    for batch_size in (1, 2, 4, 8, 16):
        found = intensity(kernel_of(operation, batch_size))
        assert found == pytest.approx(batch_size, rel=0.02)


@pytest.mark.parametrize("operation", LINEAR)
def test_every_linear_layer_crosses_the_ridge_between_256_and_512(operation: str) -> None:
    """Left of the ridge at the second largest batch, right of it at the largest."""
    assert intensity(kernel_of(operation, 256)) < RIDGE < intensity(kernel_of(operation, 512))


def test_a_tile_pads_the_batch() -> None:
    """One sequence fills an eighth of the smallest tile, sixteen fill theirs."""
    assert gemm("fc1", 1, 2048, 8192).tensor_op == 8 * gemm("fc1", 1, 2048, 8192).useful_flop
    assert gemm("fc1", 16, 2048, 8192).tensor_op == gemm("fc1", 16, 2048, 8192).useful_flop


def test_attention_executes_far_more_than_it_needs() -> None:
    """One query row of 64 is useful, and the context is rounded up to tiles of 256."""
    main = attention(64, CONTEXT)[0]
    assert main.tensor_op / main.useful_flop == pytest.approx(64 * 512 / 500)


@pytest.mark.parametrize(("batch_size", "kernels"), [(1, 2), (4, 2), (8, 1), (512, 1)])
def test_attention_is_split_only_where_the_batch_does_not_fill_the_gpu(
    batch_size: int, kernels: int
) -> None:
    """A merge kernel follows at small batches."""
    assert len(attention(batch_size, CONTEXT)) == kernels


@pytest.mark.parametrize("batch_size", BATCH_SIZES)
def test_no_kernel_is_faster_than_the_gpu(batch_size: int) -> None:
    """Neither DRAM nor tensor cores exceed the efficiency that the model states."""
    for kernel in decode_layer(batch_size, CONTEXT):
        seconds = duration_ns(kernel) * 1e-9
        assert kernel.bytes / seconds <= DRAM_EFFICIENCY * H100_SXM.dram_bytes_per_s
        peak = H100_SXM.tensor_op_per_s(kernel.tensor_instruction)
        assert kernel.tensor_op / seconds <= TENSOR_EFFICIENCY * peak
        assert duration_ns(kernel) % 32 == 0


def test_attention_reaches_the_bandwidth_only_at_large_batch() -> None:
    """A fifth of the peak at batch 1, as the paper measured 10 to 23 %, and 91 % at 512."""
    achieved = [
        kernel_of("attention", batch).bytes
        / (duration_ns(kernel_of("attention", batch)) * 1e-9)
        / H100_SXM.dram_bytes_per_s
        for batch in BATCH_SIZES
    ]
    assert achieved == sorted(achieved)
    assert 0.10 < achieved[0] < 0.23
    assert achieved[-1] == pytest.approx(0.914, abs=0.005)


def test_a_step_has_every_kernel_of_a_layer() -> None:
    """Pre-norm: norm, projection, cache write, attention, projection, add, and the same for FFN."""
    assert [kernel.operation for kernel in decode_layer(8, CONTEXT)] == [
        "attention_norm",
        "qkv_proj",
        "kv_cache_write",
        "attention",
        "out_proj",
        "attention_residual",
        "feed_forward_norm",
        "fc1",
        "relu",
        "fc2",
        "feed_forward_residual",
    ]


def test_the_weights_of_the_layer_are_read_once() -> None:
    """12 d^2 parameters of two bytes, and the biases."""
    d = OPT_1_3B.model_dim
    weights = sum(kernel_of(operation, 1).read_bytes for operation in LINEAR)
    assert weights == pytest.approx(12 * d * d * 2, rel=0.001)
