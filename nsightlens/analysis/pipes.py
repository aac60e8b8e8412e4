"""How busy every resource was, and between which bounds its floating-point work lies.

Two questions are asked of the same counters. What bounds the launch asks how *busy* a resource was:
its counted work over its peak, or the time in which its pipe was active where that is longer (an
addition keeps a pipe busy as long as a multiply-add, and so does an instruction of which few
threads take part). The classical roofline asks for *operations* only, and of these the activity of
a pipe says no more than how many there can have been: integer multiply-adds, predicated-off threads
and additions keep it as busy as multiply-adds do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsightlens.analysis.thresholds import (
    EXPLAINED_ACTIVITY,
    EXPLAINED_AGGREGATE,
    INACTIVE,
    TIE,
)
from nsightlens.analysis.usage import FLOP_RESOURCES, INDEX, TENSOR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.analysis.fma import FmaPipe

__all__ = ["FlopWork", "Fractions", "busiest", "flop_work"]


class Fractions(NamedTuple):
    """Fractions of peak [1], NaN where unknown.

    Parameters
    ----------
    counted
        Counted work over what the peak would do in the duration. Shape (R, n).
    counted_most
        The same over the lowest that the peak can be; infinite where nothing bounds it. Shape
        (R, n).
    active
        Percent-of-peak counters. Shape (R, n).
    fma
        The pipe that FP32, integer multiply-adds and, on some chips, FP16 share.
    sm, memory
        Maximum over all parts of the SM, of the memory system. Shape (n,).
    has_all_tensor_types
        Tensor operations of every data type of the architecture were counted. Shape (n,).
    """

    counted: NDArray[np.float64]
    counted_most: NDArray[np.float64]
    active: NDArray[np.float64]
    fma: FmaPipe
    sm: NDArray[np.float64]
    memory: NDArray[np.float64]
    has_all_tensor_types: NDArray[np.bool_]


class FlopWork(NamedTuple):
    """Time for floating-point and tensor operations, as fractions of the duration.

    Parameters
    ----------
    counted
        NaN where the work was not counted. Shape (F, n).
    low, high
        Bounds: what was counted, else zero and the activity of the pipe. Shape (F, n).
    most
        Activity of the pipe of each type; infinite where it is unknown. Shape (F, n).
    has_counts
        FP64, FP32 and tensor work was counted, wherever these pipes were active. Shape (n,).
    """

    counted: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    most: NDArray[np.float64]
    has_counts: NDArray[np.bool_]


def busiest(fractions: Fractions) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return how busy every resource was, and where that comes from counted work.

    For caches the activity counts wherever it is known: their counters see more limits than bytes.

    Returns
    -------
    busy
        [1] NaN where unknown. Shape (R, n).
    is_counted
        Shape (R, n).
    """
    counted, active = fractions.counted, _attributed(fractions)
    # An activity that is hardly longer is that of the counted work.
    is_counted = ~np.isnan(counted) & ~(active > counted * EXPLAINED_AGGREGATE)
    for name in ("l2", "l1"):
        is_counted[INDEX[name]] &= np.isnan(active[INDEX[name]])
    return np.where(is_counted, counted, active), is_counted


def _attributed(fractions: Fractions) -> NDArray[np.float64]:
    """Give the activity of shared pipes to the work that explains it. Shape (R, n)."""
    active = fractions.active.copy()
    _attribute_tensor(fractions, active)
    counted = fractions.counted
    shares = fractions.fma.attribute(counted[INDEX["fp32"]], counted[INDEX["fp16"]])
    for name, share in shares.items():
        active[INDEX[name]] = np.fmax(active[INDEX[name]], share)
    return active


def _attribute_tensor(fractions: Fractions, active: NDArray[np.float64]) -> None:
    """Give the activity of the tensor pipes to the largest counted type that explains it."""
    tensor = INDEX["tensor"]
    is_explained = _is_tensor_explained(fractions)
    counted = np.nan_to_num(fractions.counted[: len(TENSOR)])
    largest, column = counted.argmax(axis=0), np.arange(counted.shape[1])
    of_largest = np.where(is_explained, active[tensor], np.nan)
    active[largest, column] = np.fmax(active[largest, column], of_largest)
    active[tensor] = np.where(is_explained, np.nan, active[tensor])


def _is_tensor_explained(fractions: Fractions) -> NDArray[np.bool_]:
    """Say where the counted tensor work explains the activity of the tensor pipes."""
    counted = np.nansum(fractions.counted[: len(TENSOR)], axis=0)
    active = fractions.active[INDEX["tensor"]]
    explained: NDArray[np.bool_] = (active <= INACTIVE) | (
        counted * (1.0 + TIE) >= EXPLAINED_ACTIVITY * active
    )
    return explained


def flop_work(fractions: Fractions) -> FlopWork:
    """Bound the time for floating-point and tensor work; say where all of it was counted.

    FP16 on CUDA cores is bounded as well and left out of ``has_counts``: most sets do not count it,
    and its bound tells whether it could matter.
    """
    counted = fractions.counted[: len(FLOP_RESOURCES)].copy()
    low = np.nan_to_num(counted)
    high = np.zeros_like(low)
    most_active = np.full_like(low, np.inf)
    for row, activity in _most_of_types(fractions).items():
        # Where the peak is not known exactly, the activity bounds what was counted as well.
        most = np.fmax(low[row], _or_sm(activity, fractions))
        high[row] = np.fmin(fractions.counted_most[row], most)
        most_active[row] = np.where(np.isnan(activity), np.inf, activity)
    high[INDEX["tensor"]] = _most_uncounted_tensor(fractions)
    types = [INDEX["fp64"], INDEX["fp32"]]
    has_counts = np.all(~np.isnan(counted[types]) | (high[types] <= INACTIVE), axis=0)
    has_counts &= fractions.has_all_tensor_types | _is_tensor_explained(fractions)
    # Counted, and the peak is not known.
    has_no_peak = np.isnan(counted) & np.isinf(fractions.counted_most[: len(counted)])
    has_counts &= ~has_no_peak.any(axis=0)
    return FlopWork(counted, low, high, most_active, has_counts)


def _most_of_types(fractions: Fractions) -> dict[int, NDArray[np.float64]]:
    """Return the activity that contains all work of a type, by its row; NaN where unknown."""
    active, fma = fractions.active, fractions.fma
    tensor = np.fmax(active[INDEX["tensor"]], active[INDEX["tensor_fp64"]])
    is_counted = ~np.isnan(fractions.counted_most)
    return {
        # Tensor work that was not counted has a row of its own.
        **{row: np.where(is_counted[row], tensor, 0.0) for row in range(len(TENSOR))},
        INDEX["fp64"]: active[INDEX["fp64"]],
        INDEX["fp32"]: fma.whole,
        INDEX["fp16"]: np.where(fma.has_fp16, fma.most_fp16, active[INDEX["fp16"]]),
    }


def _or_sm(activity: NDArray[np.float64], fractions: Fractions) -> NDArray[np.float64]:
    """Return an activity, where it is unknown that of the whole SM, else infinity."""
    known = np.where(np.isnan(activity), fractions.sm, activity)
    return np.where(np.isnan(known), np.inf, known)


def _most_uncounted_tensor(fractions: Fractions) -> NDArray[np.float64]:
    """Return the most that tensor work of types that were not counted can have needed."""
    counted = np.nansum(fractions.counted[: len(TENSOR)], axis=0)
    left = _or_sm(fractions.active[INDEX["tensor"]], fractions) - counted
    return np.where(fractions.has_all_tensor_types, 0.0, np.maximum(left, 0.0))
