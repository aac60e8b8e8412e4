"""Push/pop ranges: which of them are open at a moment, on many stacks at once.

A stack is that of one thread in one domain. What is on it nests, so that the ranges that are open
at a moment are the innermost one and what it lies in: a moment needs one look-up, however deep the
stack. With s ranges that began by then and e that ended before, s - e are open, and the innermost
is the last to begin of those that began at depth s - e - 1.

Where the ranges of a stack do not nest, as in an export that was put together from parts, the
look-up would be wrong; such stacks are walked through one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nsightlens.arrays import run_starts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

__all__ = ["UNCLOSED", "Stacks"]

UNCLOSED = 2**63 - 1
"""[ns] End of a range that the trace does not see end: it is open from its start on."""


class Stacks:
    """The push/pop ranges of some stacks.

    A range is open from its start to its end, both included. One that ends in the very nanosecond
    in which another begins on its stack was closed before that one was opened.

    Parameters
    ----------
    stack
        Number of the stack of each range, from 0 and without gaps, ascending. Shape (n,).
    start, end
        [ns] When each range began and ended; `UNCLOSED` for one without end. On each stack in the
        order of ``start``, the one that ends later first. Shape (n,).
    """

    def __init__(self, stack: Numbers, start: Numbers, end: Numbers) -> None:
        self.count = len(stack)
        self.stack = stack
        self._start = start
        self._scale = _Scale(stack, start, end)
        key = self._scale.keys(stack, start)
        self._start_keys = key
        end = _closed_before_next(self._scale, stack, start, end, key)
        self._end = end
        self._end_keys = np.sort(self._scale.keys(stack, end))
        self._first = np.searchsorted(stack, np.arange(self._scale.stack_count + 1))
        self.depth = self._open_count(stack, np.arange(self.count), start)
        self._build_levels()
        self.parent = self._innermost_nested(stack, np.arange(self.count), self.depth)
        has_parent = self.parent >= 0
        is_crossing = np.zeros(self.count, dtype=bool)
        is_crossing[has_parent] = end[has_parent] > end[self.parent[has_parent]]
        self.is_crossed = np.zeros(self._scale.stack_count, dtype=bool)
        self.is_crossed[stack[is_crossing]] = True
        """Whether the ranges of each stack do not nest: its depths mean nothing."""
        crossed = np.flatnonzero(self.is_crossed[stack])
        if len(crossed):
            self.parent[crossed] = self.innermost(stack[crossed], crossed, start[crossed])

    def began_before(self, stack: Numbers, time: Numbers) -> Numbers:
        """Return how many ranges of all stacks to the left, and of these ones, began by a time.

        That is the position after the last range of each stack that began by then. Shape (q,).
        """
        return np.searchsorted(self._start_keys, self._scale.keys(stack, time), side="right")

    def innermost(self, stack: Numbers, before: Numbers, time: Numbers) -> Numbers:
        """Return the innermost range that is open, -1 where none is.

        Parameters
        ----------
        stack
            Where to look. Shape (q,).
        before
            Position of the first range that does not count: see `began_before`. Shape (q,).
        time
            [ns] When: no earlier than the start of what counts. Shape (q,).
        """
        found = self._innermost_nested(stack, before, self._open_count(stack, before, time))
        for at, ranges in self.open_in_crossed(stack, before, time):
            found[at] = ranges[-1] if len(ranges) else -1
        return found

    def open_in_crossed(
        self, stack: Numbers, before: Numbers, time: Numbers
    ) -> Iterator[tuple[int, list[int]]]:
        """Yield each question to a stack that does not nest, and what is open, first begun first.

        Parameters
        ----------
        stack, before, time
            As in `innermost`.
        """
        if not self.is_crossed.any():
            return
        asked = np.flatnonzero(self.is_crossed[stack])
        asked = asked[np.lexsort((time[asked], before[asked], stack[asked]))]
        last, begun, is_open = -1, 0, list[int]()
        for at in asked.tolist():
            if stack[at] != last:
                last = int(stack[at])
                begun, is_open = int(self._first[last]), []
            new = range(begun, max(begun, int(before[at])))
            begun = new.stop
            now = int(time[at])
            is_open = [one for one in (*is_open, *new) if self._end[one] >= now]
            yield at, list(is_open)

    def _open_count(self, stack: Numbers, before: Numbers, time: Numbers) -> Numbers:
        """Return how many of the ranges that count are open, where they nest."""
        ended = np.searchsorted(self._end_keys, self._scale.keys(stack, time), side="left")
        return before - ended

    def _build_levels(self) -> None:
        """Sort ranges by stack and depth, so that the last to begin of a depth can be found."""
        order = np.lexsort((np.arange(self.count), self.depth, self.stack))
        is_first = run_starts(self.stack[order], self.depth[order])
        level = np.cumsum(is_first) - 1
        self._by_level = order
        # Both factors are at most the number of ranges, so the product fits.
        self._level_keys = level * (self.count + 1) + order
        # Depths of a stack that nests have no gap, so its levels follow its first one.
        first = np.searchsorted(self.stack[order], np.arange(self._scale.stack_count))
        self._first_level = level[first] if self.count else np.zeros(0, dtype=np.int64)

    def _innermost_nested(self, stack: Numbers, before: Numbers, open_count: Numbers) -> Numbers:
        found = np.full(len(stack), -1, dtype=np.int64)
        at = np.flatnonzero(open_count > 0)
        if not len(at):
            return found
        level = self._first_level[stack[at]] + open_count[at] - 1
        key = level * (self.count + 1) + before[at]
        # A stack that does not nest may lead anywhere; what is found there is not used.
        place = np.maximum(np.searchsorted(self._level_keys, key, side="left") - 1, 0)
        found[at] = self._by_level[place]
        return found


class _Scale:
    """Makes one ascending number of a stack and a time."""

    def __init__(self, stack: Numbers, start: Numbers, end: Numbers) -> None:
        self.stack_count = int(stack[-1]) + 1 if len(stack) else 0
        is_closed = end != UNCLOSED
        times = (start, end[is_closed])
        known = [one for one in times if len(one)]
        self._first = min(int(one.min()) for one in known) if known else 0
        last = max(int(one.max()) for one in known) if known else 0
        span = last - self._first + 3
        # Times are taken as they are where that fits, and else by their rank.
        self._times = None
        if span * max(self.stack_count, 1) >= UNCLOSED:
            self._times = np.unique(np.concatenate(times))
            span = 2 * len(self._times) + 3
        self._span = span

    def keys(self, stack: Numbers, time: Numbers) -> Numbers:
        """Return the numbers; times outside of those of all ranges keep their side of them."""
        if self._times is None:
            # Clipped before the subtraction, which would overflow for a range without end.
            late = self._first + self._span - 2
            return stack * self._span + (np.clip(time, self._first - 1, late) - self._first + 1)
        low = np.searchsorted(self._times, time, side="left")
        high = np.searchsorted(self._times, time, side="right")
        # An odd number is a known time, an even one lies between two.
        return stack * self._span + low + high


def _closed_before_next(
    scale: _Scale, stack: Numbers, start: Numbers, end: Numbers, start_keys: Numbers
) -> Numbers:
    """Let ranges end a nanosecond earlier where the next one on their stack begins as they end."""
    if not len(stack):
        return end
    lasts = np.flatnonzero(end > start)
    opening = start_keys[lasts]
    closing = scale.keys(stack[lasts], end[lasts])
    place = np.minimum(np.searchsorted(opening, closing, side="left"), len(opening) - 1)
    touches = lasts[(opening[place] == closing) & (end[lasts] != UNCLOSED)]
    if not len(touches):
        return end
    shortened = end.copy()
    shortened[touches] -= 1
    return shortened
