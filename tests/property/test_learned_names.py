"""What was learned from earlier names is what the plain way would find, for any name."""

# ruff: noqa: E501 - names of kernels are long
from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsightlens.kernels import user_rules_of
from nsightlens.kernels.engine import FAMILY_TEXT, kernel_of
from nsightlens.kernels.fields import TYPE_TEXT
from nsightlens.kernels.learned import NameReader
from nsightlens.kernels.rulebook import built_in_rulebook
from nsightlens.kernels.spelling import spelled

if TYPE_CHECKING:
    from nsightlens.kernels.rulebook import Rulebook

# Names as libraries and tools spell them; the numbers are drawn anew.
NAMES = (
    "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_TNT",
    "nvjet_ootst_128x64_128x6_2x1_v_bz_Avec16UE4M3_Bvec16UE4M3_TNT",
    "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn",
    "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x64_stage3_warpsize2x2x1_execute_kernel__5x_cublas",
    "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_align8>(T1::Params)",
    "void cutlass::Kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GemmShape<128, 64, 32>, float_e4m3_t>>(T1)",
    "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<(int)128, (int)64, (int)128, (int)4, (bool)0, cutlass::bfloat16_t>, (bool)1>(flash::Flash_fwd_params)",
    "_ZN5flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsILi128ELi64ELi64ELi4ELb0ELb0EN7cutlass10bfloat16_tEELb0ELb1EEEvNS_16Flash_fwd_paramsE",
    "fmhaSm100fKernel_QkvE4m3OBfloat16HQk576HV512HVPerCta256PagedKvDenseP64MultiCtasKvVarSeqQ16Kv128StaticSwapsAbForGen",
    "fmha_v2_flash_attention_bf16_64_128_S_q_paged_kv_128_causal_sm90_kernel_nl",
    "bmm_Bfloat16_E2m1E2m1_Fp32_t128x8x512u2_s7_et128x8_m128x8x64_cga1x1x1_16dp256b_rM_TN_transOut_schedS_biasM_bN_dynBatch_sm100f",
    "void vllm::paged_attention_v2_kernel<__half, unsigned char, 128, 16, 128, (vllm::Fp8KVCacheDataType)1, false, 512>(float*)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::silu_kernel(at::TensorIteratorBase&)::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int)",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned int, float, 4, 4> >(at::native::ReduceOp<float>)",
    "void mul_mat_vec_q<(ggml_type)12, 1, false, false>(void const*, void const*, int const*)",
    "mul_mat_q4_0_8bit_sm_80",
    "void flash_attn_ext_vec<128, 2, (ggml_type)1, (ggml_type)8, false>(char const*)",
    "void BatchPrefillWithPagedKVCacheKernel<KernelTraits<(MaskMode)1, 16u, 1u, 2u, 8u, 8u, 1u, 4u, (PosEncodingMode)0, __nv_bfloat16, __nv_bfloat16>>(Params)",
    "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_3",
    "triton_poi_fused_silu_0d1d2de3de",
    "kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_object_at__tensorptrbf16gmemalign16o1281_tensorptrf16gmemalign8",
    "void marlin::Marlin<1125899906909960l, 1125899906843648l, 256, 4, 16, 4, true, 4, 8, false>(int4 const*)",
    "void deep_gemm::fp8_gemm_kernel<(unsigned int)4096, 7168, 128, 128, 128, 1, 4, (deep_gemm::GemmType)0>(float*)",
    "Memcpy HtoD (Pageable -> Device) 12",
    "fused_add_mul_1234567890123456789",
    "void cub::CUB_200101_900_NS::DeviceRadixSortOnesweepKernel<cub::Policy900, 8, 16>(int)",
)  # fmt: skip
PIECES = st.sampled_from(
    [
        "void ", "a::", "device_kernel", "Kernel2", "<", ">", "(", ")", "(int)", "64u", ", ", "::", "gemm",
        "attention", "float", "bfloat16_t", "q4_", "_0", "8bit", "sm", "_sm_", "Sm90", "conv1d", "x", "7", "16",
        "(anonymous namespace)::", "_ZN", "5flash", "Li128E", "I", "E", "Fp8KVCacheDataType)", "e4m3", "_",
        "vectorized_elementwise_kernel<4, ", "kernel_cutlass_kernel_", "_object_at_", "tensorptrbf16gmem", "…",
    ]
)  # fmt: skip
TEXTS = st.one_of(st.sampled_from(NAMES), st.lists(PIECES, max_size=16).map("".join))
NUMBERS = (
    "0",
    "1",
    "2",
    "3",
    "4",
    "8",
    "16",
    "032",
    "64",
    "80",
    "90",
    "100",
    "128",
    "576",
    "16816",
    "1125899906842624",
)

