"""What each library's names say: families and fields, one name per form."""

from __future__ import annotations

import pytest

from nsightlens.kernels import FAMILIES, parse_kernel_name
from nsightlens.kernels.grammars import ALL_RULES
from nsightlens.kernels.model import PHASES

# name, family, subtype, dtypes, arch, tile
GEMMS = [
    ("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT", "dense", "bf16", "", "128x256x64"),
    ("nvjet_sm90_hsh_192x128_64x5_1x2_h_bz_bias_TNN", "dense", "fp16", "sm90", "192x128x64"),
    ("nvjet_sm100_qqtst_128x256_128x5_2x1_2cta_v_bz_TNT", "quantised", "fp8_e4m3", "sm100", "128x256x128"),
    ("nvjet_sm100_qqtst_128x64_128x5_1x1_v_bz_Avec32UE8M0_Bvec32UE8M0_TNT", "quantised", "mxfp8", "sm100", "128x64x128"),
    ("nvjet_sm100_ootst_128x192_256x4_1x1_v_bz_Avec16UE4M3_Bvec16UE4M3_TNT", "quantised", "nvfp4", "sm100", "128x192x256"),
    ("nvjet_tst_splitK", "dense", "bf16", "", ""),
    ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn", "dense", "bf16", "sm80", "128x64x64"),
    ("ampere_fp16_s1688gemm_fp16_256x64_sliced1x2_ldg8_f2f_nn", "dense", "fp16", "sm80", "256x64"),
    ("ampere_s1688gemm_128x128_ldg4_stages_32x3_tn", "dense", "tf32", "sm80", "128x128x32"),
    ("turing_h1688gemm_256x128_ldg8_stages_32x1_nt", "dense", "fp16", "sm75", "256x128x32"),
    ("volta_sgemm_128x64_nn", "dense", "fp32", "sm70", "128x64"),
    ("ampere_dgemm_64x64_tn", "dense", "fp64", "sm80", "64x64"),
    ("volta_cgemm_32x64_tn", "dense", "complex64", "sm70", "32x64"),
    ("turing_int8_i8816gemm_int8_128x128_ldg16_mods_stages_64x1_tn", "quantised", "int8", "sm75", "128x128x64"),
    ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64_warpgroupsize2x1x1_execute_segment_k_off_kernel__5x_cublas",
     "dense", "bf16", "sm90", "128x256x64"),
    ("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64x32_stage5_warpsize2x2x1_tensor16x8x8_execute_kernel__5x_cublas",
     "dense", "tf32", "sm80", "64x64x32"),
    ("void cutlass::Kernel2<cutlass_80_wmma_tensorop_f16_s161616gemm_f16_16x16_64x1_tn_align8>(T1::Params)", "dense", "fp16", "sm80", "16x16x64"),
    ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x128_16x6_nt_align4>(T1::Params)", "dense", "tf32", "sm80", "64x128x16"),
    ("void Kernel2<cutlass_80_tensorop_i16832gemm_s8_256x64_64x4_tn_align16>(Params)", "quantised", "int8", "sm80", "256x64x64"),
    ("void cutlass::Kernel2<cutlass_80_tensorop_d884gemm_32x32_16x5_nn_align1>(Params)", "dense", "fp64", "sm80", "32x32x16"),
    ("cutlass3x_sm100_tensorop_s128x64x32gemm_f8_f8_f32_bf16_bf16", "quantised", "fp8", "sm100", "128x64x32"),
    ("void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false, false, P>(P)", "gemv", "fp32", "", ""),
    ("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __half, __half, __half, float, false>(P)", "gemv", "fp16", "", ""),
    ("void cublasLt::splitKreduce_kernel<(int)32, (int)16, int, float, __nv_bfloat16, float>(P)", "splitk_reduce", "bf16", "", ""),
    (("void cutlass::Kernel<cutlass::gemm::kernel::Gemm<cutlass::gemm::threadblock::MmaMultistage<cutlass::gemm::GemmShape<(int)64, (int)128, (int)32>, "
     "cutlass::half_t>>>(T1::Params)"), "dense", "fp16", "", "64x128x32"),
    (("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>, cutlass::gemm::collective::CollectiveMma<"
     "cutlass::gemm::MainloopSm90TmaGmmaWarpSpecialized<4, cute::tuple<cute::C<2>, cute::C<1>, cute::C<1> >, cutlass::gemm::Pingpong>, "
     "cute::tuple<cute::C<128>, cute::C<256>, cute::C<64> >, cutlass::bfloat16_t> > >(Params)"), "dense", "bf16", "sm90", "128x256x64"),
    ("void deep_gemm::fp8_gemm_kernel<4096u, 7168u, 128u, 96u, 128u, 0u, 64u, 1u, 5u, (deep_gemm::GemmType)0>(float*)", "quantised", "fp8_e4m3", "sm90", "128x96x128"),
    ("void deep_gemm::fp8_gemm_kernel<4096u, 7168u, 64u, 96u, 128u, 0u, 64u, 8u, 5u, (deep_gemm::GemmType)2>(float*)", "grouped_quantised", "fp8_e4m3", "sm90", "64x96x128"),
    ("void marlin::Marlin<1125899906909960l, 1125899907892224l, 1125899906909960l, 256, 1, 8, 8>(int4 const*)", "quantised", "bf16,int4", "", ""),
    ("void marlin_moe_wna16::Marlin<1125899906910725l, 1125899907892224l, 256>(int4 const*)", "grouped_quantised", "fp16,int4", "", ""),
    ("void mul_mat_vec_q<(ggml_type)12, 1, false>(void const*)", "quantised_gemv", "q4_K", "", ""),
    ("void mul_mat_q<(ggml_type)39, (int)64, (bool)1>(char const*)", "quantised", "mxfp4", "", ""),
    ("_Z9mul_mat_qIL9ggml_type8ELi16EEvPKc", "quantised", "q8_0", "", ""),
    ("bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x32x256u2_s4_et128x32_m128x32x32_c1x1x1_rM_TN_transOut_dynB_sm100f", "grouped_quantised", "mxfp4,mxfp8", "sm100", "128x32x256"),
    ("bmm_Bfloat16_Bfloat16Bfloat16_Fp32_t128x32x128_s5_et128x32_m128x32x16_c1x1x1_rM_BN_transOut_sm103a", "grouped", "bf16", "sm103", "128x32x128"),
    ("fused_moe_kernel", "grouped", "", "", ""),
    ("fused_moe_kernel_gptq_awq", "grouped_quantised", "", "", ""),
    ("_w8a8_block_fp8_matmul", "quantised", "fp8", "", ""),
    ("_bgmv_shrink_kernel", "lora", "", "", ""),
    ("triton_tem_fused_addmm_relu_7", "dense", "", "", ""),
    ("gemm_fusion_dot_12", "dense", "", "", ""),
    ("fused_fused_dequantize3_NT_matmul21_kernel", "quantised", "", "", ""),
    ("Cijk_Ailk_Bljk_HHS_BH_MT64x64x32_MI32x32x8x1", "dense", "", "", ""),
    ("kernel_cutlass_kernel_gemmsm100Sm100BlockScaledPersistentDenseGemmKernel_object_at__tensorptrbf16gmemalign16", "quantised", "bf16", "sm100", ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "subtype", "dtypes", "arch", "tile"), GEMMS)
