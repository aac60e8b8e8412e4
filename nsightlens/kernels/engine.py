"""From a name to what it is: bring it to its parts, then let the first rule that fits decide.

The kernel's own identifier is asked first, then its namespaces, then its template arguments in the
order in which they stand; rules of ordinary words (``weak``) come last. What a rule says about one
identifier is remembered, because the identifiers of a report repeat far more than its names.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from nsightlens.kernels.grammars import ALL_RULES
from nsightlens.kernels.model import KernelName
from nsightlens.kernels.rule import Rule, pattern_of
from nsightlens.kernels.spelling import Spelling, spelled
from nsightlens.kernels.words import words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["parse_kernel_name"]

_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,}")
_FAMILY_ARGUMENTS = 1500


class RuleBook:
    """The rules, found by the words of an identifier."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._rules = rules
        self._patterns = [pattern_of(rule.words) for rule in rules]
        self._index: dict[str, list[int]] = {}
        for position, pattern in enumerate(self._patterns):
            for word in pattern.groups[0]:
                self._index.setdefault(word, []).append(position)

    def candidates(self, identifier: str) -> tuple[Rule, ...]:
        """Return the rules whose words fit the identifier, in order of precedence."""
        words = frozenset(words_of(identifier))
        positions = {p for word in words for p in self._index.get(word, ())}
        return tuple(
            self._rules[p]
            for p in sorted(positions)
            if self._patterns[p].matches(words)
            and (not self._rules[p].shape or re.match(self._rules[p].shape, identifier))
        )


@cache
def _book() -> RuleBook:
    return RuleBook(ALL_RULES)


@lru_cache(maxsize=65536)
def _candidates(identifier: str) -> tuple[Rule, ...]:
    return _book().candidates(identifier)


def parse_kernel_name(name: str) -> KernelName:
    """Say what a kernel is from its name alone.

    Parameters
    ----------
    name
        The name in any spelling: demangled by any profiler, mangled, Triton, Inductor.

    Returns
    -------
    KernelName
        Family ``other`` where the name does not say it, with what is missing in ``note``.

    Examples
    --------
    >>> parse_kernel_name("void flash_fwd_splitkv_kernel<...>(Flash_fwd_params)").family
    'attention'
    """
    spelling = spelled(name)
    rule = _deciding_rule(spelling)
    if rule is None:
        return KernelName(
            name,
            _short(spelling),
            "other",
            "unknown",
            note="no word of the name says what the kernel computes",
        )
    phase = "n/a"
    if rule.family == "attention":
        phase = rule.phase or _phase(spelling)
    return KernelName(
        name,
        _short(spelling),
        rule.family,
        rule.subtype,
        phase,
        rule.dtypes,
        rule.library,
        "",
        "",
        "",
        rule.also,
        rule.id,
        rule.note,
    )


def _phase(spelling: Spelling) -> str:
    words = set(words_of(spelling.identifier))
    decode = not words.isdisjoint({"decode", "decoding", "gen"})
    prefill = not words.isdisjoint({"prefill", "context", "extend"})
    if decode and prefill:
        return "mixed"
    return "decode" if decode else "prefill" if prefill else "unknown"


def _short(spelling: Spelling) -> str:
    text = spelling.identifier
    return text if len(text) <= 40 else text[:28] + "…" + text[-11:]


def _deciding_rule(spelling: Spelling) -> Rule | None:
    own = _candidates(spelling.identifier)
    strong = next((rule for rule in own if not rule.weak), None)
    if strong is not None and not strong.unwraps:
        return strong
    for namespace in reversed(spelling.namespaces):
        for rule in _candidates(namespace):
            if not rule.weak:
                return rule
    weak = next(iter(own), None)
    if weak is not None and not weak.unwraps:
        return weak
    fallback = weak
    for identifier in _identifiers(spelling.arguments):
        for rule in _candidates(identifier):
            if not rule.weak:
                return rule
            fallback = fallback or rule
    return fallback


def _identifiers(arguments: str) -> Iterator[str]:
    for found in _IDENTIFIER.finditer(arguments, 0, _FAMILY_ARGUMENTS):
        yield found.group()