RULES = user_rules_of([
    {"id": "by_number", "name": r".*(?:gemm|16).*[13579]\w?", "family": "copy", "short": "{subject}"},
    {"id": "by_words", "words": "bfloat16|q4|sm90|attention", "shape": r".*?(?P<tile_m>\d+)x(?P<tile_n>\d+)?", "family": "norm"},
])  # fmt: skip


def _other_numbers(name: str, random: Random) -> str:
    """Return the name with other numbers; of a mangled one only in literals, so that it is one."""
    where = r"(?<=L[a-z])\d+(?=E)" if name.startswith("_Z") else r"\d+"
    return re.sub(where, lambda old: random.choice((old[0], *NUMBERS)), name)


def _hold_equal(book: Rulebook, name: str, random: Random) -> None:
    reader = NameReader(book)
    for _ in range(8):
        one = _other_numbers(name, random)
        assert reader.read_new(one) == kernel_of(one, spelled(one), book)


@given(TEXTS, st.randoms(use_true_random=False))
def test_names_that_differ_in_numbers_are_read_as_if_nothing_were_learned(
    name: str, random: Random
) -> None:
    """In every field, whatever numbers stand where."""
    _hold_equal(built_in_rulebook(), name, random)


@given(TEXTS, st.randoms(use_true_random=False))
def test_so_they_are_by_rules_of_a_user(name: str, random: Random) -> None:
    """Also where those look at digits of the whole name."""
    _hold_equal(RULES.reader.book, name, random)


@given(st.integers(600, 1700), st.randoms(use_true_random=False))
def test_so_they_are_where_long_names_are_cut(length: int, random: Random) -> None:
    """Only the beginning of template arguments is looked at, and numbers move where that ends."""
    filler = "cute::C<128>, cutlass::layout_64, "
    padding = (filler * (length // len(filler) + 1))[:length]
    tail = "cutlass::bfloat16_t, sm90::Gemm_16x8>(T1)"
    name = f"void cutlass::device_kernel<{padding}{tail}"
    _hold_equal(built_in_rulebook(), name, random)


@pytest.mark.parametrize(
    ("end", "kernel", "last"), [(TYPE_TEXT, "my_gemm", "__half"), (FAMILY_TEXT, "kernel", "Gemm")]
)
def test_so_they_are_where_what_decides_stands_at_the_place_of_a_cut(
    end: int, kernel: str, last: str
) -> None:
    """The length of the numbers before it says on which side of the cut it stands."""
    for length in range(int(0.8 * end), end + 10, 10):
        padding = ("Shape<128, 64>, " * end)[:length]
        _hold_equal(built_in_rulebook(), f"void {kernel}<{padding}, {last}>(T1)", Random(length))


def test_so_they_are_where_what_stands_for_a_type_moves_the_place_of_the_cut() -> None:
    """The type of vLLM's cache is put in place of bytes, whose spelling has another length."""
    for length in range(250, 450, 5):
        reader, random = NameReader(built_in_rulebook()), Random(length)
        padding = ("uint8_t, 128, " * length)[:length]
        for _ in range(8):
            sizes = re.sub(r"\b\d+", lambda _: random.choice(("7", "777777777")), padding)  # noqa: B023
            name = f"void a::my_gemm<(vllm::Fp8KVCacheDataType)1, {sizes}, __half>(T1)"
            assert reader.read_new(name) == kernel_of(name, spelled(name), reader.book)
