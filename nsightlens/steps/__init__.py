"""Steps: phase and batch size of a launch, from its NVTX ranges.

- `nsightlens.steps.annotation`: NVTX paths become columns.
- `nsightlens.steps.model`: what an annotation can say; what a grammar is.
- `nsightlens.steps.nsightlens_v1`, `nsightlens.steps.batching_gap`: one grammar each.
"""

from __future__ import annotations

from nsightlens.steps.annotation import annotate_launches, annotate_paths, read_path
from nsightlens.steps.model import StepAnnotation
from nsightlens.steps.rules import NO_STEP_RULES, StepRules

__all__ = [
    "NO_STEP_RULES",
    "StepAnnotation",
    "StepRules",
    "annotate_launches",
    "annotate_paths",
    "read_path",
]
