"""Arithmetic of time intervals, exact to the nanosecond: unions, gaps and what lies within.

Intervals are half open, [start, end), as int64 arrays of equal length. A set is *merged* where its
intervals are sorted, apart from one another and not empty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Intervals", "covered_before", "covered_within", "merged", "without"]

Times = NDArray[np.int64]


class Intervals(NamedTuple):
    """A merged set: n intervals and what they cover up to each. Shapes (n,)."""

    start: Times
    end: Times

    @property
    def covered_ns(self) -> int:
        """Length of all of it."""
        return int((self.end - self.start).sum())


def merged(start: Times, end: Times) -> Intervals:
    """Return the union of intervals; those that touch become one.

    Examples
    --------
    >>> union = merged(np.array([5, 0, 2]), np.array([6, 3, 4]))
    >>> union.start.tolist(), union.end.tolist()
    ([0, 5], [4, 6])
    """
    is_real = end > start
    start, end = start[is_real], end[is_real]
    order = np.argsort(start, kind="stable")
    start, reach = start[order], np.maximum.accumulate(end[order]) if len(order) else end[order]
    is_first = np.ones(len(start), dtype=bool)
    is_first[1:] = start[1:] > reach[:-1]
    is_last = np.append(is_first[1:], True) if len(start) else is_first
    return Intervals(start[is_first].astype(np.int64), reach[is_last].astype(np.int64))


def covered_before(union: Intervals, time: Times) -> Times:
    """Return how much of a merged set lies before each time. Shape of ``time``.

    Examples
    --------
    >>> covered_before(Intervals(np.array([0, 10]), np.array([4, 12])), np.array([2, 11])).tolist()
    [2, 5]
    """
    length = union.end - union.start
    total = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
    at = np.searchsorted(union.start, time, side="right")
    if not len(union.start):
        return np.zeros(np.shape(time), dtype=np.int64)
    last = np.maximum(at - 1, 0)
    over = np.clip(union.end[last] - time, 0, None)
    found: Times = np.where(at > 0, total[at] - over, 0)
    return found


def covered_within(union: Intervals, start: Times, end: Times) -> Times:
    """Return how much of a merged set lies within each interval [start, end)."""
    found: Times = covered_before(union, end) - covered_before(union, start)
    return found


def without(union: Intervals, other: Intervals) -> Intervals:
    """Return the parts of one merged set that another does not cover.

    Examples
    --------
    >>> whole, part = merged(np.array([0]), np.array([9])), merged(np.array([2]), np.array([5]))
    >>> left = without(whole, part)
    >>> left.start.tolist(), left.end.tolist()
    ([0, 5], [2, 9])
    """
    # Stable: of runs that are sorted already, which it merges.
    cut = np.sort(np.concatenate([union.start, union.end, other.start, other.end]), kind="stable")
    start, end = cut[:-1], cut[1:]
    keep = (covered_within(union, start, end) > 0) & (covered_within(other, start, end) == 0)
    return merged(start[keep], end[keep])
