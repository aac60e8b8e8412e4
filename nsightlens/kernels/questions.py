"""The questions that the way from a name to its rule asks of the text, and a tree of them.

Does this shape fit, do the template arguments hold that? `Recorder` notes each question whose
answer depends on numbers of the name; `grown` puts a row of questions and answers into a tree, so
that the next name is only asked what is in the tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.kernels.engine import Asker
from nsightlens.kernels.frames import UnsteadyError
from nsightlens.kernels.rulebook import Candidate, regex

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    from nsightlens.kernels.frames import Frame
    from nsightlens.kernels.rulebook import Rulebook
    from nsightlens.kernels.spelling import Spelling

__all__ = ["ARGUMENTS", "CARRIED", "IDENTIFIER", "NAME", "QUALIFIED", "Asked", "Recorder", "grown"]

# What is asked: the whole name, the kernel's identifier with and without its namespaces, its
# arguments; then what it carries.
NAME, QUALIFIED, IDENTIFIER, ARGUMENTS, CARRIED = range(5)

Node = list[Any]
"""Target, test, and the nodes after no and yes, each a node, a leaf or None."""


class Asked(NamedTuple):
    """A question: what is tested on which text, and what was found."""

    target: int
    pattern: str
    test: Callable[[str], re.Match[str] | None]
    found: re.Match[str] | None


class Recorder(Asker):
    """Notes each question whose answer depends on numbers."""

    __slots__ = ("asked", "frame", "numbers", "origins")

    def __init__(
        self, name: str, spelling: Spelling, book: Rulebook, frame: Frame, numbers: tuple[str, ...]
    ) -> None:
        super().__init__(name, spelling, book)
        self.frame = frame
        self.numbers = numbers
        self.asked: list[Asked] = []
        # Of rules that fit an identifier with numbers: the rule, the target, the question.
        self.origins: list[tuple[Candidate, int, int]] = []

    def _ask(
        self, target: int, pattern: str, test: Callable[[str], Any], text: str
    ) -> re.Match[str] | None:
        found: re.Match[str] | None = test(text)
        self.asked.append(Asked(target, pattern, test, found))
        return found

    def _fitting(self, target: int, identifier: str) -> tuple[Candidate, ...]:
        begin = len(self.asked)
        found = self.book.fitting(
            identifier, lambda shape: self._ask(target, shape, regex(shape).match, identifier)
        )
        question = {one.pattern: i for i, one in enumerate(self.asked[begin:], begin) if one.found}
        self.origins += ((one, target, question.get(one.rule.shape, -1)) for one in found)
        return found

    def own_candidates(self) -> tuple[Candidate, ...]:
        """Do the same, and note what was asked."""
        if self.frame.identifier.is_fixed:
            return super().own_candidates()
        return self._fitting(IDENTIFIER, self.spelling.identifier)

    def own_shape(self, shape: str) -> re.Match[str] | None:
        """Do the same, and note what was asked."""
        if self.frame.identifier.is_fixed:
            return super().own_shape(shape)
        return self._ask(IDENTIFIER, shape, regex(shape).match, self.spelling.identifier)

    def carried_candidates(self, place: int, identifier: str) -> tuple[Candidate, ...]:
        """Do the same, and note what was asked."""
        template = self.frame.carried[place] if place < len(self.frame.carried) else None
        # The end of what is looked at may cut an identifier.
        if template is None or template.fill(self.numbers) != identifier:
            if any(letter.isdigit() for letter in identifier):
                raise UnsteadyError
            return super().carried_candidates(place, identifier)
        if template.is_fixed:
            return super().carried_candidates(place, identifier)
        return self._fitting(CARRIED + place, identifier)

    def search_arguments(self, pattern: str) -> re.Match[str] | None:
        """Do the same, and note what was asked."""
        if self.frame.arguments.is_fixed:
            return super().search_arguments(pattern)
        return self._ask(ARGUMENTS, pattern, regex(pattern).search, self.plain_arguments)

    def match_name(self, pattern: str) -> re.Match[str] | None:
        """Do the same, and note what was asked."""
        test = regex(pattern).fullmatch
        return (
            self._ask(NAME, pattern, test, self.name.strip())
            or self._ask(QUALIFIED, pattern, test, self.qualified)
            or self._ask(IDENTIFIER, pattern, test, self.spelling.identifier)
        )


def grown(tree: Any, asked: list[Asked], leaf: Any) -> Any:
    """Return a tree in which the answers lead to a leaf."""
    if not asked:
        return leaf
    if tree is None:
        tree = [asked[0].target, asked[0].test, None, None]
    node: Node = tree
    for i, one in enumerate(asked):
        side = 2 if one.found is None else 3
        if i + 1 == len(asked):
            node[side] = leaf
        elif node[side] is None:
            node[side] = [asked[i + 1].target, asked[i + 1].test, None, None]
        node = node[side]
    return tree
