"""Slots of a side: what it has once per repeat, a launch or a group.

The launches of several reports of a side are aligned as those of base and new are: a launch that
one repeat lacks does not shift those that follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsightlens.comparison.pairing import pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nsightlens.comparison.keys import Keys
    from nsightlens.comparison.pairing import Level

__all__ = ["Slots", "slots_of_groups", "slots_of_launches"]


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


def slots_of_groups(code: NDArray[np.int64]) -> Slots:
    """Return one slot for each code, in the order of its first launch."""
    _, first, slot = np.unique(code, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(first), dtype=np.int64)
    rank[order] = np.arange(len(first))
    return Slots(rank[slot], first[order].astype(np.int64))


def slots_of_launches(
    keys: Keys, report: NDArray[np.int64], offset: int, levels: Sequence[Level]
) -> Slots:
    """Align the launches of the reports of a side.

    Parameters
    ----------
    keys
        Keys of all launches.
    report
        Number of the report of each launch of the side. Shape (n,).
    offset
        Number of its first launch in the keys.
    levels
        Ways of matching that say that a launch is a repeat of another.
    """
    leader = np.arange(len(report))  # the first launch of the slot of each
    by_report = np.argsort(report, kind="stable")
    starts = np.flatnonzero(np.diff(report[by_report], prepend=-1))
    reference = np.zeros(0, dtype=np.int64)
    subject = keys.joint(("gpu", "name"))[offset : offset + len(report)]
    for mine in np.split(by_report, starts)[1:]:
        at = np.flatnonzero(np.isin(subject[reference], subject[mine]))
        partner, _ = pair(keys, levels, reference[at] + offset, mine + offset, ("gpu",))
        is_repeat = partner >= 0
        position = np.where(is_repeat, np.append(at, -1)[partner], -1)
        leader[mine[is_repeat]] = reference[position[is_repeat]]
        reference = _merged(reference, mine, position)
    return slots_of_groups(leader)


def _merged(
    reference: NDArray[np.int64], mine: NDArray[np.int64], position: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Put launches without partner behind the one that ran before them."""
    is_own = position < 0
    if is_own.all():
        return np.concatenate([reference, mine])
    last = np.where(is_own, -1, np.arange(len(mine)))
    before = np.maximum.accumulate(last)[is_own]
    place = np.where(before < 0, 0, position[before] + 1)
    return np.insert(reference, place, mine[is_own])
