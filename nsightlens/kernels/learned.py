"""What was learned from one name answers for all names of its frame, exactly.

The way from a name to its rule asks a few questions of the text: does this shape fit, do the
template arguments hold that? For the second name of a frame (see `frames`) the questions and
answers are noted as a tree. Later names of the frame are only asked what is in the tree; a new
answer leads back to `engine`, and into the tree. Everything else that `engine` looks at is the same
for all names that share the frame and the numbers that words depend on, so the result is the same,
at a fraction of the cost: `tests/property/test_learned_names.py` holds the two equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from nsightlens.kernels.demangle import MangledFrames
from nsightlens.kernels.engine import (
    NO_RULE,
    Asker,
    Decision,
    decide,
    described,
    kernel_of,
    unnamed_fields,
)
from nsightlens.kernels.fields import TYPE_TEXT, built_for, fields_of
from nsightlens.kernels.frames import Frame, UnsteadyError, Vocabulary, frame_of, numbers_in
from nsightlens.kernels.model import KernelName
from nsightlens.kernels.rulebook import Candidate, named_groups, regex
from nsightlens.kernels.shorten import short_name, told_by
from nsightlens.kernels.spelling import Spelling, normal_text, parts_of, spelled

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Sequence

    from nsightlens.kernels.fields import Fields
    from nsightlens.kernels.frames import Template
    from nsightlens.kernels.rule import Rule
    from nsightlens.kernels.rulebook import Rulebook
    from nsightlens.kernels.shorten import Told

__all__ = ["NameReader"]

# Names longer than this are cut before they are read.
_LONGEST = 5000
_MOST_FRAMES = 32768
# Of one frame; a frame whose names are all different in what matters is not worth more memory.
_MOST_LEAVES = 256
_MOST_NAMES = 16384
# Of all frames together, about 500 bytes each.
_MOST_KNOWN = 100_000

# What is asked: the whole name, the kernel's identifier with and without its namespaces, its
# arguments; then what it carries.
_NAME, _QUALIFIED, _IDENTIFIER, _ARGUMENTS, _CARRIED = range(5)

_Kept = TypeVar("_Kept", "_LearnedFrame", None)
_Node = list[Any]
"""Target, test, and the nodes after no and yes, each a node, a leaf or None."""


class _Asked(NamedTuple):
    target: int
    pattern: str
    test: Callable[[str], re.Match[str] | None]
    found: re.Match[str] | None


class _Recorder(Asker):
    """Notes each question whose answer depends on numbers."""

    __slots__ = ("asked", "frame", "numbers", "origins")

    def __init__(
        self, name: str, spelling: Spelling, book: Rulebook, frame: Frame, numbers: tuple[str, ...]
    ) -> None:
        super().__init__(name, spelling, book)
        self.frame = frame
        self.numbers = numbers
        self.asked: list[_Asked] = []
        # Of rules that fit an identifier with numbers: the rule, the target, the question.
        self.origins: list[tuple[Candidate, int, int]] = []

    def _ask(
        self, target: int, pattern: str, test: Callable[[str], Any], text: str
    ) -> re.Match[str] | None:
        found: re.Match[str] | None = test(text)
        self.asked.append(_Asked(target, pattern, test, found))
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
        if self.frame.identifier.is_fixed:
            return super().own_candidates()
        return self._fitting(_IDENTIFIER, self.spelling.identifier)

    def own_shape(self, shape: str) -> re.Match[str] | None:
        if self.frame.identifier.is_fixed:
            return super().own_shape(shape)
        return self._ask(_IDENTIFIER, shape, regex(shape).match, self.spelling.identifier)

    def carried_candidates(self, place: int, identifier: str) -> tuple[Candidate, ...]:
        template = self.frame.carried[place] if place < len(self.frame.carried) else None
        # The end of what is looked at may cut an identifier.
        if template is None or template.fill(self.numbers) != identifier:
            if any(letter.isdigit() for letter in identifier):
                raise UnsteadyError
            return super().carried_candidates(place, identifier)
        if template.is_fixed:
            return super().carried_candidates(place, identifier)
        return self._fitting(_CARRIED + place, identifier)

    def search_arguments(self, pattern: str) -> re.Match[str] | None:
        if self.frame.arguments.is_fixed:
            return super().search_arguments(pattern)
        return self._ask(_ARGUMENTS, pattern, regex(pattern).search, self.plain_arguments)

    def match_name(self, pattern: str) -> re.Match[str] | None:
        test = regex(pattern).fullmatch
        return (
            self._ask(_NAME, pattern, test, self.name.strip())
            or self._ask(_QUALIFIED, pattern, test, self.qualified)
            or self._ask(_IDENTIFIER, pattern, test, self.spelling.identifier)
        )


class _Leaf(NamedTuple):
    """What holds for all names that give the same answers.

    Parameters
    ----------
    rule
        The rule that decides.
    subject
        The identifier that it decides on; None for the kernel's own.
    groups
        Named groups that depend on no number.
    shape_at, reads_at
        The questions whose answers hold further groups; -1 for none.
    arch_at
        The number that is the architecture; -1 for none.
    spelling
        Of the name that this was learned from.
    unnamed
        The fields but for what the groups say.
    told
        Where the short name comes from.
    shown
        Numbers that it shows from there.
    way
        How the short name was made; it tells other numbers where it is made another way.
    known
        All of a result but the name, by the groups and these numbers; None where names that share
        them are not to be expected.
    """

    rule: Rule
    subject: Template | str | None
    groups: dict[str, str]
    shape_at: int
    reads_at: int
    arch_at: int
    spelling: Spelling
    unnamed: Fields
    told: Told
    shown: tuple[int, ...]
    way: tuple[bool, bool]
    known: dict[Any, tuple[Any, ...]] | None


class NameReader:
    """Reads names by one set of rules.

    Parameters
    ----------
    book
        The rules.
    """

    def __init__(self, book: Rulebook) -> None:
        self.book = book
        self._vocabulary: Vocabulary | None = None
        self._mangled = MangledFrames()
        self._frames: dict[bytes, _LearnedFrame | None] = {}
        self._known: dict[str, KernelName] = {}
        self._room = [_MOST_KNOWN]

    def read(self, name: str) -> KernelName:
        """Say what a kernel is from its name alone."""
        known = self._known.get(name)
        if known is not None:
            return known
        if len(self._known) >= _MOST_NAMES:
            self._known.clear()
        kernel = self._known[name] = self.read_new(name)
        return kernel

    def read_new(self, name: str) -> KernelName:
        """Do the same without looking among the names that were read before."""
        text = self._steady_text(name)
        if text is None:
            return kernel_of(name, spelled(name), self.book)
        key = frame_of(text)
        frame = self._frames.get(key)
        if frame is None:
            if key not in self._frames:
                self._keep(key, None)  # learned from when it comes again
                return kernel_of(name, parts_of(text), self.book)
            frame = self._keep(key, _LearnedFrame(text, self.book, self._words(), self._room))
        return frame.read(name, text)

    def read_all(self, names: Sequence[str]) -> list[KernelName]:
        """Read names frame by frame, which takes half the time: what one needs is at hand.

        Parameters
        ----------
        names
            Names, each of them once.
        """
        kernels: list[Any] = [None] * len(names)
        texts: list[str | None] = [self._steady_text(name) for name in names]
        places: dict[bytes, list[int]] = {}
        for i, text in enumerate(texts):
            if text is None:
                kernels[i] = kernel_of(names[i], spelled(names[i]), self.book)
            else:
                places.setdefault(frame_of(text), []).append(i)
        for key, same in places.items():
            frame = self._frames.get(key)
            first = texts[same[0]] or ""
            if frame is None and len(same) > 1:
                frame = self._keep(key, _LearnedFrame(first, self.book, self._words(), self._room))
            if frame is None:
                kernels[same[0]] = kernel_of(names[same[0]], parts_of(first), self.book)
                continue
            for i in same:
                kernels[i] = frame.read(names[i], texts[i] or "")
        return kernels

    def _steady_text(self, name: str) -> str | None:
        """Return the text of a name, or None where its frame would not hold for other names."""
        if len(name) > _LONGEST:
            return None
        text = normal_text(name, self._mangled.demangled)
        if text.isascii() or not any(letter.isnumeric() for letter in text if letter > "\x7f"):
            return text
        return None

    def _keep(self, key: bytes, frame: _Kept) -> _Kept:
        if len(self._frames) >= _MOST_FRAMES:
            self._frames.clear()
            self._room[0] = _MOST_KNOWN
        self._frames[key] = frame
        return frame

    def _words(self) -> Vocabulary:
        if self._vocabulary is None:
            first = [one.rule for one, _ in self.book.first]
            self._vocabulary = Vocabulary([*first, *self.book.rules])
        return self._vocabulary


class _LearnedFrame:
    """The names of one frame."""

    def __init__(self, text: str, book: Rulebook, vocabulary: Vocabulary, room: list[int]) -> None:
        self.book = book
        # For how many more results, of all frames together.
        self._room = room
        self._trees: dict[tuple[str | int, ...], Any] = {}
        self._leaf_count = 0
        try:
            self._frame: Frame | None = Frame(text, numbers_in(text), vocabulary)
        except UnsteadyError:
            self._frame = None

    def read(self, name: str, text: str) -> KernelName:
        frame = self._frame
        if frame is None:
            return kernel_of(name, parts_of(text), self.book)
        numbers = numbers_in(text)
        try:
            key = frame.key(numbers, len(text))
        except UnsteadyError:
            return kernel_of(name, parts_of(text), self.book)
        node = self._trees.get(key)
        matches = []
        texts: dict[int, str] = {}
        while node.__class__ is list:
            target, test, no, yes = node
            asked = texts.get(target)
            if asked is None:
                asked = texts[target] = self._text(target, name, numbers)
            found = test(asked)
            matches.append(found)
            node = no if found is None else yes
        if node is None:
            return self._learn(name, text, numbers, key)
        return self._result(name, node, numbers, matches)

    def _text(self, target: int, name: str, numbers: tuple[str, ...]) -> str:
        frame = self._frame
        assert frame is not None
        if target == _IDENTIFIER:
            return frame.identifier.fill(numbers)
        if target == _ARGUMENTS:
            return frame.plain_arguments.fill(numbers)
        if target == _NAME:
            return name.strip()
        if target == _QUALIFIED:
            parts = (*frame.namespaces, frame.identifier)
            return "::".join([part.fill(numbers) for part in parts])
        template = frame.carried[target - _CARRIED]
        assert template is not None
        return template.fill(numbers)

    def _result(
        self,
        name: str,
        leaf: _Leaf,
        numbers: tuple[str, ...],
        matches: list[re.Match[str] | None],
    ) -> KernelName:
        shape = matches[leaf.shape_at] if leaf.shape_at >= 0 else None
        reads = matches[leaf.reads_at] if leaf.reads_at >= 0 else None
        arch = numbers[leaf.arch_at] if leaf.arch_at >= 0 else ""
        known = leaf.known
        if known is None:
            return self._described(name, leaf, numbers, (shape, reads, arch))[0]
        key = (
            shape and shape.groups(),
            reads and reads.groups(),
            arch,
            *[numbers[i] for i in leaf.shown],
        )
        found = known.get(key)
        if found is None:
            kernel, is_alike = self._described(name, leaf, numbers, (shape, reads, arch))
            if is_alike and self._room[0] > 0:
                self._room[0] -= 1
                known[key] = kernel[1:]
            return kernel
        return KernelName(name, *found)

    def _described(
        self,
        name: str,
        leaf: _Leaf,
        numbers: tuple[str, ...],
        found: tuple[re.Match[str] | None, re.Match[str] | None, str],
    ) -> tuple[KernelName, bool]:
        frame = self._frame
        assert frame is not None
        shape, reads, arch = found
        groups = leaf.groups if shape is None else named_groups(shape)
        if reads is not None:
            groups = {**groups, **named_groups(reads)}
        _, namespaces, arguments, parameters = leaf.spelling
        identifier = frame.identifier.fill(numbers)
        subject = leaf.subject
        if subject is None:
            subject = identifier
        elif not isinstance(subject, str):
            subject = subject.fill(numbers)
        unnamed = leaf.unnamed._replace(arch="sm" + arch) if arch else leaf.unnamed
        fields = fields_of(leaf.rule, groups, unnamed)
        way = _way(groups, fields)
        if not (frame.arguments.is_fixed or (leaf.told.arguments == "none" and way == leaf.way)):
            arguments = frame.arguments.fill(numbers)
        spelling = Spelling(identifier, namespaces, arguments, parameters)
        short = short_name(spelling, Candidate(leaf.rule, groups, subject), groups, fields)
        # What is shown by its name says nothing of another one.
        return described(name, short, leaf.rule, fields), bool(short) and way == leaf.way

    def _learn(
        self, name: str, text: str, numbers: tuple[str, ...], key: tuple[str | int, ...]
    ) -> KernelName:
        spelling = parts_of(text)
        frame = self._frame
        assert frame is not None
        if self._leaf_count >= _MOST_LEAVES:
            return kernel_of(name, spelling, self.book)
        self._leaf_count += 1
        recorder = _Recorder(name, spelling, self.book, frame, numbers)
        try:
            leaf = _leaf_of(recorder, decide(recorder), is_long=len(text) > TYPE_TEXT)
        except UnsteadyError:
            return kernel_of(name, spelling, self.book)
        self._trees[key] = _grown(self._trees.get(key), recorder.asked, leaf)
        return self._result(name, leaf, numbers, [one.found for one in recorder.asked])


def _leaf_of(recorder: _Recorder, decision: Decision, *, is_long: bool) -> _Leaf:
    spelling, asked = recorder.spelling, recorder.asked
    candidate, groups, _ = decision
    rule = candidate.rule
    reads_at = -1
    if rule.reads and asked and asked[-1].pattern in rule.reads and asked[-1].found:
        reads_at = len(asked) - 1
    shape_at, subject = _origin(recorder, decision)
    if shape_at >= 0 and reads_at < 0 and groups != candidate.groups:
        raise UnsteadyError
    unnamed = unnamed_fields(decision, spelling)
    fields = fields_of(rule, groups, unnamed)
    told = told_by(spelling, candidate, groups, fields)
    shown = _shown(recorder, subject, told)
    # Names that share all of the numbers that are shown are not to be expected.
    is_shared = len(shown) <= len(recorder.numbers) // 2
    return _Leaf(
        rule,
        subject,
        candidate.groups if reads_at >= 0 else groups,
        shape_at,
        reads_at,
        # Of a long name, every number that may be the architecture is part of the key.
        -1 if is_long else _architecture_at(recorder, unnamed.arch),
        spelling,
        unnamed,
        told,
        shown,
        _way(groups, fields),
        {} if is_shared else None,
    )


def _way(groups: dict[str, str], fields: Fields) -> tuple[bool, bool]:
    return "tile_m" in groups, bool(fields.head_dim)


def _shown(recorder: _Recorder, subject: Template | str | None, told: Told) -> tuple[int, ...]:
    frame = recorder.frame
    shown: list[int] = []
    if told.identifiers:
        shown.extend(range(frame.identifier.start, frame.identifier.stop))
        if subject is not None and not isinstance(subject, str):
            shown.extend(range(subject.start, subject.stop))
    arguments = range(frame.arguments.start, frame.arguments.stop)
    if told.arguments != "none":
        shown.extend(arguments if told.arguments == "all" else arguments[:1])
    return tuple(dict.fromkeys(shown))


def _architecture_at(recorder: _Recorder, arch: str) -> int:
    """Return which number `built_for` took for the architecture: the first that is one."""
    frame, numbers = recorder.frame, recorder.numbers
    of_identifier = range(frame.identifier.start, frame.identifier.stop)
    for i in sorted(frame.architectures, key=lambda i: i not in of_identifier):
        if i not in of_identifier and built_for(
            NO_RULE, Spelling("", recorder.spelling.namespaces)
        ):
            return -1
        if 2 <= len(numbers[i]) <= 3:
            if arch != "sm" + numbers[i]:
                raise UnsteadyError
            return i
    return -1


def _origin(recorder: _Recorder, decision: Decision) -> tuple[int, Template | str | None]:
    """Return which question gave the groups of a rule, and what it was decided on.

    None stands for the kernel's own identifier.
    """
    candidate = decision.candidate
    for one, target, question in recorder.origins:
        if one is candidate:
            carried = recorder.frame.carried
            return question, None if target == _IDENTIFIER else carried[target - _CARRIED]
    if decision.is_first:
        # It is the last question about the name or its identifier that decided.
        said = [i for i, one in enumerate(recorder.asked) if one.found and one.target < _ARGUMENTS]
        return (said[-1] if said else -1), None
    is_own = candidate.identifier == recorder.spelling.identifier
    return -1, None if is_own else candidate.identifier


def _grown(tree: Any, asked: list[_Asked], leaf: _Leaf) -> Any:
    """Return a tree in which the answers lead to a leaf."""
    if not asked:
        return leaf
    if tree is None:
        tree = [asked[0].target, asked[0].test, None, None]
    node: _Node = tree
    for i, one in enumerate(asked):
        side = 2 if one.found is None else 3
        if i + 1 == len(asked):
            node[side] = leaf
        elif node[side] is None:
            node[side] = [asked[i + 1].target, asked[i + 1].test, None, None]
        node = node[side]
    return tree
