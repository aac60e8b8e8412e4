"""Grammar of the range names of the memory-gap study of large-batch inference.

Its vLLM fork marks each step with a start/end range ``PrefillStep{i}`` or ``DecodeStep{i}``: a
phase, and no batch size.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nsightlens.steps.model import DEFAULT_DOMAIN, StepAnnotation

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["read"]

_STEP = re.compile(r"(Prefill|Decode)Step\d+\Z")


def read(domain: str, names: Sequence[str]) -> StepAnnotation | None:
    """Read the ranges of one domain, outermost first; the innermost step counts.

    Examples
    --------
    >>> read("", ["DecodeStep335"]).phase
    'decode'
    """
    if domain != DEFAULT_DOMAIN:
        return None
    for name in reversed(names):
        match = _STEP.match(name)
        if match:
            return StepAnnotation(phase=match[1].lower())
    return None
