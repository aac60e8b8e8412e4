"""An export of Nsight Systems becomes a `Trace`.

Every table is read, turned into columns of ours and let go, one at a time. What a device did is
joined with the API call that asked for it, and that with the NVTX ranges that were open then.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from nsightlens.nsys import opened
from nsightlens.nsys.paths import Moments, RangesOpen
from nsightlens.readers.columns import shown_path
from nsightlens.readers.trace_columns import Strings, column_of, numbers
from nsightlens.readers.trace_events import (
    KINDS,
    Asked,
    read_activities,
    rows_of,
    table_of_activities,
)
from nsightlens.readers.trace_facts import gpu_metrics_table, gpus_table, known_of, sessions_table
from nsightlens.readers.trace_host import api_calls, nvtx_events, ranges_table
from nsightlens.readers.trace_notes import graph_trace_of, notes_of
from nsightlens.trace import Trace

if TYPE_CHECKING:
    from nsightlens.nsys import Export
    from nsightlens.readers.trace_events import Activities
    from nsightlens.readers.trace_host import Calls

__all__ = ["open_trace", "trace_of_export"]


def open_trace(
    path: str | os.PathLike[str],
    *,
    nsys: str | None = None,
    exported_to: str | os.PathLike[str] | None = None,
) -> Trace:
    """Read a trace of Nsight Systems.

    Parameters
    ----------
    path
        An export of the type ``sqlite`` (a file), ``arrowdir`` or ``parquetdir`` (folders), of any
        version of nsys, or a ``.nsys-rep``, which the installed nsys then exports.
    nsys
        The nsys that exports a report; None for the first on ``PATH``.
    exported_to
        Where to keep the SQLite export of a report; None for a temporary place. Only for reports.

    Returns
    -------
    Trace
        Any of its tables may have no rows, by what was traced. What a person must know of it
        stands in ``Trace.warnings``; nothing is warned of.

    Raises
    ------
    ReportNotFoundError
        There is no such file or folder, or it cannot be read.
    NotATraceError
        It is no export, or a damaged one. The message says what it is.
    ProgramNotFoundError
        A report was named, and there is no nsys to export it.
    ProfilingError
        nsys could not export the report, such as one of a newer nsys.
    OutputExistsError, OutputError
        ``exported_to`` exists, or cannot be written.

    Examples
    --------
    >>> from nsightlens import open_trace
    >>> open_trace("step.sqlite").kernels["nvtx_path"]  # doctest: +SKIP
    """
    shown = shown_path(os.fspath(path))
    with opened(path, nsys=nsys, exported_to=exported_to) as export:
        return trace_of_export(export, shown)


def trace_of_export(export: Export, shown: str) -> Trace:
    """Return what an export holds."""
    notes: list[str] = []
    strings, known = Strings(export), known_of(export)
    calls = api_calls(export, shown, strings, notes)
    events = nvtx_events(export, strings, notes)
    is_open = RangesOpen(events.ranges, export.shown)
    ranges = ranges_table(shown, events, is_open.parents(), strings)
    del events
    activities = {
        name: read_activities(export, kind, calls.process, calls.table, notes)
        for name, kind in KINDS.items()
    }
    asked = _asked(calls, is_open, activities)
    found = {
        name: table_of_activities(shown, activities.pop(name), asked, strings, known)
        for name in KINDS
    }
    gpus = gpus_table(export, shown)
    trace = Trace(
        **found,
        api_calls=calls.table,
        ranges=ranges,
        gpus=gpus,
        gpu_metrics=gpu_metrics_table(export, shown, gpus),
        sessions=sessions_table(
            export, shown, graph_trace_of(found["kernels"], found["graph_launches"])
        ),
        source=shown,
    )
    notes += notes_of(trace, crossed_count=is_open.crossed_count, is_cut=is_open.is_cut)
    warnings = tuple(f"{shown}: {note}" for note in notes)
    return replace(trace, warnings=warnings)


def _asked(calls: Calls, is_open: RangesOpen, activities: dict[str, Activities]) -> Asked:
    """Return what is known of the calls that asked for activities."""
    rows = rows_of(list(activities.values()), len(calls.thread))
    moments = Moments(
        calls.thread[rows], calls.process[rows], numbers(column_of(calls.table, "start_ns"))[rows]
    )
    paths = is_open.at(moments)
    return Asked(calls.table, rows, paths.code, paths.texts, paths.innermost)
