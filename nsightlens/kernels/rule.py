"""The form in which grammars are written: one `Rule` per line of knowledge.

A rule matches the words of one identifier (see `words`), never a part of a word. The grammars in
`grammars/` are lists of rules and nothing else; `rulebook` tries them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Pattern", "Rule", "pattern_of"]

_NO_TYPES: Mapping[str, str] = {}


# A named tuple, because hundreds are made at import and a frozen dataclass takes ten times longer.
class Rule(NamedTuple):
    """One line of a grammar.

    Parameters
    ----------
    id
        Names the rule in results, ``<grammar>.<what>``.
    words
        Pattern on the words of an identifier: ``a b`` needs both, ``a|b`` one of them, ``-c``
        forbids one. The first group should be the rarest: it is the index.
    family, subtype, phase
        What a match means. An empty ``phase`` is derived from words such as ``decode``.
    shape
        Regular expression that the identifier must also match from its start; its named groups
        fill fields (see `fields`).
    reads
        Regular expressions searched in the template arguments, for more fields; the first match
        counts.
    types
        Spelling of a data type in a named group to our word for it, where it is not the usual one.
    dtypes
        Data types that the rule itself implies.
    typeless
        What looks like a data type in such names does not tell the operands' type.
    within
        Pattern on the words of the namespaces, which must match too.
    carries
        Regular expression that must be found in the template arguments.
    library, arch
        Library and architecture that the rule implies.
    also, note
        See `KernelName`.
    weak
        The words are ordinary ones: try it only when no other rule knows the name.
    unwraps
        The identifier is only a vehicle: what it carries, in its template arguments, decides, and
        this rule holds when nothing there is known.
    short
        Format of the short name over the named groups, ``tile``, ``head_size``, ``dtypes``,
        ``phase`` and ``subject``.
    """

    id: str
    words: str
    family: str
    subtype: str = ""
    phase: str = ""
    shape: str = ""
    reads: tuple[str, ...] = ()
    types: Mapping[str, str] = _NO_TYPES
    dtypes: tuple[str, ...] = ()
    within: str = ""
    carries: str = ""
    library: str = ""
    arch: str = ""
    also: tuple[str, ...] = ()
    note: str = ""
    weak: bool = False
    unwraps: bool = False
    short: str = ""
    typeless: bool = False

    @property
    def settles(self) -> bool:
        """Whether a match decides whatever the rest of the name says."""
        return not (self.weak or self.unwraps or self.within or self.carries)


class Pattern(NamedTuple):
    """A word pattern ready to match: every group must meet the words, ``forbidden`` must not."""

    groups: tuple[frozenset[str], ...]
    forbidden: frozenset[str]

    def matches(self, words: frozenset[str]) -> bool:
        """Return whether ``words`` satisfy the pattern."""
        if not self.forbidden.isdisjoint(words):
            return False
        for group in self.groups:  # noqa: SIM110 - a generator costs more than these tests
            if group.isdisjoint(words):
                return False
        return True


def pattern_of(text: str) -> Pattern:
    """Parse the pattern language of `Rule.words`.

    Examples
    --------
    >>> pattern_of("flash fwd|bwd -combine").matches(frozenset({"flash", "bwd"}))
    True
    """
    required = []
    forbidden: list[str] = []
    for part in text.split():
        if part[0] == "-":
            forbidden.extend(part[1:].split("|"))
        else:
            required.append(frozenset(part.split("|")))
    return Pattern(tuple(required), frozenset(forbidden))
