"""The NVTX ranges that are open at moments of threads, as one text per moment.

The text is that of ``launches.nvtx_path``: the push/pop stack of the thread in each domain, joined
by ``/``, and the start/end ranges of the process; these parts are joined by ``;``, domain by domain
in the order of their numbers, as ncu lists them, each with ``domain@`` in front unless it is the
default one.

Distinct texts are few where moments and ranges are many. So texts are made once per distinct text:
those of a stack level by level, from the text of the range around and a name.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.arrays import number_array, positions_in_runs, run_starts
from nsightlens.errors import NotATraceError
from nsightlens.nsys.stacks import Stacks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

__all__ = ["DEEPEST", "MOST_OPEN", "Moments", "Paths", "Ranges", "RangesOpen"]

DEEPEST = 256
"""Levels of a stack that a path names, from the outermost on; deeper ones are ranges that a program
pushes and never pops."""

MOST_OPEN = 64
"""Start/end ranges of one domain that a path names, the last begun ones, such as requests that are
served at the same time."""

_LONGEST_TEXTS = 1 << 28
"""[character] Of the distinct paths of a trace: far beyond what people read."""

_MOST_PAIRS = 1 << 20
"""Of start/end ranges and moments, looked at in one go: bounds the memory, as their texts do."""


class Ranges(NamedTuple):
    """NVTX ranges, in the order of ``start``, the one that ends later first. Shape (n,) each."""

    is_push_pop: NDArray[np.bool_]
    is_start_end: NDArray[np.bool_]
    thread: Numbers
    """Identity of the thread that opened it."""
    process: Numbers
    """Identity of its process."""
    domain: Numbers
    start: Numbers
    end: Numbers
    """`nsightlens.nsys.stacks.UNCLOSED` where there is none."""
    name: Numbers
    """Position of its text in ``names``; the last one, an empty text, where it has none."""
    names: pa.StringArray
    domains: Mapping[tuple[int, int], str]
    """Name of a domain by process and number; none for the default one."""


class Moments(NamedTuple):
    """Moments of threads. Shape (q,) each."""

    thread: Numbers
    process: Numbers
    time: Numbers


class Paths(NamedTuple):
    """What is open at moments. Shape (q,) each."""

    code: Numbers
    """Position of the path in ``texts``, -1 where nothing is open."""
    texts: pa.StringArray
    innermost: Numbers
    """The last begun push/pop range of the thread, of any domain, that is open; -1 for none."""


class RangesOpen:
    """Finds the ranges that are open at moments.

    Parameters
    ----------
    ranges
        The ranges of a trace.
    shown
        What messages call the trace.
    """

    def __init__(self, ranges: Ranges, shown: str) -> None:
        self._ranges = ranges
        self._shown = shown
        self.is_cut = False
        """Whether a path had to leave out ranges: see `DEEPEST` and `MOST_OPEN`."""
        rows = np.flatnonzero(ranges.is_push_pop)
        owner, domain = ranges.thread[rows], ranges.domain[rows]
        order = np.lexsort((domain, owner))
        self._rows = rows[order]
        self._stack_of = _Grouped(owner[order], domain[order])
        self._stacks = Stacks(
            self._stack_of.group, ranges.start[self._rows], ranges.end[self._rows]
        )
        rows = np.flatnonzero(ranges.is_start_end)
        owner, domain = ranges.process[rows], ranges.domain[rows]
        order = np.lexsort((domain, owner))
        self._loose_rows = rows[order]
        self._loose_of = _Grouped(owner[order], domain[order])
        self.crossed_count = int(np.count_nonzero(self._stacks.is_crossed))
        """Stacks of threads whose push/pop ranges do not nest."""

    def parents(self) -> Numbers:
        """Return the push/pop range of the same thread around each one, of any domain; else -1.

        Around means: open when it began, and the last of those to begin. Shape (n,).
        """
        parents = np.full(len(self._ranges.start), -1, dtype=np.int64)
        stacks, rows = self._stacks, self._rows
        own = stacks.parent
        found = np.where(own >= 0, rows[own], -1) if len(rows) else own
        # Ranges of the thread's other domains may lie between.
        stack = self._stack_of.group
        first, count = self._stack_of.of_owner(self._stack_of.owner[stack])
        keys = stack * (len(parents) + 1) + rows
        for k in range(int(count.max()) if len(count) else 0):
            at = np.flatnonzero((k < count) & (first + k != stack))
            if not len(at):
                continue
            other = first[at] + k
            before = np.searchsorted(keys, other * (len(parents) + 1) + rows[at])
            open_there = stacks.innermost(other, before, self._ranges.start[rows[at]])
            is_open = open_there >= 0
            at, open_there = at[is_open], open_there[is_open]
            found[at] = np.maximum(found[at], rows[open_there])
        parents[rows] = found
        return parents

    def at(self, moments: Moments) -> Paths:
        """Return the paths of moments, and the innermost push/pop ranges.

        Raises
        ------
        NotATraceError
            The distinct paths would fill the memory.
        """
        threads, thread = np.unique(moments.thread, return_inverse=True)
        thread = thread.reshape(-1)
        process = np.zeros(len(threads), dtype=np.int64)
        process[thread] = moments.process
        kinds, groups = self._slots(threads, process)
        innermost = np.full(len(thread), -1, dtype=np.int64)
        code = np.full(len(thread), -1, dtype=np.int64)
        texts = pa.array([], pa.string())
        for kind, group in zip(kinds, groups, strict=True):
            part = np.full(len(thread), -1, dtype=np.int64)
            part_texts: list[pa.StringArray] = []
            asked = np.flatnonzero(kind[thread] == _STACK)
            if len(asked):
                own, found = self._on_stacks(group[thread[asked]], moments.time[asked])
                innermost[asked] = np.maximum(innermost[asked], own)
                part[asked] = found.code
                part_texts.append(found.texts)
            for loose in np.unique(group[kind == _LOOSE]).tolist():
                asked = np.flatnonzero((kind[thread] == _LOOSE) & (group[thread] == loose))
                found = self._together(loose, moments.time[asked])
                offset = sum(len(one) for one in part_texts)
                part[asked] = np.where(found.code >= 0, found.code + offset, -1)
                part_texts.append(found.texts)
            if part_texts:
                more = pa.concat_arrays(part_texts)
                code, texts = self._joined(code, texts, part, more)
        return Paths(*_distinct(code, texts), innermost)

    def _slots(self, threads: Numbers, process: Numbers) -> tuple[list[Numbers], list[Numbers]]:
        """Return for the first, second, ... part of a path what it is of, by thread.

        That is `_STACK` or `_LOOSE`, or -1 for no part, and the number of the group.
        """
        stacks = zip(*(one.tolist() for one in self._stack_of.of_owner(threads)), strict=True)
        loose = zip(*(one.tolist() for one in self._loose_of.of_owner(process)), strict=True)
        by_thread = []
        for (stack, stack_count), (group, count) in zip(stacks, loose, strict=True):
            parts = [
                *(
                    (int(self._stack_of.domain[i]), _STACK, i)
                    for i in range(stack, stack + stack_count)
                ),
                *((int(self._loose_of.domain[i]), _LOOSE, i) for i in range(group, group + count)),
            ]
            by_thread.append(sorted(parts))
        longest = max(map(len, by_thread), default=0)
        kinds, groups = [], []
        for k in range(longest):
            kth = [parts[k][1:] if k < len(parts) else (-1, -1) for parts in by_thread]
            kinds.append(np.array([kind for kind, _ in kth], dtype=np.int64))
            groups.append(np.array([group for _, group in kth], dtype=np.int64))
        return kinds, groups

    # --- stacks ---

    def _on_stacks(self, stack: Numbers, time: Numbers) -> tuple[Numbers, _Coded]:
        """Return the innermost range of each stack at a time, and the text of what is open."""
        stacks = self._stacks
        before = stacks.began_before(stack, time)
        innermost = stacks.innermost(stack, before, time)
        is_open = innermost >= 0
        is_nested = is_open & ~stacks.is_crossed[stack]
        text_of, texts = self._stack_texts(innermost[is_nested])
        code = np.full(len(stack), -1, dtype=np.int64)
        code[is_nested] = text_of[innermost[is_nested]]
        crossed, of_crossed = self._crossed_texts(stack, before, time)
        is_crossed = is_open & ~is_nested
        code[is_crossed] = of_crossed[is_crossed] + len(texts)
        texts = pa.concat_arrays([texts, crossed])
        rows = np.where(is_open, self._rows[innermost], -1) if len(self._rows) else innermost
        return rows, _Coded(code, texts)

    def _crossed_texts(
        self, stack: Numbers, before: Numbers, time: Numbers
    ) -> tuple[pa.StringArray, Numbers]:
        """Return the texts of stacks that do not nest, and their positions, one by one."""
        names, code = self._ranges.names, self._ranges.name[self._rows]
        known: dict[tuple[int, ...], int] = {}
        found = np.full(len(stack), -1, dtype=np.int64)
        for at, ranges in self._stacks.open_in_crossed(stack, before, time):
            if ranges:
                self.is_cut |= len(ranges) > DEEPEST
                key = (int(stack[at]), *code[ranges[:DEEPEST]].tolist())
                found[at] = known.setdefault(key, len(known))
        texts = [
            self._prefix(self._stack_of, group) + "/".join(names[one].as_py() for one in key)
            for group, *key in known
        ]
        return pa.array(texts, pa.string()), found

    def _stack_texts(self, innermost: Numbers) -> tuple[Numbers, pa.StringArray]:
        """Return for ranges of stacks, and those around them, the position of their text."""
        stacks = self._stacks
        is_used = np.zeros(stacks.count, dtype=bool)
        is_used[innermost] = True
        depth = np.where(stacks.is_crossed[self._stack_of.group], -1, stacks.depth)
        by_depth = np.argsort(depth, kind="stable")
        deepest = int(depth.max()) if len(depth) else -1
        bounds = np.searchsorted(depth[by_depth], np.arange(deepest + 2))
        levels = [by_depth[low:high] for low, high in pairwise(bounds.tolist())]
        for rows in reversed(levels[1:]):
            is_used[stacks.parent[rows[is_used[rows]]]] = True
        prefixes = pa.array(
            [self._prefix(self._stack_of, one) for one in range(len(self._stack_of.owner))],
            pa.string(),
        ).dictionary_encode()
        text_of = np.full(stacks.count, -1, dtype=np.int64)
        texts: list[pa.StringArray] = []
        offset, size = 0, 0
        around = prefixes.dictionary
        for level, every in enumerate(levels):
            rows = every[is_used[every]]
            if level >= DEEPEST:
                self.is_cut |= bool(len(rows))
                text_of[rows] = text_of[stacks.parent[rows]]
                continue
            if level:
                outer = text_of[stacks.parent[rows]] - offset
                offset += len(around)
            else:
                outer = np.asarray(prefixes.indices)[self._stack_of.group[rows]].astype(np.int64)
            name_count = len(self._ranges.names)
            pair = outer * name_count + self._ranges.name[self._rows[rows]]
            distinct, place = np.unique(pair, return_inverse=True)
            text_of[rows] = offset + place.reshape(-1)
            names = self._ranges.names.take(number_array(distinct % name_count))
            befores = around.take(number_array(distinct // name_count))
            size += _size(befores) + _size(names) + len(names)
            self._check(size)
            around = pc.binary_join_element_wise(befores, names, "/" if level else "")
            texts.append(around)
        return text_of, pa.concat_arrays([pa.array([], pa.string()), *texts])

    def _prefix(self, groups: _Grouped, group: int) -> str:
        owner, domain = int(groups.owner[group]), int(groups.domain[group])
        if groups is self._stack_of:
            row = self._rows[np.searchsorted(groups.group, group)]
            owner = int(self._ranges.process[row])
        name = self._ranges.domains.get((owner, domain))
        return "" if name is None else f"{name}@"

    # --- start/end ranges ---

    def _together(self, group: int, time: Numbers) -> _Coded:
        """Return the texts of the start/end ranges of one group that are open at times."""
        rows = self._loose_rows[self._loose_of.group == group]
        start, end = self._ranges.start[rows], self._ranges.end[rows]
        began = np.searchsorted(start, time, side="right")
        ended = np.searchsorted(np.sort(end), time, side="left")
        # Between two events the same ranges are open, so few of the moments differ.
        _, first, state = np.unique(
            began * (len(rows) + 1) + ended, return_index=True, return_inverse=True
        )
        when = time[first]
        sizes = (began - ended)[first]
        low = np.searchsorted(when, start, side="left")
        high = np.searchsorted(when, end, side="right")
        prefix = self._prefix(self._loose_of, group)
        names = pc.binary_join_element_wise(prefix, self._ranges.names, "")
        chunks: list[pa.Array] = []
        size = 0
        longest = int(pc.max(pc.binary_length(names)).as_py() or 0)
        for begin, stop in _blocks(sizes, min(_MOST_PAIRS, _LONGEST_TEXTS // (longest + 1))):
            begin_of, stop_of = np.maximum(low, begin), np.minimum(high, stop)
            length = np.maximum(stop_of - begin_of, 0)
            at = np.repeat(begin_of, length) + positions_in_runs(
                np.repeat(np.arange(len(rows)), length)
            )
            which = np.repeat(np.arange(len(rows)), length)
            order = np.argsort(at, kind="stable")
            at, which = at[order], which[order]
            behind = np.cumsum(np.bincount(at - begin, minlength=stop - begin))[at - begin]
            is_kept = behind - np.arange(len(at)) <= MOST_OPEN
            self.is_cut |= not bool(is_kept.all())
            at, which = at[is_kept], which[is_kept]
            offsets = np.searchsorted(at, np.arange(begin, stop + 1)).astype(np.int32)
            parts = names.take(number_array(self._ranges.name[rows[which]]))
            lists = pa.ListArray.from_arrays(number_array(offsets), parts)
            chunks.append(pc.binary_join(lists, ";").dictionary_encode())
            size += _size(chunks[-1].dictionary)
            self._check(size)
        if not chunks:
            return _Coded(np.full(len(time), -1, dtype=np.int64), pa.array([], pa.string()))
        coded = pa.chunked_array(chunks).unify_dictionaries()
        texts = coded.chunk(0).dictionary
        of_state = np.concatenate([np.asarray(one.indices) for one in coded.chunks])
        of_state = np.where(sizes > 0, of_state, -1)
        return _Coded(of_state[state.reshape(-1)].astype(np.int64), texts)

    # --- texts ---

    def _joined(
        self, code: Numbers, texts: pa.StringArray, part: Numbers, parts: pa.StringArray
    ) -> tuple[Numbers, pa.StringArray]:
        """Append parts to the texts that moments have so far."""
        if not len(texts):
            return part, parts
        width = len(parts) + 1
        pairs, place = np.unique((code + 1) * width + part + 1, return_inverse=True)
        left, right = pairs // width - 1, pairs % width - 1
        befores = texts.take(number_array(left, left >= 0))
        afters = parts.take(number_array(right, right >= 0))
        self._check(_size(befores) + _size(afters))
        # Not with null_handling="skip", which loses rows in which both are null.
        both = pc.binary_join_element_wise(befores, afters, ";")
        joined = pc.coalesce(both, befores, afters)
        place = place.reshape(-1).astype(np.int64)
        return np.where((code < 0) & (part < 0), -1, place), joined

    def _check(self, size: int) -> None:
        """Refuse paths that would fill the memory."""
        if size > _LONGEST_TEXTS:
            raise NotATraceError(
                self._shown,
                f"its NVTX paths would take {size / 1e9:.1f} GB: nearly every range has a text of"
                " its own, and they nest deeply",
                "Trace a part of the run, or give fewer ranges texts of their own.",
                where=("NVTX_EVENTS",),
            )


_STACK, _LOOSE = 0, 1


class _Coded(NamedTuple):
    """Positions in texts, -1 for none."""

    code: Numbers
    texts: pa.StringArray


class _Grouped:
    """Groups of rows of the same owner and domain, which are in that order."""

    def __init__(self, owner: Numbers, domain: Numbers) -> None:
        starts = run_starts(owner, domain)
        self.group = np.cumsum(starts) - 1
        """Group of each row."""
        self.owner = owner[starts]
        self.domain = domain[starts]
        """Owner and domain of each group."""

    def of_owner(self, owner: Numbers) -> tuple[Numbers, Numbers]:
        """Return the first group of owners and how many they have."""
        first = np.searchsorted(self.owner, owner, side="left")
        return first, np.searchsorted(self.owner, owner, side="right") - first


def _blocks(sizes: Numbers, most: int) -> list[tuple[int, int]]:
    """Cut states into runs that have no more than ``most`` ranges together, or are a single one."""
    total = np.cumsum(sizes)
    blocks, begin = [], 0
    while begin < len(sizes):
        done = int(total[begin - 1]) if begin else 0
        stop = int(np.searchsorted(total, done + most, side="right"))
        blocks.append((begin, max(stop, begin + 1)))
        begin = blocks[-1][1]
    return blocks


def _size(texts: pa.StringArray) -> int:
    """Return the length of texts together [byte]."""
    return int(pc.sum(pc.binary_length(texts)).as_py() or 0)


def _distinct(code: Numbers, texts: pa.StringArray) -> tuple[Numbers, pa.StringArray]:
    """Return positions in distinct texts that are used; an empty text is none."""
    used, place = np.unique(code, return_inverse=True)
    column = texts.take(number_array(used, used >= 0)).dictionary_encode()
    is_text = pc.fill_null(pc.not_equal(column.cast(pa.string()), ""), False)
    of_used = np.where(
        np.asarray(is_text), np.asarray(column.indices.fill_null(0)).astype(np.int64), -1
    )
    return of_used[place.reshape(-1)], column.dictionary