def test_a_matrix_product_is_read(
    name: str, subtype: str, dtypes: str, arch: str, tile: str
) -> None:
    """Family, operand types, the architecture of the build and the tile come from the name."""
    kernel = parse_kernel_name(name)
    assert kernel.family == "gemm"
    assert (kernel.subtype, ",".join(kernel.dtypes), kernel.arch, kernel.tile) == (
        subtype, dtypes, arch, tile,
    )  # fmt: skip


# name, subtype, phase, dtypes, tile, head_dim
ATTENTION = [
    ("void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)64, (int)128, (int)128, (int)4, (bool)0, (bool)0, cutlass::bfloat16_t>, (bool)0>(flash::P)",
     "flash", "unknown", "bf16", "128x128", "64"),
    ("void pytorch_flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, cutlass::half_t>, 4, 5, true>(P)",
     "splitkv_combine", "unknown", "fp16", "64x128", "128"),
    ("void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64, 64, 128, 8, 2, 4, 4, false, false, cutlass::half_t>>(P)",
     "bwd", "train_bwd", "fp16", "64x128", "64"),
    ("void flash::flash_fwd_splitkv_mla_kernel<Flash_fwd_kernel_traits_mla<576, 64, 64, 8, cutlass::bfloat16_t, 512>>(P)", "mla", "decode", "bf16", "64x64", "576/512"),
    (("void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, "
     "cute::tuple<cute::C<128>, cute::C<176>, cute::C<128> >, 128, cutlass::half_t, float, cutlass::arch::Sm90, true> > > >(P)"), "flash", "unknown", "fp16", "128x176", "128"),
    ("void cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::tuple<cute::C<8>, cute::C<128> >, 5, 256, 1, false, cutlass::bfloat16_t, float> >(P)",
     "splitkv_combine", "unknown", "bf16", "", ""),
    ("void cutlass::device_kernel<cutlass::fmha::kernel::Sm100FmhaFwdKernelTmaWarpspecialized<cute::tuple<int>>>(P)", "flash", "prefill", "", "", ""),
    ("void cutlass::device_kernel<cutlass::fmha::kernel::Sm100FmhaMlaKernelTmaWarpspecialized<cute::tuple<int>>>(P)", "mla", "decode", "", "", ""),
    ("void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u, 4u, 8u, 16u, 1u, 8u, V, P>(P)", "paged", "decode", "", "", "128"),
    ("void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<(flashinfer::MaskMode)0, 16u, 1u, 2u, 8u, 8u, 1u, 4u, (flashinfer::PosEncodingMode)0, __half>, P>(P)",
     "paged", "decode", "fp16", "16x128", "128"),
    ("void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<(flashinfer::MaskMode)1, 128u, 2u, 4u, 4u, 4u, 4u, 1u, (flashinfer::PosEncodingMode)0, __half>, P>(P)",
     "paged", "prefill", "fp16", "128x64", "64"),
    ("BatchPrefillWithPagedKVCacheKernel", "paged", "unknown", "", "", ""),
    ("SinglePrefillWithKVCacheKernel", "flash", "prefill", "", "", ""),
    ("void flashinfer::PersistentVariableLengthMergeStatesKernel<8u, 16u, 8u, 4u, __nv_bfloat16>(P)", "splitkv_combine", "unknown", "bf16", "", ""),
    ("void flashinfer::mla::hopper::BatchMLAPageAttentionHopperKernel<flashinfer::mla::hopper::HopperKernelTraits<true, 2u, 512u, 64u, 64u, 64u, __nv_bfloat16>>(P)",
     "mla", "unknown", "bf16", "", "576/512"),
    ("fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP32VarSeqQ128Kv128PersistentContext", "paged", "prefill", "bf16", "128x128", "128"),
    ("fmhaSm100aKernel_QkvE4m3OBfloat16HQk576HV512PagedKvDenseP32MultiCtasKvCgaVarSeqQ8Kv128StaticSwapsAbForGen", "mla", "decode", "fp8_e4m3", "8x128", "576/512"),
    ("fmha_v2_flash_attention_bf16_64_128_S_q_paged_kv_128_causal_tma_ws_sm90_kernel", "fmha_v2", "prefill", "bf16", "64x128", "128"),
    ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_0", "cudnn_sdpa", "unknown", "", "64x128", "128"),
    ("cudnn_generated_fort_native_sdpa_sm80_flash_bprop_wmma_f16_knob_32_64x64x64_1x1x1_kernel0_0", "bwd", "train_bwd", "", "64x64", "64"),
    ("fmha_cutlassF_f16_aligned_64x64_rf_sm75", "mem_efficient", "unknown", "fp16", "64x64", ""),
    ("void vllm::paged_attention_v1_kernel<__nv_bfloat16, __nv_bfloat16, 128, 16, 128>(P)", "paged", "decode", "bf16", "", ""),
    ("kernel_unified_attention_3d", "paged", "decode", "", "", ""),
    ("kernel_unified_attention_2d", "paged", "unknown", "", "", ""),
    ("void flash_attn_ext_f16<64, 64, 16, 1, 4>(char const*)", "flash", "unknown", "fp16", "", "64"),
    ("kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_object_at__tensor", "flash", "unknown", "", "", ""),
    ("triton_tem_fused_flex_attention_3", "flash", "unknown", "", "", ""),
    ("__myl_MhaV2_0x1f", "flash", "unknown", "", "", ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "subtype", "phase", "dtypes", "tile", "head_dim"), ATTENTION)
