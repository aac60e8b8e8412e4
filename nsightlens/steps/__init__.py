"""Steps: phase and batch size of a launch, from its NVTX ranges.

- `nsightlens.steps.annotation`: NVTX paths become columns.
- `nsightlens.steps.model`: what an annotation can say; what a grammar is.
- `nsightlens.steps.nsightlens_v1`, `nsightlens.steps.batching_gap`: one grammar each.
"""

from __future__ import annotations

from nsightlens.steps.annotation import annotate_paths, read_path
from nsightlens.steps.model import StepAnnotation

__all__ = ["StepAnnotation", "annotate_paths", "read_path"]
