"""Which steps a trace has, and which activity belongs to which.

An activity belongs to the step in whose range the call was made that asked for it: the devices may
run it long after the range was closed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nsightlens.errors import FilterError
from nsightlens.patterns import expression_of, quoted
from nsightlens.steps import read_label
from nsightlens.steps.model import DEFAULT_DOMAIN, LAUNCH_PHASES
from nsightlens.timelines.activities import NO_VALUE, codes_of, distinct, whole_column

if TYPE_CHECKING:
    import re

    from numpy.typing import NDArray

    from nsightlens.timelines.activities import Activities
    from nsightlens.trace import Trace

__all__ = ["WHOLE_TRACE", "StepRanges", "step_of", "step_ranges"]

WHOLE_TRACE = "(trace)"
"""Name of the one step of a trace in which no range is one."""
_PUSH_POP, _START_END = "push_pop", "start_end"


class StepRanges(NamedTuple):
    """The ranges of a trace that are steps, in the order of their begin; s of them.

    Parameters
    ----------
    start_ns, end_ns, process_id, thread_id
        Of the range; thread `NO_VALUE` for a range of the whole process. Shape (s,).
    name
        Text of each.
    labels
        What the text says, as a dictionary of ``phase``, ``batch_size`` and ``step_index``.
    """

    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    process_id: NDArray[np.int64]
    thread_id: NDArray[np.int64]
    name: list[str]
    labels: list[dict[str, Any]]


def step_ranges(trace: Trace, steps_from: str | None = None) -> StepRanges:
    """Return the ranges that are steps, without those that lie in another one of their thread.

    Parameters
    ----------
    trace
        The trace.
    steps_from
        Regular expression that the names of steps contain; None for what the grammars know.

    Raises
    ------
    FilterError
        It is no regular expression, or no range has such a name.
    """
    ranges = trace.ranges
    name, names = codes_of(ranges, "name")
    domain, domains = codes_of(ranges, "domain")
    kind, kinds = codes_of(ranges, "kind")
    expression = _expression(steps_from)
    pairs, code = distinct(domain, name)
    known = [
        _read(names[n], domains[d], expression) for d, n in pairs
    ]  # one turn per distinct text
    is_step = np.array([one is not None for one in known], dtype=bool)
    keep = is_step[code] if len(code) else np.zeros(0, dtype=bool)
    of_kind = np.array([one in {_PUSH_POP, _START_END} for one in kinds], dtype=bool)
    keep &= of_kind[kind]
    start, end = (whole_column(ranges, one) for one in ("start_ns", "end_ns"))
    keep &= start != NO_VALUE
    at = np.flatnonzero(keep)
    if not len(at) and expression is not None:
        raise FilterError(
            f"--steps-from {quoted(str(steps_from))}: none of the {ranges.num_rows} NVTX ranges of "
            f"{trace.source} has such a name{_examples(names)}."
        )
    process, thread = (whole_column(ranges, one)[at] for one in ("process_id", "thread_id"))
    is_of_thread = np.array([one == _PUSH_POP for one in kinds], dtype=bool)[kind[at]]
    thread = np.where(is_of_thread, thread, NO_VALUE)
    start, end = start[at], np.where(end[at] == NO_VALUE, np.iinfo(np.int64).max, end[at])
    order = np.lexsort((-end, start, thread, process))
    outer = order[~_is_inside(start[order], end[order], process[order], thread[order])]
    outer = outer[np.argsort(start[outer], kind="stable")]
    text = [names[one] or "" for one in name[at][outer].tolist()]
    labels = [known[one] or {} for one in code[at][outer].tolist()]
    return StepRanges(start[outer], end[outer], process[outer], thread[outer], text, labels)


def _expression(text: str | None) -> re.Pattern[str] | None:
    if text is None:
        return None
    try:
        return expression_of(text)
    except ValueError as error:
        raise FilterError(
            f"--steps-from {quoted(text)} is no regular expression: {error}."
        ) from error


def _examples(names: list[str | None]) -> str:
    some = [quoted(one) for one in names if one][:3]
    return f". There are, for example, {', '.join(some)}" if some else ""


def _read(
    name: str | None, domain: str | None, expression: re.Pattern[str] | None
) -> dict[str, Any] | None:
    """Return what a text says of a step; None where it is none."""
    if not name:
        return None
    label = read_label(name, domain or DEFAULT_DOMAIN)
    if expression is not None:
        if expression.search(name) is None:
            return None
    elif not label.is_step:
        return None
    return {
        "phase": label.phase if label.phase in LAUNCH_PHASES else None,
        "batch_size": label.batch_size,
        "step_index": label.step_index,
    }


def _is_inside(
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    process: NDArray[np.int64],
    thread: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return which ranges lie in another one of the same thread. Sorted by thread, start, -end."""
    inside = np.zeros(len(start), dtype=bool)
    if not len(start):
        return inside
    is_new = np.ones(len(start), dtype=bool)
    is_new[1:] = (process[1:] != process[:-1]) | (thread[1:] != thread[:-1])
    for rows in np.split(np.arange(len(start)), np.flatnonzero(is_new)[1:]):  # one turn per thread
        reach = np.maximum.accumulate(end[rows])
        inside[rows[1:]] = end[rows[1:]] <= reach[:-1]
    return inside


