"""Questions of what was not measured, as a person writes them: ``batch=160,context=500``."""

from __future__ import annotations

import math

from nsightlens.advisor.answers import Question
from nsightlens.errors import AdviceError

__all__ = ["LARGEST", "parse_question", "words_of"]

LARGEST = 1e7
"""A batch size or context beyond this is a slip."""

_NAMES = {
    "batch": "batch_size",
    "batch_size": "batch_size",
    "context": "context_length",
    "context_length": "context_length",
    "device": "device",
    "gpu": "device",
}
_FORM = (
    "batch=B, context=TOKENS or device=NAME, joined by commas, such as batch=160,device=h200 nvl"
)


def parse_question(text: str) -> Question:
    """Return a question.

    Parameters
    ----------
    text
        ``batch=B``, ``context=TOKENS`` and ``device=NAME``, at least one of them, joined by commas.

    Raises
    ------
    AdviceError
        A part is not understood, occurs twice, or is no number that can be.

    Examples
    --------
    >>> parse_question("batch=160, context=500, device=H200 NVL")
    Question(batch_size=160.0, context_length=500.0, device='H200 NVL')
    """
    found: dict[str, str] = {}
    for part in text.split(","):
        name, sign, value = (one.strip() for one in part.partition("="))
        key = _NAMES.get(name.lower())
        if key is None or not sign or not value:
            raise AdviceError(f"{part.strip()!r:.60} is no part of a question: give {_FORM}.")
        if key in found:
            raise AdviceError(f"{text!r:.80} says {name} twice.")
        found[key] = value
    return Question(
        batch_size=_number("batch", found.get("batch_size")),
        context_length=_number("context", found.get("context_length")),
        device=found.get("device"),
    )


def words_of(question: Question) -> str:
    """Return a question in words.

    Examples
    --------
    >>> words_of(Question(160.0, 500.0, "h200 nvl"))
    'batch 160, context 500, h200 nvl'
    """
    parts = []
    if question.batch_size is not None:
        parts.append(f"batch {question.batch_size:g}")
    if question.context_length is not None:
        parts.append(f"context {question.context_length:g}")
    if question.device is not None:
        parts.append(question.device)
    return ", ".join(parts)


def _number(name: str, text: str | None) -> float | None:
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 1 <= value <= LARGEST:
        raise AdviceError(f"{name}={text:.40} is no number from 1 to {LARGEST:.0f}: give {_FORM}.")
    return value
