"""The compiled scanner by itself: what it accepts, what it refuses, and that it survives both.

That it reads a file as the pure-Python scanner does is tested in `property/test_scanner_twins.py`.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
import subprocess
import sys
import textwrap
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.handmade import block, file_of, kernel, metric
from support.mutate import DAMAGES, mutants
from support.small_reports import small_reports

from nsightlens.errors import NsightLensError
from nsightlens.ncurep import LaunchSpec, encode_ncu_rep
from nsightlens.ncurep.container import KINDS, Container, read_file_header
from nsightlens.ncurep.encode import (
    double_field,
    float_field,
    message_field,
    text_field,
    uint_field,
    varint,
)
from nsightlens.ncurep.model import InstanceColumns, ScalarColumns
from nsightlens.ncurep.results import layout_of, read_result
from nsightlens.ncurep.scan import scan_instances, scan_result
from nsightlens.ncurep.wire import Message, WireFault, padded

if TYPE_CHECKING:
    from pathlib import Path

_scanner = pytest.importorskip(
    "nsightlens.ncurep._scanner", reason="this installation has no compiled scanner"
)

SCALARS, INSTANCES = 1, 2
EVERYTHING = 6
NAME_COUNT = 8


def exact(data: bytes) -> Any:
    """Return memory that ends where the bytes end, so that a sanitizer sees a read beyond."""
    return (ctypes.c_char * len(data)).from_buffer_copy(data)


Tables = dict[str, dict[str, list[Any]]]

_TYPES: dict[str, str] = {
    **dict.fromkeys(("speedup_pct", "payload_f64"), "float64"),
    "payload_f32": "float32",
    "payload_i64": "int64",
    **dict.fromkeys(("severity", "speedup_scope", "payload_i32"), "int32"),
}


def scan(
    *results: bytes,
    kind: str = "kernel",
    wanted: int = SCALARS | INSTANCES,
    options: int = EVERYTHING,
) -> tuple[int, Any]:
    """Scan results that lie one behind the other; return how many it took, and the builder."""
    buffer = exact(b"".join(results))
    stops = np.cumsum([len(result) for result in results])
    extents = np.column_stack([stops - [len(result) for result in results], stops])
    builder = _scanner.Builder(
        buffer, len(results), np.arange(NAME_COUNT, dtype=np.uint32), bytes([wanted] * NAME_COUNT),
        options,
    )  # fmt: skip
    kinds = bytes([KINDS.index(kind) + 1] * len(results))
    return builder.scan(0, kinds, extents.astype(np.int64)), builder


def tables_of(*results: bytes, **how: Any) -> Tables:
    """Scan results, all of which are accepted, and return the tables as lists."""
    done, builder = scan(*results, **how)
    assert done == len(results)
    return in_lists(builder.finish())


def in_lists(found: dict[str, Any]) -> Tables:
    """Return the tables of a builder as lists, with None for null."""
    texts = _texts(*found["text"])
    tables: Tables = {
        table: {name: _column(name, column) for name, column in columns.items()}
        for table, columns in found.items()
        if table not in {"text", "metric", "metric_order"}
    }
    tables["metric"] = {
        str(name): [
            _value(kind, raw, texts)
            for kind, raw in zip(
                np.frombuffer(kinds, np.uint8).tolist(), np.frombuffer(raws, np.uint64), strict=True
            )
        ]
        for name, (raws, kinds, _) in found["metric"].items()
    }
    for side in ("", "correlation_"):
        instance = tables["instance"]
        raws = np.array(instance[f"{side}raw"], dtype=np.uint64)
        instance[f"{side}value"] = [
            _value(kind, raw, texts)
            for kind, raw in zip(instance[f"{side}kind"], raws, strict=True)
        ]
    return tables


def _column(name: str, column: tuple[Any, ...]) -> list[Any]:
    valid = np.frombuffer(column[-1], np.uint8).tolist()
    values: list[Any]
    if len(column) == 3:
        values = _texts(*column[:2])
    else:
        width = len(memoryview(column[0])) // max(len(valid), 1)
        values = np.frombuffer(column[0], _TYPES.get(name, f"u{max(width, 1)}")).tolist()
    return [value if is_valid else None for value, is_valid in zip(values, valid, strict=True)]


def _texts(offsets: Any, data: Any) -> list[str]:
    at, text = np.frombuffer(offsets, np.int64), bytes(data)
    assert at[-1] == len(text)
    return [text[a:b].decode() for a, b in pairwise(at)]


def _value(kind: int, raw: np.uint64, texts: list[str]) -> Any:
    """Return a stored value; "absent" where a launch does not have the metric."""
    number = int(raw)
    return (
        ("absent", None, number, float(raw.view(np.float64)), None)[kind]
        if kind < 4
        else (texts[number])
    )


def rows(table: dict[str, list[Any]], *names: str) -> list[tuple[Any, ...]]:
    """Return some columns of a table as rows."""
    return list(zip(*(table[name] for name in names), strict=True))


def value(number: int, *fields: bytes) -> bytes:
    """Return a MetricValue: field 2 of a metric, 1 and 2 of an instance."""
    return message_field(number, *fields)


def read_in_python(result: bytes, kind: str = "kernel") -> None:
    """Read a result as the pure-Python scanner does."""
    layout = layout_of(kind)  # type: ignore[arg-type]
    data, columns = padded(result), ScalarColumns()
    fields, extents = scan_result(data, len(result), layout.metrics, 0, columns)
    read_result(Message(data, fields, 0), kind, layout)  # type: ignore[arg-type]
    for row, (start, stop) in enumerate(extents):
        scan_instances(data, start, stop, row, InstanceColumns())


# ---- Results ----------------------------------------------------------------------------------


def test_a_kernel_becomes_a_row() -> None:
    """Every field of it that is read, and null for those that it does not have."""
    full = kernel(
        uint_field(14, 99),
        uint_field(20, 2),
        message_field(21),
        uint_field(22, 3),
        uint_field(23, 2**32 + 4),
        message_field(25, uint_field(1, 0), uint_field(2, 5)),
        text_field(26, "context"),
        text_field(27, ""),
    )
    launch = tables_of(full, kernel())["launch"]
    assert launch == {
        "thread_id": [77, 77],
        "api_call_id": [5, 5],
        "context_id": [3, None],
        "stream_id": [4, None],  # protobuf drops the bits above
        "creation_time": [99, None],
        "is_unsupported_device": [1, 0],
        "is_clock_locked": [1, None],
        "grid_x": [4, 4],
        "grid_y": [2, 2],
        "grid_z": [1, 1],
        "block_x": [128, 128],
        "block_y": [1, 1],
        "block_z": [1, 1],
        "mangled_name": ["_Z4axpyv"] * 2,
        "function_name": ["axpy"] * 2,
        "demangled_name": ["axpy()"] * 2,
        "context_name": ["context", None],
        "stream_name": ["", None],
        "has_nvtx": [1, 0],
    }


def test_a_range_has_other_field_numbers() -> None:
    """No stream, no names, no extents; its metrics are field 4."""
    found = tables_of(
        uint_field(1, 7)
        + message_field(4, uint_field(1, 2), value(2, uint_field(5, 8)))
        + uint_field(5, 1)
        + uint_field(9, 1)
        + message_field(10)
        + uint_field(11, 6)
        + message_field(12, uint_field(2, 0))
        + text_field(13, "c"),
        kind="range",
    )
    row = {name: column[0] for name, column in found["launch"].items() if column[0] is not None}
    assert row == {
        "thread_id": 7, "creation_time": 1, "is_unsupported_device": 1, "has_nvtx": 1,
        "context_id": 6, "is_clock_locked": 0, "context_name": "c",
    }  # fmt: skip
    assert found["metric"] == {"2": [8]}


@pytest.mark.parametrize("kind", ["graph", "cmdlist"])
def test_a_graph_and_a_command_list_have_a_stream(kind: str) -> None:
    """Only the command list has a name and rules."""
    found = tables_of(
        uint_field(12, 6)
        + message_field(13, uint_field(2, 1))
        + text_field(14, "c")
        + text_field(15, "s")
        + text_field(18, "list")
        + message_field(21, text_field(1, "R"), text_field(2, "Rule")),
        kind=kind,
    )
    launch = found["launch"]
    assert rows(launch, "stream_id", "is_clock_locked", "context_name", "stream_name") == [
        (6, 1, "c", "s")
    ]
    is_list = kind == "cmdlist"
    assert launch["function_name"] == ["list" if is_list else None]
    assert found["rule"]["identifier"] == ["R"] * is_list


def test_the_last_of_two_fields_counts_and_two_messages_are_merged() -> None:
    """As protobuf has it; a field of another wire type counts as absent."""
    found = tables_of(
        kernel(
            uint_field(1, 78),
            text_field(5, "other"),
            double_field(1, 0.5),
            message_field(10, uint_field(2, 9)),
        )
    )
    launch = found["launch"]
    assert rows(launch, "thread_id", "mangled_name") == [(78, "other")]
    assert rows(launch, "grid_x", "grid_y", "grid_z") == [(4, 9, 1)]


def test_what_is_not_wanted_is_stepped_over() -> None:
    """Rules and NVTX may then hold anything, as long as they lie inside the result."""
    broken = b"\xff" * 9
    result = kernel(message_field(19, broken), message_field(21, broken))
    assert scan(result)[0] == 0
    found = tables_of(result, options=0)
    assert found["launch"]["has_nvtx"] == [1]
    assert found["rule"]["launch"] == found["nvtx_domain"]["launch"] == []


# ---- Metrics ----------------------------------------------------------------------------------


def test_a_value_keeps_its_type() -> None:
    """Integers of 64 and 32 bits, floats of both widths, text, and no value."""
    found = tables_of(
        kernel(
            metric(0, value(2, uint_field(5, 2**64 - 1))),
            metric(1, value(2, uint_field(4, 2**32 + 7))),
            metric(2, value(2, double_field(3, 0.1))),
            metric(3, value(2, float_field(2, 0.5))),
            metric(4, value(2, text_field(1, "sm_90"))),
            metric(5),
            metric(6, value(2)),
            metric(7, value(2, text_field(1, "x"), uint_field(5, 1), double_field(3, 2.0))),
        ),
        kernel(metric(4, value(2, text_field(1, "")))),
    )
    assert found["metric"] == {
        "0": [2**64 - 1, "absent"],
        "1": [7, "absent"],
        "2": [0.1, "absent"],
        "3": [0.5, "absent"],
        "4": ["sm_90", ""],
        "5": [None, "absent"],
        "6": [None, "absent"],
        "7": [2.0, "absent"],  # the last one set counts
    }


def test_metrics_come_in_the_order_of_first_sight() -> None:
    """And the last one of a name in a result counts."""
    one = value(2, uint_field(5, 1))
    results = (
        kernel(metric(3, one), metric(1, one), metric(3, value(2, uint_field(5, 2)))),
        kernel(metric(0, one), metric(1, one)),
    )
    found = scan(*results)[1].finish()
    assert np.frombuffer(found["metric_order"], np.uint32).tolist() == [3, 1, 0]
    assert in_lists(found)["metric"] == {"3": [2, "absent"], "1": [1, 1], "0": ["absent", 1]}


def test_name_ids_that_spell_the_same_share_a_column() -> None:
    """Blocks bring their own string tables, which repeat names."""
    result = kernel(metric(3, value(2, uint_field(5, 1)), message_field(3, value(2))))
    canonical = np.array([0, 1, 2, 1], dtype=np.uint32)
    builder = _scanner.Builder(result, 1, canonical, bytes([3] * 4), EVERYTHING)
    builder.scan(0, b"\1", np.array([0, len(result)]))
    found = in_lists(builder.finish())
    assert found["metric"] == {"1": [1]}
    assert found["instance"]["name"] == [1]


def test_only_wanted_values_are_kept() -> None:
    """By name id: scalars, instances, both or neither."""
    result = kernel(metric(0, value(2, uint_field(5, 1)), message_field(3, value(2))))
    expected = {0: ({}, []), SCALARS: ({"0": [1]}, []), INSTANCES: ({}, [0]), 3: ({"0": [1]}, [0])}
    for wanted, (scalars, instances) in expected.items():
        found = tables_of(result, wanted=wanted)
        assert (found["metric"], found["instance"]["launch"]) == (scalars, instances)


def test_instances_have_a_correlation_id_and_a_value() -> None:
    """Either of any type; a correlation id may be absent."""
    found = tables_of(
        kernel(),
        kernel(
            metric(1),
            metric(
                2,
                message_field(3, value(1, uint_field(5, 16)), value(2, double_field(3, 1.5))),
                message_field(3, value(1, text_field(1, "FFMA")), value(2, text_field(1, "é"))),
                uint_field(9, 1),
                message_field(3, value(2)),
            ),
        ),
    )
    assert rows(found["instance"], "launch", "name", "ordinal", "correlation_value", "value") == [
        (1, 2, 1, 16, 1.5), (1, 2, 1, "FFMA", "é"), (1, 2, 1, None, None),
    ]  # fmt: skip


def test_what_lies_in_unwanted_instances_does_not_matter() -> None:
    """They are stepped over by their length, as in Python."""
    result = kernel(metric(0, message_field(3, b"\xff" * 5)))
    assert scan(result)[0] == 0
    assert tables_of(result, wanted=SCALARS)["metric"] == {"0": [None]}


# ---- Rules and NVTX ---------------------------------------------------------------------------


def test_a_rule_has_a_row_and_each_message_of_it_another() -> None:
    """Items without a message give none; what is absent is null."""
    said = message_field(1, text_field(1, "text"), uint_field(2, 2**64 - 1), text_field(4, "T"))
    speedup = message_field(10, uint_field(1, 2), double_field(2, 12.5))
    items = message_field(
        3, message_field(1, said, speedup), message_field(1, speedup), message_field(1, b"\x0a\0")
    )
    found = tables_of(
        kernel(),
        kernel(
            message_field(19, text_field(1, "A"), text_field(2, "Rule A")),
            message_field(
                19, text_field(1, "B"), text_field(2, "Rule B"), items, text_field(4, "S")
            ),
        ),
    )
    assert rows(found["rule"], "launch", "identifier", "display_name", "section") == [
        (1, "A", "Rule A", None), (1, "B", "Rule B", "S"),
    ]  # fmt: skip
    assert rows(
        found["rule_item"],
        "rule", "severity", "title", "message", "speedup_pct", "has_speedup", "speedup_scope",
    ) == [(1, -1, "T", "text", 12.5, 1, 2), (1, 0, None, None, None, 0, None)]  # fmt: skip


def test_nvtx_states_become_rows_that_point_at_their_parents() -> None:
    """Domains, threads with their stacks, start/end domains, and the ranges of both."""
    push_pop = message_field(3, text_field(1, "outer"))
    start_end = message_field(3, uint_field(1, 8), text_field(2, "request"), uint_field(5, 9))
    state = message_field(
        21,
        message_field(1, uint_field(1, 4), text_field(2, "engine")),
        message_field(1),
        message_field(2, message_field(2, uint_field(1, 4), push_pop, push_pop), uint_field(1, 77)),
        message_field(2, message_field(2, push_pop)),
        message_field(3, uint_field(1, 4), start_end),
    )
    found = tables_of(kernel(), kernel(state))
    assert rows(found["nvtx_domain"], "launch", "domain_id", "name") == [
        (1, 4, "engine"),
        (1, 0, ""),
    ]
    assert rows(found["nvtx_thread"], "launch", "thread_id") == [(1, 77), (1, None)]
    assert rows(found["nvtx_stack"], "thread", "domain_id") == [(0, 4), (1, 0)]
    assert rows(found["nvtx_start_end_domain"], "launch", "domain_id") == [(1, 4)]
    assert rows(
        found["nvtx_range"], "parent", "is_start_end", "name", "range_id", "start_thread_id"
    ) == [
        (0, 0, "outer", None, None), (0, 0, "outer", None, None), (1, 0, "outer", None, None),
        (0, 1, "request", 8, 9),
    ]  # fmt: skip


def test_a_range_has_attributes() -> None:
    """Category, colour, message and the payload by its type."""
    minus = 2**64 - 3
    payload = message_field(
        4, uint_field(2, 1), uint_field(3, minus), double_field(4, 0.5), uint_field(5, 5),
        uint_field(6, minus), float_field(7, 0.25), text_field(8, "p"),
    )  # fmt: skip
    attributes = message_field(
        2, uint_field(2, 6), message_field(3, uint_field(2, 7)), payload,
        message_field(5, text_field(2, "message")),
    )  # fmt: skip
    stack = message_field(2, message_field(3, text_field(1, "r"), attributes))
    found = tables_of(kernel(message_field(21, message_field(2, stack))))["nvtx_range"]
    assert rows(found, "category", "color", "message") == [(6, 7, "message")]
    assert {name: column for name, column in found.items() if name.startswith("payload")} == {
        "payload_u64": [1], "payload_i64": [-3], "payload_f64": [0.5], "payload_u32": [5],
        "payload_i32": [-3], "payload_f32": [0.25], "payload_text": ["p"],
    }  # fmt: skip


# ---- What it refuses --------------------------------------------------------------------------

_ENDLESS = b"\x08" + b"\x80" * 10 + b"\x01"
_WRONG: dict[str, bytes] = {
    "an endless varint": kernel(_ENDLESS),
    "a varint cut short": kernel(b"\x70\x80"),
    "a group": kernel(b"\xa3\x01\xa4\x01"),
    "wire type 7": kernel(b"\xa7\x01"),
    "field number 0": kernel(b"\x00\x00"),
    "a field number beyond protobuf's": kernel(varint(1 << 32 | 0) + b"\0"),
    "a field beyond the end": kernel(b"\x8a\x01\x05abcd"),
    "a size of nearly 2**64": kernel(b"\x8a\x01" + varint(2**64 - 2)),
    "a fixed field cut short": kernel(b"\x71abcdefg"),
    **{f"no field {number}": kernel(without=[number]) for number in (1, 4, 7, 9, 10, 15)},
    "a damaged grid": kernel(message_field(10, b"\x08")),
    "a metric without a name": kernel(message_field(13)),
    "a name that is not there": kernel(metric(NAME_COUNT)),
    "a damaged metric": kernel(metric(0, b"\x4b")),
    "a value beyond its metric": kernel(metric(0, b"\x12\x09\x19abcd")),
    "a damaged value": kernel(metric(0, value(2, b"\x28"))),
    "an instance beyond its metric": kernel(metric(0, b"\x1a\x05")),
    "an instance without a value": kernel(metric(0, message_field(3, value(1)))),
    "a damaged instance": kernel(metric(0, message_field(3, b"\x12\x05"))),
    "a rule without an identifier": kernel(message_field(19, text_field(2, "R"))),
    "a rule without a name": kernel(message_field(19, text_field(1, "R"))),
    "a push/pop range without a name": kernel(
        message_field(21, message_field(2, uint_field(1, 77), message_field(2, message_field(3))))
    ),
    "a start/end range without an id": kernel(
        message_field(21, message_field(3, message_field(3, text_field(2, "r"))))
    ),
}
_NOT_UTF8: dict[str, bytes] = {
    "a name that is not UTF-8": kernel(message_field(5, b"\xff")),
    "a value that is not UTF-8": kernel(metric(0, value(2, message_field(1, b"\xc3")))),
    "a correlation id that is not UTF-8": kernel(
        metric(0, message_field(3, value(1, message_field(1, b"\xed\xa0\x80")), value(2)))
    ),
    "a rule that is not UTF-8": kernel(message_field(19, text_field(1, "R"), b"\x12\x01\x80")),
}


@pytest.mark.parametrize("what", [*_WRONG, *_NOT_UTF8])
def test_what_is_not_plainly_sound_is_refused_and_leaves_nothing(what: str) -> None:
    """The tables are as if it had been skipped, and scanning goes on behind it."""
    first = kernel(
        metric(1, value(2, text_field(1, "kept")), message_field(3, value(2))),
        message_field(19, text_field(1, "R"), text_field(2, "Rule")),
    )
    # As much as possible comes before the damage, and has to be taken back.
    bad = (
        metric(1, value(2, text_field(1, "taken back")), message_field(3, value(2)))
        + metric(2, value(2, uint_field(5, 1)))
        + message_field(19, text_field(1, "S"), text_field(2, "Rule"))
        + message_field(21, message_field(1), message_field(2, message_field(2)))
        + {**_WRONG, **_NOT_UTF8}[what]
    )
    last = kernel(metric(3))
    done, builder = scan(first, bad, last)
    assert done == 1
    stop = len(first) + len(bad)
    assert builder.scan(2, b"\1", np.array([stop, stop + len(last)])) == 1
    found = builder.finish()
    assert bytes(found["text"][1]) == b"kept"
    found = in_lists(found)
    assert found["launch"]["thread_id"] == [77, None, 77]
    assert found["launch"]["mangled_name"] == ["_Z4axpyv", None, "_Z4axpyv"]
    absent = "absent"
    assert found["metric"] == {"1": ["kept", absent, absent], "3": [absent, absent, None]}
    assert found["instance"]["launch"] == found["rule"]["launch"] == [0]
    assert found["nvtx_domain"]["launch"] == found["nvtx_stack"]["thread"] == []


@pytest.mark.parametrize("what", _WRONG)
def test_what_is_refused_as_damaged_the_other_scanner_refuses_too(what: str) -> None:
    """Nothing of the list above is refused only here; a missing name is found by its caller."""
    if what != "a name that is not there":
        with pytest.raises(WireFault):
            read_in_python(_WRONG[what])


@given(st.binary(max_size=64))
@example(b"\x6a\x02\x08\x00")
def test_bytes_that_it_accepts_the_other_scanner_accepts_too(data: bytes) -> None:
    """Whatever they are: as a range, which needs no field at all."""
    for result in (data, message_field(4, b"\x08\x01", data), message_field(10, data)):
        if scan(result, kind="range")[0]:
            read_in_python(result, "range")


_PIECES = (
    *(b"abcdefgh", b"\0", b"\x80", b"\xc0\x80", b"\xc1", b"\xc3\xa9", b"\xe2\x82", b"\xe2\x82\xac"),
    *(b"\xe0\x80\x80", b"\xe0\x9f\xbf", b"\xed\x9f\xbf", b"\xed\xa0\x80", b"\xef\xbf\xbf"),
    *(b"\xf0\x80\x80\x80", b"\xf0\x9f\x98\x80", b"\xf4\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf5"),
)
_text_bytes = st.binary(max_size=20) | st.lists(st.sampled_from(_PIECES), max_size=4).map(b"".join)


@given(_text_bytes)
def test_text_is_what_the_strict_decoder_of_python_takes(data: bytes) -> None:
    """No surrogates, nothing overlong, nothing cut short."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        assert scan(message_field(13, data), kind="range")[0] == 0
    else:
        found = tables_of(message_field(13, data), kind="range")
        assert found["launch"]["context_name"] == [text]