def test_an_attention_kernel_is_read(
    name: str, subtype: str, phase: str, dtypes: str, tile: str, head_dim: str
) -> None:
    """Phase, operand type, tile and head size come from the name, and only from it."""
    kernel = parse_kernel_name(name)
    assert kernel.family == "attention"
    said = (kernel.subtype, kernel.phase, ",".join(kernel.dtypes), kernel.tile, kernel.head_dim)
    assert said == (subtype, phase, dtypes, tile, head_dim)


OTHERS = [
    ("vllm::rms_norm_kernel", "norm", "rmsnorm"),
    ("void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(P)", "norm", "fused_add_norm"),
    ("void vllm::rms_norm_static_fp8_quant_kernel<c10::Half>(P)", "norm", "rmsnorm_quant"),
    ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int)", "norm", "layernorm"),
    ("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_7", "norm", "inductor"),
    ("triton_per_fused_native_layer_norm_3", "norm", "layernorm"),
    ("void vllm::rotary_embedding_kernel<c10::Half, true>(P)", "rope", "rope"),
    ("BatchQKApplyRotaryPosIdsCosSinCacheKernel", "rope", "rope"),
    ("void flashinfer::activation::act_and_mul_kernel<__half, &silu>(P)", "activation", "gated"),
    ("triton_poi_fused_mul_silu_4", "activation", "inductor"),
    ("void (anonymous namespace)::softmax_warp_forward<float, float, float, 7, false, false>(P)", "softmax_sampling", "softmax"),
    ("triton_red_fused__softmax_3", "softmax_sampling", "softmax"),
    ("TopKTopPSamplingFromProbKernel", "softmax_sampling", "sampling"),
    ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(P)", "elementwise", "generic"),
    ("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, std::array<char*, 1ul> >(P)", "copy", "fill"),
    ("void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}>(P)", "copy", "cast_copy"),
    ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>(P)", "reduction", "generic"),
    ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>>>(P)", "reduction", "argmax"),
    ("void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>>(P)", "other", "optimizer"),
    ("CatArrayBatchedCopy_aligned16_contig", "copy", "cat"),
    ("Memcpy HtoD (Pinned -> Device)", "copy", "memcpy"),
    ("Memset (Device)", "copy", "memset"),
    ("nchwToNhwcKernel", "copy", "layout_cast"),
    ("wrapped_transpose", "copy", "fusion"),
    ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "communication", "allreduce"),
    ("ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)", "communication", "allgather"),
    ("void vllm::cross_device_reduce_1stage<float, 4>(P)", "communication", "allreduce"),
    ("void deep_ep::internode_ll::dispatch<true, false, 7168>(P)", "communication", "moe_a2a"),
    ("void at::native::(anonymous namespace)::indexSelectSmallIndex<float, long>(P)", "embedding", "index_select"),
    ("void vllm::dynamic_scaled_int8_quant_kernel<float>(P)", "quantise", "quantise"),
    ("dequantize_block_q4_0", "quantise", "dequantise"),
    ("void at::native::sbtopk::gatherTopK<float, unsigned int, 1>(P)", "sort_topk", "generic"),
    ("void cub::DeviceRadixSortOnesweepKernel<cub::Policy900>(P)", "sort_topk", "generic"),
    ("void cub::DeviceScanKernel<cub::ScanTileState<int, true>>(P)", "reduction", "generic"),
    ("moe_align_block_size_kernel", "moe_routing", "align"),
    ("_chunk_scan_fwd_kernel", "ssm_conv", "mamba"),
    ("causal_conv1d_update_kernel", "ssm_conv", "conv1d"),
    ("chunk_gated_delta_rule_fwd_kernel", "ssm_conv", "linear_attention"),
    ("sm80_xmma_dgrad_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize64x64x64_stage3_kernel_cudnn", "ssm_conv", "conv2d"),
    ("nvfuser_inner_persistent_f0_c1_r0_g0", "reduction", "nvfuser"),
    ("input_reduce_fusion_3", "reduction", "fusion"),
    ("fused_mul_add_1234567890123456", "elementwise", "torchscript_nnc"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "family", "subtype"), OTHERS)
