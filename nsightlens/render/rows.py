"""An Arrow table as plain Python rows for the machine formats: JSON and CSV.

Integers stay exact, null stays ``None``, and a float that is no number (NaN, infinity) becomes
``None`` too, because JSON has no word for it. Rows are made in batches, so that a table of a
million metrics does not stand in memory as Python objects.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

__all__ = ["plain_rows"]

_BATCH_ROWS = 4096
"""Large enough that the cost per batch does not show, small enough to keep memory flat."""


def plain_rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield each row as column name to Python value.

    Parameters
    ----------
    table
        Any table of `nsightlens.tables`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> list(plain_rows(pa.table({"a": [1, None], "b": [0.5, float("nan")]})))
    [{'a': 1, 'b': 0.5}, {'a': None, 'b': None}]
    """
    names = table.column_names
    for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
        columns = [[_plain(value) for value in column.to_pylist()] for column in batch.columns]
        for values in zip(*columns, strict=True):
            yield dict(zip(names, values, strict=True))


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dt.datetime):
        return value.isoformat()
    return value