def test_columns_that_would_dwarf_the_file_are_refused() -> None:
    """A column is as long as the file has launches; a thousand names would make that too much."""
    count, launch_count = 1000, 4000
    results = [message_field(4, uint_field(1, i), value(2, uint_field(5, 1))) for i in range(count)]
    buffer = b"".join(results)
    stops = np.cumsum([len(result) for result in results])
    extents = np.column_stack([np.append(0, stops[:-1]), stops])
    builder = _scanner.Builder(
        buffer, launch_count, np.arange(count, dtype=np.uint32), bytes([1] * count), EVERYTHING
    )
    done = builder.scan(0, bytes([2] * count), extents)
    assert done == (len(buffer) + 1_000_000) // launch_count < count


def test_running_out_of_memory_is_said_as_python_says_it() -> None:
    """No crash, and what was scanned before is still there."""
    script = """
        import resource
        import numpy as np
        from nsightlens.ncurep import _scanner
        result = b"\\x22\\x02\\x08\\x00"
        buffer = result + bytes(20_000_000)
        builder = _scanner.Builder(buffer, 20_000_000, np.zeros(1, np.uint32), b"\\1", 6)
        assert builder.scan(0, b"\\2", np.array([0, 0])) == 1
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 50_000_000,) * 2)
        for attempt in range(3):
            try:
                builder.scan(1, b"\\2", np.array([0, 4]))
            except MemoryError:
                print("memory", end=" ")
        builder.close()
    """
    if not sys.platform.startswith("linux") or "sanitize" in _scanner.__file__:
        pytest.skip("needs a limit of the address space, which the sanitizers do not bear")
    arguments = [sys.executable, "-c", textwrap.dedent(script)]
    run = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert (run.stdout.split(), run.stderr) == (["memory"] * 3, "")


