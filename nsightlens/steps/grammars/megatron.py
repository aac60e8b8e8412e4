"""Step labels of Megatron-Core's dynamic inference: words without numbers."""

from __future__ import annotations

from nsightlens.steps.form import NUMBER as N
from nsightlens.steps.form import Form, Grammar

__all__ = ["GRAMMAR"]

GRAMMAR = Grammar(
    "Megatron-Core",
    (
        # A step with any prefill request is called Prefill.
        Form("Prefill", "prefill"),
        Form("Decode", "decode"),
        Form("AsyncOverlap|AsyncNoOverlap", "unknown"),
        # Forward passes that keep ranks in step, and those of the draft heads.
        Form(rf"EP-dummy-forward|mtp-spec-decoding/dummy-depth-{N}", "dummy"),
        Form(rf"mtp-spec-decoding/depth-{N}", "draft"),
    ),
)
