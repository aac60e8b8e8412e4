"""What a server's log says of its model beside its settings: drafting of tokens, experts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nsightlens.serving.logs.log_patterns import PATTERNS

if TYPE_CHECKING:
    from nsightlens.serving.benchmarks.collected import Collected
    from nsightlens.serving.logs.log_text import LogText

__all__ = ["take_model"]

_DRAFTING = ("SpecDecoding metrics: ", "Speculative metrics: ", ", accept len: ")
_EXPERTS = re.compile(r"moe|mixtral|deepseekv[23]|gptoss|llama4|dbrx|grok", re.IGNORECASE)
"""Of classes of models all of which route tokens to experts; other names say nothing."""


def take_model(log: LogText, into: Collected) -> None:
    """Take whether tokens are drafted, and whether the class of the model has experts."""
    for words in _DRAFTING:
        place = log.find(words)
        if place >= 0:
            into.flag("speculative", True, where=f"line {log.line_number(place)}")
    for name in ("architecture", "sgl_weights"):
        if not log.has(PATTERNS[name].words):
            continue
        record = log.last(name)
        model = record.match["model"] if record else None
        if record and model and _EXPERTS.search(model):
            line = f"line {log.line_number(record.offset)}"
            into.flag("mixture_of_experts", True, where=line)
