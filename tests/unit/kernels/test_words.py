"""Identifiers as words."""

from __future__ import annotations

import pytest

from nsightlens.kernels.words import words_of


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        (
            "BatchPrefillWithPagedKVCacheKernel",
            {"batch", "prefill", "with", "paged", "kv", "cache"},
        ),
        ("RMSNormKernel", {"rms", "norm", "rmsnorm", "kernel"}),
        ("softMax", {"softmax"}),
        ("oneShotAllReduce", {"oneshot", "allreduce"}),
        ("helixAllToAllKernel", {"alltoall"}),
        ("gatherTopK", {"gather", "topk"}),
        ("volta_h884gemm_64x64", {"volta", "h884", "gemm"}),
        ("splitKreduce_kernel", {"splitk", "reduce"}),
        ("matmul10", {"matmul"}),
        ("tinygemm_m16n8k16", {"gemm"}),
        ("fused_moe_kernel_gptq_awq", {"moe", "gptq", "awq"}),
        ("causal_conv1d_fwd", {"conv1d"}),
        ("scaled_fp8_quant", {"fp8", "quant"}),
    ],
)
def test_an_identifier_reads_as_its_words(identifier: str, expected: set[str]) -> None:
    """Underscores, capitals and digits separate words, whatever the author's habit."""
    assert expected <= set(words_of(identifier))


@pytest.mark.parametrize(
    ("identifier", "absent"),
    [
        ("_gemma_qkv_rmsnorm_kernel", "gemm"),
        ("DistributionNormal", "norm"),
        ("routingRenormalize", "norm"),
        ("AirTopPRenormApplyKernel", "norm"),
        ("flashinfer", "flash"),
        ("DeformLayer", "mla"),
        ("fbgemm_gpu", "gemm"),
        ("property", "rope"),
    ],
)
def test_a_part_of_a_word_is_not_a_word(identifier: str, absent: str) -> None:
    """A family's word inside a longer word does not count."""
    assert absent not in words_of(identifier)
