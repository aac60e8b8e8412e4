r"""The NVTX filter of ncu: which launches an expression of ``--nvtx-include`` takes.

By the section "NVTX Filtering" of the manual of ncu: ``Domain@Range``; a slash makes push/pop
ranges of it (``A/``), none start/end ranges (``A``, ``A,B`` inside both). ``A/B`` nests directly,
``A/*/B`` with any ranges between, ``A/+/B`` with exactly one; ``[A`` is the outermost, ``A]`` the
innermost. Without a domain the default one is meant. ``regex:`` before a domain or a range makes a
regular expression of this one, which has to match the whole name; ``\`` takes the meaning from
``@ , [ ] / * +``.
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
        return self.expression is not None and self.expression.fullmatch(name) is not None


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
    domains = _split(expression, "@")
    if len(domains) > 2:
        raise FilterError(f"more than one domain in '{expression}'")
    ranges = domains[-1]
    words = _split(ranges, "/")
    is_push_pop = len(words) > 1
    if is_push_pop and not words[-1]:
        words.pop()
    if not is_push_pop:
        words = _split(ranges, ",")
    is_first = is_push_pop and words[0].startswith("[")
    is_last = is_push_pop and words[-1].endswith("]") and not words[-1].endswith("\\]")
    if is_first:
        words[0] = words[0][1:]
    if is_last:
        words[-1] = words[-1][:-1]
    if not all(words):
        raise FilterError(f"a range without a name in '{expression}'")
    domain = _part(domains[0]) if len(domains) == 2 else _Part(re.compile(""))
    parts = tuple(
        _Part(None, word) if is_push_pop and word in ("*", "+") else _part(word) for word in words
    )
    return NvtxFilter(domain, parts, is_push_pop, is_first, is_last)


def _part(word: str) -> _Part:
    if word.startswith(REGEX):
        try:
            return _Part(re.compile(word.removeprefix(REGEX)))
        except re.error as error:
            raise FilterError(f"'{word}' is no regular expression: {error}") from error
    return _Part(re.compile(re.escape(re.sub(r"\\([@,\[\]/*+\\])", r"\1", word))))


def _split(text: str, separator: str) -> list[str]:
    """Split where the separator is not escaped."""
    return re.split(rf"(?<!\\){re.escape(separator)}", text)
