"""Names that mislead: each trap in the field's habits, by one or two names."""

from __future__ import annotations

import pytest

from nsightlens.kernels import parse_kernel_name

FAMILY_TRAPS = [
    # The vehicle's library is not the kernel's family.
    ("kernel_cutlass_kernel_flashinfernormkernelsrmsnormRMSNormKernel_object_at__tensorptrbf16gmem", "norm"),
    ("void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<int> > >(P)", "attention"),
    ("_ZN7cutlass13device_kernelIN5flash11enable_sm90INS1_16FlashAttnFwdSm90IiEEEEEEvNT_6ParamsE", "attention"),
    ("void cutlass::device_kernel<flat::kernel::FlatKernelTmaWarpSpecializedDeltaRule<int> >(P)", "ssm_conv"),
    # Attention's words on keys and values being moved, and on bookkeeping.
    ("reshape_and_cache_kernel_flash", "kv_cache"),
    ("concat_and_cache_mla_kernel", "kv_cache"),
    ("AppendPagedKVCacheKernel", "kv_cache"),
    ("set_mla_kv_buffer_kernel", "kv_cache"),
    ("gather_and_maybe_dequant_cache", "copy"),
    ("prepare_varlen_num_blocks_kernel", "other"),
    ("get_mla_metadata_kernel", "other"),
    ("create_flashinfer_kv_indices_triton", "other"),
    ("advance_step_flashattn_kernel", "other"),
    ("_compute_slot_mapping_kernel", "other"),
    # Reductions that belong to the kernel before them.
    ("splitKreduce_kernel", "gemm"),
    ("mul_mat_q_stream_k_fixup", "gemm"),
    ("MergeStatesKernel", "attention"),
    ("paged_attention_v2_reduce_kernel", "attention"),
    ("_fwd_kernel_stage2", "attention"),
    ("reduce_segments", "attention"),
    ("fmhaReductionKernel", "attention"),
    # Phase words outside attention.
    ("fused_recurrent_gated_delta_rule_packed_decode_kernel", "ssm_conv"),
    ("fuse_add_norm_prefill_kernel", "norm"),
    ("topKPerRowDecode", "sort_topk"),
    # Products that are not attention's, routing that is not softmax.
    ("bmm_E4m3_E4m3E4m3_Fp32_t128x8x512u2_s3_et64x8_m64x8x32_sm100f", "gemm"),
    ("fused_moe_kernel", "gemm"),
    ("fused_moe_router_kernel", "moe_routing"),
    ("topkGatingSoftmax", "moe_routing"),
    ("_fwd_kernel_ep_gather", "moe_routing"),
    ("moe_sum_reduce_kernel", "moe_routing"),
    ("compute_sm90_group_gemm_args", "moe_routing"),
    # A product's words on its preparation.
    ("quantize_mmq_q8_1", "quantise"),
    ("awq_marlin_repack_kernel", "copy"),
    # The hash that Julia puts behind a name says anything, here "Bn".
    ("copy_blocked[v1,cw51cXTLSU5BnXagIA](Array<long long, 1, C>, long long)", "copy"),
    ("interleave_int8_weights_for_sm90_mixed_gemm_kernel", "copy"),
    ("kDequantizeBlockwise<__half, 512, 64, 8, 2>", "quantise"),
    # A collective's name lists the work inside it.
    ("allreduce_fusion_kernel_oneshot_lamport", "communication"),
    ("moefinalize_allreduce_fusion_kernel_oneshot_lamport", "communication"),
    ("void flashinfer::trtllm_mnnvl_allreduce::rmsNormLamport<__half>(P)", "communication"),
    ("userbuffers_rmsnorm", "communication"),
    # Inductor names provenance.
    ("triton_poi_fused_marlin_gemm_mul_silu_slice_1", "activation"),
    ("triton_poi_fused_addmm_gelu_5", "activation"),
    ("triton_red_fused_add_cutlass_scaled_mm_mean_mul_pow_rsqrt_2", "norm"),
    ("triton_tem_fused_mm_2", "gemm"),
    ("triton_tem_fused_0", "other"),
    ("triton_", "other"),
    # Convolutions that speak of GEMM.
    ("sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize64x64x64_kernel__5x_cudnn", "ssm_conv"),
    ("explicit_convolve_sgemm", "ssm_conv"),
    ("cudnn_infer_volta_scudnn_128x32_relu_interior_nn_v1", "ssm_conv"),
    ("turing_fp16_s1688cudnn_fp16_128x128_ldg8_relu_f2f_exp_small_nhwc_tn_v1", "ssm_conv"),
    ("void cutlass__5x_cudnn::Kernel<cutlass_tensorop_f16_s16816fprop_optimized_f16_128x64_32x4_nhwc_align8>(P)", "ssm_conv"),
    ("volta_gcgemm_32x64_nt", "gemm"),
    # What lives inside elementwise vehicles.
    ("void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::(anonymous namespace)::GroupNormKernelImplInternal<float>(at::Tensor)>>(P)", "norm"),
    ("void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::masked_fill_kernel(at::TensorIterator&)>(P)", "elementwise"),
    ("void at::native::vectorized_elementwise_kernel<4, at::native::neg_kernel_cuda(at::TensorIteratorBase&)>(P)", "elementwise"),
    ("attention_softmax_kernel1", "softmax_sampling"),
    ("soft_max_f32", "softmax_sampling"),
    ("matmul_backward_bias_kernel4", "reduction"),
    ("attention_query_key_kernel1", "attention"),
    # Parts of words.
    ("ConcatMLAKKernel", "copy"),
    ("_gemma_qkv_rmsnorm_kernel", "norm"),
    ("void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4, DistributionNormal>(P)", "elementwise"),
    ("AirTopPRenormInitKernel", "softmax_sampling"),
    ("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", "communication"),
    ("selective_scan_fwd_kernel", "ssm_conv"),
    ("void cub::DeviceReduceKernel<cub::Policy<cub::CacheLoadModifier> >(P)", "reduction"),
    ("void my_copy_kernel(AttentionParams, FlashMhaArguments)", "copy"),
    ("void flashinfer::norm::RMSNormKernel<8u, __half>(P)", "norm"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "family"), FAMILY_TRAPS)
