r"""The NVTX filter of ncu: which launches an expression of ``--nvtx-include`` takes.

By the section "NVTX Filtering" of the manual, and by what NVIDIA's own reader of reports makes of
the same expressions: ``Domain@Range``; a slash or a bracket makes push/pop ranges of it (``A/``),
neither start/end ranges (``A``, ``A,B`` inside both). ``A/B`` nests directly, ``A/*/B`` with any
ranges between, ``A/+/B`` with exactly one; ``[A`` is the outermost, ``A]`` the innermost. Without a
domain the default one is meant. ``regex:`` counts at the very beginning only, and then for domain
and ranges, each of which is searched; ``\`` takes the meaning from ``@ , [ ] / * +``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from support.fake_records import Launch, Stacks

REGEX = "regex:"


class FilterError(ValueError):
    """An expression that ncu would not take."""


class _Part(NamedTuple):
    """A name to be matched, or what stands for ranges between."""

    expression: re.Pattern[str] | None
    wildcard: str = ""

    def matches(self, name: str) -> bool:
        return self.expression is not None and self.expression.search(name) is not None


class NvtxFilter(NamedTuple):
    """One expression, understood."""

    domain: _Part
    parts: tuple[_Part, ...]
    is_push_pop: bool
    is_from_outermost: bool
    is_to_innermost: bool

    def takes(self, launch: Launch, *, is_of_process: bool = False) -> bool:
        """Return whether a launch is inside the ranges.

        ``is_of_process`` looks at the stacks of every thread.
        """
        if self.parts[0].wildcard:
            return False  # nothing begins with what stands between
        if not self.is_push_pop:
            return self._is_inside_all(launch)
        threads = launch.stacks.values() if is_of_process else [launch.own]
        return any(self._is_in(stacks) for stacks in threads)

    def _is_inside_all(self, launch: Launch) -> bool:
        names = [each.text for each in launch.started if self.domain.matches(each.domain)]
        return all(any(part.matches(name) for name in names) for part in self.parts)

    def _is_in(self, stacks: Stacks) -> bool:
        found = [stack for name, stack in stacks.items() if self.domain.matches(name)]
        return any(
            self._fits(stack, first, 0)
            for stack in found
            for first in range(1 if self.is_from_outermost else len(stack))
        )

    def _fits(self, stack: list[str], at: int, of: int) -> bool:
        if of == len(self.parts):
            return at == len(stack) or not self.is_to_innermost
        part = self.parts[of]
        if part.wildcard == "*":
            return any(self._fits(stack, later, of + 1) for later in range(at, len(stack) + 1))
        if at >= len(stack):
            return False
        fits = part.wildcard == "+" or part.matches(stack[at])
        return fits and self._fits(stack, at + 1, of + 1)


def nvtx_filter(expression: str) -> NvtxFilter:
    """Understand one expression.

    Raises
    ------
    FilterError
        It has several domains, no range, or a regular expression that is none.
    """
    is_regex = expression.startswith(REGEX)
    domains = _split(expression.removeprefix(REGEX), "@")
    if len(domains) > 2:
        raise FilterError(f"more than one domain in '{expression}'")
    ranges = domains[-1]
    words = _split(ranges, "/")
    # A bracket in front of the last slash ends the stack too, but not in a regular expression.
    last = ranges if is_regex else ranges.removesuffix("/")
    is_first, is_last = ranges.startswith("["), last.endswith("]") and not last.endswith("\\]")
    is_push_pop = len(words) > 1 or is_first or is_last
    if not is_push_pop:
        words = _split(ranges, ",")
    elif len(words) > 1 and not words[-1]:
        words.pop()
    if is_first:
        words[0] = words[0][1:]
    if is_last:
        words[-1] = words[-1][:-1]
    if not all([*words, *domains]):
        raise FilterError(f"a name that is empty in '{expression}'")
    domain = _part(domains[0], is_regex) if len(domains) == 2 else _Part(re.compile("^$"))
    parts = tuple(
        _Part(None, word) if is_push_pop and word in ("*", "+") else _part(word, is_regex)
        for word in words
    )
    return NvtxFilter(domain, parts, is_push_pop, is_first, is_last)


def _part(word: str, is_regex: bool) -> _Part:
    if not is_regex:
        name = re.sub(r"\\([@,\[\]/*+\\])", r"\1", word)
        return _Part(re.compile(f"^{re.escape(name)}\\Z"))
    try:
        return _Part(re.compile(word))
    except re.error as error:
        raise FilterError(f"'{word}' is no regular expression: {error}") from error


def _split(text: str, separator: str) -> list[str]:
    """Split where the separator is not escaped."""
    return re.split(rf"(?<!\\){re.escape(separator)}", text)
