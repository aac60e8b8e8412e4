"""What limits theoretical occupancy: the smallest of the block limits that ncu stores."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from nsightlens.arrays import number_array

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["LIMITS", "NOT_LIMITED", "limit_metric", "occupancy_limiter"]

LIMITS = ("blocks", "registers", "shared_mem", "warps", "barriers")
"""Resources of a multiprocessor that bound how many blocks fit at once, in NVIDIA's words."""

NOT_LIMITED = "none"
"""Said where theoretical occupancy is 100 %: then no block limit costs any warp."""


def limit_metric(limit: str) -> str:
    """Return the metric with the blocks that one resource lets fit on a multiprocessor."""
    return f"launch__occupancy_limit_{limit}"


def occupancy_limiter(
    number: Callable[[str], NDArray[np.float64]],
    theoretical_occupancy_pct: NDArray[np.float64],
) -> pa.Array:
    """Name the limits that keep theoretical occupancy below 100 %.

    Agrees with the Occupancy and TheoreticalOccupancy rules of Nsight Compute, which name every
    limit that equals the smallest, and say "not impacted by any block limit" at 100 %.

    Parameters
    ----------
    number
        Gives a metric as float64, NaN where a launch has no value. Shape (n,).
    theoretical_occupancy_pct
        [%] NaN where not known. Shape (n,).

    Returns
    -------
    pyarrow.Array
        Names from `LIMITS` joined by ``+``, `NOT_LIMITED`, or null. Shape (n,).
    """
    limits = np.stack([number(limit_metric(limit)) for limit in LIMITS])
    is_known = ~np.isnan(limits)
    smallest = np.where(is_known, limits, np.inf).min(axis=0)
    is_smallest = is_known & (limits == smallest)
    # One bit per limit: the combination is an index into the list of all joined names.
    combination = (is_smallest * (1 << np.arange(len(LIMITS)))[:, np.newaxis]).sum(axis=0)
    is_full = theoretical_occupancy_pct >= 100
    names = _combinations()
    combination[is_full] = len(names) - 1
    return pa.DictionaryArray.from_arrays(
        number_array(combination.astype(np.int32), combination != 0), names
    )


@cache
def _combinations() -> pa.Array:
    """Return the joined names of every set of limits, and last the name of none."""
    # Made when first used: pyarrow imports pandas, where installed, with the first array.
    joined = (
        "+".join(name for bit, name in enumerate(LIMITS) if combination >> bit & 1)
        for combination in range(1 << len(LIMITS))
    )
    return pa.array([*joined, NOT_LIMITED], type=pa.string())