# ---- The builder as an object -----------------------------------------------------------------


def test_an_empty_builder_gives_empty_tables() -> None:
    """Every table is there, without rows."""
    found = in_lists(_scanner.Builder(b"", 0, b"", b"", EVERYTHING).finish())
    assert {len(column) for table in found.values() for column in table.values()} == {0}
    assert set(found) >= {"launch", "rule", "nvtx_range", "instance"}


def test_buffers_outlive_the_builder_and_can_be_written_to() -> None:
    """They are its memory, handed over, not a copy of it."""
    found = scan(kernel(metric(0, value(2, uint_field(5, 6)))))[1].finish()
    raw = np.frombuffer(found["metric"][0][0], np.uint64)
    raw += 1
    assert np.frombuffer(found["metric"][0][0], np.uint64).tolist() == [7]


def test_a_finished_or_closed_builder_lets_go_of_the_file(tmp_path: Path) -> None:
    """A mapped file cannot be closed as long as somebody reads it."""
    path = tmp_path / "file"
    path.write_bytes(b"content")
    for end in ("finish", "close"):
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        builder = _scanner.Builder(mapped, 1, b"", b"", EVERYTHING)
        with pytest.raises(BufferError):
            mapped.close()
        getattr(builder, end)()
        mapped.close()
        with pytest.raises(ValueError, match="finished or closed"):
            builder.scan(0, b"\2", np.array([0, 1]))
        with pytest.raises(ValueError, match="finished or closed"):
            builder.finish()
        builder.close()


