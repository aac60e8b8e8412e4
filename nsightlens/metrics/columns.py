"""Raw metrics as float64 columns, and the choice among the formulas of a column.

Missing is NaN inside `nsightlens.metrics` and becomes null when a column leaves it; a NaN that the
profiler stored (a collection that failed) is missing too.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from nsightlens.arrays import number_array
from nsightlens.metrics.formula import formula

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from nsightlens.metric_store import MetricStore

__all__ = ["Evaluated", "NumberColumns", "count_array", "evaluate_first", "origin_array", "sound"]


class NumberColumns:
    """The metrics of a store as float64 columns, each read once."""

    def __init__(self, store: MetricStore) -> None:
        self.store = store
        self.launch_count = store.launch_count
        self._missing = np.full(store.launch_count, np.nan)
        self._missing.flags.writeable = False
        self._read: dict[str, NDArray[np.float64]] = {}

    def __contains__(self, metric: str) -> bool:
        return metric in self.store.index_of

    def __call__(self, metric: str) -> NDArray[np.float64]:
        """Return a metric as a column, NaN where a launch has no number. Shape (n,)."""
        if metric not in self:
            return self._missing
        if metric not in self._read:
            # `number` gives NaN where there is no value.
            self._read[metric] = sound(self.store.number(metric)[0])
        return self._read[metric]

    @cached_property
    def nothing(self) -> Evaluated:
        """The column of formulas that have none of their metrics; one for all, not to be written.

        Most columns of a short report are this one: a copy for each took more memory than the rest.
        """
        return Evaluated(self._missing, np.full(self.launch_count, -1, dtype=np.int32))

    def has_all(self, metrics: Iterable[str]) -> bool:
        """Say whether some launch has each of the metrics."""
        return all(metric in self for metric in metrics)


def sound(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return measurements with NaN for what none can be: negative, or infinite.

    A count, a rate and a percentage are none of these; such a value is damage, not a measurement.
    """
    with np.errstate(invalid="ignore"):
        return np.where((values >= 0) & np.isfinite(values), values, np.nan)


class Evaluated(NamedTuple):
    """A column and, per launch, which of the formulas gave it.

    ``values`` is NaN and ``choice`` -1 where no formula had a value. Shapes (n,).
    """

    values: NDArray[np.float64]
    choice: NDArray[np.int32]


def count_array(values: NDArray[np.float64]) -> pa.Array:
    """Return a column of counts: uint64, null for whatever is no count.

    Parameters
    ----------
    values
        NaN for missing. Shape (n,).

    Returns
    -------
    pyarrow.Array
        Null where the value is missing, negative, a fraction, infinite or beyond 64 bits: a
        damaged report may say any of these.
    """
    is_count = (values >= 0) & (values < 2.0**64) & (values == np.floor(values))
    return number_array(np.where(is_count, values, 0).astype(np.uint64), is_count)


def evaluate_first(formulas: Sequence[str], numbers: NumberColumns) -> Evaluated:
    """Evaluate formulas in order; each launch takes the first that has a value.

    Parameters
    ----------
    formulas
        Texts of formulas, best first.
    numbers
        The raw metrics.
    """
    usable = [
        (index, compiled)
        for index, compiled in enumerate(map(formula, formulas))
        if numbers.has_all(compiled.metrics)
    ]
    if not usable:
        return numbers.nothing
    values = np.full(numbers.launch_count, np.nan)
    choice = np.full(numbers.launch_count, -1, dtype=np.int32)
    for index, compiled in usable:
        candidate = compiled.evaluate(numbers, numbers.launch_count)
        fills = (choice < 0) & ~np.isnan(candidate)
        values[fills] = candidate[fills]
        choice[fills] = index
        if (choice >= 0).all():
            break
    return Evaluated(values, choice)


def origin_array(choice: NDArray[np.int32], formulas: Sequence[str]) -> pa.Array:
    """Return, per launch, the text of the formula that was chosen; null where none was."""
    # Not np.unique: it sorts, and imports numpy.ma.
    used = np.flatnonzero(np.bincount(choice[choice >= 0]))
    return pa.DictionaryArray.from_arrays(
        number_array(np.searchsorted(used, choice).astype(np.int32), choice >= 0),
        pa.array([formulas[i] for i in used.tolist()], type=pa.string()),
    )
