"""What timelines measured of decode steps, as arrays over steps: the numbers of `step_costs`.

A step lasts here from the end of the step before it to its own end, so that the time in which the
host prepares it counts as a part of it: that is how often steps follow one another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow.compute as pc

from nsightlens.devices.columns import number_column, text_column
from nsightlens.timelines.gaps import CAUSES
from nsightlens.timelines.intervals import covered_within, merged

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from nsightlens.timelines.timeline import Timeline

__all__ = ["PAUSE", "MeasuredSteps", "measured_steps", "without_pauses"]

PAUSE = 3.0
"""[1] A step that takes this many times the median of its batch size is a warm-up, or follows a
pause of the program: it is left out where there are others."""

_OTHER_PHASES = ("prefill", "mixed", "capture")


class MeasuredSteps(NamedTuple):
    """Steps of one timeline; s of them.

    Parameters
    ----------
    batch_size
        NaN where nothing says it. Shape (s,).
    mean_ns
        [ns] By name, the mean over the devices; counts too. Shape (s,) each.
    follows_another
        Whether the time before the step is known, which it is not of the first. Shape (s,).
    source
        The trace.
    has_steps
        False where the whole trace stands for a step.
    has_calls
        False where no call of the host was traced, so that no idle time has a cause.
    """

    batch_size: NDArray[np.float64]
    mean_ns: dict[str, NDArray[np.float64]]
    follows_another: NDArray[np.bool_]
    source: str
    has_steps: bool
    has_calls: bool


def measured_steps(timeline: Timeline) -> MeasuredSteps:
    """Return the decode steps of a timeline, and those of which nothing says the phase.

    Parameters
    ----------
    timeline
        From `nsightlens.timeline`.
    """
    steps = timeline.steps
    of_devices = steps.filter(pc.is_valid(steps["device_id"]))
    # What all devices do together hides what each of them waits for.
    rows = of_devices if of_devices.num_rows else steps
    order = np.lexsort((number_column(rows, "step_id"), _devices(rows)))
    rows = rows.take(order)
    count = len(np.unique(number_column(rows, "step_id")))
    devices = max(rows.num_rows // max(count, 1), 1)
    found = {
        name: number_column(rows, name).reshape(devices, count)
        for name in ("start_ns", "end_ns", "wall_ns", "busy_ns", "copy_exposed_ns",
                     "kernel_alone_ns", "idle_ns", "idle_before_ns", "kernel_count",
                     *(f"idle_{one}_ns" for one in CAUSES))
    }  # fmt: skip
    before = _between(timeline.gaps, found, _devices(rows)[::count] if count else np.zeros(0))
    found.update({f"idle_{one}_ns": found[f"idle_{one}_ns"] + before[one] for one in CAUSES})
    idle = found["idle_ns"] + np.nan_to_num(found["idle_before_ns"])
    # Before its first and after its last activity a device has no gap that a call ended.
    rest = idle - sum(found[f"idle_{one}_ns"] for one in CAUSES)
    found["idle_unknown_ns"] = found["idle_unknown_ns"] + np.maximum(rest, 0.0)
    between = np.zeros_like(found["start_ns"])
    between[:, 1:] = found["start_ns"][:, 1:] - found["end_ns"][:, :-1]
    found["step_ns"] = found["wall_ns"] + between
    ran_between = between - np.nan_to_num(found["idle_before_ns"])
    # Copies keep a device busy in the timeline, but leave its multiprocessors to others.
    found["busy_ns"] = found["busy_ns"] - found["copy_exposed_ns"] + np.maximum(ran_between, 0)
    mean = {name: values.mean(axis=0) for name, values in found.items()}
    mean.update(_of_copies(timeline.copies, count, devices))
    mean.update(_of_runs(timeline.runs, count, devices))
    keep = _is_decode(rows)[:count]
    latency = number_column(steps, "launch_latency_median_ns")
    return MeasuredSteps(
        number_column(rows, "batch_size")[:count][keep],
        {name: values[keep] for name, values in mean.items()},
        (np.arange(count) > 0)[keep],
        timeline.source,
        timeline.has_steps,
        bool(np.isfinite(latency).any()),
    )


def without_pauses(steps: MeasuredSteps, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the rows of one batch size that are like the others.

    Parameters
    ----------
    steps
        The steps.
    rows
        Those of one batch size.
    """
    following = rows[steps.follows_another[rows]]
    rows = following if len(following) else rows
    step_ns = steps.mean_ns["step_ns"][rows]
    return rows[step_ns <= PAUSE * np.median(step_ns)] if len(rows) else rows