@pytest.mark.parametrize(
    ("row", "kinds", "extents", "problem"),
    [
        (-1, b"\2", [0, 4], "rows are not free"),
        (0, b"\2", [0, 4], "rows are not free"),
        (3, b"\2", [0, 4], "rows are not free"),
        (2, b"\2\2", [0, 4, 0, 4], "rows are not free"),
        (1, b"\2", [0, 4, 0], "as many extents"),
        (1, b"\2", [], "as many extents"),
        (1, b"\0", [0, 4], "no result in the file"),
        (1, b"\5", [0, 4], "no result in the file"),
        (1, b"\2", [-1, 4], "no result in the file"),
        (1, b"\2", [3, 2], "no result in the file"),
        (1, b"\2", [0, 5], "no result in the file"),
    ],
)
def test_entries_that_cannot_be_are_an_error_of_the_caller(
    row: int, kinds: bytes, extents: list[int], problem: str
) -> None:
    """Nothing is read outside the file, whatever the caller says."""
    builder = _scanner.Builder(bytes(4), 3, b"", b"", EVERYTHING)
    builder.scan(0, b"\2", np.array([0, 0]))
    with pytest.raises(ValueError, match=problem):
        builder.scan(row, kinds, np.array(extents, dtype=np.int64))


@pytest.mark.parametrize(
    "arguments",
    [
        (b"", -1, b"", b"", 7),
        (b"", 2**32, b"", b"", 7),
        (b"", 0, bytes(4), b"", 7),
        (b"", 0, bytes(3), b"\1", 7),
        (b"", 0, struct.pack("<I", 1), b"\1", 7),
    ],
)
def test_a_builder_needs_counts_that_fit_together(arguments: tuple[Any, ...]) -> None:
    """A name id points at one of the names that are wanted or not."""
    with pytest.raises(ValueError, match=r"counts do not fit|not one of the file"):
        _scanner.Builder(*arguments)


