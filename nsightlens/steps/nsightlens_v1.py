"""Grammar of our own annotations, version 1, which `nsightlens.annotate` writes.

In the domain ``nsightlens``, two kinds of push/pop ranges, each a list of ``key=value`` words::

    step v1 phase=decode batch_size=8 context=500 query=1
    op v1 name=qkv_proj flop=123 bytes=456

The innermost of each kind counts. Keys that are not known are passed over, so that later writers
can add some; a value that is not a number where one is due is not taken. ``flop`` and ``bytes``
may be written as ``1.2e9``. In a name, ``%`` and two hexadecimal digits stand for a byte of UTF-8.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from nsightlens.steps.model import (
    LARGEST,
    LAUNCH_PHASES,
    NOT_A_STEP,
    OWN_ENGINE,
    StepAnnotation,
    StepLabel,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DOMAIN", "read", "read_step"]

DOMAIN = "nsightlens"
_ESCAPES = re.compile("(?:%[0-9A-Fa-f]{2})+")


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
        kind, words = _parted(name)
        if kind == "step":
            step, operation = words, {}
        elif kind == "op":
            operation = words
    if not step and not operation:
        return None
    batch_size, context = _count(step.get("batch_size")), _count(step.get("context"))
    query = _count(step.get("query"))
    return StepAnnotation(
        phase=_phase(step),
        batch_size=batch_size,
        batch_source=None if batch_size is None else "annotation",
        step_engine=OWN_ENGINE if step else None,
        query_tokens=_product(batch_size, query),
        kv_tokens=_product(batch_size, context),
        context_length=context,
        query_length=query,
        operation=_unescaped(operation.get("name")),
        operation_flop=_number(operation.get("flop")),
        operation_bytes=_number(operation.get("bytes")),
    )


def read_step(label: str) -> StepLabel:
    """Read one range of our domain alone; an operation is no step.

    Examples
    --------
    >>> read_step("step v1 phase=decode batch_size=8 context=500 query=1").kv_tokens
    4000
    """
    kind, _ = _parted(label)
    found = read(DOMAIN, [label])
    if kind != "step" or found is None:
        return NOT_A_STEP
    return StepLabel(
        True,
        found.phase or "unknown",
        found.batch_size,
        found.query_tokens,
        found.kv_tokens,
        None,
        OWN_ENGINE,
    )


def _parted(name: str) -> tuple[str, dict[str, str]]:
    """Return what a range is and its words; nothing where it is of another version."""
    kind, _, rest = name.partition(" ")
    version, _, words = rest.partition(" ")
    if version != "v1":
        return "", {}
    return kind, dict(word.split("=", 1) for word in words.split() if "=" in word)


def _phase(step: dict[str, str]) -> str | None:
    phase = step.get("phase")
    return phase if phase in LAUNCH_PHASES else None


def _count(text: str | None) -> int | None:
    """Return a whole number that any integer column can hold."""
    is_count = text is not None and text.isascii() and text.isdigit() and len(text) <= 18
    return int(text) if text is not None and is_count else None


def _product(count: int | None, each: int | None) -> int | None:
    if count is None or each is None or count * each > LARGEST:
        return None
    return count * each


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _unescaped(text: str | None) -> str | None:
    """Return a name as it was given to `nsightlens.annotate.op`."""
    if text is None or "%" not in text:
        return text
    return _ESCAPES.sub(lambda found: _decoded(found[0]), text)


def _decoded(escapes: str) -> str:
    try:
        return bytes.fromhex(escapes.replace("%", "")).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return escapes  # not what our writer makes
