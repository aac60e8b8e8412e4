"""What a step label says of a step, and what the ranges around a launch say of it.

`StepLabel` is one NVTX range read alone; `StepAnnotation` is the sum of all ranges that were open
when a launch was made.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "DEFAULT_DOMAIN",
    "LARGEST",
    "LAUNCH_PHASES",
    "NOT_A_STEP",
    "NOT_SERVED",
    "OWN_ENGINE",
    "SCRIPT",
    "STEP_PHASES",
    "StepAnnotation",
    "StepLabel",
]

DEFAULT_DOMAIN = ""
"""Domain of ranges that were made without one, as `nsightlens.steps` names it."""

LARGEST = 10**18 - 1
"""Largest number that is taken from a label: any integer column can hold it."""

OWN_ENGINE = "nsightlens"
"""What `StepLabel.engine` is for the ranges of `nsightlens.annotate`."""

SCRIPT = "script"
"""What `StepLabel.engine` is for labels that people write by hand in their own scripts."""

LAUNCH_PHASES = ("prefill", "decode", "mixed", "capture")
"""Phases that a launch can have."""

NOT_SERVED = ("dummy", "draft", "idle")
"""Phases of passes that engines name and that serve nobody: they never count as steps."""

STEP_PHASES = (*LAUNCH_PHASES, "unknown", *NOT_SERVED)
"""All that `StepLabel.phase` can be, besides None."""


class StepLabel(NamedTuple):
    """What the text of one range says; ``None`` where the text does not say it.

    Parameters
    ----------
    is_step
        Whether it is one forward pass of the target model, or the capture of one into a graph.
    phase
        ``prefill``, ``decode``, ``mixed``, ``capture`` or ``unknown`` (the text bounds a step and
        does not say which) for a step; ``dummy``, ``draft`` or ``idle`` for passes that serve no
        request; a plain phase for a range that is no single step.
    batch_size
        Requests in the step, real ones, without padding.
    query_tokens
        [token] Tokens that run through the model, of all requests.
    kv_tokens
        [token] Keys and values that are attended to, summed over the requests, new ones included.
    step_index
        Number of the step as the text gives it; engines count from different starts.
    engine
        Whose words these are, such as ``vLLM``.
    """

    is_step: bool = False
    phase: str | None = None
    batch_size: int | None = None
    query_tokens: int | None = None
    kv_tokens: int | None = None
    step_index: int | None = None
    engine: str | None = None


NOT_A_STEP = StepLabel()
"""What is said of a text that no grammar knows."""


class StepAnnotation(NamedTuple):
    """What the ranges around a launch say; ``None`` where they do not say it.

    Parameters
    ----------
    phase
        ``prefill``, ``decode``, ``mixed`` or ``capture``.
    batch_size
        Sequences in the step, real ones, without padding.
    batch_source
        Where the batch size came from: ``annotation``, or the engine whose label it was.
    step_engine
        Engine in whose words the step is; ``nsightlens`` for our own.
    step_index
        Number of the step as its label gives it.
    query_tokens
        [token] Tokens that run through the model, of all sequences.
    kv_tokens
        [token] Keys and values that are attended to, summed over the sequences.
    context_length
        [token] Keys and values that each sequence attends to, where all have as many.
    query_length
        [token] Tokens per sequence that run through the model.
    operation
        Name of the operation within the step, such as ``qkv_proj``.
    operation_flop
        [FLOP] Operations that its shape needs.
    operation_bytes
        [B] Bytes that its shape must read and write at least.
    unserved
        Why the launch belongs to no served step: ``capture``, ``dummy``, ``draft``, ``idle`` or
        ``initialization``; ``None`` where no range says so.
    conflict
        The engines whose labels contradict each other, joined by ``+``; the outermost was taken.
    """

    phase: str | None = None
    batch_size: int | None = None
    batch_source: str | None = None
    step_engine: str | None = None
    step_index: int | None = None
    query_tokens: int | None = None
    kv_tokens: int | None = None
    context_length: int | None = None
    query_length: int | None = None
    operation: str | None = None
    operation_flop: float | None = None
    operation_bytes: float | None = None
    unserved: str | None = None
    conflict: str | None = None

    def filled_from(self, other: StepAnnotation) -> StepAnnotation:
        """Return this annotation with what it lacks taken from another."""
        lacking = [name for name in self._fields if getattr(self, name) is None]
        return self._replace(**{name: getattr(other, name) for name in lacking})
