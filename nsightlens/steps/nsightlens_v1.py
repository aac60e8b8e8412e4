"""Grammar of our own annotations, version 1.

In the domain ``nsightlens``, two kinds of push/pop ranges, each a list of ``key=value`` words::

    step v1 phase=decode batch_size=8 context=500 query=1
    op v1 name=qkv_proj flop=123 bytes=456

The innermost of each kind counts. Keys that are not known are passed over, so that later writers
can add some; a value that is not a number where one is due is not taken. ``flop`` and ``bytes``
may be written as ``1.2e9``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from nsightlens.steps.model import StepAnnotation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DOMAIN", "read"]

DOMAIN = "nsightlens"
_PHASES = ("prefill", "decode", "mixed", "capture")


def read(domain: str, names: Sequence[str]) -> StepAnnotation | None:
    """Read the ranges of one domain, outermost first.

    Examples
    --------
    >>> read("nsightlens", ["step v1 phase=decode batch_size=8"]).batch_size
    8
    """
    if domain != DOMAIN:
        return None
    step: dict[str, str] = {}
    operation: dict[str, str] = {}
    for name in names:
        kind, _, rest = name.partition(" ")
        version, _, words = rest.partition(" ")
        if version != "v1":
            continue
        if kind == "step":
            step, operation = _words(words), {}
        elif kind == "op":
            operation = _words(words)
    if not step and not operation:
        return None
    phase = step.get("phase")
    return StepAnnotation(
        phase=phase if phase in _PHASES else None,
        batch_size=_count(step.get("batch_size")),
        context_length=_count(step.get("context")),
        query_length=_count(step.get("query")),
        operation=operation.get("name"),
        operation_flop=_number(operation.get("flop")),
        operation_bytes=_number(operation.get("bytes")),
    )


def _words(text: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


def _count(text: str | None) -> int | None:
    """Return a whole number of up to 18 digits, which any integer column can hold."""
    is_count = text is not None and text.isascii() and text.isdigit() and len(text) <= 18
    return int(text) if text is not None and is_count else None


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
