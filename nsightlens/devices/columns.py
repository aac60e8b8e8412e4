"""Columns of a report as numpy arrays, for arithmetic over all launches at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nsightlens.metrics.columns import sound

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.metric_store import MetricStore

__all__ = ["first_known", "metric", "number_column", "text_column"]


def number_column(table: Any, name: str) -> NDArray[np.float64]:
    """Return a numeric column as float64 with NaN for null. Shape (rows,)."""
    # Not the safe cast: it refuses integers beyond 2**53, as a damaged report may have.
    column = table[name].cast(pa.float64(), safe=False)
    values: NDArray[np.float64] = np.array(column.to_numpy(), dtype=np.float64)
    return values


def text_column(table: Any, name: str) -> tuple[NDArray[np.intp], list[str | None]]:
    """Return a text column as codes and the text of each code.

    Returns
    -------
    codes
        Index into the texts, for each row. Shape (rows,).
    texts
        Distinct values; ``None`` stands for null.
    """
    column = table[name].cast(pa.string())
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    column = column.dictionary_encode()
    texts: list[str | None] = [*column.dictionary.to_pylist(), None]
    codes = column.indices.fill_null(len(texts) - 1).to_numpy(zero_copy_only=False)
    return codes.astype(np.intp), texts


def metric(store: MetricStore, name: str) -> NDArray[np.float64]:
    """Return a raw metric as float64, NaN where a launch has no sound value. Shape (launches,)."""
    if name not in store.index_of:
        return np.full(store.launch_count, np.nan)
    return sound(store.number(name)[0])


def first_known(*candidates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each row, the first value that is not NaN."""
    result = candidates[0]
    for candidate in candidates[1:]:
        result = np.where(np.isnan(result), candidate, result)
    return result
