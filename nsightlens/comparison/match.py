"""Which launches of two sides are the same: slots, and the levels at which they are matched.

A slot is what one side has once per repeat: a launch, or a group (`nsightlens.comparison.slots`).
Slots are matched at the strictest level that finds a counterpart (`nsightlens.comparison.pairing`).
Below the level ``work`` the same key does not mean the same work, and a key is matched only where
both sides have as many slots of it, in all or between the same neighbours: what was inserted or
left out would shift all that follow. Work that differs is left without counterpart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.arrays import number_array, positions_in_runs
from nsightlens.comparison.keys import keys_of
from nsightlens.comparison.pairing import Level, pair
from nsightlens.comparison.slots import Slots, slots_of_groups, slots_of_launches
from nsightlens.devices.columns import text_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nsightlens.comparison.keys import Keys
    from nsightlens.comparison.side import Side

__all__ = ["MATCHED_BY", "Pairs", "Slots", "match_sides"]

MATCHED_BY = ("launch", "work", "kernel", "operation", "family")
_STEP = ("phase", "batch_size")
_WORK = ("name", "grid", "block", *_STEP)
_SAME = (*_WORK, "operation", "context")
_PLACE = ("step_index", "lane")
_GROUP = ("family", "subtype", *_STEP)

_OF_REPEATS = (
    Level("launch", (*_SAME, "flop", *_PLACE), is_same_work=True),
    # Without a count of operations name and grid have to do.
    Level("launch", (*_SAME, *_PLACE), lacks="flop", is_same_work=True),
)
_FAILED = Level("kernel", ("name", *_STEP, "operation"), lacks="duration", uses_neighbours=True)
"""A launch whose collection failed has no grid and counted nothing."""
_LEVELS = {
    "launch": (
        *_OF_REPEATS,
        Level("work", (*_SAME, "flop"), is_same_work=True),
        Level("work", _SAME, lacks="flop", is_same_work=True),
        Level("work", (*_WORK, "operation", "flop"), needs="flop", is_same_work=True),
        _FAILED,
        Level("kernel", (*_WORK, "operation")),
        Level("kernel", ("name", *_STEP, "operation", "flop"), "flop", uses_neighbours=True),
        Level("kernel", ("name", *_STEP, "operation")),
        Level("kernel", ("kernel", "family", *_STEP, "operation"), "kernel"),
        Level("kernel", ("template", "family", *_STEP, "operation"), "kernel"),
        Level("operation", ("operation", *_STEP), "operation", uses_neighbours=True),
        # One side is annotated and the other is not.
        Level("work", (*_WORK, "flop"), lacks="operation", is_same_work=True),
        Level("kernel", ("name", *_STEP), lacks="operation", is_alike=True),
        Level("kernel", ("template", "family", *_STEP), "kernel", "operation", is_alike=True),
        Level("family", _GROUP, "named_family", "operation", is_alike=True),
    ),
    "kernel": (
        Level("kernel", ("subject", *_GROUP)),
        Level("family", _GROUP, "named_family"),
    ),
    "family": (Level("family", _GROUP),),
}


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
    keys = keys_of(base, new)
    count = len(base.report)
    slots = (_slots(keys, base, 0, by), _slots(keys, new, count, by))
    # On different GPUs the name of the GPU would leave nothing to match.
    gpus = [set(keys.texts["gpu"][part].unique().to_pylist()) - {None}
            for part in (slice(count), slice(count, None))]  # fmt: skip
    gpu = () if gpus[0].isdisjoint(gpus[1]) else ("gpu",)
    levels = _LEVELS[by]
    counterpart, level = pair(keys, levels, slots[0].first, slots[1].first + count, gpu)
    removed = np.setdiff1d(np.arange(len(slots[0].first)), counterpart)
    numbers = np.array([MATCHED_BY.index(one.name) for one in levels] + [-1])
    work = keys.joint(("gpu", *_SAME, "flop"))
    named = [_named(keys, slots[0].first, by), _named(keys, slots[1].first + count, by)]
    return Pairs(
        np.concatenate([counterpart, removed]),
        np.concatenate([np.arange(len(counterpart)), np.full(len(removed), -1)]),
        np.concatenate([numbers[level], np.full(len(removed), -1)]),
        slots,
        (work[:count], work[count:]),
        (named[0], named[1]),
    )


def _slots(keys: Keys, side: Side, offset: int, by: str) -> Slots:
    if by == "launch":
        return slots_of_launches(keys, side.report, offset, (*_OF_REPEATS, _FAILED))
    code = keys.joint(("gpu", *_LEVELS[by][0].keys))
    return slots_of_groups(code[offset : offset + len(side.report)])


def _named(keys: Keys, first: NDArray[np.int64], by: str) -> Any:
    """Return the text that names each slot, by its first launch."""
    subject = () if by == "family" else ("subject",)
    names: Sequence[str] = (*_WORK[1:], *_PLACE) if by == "launch" else _GROUP
    shown = [keys.texts[one].take(number_array(first)) for one in (*subject, *names, "gpu")]
    stem = pc.binary_join_element_wise(*(pc.fill_null(one, "-") for one in shown), "|")
    if by != "launch":
        return stem
    code, _ = text_column({"stem": stem}, "stem")
    order = np.argsort(code, kind="stable")
    number = np.empty(len(order), dtype=np.int64)
    number[order] = positions_in_runs(code[order])
    return pc.binary_join_element_wise(stem, number_array(number).cast(pa.string()), "|")
