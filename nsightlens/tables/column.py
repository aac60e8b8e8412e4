"""What a table of ours is made of: columns with type, unit and meaning.

The unit and the meaning of a column are in its field metadata (``unit``, ``meaning``); the metrics
that can fill it are added under ``source`` by ``nsightlens.metrics``, which owns the spellings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "CATEGORY",
    "KEY",
    "SCHEMA_VERSION",
    "Column",
    "category",
    "count",
    "empty_table",
    "flag",
    "real",
    "schema_of",
    "table_of",
    "text",
    "whole",
]

SCHEMA_VERSION = 1

CATEGORY = pa.dictionary(pa.int32(), pa.string())


class Column(NamedTuple):
    """One column: its name, Arrow type, unit ("" where it has none) and meaning."""

    name: str
    type: pa.DataType
    unit: str
    meaning: str


def real(name: str, unit: str, meaning: str) -> Column:
    """Return a column of a measured or derived number."""
    return Column(name, pa.float64(), unit, meaning)


def count(name: str, meaning: str, unit: str = "") -> Column:
    """Return a column of a number that cannot be negative."""
    return Column(name, pa.uint64(), unit, meaning)


def text(name: str, meaning: str) -> Column:
    """Return a column of free text."""
    return Column(name, pa.string(), "", meaning)


def category(name: str, meaning: str) -> Column:
    """Return a column of text of few distinct values."""
    return Column(name, CATEGORY, "", meaning)


def flag(name: str, meaning: str) -> Column:
    """Return a column of a statement that holds or not."""
    return Column(name, pa.bool_(), "", meaning)


def whole(name: str, meaning: str, unit: str = "") -> Column:
    """Return a column of a whole number that a person gave, such as a batch size."""
    return Column(name, pa.int64(), unit, meaning)


# The two columns that name a launch in every table.
KEY = (
    category("report", "path of the report, as it was given"),
    Column(
        "launch_id", pa.uint32(), "", "position of the result in its report, from 0, file order"
    ),
)


def schema_of(columns: Iterable[Column], sources: Mapping[str, str] | None = None) -> pa.Schema:
    """Build the Arrow schema of a table, with unit, meaning and source in the field metadata.

    Parameters
    ----------
    columns
        One of the tuples of this module, such as ``LAUNCHES``.
    sources
        For each column name, the metrics that can fill it, as text.

    Returns
    -------
    pyarrow.Schema
        Its metadata has ``schema_version``.

    Examples
    --------
    >>> schema_of([real("duration_ns", "ns", "time on the GPU")]).field(0).metadata[b"unit"]
    b'ns'
    """
    known = sources or {}
    fields = [
        pa.field(
            c.name,
            c.type,
            metadata={"unit": c.unit, "meaning": c.meaning, "source": known.get(c.name, "")},
        )
        for c in columns
    ]
    return pa.schema(fields, metadata={"schema_version": str(SCHEMA_VERSION)})


def table_of(schema: pa.Schema, data: Mapping[str, Any], row_count: int) -> pa.Table:
    """Build a table of a schema; a column that ``data`` lacks is null in every row.

    Parameters
    ----------
    schema
        The schema, from `schema_of`.
    data
        Column name to Arrow array or Python sequence of length ``row_count``.
    row_count
        Number of rows.

    Returns
    -------
    pyarrow.Table
        With exactly the columns of ``schema``, in its order.

    Raises
    ------
    ValueError
        ``data`` has a column that the schema does not have.
    """
    unknown = set(data) - set(schema.names)
    if unknown:
        raise ValueError(f"columns that the schema does not have: {sorted(unknown)}")
    arrays = [
        _as_type(data[field.name], field.type)
        if field.name in data
        else pa.nulls(row_count, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _as_type(values: Any, wanted: pa.DataType) -> Any:
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        if values.type == wanted:
            return values
        if pa.types.is_dictionary(wanted):
            # Older pyarrow cannot cast to a dictionary, and encodes with the index type of ours.
            return values.cast(wanted.value_type).dictionary_encode()
        return values.cast(wanted)
    if pa.types.is_dictionary(wanted):
        return pa.array(values, type=wanted.value_type).dictionary_encode()
    return pa.array(values, type=wanted)


def empty_table(columns: Iterable[Column], sources: Mapping[str, str] | None = None) -> pa.Table:
    """Return the table with no rows."""
    return schema_of(columns, sources).empty_table()