def test_no_memory_is_lost() -> None:
    """Two hundred times over: finished, closed, refused and forgotten."""
    in_use = _bytes_in_use()
    report = small_reports()[0]
    results = [kernel(metric(i % 8, value(2, text_field(1, "x" * i)))) for i in range(50)]
    results.append(_WRONG["a damaged instance"])

    def use() -> None:
        _scanner.index_blocks(report, 10)
        scan(*results)[1].finish()
        scan(*results)[1].close()
        scan(*results)

    use()
    before = in_use()
    for _ in range(200):
        use()
    assert in_use() - before < 100_000  # one scan takes more than 5 kB


def _bytes_in_use() -> Any:
    """Return a function that returns how much memory malloc has handed out."""
    names = (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
        "fordblks", "keepcost",
    )  # fmt: skip
    fields = [(name, ctypes.c_size_t) for name in names]
    info = type("mallinfo2", (ctypes.Structure,), {"_fields_": fields})
    try:
        mallinfo2 = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        pytest.skip("the C library does not say")
    mallinfo2.restype = info

    def in_use() -> int:
        found = mallinfo2()
        return int(found.uordblks + found.hblkhd)

    return in_use


# ---- Blocks -----------------------------------------------------------------------------------


def index(data: bytes, *where: int) -> tuple[int, list[list[int]], list[list[int]]]:
    """Return the offset where it stopped, the blocks and the entries."""
    offset, blocks, entries = _scanner.index_blocks(exact(data), *(where or (10,)))
    return (
        offset,
        np.frombuffer(blocks, np.int64).reshape(-1, 6).tolist(),
        np.frombuffer(entries, np.int64).reshape(-1, 4).tolist(),
    )


