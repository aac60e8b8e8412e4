"""What each slot of a side measures: one sample per repeat, their mean and their spread."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsightlens.comparison.noise import Spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.comparison.side import Side

__all__ = ["EqualLaunches", "equal_launches", "spread_of", "take"]

SAME_WORK_MOST = 0.10
"""Standard deviation over the mean up to which launches of one kernel, grid and block pass for
repeats of the same work. Beyond it they plainly do different work: a report says nothing of their
arguments."""

FREEDOM_LEAST = 3.0
"""Of fewer than four equal launches nothing is concluded."""


class EqualLaunches(NamedTuple):
    """How much launches of equal work within a report scatter, for each slot.

    Parameters
    ----------
    variance
        Of the sum over the launches of the slot, over that sum squared; NaN where a launch of the
        slot has no equal. Shape (slots,).
    freedom
        Degrees of freedom behind it, the least of the launches of the slot.
    """

    variance: NDArray[np.float64]
    freedom: NDArray[np.float64]


def spread_of(
    side: Side, slot: NDArray[np.int64], count: int, name: str, *, adds_up: bool
) -> Spread:
    """Return mean and spread of a quantity over the repeats of each slot.

    Parameters
    ----------
    side
        n launches.
    slot
        Slot of each launch; -1 leaves it out. Shape (n,).
    count
        Slots.
    name
        The quantity.
    adds_up
        Whether a sample is the sum over the launches of a slot in a report, as of bytes, or their
        mean weighted by the duration, as of a percentage. A launch without a duration, such as a
        failed collection, is left out; where another one lacks the quantity, the sample is unknown.
    """
    is_in = side.counts & (slot >= 0)
    duration, value = side.number["duration_ns"][is_in], side.number[name][is_in]
    joint = slot[is_in] * (int(side.report.max(initial=0)) + 1) + side.report[is_in]
    samples, code = np.unique(joint, return_inverse=True)
    of_slot = samples // (int(side.report.max(initial=0)) + 1)
    weight = np.ones(len(value)) if adds_up else duration
    total = np.bincount(code, value * weight, minlength=len(samples)).astype(np.float64)
    if not adds_up:
        total = total / np.bincount(code, weight, minlength=len(samples))
    is_known = np.isfinite(total)
    return _spread(total[is_known], of_slot[is_known], count)


def _spread(sample: NDArray[np.float64], slot: NDArray[np.int64], count: int) -> Spread:
    number = np.bincount(slot, minlength=count)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.bincount(slot, sample, minlength=count) / number
        residual = np.bincount(slot, (sample - mean[slot]) ** 2, minlength=count)
        variance = residual / (number - 1) / mean**2
    has_spread = (number > 1) & (mean > 0)
    return Spread(mean, np.where(has_spread, variance, np.nan), number.astype(np.int64))


def equal_launches(
    side: Side, work: NDArray[np.int64], slot: NDArray[np.int64], count: int
) -> EqualLaunches:
    """Return how much the durations of launches of equal work scatter within one report.

    Parameters
    ----------
    side
        n launches.
    work
        Equal where launches do equal work. Shape (n,).
    slot
        Slot of each launch. Shape (n,).
    count
        Slots.
    """
    duration = np.where(side.counts, side.number["duration_ns"], 0.0)
    counts = side.counts.astype(np.float64)
    _, group = np.unique(work * (int(side.report.max(initial=0)) + 1) + side.report,
                         return_inverse=True)  # fmt: skip
    number = np.bincount(group, counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.bincount(group, duration) / number
        residual = np.bincount(group, counts * (duration - mean[group]) ** 2)
        share = residual / (number - 1) / mean**2
    is_equal = (number > 1) & (share <= SAME_WORK_MOST**2)
    # Reports of a side that hold the same work are pooled.
    freedom = np.where(is_equal, number - 1, 0.0)
    first = np.unique(group, return_index=True)[1]
    pooled = np.bincount(work[first], np.where(is_equal, share * freedom, 0.0))
    pooled_freedom = np.bincount(work[first], freedom)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (pooled / pooled_freedom)[work]
    total = np.bincount(slot, duration, minlength=count)
    squares = np.bincount(slot, np.where(side.counts, duration**2 * variance, 0.0), minlength=count)
    least = np.full(count, np.inf)
    np.minimum.at(least, slot[side.counts], pooled_freedom[work][side.counts])
    with np.errstate(divide="ignore", invalid="ignore"):
        found = squares / total**2
    is_known = np.isfinite(found) & np.isfinite(least) & (least >= FREEDOM_LEAST)
    return EqualLaunches(np.where(is_known, found, np.nan), np.where(is_known, least, 0.0))


def take(spread: Spread, slot: NDArray[np.int64]) -> Spread:
    """Return the spread of the slots of rows; NaN, and no repeat, where a row has none (-1)."""
    if not len(spread.mean):
        nothing = np.full(len(slot), np.nan)
        return Spread(nothing, nothing, np.zeros(len(slot), dtype=np.int64))
    is_there = slot >= 0
    at = np.maximum(slot, 0)
    return Spread(
        np.where(is_there, spread.mean[at], np.nan),
        np.where(is_there, spread.variance[at], np.nan),
        np.where(is_there, spread.repeats[at], 0),
    )
