"""What a user says of the steps where the NVTX ranges of a report do not: `StepRules`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nsightlens.errors import FilterError
from nsightlens.patterns import expression_of, nearest, quoted
from nsightlens.steps.model import LARGEST

if TYPE_CHECKING:
    import re

__all__ = ["GROUPS", "NO_STEP_RULES", "StepRules", "compiled", "found_in"]

GROUPS = {
    "batch_size": "batch_size",
    "batch": "batch_size",
    "phase": "phase",
    "context_length": "context_length",
    "context": "context_length",
    "query_tokens": "query_tokens",
    "kv_tokens": "kv_tokens",
    "step_index": "step_index",
}
"""Named groups that an expression may have, and the column that each of them fills."""

_PHASES = ("prefill", "decode", "mixed")


class StepRules(NamedTuple):
    """Where the batch size of a launch comes from, where no label says it.

    Parameters
    ----------
    batch_from
        Regular expressions with named groups, `GROUPS`, to be found in the NVTX path, the path of
        the report as it was given, or the command line of the process, in this order; the first of
        these places in which one is found counts.
    batch_size
        Sequences of every step of which nothing else says them.
    """

    batch_from: tuple[str, ...] = ()
    batch_size: int | None = None


NO_STEP_RULES = StepRules()


def compiled(rules: StepRules) -> tuple[re.Pattern[str], ...]:
    """Return the expressions of some rules, ready to search with.

    Raises
    ------
    FilterError
        One of them is none, or has no named group that is known, or the batch size is none.

    Examples
    --------
    >>> compiled(StepRules((r"bs(?P<batch>[0-9]+)",)))[0].search("run_bs8.ncu-rep")["batch"]
    '8'
    """
    size = rules.batch_size
    if size is not None and not 0 < size <= LARGEST:
        raise FilterError(f"--batch-size {size}: a batch size is a whole number from 1 on.")
    return tuple(map(_expression, rules.batch_from))


def _expression(text: str) -> re.Pattern[str]:
    named = f"--batch-from {quoted(text)}"
    try:
        expression = expression_of(text)
    except ValueError as error:
        raise FilterError(f"{named} is no regular expression: {error}.") from error
    known = ", ".join(GROUPS)
    for group in expression.groupindex:
        if group not in GROUPS:
            meant = "".join(f" Did you mean {name}?" for name in nearest(group, GROUPS))
            raise FilterError(
                f"{named} has a group {group}, which stands for nothing.{meant} Known are {known}."
            )
    if not expression.groupindex:
        raise FilterError(
            f"{named} has no named group: write (?P<batch_size>[0-9]+) where the batch size "
            f"stands. Known are {known}."
        )
    return expression


def found_in(text: str, expressions: tuple[re.Pattern[str], ...]) -> dict[str, int | str]:
    """Return what the first expression that finds anything takes from a text, by column.

    A number that is no positive whole number, and a phase that is none, are not taken.

    Examples
    --------
    >>> found_in("bs08_ctx0", compiled(StepRules(("bs(?P<batch>[0-9]+)",))))
    {'batch_size': 8}
    """
    for expression in expressions:
        match = expression.search(text)
        if match is None:
            continue
        taken: dict[str, int | str] = {}
        for group, value in match.groupdict().items():
            read = _phase(value) if GROUPS[group] == "phase" else _number(GROUPS[group], value)
            if read is not None:
                taken.setdefault(GROUPS[group], read)
        if taken:
            return taken
    return {}


def _phase(text: str | None) -> str | None:
    phase = (text or "").lower()
    return phase if phase in _PHASES else None


def _number(column: str, text: str | None) -> int | None:
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > 18:
        return None
    least = 0 if column == "step_index" else 1
    return int(text) if int(text) >= least else None
