"""The rows of one report, as a dataset holds them: with the report's id, split by GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from nsightlens.arrays import number_array
from nsightlens.store.layout import OF_LAUNCHES, schema_of_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["Gpus", "with_report_id"]


class Gpus:
    """The GPU of each launch of a report.

    Parameters
    ----------
    launches
        Table of launches, or another with ``launch_id`` and ``device_name``.
    """

    def __init__(self, launches: pa.Table) -> None:
        device = launches["device_name"].combine_chunks()
        indices = np.asarray(device.indices.fill_null(-1), dtype=np.int64)
        names = device.dictionary.to_pylist()
        self._names: list[str | None] = [*names, None]
        launch_id = np.asarray(launches["launch_id"], dtype=np.int64)
        last = int(launch_id.max()) if len(launch_id) else -1
        self._of_launch = np.full(last + 2, len(names), np.int64)
        self._of_launch[launch_id] = np.where(indices < 0, len(names), indices)

    def split(self, name: str, table: pa.Table) -> Iterator[tuple[str | None, pa.Table]]:
        """Yield the rows of a table by GPU: its name, None where it is not known, and the rows.

        Parameters
        ----------
        name
            Which of the tables of a dataset it is.
        table
            The table.
        """
        if name not in OF_LAUNCHES or not table.num_rows:
            yield None, table
            return
        codes = self._codes(table)
        found = np.unique(codes)
        if len(found) == 1:
            yield self._names[found[0]], table
            return
        for code in found:
            yield self._names[code], table.filter(number_array(codes == code))

    def _codes(self, table: pa.Table) -> NDArray[np.int64]:
        launch_id = np.asarray(table["launch_id"], dtype=np.int64)
        # A launch that is none of them has no GPU that is known: the last place says so.
        return self._of_launch[np.minimum(launch_id, len(self._of_launch) - 1)]


def with_report_id(name: str, table: pa.Table, report_id: str) -> pa.Table:
    """Return a table with the column ``report_id`` in front.

    Parameters
    ----------
    name
        Which of the tables of a dataset it is.
    table
        The table as a report has it.
    report_id
        The same for every row.
    """
    indices = number_array(np.zeros(table.num_rows, np.int32))
    column = pa.DictionaryArray.from_arrays(indices, pa.array([report_id], pa.string()))
    return table.add_column(0, schema_of_table(name).field(0), column)
