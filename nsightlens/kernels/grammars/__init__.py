"""The grammars: lists of rules, one module per library, in order of precedence.

Compilers first, because they name what a kernel came from; communication next, because a fused
collective names the work inside it; then the libraries with a naming scheme of their own; ordinary
vocabulary last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.kernels.grammars import (
    aten,
    communication,
    compilers,
    cublas,
    cudnn,
    cutlass,
    flash_attention,
    flashinfer,
    quantised,
    triton,
    trtllm,
    words_bookkeeping,
    words_model,
    words_ordinary,
    words_products,
)

if TYPE_CHECKING:
    from nsightlens.kernels.rule import Rule

__all__ = ["ALL_RULES"]

ALL_RULES: tuple[Rule, ...] = (
    *compilers.RULES,
    *communication.RULES,
    *cudnn.RULES,
    *cublas.RULES,
    *cutlass.RULES,
    *flash_attention.RULES,
    *flashinfer.RULES,
    *trtllm.RULES,
    *quantised.RULES,
    *triton.RULES,
    *aten.RULES,
    *words_bookkeeping.RULES,
    *words_model.RULES,
    *words_products.RULES,
    *words_ordinary.RULES,
)
