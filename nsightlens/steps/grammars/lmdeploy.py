"""Step labels of LMDeploy's PyTorch engine: exact words without numbers."""

from __future__ import annotations

from nsightlens.steps.form import Form, Grammar

__all__ = ["GRAMMAR"]

GRAMMAR = Grammar(
    "LMDeploy",
    (
        Form("forward_cudagraph", "decode"),
        Form("forward_eager|forward_piecewise_cudagraph", "unknown"),
        Form("draft_model_forward", "draft"),
        Form("capture_cudagraph", "capture"),
    ),
)
