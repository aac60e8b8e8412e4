"""The three classes of the memory-gap study: attention, matmul and other."""

from __future__ import annotations

import pyarrow as pa

from nsightlens.arrays import number_array
from nsightlens.devices.columns import text_column

__all__ = ["COMPONENTS", "MERGING", "component_column", "component_of", "is_merging"]

COMPONENTS = ("attention", "matmul", "other")
"""In the order in which they are shown."""

MERGING = {"attention": ("splitkv_combine",), "gemm": ("splitk_reduce", "dot_reduce", "epilogue")}
"""Subtypes that finish what another launch of the family has begun: no operation of their own."""


def component_of(family: str | None) -> str:
    """Return the class of a family.

    Examples
    --------
    >>> component_of("gemm"), component_of("norm")
    ('matmul', 'other')
    """
    return {"attention": "attention", "gemm": "matmul"}.get(family or "", "other")


def component_column(families: pa.Array) -> pa.Array:
    """Return the class of each family of a column of text."""
    code, texts = text_column({"family": families}, "family")
    return pa.array([component_of(text) for text in texts], pa.string()).take(number_array(code))


def is_merging(family: str | None, subtype: str | None) -> bool:
    """Say whether a launch only finishes what another has begun."""
    return subtype in MERGING.get(family or "", ())
