"""Grammars of step labels as data: one module per engine, each a table of forms.

To add an engine, write a module with a ``GRAMMAR`` and list it here: engines before the words that
people write by hand. Where forms come from, and what their numbers mean, stands in docs/steps.md.
"""

from __future__ import annotations

from nsightlens.steps.grammars import (
    atom,
    batching_gap,
    by_hand,
    lmdeploy,
    megatron,
    mlc,
    sglang,
    tensorrt_llm,
    vllm,
)

__all__ = ["GRAMMARS"]

GRAMMARS = (
    vllm.GRAMMAR,
    sglang.GRAMMAR,
    tensorrt_llm.GRAMMAR,
    atom.GRAMMAR,
    mlc.GRAMMAR,
    megatron.GRAMMAR,
    lmdeploy.GRAMMAR,
    batching_gap.GRAMMAR,
    by_hand.GRAMMAR,
)
"""In the order in which they are asked; the first that knows a label counts."""
