"""A slow and obvious attribution of kernels to API calls and NVTX ranges, row by row.

It shares nothing with `nsightlens.nsys`: it takes the rows of an export as they are, and for each
activity looks at every call and every range.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import pyarrow as pa

    from nsightlens.trace import Trace

    Row = dict[str, Any]

__all__ = ["Attributed", "attributed", "attribution_of", "rows_of_file", "rows_of_tables"]

_LOW = 0xFFFFFF


class Attributed(NamedTuple):
    """What an activity was asked by, and in which ranges."""

    start: int
    correlation: int | None
    api_start: int | None
    api_end: int | None
    thread: int | None
    path: str | None
    innermost: tuple[int, int | None] | None
    """Start and end of the innermost push/pop range."""


def rows_of_file(path: Path, table: str) -> list[Row]:
    """Return the rows of a table of a SQLite export; none where it has no such table."""
    with closing(sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)) as file:
        file.text_factory = lambda content: content.decode("utf-8", "backslashreplace")
        file.row_factory = sqlite3.Row
        try:
            return [dict(row) for row in file.execute(f"SELECT * FROM {table} ORDER BY rowid")]
        except sqlite3.OperationalError:
            return []


def rows_of_tables(tables: dict[str, Any], table: str) -> list[Row]:
    """Return the rows of a table of `support.traces.tables_of`."""
    return tables[table].to_pylist() if table in tables else []


def attributed(
    activities: Iterable[Row], calls: Sequence[Row], nvtx: Sequence[Row], strings: Sequence[Row]
) -> list[Attributed]:
    """Return the attribution of activities, in the order of their start."""
    texts = {row["id"]: row["value"] for row in strings}
    # Rows that repeat a call for its call stack count only where nothing else is there.
    real = [row for row in calls if row.get("eventClass") != 67] or list(calls)
    ranges = _Nvtx(nvtx, texts)
    found = []
    for activity in sorted(activities, key=lambda row: row["start"]):
        call = _call_of(activity, real)
        path, innermost = None, None
        if call is not None:
            path, innermost = ranges.path(call)
        found.append(
            Attributed(
                activity["start"],
                activity.get("correlationId"),
                None if call is None else call["start"],
                None if call is None else call["end"],
                None if call is None else call["globalTid"] & _LOW,
                path,
                innermost,
            )
        )
    return found


def _text(row: Row, texts: dict[int, str]) -> str:
    text = row["text"]
    if text is None:
        text = texts.get(row["textId"])
    return text or ""


def _call_of(activity: Row, calls: Sequence[Row]) -> Row | None:
    """Return the last call of the activity's process that has its correlation id."""
    process = activity.get("globalPid")
    if process is None:
        processes = {row["globalTid"] & ~_LOW for row in calls}
        if len(processes) != 1:
            return None
        process = processes.pop()
    fitting = [
        row
        for row in calls
        if row["correlationId"] is not None
        and row["correlationId"] == activity.get("correlationId")
        and row["globalTid"] & ~_LOW == process
    ]
    return max(fitting, key=lambda row: row["start"]) if fitting else None


def _is_open(row: Row, time: int) -> bool:
    return row["start"] <= time and (row["end"] is None or row["end"] >= time)


def _is_closed_by_next(row: Row, time: int, stack: Sequence[Row]) -> bool:
    """Tell whether a range ended as another one of its stack began, at this very time."""
    if row["end"] != time or row["start"] == row["end"]:
        return False
    return any(
        other["start"] == time and (other["end"] is None or other["end"] > time) for other in stack
    )


class _Nvtx:
    """The ranges of an export, in the order of their start, the one that ends later first."""

    def __init__(self, nvtx: Sequence[Row], texts: dict[int, str]) -> None:
        rows = sorted(
            (row for row in nvtx if row["eventType"] in (59, 60, 70, 71)),
            key=lambda row: (row["start"], -(2**63 if row["end"] is None else row["end"])),
        )
        self.domains = sorted({row["domainId"] or 0 for row in rows})
        self._rows = list(enumerate(rows))
        self._texts = texts
        self._names = {
            (row["globalTid"] & ~_LOW, row["domainId"]): _text(row, texts)
            for row in nvtx
            if row["eventType"] == 75
        }

    def path(self, call: Row) -> tuple[str | None, tuple[int, int | None] | None]:
        """Return the path of a call, and its innermost push/pop range."""
        time, thread = call["start"], call["globalTid"]
        process = thread & ~_LOW
        near = [(at, row) for at, row in self._rows if _is_open(row, time)]
        parts: list[str] = []
        innermost: tuple[int, Row] | None = None
        for domain in self.domains:
            prefix = ""
            if domain:
                prefix = self._names.get((process, domain), f"domain {domain}") + "@"
            own = [(at, row) for at, row in near if (row["domainId"] or 0) == domain]
            stack = [
                (at, row)
                for at, row in own
                if row["eventType"] in (59, 70) and row["globalTid"] == thread
            ]
            rows = [row for _, row in stack]
            stack = [(at, row) for at, row in stack if not _is_closed_by_next(row, time, rows)]
            if stack:
                parts.append(prefix + "/".join(_text(row, self._texts) for _, row in stack))
                if innermost is None or stack[-1][0] > innermost[0]:
                    innermost = stack[-1]
            parts += [
                prefix + _text(row, self._texts)
                for _, row in own
                if row["eventType"] in (60, 71) and row["globalTid"] & ~_LOW == process
            ]
        path = ";".join(parts) or None
        return path, None if innermost is None else (innermost[1]["start"], innermost[1]["end"])


def attribution_of(trace: Trace, table: pa.Table) -> list[Attributed]:
    """Return what a trace says, in the words of the reference."""
    names = (
        "start_ns", "correlation_id", "api_start_ns", "api_end_ns", "thread_id", "nvtx_path",
        "nvtx_range_id",
    )  # fmt: skip
    starts, ends = (trace.ranges[name].to_pylist() for name in ("start_ns", "end_ns"))
    *known, inner = (table[name].to_pylist() for name in names)
    innermost = [None if one is None else (starts[one], ends[one]) for one in inner]
    return [Attributed(*row) for row in zip(*known, innermost, strict=True)]
