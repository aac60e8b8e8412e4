"""What every format of an export gives: a table of columns, each of one of three kinds.

A table or a column that the export lacks is as good as one that is null: any may be missing, by
the version of nsys and by what was traced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["TYPES", "Export", "Kind", "assembled"]

Kind = Literal["whole", "real", "text"]


TYPES: dict[str, pa.DataType] = {
    "whole": pa.int64(),
    "real": pa.float64(),
    "text": pa.dictionary(pa.int32(), pa.string()),
}
"""Arrow type of each kind of column."""


class Export(Protocol):
    """An export of Nsight Systems, in whichever format."""

    @property
    def form(self) -> str:
        """``sqlite``, ``arrowdir`` or ``parquetdir``."""

    @property
    def shown(self) -> str:
        """What messages call it."""

    @property
    def table_names(self) -> frozenset[str]:
        """The tables that it has."""

    def columns_of(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table; none where there is no such table."""

    def read(self, table: str, wanted: Mapping[str, Kind]) -> pa.Table:
        """Return columns of a table, with the types of `TYPES`, in one piece each.

        Parameters
        ----------
        table
            Its name. One that the export lacks has no rows.
        wanted
            Names of columns and what each must hold. One that the table lacks is null.

        Raises
        ------
        NotATraceError
            The table is damaged, or a column holds something else.
        """


def assembled(
    wanted: Mapping[str, Kind], pieces: Mapping[str, Sequence[pa.Array]], row_count: int
) -> pa.Table:
    """Return the table of columns that were read piece by piece.

    Parameters
    ----------
    wanted
        As in `Export.read`.
    pieces
        The arrays of each column, of the types of `TYPES`; null columns are left out.
    row_count
        Rows of the table.
    """
    columns = {
        name: _joined(pieces[name], TYPES[kind]) if name in pieces else None
        for name, kind in wanted.items()
    }
    arrays = [
        pa.nulls(row_count, TYPES[kind]) if (column := columns[name]) is None else column
        for name, kind in wanted.items()
    ]
    return pa.Table.from_arrays(arrays, names=list(wanted))


def _joined(arrays: Sequence[pa.Array], kind: pa.DataType) -> pa.Array:
    chunked = pa.chunked_array(arrays, type=kind)
    if pa.types.is_dictionary(kind):
        chunked = chunked.unify_dictionaries()
    joined = chunked.combine_chunks()
    # Older pyarrow gives a chunked array of one piece, or of none.
    if isinstance(joined, pa.ChunkedArray):
        joined = joined.chunk(0) if joined.num_chunks else pa.nulls(0, kind)
    return joined
