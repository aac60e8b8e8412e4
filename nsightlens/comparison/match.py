"""Which launches of two sides are the same: slots, and the levels at which they are matched.

A slot is what one side has once per repeat: the n-th launch of a kernel with a grid in a step, or a
group. The same slot in several reports of a side is a repeat. Slots are matched at the strictest
level that finds a counterpart; at each, those that share a key are paired in the order in which
they ran. Below the level ``work`` the same key does not mean the same work, and a key is matched
only where both sides have as many slots of it: what was inserted or left out would shift all that
follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.arrays import number_array, positions_in_runs
from nsightlens.devices.columns import text_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nsightlens.comparison.side import Side

__all__ = ["MATCHED_BY", "Pairs", "Slots", "match_sides"]

MATCHED_BY = ("launch", "work", "kernel", "operation", "family")
_STEP = ("phase", "batch_size")
_NAMELESS = ("other",)
"""Families that say of two kernels only that neither is known."""


class _Level(NamedTuple):
    """One way of matching: ``needs`` is a key that must be known."""

    name: str
    keys: tuple[str, ...]
    needs: str = ""
    is_same_work: bool = False


WORK = ("name", "grid", "block", *_STEP)
"""Launches that share these do the same work, as far as a report can tell."""

_LEVELS = {
    "launch": (
        _Level("launch", (*WORK, "step_index", "lane"), is_same_work=True),
        _Level("work", WORK, is_same_work=True),
        _Level("kernel", ("kernel", "name", *_STEP)),
        _Level("kernel", ("kernel", "family", *_STEP), "kernel"),
        _Level("operation", ("operation", *_STEP), "operation"),
        _Level("family", ("family", "subtype", *_STEP), "named_family"),
    ),
    "kernel": (
        _Level("kernel", ("subject", "family", "subtype", *_STEP), is_same_work=True),
        _Level("family", ("family", "subtype", *_STEP), "named_family"),
    ),
    "family": (_Level("family", ("family", "subtype", *_STEP), is_same_work=True),),
}


class Slots(NamedTuple):
    """The slots of a side with n launches.

    Parameters
    ----------
    slot
        Slot of each launch. Shape (n,).
    first
        First launch of each slot, ascending. Shape (slots,).
    """

    slot: NDArray[np.int64]
    first: NDArray[np.int64]


class Pairs(NamedTuple):
    """The rows of a comparison.

    Parameters
    ----------
    base, new
        Slot of each side, -1 where it has none. Shape (rows,).
    matched_by
        Index into `MATCHED_BY`, -1 without counterpart. Shape (rows,).
    slots
        Slots of base and new.
    work
        A number for what the launches of base and new do: equal for equal work.
    key
        Text that names each slot of base and new.
    """

    base: NDArray[np.int64]
    new: NDArray[np.int64]
    matched_by: NDArray[np.int64]
    slots: tuple[Slots, Slots]
    work: tuple[NDArray[np.int64], NDArray[np.int64]]
    key: tuple[Any, Any]


def match_sides(base: Side, new: Side, by: str) -> Pairs:
    """Match the launches or groups of two sides.

    Rows are in the order of the new side; what it lacks comes last, in the order of the base.
    """
    keys = _keys(base, new)
    levels = _LEVELS[by]
    # On different GPUs the name of the GPU would leave nothing to match.
    gpus = [set(one.text["gpu"].unique().to_pylist()) - {None} for one in (base, new)]
    gpu = () if gpus[0].isdisjoint(gpus[1]) else ("gpu",)
    count = len(base.report)
    whole = _code(keys, ("gpu", *levels[0].keys))
    slots = tuple(
        _slots_of(code, side.report, numbered=by == "launch")
        for code, side in zip((whole[:count], whole[count:]), (base, new), strict=True)
    )
    pairs = _pair(keys, levels, gpu, (slots[0].first, slots[1].first + count))
    work = _code(keys, ("gpu", *WORK))
    named = _named(keys, levels[0].keys, np.concatenate([base.report, new.report + len(work)]), by)
    return Pairs(
        *pairs,
        (slots[0], slots[1]),
        (work[:count], work[count:]),
        (
            named[:count].take(number_array(slots[0].first)),
            named[count:].take(number_array(slots[1].first)),
        ),
    )


def _named(keys: dict[str, Any], names: Sequence[str], report: NDArray[np.int64], by: str) -> Any:
    """Return for every launch the text that names its slot."""
    subject = () if by == "family" else (keys["subject"],)
    shown = [*subject, *(keys[one] for one in names if one not in ("name", "subject"))]
    stem = pc.binary_join_element_wise(
        *(pc.fill_null(one, "-") for one in (*shown, keys["gpu"])), "|"
    )
    if by != "launch":
        return stem
    code, _ = text_column({"stem": stem}, "stem")
    order = np.lexsort((report, code))
    number = np.empty(len(order), dtype=np.int64)
    number[order] = positions_in_runs(code[order], report[order])
    return pc.binary_join_element_wise(stem, number_array(number).cast(pa.string()), "|")


def _keys(base: Side, new: Side) -> dict[str, Any]:
    """Return every key as a text column over the launches of base, then those of new."""
    names = ("kernel", "kind", "family", "subtype", "phase", "batch_size", "step_index",
             "grid", "block")  # fmt: skip
    found = {name: [one.labels[name].cast(pa.string()) for one in (base, new)] for name in names}
    found |= {
        name: [one.text[name] for one in (base, new)] for name in ("name", "operation", "gpu")
    }
    found["lane"] = [_lanes(one) for one in (base, new)]
    keys = {name: _joined(columns) for name, columns in found.items()}
    bracketed = pc.binary_join_element_wise("(", keys["kind"], ")", "")
    keys["subject"] = pc.coalesce(keys["kernel"], bracketed)
    is_nameless = pc.is_in(keys["family"], value_set=pa.array(_NAMELESS, pa.string()))
    keys["named_family"] = pc.if_else(is_nameless, pa.scalar(None, pa.string()), keys["family"])
    return keys


def _joined(columns: Sequence[Any]) -> Any:
    chunks = [
        c for one in columns for c in (one.chunks if isinstance(one, pa.ChunkedArray) else [one])
    ]
    return pa.chunked_array(chunks, pa.string()).combine_chunks()


def _lanes(side: Side) -> Any:
    """Return the number of the process and GPU of each launch, in the order of their first."""
    columns = [
        pc.fill_null(side.labels[n].cast(pa.string()), "?") for n in ("process_id", "device_id")
    ]
    code, _ = text_column({"lane": pc.binary_join_element_wise(*columns, "|")}, "lane")
    joint = side.report * (int(code.max(initial=0)) + 1) + code
    _, first, lane = np.unique(joint, return_index=True, return_inverse=True)
    # Lanes of one report, by their first launch.
    order = np.lexsort((first, side.report[first]))
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = positions_in_runs(side.report[first][order])
    return number_array(rank[lane]).cast(pa.string())


def _code(keys: dict[str, Any], names: Sequence[str]) -> NDArray[np.int64]:
    """Return one number per launch, equal where all keys are; null equals null."""
    joint = np.zeros(len(keys[names[0]]), dtype=np.int64)
    for name in names:
        code, texts = text_column(keys, name)
        _, joint = np.unique(joint * len(texts) + code, return_inverse=True)
    return joint.astype(np.int64)


def _slots_of(code: NDArray[np.int64], report: NDArray[np.int64], *, numbered: bool) -> Slots:
    number = np.zeros(len(code), dtype=np.int64)
    if numbered:
        order = np.lexsort((report, code))
        number[order] = positions_in_runs(code[order], report[order])
    joint = code * (int(number.max(initial=0)) + 1) + number
    _, first, slot = np.unique(joint, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    return Slots(rank[slot], first[order].astype(np.int64))


def _pair(
    keys: dict[str, Any],
    levels: Sequence[_Level],
    gpu: tuple[str, ...],
    firsts: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    left = [np.arange(len(first)) for first in firsts]
    counterpart = np.full(len(firsts[1]), -1)
    matched_by = np.full(len(firsts[1]), -1)
    for level in levels:
        if not len(left[0]) or not len(left[1]):
            break
        code = _code(keys, (*gpu, *level.keys))
        usable = np.ones(len(code), dtype=bool)
        if level.needs:
            usable = np.asarray(pc.is_valid(keys[level.needs]))
        rows = [first[slots] for first, slots in zip(firsts, left, strict=True)]
        chosen = _in_order(
            np.where(usable[rows[0]], code[rows[0]], -1),
            np.where(usable[rows[1]], code[rows[1]], -1),
            even=not level.is_same_work,
        )
        of_base, of_new = (slots[at] for slots, at in zip(left, chosen, strict=True))
        counterpart[of_new], matched_by[of_new] = of_base, MATCHED_BY.index(level.name)
        left = [np.delete(slots, at) for slots, at in zip(left, chosen, strict=True)]
    removed = left[0]
    return (
        np.concatenate([counterpart, removed]),
        np.concatenate([np.arange(len(firsts[1])), np.full(len(removed), -1)]),
        np.concatenate([matched_by, np.full(len(removed), -1)]),
    )


def _in_order(
    base: NDArray[np.int64], new: NDArray[np.int64], *, even: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair the n-th of each code on one side with the n-th on the other; -1 is no code.

    Parameters
    ----------
    base, new
        Code of each slot.
    even
        Leave out a code of which one side has more than the other.

    Returns
    -------
    tuple
        Positions in base and new that belong together.
    """
    size = int(max(base.max(initial=-1), new.max(initial=-1))) + 1
    counts = [np.bincount(one[one >= 0], minlength=size) for one in (base, new)]
    allowed = np.append(counts[0] == counts[1] if even else np.ones(size, dtype=bool), False)
    numbered = [_numbered(one) for one in (base, new)]
    width = max(len(base), len(new))
    joint = [
        np.where(allowed[one], one * width + number, -1 - side - 2 * np.arange(len(one)))
        for side, (one, number) in enumerate(zip((base, new), numbered, strict=True))
    ]
    _, of_base, of_new = np.intersect1d(joint[0], joint[1], assume_unique=True, return_indices=True)
    return of_base, of_new


def _numbered(code: NDArray[np.int64]) -> NDArray[np.int64]:
    number = np.empty(len(code), dtype=np.int64)
    order = np.argsort(code, kind="stable")
    number[order] = positions_in_runs(code[order])
    return number
