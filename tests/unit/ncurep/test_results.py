"""Results: names, launch configuration, metrics and their instances."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from support.handmade import block, file_of, kernel, metric, write_bytes

from nsightlens.ncurep import read_ncu_rep
from nsightlens.ncurep.encode import (
    double_field,
    float_field,
    length_prefixed,
    message_field,
    text_field,
    uint_field,
)
from nsightlens.ncurep.model import ValueKind

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.ncurep.model import NcuRepFile, Result

NULL, INTEGER, DOUBLE, TEXT = (
    ValueKind.NULL,
    ValueKind.INTEGER,
    ValueKind.DOUBLE,
    ValueKind.TEXT,
)


def read_kernel(folder: Path, *fields: bytes, **options: Any) -> NcuRepFile:
    strings = [f"m{number}" for number in range(300)]
    content = file_of(block([kernel(*fields)], strings=strings))
    return read_ncu_rep(write_bytes(folder, content), **options)


def read_named(folder: Path, mangled: str, function: str, demangled: str) -> Result:
    names = [text_field(5, mangled), text_field(6, function), text_field(7, demangled)]
    content = file_of(block([kernel(*names, without=(5, 6, 7))]))
    return read_ncu_rep(write_bytes(folder, content)).results[0]


def value_field(*parts: bytes) -> bytes:
    return message_field(2, *parts)


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (("m", "f", "d"), ("m", "f", "d")),
        (("m", "f", ""), ("m", "f", "m")),
        (("m", "", ""), ("m", "m", "m")),
        (("", "f", "d"), ("f", "f", "d")),
        (("", "", "d"), ("d", "d", "d")),
        (("m", "", "d"), ("m", "m", "d")),
        (("", "f", ""), ("f", "f", "f")),
        (("", "", ""), (None, None, None)),
    ],
)
def test_an_empty_name_is_filled_from_the_others(
    tmp_path: Path, stored: tuple[str, str, str], expected: tuple[str | None, ...]
) -> None:
    """Function and demangled from mangled first, as NVIDIA does; else from what there is."""
    found = read_named(tmp_path, *stored)
    assert (found.mangled_name, found.function_name, found.demangled_name) == expected


def test_the_fields_of_a_launch_read(tmp_path: Path) -> None:
    """Everything that the file says of the launch itself is there."""
    found = read_kernel(
        tmp_path,
        uint_field(14, 1_700_000_000),
        uint_field(20, 1),
        uint_field(22, 1),
        uint_field(23, 7),
        text_field(26, "context"),
        text_field(27, "stream"),
    ).results[0]
    assert (found.thread_id, found.api_call_id) == (77, 5)
    assert (found.grid, found.block) == ((4, 2, 1), (128, 1, 1))
    assert (found.context_id, found.stream_id) == (1, 7)
    assert (found.context_name, found.stream_name) == ("context", "stream")
    assert found.creation_time == 1_700_000_000
    assert found.is_unsupported_device


def test_what_the_file_does_not_say_is_none(tmp_path: Path) -> None:
    """Absent is never a default value."""
    found = read_kernel(tmp_path).results[0]
    absent = (found.context_id, found.stream_id, found.context_name, found.creation_time)
    assert absent == (None,) * 4
    assert found.nvtx is None
    assert found.rules == ()
    assert not found.is_unsupported_device


@pytest.mark.parametrize(
    ("kind", "count_field", "stream_id"), [("range", 7, None), ("cmdlist", 8, 7), ("graph", 9, 7)]
)
def test_ranges_graphs_and_command_lists_have_their_own_numbering(
    tmp_path: Path, kind: str, count_field: int, stream_id: int | None
) -> None:
    """The same facts lie in other fields than those of a kernel."""
    entry = b"".join(
        [
            uint_field(1, 3),
            message_field(4, uint_field(1, 0), value_field(uint_field(5, 8))),
            uint_field(9, 1),
            uint_field(11, 2),
            uint_field(12, 7) if kind != "range" else message_field(12),
        ]
    )
    payload = length_prefixed(entry)
    table = message_field(4, text_field(1, "m0"))
    header = uint_field(count_field, 1) + table + uint_field(5, len(payload))
    file = read_ncu_rep(write_bytes(tmp_path, file_of(length_prefixed(header) + payload)))
    found = file.results[0]
    assert (found.kind, found.thread_id, found.context_id) == (kind, 3, 2)
    assert found.stream_id == stream_id
    assert found.is_unsupported_device
    assert found.grid is None
    assert list(file.scalars.integer) == [8]


@pytest.mark.parametrize(
    ("stored", "kind", "value", "integer"),
    [
        ([value_field(double_field(3, 2.5))], DOUBLE, 2.5, 0),
        ([value_field(double_field(3, math.inf))], DOUBLE, math.inf, 0),
        ([value_field(float_field(2, 1.5))], DOUBLE, 1.5, 0),
        ([value_field(uint_field(5, 2**63 + 1))], INTEGER, float(2**63), 2**63 + 1),
        ([value_field(uint_field(5, 0))], INTEGER, 0.0, 0),
        ([value_field(uint_field(4, 7))], INTEGER, 7.0, 7),
        ([value_field(text_field(1, "opcode"))], TEXT, 0.0, 0),
        ([value_field()], NULL, 0.0, 0),
        ([], NULL, 0.0, 0),
    ],
)
def test_a_value_has_the_kind_in_which_it_is_stored(
    tmp_path: Path, stored: list[bytes], kind: int, value: float, integer: int
) -> None:
    """Integers are exact, floats of both widths are doubles, and nothing is null."""
    scalars = read_kernel(tmp_path, metric(3, *stored)).scalars
    assert (list(scalars.name), list(scalars.kind)) == ([3], [kind])
    assert (list(scalars.value), list(scalars.integer)) == ([value], [integer])
    assert scalars.text == ({0: "opcode"} if kind == TEXT else {})


def test_a_long_text_reads(tmp_path: Path) -> None:
    """A size above 127 takes two bytes at every level around it."""
    scalars = read_kernel(tmp_path, metric(3, value_field(text_field(1, "x" * 300)))).scalars
    assert scalars.text == {0: "x" * 300}


def test_a_nan_stays_a_double(tmp_path: Path) -> None:
    """Not a number is a value, and no null."""
    scalars = read_kernel(tmp_path, metric(3, value_field(double_field(3, math.nan)))).scalars
    assert list(scalars.kind) == [DOUBLE]
    assert math.isnan(scalars.value[0])


def test_the_last_of_several_values_counts(tmp_path: Path) -> None:
    """One metric has one value, whatever a writer set before it."""
    both = value_field(double_field(3, 2.5), text_field(1, "x"), uint_field(5, 4), uint_field(9, 1))
    scalars = read_kernel(tmp_path, metric(3, both)).scalars
    assert (list(scalars.kind), list(scalars.integer)) == ([INTEGER], [4])


def test_a_name_that_occurs_twice_is_kept_twice(tmp_path: Path) -> None:
    """The rows are in file order, so that who reads them can let the last one count."""
    twice = [metric(3, value_field(double_field(3, float(number)))) for number in (1, 2)]
    scalars = read_kernel(tmp_path, *twice).scalars
    assert list(scalars.name) == [3, 3]
    assert list(scalars.value) == [1.0, 2.0]


def test_name_ids_of_more_than_one_byte_read(tmp_path: Path) -> None:
    """An id above 127 takes two bytes."""
    assert list(read_kernel(tmp_path, metric(299)).scalars.name) == [299]


def test_fields_of_a_metric_may_come_in_any_order(tmp_path: Path) -> None:
    """The category, a later version's fields and instances may stand before the name."""
    parts = [
        uint_field(4, 1),
        message_field(3, message_field(2, uint_field(5, 9))),
        text_field(60, "new"),
        value_field(uint_field(5, 2)),
        uint_field(1, 8),
    ]
    file = read_kernel(tmp_path, message_field(13, *parts), instances=True)
    assert (list(file.scalars.name), list(file.scalars.integer)) == ([8], [2])
    assert file.instances is not None
    assert list(file.instances.integer) == [9]


