"""How a family changes along the batch size."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["trends_of"]


def trends_of(rows: pa.Table) -> pa.Table:
    """Return the trend of every family of a table of rows.

    Parameters
    ----------
    rows
        With the schema of `nsightlens.tables.SWEEP`.

    Returns
    -------
    pyarrow.Table
        With the schema of `nsightlens.tables.SWEEP_TRENDS`.
    """
    raise NotImplementedError
