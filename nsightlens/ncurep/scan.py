"""The hot path: metrics and their instances from the bytes of a result into flat columns.

Metrics are the bulk of a file, so they do not become objects. `scan_result` walks a result once,
appends every metric to the columns and hands back the other fields, still unparsed, for
`nsightlens.ncurep.results`; what nobody asked for (section definitions, sources, call stacks,
instances) is stepped over by its length. `scan_instances` does the same for the instances of one
metric. Both take padded bytes (`nsightlens.ncurep.wire`) and columns, and know nothing else, so
that a compiled scanner can stand in for this module.

Messages: ``ProfileMetricResult`` and ``MetricValue`` of Nsight Compute's report format.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

from nsightlens.ncurep.model import ValueKind
from nsightlens.ncurep.wire import WireFault, decode_text, read_field, read_varint

if TYPE_CHECKING:
    from nsightlens.ncurep.model import InstanceColumns, ScalarColumns
    from nsightlens.ncurep.wire import Field

__all__ = ["metric_value", "scan_instances", "scan_result"]

_NULL, _INTEGER, _DOUBLE, _TEXT = (
    ValueKind.NULL,
    ValueKind.INTEGER,
    ValueKind.DOUBLE,
    ValueKind.TEXT,
)
_UINT32 = 0xFFFFFFFF

_unpack_double = Struct("<d").unpack_from
_unpack_single = Struct("<f").unpack_from


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
    position = start
    while position < stop:
        begin = position
        key, size = data[position], data[position + 1]
        position += 2
        if key != 0x1A:
            key, position = read_varint(data, begin)
            _, position = read_field(data, key, begin, position, stop)
            continue
        if size >= 0x80:
            size, position = read_varint(data, position - 1)
        if position + size > stop:
            raise WireFault(begin, f"an instance needs {size} bytes, {stop - position} are left")
        _scan_instance(data, position, position + size, scalar, columns)
        position += size


def _scan_instance(
    data: bytes, start: int, stop: int, scalar: int, columns: InstanceColumns
) -> None:
    correlation, element = (_NULL, 0.0, 0, ""), None
    position = start
    while position < stop:
        begin = position
        key, size = data[position], data[position + 1]
        position += 2
        if key not in {0x0A, 0x12}:
            key, position = read_varint(data, begin)
            _, position = read_field(data, key, begin, position, stop)
            continue
        if size >= 0x80:
            size, position = read_varint(data, position - 1)
        if position + size > stop:
            raise WireFault(begin, f"a value needs {size} bytes, {stop - position} are left")
        if key == 0x0A:
            correlation = _value(data, position, position + size)
        else:
            element = _value(data, position, position + size)
        position += size
    if element is None:
        raise WireFault(start, "an instance has no value", missing=True)
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
    # Nearly every value is a message of exactly one field: an integer or a double.
    key = data[start]
    if key == 0x28:
        integer, position = read_varint(data, start + 1)
        if position == stop:
            return _INTEGER, float(integer), integer, ""
    elif key == 0x19 and stop - start == 9:
        return _DOUBLE, _unpack_double(data, start + 1)[0], 0, ""
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
    return (None, None, integer, value, text)[kind]
