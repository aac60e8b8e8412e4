"""What holds for every name whatsoever."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsightlens.kernels import FAMILIES, parse_kernel_name
from nsightlens.kernels.model import PHASES

PIECES = st.sampled_from(
    [
        "void ", "flash::", "cutlass::device_kernel", "<", ">", "(", ")", "(int)", "128", "64u", ", ",
        "::", "at::native::", "elementwise_kernel", "gemm", "attention", "_fwd", "__half", "float",
        "(anonymous namespace)::", "<unnamed>::", "_ZN", "5flash", "Li128E", "I", "E", "N", "Z", "…",
        "kernel_cutlass_kernel_", "_object_at_", "nvjet_tst_", "triton_poi_fused_", "Memcpy ", "[CUDA mem",
        "bmm_", "fmhaSm100", "KernelTraits<", "ggml_type", "=", "{lambda(int)#1}", "S_", "\n", "L",
    ]
)  # fmt: skip
NAMES = st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=25).map("".join))


@given(NAMES)
def test_parsing_never_fails_and_is_deterministic(name: str) -> None:
    """Any text gives a known family, a known phase and a short name that fits."""
    kernel = parse_kernel_name(name)
    assert kernel == parse_kernel_name(name)
    assert kernel.name == name
    assert kernel.family in FAMILIES
    assert kernel.phase in PHASES
    assert (kernel.phase == "n/a") == (kernel.family != "attention")
    assert len(kernel.short_name) <= 40


@given(st.lists(PIECES.filter(lambda piece: piece != "\n"), max_size=25).map("".join))
def test_more_white_space_changes_nothing(name: str) -> None:
    """A space doubled, a line broken and a name padded say what the name says."""
    loose = "  " + name.replace(" ", " \n ") + "\t"
    tight, wide = parse_kernel_name(name.strip()), parse_kernel_name(loose)
    assert (tight.family, tight.subtype, tight.dtypes, tight.short_name) == (
        wide.family, wide.subtype, wide.dtypes, wide.short_name,
    )  # fmt: skip


@given(st.integers(1, 400))
def test_a_cut_name_is_still_read(length: int) -> None:
    """Tables of other tools cut names at any place."""
    name = (
        "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<(int)128, (int)64, (int)128, "
        "(int)4, (bool)0, (bool)0, cutlass::bfloat16_t>, (bool)0, (bool)1>(flash::Flash_fwd_params)"
    )
    kernel = parse_kernel_name(name[:length])
    if length >= re.escape(name).index("<"):
        assert kernel.family == "attention"


def test_a_very_long_name_is_read_in_bounded_time() -> None:
    """CUTLASS names run to tens of kilobytes; only their beginning counts."""
    name = "void cutlass::Kernel<cutlass::gemm::kernel::Gemm<" + "cute::tuple<int, " * 200_000
    assert parse_kernel_name(name).family == "gemm"


@pytest.mark.parametrize(
    "name", ["_Z", "_Z9", "_ZN", "_ZNI", "_Z99999x", "<", "::", "(", "void ", "…"]
)
def test_a_fragment_is_other(name: str) -> None:
    """A fragment without a word is not guessed at."""
    assert parse_kernel_name(name).family == "other"
