"""Very many distinct kernel names as libraries spell them, and the time that reading them takes.

Usage: python -m benchmarks.names [--count N] [--alone]

Prints JSON: how many names, their mean length, the seconds that a column of them takes, and the
seconds of a column as long that repeats a thousand of them. With ``--alone`` no process beside this
one takes part. The templates are written after the naming schemes of the libraries; numbers, tile
sizes and data types are drawn anew for each name.
"""

# ruff: noqa: E501 - names of kernels are long
from __future__ import annotations

import argparse
import json
import random
import re
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["distinct_names"]

_CPP = (
    "__half",
    "__nv_bfloat16",
    "float",
    "cutlass::half_t",
    "cutlass::bfloat16_t",
    "c10::Half",
    "c10::BFloat16",
    "__nv_fp8_e4m3",
)
_DRAWN: dict[str, Sequence[str]] = {
    "A": ("80", "90", "100"),
    "B": ("false", "true"),
    "F": ("f16", "bf16"),
    "H": tuple(map(str, (64, 80, 96, 128, 192, 256))),
    "I": tuple(map(str, range(100_000))),
    "L": ("nn", "nt", "tn"),
    "S": tuple(map(str, range(1, 13))),
    "T": tuple(map(str, (8, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256))),
    "V": ("tst", "hsh", "qqtst", "tss"),
    "W": tuple(map(str, range(8, 2049, 8))),
}
"""What stands for a place such as ``@T``; ``@D`` is a type."""
_PLACE = re.compile(r"@(\w)")

TEMPLATES = (
    "nvjet_sm@A_@V_@Tx@T_@Wx@S_@Sx@S_v_bz_coopA_TNT",
    "nvjet_@V_@Tx@T_@Tx@S_@Sx@S_h_bz_splitK_TNN",
    "ampere_@F_s16816gemm_@F_@Tx@T_ldg8_f2f_stages_@Wx@S_@L",
    "ampere_sgemm_@Wx@W_sliced@Sx@S_@L",
    "sm80_xmma_gemm_f32f32_tf32f32_f32_@L_n_tilesize@Tx@Tx@T_stage@S_warpsize@Sx@Sx1_tensor16x8x8_execute_kernel__5x_cublas",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_@L_n_tilesize@Tx@Tx@T_warpgroupsize@Sx@Sx1_execute_segment_k_off_kernel__5x_cublas",
    "void cutlass::Kernel2<cutlass_80_tensorop_@F_s16816gemm_@F_@Tx@T_@Wx@S_@L_align8>(T1::Params)",
    "void cutlass::Kernel2<cutlass_80_wmma_tensorop_@F_s161616gemm_@F_@Tx@T_@Tx@S_@L_align@S>(cutlass_80_wmma_tensorop_@F_s161616gemm_@F_@Tx@T_@Tx@S_@L_align@S::Params)",
    "void cublasLt::splitKreduce_kernel<@T, @S, int, float, @D, float, @D, @B, @B, @B>(cublasLt::cublasSplitKParams<float>, float const*, @D const*, @D*, void*, long, float*, int*)",
    "std::enable_if<!@B, void>::type internal::gemvx::kernel<int, int, @D, @D, @D, float, @B, @B, @B, @B, @S, @B, cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<@D const>, float>>(T1)",
    "void cutlass::Kernel<cutlass::gemm::kernel::Gemm<cutlass::gemm::threadblock::MmaMultistage<cutlass::gemm::GemmShape<@T, @T, @T>, cutlass::transform::threadblock::PredicatedTileAccessIterator<cutlass::MatrixShape<@T, @T>, @D>>>>(T1::Params)",
    "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<(int)@S, cute::tuple<cute::C<(int)1>, cute::C<(int)1>, cute::C<(int)1>>, cute::tuple<cute::C<(int)@T>, cute::C<(int)@W>, cute::C<(int)@H>>, (int)@H, @D, float, cutlass::arch::Sm90, (bool)@S>>>>(T1::Params)",
    "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<@H, @T, @T, @S, @B, @B, @D, Flash_kernel_traits<@H, @T, @T, @S, @D> >, @B, @B, @B, @B, @B, @B, @B, @B>(flash::Flash_fwd_params)",
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)@H, (int)@T, (int)@T, (int)@S, (bool)0, (bool)0, @D>, (bool)0, (bool)1, (bool)0, (bool)@S>(pytorch_flash::Flash_fwd_params)",
    "_ZN5flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsILi@HELi@TELi@TELi@SELb0ELb0EN7cutlass10bfloat16_tEELb0ELb1ELb0ELi@WEEEvNS_16Flash_fwd_paramsE",
    "_ZN2at6native29vectorized_elementwise_kernelILi@SENS0_15CUDAFunctor_addIN3c108BFloat16EEESt5arrayIPcLm@WEEEEviT0_T1_",
    "void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<(flashinfer::MaskMode)1, @Tu, @Su, @Su, 8u, 8u, @Su, @Su, (flashinfer::PosEncodingMode)0, @D, @D, @D, float, int>>(T1)",
    "void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, @Su, @Su, 8u, @Tu, @Su, @Su, flashinfer::DefaultAttention<@B, @B, @B, @B>, flashinfer::BatchDecodeParams<@D, @D, @D, int>>(T1)",
    "void vllm::paged_attention_v2_kernel<@D, @D, @H, @T, @W, (vllm::Fp8KVCacheDataType)0, @B, @W>(float*, float*, @D*, @D const*, @D const*)",
    "void vllm::rms_norm_kernel<@D, @S>(@D*, @D const*, @D const*, float, int, int) [clone @I]",
    "void marlin::Marlin<1125899906909960l, 1125899906843648l, 1125899906909960l, 1125899906909960l, @W, @S, @T, @S, @B, @S, @S, @B>(int4 const*, int4 const*, int4*)",
    "void deep_gemm::fp8_gemm_kernel<@Wu, @Wu, @Tu, @Tu, @Tu, @Su, @Tu, @Su, 1u, 128u, 128u, @Su, @B, (deep_gemm::GemmType)0>(__nv_bfloat16*, float*, int*)",
    "fmhaSm100fKernel_QkvBfloat16OBfloat16H@HPagedKvCausalP@TMultiCtasKvVarSeqQ@WKv@TPersistentSwapsAbForGen",
    "fmha_v2_flash_attention_@F_@T_@W_S_q_paged_kv_@H_causal_tma_ws_sm90_kernel",
    "fmha_cutlassF_@F_aligned_@Wx@W_rf_sm80",
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_@I_@Tx@Tx@H_@Sx@Sx1_kernel0_0",
    "void mul_mat_q<(ggml_type)@S, @W, @B>(char const*, int const*, int const*, int const*, float*, float*, int, int, int, int, int)",
    "void flash_attn_ext_f16<@H, @H, @T, @S, @S, @B, @B, @W>(char const*, char const*, char const*, char const*, float*, float2*)",
    "void at::native::vectorized_elementwise_kernel<@S, at::native::(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)::{lambda()#@S}::operator()() const::{lambda()#@S}::operator()() const::{lambda(c10::BFloat16)#1}, std::array<char*, @Wul> >(int, at::native::(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)::{lambda()#1})",
    "void at::native::elementwise_kernel<(int)@W, (int)@S, void at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<@D, @D, @D, at::native::binary_internal::MulFunctor<float>>>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance @I)]>(int, T3)",
    "void at::native::reduce_kernel<@W, @S, at::native::ReduceOp<@D, at::native::MeanOps<@D, float, float, @D>, unsigned int, @D, @S, @S> >(at::native::ReduceOp<@D, at::native::MeanOps<@D, float, float, @D>, unsigned int, @D, 4, 4>)",
    "void cunn_SoftMaxForward<@S, @D, float, @D, at::native::(anonymous namespace)::SoftMaxForwardEpilogue, @W>(@D*, @D const*, int)",
    "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_@I",
    "triton_poi_fused_@S_add_mul_silu_slice_@I",
    "triton_tem_fused_addmm_mm_t_@I",
    "_fwd_grouped_kernel_stage1_@I",
    "kernel_unified_attention_2d_@I",
    "fused_moe_kernel_gptq_awq_@I",
    "reshape_and_cache_flash_kernel_@I",
    "void vllm::act_and_mul_kernel<@D, &(@D vllm::silu_kernel<@D>(@D const&)), @B, @W>(@D*, @D const*, int)",
    "void vllm::rotary_embedding_kernel<@D, @B, @W>(long const*, @D*, @D*, @D const*, int, long, long, int, int, int)",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<@Iul>)",
    "loop_add_multiply_fusion_@I",
    "input_reduce_fusion_@I",
    "gemm_fusion_dot_@I",
    "softmax_warp_forward_@I",
    "rms_norm_@I_kernel",
)  # fmt: skip


