"""Steps: phase and batch size of a launch, from its NVTX ranges.

- `nsightlens.steps.annotation`: NVTX paths become columns.
- `nsightlens.steps.label`: one range's text, read by every grammar.
- `nsightlens.steps.grammars`: the grammars as tables of forms, one module per engine.
- `nsightlens.steps.form`: the engine that reads them.
- `nsightlens.steps.nsightlens_v1`: the grammar of our own annotations.
- `nsightlens.steps.rules`: what a user says of the steps.
- `nsightlens.steps.notes`: what a person must know of them.
"""

from __future__ import annotations

from nsightlens.steps.annotation import annotate_launches, annotate_paths, read_path
from nsightlens.steps.label import read_label
from nsightlens.steps.model import StepAnnotation, StepLabel
from nsightlens.steps.notes import StepCounts, notes_of, step_counts, step_notes
from nsightlens.steps.rules import NO_STEP_RULES, StepRules

__all__ = [
    "NO_STEP_RULES",
    "StepAnnotation",
    "StepCounts",
    "StepLabel",
    "StepRules",
    "annotate_launches",
    "annotate_paths",
    "notes_of",
    "read_label",
    "read_path",
    "step_counts",
    "step_notes",
]
