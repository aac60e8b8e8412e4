"""What was learned from names of one frame, and how a name of the frame is read by it.

For the second name of a frame the questions and answers are noted as a tree (`questions`), which
ends in what was found (`leaf`). Later names of the frame are only asked what is in the tree; a new
answer leads back to `engine`, and into the tree. Everything else that `engine` looks at is the same
for all names that share the frame and the numbers that words depend on (`frames`), so the result is
the same, in less than half the time: `tests/property/test_learned_names.py` holds the two equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.kernels.engine import decide, described, kernel_of
from nsightlens.kernels.fields import TYPE_TEXT, fields_of
from nsightlens.kernels.frames import Frame, UnsteadyError, numbers_in
from nsightlens.kernels.leaf import leaf_of, way_of
from nsightlens.kernels.model import KernelName
from nsightlens.kernels.questions import (
    ARGUMENTS,
    CARRIED,
    IDENTIFIER,
    NAME,
    QUALIFIED,
    Recorder,
    grown,
)
from nsightlens.kernels.rulebook import Candidate, named_groups
from nsightlens.kernels.shorten import short_name
from nsightlens.kernels.spelling import Spelling, parts_of

if TYPE_CHECKING:
    import re

    from nsightlens.kernels.frames import Vocabulary
    from nsightlens.kernels.leaf import Leaf
    from nsightlens.kernels.rulebook import Rulebook

__all__ = ["LearnedFrame", "Room", "frame_bytes"]

# Of one frame; a frame whose names are all different in what matters is not worth more memory.
_MOST_LEAVES = 256
# [byte] About what a frame, a leaf and a result take, beside what grows with the name; measured.
_FRAME, _LEAF, _RESULT = 4000, 2500, 700
# [byte] The same of each character of the name.
_PER_CHARACTER = 16


def frame_bytes(length: int) -> int:
    """Return about what a frame takes without its leaves [byte].

    Parameters
    ----------
    length
        [character] Of its text.
    """
    return _FRAME + _PER_CHARACTER * length


class Room:
    """How much more may be remembered of all frames together.

    Parameters
    ----------
    frames, results
        [byte] At first. What Python objects take is estimated, so this is a bound within a factor.
    """

    def __init__(self, frames: int, results: int) -> None:
        self._frames = frames
        self._results = results

    def take_for_frames(self, size: int) -> bool:
        """Say whether there is room for a frame or leaf of so many bytes, and take it."""
        if size > self._frames:
            return False
        self._frames -= size
        return True

    def take_for_result(self, length: int) -> bool:
        """Say whether there is room for the result of a name of this length, and take it."""
        size = _RESULT + length
        if size > self._results:
            return False
        self._results -= size
        return True


class LearnedFrame:
    """The names of one frame."""

    def __init__(self, text: str, book: Rulebook, vocabulary: Vocabulary, room: Room) -> None:
        self.book = book
        self._room = room
        self._trees: dict[tuple[str | int, ...], Any] = {}
        self._leaf_count = 0
        try:
            self._frame: Frame | None = Frame(text, numbers_in(text), vocabulary)
        except UnsteadyError:
            self._frame = None

    def read(self, name: str, text: str) -> KernelName:
        """Read a name of this frame.

        Parameters
        ----------
        name
            As it was given.
        text
            What `normal_text` makes of it.
        """
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
        if target == IDENTIFIER:
            return frame.identifier.fill(numbers)
        if target == ARGUMENTS:
            return frame.plain_arguments.fill(numbers)
        if target == NAME:
            return name.strip()
        if target == QUALIFIED:
            parts = (*frame.namespaces, frame.identifier)
            return "::".join([part.fill(numbers) for part in parts])
        template = frame.carried[target - CARRIED]
        assert template is not None
        return template.fill(numbers)

    def _result(
        self,
        name: str,
        leaf: Leaf,
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
            if is_alike and self._room.take_for_result(len(name)):
                known[key] = kernel[1:]
            return kernel
        return KernelName(name, *found)

    def _described(
        self,
        name: str,
        leaf: Leaf,
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
        way = way_of(groups, fields)
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
        if self._leaf_count >= _MOST_LEAVES or not self._room.take_for_frames(
            _LEAF + 2 * len(text)
        ):
            return kernel_of(name, spelling, self.book)
        self._leaf_count += 1
        recorder = Recorder(name, spelling, self.book, frame, numbers)
        try:
            leaf = leaf_of(recorder, decide(recorder), is_long=len(text) > TYPE_TEXT)
        except UnsteadyError:
            return kernel_of(name, spelling, self.book)
        self._trees[key] = grown(self._trees.get(key), recorder.asked, leaf)
        return self._result(name, leaf, numbers, [one.found for one in recorder.asked])
