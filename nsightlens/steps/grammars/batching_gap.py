"""Step labels of the memory-gap study of large-batch inference.

Its vLLM fork marks each step with a start/end range ``PrefillStep{i}`` or ``DecodeStep{i}``: a
phase and an index from 0, no batch size.
"""

from __future__ import annotations

from nsightlens.steps.form import NUMBER as N
from nsightlens.steps.form import Form, Grammar

__all__ = ["GRAMMAR"]

GRAMMAR = Grammar(
    "vLLMBatchingMemoryGap",
    (
        Form(rf"PrefillStep(?P<i>{N})", "prefill", step="i"),
        Form(rf"DecodeStep(?P<i>{N})", "decode", step="i"),
    ),
)
