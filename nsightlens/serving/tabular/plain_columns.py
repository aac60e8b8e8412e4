"""One column of a table of runs -> values in the unit of a column of ``serving_runs``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from nsightlens.serving.benchmarks.named import engine_name, model_name
from nsightlens.serving.part import LARGEST
from nsightlens.serving.run import COLUMNS, MOST_PERCENT
from nsightlens.serving.tabular.table_cells import flags_of, texts_of
from nsightlens.serving.tabular.table_numbers import lists_of, numbers_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.serving.tabular.plain_names import Meaning
    from nsightlens.serving.tabular.plain_work import Work

__all__ = ["plausible", "values_of"]

_MAY_BE_ZERO = frozenset(
    {
        "preemption_count", "failed_count", "completed_count", "mean_waiting", "prefix_hit_pct",
        "attention_share_pct", "matmul_share_pct", "host_share_pct", "dram_active_pct",
    }
)  # fmt: skip
"""Columns in which 0 is a measurement; elsewhere it stands for what was not measured."""

_SMALL = 1000
"""Whole numbers from here on may be rounded."""


def values_of(work: Work, column: str, index: int, meaning: Meaning) -> list[Any] | None:
    """Return the values of one column of the table, in the unit of the column of a run.

    Parameters
    ----------
    work
        The table.
    column
        Of ``serving_runs``.
    index, meaning
        Which column of the table, and what its header means.

    Returns
    -------
    list or None
        None in rows without a value; None for the whole where the unit is missing or contradictory.
    """
    cells, kind = work.table.columns[index], COLUMNS[column].type
    if meaning.how == "happened":
        return [None if one is None else float(one) for one in flags_of(cells)]
    if meaning.how in {"largest", "smallest"}:
        reduce = max if meaning.how == "largest" else min
        singles = [reduce(one) if one else np.nan for one in lists_of(cells)]
        return plausible(work, column, index, np.array(singles, np.float64))
    if pa.types.is_boolean(kind):
        return list(flags_of(cells))
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return _numbers(work, column, index, meaning)
    return _texts(work, column, index, meaning)


def _numbers(work: Work, column: str, index: int, meaning: Meaning) -> list[Any] | None:
    numbers = numbers_of(work.table.columns[index], work.comma)
    header = work.table.names[index]
    if numbers.strange:
        row = (numbers.strange_row or 0) + 1
        work.note(
            "not_a_number",
            f"{numbers.strange[0][:40]!r} in column {header!r}, row {row}, is no number: left out.",
        )
    factor = meaning.factor
    if numbers.unit is not None:
        scale = 1e-3 if column == "duration_s" else 1.0
        stated = numbers.unit.size * scale if numbers.unit.kind == meaning.kind else None
        is_own = header.strip().lower() == column or meaning.factor == stated
        if stated is None or not (is_own or meaning.factor is None):
            work.note("unit_contradiction", f"cells of {header!r} have another unit: left out.")
            return None
        factor = stated
    if factor is None:
        work.found.without_unit.append((header, meaning.better))
        return None
    # A factor of 1 keeps every digit of what stands there.
    return plausible(work, column, index, numbers.values * factor)


def _texts(work: Work, column: str, index: int, meaning: Meaning) -> list[Any]:
    texts = texts_of(work.table.columns[index])
    if work.table.names[index].strip().lower() == column:
        return [model_name(one) for one in texts] if column == "model" else list(texts)
    if meaning.how == "backend":
        # A client's protocol is no engine, but in a table of a person's own an engine it is.
        return [engine_name(one) for one in texts]
    if column == "engine":
        return [one and (engine_name(one) or one.lower()) for one in texts]
    if column == "model":
        return [model_name(one) for one in texts]
    return [None if one is None or one.isdecimal() else one for one in texts]


def plausible(work: Work, column: str, index: int, values: NDArray[Any]) -> list[Any]:
    """Return values without what cannot be: negative ones, infinite ones, zeros of no meaning.

    Each is None in the list, and a note says where the first stood.
    """
    known = np.isfinite(values)
    header = work.table.names[index]
    if column == "request_rate_per_s":
        known |= np.isposinf(values)
    if column == "gpu_memory_utilization" and (known & (values > 1) & (values <= 100)).any():
        work.note("already_percent", f"{header!r} exceeds 1, which no part does: read as percent.")
        values = np.where(values > 1, values / 100.0, values)
    largest = {"%": MOST_PERCENT, "1": 1.0}.get(COLUMNS[column].unit, LARGEST)
    wrong = known & ((values < 0) | ((values > largest) & np.isfinite(values)))
    if pa.types.is_integer(COLUMNS[column].type):
        # Counts may be means over repeated runs; a batch size of 7.5 is something else.
        wrong |= known & (values < _SMALL) & (values != np.round(values))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        work.note(
            "implausible", f"{header!r} is {values[row]:g} in row {row + 1}: left out where so."
        )
    known &= ~wrong
    if column not in _MAY_BE_ZERO:
        zero = known & (values == 0)
        if zero.any():
            row = int(np.flatnonzero(zero)[0]) + 1
            work.note("zero", f"{header!r} is 0 in row {row}: not measured, left out where so.")
        known &= ~zero
    if pa.types.is_integer(COLUMNS[column].type):
        return [
            round(one) if ok else None
            for one, ok in zip(values.tolist(), known.tolist(), strict=True)
        ]
    return [one if ok else None for one, ok in zip(values.tolist(), known.tolist(), strict=True)]
