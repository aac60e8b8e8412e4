"""The second bundled report is what the model writes, synthetic, and of the opposite physics."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

import nsightlens
from nsightlens import example
from nsightlens.example.gated_layer import LLAMA_3_8B, gated_decode_layer
from nsightlens.example.layer import attention
from nsightlens.example.model import (
    DRAM_EFFICIENCY,
    H100_SXM,
    TENSOR_EFFICIENCY,
    Kernel,
    duration_ns,
)
from nsightlens.example.short_context_sweep import (
    BATCH_SIZES,
    CONTEXT,
    FILE_NAME,
    encode_short_context_sweep,
)

if TYPE_CHECKING:
    from nsightlens.report import Report

RIDGE = H100_SXM.tensor_op_per_s("hgmma") / H100_SXM.dram_bytes_per_s
LINEAR = ("qkv_proj", "out_proj", "gate_up_proj", "down_proj")


@pytest.fixture(scope="module")
def report() -> Report:
    """Return the bundled report, read."""
    return nsightlens.open_report(example.path("short_context"))


def kernel_of(operation: str, batch_size: int) -> Kernel:
    """Return the kernel of an operation in one step."""
    (found,) = (k for k in gated_decode_layer(batch_size, CONTEXT) if k.operation == operation)
    return found


def time_share(operations: tuple[str, ...], batch_size: int) -> float:
    """Return the share of some kernels in the time of a step."""
    step = gated_decode_layer(batch_size, CONTEXT)
    times = {kernel.operation: duration_ns(kernel) for kernel in step}
    return sum(times[operation] for operation in operations) / sum(times.values())


def test_the_bundled_report_is_what_the_model_writes_now() -> None:
    """After a change of the model, `python scripts/make_example.py` must be run again."""
    bundled = gzip.decompress(example.path("short_context").read_bytes())
    assert bundled == gzip.decompress(encode_short_context_sweep())
    assert b"nothing was measured" in bundled


def test_the_bundled_report_is_small() -> None:
    """It travels with every installation."""
    assert example.path("short_context").name == FILE_NAME
    assert example.path("short_context").stat().st_size < 150_000


def test_a_report_that_is_not_bundled_is_refused_with_the_names_of_those_that_are() -> None:
    """Nobody has to look for them."""
    with pytest.raises(ValueError, match="decode_sweep, short_context, not 'prefill'"):
        example.path("prefill")


def test_every_launch_has_its_step_and_a_family_that_is_known(report: Report) -> None:
    """The names are those of vLLM, FlashAttention-2 and cuBLASLt."""
    labels = nsightlens.classify(report).labels.to_pydict()
    assert len(labels["key"]) == 10 * len(BATCH_SIZES)
    assert sorted(set(labels["batch_size"])) == list(BATCH_SIZES)
    assert set(labels["phase"]) == {"decode"}
    assert set(zip(labels["family"], labels["subtype"], strict=True)) == {
        ("attention", "flash_splitkv"),
        ("gemm", "dense"),
        ("norm", "fused_add_norm"),
        ("rope", "rope"),
        ("activation", "gated"),
        ("kv_cache", "write"),
    }


def test_it_has_the_metrics_of_the_first_report(report: Report) -> None:
    """Whose names are held against those that NVIDIA's tools know."""
    assert report.store.names == nsightlens.open_report(example.path()).store.names


@pytest.mark.parametrize("batch_size", BATCH_SIZES)
def test_four_query_heads_share_the_bytes_of_their_keys_and_values(batch_size: int) -> None:
    """2 h / (g b) = 4 FLOP per byte of keys and values; queries and outputs add a few bytes."""
    main = kernel_of("attention", batch_size)
    kv_bytes = 2 * 2 * batch_size * 8 * CONTEXT * 128
    assert main.useful_flop / kv_bytes == 4
    assert main.useful_flop / main.bytes == pytest.approx(4, rel=0.08)


def test_the_query_heads_of_a_group_are_rows_of_one_tile() -> None:
    """4 of 64 rows are useful, and the context is rounded up to a tile of 128."""
    main = kernel_of("attention", 64)
    assert main.tensor_op / main.useful_flop == pytest.approx(64 / 4 * 128 / CONTEXT)


def test_a_long_context_is_split_and_merged_where_the_batch_is_small() -> None:
    """16 x 8 blocks of keys and values do not fill the GPU, 32 x 8 do."""
    assert [len(attention(batch, 1024, LLAMA_3_8B)) for batch in (16, 32)] == [2, 1]


@pytest.mark.parametrize("batch_size", BATCH_SIZES)
def test_no_kernel_is_faster_than_the_gpu(batch_size: int) -> None:
    """Neither DRAM nor tensor cores exceed the efficiency that the model states."""
    for kernel in gated_decode_layer(batch_size, CONTEXT):
        seconds = duration_ns(kernel) * 1e-9
        assert kernel.bytes / seconds <= DRAM_EFFICIENCY * H100_SXM.dram_bytes_per_s
        peak = H100_SXM.tensor_op_per_s(kernel.tensor_instruction)
        assert kernel.tensor_op / seconds <= TENSOR_EFFICIENCY * peak


def test_the_weights_of_the_layer_are_read_once() -> None:
    """218 million parameters of two bytes: q and out, k and v, and three of the gated network."""
    weights = sum(kernel_of(operation, 1).read_bytes for operation in LINEAR)
    parameters = 2 * 4096**2 + 2 * 4096 * 1024 + 3 * 4096 * 14336
    assert weights == pytest.approx(2 * parameters, rel=0.001)


@pytest.mark.parametrize("operation", LINEAR)
def test_every_linear_layer_is_right_of_the_ridge_at_batch_512(operation: str) -> None:
    """And left of it at 128."""
    left, right = kernel_of(operation, 128), kernel_of(operation, 512)
    assert left.useful_flop / left.bytes < RIDGE < right.useful_flop / right.bytes


def test_the_gemms_take_the_time_at_every_batch() -> None:
    """Attention stays below a sixth of the step at the largest batch."""
    for batch_size in BATCH_SIZES:
        assert time_share(LINEAR, batch_size) > 0.6
    assert time_share(("attention",), 1024) < 1 / 6
