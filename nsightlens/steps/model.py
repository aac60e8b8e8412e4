"""What an annotation can say about a launch, and how a grammar is asked.

A grammar is a module with one function ``read(domain, names)``: it looks at the push/pop ranges of
one NVTX domain, or at one start/end range, and returns what it understands, or ``None``. Grammars
know nothing of one another; `nsightlens.steps.annotation` asks them in order.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DEFAULT_DOMAIN", "StepAnnotation"]

DEFAULT_DOMAIN = ""
"""Domain of ranges that were made without one, as `nsightlens.steps` names it."""


class StepAnnotation(NamedTuple):
    """What the ranges around a launch say; ``None`` where they do not say it.

    Parameters
    ----------
    phase
        ``prefill``, ``decode``, ``mixed`` or ``capture``.
    batch_size
        Sequences in the step, real ones, without padding.
    context_length
        [token] Keys and values that each sequence attends to.
    query_length
        [token] Tokens per sequence that run through the model.
    operation
        Name of the operation within the step, such as ``qkv_proj``.
    operation_flop
        [FLOP] Operations that its shape needs.
    operation_bytes
        [B] Bytes that its shape must read and write at least.
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

    def filled_from(self, other: StepAnnotation) -> StepAnnotation:
        """Return this annotation with what it lacks taken from another."""
        lacking = [name for name in self._fields if getattr(self, name) is None]
        return self._replace(**{name: getattr(other, name) for name in lacking})