def instance(correlation: bytes | None, element: bytes) -> bytes:
    parts = [message_field(1, correlation)] if correlation is not None else []
    return message_field(3, *parts, message_field(2, element))


def test_instances_are_counted_and_left_alone_unless_asked_for(tmp_path: Path) -> None:
    """A metric with instances and no value of its own is null."""
    fields = [instance(uint_field(5, number), double_field(3, 1.0)) for number in range(200)]
    file = read_kernel(tmp_path, metric(3, *fields), metric(4))
    assert list(file.scalars.instance_count) == [200, 0]
    assert list(file.scalars.kind) == [NULL, NULL]
    assert file.instances is None


def test_instances_read_with_what_they_belong_to(tmp_path: Path) -> None:
    """Correlation ids and elements keep their kinds; an id may be absent."""
    fields = [
        instance(uint_field(5, 2**63), double_field(3, 0.5)),
        instance(text_field(1, "FFMA"), uint_field(5, 12)),
        instance(None, text_field(1, "x" * 300)),
    ]
    columns = read_kernel(tmp_path, metric(9), metric(3, *fields), instances=True).instances
    assert columns is not None
    assert list(columns.scalar) == [1, 1, 1]
    assert list(columns.correlation_kind) == [INTEGER, TEXT, NULL]
    assert list(columns.correlation_integer) == [2**63, 0, 0]
    assert columns.correlation_text == {1: "FFMA"}
    assert list(columns.kind) == [DOUBLE, INTEGER, TEXT]
    assert (list(columns.value), list(columns.integer)) == ([0.5, 12.0, 0.0], [0, 12, 0])
    assert columns.text == {2: "x" * 300}


def test_unknown_fields_beside_instances_are_ignored(tmp_path: Path) -> None:
    """A later version may say more of a metric and of an instance."""
    more = message_field(3, text_field(60, "x" * 200), message_field(2, uint_field(5, 4)))
    file = read_kernel(tmp_path, metric(3, text_field(60, "x" * 200), more), instances=True)
    assert file.instances is not None
    assert list(file.instances.integer) == [4]


def test_a_function_chooses_whose_instances_are_read(tmp_path: Path) -> None:
    """It is asked by the metric's name."""
    one = instance(None, uint_field(5, 1))
    columns = read_kernel(
        tmp_path, metric(3, one), metric(4, one), instances=lambda name: name == "m4"
    ).instances
    assert columns is not None
    assert list(columns.scalar) == [1]


def test_what_is_not_needed_is_not_parsed(tmp_path: Path) -> None:
    """Section definitions, call stacks and unknown fields may hold anything."""
    fields = [message_field(number, b"\xff\xff\xff") for number in (17, 28, 31, 63)]
    assert len(read_kernel(tmp_path, *fields).results) == 1
