"""Attribution of made-up traces equals the slow one, whatever nests, ties or crosses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.attribution import attributed, attribution_of, rows_of_tables
from support.traces import Call, Copy, Events, Kernel, MadeExport, Range, tables_of

from nsightlens.nsys import paths
from nsightlens.nsys.stacks import UNCLOSED, Stacks
from nsightlens.readers.trace import trace_of_export

if TYPE_CHECKING:
    from collections.abc import Callable

    from nsightlens.trace import Trace

# Few moments, so that starts, ends and calls coincide often.
_TIME = st.integers(0, 12)
_PROCESS = st.sampled_from((7, 8))
_THREAD = st.sampled_from((7, 9))
_DOMAIN = st.sampled_from((0, 0, 1, 2))
_TEXT = st.sampled_from(("step", "layer", "a/b", "", "ncclAllGather"))


@st.composite
def _nested(draw: st.DrawFn) -> list[Range]:
    """Return ranges that one thread pushed and popped in one domain, some of them never."""
    process, thread, domain = draw(_PROCESS), draw(_THREAD), draw(_DOMAIN)
    is_registered = draw(st.booleans())
    ranges: list[Range] = []
    stack: list[tuple[int, str]] = []
    now = draw(st.integers(0, 3))
    for is_push in draw(st.lists(st.booleans(), max_size=14)):
        now += draw(st.integers(0, 2))
        if is_push:
            stack.append((now, draw(_TEXT)))
        elif stack:
            start, text = stack.pop()
            ranges.append(_range(start, now, text, process, thread, domain, is_registered))
    ranges += [_range(s, None, text, process, thread, domain, is_registered) for s, text in stack]
    return ranges


def _range(
    start: int, end: int | None, text: str, process: int, thread: int, domain: int, registered: bool
) -> Range:
    return Range(
        start, end, text, process=process, thread=thread, domain=domain, is_registered=registered
    )


@st.composite
def _any_ranges(draw: st.DrawFn) -> list[Range]:
    """Return ranges of any extent: start/end ranges, or stacks that no program could have made."""
    kinds: tuple[Literal["start_end", "push_pop", "mark"], ...] = ("start_end", "push_pop", "mark")
    kind = draw(st.sampled_from(kinds))
    size = st.integers(0, 9)
    return [
        Range(
            start, draw(st.one_of(st.none(), st.just(start + draw(size)))), draw(_TEXT), kind,
            draw(_DOMAIN), draw(_PROCESS), draw(_THREAD),
        )
        for start in draw(st.lists(_TIME, max_size=6))
    ]  # fmt: skip


@st.composite
def _events(draw: st.DrawFn) -> Events:
    ids = st.one_of(st.none(), st.integers(1, 6))
    calls = [
        Call(start, start + 1, correlation=draw(ids), process=draw(_PROCESS), thread=draw(_THREAD))
        for start in sorted(draw(st.lists(_TIME, max_size=10, unique=True)))
    ]
    begun = draw(st.lists(_TIME, max_size=12, unique=True))
    kernels = [
        Kernel(
            start, start + 1, correlation=draw(ids), process=draw(st.one_of(st.none(), _PROCESS))
        )
        for start in begun
    ]
    copies = [Copy(start, start + 1, correlation=draw(ids), process=7) for start in begun[:3]]
    made = draw(st.lists(st.one_of(_nested(), _any_ranges()), max_size=5))
    return Events(
        kernels=kernels,
        copies=copies,
        calls=calls,
        ranges=[one for ranges in made for one in ranges],
        domains={(7, 1): "NCCL", (8, 2): "CCCL"},
    )


def _opened(events: Events) -> Trace:
    return trace_of_export(MadeExport(tables_of(events)), "made")


@settings(max_examples=100)
@given(events=_events())
def test_attribution_equals_the_reference(events: Events) -> None:
    """Every kernel and copy has the call, thread, path and innermost range that it should have."""
    tables = tables_of(events)
    trace = _opened(events)
    names = ("CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "StringIds")
    calls, nvtx, strings = (rows_of_tables(tables, name) for name in names)
    for table, kind in ((trace.kernels, "KERNEL"), (trace.copies, "MEMCPY")):
        rows = rows_of_tables(tables, f"CUPTI_ACTIVITY_KIND_{kind}")
        assert attribution_of(trace, table) == attributed(rows, calls, nvtx, strings)


@settings(max_examples=40)
@given(events=_events())
def test_the_range_around_a_range_was_open_on_its_thread(events: Events) -> None:
    """It is the last begun of those that were open when the range began, of any domain."""
    rows = _opened(events).ranges.to_pylist()
    pushed = [row for row in rows if row["kind"] == "push_pop"]
    for row in rows:
        around = [
            other["nvtx_range_id"]
            for other in pushed
            if row["kind"] == "push_pop"
            and other["nvtx_range_id"] < row["nvtx_range_id"]
            and (other["process_id"], other["thread_id"]) == (row["process_id"], row["thread_id"])
            and (other["end_ns"] is None or other["end_ns"] >= row["start_ns"])
            and not _was_popped(other, row["start_ns"], pushed)
        ]
        assert row["parent_range_id"] == max(around, default=None)


def _was_popped(row: dict[str, object], time: int, pushed: list[dict[str, object]]) -> bool:
    """Tell whether a range ended as the next one of its stack began, at this time."""
    if row["end_ns"] != time or row["start_ns"] == time:
        return False
    same = ("process_id", "thread_id", "domain")
    return any(
        all(other[name] == row[name] for name in same)
        and other["start_ns"] == time
        and (other["end_ns"] is None or other["end_ns"] > time)  # type: ignore[operator]
        for other in pushed
    )


@settings(max_examples=40)
@given(events=_events())
def test_small_limits_change_memory_and_not_results(events: Events) -> None:
    """Start/end ranges are looked at in pieces, which meet without a seam."""
    whole = _opened(events)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "_MOST_PAIRS", 1)
        assert _opened(events).kernels.equals(whole.kernels)


def _far(time: int) -> int:
    """Spread moments so far that a stack and a time do not fit into one number."""
    return (time - 6) * 2**58


@settings(max_examples=40)
@given(
    moments=st.lists(st.tuples(st.integers(0, 5), _TIME, _TIME), min_size=1, max_size=12),
    asked=st.lists(_TIME, min_size=1, max_size=5),
)
def test_moments_far_apart_are_told_apart(
    moments: list[tuple[int, int, int]], asked: list[int]
) -> None:
    """Times near both ends of what 64 bits hold give what small times give."""
    numbers = {one: at for at, one in enumerate(sorted({stack for stack, _, _ in moments}))}
    rows = sorted((numbers[stack], min(s, e), -max(s, e)) for stack, s, e in moments)
    near = _innermost(rows, asked, lambda time: time)
    assert _innermost(rows, asked, _far) == near


def _innermost(
    rows: list[tuple[int, int, int]], asked: list[int], spread: Callable[[int], int]
) -> list[int]:
    stack = np.array([one for one, _, _ in rows], dtype=np.int64)
    start = np.array([spread(one) for _, one, _ in rows], dtype=np.int64)
    end = np.array([UNCLOSED if one == -12 else spread(-one) for _, _, one in rows], np.int64)
    stacks = Stacks(stack, start, end)
    where = np.repeat(np.unique(stack), len(asked))
    when = np.tile(np.array([spread(one) for one in asked], np.int64), len(np.unique(stack)))
    return [int(one) for one in stacks.innermost(where, stacks.began_before(where, when), when)]
