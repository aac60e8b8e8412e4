"""The grammars: lists of rules, one module per library, in order of precedence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.kernels.grammars import vocabulary

if TYPE_CHECKING:
    from nsightlens.kernels.rule import Rule

__all__ = ["ALL_RULES"]

ALL_RULES: tuple[Rule, ...] = (*vocabulary.RULES,)
