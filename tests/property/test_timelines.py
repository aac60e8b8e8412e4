"""Arithmetic of intervals equals counting single nanoseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nsightlens.timelines.intervals import covered_before, covered_within, merged, without

if TYPE_CHECKING:
    import random

    from numpy.typing import NDArray

    from nsightlens.timelines.intervals import Intervals

# Short and few, so that they overlap, touch, are equal and are empty; the offset is that of a trace
# whose times no float64 holds exactly.
OFFSET = 2**60
PAIRS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=12)


def arrays(pairs: list[tuple[int, int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return begin and end of intervals that are given as begin and length."""
    start = np.array([OFFSET + begin for begin, _ in pairs], dtype=np.int64)
    return start, start + np.array([length for _, length in pairs], dtype=np.int64)


def nanoseconds(pairs: list[tuple[int, int]]) -> set[int]:
    """Return each nanosecond that any of them covers."""
    return {OFFSET + begin + at for begin, length in pairs for at in range(length)}


def of_union(union: Intervals) -> set[int]:
    """Return each nanosecond of a merged set, which has none twice."""
    parts = [range(a, b) for a, b in zip(union.start.tolist(), union.end.tolist(), strict=True)]
    every = [at for part in parts for at in part]
    assert len(every) == len(set(every))
    return set(every)


@given(pairs=PAIRS)
@settings(max_examples=150)
def test_a_union_is_the_nanoseconds_that_any_interval_covers(pairs: list[tuple[int, int]]) -> None:
    """In order, apart from one another, and never longer than the span of all of them."""
    start, end = arrays(pairs)
    union = merged(start, end)
    assert of_union(union) == nanoseconds(pairs)
    assert (union.start[1:] > union.end[:-1]).all()
    assert union.covered_ns == len(nanoseconds(pairs))
    if pairs:
        assert union.covered_ns <= int(end.max() - start.min())


@given(pairs=PAIRS, order=st.randoms(use_true_random=False))
@settings(max_examples=50)
def test_a_union_does_not_depend_on_the_order(
    pairs: list[tuple[int, int]], order: random.Random
) -> None:
    """An export gives its rows in any order."""
    shuffled = list(pairs)
    order.shuffle(shuffled)
    one, other = merged(*arrays(pairs)), merged(*arrays(shuffled))
    assert one.start.tolist() == other.start.tolist()
    assert one.end.tolist() == other.end.tolist()


@given(pairs=PAIRS, windows=PAIRS)
@settings(max_examples=150)
def test_what_a_window_holds_is_counted_exactly(
    pairs: list[tuple[int, int]], windows: list[tuple[int, int]]
) -> None:
    """At both borders to the nanosecond, for windows that overlap or are empty too."""
    union, covered = merged(*arrays(pairs)), nanoseconds(pairs)
    start, end = arrays(windows)
    within = covered_within(union, start, end).tolist()
    assert within == [len(covered & nanoseconds([window])) for window in windows]
    before = covered_before(union, start).tolist()
    assert before == [sum(at < time for at in covered) for time in start.tolist()]


@given(pairs=PAIRS, others=PAIRS)
@settings(max_examples=150)
def test_what_others_do_not_cover_is_left(
    pairs: list[tuple[int, int]], others: list[tuple[int, int]]
) -> None:
    """Copies less kernels is the time of copies that nothing hides."""
    left = without(merged(*arrays(pairs)), merged(*arrays(others)))
    assert of_union(left) == nanoseconds(pairs) - nanoseconds(others)