def in_python(data: bytes) -> Container:
    """Return the index that the pure-Python code makes."""
    return Container(data, "file", read_file_header(data, "file")[1])


def results_of(entries: list[list[int]]) -> list[list[int]]:
    """Return block, kind, start and stop of the entries that are not sources."""
    return [entry for entry in entries if entry[1] > 0]


def python_results(container: Container) -> list[list[int]]:
    """Return the same of an index of the pure-Python code."""
    columns = container.index.columns
    return np.column_stack([columns[:, 3], columns[:, 0] + 1, columns[:, 1:3]]).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("i", range(5))
def test_a_sound_file_is_indexed_to_its_end(i: int) -> None:
    """Every layout, with the same entries as in Python."""
    data = small_reports()[i]
    offset, blocks, entries = index(data)
    container = in_python(data)
    assert offset == len(data)
    assert len(blocks) == container.block_count
    assert results_of(entries) == python_results(container)
    assert len(entries) - len(results_of(entries)) == container.source_count


def test_a_block_says_where_its_header_payload_and_process_lie() -> None:
    """And whether Python has to read the header for what else it says."""
    process = message_field(6, uint_field(1, 7))
    for header, needs_python in [
        (b"", 0),
        (message_field(3), 1),  # says at least that there is a session
        (message_field(4), 0),
        (message_field(3, uint_field(1, 1)), 1),
        (message_field(4, text_field(1, "")), 1),
        (uint_field(10, 1), 1),
        (process, 0),
    ]:
        data = file_of(block([b"ab"], header, sources=[b"s"]))
        (found,) = index(data)[1]
        assert found[:3] == [14, len(data) - 11, len(data)]
        assert found[5] == needs_python
        is_there = header == process
        content = data[found[3] : found[4]] if is_there else b""
        assert content == uint_field(1, 7) * is_there
        assert is_there or found[3:5] == [-1, -1]
        assert index(data)[2] == [
            [0, 0, len(data) - 7, len(data) - 6], [0, 1, len(data) - 2, len(data)],
        ]  # fmt: skip