def distinct_names(count: int, seed: int = 1) -> list[str]:
    """Return so many names, each of them once, in no order."""
    draw = random.Random(seed)
    names: dict[str, None] = {}
    while len(names) < count:
        names[_name(draw)] = None
    found = list(names)
    draw.shuffle(found)
    return found


def _name(draw: random.Random) -> str:
    kind = draw.choice(_CPP)  # one for all of a name, as it mostly is

    def drawn(place: re.Match[str]) -> str:
        choices = _DRAWN.get(place[1])
        return kind if choices is None else draw.choice(choices)

    return _PLACE.sub(drawn, draw.choice(TEMPLATES))


def _seconds_for(names: list[str]) -> float:
    import pyarrow as pa  # noqa: PLC0415 - names are made before it is loaded

    from nsightlens.kernels import parse_kernel_names  # noqa: PLC0415

    column = pa.array(names)
    start = time.perf_counter()
    assert len(parse_kernel_names(column)) == len(names)
    return time.perf_counter() - start


def main() -> None:
    """Measure and print JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.names", description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--alone", action="store_true")
    args = parser.parse_args()
    if args.alone:
        from nsightlens.kernels import parallel  # noqa: PLC0415

        parallel.FEW = args.count + 1
    names = distinct_names(args.count)
    repeated = (names[:1000] * (len(names) // 1000 + 1))[: len(names)]
    found = {
        "names": len(names),
        "mean_length": sum(map(len, names)) / len(names),
        "seconds": _seconds_for(names),
        "repeated_seconds": _seconds_for(repeated),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
