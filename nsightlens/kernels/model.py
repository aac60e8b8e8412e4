"""What a kernel name can say: the result of parsing, and the words it uses.

Right of nothing; `engine` fills these fields, `columns` spreads them over Arrow columns.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FAMILIES", "PHASES", "USER_RULE", "KernelName"]

FAMILIES: tuple[str, ...] = (
    "attention",
    "gemm",
    "moe_routing",
    "norm",
    "rope",
    "activation",
    "kv_cache",
    "quantise",
    "softmax_sampling",
    "sort_topk",
    "embedding",
    "ssm_conv",
    "elementwise",
    "reduction",
    "copy",
    "communication",
    "other",
)
"""Families in the order in which they are shown: what a decode step spends most time in first."""

PHASES: tuple[str, ...] = ("decode", "prefill", "mixed", "train_bwd", "unknown", "n/a")
"""Phases that the name of an attention kernel can settle; ``n/a`` for every other family."""

USER_RULE = "user."
"""What the identifiers of a user's rules begin with in results."""


class KernelName(NamedTuple):
    """What one kernel name says.

    An empty text or tuple means that this name does not say it.

    Parameters
    ----------
    name
        The name, as it was given.
    short_name
        What a person would say, at most 40 characters.
    family
        What the kernel computes, one of `FAMILIES`.
    subtype
        Finer class within the family, such as ``splitkv_combine`` or ``quantised_gemv``.
    phase
        One of `PHASES`: for attention where the name decides it, else ``unknown``; ``n/a`` for
        other families.
    dtypes
        Main operand types, such as ``("bf16",)``; for a GEMM those of A and B.
    library
        Library the kernel comes from, such as ``cublaslt`` or ``flashinfer``.
    arch
        Architecture the kernel was built for, such as ``sm90``: not the one it ran on.
    tile
        Tile of a thread block, ``MxN`` or ``MxNxK``; for attention queries x keys.
    head_dim
        Head size of an attention kernel; ``576/512`` where keys and values differ.
    also
        Further families of a fused or ambiguous kernel.
    rule
        Identifier of the rule that decided; empty where none did. Those of a user's rules begin
        with ``user.``.
    note
        What is missing or uncertain, as one clause; never empty where the family is ``other``.
    """

    name: str
    short_name: str
    family: str
    subtype: str = ""
    phase: str = "n/a"
    dtypes: tuple[str, ...] = ()
    library: str = ""
    arch: str = ""
    tile: str = ""
    head_dim: str = ""
    also: tuple[str, ...] = ()
    rule: str = ""
    note: str = ""
