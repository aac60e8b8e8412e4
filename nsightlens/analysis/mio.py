"""The MIO, through which several kinds of instructions leave the SM, and what kept it busy.

Loads, stores, shuffles and texture reads go through its queues, and so do special functions,
barriers and, on chips with few FP64 units, FP64. What memory access puts into it is seen by the
counters of that access as well, each of them at least as busy: an SM that only loads issues half as
many percent of MIO instructions as of load/store instructions. A MIO that is busier than all of
these counters is so with something else, and that belongs to the compute side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsightlens.analysis.thresholds import EXPLAINED_ACTIVITY, TIE
from nsightlens.analysis.usage import INDEX, IS_COMPUTE

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Mio", "attribute_mio"]

# The resources that go through it, and that which stands for every other instruction.
_USERS = np.array([INDEX["fp64"], INDEX["xu"]])


class Mio(NamedTuple):
    """What the activity of the MIO [1] says, one value per launch.

    Parameters
    ----------
    resource
        Row of the resource that its activity belongs to; -1 where it says nothing new, or nothing
        tells. Shape (n,).
    undecided
        Activity that may belong to either side, and so stays below the ceilings of both; zero where
        there is none. Shape (n,).
    """

    resource: NDArray[np.intp]
    undecided: NDArray[np.float64]


def attribute_mio(
    mio: NDArray[np.float64],
    busy: NDArray[np.float64],
    least_access: NDArray[np.float64],
    most_access: NDArray[np.float64],
) -> Mio:
    """Say what kept the MIO busy, where something tells.

    Nothing is said of a MIO that is no busier than memory access, for which it may have been busy
    all of that time, nor of one that is no busier than a resource of the compute side.

    Parameters
    ----------
    mio
        [1] Its activity, NaN where it is unknown. Shape (n,).
    busy
        [1] Activity of each resource. Shape (R, n).
    least_access, most_access
        [1] Bounds of the activity of memory access in the SM and in L1; the former NaN where
        nothing is known, the latter infinite. Shape (n,).
    """
    known = np.nan_to_num(mio)
    compute = np.nan_to_num(busy[IS_COMPUTE]).max(axis=0)
    is_more = known > np.fmax(compute, np.nan_to_num(least_access)) * (1.0 + TIE)
    is_compute = is_more & (known > most_access * (1.0 + TIE))
    users = np.nan_to_num(busy[_USERS])
    explained = users.max(axis=0) >= EXPLAINED_ACTIVITY * known
    resource = np.where(explained, _USERS[users.argmax(axis=0)], INDEX["issue"])
    return Mio(np.where(is_compute, resource, -1), np.where(is_more & ~is_compute, known, 0.0))