def test_an_index_can_be_made_in_parts() -> None:
    """Blocks that begin before the limit are read whole."""
    data = file_of(*(block([bytes(9)]) for _ in range(5)))
    size = (len(data) - 10) // 5
    whole = index(data)
    assert index(data, 10, 10) == (10, [], [])
    offset, blocks, _ = index(data, 10, 10 + size + 1)
    assert (offset, blocks) == (10 + 2 * size, whole[1][:2])
    assert index(data, offset)[1] == whole[1][2:]


_SOUND = block([b"ab"])


@pytest.mark.parametrize(
    "rest",
    {
        "too few bytes for a size": b"\1\0\0",
        "zeros": bytes(8),
        "a header beyond the end": b"\x05\0\0\0\x08",
        "a header that is not protobuf": b"\x01\0\0\0\x08",
        "a number that is a message": block([], message_field(1)),
        "a message that is a number": block([], uint_field(4, 1)),
        "two processes": block([], message_field(6), message_field(6)),
        "a payload beyond the end": block([], payload_size=5),
        "a payload that nothing fills": block([], uint_field(5, 3)) + b"abc",
        "an entry beyond its payload": block([], uint_field(2, 1), payload_size=4) + b"\1\0\0\0",
        "more entries than there are": block([], uint_field(2, 2**32 - 1)),
    }.items(),
    ids=lambda rest: rest[0],
)
def test_it_stops_before_a_block_that_is_not_plainly_sound(rest: tuple[str, bytes]) -> None:
    """And keeps what came before, without any entry of that block."""
    data = file_of(_SOUND, rest[1])
    offset, blocks, entries = index(data)
    assert offset == 10 + len(_SOUND)
    assert (len(blocks), len(entries)) == (1, 1)