def _devices(rows: pa.Table) -> NDArray[np.float64]:
    return np.nan_to_num(number_column(rows, "device_id"), nan=-1.0)


def _is_decode(rows: pa.Table) -> NDArray[np.bool_]:
    code, texts = text_column(rows, "phase")
    is_wanted = np.array([one not in _OTHER_PHASES for one in texts], dtype=bool)
    found: NDArray[np.bool_] = is_wanted[code]
    return found


def _between(
    gaps: pa.Table, found: dict[str, NDArray[np.float64]], device: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return the idle time between each span and the one before it [ns], by cause."""
    start, end = (found[one].astype(np.int64) for one in ("start_ns", "end_ns"))
    before = start.copy()
    before[:, 1:] = end[:, :-1]
    code, texts = text_column(gaps, "cause")
    begin, stop = (number_column(gaps, one).astype(np.int64) for one in ("start_ns", "end_ns"))
    of_device = _devices(gaps)
    result = {one: np.zeros(start.shape) for one in CAUSES}
    for row, number in enumerate(device.tolist()):  # one turn per device
        mine = np.ones(len(begin), bool) if number < 0 else of_device == number
        for cause in CAUSES:
            is_it = mine & np.array([one == cause for one in texts], dtype=bool)[code]
            union = merged(begin[is_it], stop[is_it])
            result[cause][row] = covered_within(union, before[row], start[row])
    return result


def _per_step(table: pa.Table, values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return the sums of values by the step of their row; what is in no step is left out."""
    step = number_column(table, "step_id")
    known = np.isfinite(step) & np.isfinite(values)
    sums = np.bincount(step[known].astype(np.int64), values[known], minlength=count)
    return sums[:count].astype(np.float64)


def _of_copies(copies: pa.Table, count: int, devices: int) -> dict[str, NDArray[np.float64]]:
    is_pageable = np.zeros(copies.num_rows, bool)
    for side in ("source_memory", "destination_memory"):
        code, texts = text_column(copies, side)
        is_pageable |= np.array([one == "pageable" for one in texts], dtype=bool)[code]
    free = number_column(copies, "exposed_ns")
    sums = {
        "pageable_ns": np.where(is_pageable, free, 0.0),
        "copied_bytes": number_column(copies, "copied_bytes"),
        "copy_count": number_column(copies, "copy_count"),
    }
    return {name: _per_step(copies, values, count) / devices for name, values in sums.items()}


def _of_runs(runs: pa.Table, count: int, devices: int) -> dict[str, NDArray[np.float64]]:
    kernels = number_column(runs, "kernel_count")
    took, gap = number_column(runs, "kernel_duration_ns"), number_column(runs, "gap_ns")
    with np.errstate(all="ignore"):
        # The longest of n kernels takes at least the n-th part of their time, and one kernel in
        # their place about as long as the longest.
        fused = gap + took * (1.0 - 1.0 / kernels)
    sums = {
        "run_count": np.ones(runs.num_rows),
        "short_count": kernels,
        "short_ns": took,
        "short_gap_ns": gap,
        "fused_ns": fused,
    }
    return {name: _per_step(runs, values, count) / devices for name, values in sums.items()}