def test_every_other_family_is_read(name: str, family: str, subtype: str) -> None:
    """One name for each form of the remaining families."""
    kernel = parse_kernel_name(name)
    assert (kernel.family, kernel.subtype) == (family, subtype)
    assert kernel.phase == "n/a"


@pytest.mark.parametrize(
    "name",
    [
        "tomorrow::flash_attention_fwd_v9_kernel<128>",
        "sm130_hyper_gemm_fp3_kernel",
        "MegaFusedRMSNormSwizzleKernel",
        "_new_lib_rotary_apply_kernel",
        "vendorx_all_reduce_ring_v7",
        "quantum_moe_router_topk_kernel",
    ],
)
def test_a_name_of_tomorrow_is_known_by_its_words(name: str) -> None:
    """No list of names stands behind the rules, so an unseen name with known words is placed."""
    assert parse_kernel_name(name).family != "other"


def test_a_name_that_says_nothing_is_other_and_says_so() -> None:
    """A name without a telling word is not guessed at."""
    for name in ("my_kernel", "step", "Kernel2", "device_kernel", "kernel", "", "julia__5_11155"):
        kernel = parse_kernel_name(name)
        assert kernel.family == "other"
        assert kernel.note


def test_rules_are_well_formed() -> None:
    """Every rule has its own id and names a known family and phase."""
    identifiers = [rule.id for rule in ALL_RULES]
    assert len(set(identifiers)) == len(identifiers)
    for rule in ALL_RULES:
        assert rule.family in FAMILIES
        assert set(rule.also) <= set(FAMILIES)
        assert rule.phase in {"", *PHASES}
        assert not rule.phase or rule.family == "attention"
