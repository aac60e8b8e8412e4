"""The rules of all grammars, found by the words of one identifier.

`engine` asks it for every identifier that it meets; the answers are remembered, because
identifiers repeat far more than names do.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from nsightlens.kernels.grammars import ALL_RULES
from nsightlens.kernels.rule import Pattern, Rule, pattern_of
from nsightlens.kernels.words import words_of

__all__ = ["Candidate", "candidates", "regex"]

_REMEMBERED = 65536


class Candidate(NamedTuple):
    """A rule that fits an identifier, with what its shape read there."""

    rule: Rule
    groups: dict[str, str]
    identifier: str


@cache
def regex(pattern: str) -> re.Pattern[str]:
    """Compile a regular expression of a grammar when it is first needed."""
    return re.compile(pattern)


@cache
def _index() -> dict[str, list[tuple[int, Rule, Pattern]]]:
    index: dict[str, list[tuple[int, Rule, Pattern]]] = {}
    for position, rule in enumerate(ALL_RULES):
        pattern = pattern_of(rule.words)
        entry = (position, rule, Pattern(pattern.groups[1:], pattern.forbidden))
        for word in pattern.groups[0]:
            index.setdefault(word, []).append(entry)
    return index


@lru_cache(maxsize=_REMEMBERED)
def candidates(identifier: str) -> tuple[Candidate, ...]:
    """Return the rules that fit one identifier, in order of precedence.

    The list ends with the first rule that settles the matter, since no later one can win.

    Parameters
    ----------
    identifier
        One identifier, without namespaces and arguments.
    """
    index = _index()
    spelled = words_of(identifier)
    entries = {entry[0]: entry for word in spelled for entry in index.get(word, ())}
    if not entries:
        return ()
    words = frozenset(spelled)
    fitting = []
    for position in sorted(entries):
        _, rule, pattern = entries[position]
        if not pattern.matches(words):
            continue
        groups: dict[str, str] = {}
        if rule.shape:
            found = regex(rule.shape).match(identifier)
            if found is None:
                continue
            groups = {name: text for name, text in found.groupdict().items() if text}
        fitting.append(Candidate(rule, groups, identifier))
        if rule.settles:
            break
    return tuple(fitting)