@pytest.mark.parametrize("kind", DAMAGES)
def test_an_index_of_a_damaged_file_is_a_beginning_of_the_true_one(kind: str) -> None:
    """No entry is invented, none before the damage is lost."""
    for mutant in mutants(kind, small_reports(), 200):
        data = mutant.data
        try:
            container = in_python(data)
            start = read_file_header(data, "file")[1]
        except NsightLensError:
            index(data, 0)
            continue
        offset, blocks, entries = index(data, start)
        # Python refuses some headers that look sound here, for what their messages lack.
        both = min(len(blocks), container.block_count)
        found = [entry for entry in results_of(entries) if entry[0] < both]
        assert found == [row for row in python_results(container) if row[0] < both]
        assert offset <= len(data)


@pytest.mark.parametrize("offset", [-1, 5])
def test_an_offset_outside_the_file_is_an_error_of_the_caller(offset: int) -> None:
    """The end itself is fine: there is nothing to read."""
    assert index(bytes(4), 4) == (4, [], [])
    with pytest.raises(ValueError, match="of 4 bytes"):
        index(bytes(4), offset)


@pytest.mark.parametrize("kind", DAMAGES)
def test_results_of_a_damaged_file_that_it_accepts_the_other_scanner_accepts_too(kind: str) -> None:
    """Entry by entry, and it is not just that nothing is accepted any more."""
    accepted = 0
    originals = [*small_reports(), encode_ncu_rep([LaunchSpec(metrics={"a": 1}) for _ in "abc"])]
    for mutant in mutants(kind, originals, 200):
        try:
            container = in_python(mutant.data)
        except NsightLensError:
            continue
        for entry in container.entries:
            result = mutant.data[entry.start : entry.stop]
            if scan(result, kind=entry.kind)[0]:
                read_in_python(result, entry.kind)
                accepted += 1
    assert accepted > 0 or kind == "beginning cut"


def test_a_builder_that_its_arguments_close_scans_nothing() -> None:
    """An argument is asked for its number, and whatever that runs may close the builder."""
    builder = _scanner.Builder(bytes(4), 1, b"", b"", EVERYTHING)

    class Closing:
        def __index__(self) -> int:
            builder.close()
            return 0

    with pytest.raises(ValueError, match="closed"):
        builder.scan(Closing(), b"\1", np.array([0, 4], dtype=np.int64))
