"""Schemas: every column documented, and only documented columns."""

from __future__ import annotations

import pyarrow as pa
import pytest

from nsightlens import tables

ALL_TABLES = {
    name: value
    for name, value in vars(tables).items()
    if isinstance(value, tuple) and value and isinstance(value[0], tables.Column)
}
SUFFIX_UNITS = {"_ns": "ns", "_bytes": "B", "_pct": "%", "_hz": "Hz", "_bytes_per_s": "B/s"}


@pytest.mark.parametrize("name", sorted(n for n in ALL_TABLES if not n.startswith("_")))
def test_every_column_of_a_table_has_a_meaning_and_a_name_of_its_own(name: str) -> None:
    """The schema is the documentation."""
    columns = ALL_TABLES[name]
    assert all(column.meaning for column in columns)
    assert len({column.name for column in columns}) == len(columns)


@pytest.mark.parametrize("name", sorted(n for n in ALL_TABLES if not n.startswith("_")))
def test_the_suffix_of_a_column_is_its_unit(name: str) -> None:
    """A reader knows the unit from the name alone."""
    for column in ALL_TABLES[name]:
        for suffix, unit in SUFFIX_UNITS.items():
            if column.name.endswith(suffix):
                assert column.unit == unit, column.name


def test_the_schema_carries_unit_meaning_source_and_version() -> None:
    """What a column is travels with the Arrow table."""
    schema = tables.schema_of(tables.LAUNCHES, {"duration_ns": "gpu__time_duration.sum"})
    field = schema.field("duration_ns")
    assert field.metadata[b"unit"] == b"ns"
    assert field.metadata[b"source"] == b"gpu__time_duration.sum"
    assert field.metadata[b"meaning"]
    assert schema.metadata[b"schema_version"] == str(tables.SCHEMA_VERSION).encode()


def test_a_column_that_is_not_given_is_null() -> None:
    """Missing is null, not zero."""
    table = tables.table_of(tables.schema_of(tables.STALLS), {"launch_id": [0, 1]}, 2)
    assert table["cycles_per_issue"].to_pylist() == [None, None]
    assert table.schema.names == [column.name for column in tables.STALLS]


def test_a_column_that_the_schema_lacks_is_a_fault_of_the_program() -> None:
    """A typing error in a column name cannot lose data silently."""
    with pytest.raises(ValueError, match="typo"):
        tables.table_of(tables.schema_of(tables.STALLS), {"typo": [1]}, 1)


def test_text_becomes_a_dictionary_where_the_schema_wants_one() -> None:
    """Names repeat; they are stored once."""
    table = tables.table_of(tables.schema_of(tables.STALLS), {"stall_reason": ["wait", "wait"]}, 2)
    assert pa.types.is_dictionary(table.schema.field("stall_reason").type)
    assert tables.empty_table(tables.STALLS).num_rows == 0
