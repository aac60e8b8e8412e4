"""One range's text read by every grammar: `read_label`."""

from __future__ import annotations

import re
from functools import lru_cache

from nsightlens.steps import nsightlens_v1
from nsightlens.steps.form import read_form
from nsightlens.steps.grammars import GRAMMARS
from nsightlens.steps.model import DEFAULT_DOMAIN, NOT_A_STEP, StepLabel

__all__ = ["may_hold_slashes", "read_label", "read_spelled_label"]

# What torch.autograd.profiler.emit_nvtx adds to a name, in the order in which it does.
_SUFFIX = re.compile(
    r"(?P<name>.*?)(?:, seq = (?P<seq>-?[0-9]+))?(?:, op_id = [0-9]+)?"
    r"(?:, sizes = \[[^=]*\])?(?:, input_op_ids = \[[^=]*\])?",
    re.DOTALL,
)
_NEVER = ("{", "[pl]", "aten::", "##")
"""How texts begin that are no steps, whatever follows: markers of layers and operators."""

_DOMAINS = frozenset().union(*(grammar.domains for grammar in GRAMMARS), {nsightlens_v1.DOMAIN})
_FORMS = [(form, grammar) for grammar in GRAMMARS for form in grammar.forms]


def _alternatives(patterns: dict[str, str]) -> re.Pattern[str]:
    """Return one expression for many: most names are no labels, and one look has to tell."""
    bare = {name: re.sub(r"\(\?P<\w+>", "(?:", pattern) for name, pattern in patterns.items()}
    return re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in bare.items()))


_ANY = _alternatives({f"form_{i}": form.pattern for i, (form, _) in enumerate(_FORMS)})
_WITH_SLASH = _alternatives(
    {f"form_{i}": form.pattern for i, (form, _) in enumerate(_FORMS) if "/" in form.pattern}
)


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
    name = None if label.startswith(_NEVER) else _bare_name(label)
    match = None if name is None else _ANY.fullmatch(name)
    if name is None or match is None:
        return NOT_A_STEP
    # The first form that matches may still refuse the numbers: those after it are asked then.
    first = int((match.lastgroup or "form_0").removeprefix("form_"))
    for form, grammar in _FORMS[first:]:
        if domain in grammar.domains:
            found = read_form(form, name, grammar.engine)
            if found is not None:
                return found
    return NOT_A_STEP


def _bare_name(label: str) -> str | None:
    """Return a name without what emit_nvtx added; None for an operator of autograd."""
    if ", " not in label:
        return label
    match = _SUFFIX.fullmatch(label)
    # A sequence number is that of an operator of autograd.
    return None if match is None or (match["seq"] or "-").isdigit() else match["name"]


def may_hold_slashes(label: str) -> bool:
    """Return whether a text with slashes has the form of one label.

    Examples
    --------
    >>> may_hold_slashes("decode[bs=3/8 tok=3 d=3]"), may_hold_slashes("layer/attention")
    (True, False)
    """
    name = _bare_name(label)
    return name is not None and _WITH_SLASH.fullmatch(name) is not None


def read_spelled_label(text: str) -> StepLabel:
    """Read a label with its domain in front, as NVTX paths spell it: ``domain@label``.

    Examples
    --------
    >>> read_spelled_label("nsightlens@step v1 phase=decode batch_size=8").batch_size
    8
    """
    domain, at, label = text.partition("@")
    return read_label(label, domain) if at and domain in _DOMAINS - {""} else read_label(text)
