"""One spelling out of many."""

from __future__ import annotations

import pytest

from nsightlens.kernels import parse_kernel_name
from nsightlens.kernels.spelling import plain_numbers, spelled

SAME_KERNEL = [
    # nsys and ncu_report, torch profiler, ncu --csv, mangled
    ("void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<(int)128, (int)64, (int)128, (int)4, "
    "(bool)0, (bool)0, cutlass::half_t, Flash_kernel_traits<(int)128>>, (bool)1>(flash::Flash_fwd_params)"),
    ("void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, "
    "cutlass::half_t, Flash_kernel_traits<128> >, true>(flash::Flash_fwd_params)"),
    ("void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, 0, 0, half_t, "
    "Flash_kernel_traits<128>>, 1>(Flash_fwd_params)"),
    ("_ZN5flash24flash_fwd_splitkv_kernelI23Flash_fwd_kernel_traitsILi128ELi64ELi128ELi4ELb0ELb0EN7cutlass"
    "6half_tE19Flash_kernel_traitsILi128EEELb1EEEvNS_16Flash_fwd_paramsE"),
]  # fmt: skip


def test_every_spelling_of_a_kernel_says_the_same() -> None:
    """Casts, closing brackets, stripped namespaces and mangling do not change the answer."""
    said = {
        (k.short_name, k.family, k.subtype, k.dtypes, k.tile, k.head_dim)
        for k in map(parse_kernel_name, SAME_KERNEL)
    }
    assert said == {
        ("flash_fwd_splitkv_kernel<128, fp16>", "attention", "flash_splitkv", ("fp16",), "64x128", "128")
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "identifier", "namespaces"),
    [
        ("void a::b::kern<(int)4>(float *)", "kern", ("a", "b")),
        ("void (anonymous namespace)::kern<4>(float*)", "kern", ()),
        ("<unnamed>::kern(float)", "kern", ()),
        ("unnamed>::kern(const float *)", "kern", ()),
        ("void at::native::<unnamed>::kern<float>(int)", "kern", ("at", "native")),
        ("std::enable_if<!(false), void>::type internal::gemvx::kernel<int>(P)", "kernel", ("internal", "gemvx")),
        ("enable_if<!T7, void>::type kernel<int, 0>(T13)", "kernel", ()),
        ("copy_blocked[v1,cw51BnXagIA](Array<long long, 1, C>, long long)", "copy_blocked", ()),
        ("copy_blocked[v1,cw51BnXagIA]", "copy_blocked", ()),
        ("ns::join[abi:cxx11](char*)", "join", ("ns",)),
        ("_fwd_kernel_0d1d2d34d5d6de7de", "_fwd_kernel", ()),
        ("triton_red_fused_add_0", "triton_red_fused_add_0", ()),
        ("Memcpy DtoD (Device -> Device)", "Memcpy", ("cuda",)),
        ("[CUDA memset]", "memset]", ("cuda",)),
        ("kernel_cutlass_kernel_flashinfernormkernelsRMSNormKernel_object_at__tensor", "RMSNormKernel",
         ("cutedsl", "flashinfernormkernels")),
    ],
)  # fmt: skip
def test_the_kernels_own_identifier_is_found(
    name: str, identifier: str, namespaces: tuple[str, ...]
) -> None:
    """Return types, anonymous namespaces and the noise of tools are left behind."""
    spelling = spelled(name)
    assert (spelling.identifier, spelling.namespaces) == (identifier, namespaces)


def test_numbers_lose_casts_and_suffixes_and_enumerations_keep_their_name() -> None:
    """What a number means is kept, how a tool prints it is not."""
    text = "(int)128, 64u, 4096ul, (bool)0, (deep_gemm::GemmType)1, (unsigned char)2"
    assert plain_numbers(text) == "128, 64, 4096, 0, deep_gemm::GemmType=1, 2"


def test_white_space_does_not_matter() -> None:
    """A name broken over lines is the same name."""
    assert spelled("  void  f::gemm<1,\n 2>(float*)\t") == spelled("void f::gemm<1, 2>(float*)")
