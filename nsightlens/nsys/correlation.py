"""Which API call asked for what a device did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

__all__ = ["NONE", "calls_of"]

NONE = -(2**63)
"""Stands for a process or correlation id that an export does not say."""


def calls_of(
    process: Numbers, correlation: Numbers, call_process: Numbers, call_correlation: Numbers
) -> Numbers:
    """Return the call that asked for each activity, -1 where it is not in the trace.

    Ids are unique in a process only. Where several calls of a process have the same one, as a call
    of the runtime and what it calls in the driver may, it is the last of them. Where activities do
    not say their process, it is that of the calls, if there is only one.

    Parameters
    ----------
    process, correlation
        Of each activity; `NONE` where not known. Shape (n,).
    call_process, call_correlation
        Of each call, in the order in which they began. Shape (m,).

    Examples
    --------
    >>> calls_of(*(np.array(one) for one in ([7, 8], [1, 1], [8, 7, 7], [1, 1, 2]))).tolist()
    [1, 0]
    """
    rows = np.flatnonzero(call_correlation != NONE)
    found = np.full(len(process), -1, dtype=np.int64)
    if not len(rows) or not len(process):
        return found
    # Most traces have one process, which needs no sorting to be seen.
    is_one = call_process.min() == call_process.max()
    processes = call_process[:1] if is_one else np.unique(call_process)
    if len(processes) == 1:
        process = np.where(process == NONE, processes[0], process)
    # Numbers of processes and ids make one key; ids that are too large for that are ranked.
    ids = call_correlation[rows]
    lowest, highest = int(ids.min()), int(ids.max())
    if lowest < 0 or (highest + 1) * len(processes) >= 2**62:
        known = np.unique(ids)
        ids = np.searchsorted(known, ids)
        place = np.minimum(np.searchsorted(known, correlation), len(known) - 1)
        is_known = known[place] == correlation
        correlation, highest = place, len(known)
    else:
        is_known = (correlation >= 0) & (correlation <= highest)
    number = np.minimum(np.searchsorted(processes, process), len(processes) - 1)
    asked = np.flatnonzero(is_known & (processes[number] == process))
    keys = np.searchsorted(processes, call_process[rows]) * (highest + 1) + ids
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    wanted = number[asked] * (highest + 1) + correlation[asked]
    place = np.maximum(np.searchsorted(keys, wanted, side="right") - 1, 0)
    is_there = keys[place] == wanted
    found[asked[is_there]] = rows[order[place[is_there]]]
    return found
