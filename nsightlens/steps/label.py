"""One range's text read by every grammar: `read_label`."""

from __future__ import annotations

import re
from functools import lru_cache

from nsightlens.steps import nsightlens_v1
from nsightlens.steps.form import read_form
from nsightlens.steps.grammars import GRAMMARS
from nsightlens.steps.model import DEFAULT_DOMAIN, NOT_A_STEP, StepLabel

__all__ = ["read_label", "read_spelled_label"]

# What torch.autograd.profiler.emit_nvtx adds to a name, in the order in which it does.
_SUFFIX = re.compile(
    r"(?P<name>.*?)(?:, seq = (?P<seq>-?[0-9]+))?(?:, op_id = [0-9]+)?"
    r"(?:, sizes = \[[^=]*\])?(?:, input_op_ids = \[[^=]*\])?",
    re.DOTALL,
)
_NEVER = ("{", "[pl]", "aten::", "##")
"""How texts begin that are no steps, whatever follows: markers of layers and operators."""

_DOMAINS = frozenset().union(*(grammar.domains for grammar in GRAMMARS), {nsightlens_v1.DOMAIN})


@lru_cache(maxsize=1 << 14)
def read_label(label: str, domain: str = DEFAULT_DOMAIN) -> StepLabel:
    """Say what the text of an NVTX range tells of a step.

    Parameters
    ----------
    label
        Name of the range, with or without what ``emit_nvtx`` of torch adds to it.
    domain
        NVTX domain of the range; empty for the default one, or where it is not known.

    Returns
    -------
    StepLabel
        All of it ``None`` where no grammar knows the text. A number is taken only from the text.

    Examples
    --------
    >>> read_label("execute_context_1(512)_generation_31(31)").batch_size
    32
    >>> read_label("decoder.layers.3").is_step
    False
    """
    if domain not in _DOMAINS:
        return NOT_A_STEP
    if domain == nsightlens_v1.DOMAIN:
        return nsightlens_v1.read_step(label)
    if label.startswith(_NEVER):
        return NOT_A_STEP
    match = _SUFFIX.fullmatch(label)
    if match is None or (match["seq"] or "-").isdigit():
        return NOT_A_STEP  # a sequence number is that of an operator of autograd
    name = match["name"]
    for grammar in GRAMMARS:
        if domain in grammar.domains:
            for form in grammar.forms:
                found = read_form(form, name, grammar.engine)
                if found is not None:
                    return found
    return NOT_A_STEP


def read_spelled_label(text: str) -> StepLabel:
    """Read a label with its domain in front, as NVTX paths spell it: ``domain@label``.

    Examples
    --------
    >>> read_spelled_label("nsightlens@step v1 phase=decode batch_size=8").batch_size
    8
    """
    domain, at, label = text.partition("@")
    return read_label(label, domain) if at and domain in _DOMAINS - {""} else read_label(text)
