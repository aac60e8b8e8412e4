"""Kernel names as two builds share them."""

from __future__ import annotations

import pytest

from nsightlens.comparison.names import normal_name


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("void f<(int)4>(float *)", "void f<4>(float*)"),
        ("void f<(bool)1, (bool)0>()", "void f<true,false>()"),
        ("void a::b<c<int> >()", "void a::b<c<int>>()"),
        ("julia_axpy_1234", "julia_axpy_9"),
        ("<unnamed>::k()", "(anonymous namespace)::k()"),
    ],
)
def test_what_differs_from_build_to_build_is_the_same_name(one: str, other: str) -> None:
    """Spelling of the demangler, counters of a compiler."""
    assert normal_name(one) == normal_name(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("void f<4>(float*)", "void f<8>(float*)"),
        ("gemm_64x8", "gemm_64x16"),
        ("unsigned int f()", "unsignedint f()"),
        ("kernel_1", "kernel_2"),
        ("julia_axpy_1", "julia_scal_1"),
    ],
)
def test_what_differs_in_what_it_does_is_another_name(one: str, other: str) -> None:
    """A tile, a template argument, a number that somebody wrote."""
    assert normal_name(one) != normal_name(other)
