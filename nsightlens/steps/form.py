r"""The engine that reads step labels by forms: a pattern, and what its groups mean.

A form is data. Its pattern has to match the whole of a label; named groups are the label's numbers,
and each field of `StepLabel` is a sum of products of them, such as ``C+G`` or ``bs*length``. Where
several ways lead to a field, they are divided by ``|`` and the first counts all of whose groups are
there. A group named ``keys`` holds ``key=value`` words in any order, each of which becomes a group.
The grammars of `nsightlens.steps.grammars` are tables of forms.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.steps.model import LARGEST, NOT_SERVED, StepLabel

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KEYS", "NUMBER", "ByCounts", "Form", "Grammar", "read_form"]

NUMBER = "[0-9]{1,18}"
"""A whole number: ASCII digits, as many as any integer column can hold."""

KEYS = rf"(?P<keys>(?:[ \t]+[A-Za-z_][A-Za-z0-9_]*[ \t]*=[ \t]*{NUMBER})*)"
"""``key=value`` words with whole numbers."""

_KEY = re.compile(rf"([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*({NUMBER})")
_LIST = re.compile(NUMBER)


class ByCounts(NamedTuple):
    """A phase that follows from how many requests of each kind a step has.

    Parameters
    ----------
    prefill, decode
        Sums of the groups that count them.
    """

    prefill: str
    decode: str


class Form(NamedTuple):
    """One way of writing a label, and what it says.

    Parameters
    ----------
    pattern
        Regular expression for the whole label. Groups are whole numbers, ``keys``, or lists.
    phase
        One of `nsightlens.steps.model.STEP_PHASES`, or what it follows from; empty for a label that
        is known to be no step.
    batch, query, kv, step
        Sums for the fields of `StepLabel`; empty where the label does not say it.
    holds
        Equations of two sums that every label of this form fulfils; one that does not is no label
        of this form. One with a group that is not there is fulfilled.
    lists
        Groups that are lists of numbers, and the group that counts them: their sum, where there
        are as many.
    is_step
        Whether it is one forward pass or a capture; by default, unless the phase is empty or one of
        `nsightlens.steps.model.NOT_SERVED`.
    """

    pattern: str
    phase: str | ByCounts
    batch: str = ""
    query: str = ""
    kv: str = ""
    step: str = ""
    holds: tuple[str, ...] = ()
    lists: tuple[tuple[str, str], ...] = ()
    is_step: bool | None = None


class Grammar(NamedTuple):
    """How one engine names its steps.

    Parameters
    ----------
    engine
        Whose words they are.
    forms
        Tried in order; the first that matches counts.
    domains
        NVTX domains in which the engine makes its ranges.
    """

    engine: str
    forms: tuple[Form, ...]
    domains: frozenset[str] = frozenset({""})


def read_form(form: Form, label: str, engine: str) -> StepLabel | None:
    """Read a label by one form.

    Returns
    -------
    StepLabel or None
        None where the label is not of this form.

    Examples
    --------
    >>> form = Form("prefill_b(?P<b>[0-9]+)_n(?P<n>[0-9]+)", "prefill", "b", "b*n")
    >>> read_form(form, "prefill_b8_n100", "script").query_tokens
    800
    """
    match = _compiled(form.pattern).fullmatch(label)
    if match is None:
        return None
    number = _numbers(form, match.groupdict())
    if number is None or not all(_is_fulfilled(equation, number) for equation in form.holds):
        return None
    phase = _phase(form.phase, number)
    is_step = bool(phase) and phase not in NOT_SERVED if form.is_step is None else form.is_step
    return StepLabel(
        is_step,
        phase or None,
        _first(form.batch, number),
        _first(form.query, number),
        _first(form.kv, number),
        _first(form.step, number),
        engine if phase else None,
    )


def _numbers(form: Form, groups: Mapping[str, str | None]) -> dict[str, int] | None:
    """Return the numbers of a label by name; None where one of them is there twice."""
    words = {name: text for name, text in groups.items() if text is not None}
    number: dict[str, int] = {}
    for name, text in _KEY.findall(words.pop("keys", "")):
        if name in groups or name in number:
            return None
        number[name] = int(text)
    lists = dict(form.lists)
    number.update((name, int(text)) for name, text in words.items() if name not in lists)
    for name, counted_by in lists.items():
        parts = _LIST.findall(words.get(name, ""))
        if parts and len(parts) == number.get(counted_by):
            number[name] = sum(map(int, parts))
    return number


def _phase(phase: str | ByCounts, number: Mapping[str, int]) -> str:
    if isinstance(phase, str):
        return phase
    has_prefill, has_decode = (bool(_sum(_parsed(side)[0], number)) for side in phase)
    if has_prefill:
        return "mixed" if has_decode else "prefill"
    return "decode" if has_decode else "idle"


def _is_fulfilled(equation: str, number: Mapping[str, int]) -> bool:
    left, right = (_sum(_parsed(side)[0], number) for side in equation.split("="))
    return left is None or right is None or left == right


def _first(ways: str, number: Mapping[str, int]) -> int | None:
    """Return the first sum all of whose numbers are known, unless it is too large to be held."""
    sums = (_sum(way, number) for way in _parsed(ways))
    found = next((value for value in sums if value is not None), None)
    return found if found is None or found <= LARGEST else None


_Sum = tuple[tuple[str, ...], ...]


def _sum(terms: _Sum, number: Mapping[str, int]) -> int | None:
    total = 0
    for factors in terms:
        product = 1
        for name in factors:
            if name not in number:
                return None
            product *= number[name]
        total += product
    return total


@cache
def _parsed(ways: str) -> tuple[_Sum, ...]:
    """Return sums of products of names: ``a+b*c|d`` becomes (((a,), (b, c)), ((d,),))."""
    return tuple(
        tuple(tuple(term.split("*")) for term in way.split("+")) for way in ways.split("|") if way
    )


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
