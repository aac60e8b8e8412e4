"""The light reading of mangled names."""

from __future__ import annotations

import pytest

from nsightlens.kernels import parse_kernel_name
from nsightlens.kernels.demangle import demangled


@pytest.mark.parametrize(
    ("mangled", "expected"),
    [
        ("_Z4gemmILi128ELb0EEvPfS0_i", "gemm<128, 0>(void, float, int"),
        ("_ZN4vllm15rms_norm_kernelIN3c108BFloat16ELi8EEEvPT_", "vllm::rms_norm_kernel<c10::BFloat16, 8>(void"),
        ("_Z13vector_add_64PKdS0_mPd", "vector_add_64(double, unsigned long, double"),
        ("_ZN12_GLOBAL__N_13fooEv", "foo(void"),
        ("_Z9mul_mat_qIL9ggml_type8ELi16EEvPKc", "mul_mat_q<ggml_type=8, 16>(void, char"),
        ("_Z3runIN2ns4ModeEEvv", "run<ns::Mode>(void, void"),
        ("_Z3runILN2ns4ModeE2EEvv", "run<ns::Mode=2>(void, void"),
        ("_Z3runILin1EEvv", "run<-1>(void, void"),
    ],
)  # fmt: skip
def test_a_mangled_name_reads_as_it_would_print(mangled: str, expected: str) -> None:
    """Identifiers, literals and plain types come out in order; repeated types are left out."""
    assert demangled(mangled) == expected


def test_a_lambda_shows_its_argument() -> None:
    """The type that an elementwise functor works on stands in its lambda."""
    text = demangled(
        "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_11silu_kernelERNS_18TensorIterator"
        "BaseEENKUlvE_clEvENKUlvE0_clEvEUlfE_St5arrayIPcLm2EEEEviT0_T1_"
    )
    assert text.startswith("at::native::vectorized_elementwise_kernel<4, silu_kernel")
    assert "lambda(float)" in text


def test_a_name_cut_anywhere_is_still_read() -> None:
    """Reports cut mangled names, so every prefix must give what it holds and never fail."""
    whole = "_ZN5flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsILi128ELi64EEEEvNS_6ParamsE"
    for length in range(2, len(whole)):
        assert isinstance(demangled(whole[:length]), str)
    assert demangled(whole[:40]).startswith("flash::flash_fwd_kernel")


def test_a_length_of_thousands_of_digits_is_that_of_a_name_that_is_cut() -> None:
    """No name is as long; Python makes no number of so many digits, and sizes hold no more."""
    assert demangled("_Z" + "1" * 4400 + "gemm") == "gemm"
    assert demangled("_Z99999gemm") == "gemm"
    sizes = f"16, 1, 1, {'9' * 4299}, 8, 4, 1"
    wide = f"void flashinfer::BatchPrefillWithPagedKVCacheKernel<KernelTraits<(MaskMode)1, {sizes}>>(T1)"
    assert parse_kernel_name(wide).head_dim == ""
