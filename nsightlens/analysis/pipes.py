"""How busy every resource was, and between which bounds its floating-point work lies.

Two questions are asked of the same counters. What bounds the launch asks how *busy* a resource was:
its counted work over its peak, or the time in which its pipe was active where that is longer (an
addition keeps a pipe busy as long as a multiply-add, and so does an instruction of which few
threads take part). The classical roofline asks for *operations* only, counted where they were.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nsightlens.analysis.thresholds import EXPLAINED_ACTIVITY, EXPLAINED_AGGREGATE, INACTIVE
from nsightlens.analysis.usage import FLOP_RESOURCES, INDEX, TENSOR

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FlopWork", "Fractions", "busiest", "flop_work"]

# Without a count, FP32 work is at least half of what its pipe was active for, all of it additions.
# FP16 may be nothing of what its pipe did.
_LEAST_SHARE = {"fp64": 1.0, "fp32": 0.5, "fp16": 0.0}


@dataclass(frozen=True, slots=True, eq=False)
class Fractions:
    """Fractions of peak [1], NaN where unknown.

    Parameters
    ----------
    counted
        Counted work over what the peak would do in the duration. Shape (R, n).
    active
        Percent-of-peak counters. Shape (R, n).
    fma
        Activity of the pipe that FP32, integer multiply-adds and, from 8.6 on, FP16 share. Shape
        (n,).
    sm, memory
        Maximum over all parts of the SM, of the memory system. Shape (n,).
    has_fp16_pipe
        FP16 has a pipe of its own. Shape (n,).
    has_all_tensor_types
        Tensor operations of every data type of the architecture were counted. Shape (n,).
    """

    counted: NDArray[np.float64]
    active: NDArray[np.float64]
    fma: NDArray[np.float64]
    sm: NDArray[np.float64]
    memory: NDArray[np.float64]
    has_fp16_pipe: NDArray[np.bool_]
    has_all_tensor_types: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class FlopWork:
    """Time for floating-point and tensor operations, as fractions of the duration.

    Parameters
    ----------
    best, low, high
        Best value (NaN where unknown) and bounds. Shape (F, n).
    has_counts
        FP64, FP32 and tensor work was counted, wherever these pipes were active. Shape (n,).
    """

    best: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
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
    fp32, integer, tensor = INDEX["fp32"], INDEX["integer"], INDEX["tensor"]
    # Less than half explained by FP32: the rest of the fma pipe is integer multiply-adds.
    is_integer = fractions.counted[fp32] < EXPLAINED_ACTIVITY * active[fp32]
    active[integer] = np.where(is_integer, np.fmax(active[integer], active[fp32]), active[integer])
    active[fp32] = np.where(is_integer, np.nan, active[fp32])
    # Explained by counted types: the activity is that of the largest.
    is_explained = _is_tensor_explained(fractions)
    counted = np.nan_to_num(fractions.counted[: len(TENSOR)])
    largest, column = counted.argmax(axis=0), np.arange(counted.shape[1])
    of_largest = np.where(is_explained, active[tensor], np.nan)
    active[largest, column] = np.fmax(active[largest, column], of_largest)
    active[tensor] = np.where(is_explained, np.nan, active[tensor])
    return active


def _is_tensor_explained(fractions: Fractions) -> NDArray[np.bool_]:
    """Say where the counted tensor work explains the activity of the tensor pipes."""
    counted = np.nansum(fractions.counted[: len(TENSOR)], axis=0)
    active = fractions.active[INDEX["tensor"]]
    explained: NDArray[np.bool_] = (active <= INACTIVE) | (counted >= EXPLAINED_ACTIVITY * active)
    return explained


def flop_work(fractions: Fractions) -> FlopWork:
    """Bound the time for floating-point and tensor work; say where all of it was counted.

    FP16 on CUDA cores is bounded as well and left out of ``has_counts``: most sets do not count it,
    and its bound tells whether it could matter.
    """
    shape = (len(FLOP_RESOURCES), fractions.sm.shape[0])
    best, low, high = np.full(shape, np.nan), np.zeros(shape), np.zeros(shape)
    has_counts = np.ones(shape[1], dtype=bool)
    ceiling = np.where(np.isnan(fractions.sm), np.inf, fractions.sm)
    for name, share in _LEAST_SHARE.items():
        row = INDEX[name]
        counted, active = fractions.counted[row], fractions.active[row]
        most = _most_of_pipe(fractions, name)
        is_counted = ~np.isnan(counted)
        best[row] = np.where(is_counted, counted, active)
        low[row] = np.where(is_counted, counted, np.nan_to_num(active) * share)
        high[row] = np.where(is_counted, counted, np.where(np.isnan(most), ceiling, most))
        if name != "fp16":
            has_counts &= is_counted | (high[row] <= INACTIVE)
    types = slice(0, len(TENSOR))
    best[types] = fractions.counted[types]
    low[types] = high[types] = np.nan_to_num(fractions.counted[types])
    row, active = INDEX["tensor"], fractions.active[INDEX["tensor"]]
    is_done = fractions.has_all_tensor_types | _is_tensor_explained(fractions)
    best[row] = np.where(is_done, np.nan, active)
    low[row] = np.where(is_done, 0.0, np.nan_to_num(active))
    high[row] = np.where(is_done, 0.0, np.where(np.isnan(active), ceiling, active))
    return FlopWork(best, low, high, has_counts & is_done)


def _most_of_pipe(fractions: Fractions, name: str) -> NDArray[np.float64]:
    """Return the activity that contains all work of a type, NaN where it is not known."""
    own: NDArray[np.float64] = fractions.active[INDEX[name]]
    if name == "fp32":
        return np.fmax(fractions.fma, own)
    if name == "fp16":
        return np.where(fractions.has_fp16_pipe, own, fractions.fma)
    return own
