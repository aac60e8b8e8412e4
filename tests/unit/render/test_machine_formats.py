"""JSON, CSV and Markdown hold what the table holds, for programs and for pages."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from nsightlens.render.delimited import csv_pieces
from nsightlens.render.envelope import ENVELOPE_VERSION, envelope_pieces, json_number
from nsightlens.render.grid import GridColumn
from nsightlens.render.markdown import code, escaped, markdown_table
from nsightlens.render.rows import plain_rows


def test_an_unsigned_integer_keeps_all_its_digits() -> None:
    """A float would lose the last ones."""
    table = pa.table({"n": pa.array([2**64 - 1], pa.uint64())})
    text = "".join(envelope_pieces("nsightlens.classify", {}, plain_rows(table)))
    assert json.loads(text)["rows"] == [{"n": 18446744073709551615}]


def test_a_float_that_is_no_number_is_null_in_a_row() -> None:
    """JSON has no word for it."""
    table = pa.table({"x": [math.nan, math.inf, -math.inf, 1.5]})
    assert [row["x"] for row in plain_rows(table)] == [None, None, None, 1.5]


def test_a_time_stamp_is_written_as_iso_8601() -> None:
    """With its time zone."""
    moment = dt.datetime(2025, 2, 1, 12, 0, 5, tzinfo=dt.timezone.utc)
    table = pa.table({"t": pa.array([moment], pa.timestamp("s", tz="UTC"))})
    assert next(plain_rows(table)) == {"t": "2025-02-01T12:00:05+00:00"}


def test_rows_come_in_order_across_batches() -> None:
    """A long table is not read at once."""
    table = pa.table({"i": list(range(10_000))})
    assert [row["i"] for row in plain_rows(table)] == list(range(10_000))


def test_an_envelope_without_rows_is_valid_json() -> None:
    """An empty report still answers."""
    text = "".join(envelope_pieces("nsightlens.info", {"tool": "nsightlens"}, []))
    assert json.loads(text) == {
        "schema": "nsightlens.info",
        "schema_version": ENVELOPE_VERSION,
        "source": {"tool": "nsightlens"},
        "rows": [],
    }


@given(st.lists(st.dictionaries(st.text(), st.text() | st.integers() | st.none())))
def test_an_envelope_reads_back_as_it_was_written(rows: list[dict[str, Any]]) -> None:
    """Whatever the texts hold."""
    text = "".join(envelope_pieces("nsightlens.metrics", {}, rows))
    assert json.loads(text)["rows"] == rows


def test_a_metric_that_is_no_number_is_named() -> None:
    """Raw metrics tell NaN and infinity from a missing value."""
    assert [json_number(x) for x in (math.nan, math.inf, -math.inf, 0.1)] == [
        "nan",
        "inf",
        "-inf",
        0.1,
    ]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
def test_csv_reads_back_as_it_was_written(cells: list[str]) -> None:
    """Quotes, commas and line breaks in names survive."""
    text = "".join(csv_pieces(["a", "b"], [{"a": cell, "b": 1} for cell in cells]))
    read = list(csv.reader(io.StringIO(text, newline="")))
    assert read == [["a", "b"], *([cell, "1"] for cell in cells)]


def test_csv_has_an_empty_cell_for_what_is_missing_and_every_digit_of_a_float() -> None:
    """The value can be read back exactly."""
    rows: list[dict[str, Any]] = [{"x": None}, {"x": 0.1 + 0.2}, {"x": False}, {"x": ["a", "b"]}]
    assert "".join(csv_pieces(["x"], rows)) == (
        'x\r\n""\r\n0.30000000000000004\r\nfalse\r\na;b\r\n'
    )


def test_a_markdown_table_is_not_broken_by_the_names_in_it() -> None:
    """A pipe or a template argument of a kernel name is shown as it is."""
    columns = [
        GridColumn("kernel", ["f<int|*>", "-"]),
        GridColumn("DRAM\n%", ["<0.1", "91"], align="right"),
    ]
    assert markdown_table(columns, ["kernel"]) == (
        "| kernel | DRAM % |\n| --- | ---: |\n| `f<int\\|*>` | \\<0.1 |\n| - | 91 |\n"
    )


def test_code_with_backticks_is_fenced_by_longer_ones() -> None:
    """As CommonMark asks."""
    assert code("a`b") == "``a`b``"
    assert code("`a") == "`` `a ``"
    assert escaped("line\nbreak") == "line break"