def test_a_misleading_name_finds_its_family(name: str, family: str) -> None:
    """The kernel's own words decide, in an order that knows who borrows from whom."""
    assert parse_kernel_name(name).family == family


@pytest.mark.parametrize(
    ("name", "dtypes"),
    [
        # cuDNN prints f16 for bf16 as well.
        ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1", ()),
        # The cache type of vLLM says what its bytes are.
        ("void vllm::reshape_and_cache_flash_kernel<__half, unsigned char, (vllm::Fp8KVCacheDataType)1>(P)", ("fp16", "fp8_e4m3")),
        ("void vllm::reshape_and_cache_flash_kernel<__half, uint8_t, (vllm::Fp8KVCacheDataType)2>(P)", ("fp16", "fp8_e5m2")),
        # Bits of fp16 or bf16, and pointers to scales.
        ("void vllm::reshape_and_cache_flash_kernel<unsigned short, unsigned short, (vllm::Fp8KVCacheDataType)0>(const T1 *, T2 *, const float *)", ()),
        # A byte count and a cast are not types.
        ("void at::native::(anonymous namespace)::CatArrayBatchedCopy<OpaqueType<(unsigned int)2>, unsigned int, 3>(P)", ()),
        ("void flashinfer::trtllm::kern_allreduce<(unsigned char)2, __nv_bfloat16>(P)", ("bf16",)),
        # The functor decides, not the argument of the lambda around it.
        ("void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<c10::Half> >(at::TensorIteratorBase&)::{lambda(int)#1}>(int)", ("fp16",)),
        # A pointer that accumulates in fp32 does not hide the operands.
        ("void gemmk1_kernel<float, 256, 5, false, false, false, false, cublasGemvTensorStridedBatched<__half const> >(P)", ("fp16",)),
        ("gemm(float *, float *, float *, int, int, int)", ("fp32",)),
        ("kernel(int const*, int*)", ()),
    ],
)  # fmt: skip
def test_data_types_are_those_of_the_operands(name: str, dtypes: tuple[str, ...]) -> None:
    """Counts, casts, accumulators and ambiguous spellings are not taken for operand types."""
    assert parse_kernel_name(name).dtypes == dtypes


def test_the_architecture_is_that_of_the_build() -> None:
    """CUB's tuning policies are no architecture, a kernel's own suffix is."""
    tuned = "void cub::DeviceReduceKernel<cub::DeviceReducePolicy<float>::Policy900>(float*)"
    assert parse_kernel_name(tuned).arch == ""
    assert parse_kernel_name("fmha_cutlassF_bf16_aligned_64x128_rf_sm80").arch == "sm80"


def test_an_ambiguous_name_says_what_is_missing() -> None:
    """A kernel that several families could claim names them, or says what would settle it."""
    assert (
        "embedding"
        in parse_kernel_name(
            "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<int>>(P)"
        ).also
    )
    assert parse_kernel_name("_fwd_kernel").note
    assert parse_kernel_name("triton_poi_fused_0").note
