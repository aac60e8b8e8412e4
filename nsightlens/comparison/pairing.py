"""Pairing of two sequences of launches, level by level.

Launches of one key are paired where both sides have as many of them. Where one side has more, those
that run between the same neighbours belong together: whatever is paired already shows where a
launch was inserted or left out. All is linear in the number of launches, but for sorting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsightlens.arrays import positions_in_runs
from nsightlens.comparison.keys import is_other_work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nsightlens.comparison.keys import Keys

__all__ = ["Level", "pair"]

_Codes = tuple["NDArray[np.int64]", "NDArray[np.int64]"]


class Level(NamedTuple):
    """One way of matching.

    Parameters
    ----------
    name
        What it is called, in `nsightlens.comparison.match.MATCHED_BY`.
    keys
        What both launches have in common.
    needs
        A key that must be known.
    lacks
        A key that one of the sides must not know at all: a name that lacks it may be anything.
    is_same_work
        Whether equal keys mean equal work: what neighbours do not tell apart is paired in order.
    uses_neighbours
        Whether neighbours decide where one side has more; without, nothing is paired then.
    is_alike
        Whether launches that plainly do different work are left apart.
    """

    name: str
    keys: tuple[str, ...]
    needs: str = ""
    lacks: str = ""
    is_same_work: bool = False
    uses_neighbours: bool = False
    is_alike: bool = False


class _Sides:
    """Launches of two sequences, and the partner of each; -1 where it has none yet."""

    def __init__(self, base: NDArray[np.int64], new: NDArray[np.int64]) -> None:
        self.launches = (base, new)
        self.partner = (np.full(len(base), -1), np.full(len(new), -1))
        self.level = np.full(len(new), -1)

    @property
    def left(self) -> _Codes:
        """Positions without partner."""
        return np.flatnonzero(self.partner[0] < 0), np.flatnonzero(self.partner[1] < 0)

    def join(self, base: NDArray[np.int64], new: NDArray[np.int64], level: int) -> None:
        """Make partners of positions in base and new."""
        self.partner[0][base], self.partner[1][new] = new, base
        self.level[new] = level

    def gap(self, *, before: bool) -> _Codes:
        """Return for every position the pair that is nearest before or after it; -1: none."""
        found = []
        for side, partner in enumerate(self.partner):
            number = np.arange(len(partner)) if side == 0 else partner
            given = np.where(partner >= 0, np.arange(len(partner)), -1)
            if before:
                at = np.maximum.accumulate(given)
            else:
                at = np.where(given < 0, len(partner), given)
                at = np.minimum.accumulate(at[::-1])[::-1]
            found.append(np.append(number, [-1, -1])[np.where(at == len(partner), -1, at)])
        return found[0], found[1]


def pair(
    keys: Keys,
    levels: Sequence[Level],
    base: NDArray[np.int64],
    new: NDArray[np.int64],
    gpu: tuple[str, ...],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair the launches of two sequences.

    Parameters
    ----------
    keys
        Keys of all launches.
    levels
        Ways of matching, the strictest first.
    base, new
        Launches, in their order, as numbers into the keys. Shape (b,) and (n,).
    gpu
        Further keys, for every level.

    Returns
    -------
    tuple
        For each launch of new the position in base, or -1; and the number of the level.
    """
    sides = _Sides(base, new)
    for number, level in enumerate(levels):
        if not all(len(one) for one in sides.left):
            break
        _pair_level(keys, level, sides, gpu, number)
    return sides.partner[1], sides.level


def _pair_level(keys: Keys, level: Level, sides: _Sides, gpu: tuple[str, ...], number: int) -> None:
    names = (*gpu, *level.keys)
    usable = _usable(keys, level, sides, keys.joint(names))
    if not all(one.any() for one in usable):
        return
    near = np.where(keys.is_known("near"), keys.joint((*names, "near")), -1)
    whole = keys.joint(names)

    def attempt(code: NDArray[np.int64], *, even: bool = True, gap: _Codes | None = None) -> None:
        left = sides.left
        own = [code[launches[at]] for launches, at in zip(sides.launches, left, strict=True)]
        if gap is not None:
            width = len(sides.launches[0]) + 1
            own = [one * width + of[at] + 1 for one, of, at in zip(own, gap, left, strict=True)]
            own = list(_compact(own[0], own[1]))
        kept = [use[at] for use, at in zip(usable, left, strict=True)]
        own = [np.where(keep, one, -1) for one, keep in zip(own, kept, strict=True)]
        of_base, of_new = _in_order(own[0], own[1], even=even)
        found = left[0][of_base], left[1][of_new]
        if level.is_alike or not even:
            apart = is_other_work(keys, sides.launches[0][found[0]], sides.launches[1][found[1]])
            found = found[0][~apart], found[1][~apart]
        sides.join(*found, number)

    if level.is_same_work:
        attempt(near)
    attempt(whole)
    if level.uses_neighbours or level.is_same_work:
        attempt(whole, gap=sides.gap(before=True))
        attempt(whole, gap=sides.gap(before=False))
    if level.is_same_work:
        attempt(near, even=False)
        attempt(keys.joint((*names, "bytes")), even=False)
        attempt(whole, even=False)


def _usable(
    keys: Keys, level: Level, sides: _Sides, code: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which launches of both sides a level may pair."""
    usable = [np.ones(len(one), dtype=bool) for one in sides.launches]
    if level.needs:
        usable = [keys.is_known(level.needs)[one] for one in sides.launches]
    if level.lacks:
        size = int(code.max(initial=-1)) + 1
        is_known = keys.is_known(level.lacks)
        lacking = np.zeros(size, dtype=bool)
        for launches, at in zip(sides.launches, sides.left, strict=True):
            mine = launches[at]
            lacking |= np.bincount(code[mine], is_known[mine], minlength=size) == 0
        usable = [use & lacking[code[one]] for use, one in zip(usable, sides.launches, strict=True)]
    return usable[0], usable[1]


def _compact(base: NDArray[np.int64], new: NDArray[np.int64]) -> _Codes:
    _, code = np.unique(np.concatenate([base, new]), return_inverse=True)
    return code[: len(base)], code[len(base) :]


def _in_order(
    base: NDArray[np.int64], new: NDArray[np.int64], *, even: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair the n-th of each code on one side with the n-th on the other; -1 is no code.

    Parameters
    ----------
    base, new
        Code of each launch.
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
