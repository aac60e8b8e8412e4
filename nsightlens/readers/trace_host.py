"""What the host did: the tables of API calls and of NVTX ranges."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens import tables
from nsightlens.arrays import category_array, number_array
from nsightlens.nsys.correlation import NONE
from nsightlens.nsys.paths import Ranges
from nsightlens.nsys.stacks import UNCLOSED
from nsightlens.readers.columns import constant
from nsightlens.readers.trace_columns import (
    Either,
    column_of,
    numbers,
    process_ids,
    process_of,
    recoded,
    thread_ids,
    whole_array,
)
from nsightlens.readers.trace_events import raw_events

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.nsys import Export
    from nsightlens.nsys.raw import Kind
    from nsightlens.readers.trace_columns import Strings

    Numbers = NDArray[np.int64]

__all__ = ["Calls", "NvtxEvents", "api_calls", "nvtx_events", "ranges_table"]

# The API keeps older versions of a function beside the new one, under names such as these.
_VERSION = re.compile(r"_v\d+$")

_WITH_CALLSTACK = 67
"""``eventClass`` of rows that repeat a call to hold its call stack: ENUM_NSYS_EVENT_CLASS."""

_CALL: dict[str, Kind] = dict.fromkeys(
    ("start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue"), "whole"
)


class Calls(NamedTuple):
    """The API calls of a trace.

    Parameters
    ----------
    table
        As of the trace.
    thread, process
        Identity of their threads and processes, as exports spell it. Shape (n,).
    """

    table: pa.Table
    thread: Numbers
    process: Numbers


def api_calls(export: Export, shown: str, strings: Strings, notes: list[str]) -> Calls:
    """Read the calls of the CUDA runtime and driver."""
    raw = raw_events(export, "CUPTI_ACTIVITY_KIND_RUNTIME", _CALL, notes)
    repeats = numbers(column_of(raw, "eventClass")) == _WITH_CALLSTACK
    if repeats.any() and not repeats.all():
        raw = raw.filter(number_array(~repeats))
    count = raw.num_rows
    start, end, thread = (numbers(column_of(raw, one)) for one in ("start", "end", "globalTid"))
    names = strings.of(column_of(raw, "nameId"))
    known = pa.array([_VERSION.sub("", one) for one in names.dictionary.to_pylist()], pa.string())
    table = tables.table_of(
        tables.schema_of(tables.TRACE_API_CALLS),
        {
            "trace": constant(shown, count),
            "api_call_id": number_array(np.arange(count, dtype=np.uint32)),
            "process_id": whole_array(process_ids(thread)),
            "thread_id": whole_array(thread_ids(thread)),
            "correlation_id": column_of(raw, "correlationId"),
            "start_ns": column_of(raw, "start"),
            "end_ns": column_of(raw, "end"),
            "duration_ns": whole_array(np.where(end == NONE, NONE, end - start)),
            "api_name": recoded(names.indices, known),
            "return_value": column_of(raw, "returnValue"),
        },
        count,
    )
    return Calls(table, thread, process_of(thread))


# eventType of NVTX_EVENTS: ENUM_NSYS_EVENT_TYPE. The second of each pair was imported from a text.
_PUSH_POP, _START_END, _MARK = (59, 70), (60, 71), (34, 65)
_DOMAIN_CREATE = 75
_KINDS = ("push_pop", "start_end", "mark")

_NUMBERS = ("uint64Value", "int64Value", "uint32Value", "int32Value")
_REALS = ("doubleValue", "floatValue")
_RANGE: dict[str, Kind] = {
    **dict.fromkeys(
        ("start", "end", "eventType", "globalTid", "endGlobalTid", "textId", "domainId",
         "category", "jsonTextId", *_NUMBERS),
        "whole",
    ),
    **dict.fromkeys(_REALS, "real"),
    "text": "text",
    "jsonText": "text",
}  # fmt: skip


class NvtxEvents(NamedTuple):
    """The NVTX ranges and marks of a trace, in its order.

    Parameters
    ----------
    raw
        Their rows of the export.
    kind
        Position in ``_KINDS``. Shape (n,).
    name
        Their texts.
    ranges
        The same for attribution.
    """

    raw: pa.Table
    kind: Numbers
    name: pa.DictionaryArray
    ranges: Ranges


def nvtx_events(export: Export, strings: Strings, notes: list[str]) -> NvtxEvents:
    """Read the NVTX ranges and marks, and the domains that they are in."""
    raw = raw_events(export, "NVTX_EVENTS", _RANGE, notes, is_longest_first=True)
    event = numbers(column_of(raw, "eventType"))
    domains = _domains(raw.filter(number_array(event == _DOMAIN_CREATE)), strings)
    kind = np.select(
        # What does not say what it is: an export made by others, of ranges with two ends.
        [np.isin(event, _PUSH_POP) | (event == NONE), np.isin(event, _START_END),
         np.isin(event, _MARK)],
        [0, 1, 2],
        -1,
    )  # fmt: skip
    raw = raw.filter(number_array(kind >= 0))
    kind = kind[kind >= 0]
    name = Either(column_of(raw, "text"), strings.of(column_of(raw, "textId"))).joined()
    return NvtxEvents(raw, kind, name, _ranges(raw, kind, name, domains))


def _domains(created: pa.Table, strings: Strings) -> dict[tuple[int, int], str]:
    """Return the names of domains by process and number."""
    name = Either(column_of(created, "text"), strings.of(column_of(created, "textId"))).joined()
    process = process_of(numbers(column_of(created, "globalTid")))
    number = numbers(column_of(created, "domainId"))
    found = zip(process.tolist(), number.tolist(), name.to_pylist(), strict=True)
    return {(of, domain): text for of, domain, text in found if text is not None}


def _ranges(
    raw: pa.Table,
    kind: Numbers,
    name: pa.DictionaryArray,
    domains: dict[tuple[int, int], str],
) -> Ranges:
    start, end = (numbers(column_of(raw, one)) for one in ("start", "end"))
    thread = numbers(column_of(raw, "globalTid"))
    domain = numbers(column_of(raw, "domainId"))
    domain = np.where(domain == NONE, 0, domain)
    process = process_of(thread)
    names = pa.concat_arrays([name.dictionary, pa.array([""], pa.string())])
    code = np.asarray(name.indices.fill_null(len(name.dictionary))).astype(np.int64)
    # The trace may have begun after a domain was made: then only its number is known.
    every = {*zip(process[domain != 0].tolist(), domain[domain != 0].tolist(), strict=True)}
    return Ranges(
        is_push_pop=kind == 0,
        is_start_end=kind == 1,
        thread=thread,
        process=process,
        domain=domain,
        start=start,
        end=np.where(end == NONE, UNCLOSED, np.maximum(end, start)),
        name=code,
        names=names,
        domains={one: domains.get(one, f"domain {one[1]}") for one in every},
    )


def ranges_table(shown: str, events: NvtxEvents, parents: Numbers, strings: Strings) -> pa.Table:
    """Return the table of ranges and marks.

    Parameters
    ----------
    shown
        The trace, as its tables call it.
    events
        What was read.
    parents
        Row of the push/pop range around each one, -1 for none. Shape (n,).
    strings
        The strings of the export.
    """
    raw, count = events.raw, events.raw.num_rows
    start, end = (numbers(column_of(raw, one)) for one in ("start", "end"))
    thread, end_thread = (numbers(column_of(raw, one)) for one in ("globalTid", "endGlobalTid"))
    return tables.table_of(
        tables.schema_of(tables.TRACE_RANGES),
        {
            "trace": constant(shown, count),
            "nvtx_range_id": number_array(np.arange(count, dtype=np.uint32)),
            "kind": category_array(events.kind, _KINDS),
            "name": events.name,
            "domain": _domain_column(events.ranges),
            "process_id": whole_array(process_ids(thread)),
            "thread_id": whole_array(thread_ids(thread)),
            "end_thread_id": whole_array(thread_ids(end_thread)),
            "start_ns": column_of(raw, "start"),
            "end_ns": column_of(raw, "end"),
            "duration_ns": whole_array(np.where(end == NONE, NONE, end - start)),
            "parent_range_id": number_array(parents.astype(np.uint32), parents >= 0),
            "category": column_of(raw, "category"),
            "payload": _payload(raw, strings),
        },
        count,
    )


def _domain_column(ranges: Ranges) -> pa.DictionaryArray:
    """Return the name of the domain of each range, null for the default one."""
    code = np.full(len(ranges.domain), -1, dtype=np.int64)
    names: list[str] = []
    for (process, domain), name in ranges.domains.items():
        code[(ranges.process == process) & (ranges.domain == domain)] = len(names)
        names.append(name)
    return recoded(number_array(code.astype(np.int32), code >= 0), pa.array(names, pa.string()))


def _payload(raw: pa.Table, strings: Strings) -> pa.Array:
    """Return whichever payload an event has, as text."""
    found: list[Any] = [
        column_of(raw, "jsonText").cast(pa.string()),
        strings.of(column_of(raw, "jsonTextId")).cast(pa.string()),
    ]
    for name in (*_REALS, *_NUMBERS):
        column = column_of(raw, name)
        if column.null_count < len(column):
            found.append(column.cast(pa.string()))
    return pc.coalesce(*found)
