"""The name as a person would say it."""

from __future__ import annotations

import pytest

from nsightlens.kernels import parse_kernel_name


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT", "nvjet 128x256 tst TNT"),
        ("nvjet_tst_64x64_64x13_2x1_v_bz_splitK_TNT", "nvjet 64x64 tst TNT splitK"),
        ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x3_tn", "ampere fp16 s16816gemm 128x64x64 tn"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_32x6_tn_align8>(P)",
         "cutlass s16816gemm bf16 128x64x32 tn"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int)",
         "elementwise add (bf16, vec4)"),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float> > >(P)",
         "reduce mean (fp32)"),
        ("void flashinfer::activation::act_and_mul_kernel<__half, &silu<float>>(T1 *)", "act_and_mul_kernel<silu, fp16>"),
        (("void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1>>, "
         "cute::tuple<cute::C<128>, cute::C<128>, cute::C<64> >, 64, cutlass::half_t> > > >(P)"), "FlashAttnFwdSm90<64, fp16>"),
        ("fmhaSm100fKernel_QkvBfloat16OBfloat16H64PagedKvCausalP64VarSeqQ128Kv128PersistentContext", "fmhaSm100 bf16 H64 128x128 prefill"),
        ("triton_red_fused__to_copy_add_addmm_mean_mul_pow_rsqrt_view_12", "triton_red_fused__to_copy_…rsqrt_view_12"),
        ("void my_tiled<(int)64, (int)8, (bool)1, float>(float *)", "my_tiled<64, 8, 1, fp32>"),
        ("Memcpy DtoD (Device -> Device)", "Memcpy DtoD"),
        ("step_kernel", "step_kernel"),
    ],
)  # fmt: skip
def test_a_long_name_becomes_a_short_one(name: str, short: str) -> None:
    """Tile, types, head size and functor stay; the rest of a C++ name goes."""
    assert parse_kernel_name(name).short_name == short


def test_kernels_that_differ_in_what_matters_differ_in_their_short_name() -> None:
    """The merge of a split-KV kernel, another head size or another tile is another kernel."""
    traits = "Flash_fwd_kernel_traits<{}, 64, 128, 4, false, false, cutlass::half_t>"
    names = [
        f"void flash::flash_fwd_splitkv_kernel<{traits.format(128)}>(P)",
        f"void flash::flash_fwd_splitkv_kernel<{traits.format(64)}>(P)",
        f"void flash::flash_fwd_splitkv_combine_kernel<{traits.format(128)}>(P)",
        "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT",
        "nvjet_tst_128x192_64x4_2x1_v_bz_coopA_TNT",
        "void tile<64, 8>(float*)",
        "void tile<32, 8>(float*)",
        "triton_poi_fused_add_mul_sub_div_clamp_where_exp_log_sin_cos_1",
        "triton_poi_fused_add_mul_sub_div_clamp_where_exp_log_sin_cos_2",
    ]
    assert len({parse_kernel_name(name).short_name for name in names}) == len(names)
