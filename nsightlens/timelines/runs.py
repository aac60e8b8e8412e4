"""Runs of short kernels: what a CUDA graph could merge, and the idle time it could save at most.

A run is a sequence of kernels of one step that follow one another on a stream, each shorter than a
limit, none of them in a CUDA graph already, with no copy on the stream and no wait of the host
between them. What could be saved is the idle time of the device
between them that waits for launches; the kernels themselves would take as long as before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nsightlens import tables
from nsightlens.arrays import number_array
from nsightlens.timelines.activities import KERNEL, NO_VALUE, codes_of
from nsightlens.timelines.gaps import CAUSES

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from nsightlens.timelines.activities import Activities
    from nsightlens.timelines.gaps import Gaps
    from nsightlens.trace import Trace

__all__ = ["FEWEST", "SHORT_NS", "runs_table"]

SHORT_NS = 20_000
"""[ns] A kernel that takes less is short: of the order of what a launch takes."""
FEWEST = 4
"""Kernels that a run has at least."""


def runs_table(
    trace: Trace,
    activities: Activities,
    step: NDArray[np.int64],
    gaps: Gaps,
    *,
    short_ns: int = SHORT_NS,
) -> pa.Table:
    """Return the runs of short kernels, in the order of their begin.

    Parameters
    ----------
    trace, activities
        The trace, and what its devices did.
    step
        Step of each activity, -1 for none.
    gaps
        The gaps of the devices.
    short_ns
        [ns] A kernel that takes less is short.
    """
    number = activities.number
    at = np.arange(len(activities))  # a copy on the stream ends a run too
    lane = [number[one][at] for one in ("process_id", "device_id", "context_id", "stream_id")]
    order = np.lexsort((number["start_ns"][at], *lane))
    at = at[order]
    start, end = number["start_ns"][at], number["end_ns"][at]
    is_short = (end - start < short_ns) & (number["graph_node_id"][at] == NO_VALUE)
    is_short &= activities.kind[at] == KERNEL
    # No graph holds a synchronisation of the host.
    after_sync = np.zeros(len(activities), dtype=bool)
    after_sync[gaps.after[gaps.cause == CAUSES.index("sync")]] = True
    is_first = np.ones(len(at), dtype=bool)
    for values in (*(one[order] for one in lane), step[at], is_short):
        is_first[1:] &= values[1:] == values[:-1]
    is_first[1:] = ~is_first[1:]
    is_first |= after_sync[at]
    run = np.cumsum(is_first) - 1
    count = int(run[-1]) + 1 if len(run) else 0
    first = np.flatnonzero(is_first)
    size = np.bincount(run, minlength=count)
    last = first + size - 1
    before_ns = np.zeros((2, len(activities)), dtype=np.int64)
    before_ns[0][gaps.after] = gaps.duration_ns
    is_launch = gaps.cause == CAUSES.index("launch")
    before_ns[1][gaps.after[is_launch]] = gaps.duration_ns[is_launch]
    between = np.where(is_first, 0, before_ns[:, at])
    gap_ns, launch_ns = (np.bincount(run, one, minlength=count) for one in between)
    kernel_ns = np.bincount(run, end - start, minlength=count)
    keep = np.flatnonzero(is_short[first] & (size >= FEWEST)) if count else np.zeros(0, dtype=int)
    keep = keep[np.argsort(start[first][keep], kind="stable")]
    code, names = codes_of(trace.kernels, "kernel")
    code = np.where(activities.kind[at] == KERNEL, np.append(code, 0)[_row_of(activities, at)], 0)
    of_step = step[at][first][keep]
    return tables.table_of(
        tables.schema_of(tables.TIMELINE_RUNS),
        {
            "step_id": number_array(np.maximum(of_step, 0).astype(np.uint32), of_step >= 0),
            **{name: _known(number[name][at][first][keep]) for name in ("device_id", "stream_id")},
            "kernel_count": size[keep].astype(np.uint64),
            "start_ns": start[first][keep],
            "end_ns": end[last][keep],
            "kernel_duration_ns": kernel_ns[keep].astype(np.int64),
            "gap_ns": gap_ns[keep].astype(np.int64),
            "launch_gap_ns": launch_ns[keep].astype(np.int64),
            "first_kernel": [names[one] for one in code[first][keep].tolist()],
            "last_kernel": [names[one] for one in code[last][keep].tolist()],
        },
        len(keep),
    )


def _row_of(activities: Activities, at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row in the table of kernels; -1 for what is none."""
    return np.where(activities.kind[at] == KERNEL, activities.row[at], -1)


def _known(values: NDArray[np.int64]) -> pa.Array:
    return number_array(values, values != NO_VALUE)
