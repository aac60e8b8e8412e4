"""The rules of all grammars, found by the words of one identifier.

`engine` asks it for every identifier that it meets; the answers are remembered, because
identifiers repeat far more than names do. Each set of rules is a book of its own, with memories of
its own, so that answers by one never turn up under another.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.kernels.grammars import ALL_RULES
from nsightlens.kernels.rule import Pattern, Rule, pattern_of
from nsightlens.kernels.words import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Candidate", "FirstRule", "Rulebook", "built_in_rulebook", "named_groups", "regex"]

_REMEMBERED = 65536
# [character] Longer identifiers are rare, and so many of them would take gigabytes.
_MEMORABLE = 300


class Candidate(NamedTuple):
    """A rule that fits an identifier, with what its shape read there."""

    rule: Rule
    groups: dict[str, str]
    identifier: str


class FirstRule(NamedTuple):
    """A rule that is asked before all grammars.

    Parameters
    ----------
    rule
        The rule.
    name
        Regular expression that the whole name must match; where it is given, the words and the
        shape of the rule are not asked.
    """

    rule: Rule
    name: str = ""


@cache
def regex(pattern: str) -> re.Pattern[str]:
    """Compile a regular expression of a grammar when it is first needed."""
    return re.compile(pattern)


def named_groups(found: re.Match[str]) -> dict[str, str]:
    """Return the named groups that took part in a match and are not empty."""
    return {name: text for name, text in found.groupdict().items() if text}


class Rulebook:
    """A set of rules.

    Parameters
    ----------
    rules
        In order of precedence.
    first
        Rules that are asked before these, for every name.
    """

    def __init__(self, rules: Sequence[Rule], first: Sequence[FirstRule] = ()) -> None:
        self.first = tuple((one, pattern_of(one.rule.words)) for one in first)
        self.rules = (*(one.rule for one in first if not one.name), *rules)
        self._index: dict[str, list[tuple[int, Rule, Pattern]]] | None = None
        self._remembered = lru_cache(_REMEMBERED)(self._candidates)

    def candidates(self, identifier: str) -> tuple[Candidate, ...]:
        """Return the rules that fit one identifier; see `fitting`."""
        known = len(identifier) <= _MEMORABLE
        return (self._remembered if known else self._candidates)(identifier)

    def _candidates(self, identifier: str) -> tuple[Candidate, ...]:
        return self.fitting(identifier, lambda shape: regex(shape).match(identifier))

    def _indexed(self) -> dict[str, list[tuple[int, Rule, Pattern]]]:
        index: dict[str, list[tuple[int, Rule, Pattern]]] = {}
        for position, rule in enumerate(self.rules):
            pattern = pattern_of(rule.words)
            entry = (position, rule, Pattern(pattern.groups[1:], pattern.forbidden))
            for word in pattern.groups[0]:
                index.setdefault(word, []).append(entry)
        return index

    def fitting(
        self, identifier: str, match: Callable[[str], re.Match[str] | None]
    ) -> tuple[Candidate, ...]:
        """Return the rules that fit one identifier, in order of precedence.

        The list ends with the first rule that settles the matter, since no later one can win.

        Parameters
        ----------
        identifier
            One identifier, without namespaces and arguments.
        match
            Matches a shape with the identifier.
        """
        if self._index is None:
            self._index = self._indexed()
        index = self._index
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
                found = match(rule.shape)
                if found is None:
                    continue
                groups = named_groups(found)
            fitting.append(Candidate(rule, groups, identifier))
            if rule.settles:
                break
        return tuple(fitting)


@cache
def built_in_rulebook() -> Rulebook:
    """Return the rules of all grammars."""
    return Rulebook(ALL_RULES)
