"""What is worth trying with one launch, each piece of advice tied to measured numbers.

The rules are `nsightlens.analysis.advice_rules`. A rule of which a number is missing says nothing:
no advice without its number.
"""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.analysis.advice_rules import RULES
from nsightlens.analysis.stall_meanings import is_merge

if TYPE_CHECKING:
    from nsightlens.analysis.advice_rule import Rule
    from nsightlens.analysis.quantities import Number, Quantities

__all__ = ["Advice", "advise"]

MOST = 3
"""Pieces of advice that are given: more would be a list to choose from, not advice."""


class Advice(NamedTuple):
    """One thing worth trying.

    Parameters
    ----------
    rule
        Name of the rule in `nsightlens.analysis.advice_rules`.
    text
        What to try and why, with the numbers in it.
    numbers
        The measured numbers in ``text``.
    """

    rule: str
    text: str
    numbers: tuple[Number, ...]


def advise(quantities: Quantities, most: int = MOST) -> tuple[Advice, ...]:
    """Return what is worth trying with a launch, the most promising first.

    Parameters
    ----------
    quantities
        Its numbers.
    most
        How many pieces of advice at most.

    Returns
    -------
    tuple of Advice
        Empty for a failed collection, and where no number speaks for anything.
    """
    if quantities.launch.get("is_failed_collection"):
        return ()
    found: list[Advice] = []
    for rule in RULES:
        is_said = any(advice.rule == rule.name for advice in found)
        if len(found) < most and not is_said and rule.holds(quantities):
            advice = _filled(rule, quantities)
            if advice is not None:
                found.append(advice)
    return tuple(found)


def _filled(rule: Rule, quantities: Quantities) -> Advice | None:
    """Return the rule's text with its numbers, ``None`` where one of them is not known."""
    key = next((one for one in _keys(quantities) if one in rule.text), None)
    if key is None:
        return None
    template = rule.text[key]
    names = dict.fromkeys(
        name for _, name, _, _ in string.Formatter().parse(template) if name is not None
    )
    numbers = {name: quantities.number(name) for name in names}
    known = {name: number for name, number in numbers.items() if number is not None}
    if len(known) < len(names) or not known:
        return None
    return Advice(rule.name, template.format_map(known), tuple(known.values()))


def _keys(q: Quantities) -> tuple[str, ...]:
    family, subtype, phase = (q.text(name) or "" for name in ("family", "subtype", "phase"))
    if is_merge(subtype):
        return ("",)
    decode = ("decode",) if family == "attention" and phase != "prefill" else ()
    gemv = ("gemv",) if "gemv" in subtype else ()
    return (*decode, *gemv, family, "")
