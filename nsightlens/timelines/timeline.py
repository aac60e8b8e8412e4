"""`timeline`: what each step of a trace spent its time on, and what could be gained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nsightlens import tables
from nsightlens.arrays import number_array
from nsightlens.errors import NotATraceError
from nsightlens.timelines.activities import GRAPH, KERNEL, NO_VALUE, activities_of, codes_of
from nsightlens.timelines.advice import advice_table
from nsightlens.timelines.copies import copies_table
from nsightlens.timelines.gaps import CAUSES, gaps_of
from nsightlens.timelines.runs import SHORT_NS, runs_table
from nsightlens.timelines.spans import families_table, spans_of, steps_table
from nsightlens.timelines.steps_of import WHOLE_TRACE, StepRanges, step_of, step_ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.timelines.activities import Activities
    from nsightlens.timelines.gaps import Gaps
    from nsightlens.timelines.spans import Spans
    from nsightlens.trace import Trace

__all__ = ["Timeline", "timeline"]


@dataclass(frozen=True, eq=False, repr=False)
class Timeline:
    """What the steps of a trace spent their time on.

    Parameters
    ----------
    steps, families, copies, gaps, runs, advice
        With the schemas ``TIMELINE_*`` of `nsightlens.tables`.
    source
        Path of the trace, as given.
    has_steps
        False where no range of the trace is a step, so that the whole trace is one.
    notes
        What a person must know, one sentence each.
    """

    steps: pa.Table
    families: pa.Table
    copies: pa.Table
    gaps: pa.Table
    runs: pa.Table
    advice: pa.Table
    source: str
    has_steps: bool
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Timeline of {self.steps.num_rows} rows of steps: {self.source}>"


def timeline(
    trace: Trace,
    *,
    steps_from: str | None = None,
    short_ns: int = SHORT_NS,
    link_bytes_per_s: float | None = None,
) -> Timeline:
    """Say what each step of a trace spent its time on.

    Parameters
    ----------
    trace
        From `nsightlens.open_trace`.
    steps_from
        Regular expression that the NVTX names of steps contain; None for the step labels of the
        serving engines and of `nsightlens.annotate`. A trace without any is one step.
    short_ns
        [ns] A kernel that takes less is short.
    link_bytes_per_s
        [B/s] Peak of the link between host and GPU, one way, to set copies against.

    Returns
    -------
    Timeline
        Times are those of the trace: exact, and with what tracing itself costs.

    Raises
    ------
    NotATraceError
        The trace holds nothing that a device did.
    FilterError
        No range has a name as ``steps_from`` wants it.

    Examples
    --------
    >>> import nsightlens
    >>> nsightlens.timeline(nsightlens.open_trace("run.sqlite")).steps  # doctest: +SKIP
    """
    activities = activities_of(trace)
    if not len(activities):
        raise NotATraceError(
            trace.source,
            "holds no kernel, copy or memset, so that there is no time to account for",
            "Trace with nsys profile -t cuda,nvtx, while the GPU works.",
        )
    every = (trace.kernels, trace.copies, trace.memsets, trace.graph_launches)
    left_out = sum(table.num_rows for table in every) - len(activities)
    ranges = step_ranges(trace, steps_from)
    step = step_of(activities, ranges)
    has_steps = bool((step >= 0).any())
    notes = list(trace.warnings)
    if left_out:
        notes.append(
            f"{left_out} activities have no begin or no end, or end before they begin: left out."
        )
    if has_steps:
        step, ranges, unused = _in_order(activities, step, ranges)
        notes += _notes(activities, step, unused)
    else:
        if len(ranges.start_ns):
            notes.append(
                f"{len(ranges.start_ns)} ranges are steps, and no kernel was launched in any: "
                "the whole trace is shown as one step."
            )
        else:
            notes.append(
                "No NVTX range is the step of an engine: the whole trace is shown as one step. "
                "Name the ranges that are steps with --steps-from."
            )
        step, ranges = np.zeros(len(activities), dtype=np.int64), _whole_trace()
    gaps = gaps_of(trace, activities)
    spans = spans_of(activities, step, len(ranges.start_ns))
    if (spans.overlap_ns > 0).any():
        notes.append(
            f"{int((spans.overlap_ns > 0).sum())} steps began on the devices before the step "
            "before them had ended; each nanosecond counts for the earlier one."
        )
    steps = steps_table(activities, step, ranges, spans, gaps)
    copies = copies_table(trace, activities, step, link_bytes_per_s)
    runs = runs_table(trace, activities, step, gaps, short_ns=short_ns)
    return Timeline(
        steps,
        families_table(trace, activities, step),
        copies,
        _gaps_table(trace, activities, spans, gaps),
        runs,
        advice_table(steps, copies, runs),
        trace.source,
        has_steps,
        tuple(notes),
    )


def _whole_trace() -> StepRanges:
    one = np.full(1, NO_VALUE)
    return StepRanges(one, one, one, one, [WHOLE_TRACE], [{}])


def _in_order(
    activities: Activities, step: NDArray[np.int64], ranges: StepRanges
) -> tuple[NDArray[np.int64], StepRanges, int]:
    """Return steps numbered by their begin on the devices, and how many did nothing there."""
    count = len(ranges.start_ns)
    first = np.full(count, np.iinfo(np.int64).max)
    inside = step >= 0
    np.minimum.at(first, step[inside], activities.number["start_ns"][inside])
    used = np.flatnonzero(np.bincount(step[inside], minlength=count))
    order = used[np.argsort(first[used], kind="stable")]
    number = np.full(count + 1, -1, dtype=np.int64)
    number[order] = np.arange(len(order))
    chosen: list[Any] = [one[order] for one in ranges[:4]]
    chosen += [[one[at] for at in order.tolist()] for one in ranges[4:]]
    return number[step], StepRanges(*chosen), count - len(order)


def _notes(activities: Activities, step: NDArray[np.int64], unused: int) -> list[str]:
    notes = []
    outside = int(((step < 0) & (activities.kind == KERNEL)).sum())
    if outside:
        notes.append(
            f"{outside} of {int((activities.kind == KERNEL).sum())} kernels were launched in no "
            "step and are in no row of a step."
        )
    if unused:
        notes.append(f"{unused} ranges of steps launched nothing and are left out.")
    if (activities.kind == GRAPH).any():
        notes.append(
            "CUDA graphs were traced as a whole, so that their kernels are not seen: trace with "
            "--cuda-graph-trace=node."
        )
    return notes


def _gaps_table(trace: Trace, activities: Activities, spans: Spans, gaps: Gaps) -> pa.Table:
    """Return the gaps, the longest first, each with the step in whose span it began."""
    at = np.searchsorted(spans.start_ns, gaps.start_ns, side="right") - 1
    is_in = (at >= 0) & (gaps.start_ns < np.append(spans.end_ns, NO_VALUE)[at])
    code, names = codes_of(trace.kernels, "kernel")
    is_kernel = activities.kind[gaps.after] == KERNEL
    row = np.where(is_kernel, activities.row[gaps.after], 0)
    following = np.append(code, len(names) - 1)[row]
    table = tables.table_of(
        tables.schema_of(tables.TIMELINE_GAPS),
        {
            "step_id": number_array(np.maximum(at, 0).astype(np.uint32), is_in),
            "device_id": number_array(gaps.device_id, gaps.device_id != NO_VALUE),
            "start_ns": gaps.start_ns,
            "end_ns": gaps.end_ns,
            "duration_ns": gaps.duration_ns,
            "cause": pa.array(CAUSES, pa.string()).take(number_array(gaps.cause)),
            "next_kernel": pa.array(names, pa.string()).take(
                number_array(np.where(is_kernel, following, len(names) - 1))
            ),
        },
        len(gaps.start_ns),
    )
    return table.take(number_array(np.argsort(-gaps.duration_ns, kind="stable")))