def step_of(activities: Activities, steps: StepRanges) -> NDArray[np.int64]:
    """Return the step of each activity, -1 where its call was made in none. Shape (n,).

    A range of the thread that made the call wins over one of the whole process.
    """
    number = activities.number
    found = np.full(len(activities), -1, dtype=np.int64)
    asked = number["api_start_ns"]
    for thread in (NO_VALUE, None):
        is_mine = steps.thread_id == NO_VALUE if thread is NO_VALUE else steps.thread_id != NO_VALUE
        mine = np.flatnonzero(is_mine)
        if not len(mine):
            continue
        own = [steps.process_id[mine], steps.thread_id[mine]]
        theirs = [
            number["process_id"],
            np.full(len(activities), NO_VALUE) if thread is NO_VALUE else number["thread_id"],
        ]
        lane, of_activity = _lanes(own, theirs)
        order = np.lexsort((steps.start_ns[mine], lane))
        at = _last_before(lane[order], steps.start_ns[mine][order], of_activity, asked)
        candidate = np.append(mine[order], -1)[at]
        is_in = (candidate >= 0) & (of_activity >= 0) & (asked != NO_VALUE)
        is_in &= asked <= np.append(steps.end_ns, NO_VALUE)[candidate]
        found = np.where(is_in, candidate, found)
    return found


def _lanes(
    own: list[NDArray[np.int64]], theirs: list[NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return one number per pair of process and thread; -1 for those that have no step."""
    lanes, code = distinct(*(np.concatenate(pair) for pair in zip(own, theirs, strict=True)))
    count = len(own[0])
    is_own = np.zeros(len(lanes), dtype=bool)
    is_own[code[:count]] = True
    return code[:count], np.where(is_own[code[count:]], code[count:], -1)


def _last_before(
    lane: NDArray[np.int64],
    start: NDArray[np.int64],
    wanted_lane: NDArray[np.int64],
    time: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the last row of each wanted lane that starts at or before a time; -1: none.

    Rows are sorted by lane and start.
    """
    found = np.full(len(time), -1, dtype=np.int64)
    for (one,) in distinct(lane)[0]:  # one turn per thread that has steps
        mine, theirs = np.flatnonzero(lane == one), np.flatnonzero(wanted_lane == one)
        at = np.searchsorted(start[mine], time[theirs], side="right") - 1
        found[theirs] = np.where(at >= 0, np.append(mine, -1)[at], -1)
    return found
