"""Series: the rows of one family along the batch size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from nsightlens.analysis.aggregate import group_by
from nsightlens.arrays import number_array
from nsightlens.devices.columns import number_column

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["SERIES_KEYS", "Series", "series_of"]

SERIES_KEYS = ("origin", "device_name", "phase", "family", "subtype", "kernel", "component")
"""What makes a series, of the columns of a row."""


@dataclass(frozen=True, eq=False)
class Series:
    """The rows of one family, by ascending batch size.

    Parameters
    ----------
    key
        Text of each of `SERIES_KEYS`; None for null.
    rows
        With the schema of `nsightlens.tables.SWEEP`, those with a batch size above zero.
    """

    key: dict[str, str | None]
    rows: pa.Table

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @property
    def batch(self) -> NDArray[np.float64]:
        """Batch sizes. Shape (n,)."""
        return self.number("batch_size")

    def number(self, name: str) -> NDArray[np.float64]:
        """Return a column of numbers, NaN for null. Shape (n,)."""
        return number_column(self.rows, name)

    def texts(self, name: str) -> list[str | None]:
        """Return a column of text."""
        texts: list[str | None] = self.rows[name].to_pylist()
        return texts

    @property
    def words(self) -> str:
        """What it is, as a person says it: ``gemm (dense)``."""
        name = self.key["kernel"] or self.key["family"] or "no family"
        subtype = None if self.key["kernel"] else self.key["subtype"]
        return f"{name} ({subtype})" if subtype else name


def series_of(rows: pa.Table) -> list[Series]:
    """Return the series of a table of rows, in the order of their first row.

    A family without any batch size is a series without rows.
    """
    if not rows.num_rows:
        return []
    texts = {name: rows[name].cast("string").combine_chunks() for name in SERIES_KEYS}
    groups = group_by(list(texts.values()))
    found = []
    for number in np.split(groups.order, groups.starts[1:]):
        key = {name: column[int(number[0])].as_py() for name, column in texts.items()}
        members = rows.take(number_array(number))
        has_batch = pc.fill_null(pc.greater(members["batch_size"], 0), False)
        found.append(Series(key, members.filter(has_batch).sort_by("batch_size")))
    return found
