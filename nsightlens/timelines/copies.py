"""What copies cost: by direction and kind of memory, and how much of it no kernel hides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nsightlens import tables
from nsightlens.arrays import known_numbers, number_array
from nsightlens.timelines.activities import (
    COPY,
    GRAPH,
    KERNEL,
    NO_VALUE,
    codes_of,
    distinct,
    whole_column,
)
from nsightlens.timelines.intervals import Intervals, covered_within, merged, without

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from nsightlens.timelines.activities import Activities
    from nsightlens.trace import Trace

__all__ = ["copies_table", "exposed", "not_hiding"]

_TEXTS = ("direction", "source_memory", "destination_memory")


def exposed(activities: Activities) -> Intervals:
    """Return the times with a copy and without anything else: no kernel, memset or graph."""
    start, end = (activities.number[one] for one in ("start_ns", "end_ns"))
    is_copy = activities.kind == COPY
    return without(merged(start[is_copy], end[is_copy]), merged(start[~is_copy], end[~is_copy]))


def not_hiding(activities: Activities) -> Intervals:
    """Return the times with a kernel or graph and without a copy: what could hide one."""
    start, end = (activities.number[one] for one in ("start_ns", "end_ns"))
    is_copy = activities.kind == COPY
    hides = (activities.kind == KERNEL) | (activities.kind == GRAPH)
    return without(merged(start[hides], end[hides]), merged(start[is_copy], end[is_copy]))


def copies_table(
    trace: Trace,
    activities: Activities,
    step: NDArray[np.int64],
    link_bytes_per_s: float | None,
) -> pa.Table:
    """Return a row per step, direction and kinds of memory.

    Parameters
    ----------
    trace, activities
        The trace, and what its devices did.
    step
        Step of each activity, -1 for none.
    link_bytes_per_s
        [B/s] Peak of the link between host and GPU, one way; None where not known.
    """
    at = np.flatnonzero(activities.kind == COPY)
    row = activities.row[at]
    texts = [codes_of(trace.copies, name) for name in _TEXTS]
    keys = [step[at], *(code[row] for code, _ in texts)]
    rows, group = distinct(*keys)
    count = len(rows)
    groups = np.array(rows, dtype=np.int64).reshape(count, len(keys)).T
    start, end = (activities.number[one][at] for one in ("start_ns", "end_ns"))
    device = activities.number["device_id"][at]
    size = whole_column(trace.copies, "copied_bytes")[row]
    size = np.where(size == NO_VALUE, 0, size)
    duration = np.bincount(group, end - start, minlength=count)
    bytes_ = np.bincount(group, size, minlength=count)
    alone = np.zeros(len(at), dtype=np.int64)
    for (one,) in distinct(device)[0]:  # one turn per device
        free = exposed(activities.only(activities.number["device_id"] == one))
        mine = device == one
        alone[mine] = covered_within(free, start[mine], end[mine])
    exposed_ns = np.bincount(group, alone, minlength=count).astype(np.int64)
    with np.errstate(all="ignore"):
        bandwidth = np.where(duration > 0, bytes_ / duration * 1e9, np.nan)
        share = 100 * bandwidth / (np.nan if link_bytes_per_s is None else link_bytes_per_s)
    crosses = np.array(
        [one in {"host_to_device", "device_to_host"} for one in texts[0][1]], dtype=bool
    )
    return tables.table_of(
        tables.schema_of(tables.TIMELINE_COPIES),
        {
            "step_id": number_array(np.maximum(groups[0], 0).astype(np.uint32), groups[0] >= 0),
            **{
                name: [known[one] for one in groups[1 + place].tolist()]
                for place, (name, (_, known)) in enumerate(zip(_TEXTS, texts, strict=True))
            },
            "copy_count": np.bincount(group, minlength=count).astype(np.uint64),
            "copied_bytes": bytes_.astype(np.uint64),
            "duration_ns": duration.astype(np.int64),
            "exposed_ns": exposed_ns,
            "bandwidth_bytes_per_s": known_numbers(bandwidth),
            "link_peak_pct": known_numbers(np.where(crosses[groups[1]], share, np.nan)),
        },
        count,
    )
