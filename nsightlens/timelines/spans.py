"""Steps on the devices: spans that share no nanosecond, and what is in each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nsightlens import tables
from nsightlens.arrays import known_numbers, number_array
from nsightlens.timelines.activities import COPY, KERNEL, NO_VALUE, codes_of, distinct
from nsightlens.timelines.copies import exposed, not_hiding
from nsightlens.timelines.gaps import CAUSES
from nsightlens.timelines.intervals import covered_within, merged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.timelines.activities import Activities
    from nsightlens.timelines.gaps import Gaps
    from nsightlens.timelines.steps_of import StepRanges
    from nsightlens.trace import Trace

__all__ = ["Spans", "families_table", "spans_of", "steps_table"]


class Spans:
    """The spans of steps on all devices, in the order of their begin; s of them.

    Parameters
    ----------
    start_ns, end_ns
        Of each; they share no nanosecond. Shape (s,).
    overlap_ns
        How far each would have reached into those before it.
    """

    def __init__(self, start: NDArray[np.int64], end: NDArray[np.int64]) -> None:
        reach = np.maximum.accumulate(end) if len(end) else end
        self.start_ns = start.copy()
        self.start_ns[1:] = np.maximum(start[1:], reach[:-1])
        self.end_ns = np.maximum(self.start_ns, end)
        self.overlap_ns = self.start_ns - start


def spans_of(activities: Activities, step: NDArray[np.int64], count: int) -> Spans:
    """Return the spans of ``count`` steps, which are numbered in the order of their begin."""
    start = np.full(count, np.iinfo(np.int64).max)
    end = np.full(count, np.iinfo(np.int64).min)
    inside = step >= 0
    np.minimum.at(start, step[inside], activities.number["start_ns"][inside])
    np.maximum.at(end, step[inside], activities.number["end_ns"][inside])
    return Spans(start, end)


def steps_table(
    activities: Activities,
    step: NDArray[np.int64],
    ranges: StepRanges,
    spans: Spans,
    gaps: Gaps,
) -> pa.Table:
    """Return a row per step, and where there are several devices a row per step and device."""
    devices = [one for (one,) in distinct(activities.number["device_id"])[0]]
    parts = [_rows(activities, step, ranges, spans, gaps, device=None)]
    if len(devices) > 1:
        parts += [_rows(activities, step, ranges, spans, gaps, device=one) for one in devices]
    schema = tables.schema_of(tables.TIMELINE_STEPS)
    count = len(spans.start_ns)
    stacked = pa.concat_tables([tables.table_of(schema, one, count) for one in parts])
    table = stacked.unify_dictionaries()
    order = np.argsort(np.tile(np.arange(count), len(parts)), kind="stable")
    return table.take(number_array(order))


def _rows(
    activities: Activities,
    step: NDArray[np.int64],
    ranges: StepRanges,
    spans: Spans,
    gaps: Gaps,
    *,
    device: int | None,
) -> dict[str, Any]:
    """Return the columns of the rows of one device, or of all of them together."""
    count = len(spans.start_ns)
    number = activities.number
    mine = np.ones(len(activities), dtype=bool)
    if device is not None:
        mine = number["device_id"] == device
    busy = merged(number["start_ns"][mine], number["end_ns"][mine])
    busy_ns = covered_within(busy, spans.start_ns, spans.end_ns)
    wall_ns = spans.end_ns - spans.start_ns
    before_ns = np.full(count, NO_VALUE)
    if count:
        gap = spans.start_ns[1:] - spans.end_ns[:-1]
        before_ns[1:] = gap - covered_within(busy, spans.end_ns[:-1], spans.start_ns[1:])
    is_kernel = mine & (activities.kind == KERNEL) & (step >= 0)
    is_copy = mine & (activities.kind == COPY) & (step >= 0)
    of = step[is_kernel]
    duration = (number["end_ns"] - number["start_ns"])[is_kernel]
    exposed_ns = covered_within(exposed(activities.only(mine)), spans.start_ns, spans.end_ns)
    asked, called = number["api_start_ns"][is_kernel], number["api_end_ns"][is_kernel]
    latency = np.where(
        asked == NO_VALUE, np.nan, number["start_ns"][is_kernel].astype(float) - asked
    )
    in_call = np.where(
        (asked == NO_VALUE) | (called == NO_VALUE), np.nan, called.astype(float) - asked
    )
    idle = _idle_by_cause(spans, gaps, device)
    if device is None and len(distinct(number["device_id"])[0]) > 1:
        # Together the devices are idle only where each of them is: no one cause explains that.
        idle = [np.full(count, None) for _ in CAUSES]
    has_host = ranges.start_ns != NO_VALUE
    open_end = ranges.end_ns == np.iinfo(np.int64).max
    with np.errstate(all="ignore"):
        busy_pct = np.where(wall_ns > 0, 100 * busy_ns / wall_ns, np.nan)
    return {
        "step_id": np.arange(count, dtype=np.uint32),
        "name": ranges.name,
        **{
            one: [label.get(one) for label in ranges.labels]
            for one in ("phase", "batch_size", "step_index")
        },
        "device_id": [device] * count,
        "host_start_ns": number_array(ranges.start_ns, has_host),
        "host_duration_ns": number_array(
            np.where(has_host & ~open_end, ranges.end_ns - ranges.start_ns, 0),
            has_host & ~open_end,
        ),
        "start_ns": spans.start_ns,
        "end_ns": spans.end_ns,
        "wall_ns": wall_ns,
        "busy_ns": busy_ns,
        "idle_ns": wall_ns - busy_ns,
        "busy_pct": known_numbers(busy_pct),
        "idle_before_ns": number_array(before_ns, before_ns != NO_VALUE),
        "kernel_count": np.bincount(of, minlength=count).astype(np.uint64),
        "kernel_duration_ns": np.bincount(of, duration, minlength=count).astype(np.int64),
        "copy_count": np.bincount(step[is_copy], minlength=count).astype(np.uint64),
        "copy_exposed_ns": exposed_ns,
        "kernel_alone_ns": covered_within(
            not_hiding(activities.only(mine)), spans.start_ns, spans.end_ns
        ),
        **{f"idle_{one}_ns": idle[place] for place, one in enumerate(CAUSES)},
        "launch_latency_median_ns": _percentile(latency, of, count, 50),
        "launch_latency_p90_ns": _percentile(latency, of, count, 90),
        "api_call_median_ns": _percentile(in_call, of, count, 50),
    }


def _idle_by_cause(spans: Spans, gaps: Gaps, device: int | None) -> list[NDArray[np.int64]]:
    """Return the idle time within each span, by cause. Shape (causes, s)."""
    chosen = np.unique(gaps.device_id) if device is None else np.array([device])
    found = []
    for cause in range(len(CAUSES)):
        mine = np.isin(gaps.device_id, chosen) & (gaps.cause == cause)
        union = merged(gaps.start_ns[mine], gaps.end_ns[mine])
        found.append(covered_within(union, spans.start_ns, spans.end_ns))
    return found


def _percentile(
    values: NDArray[np.float64], group: NDArray[np.int64], count: int, percent: int
) -> pa.Array:
    """Return a percentile of the values of each group that are known; null where none is."""
    known = ~np.isnan(values)
    values, group = values[known], group[known]
    order = np.lexsort((values, group))
    values = values[order]
    size = np.bincount(group, minlength=count)
    first = np.concatenate([[0], np.cumsum(size)])[:-1]
    # The nearest rank: a value that was measured.
    rank = first + np.maximum(np.ceil(size * percent / 100).astype(np.int64) - 1, 0)
    found = np.append(values, np.nan)[np.where(size > 0, rank, len(values))]
    return known_numbers(found)


def families_table(trace: Trace, activities: Activities, step: NDArray[np.int64]) -> pa.Table:
    """Return the kernels of each step by family, the longest first."""
    at = np.flatnonzero(activities.kind == KERNEL)
    code, names = codes_of(trace.kernels, "family")
    duration = (activities.number["end_ns"] - activities.number["start_ns"])[at]
    rows, group = distinct(step[at], code[activities.row[at]])
    count = len(rows)
    groups = np.array(rows, dtype=np.int64).reshape(count, 2).T
    total = np.bincount(group, duration, minlength=count)
    _, of_step = np.unique(groups[0], return_inverse=True)
    of_step = of_step.reshape(-1)
    whole = np.bincount(of_step, total)[of_step] if count else total
    with np.errstate(all="ignore"):
        share = np.where(whole > 0, 100 * total / whole, np.nan)
    is_in_step = groups[0] >= 0
    table = tables.table_of(
        tables.schema_of(tables.TIMELINE_FAMILIES),
        {
            "step_id": number_array(np.maximum(groups[0], 0).astype(np.uint32), is_in_step),
            "family": [names[one] for one in groups[1].tolist()],
            "kernel_count": np.bincount(group, minlength=count).astype(np.uint64),
            "duration_ns": total.astype(np.int64),
            "duration_share_pct": known_numbers(share),
        },
        count,
    )
    return table.take(number_array(np.lexsort((-total, groups[0], ~is_in_step))))
