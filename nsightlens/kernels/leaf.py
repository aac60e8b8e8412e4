"""What holds for all names of a frame that give the same answers: all but what numbers say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.kernels.engine import NO_RULE, unnamed_fields
from nsightlens.kernels.fields import built_for, fields_of
from nsightlens.kernels.frames import UnsteadyError
from nsightlens.kernels.questions import ARGUMENTS, CARRIED, IDENTIFIER
from nsightlens.kernels.shorten import told_by
from nsightlens.kernels.spelling import Spelling

if TYPE_CHECKING:
    from nsightlens.kernels.engine import Decision
    from nsightlens.kernels.fields import Fields
    from nsightlens.kernels.frames import Template
    from nsightlens.kernels.questions import Recorder
    from nsightlens.kernels.rule import Rule
    from nsightlens.kernels.shorten import Told

__all__ = ["Leaf", "leaf_of", "way_of"]


class Leaf(NamedTuple):
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


def leaf_of(recorder: Recorder, decision: Decision, *, is_long: bool) -> Leaf:
    """Return what the questions and answers of one name teach.

    Parameters
    ----------
    recorder
        What was asked on the way.
    decision
        Where it led.
    is_long
        Whether the name is longer than what is looked at for types.

    Raises
    ------
    UnsteadyError
        It need not hold for names that give the same answers.
    """
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
    return Leaf(
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
        way_of(groups, fields),
        {} if is_shared else None,
    )


def way_of(groups: dict[str, str], fields: Fields) -> tuple[bool, bool]:
    """Return what decides how a short name is made, beside the rule."""
    return "tile_m" in groups, bool(fields.head_dim)


def _shown(recorder: Recorder, subject: Template | str | None, told: Told) -> tuple[int, ...]:
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


def _architecture_at(recorder: Recorder, arch: str) -> int:
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


def _origin(recorder: Recorder, decision: Decision) -> tuple[int, Template | str | None]:
    """Return which question gave the groups of a rule, and what it was decided on.

    None stands for the kernel's own identifier.
    """
    candidate = decision.candidate
    for one, target, question in recorder.origins:
        if one is candidate:
            carried = recorder.frame.carried
            return question, None if target == IDENTIFIER else carried[target - CARRIED]
    if decision.is_first:
        # It is the last question about the name or its identifier that decided.
        said = [i for i, one in enumerate(recorder.asked) if one.found and one.target < ARGUMENTS]
        return (said[-1] if said else -1), None
    is_own = candidate.identifier == recorder.spelling.identifier
    return -1, None if is_own else candidate.identifier
