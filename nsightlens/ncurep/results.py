"""Results: one launch, range, graph or command list with its metrics, from the bytes of an entry.

Metrics are the bulk of a file, so they do not become objects: `scan_result` walks an entry once,
appends every metric to flat columns and hands back the other fields, still unparsed.
`scan_instances` does the same for the instances of one metric. These two functions are the whole
hot path; they take bytes and columns and know nothing else. What nobody asked for (section
definitions, sources, call stacks, instances) is stepped over by its length.

Messages: ``ProfileResult``, ``RangeResult``, ``GraphResult``, ``CmdlistResult``,
``ProfileMetricResult`` and ``MetricValue`` of Nsight Compute's report format.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from nsightlens.ncurep.model import InstanceColumns, Kind, Result, ScalarColumns, ValueKind
from nsightlens.ncurep.nvtx import read_nvtx
from nsightlens.ncurep.rules import read_rules
from nsightlens.ncurep.wire import (
    Field,
    Message,
    WireFault,
    decode_text,
    read_field,
    read_varint,
    scan_fields,
)

__all__ = ["Layout", "layout_of", "metric_value", "read_result", "scan_instances", "scan_result"]

_NULL, _INTEGER, _DOUBLE, _TEXT = (
    ValueKind.NULL,
    ValueKind.INTEGER,
    ValueKind.DOUBLE,
    ValueKind.TEXT,
)
_UINT32 = 0xFFFFFFFF

_unpack_double = Struct("<d").unpack_from
_unpack_single = Struct("<f").unpack_from


class Layout(NamedTuple):
    """Field numbers that differ between the kinds of result; 0 where a kind has no such field."""

    metrics: int
    creation_time: int
    unsupported_device: int
    nvtx: int
    rules: int
    context_id: int
    stream_id: int
    context_name: int
    stream_name: int
    required: tuple[tuple[int, int, str], ...]
    """Number, wire type and name of every field without which the result is not one."""


_LAYOUTS: dict[Kind, Layout] = {
    "kernel": Layout(
        13, 14, 20, 21, 19, 22, 23, 26, 27,
        (
            (1, 0, "thread id"), (2, 0, "API call id"), (3, 0, "program handle"),
            (4, 0, "kernel id"), (5, 2, "mangled name"), (6, 2, "function name"),
            (7, 2, "demangled name"), (8, 0, "number of work dimensions"),
            (9, 2, "global work offset"), (10, 2, "grid size"), (11, 2, "block size"),
            (15, 2, "source reference"),
        ),
    ),
    "range": Layout(4, 5, 9, 10, 0, 11, 0, 13, 0, ()),
    "graph": Layout(4, 5, 9, 10, 0, 11, 12, 14, 15, ()),
    "cmdlist": Layout(4, 5, 9, 10, 21, 11, 12, 14, 15, ()),
}  # fmt: skip


def layout_of(kind: Kind) -> Layout:
    """Return where the fields of a kind of result lie."""
    return _LAYOUTS[kind]


def scan_result(  # noqa: PLR0912, PLR0915 - a call per metric would triple its time
    data: bytes, stop: int, metrics_field: int, result: int, columns: ScalarColumns
) -> tuple[list[Field], list[tuple[int, int]]]:
    """Append every metric of one result to the columns; return its other fields.

    Parameters
    ----------
    data
        Padded bytes of the result, which ends at ``stop``.
    stop
        [byte] Length of the result.
    metrics_field
        Number of the field that holds the metrics.
    result
        Index of the result, for ``columns.result``.
    columns
        Gets one row per metric.

    Returns
    -------
    fields
        The fields that are not metrics, in file order.
    extents
        Start and stop of each metric in ``data``, one per row appended.

    Raises
    ------
    WireFault
        Where the bytes do not follow the wire format or a metric has no name id. The columns then
        hold the rows before it.
    """
    # One flat loop with everything in locals: this runs once per metric and instance of a file.
    metrics_key = metrics_field << 3 | 2
    add_result, add_name, add_kind = columns.result.append, columns.name.append, columns.kind.append
    add_value, add_integer = columns.value.append, columns.integer.append
    add_count, texts, kinds = columns.instance_count.append, columns.text, columns.kind
    unpack_double = _unpack_double
    fields: list[Field] = []
    extents: list[tuple[int, int]] = []
    position = 0
    while position < stop:
        begin = position
        key = data[position]
        position += 1
        if key >= 0x80:
            key, position = read_varint(data, begin)
        if key != metrics_key:
            field, position = read_field(data, key, begin, position, stop)
            fields.append(field)
            continue
        size = data[position]
        position += 1
        if size >= 0x80:
            size, position = read_varint(data, position - 1)
        metric_start = position
        metric_stop = position + size
        if metric_stop > stop:
            raise WireFault(begin, f"a metric needs {size} bytes, {stop - position} are left")
        name = -1
        kind, value, integer, text, count = _NULL, 0.0, 0, "", 0
        while position < metric_stop:
            inner = position
            key = data[position]
            size = data[position + 1]
            position += 2
            if key == 0x1A:  # an instance
                if size >= 0x80:
                    size, position = read_varint(data, position - 1)
                position += size
                count += 1
            elif key == 0x12:  # the value
                if size == 9 and data[position] == 0x19:
                    kind, integer = _DOUBLE, 0
                    value = unpack_double(data, position + 1)[0]
                    position += 9
                else:
                    if size >= 0x80:
                        size, position = read_varint(data, position - 1)
                    if position + size <= metric_stop:
                        kind, value, integer, text = _value(data, position, position + size)
                    position += size
            elif key == 0x08:  # the name id
                name = size
                if size >= 0x80:
                    name, position = read_varint(data, position - 1)
                    name &= _UINT32
            else:  # the category, or a field of a later version
                key, position = read_varint(data, inner)
                field, position = read_field(data, key, inner, position, metric_stop)
            if position > metric_stop:
                raise WireFault(inner, "a field of a metric runs past the metric's end")
        if name < 0:
            raise WireFault(metric_start, "a metric has no name id", missing=True)
        if kind == _TEXT:
            texts[len(kinds)] = text
        add_result(result)
        add_name(name)
        add_kind(kind)
        add_value(value)
        add_integer(integer)
        add_count(count)
        extents.append((metric_start, metric_stop))
    return fields, extents


def scan_instances(
    data: bytes, start: int, stop: int, scalar: int, columns: InstanceColumns
) -> None:
    """Append every instance of the metric in ``[start, stop)`` to the columns.

    Parameters
    ----------
    data
        Padded bytes of the result.
    start, stop
        [byte] Extent of the metric, from `scan_result`.
    scalar
        Position of the metric in the scalar columns.
    columns
        Gets one row per instance.

    Raises
    ------
    WireFault
        Where the bytes do not follow the wire format or an instance has no value.
    """
    for field in scan_fields(data, start, stop):
        if field.number != 3 or field.wire_type != 2:
            continue
        correlation, element = (_NULL, 0.0, 0, ""), None
        for part in scan_fields(data, field.start, field.stop):
            if part.wire_type == 2:
                if part.number == 1:
                    correlation = _value(data, part.start, part.stop)
                elif part.number == 2:
                    element = _value(data, part.start, part.stop)
        if element is None:
            raise WireFault(field.start, "an instance has no value", missing=True)
        row = len(columns.scalar)
        if correlation[0] == _TEXT:
            columns.correlation_text[row] = correlation[3]
        if element[0] == _TEXT:
            columns.text[row] = element[3]
        columns.scalar.append(scalar)
        columns.correlation_kind.append(correlation[0])
        columns.correlation_value.append(correlation[1])
        columns.correlation_integer.append(correlation[2])
        columns.kind.append(element[0])
        columns.value.append(element[1])
        columns.integer.append(element[2])


def _value(data: bytes, start: int, stop: int) -> tuple[int, float, int, str]:
    """Return kind, float, integer and text of a ``MetricValue``; the last one set counts."""
    found = (_NULL, 0.0, 0, "")
    position = start
    while position < stop:
        begin = position
        key, position = read_varint(data, position)
        field, position = read_field(data, key, begin, position, stop)
        if key == 0x28:
            found = (_INTEGER, float(field.start), field.start, "")
        elif key == 0x19:
            found = (_DOUBLE, _unpack_double(data, field.start)[0], 0, "")
        elif key == 0x0A:
            found = (_TEXT, 0.0, 0, decode_text(data[field.start : field.stop]))
        elif key == 0x20:
            integer = field.start & _UINT32
            found = (_INTEGER, float(integer), integer, "")
        elif key == 0x15:
            found = (_DOUBLE, _unpack_single(data, field.start)[0], 0, "")
    return found


def metric_value(data: bytes, start: int, stop: int) -> int | float | str | None:
    """Return the value of the ``MetricValue`` in ``[start, stop)``, or None where it has none.

    Raises
    ------
    WireFault
        Where the bytes do not follow the wire format.
    """
    kind, value, integer, text = _value(data, start, stop)
    return (None, integer, value, text)[kind]


def read_result(message: Message, kind: Kind, layout: Layout) -> Result:
    """Return a result without its metrics.

    Parameters
    ----------
    message
        The fields of the result that are not metrics.
    kind
        Which kind of result it is.
    layout
        Its `layout_of`.

    Raises
    ------
    WireFault
        Where a field is damaged or one that every result must have is missing.
    """
    for number, wire_type, name in layout.required:
        if message.last(number, wire_type) is None:
            raise message.missing(name)
    thread_id = message.uint32(1)
    result = Result(
        kind=kind,
        thread_id=thread_id,
        api_call_id=message.uint64(2),
        context_id=message.uint32(layout.context_id),
        stream_id=message.uint32(layout.stream_id),
        context_name=message.text(layout.context_name) or None,
        stream_name=message.text(layout.stream_name) or None,
        creation_time=message.uint64(layout.creation_time),
        is_unsupported_device=bool(message.uint64(layout.unsupported_device)),
    )
    if kind == "kernel":
        _read_names(result, message)
        result.grid, result.block = _extent(message, 10), _extent(message, 11)
    elif kind == "cmdlist":
        result.function_name = message.text(18) or None
    nvtx = message.message(layout.nvtx)
    if nvtx is not None:
        result.nvtx = read_nvtx(nvtx, thread_id)
    result.rules = read_rules(message.messages(layout.rules))
    return result


def _read_names(result: Result, message: Message) -> None:
    """Fill the three names; an empty one is taken from the others, as NVIDIA's reader does."""
    mangled, function, demangled = (message.text(number) or None for number in (5, 6, 7))
    result.function_name = function or mangled or demangled
    result.mangled_name = mangled or function or demangled
    result.demangled_name = demangled or function or mangled


def _extent(message: Message, number: int) -> tuple[int, int, int] | None:
    found = message.message(number)
    if found is None:
        return None
    return found.uint64(1) or 0, found.uint64(2) or 0, found.uint64(3) or 0
