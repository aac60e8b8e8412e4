"""From raw metrics to the measured columns of ``launches``, each with its provenance.

Most columns come from a formula of `nsightlens.metrics.catalog`; the few that are text, or that
compare metrics, are made here. Readers call `derive_launch_columns` and add what only the file
itself can say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from nsightlens import tables
from nsightlens.arrays import number_array
from nsightlens.metric_store import MetricKind
from nsightlens.metrics.catalog import CATALOG
from nsightlens.metrics.columns import (
    Evaluated,
    NumberColumns,
    count_array,
    evaluate_first,
    origin_array,
)
from nsightlens.metrics.occupancy import LIMITS, limit_metric, occupancy_limiter
from nsightlens.metrics.stalls import LATENCY_FORMULAS, cycles_metric, stall_profile
from nsightlens.tables import STALL_REASONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nsightlens.metric_store import MetricStore
    from nsightlens.metrics.stalls import StallProfile

__all__ = ["SOURCES", "derive_launch_columns", "launches_schema"]

_TYPES = {column.name: column.type for column in tables.LAUNCHES}
_DURATION = "gpu__time_duration.sum"
_DEVICE_NAME = "device__attribute_display_name"
_CAPABILITY = (
    "device__attribute_compute_capability_major",
    "device__attribute_compute_capability_minor",
)
# Known of a launch whose collection failed as well: where it ran, not how.
_NOT_MEASURED = {"device_id", "context_id", "stream_id", "sm_count", "replay_pass_count"}

_TOP_STATE = f"largest {cycles_metric('*')} but 'selected'"

SOURCES: dict[str, tuple[str, ...]] = {
    **{entry.column: entry.formulas for entry in CATALOG},
    "device_name": (_DEVICE_NAME,),
    "compute_capability": (".".join(_CAPABILITY),),
    "occupancy_limiter": (f"smallest of {', '.join(limit_metric(one) for one in LIMITS)}",),
    "warp_cycles_per_issue": LATENCY_FORMULAS,
    "stalled_for_data_pct": tuple(
        f"100 * {cycles_metric('long_scoreboard')} / ({text})" for text in LATENCY_FORMULAS
    ),
    "top_stall": (_TOP_STATE,),
    "top_stall_cycles_per_issue": (_TOP_STATE,),
    "top_stall_pct": tuple(f"100 * {_TOP_STATE} / ({text})" for text in LATENCY_FORMULAS),
    "is_failed_collection": (f"no launch__* metric and {_DURATION} is not a number",),
}
"""For each derived column, what can fill it, best first. Origins are texts of this table."""


def derive_launch_columns(store: MetricStore) -> tuple[dict[str, pa.Array], dict[str, pa.Array]]:
    """Derive every column of ``launches`` that raw metrics can fill.

    Parameters
    ----------
    store
        Raw metrics of n launches.

    Returns
    -------
    columns
        Column name to Arrow array of the type in `nsightlens.tables.LAUNCHES`. Shape (n,). Null
        where the report does not say, and for every measurement of a failed collection.
    origins
        For the same columns, what gave each value: a text of `SOURCES`, dictionary-encoded; null
        where the column is null. Shape (n,).
    """
    numbers = NumberColumns(store)
    has_failed = _has_failed(store, numbers)
    evaluated = {
        entry.column: _without(evaluate_first(entry.formulas, numbers), has_failed)
        if entry.column not in _NOT_MEASURED
        else evaluate_first(entry.formulas, numbers)
        for entry in CATALOG
    }
    stalls = stall_profile(numbers)
    top, top_columns = _top_stall(stalls)
    evaluated |= {
        name: _without(column, has_failed)
        for name, column in {
            "warp_cycles_per_issue": Evaluated(stalls.latency, stalls.latency_choice),
            "stalled_for_data_pct": _share(stalls, STALL_REASONS.index("long_scoreboard")),
            **top_columns,
        }.items()
    }
    columns = {name: _typed(name, column.values) for name, column in evaluated.items()}
    origins = {
        name: origin_array(column.choice, SOURCES[name]) for name, column in evaluated.items()
    }
    for name, array in {
        "device_name": _device_name(store),
        "compute_capability": _compute_capability(numbers),
        "occupancy_limiter": occupancy_limiter(
            numbers, evaluated["theoretical_occupancy_pct"].values
        ),
        "top_stall": _reasons(top, is_missing=np.isnan(evaluated["top_stall_pct"].values)),
        "is_failed_collection": number_array(has_failed),
    }.items():
        columns[name] = array
        origins[name] = _single_origin(array, SOURCES[name])
    return columns, origins


def launches_schema() -> pa.Schema:
    """Return the schema of ``launches``; what can fill a column is in its ``source`` metadata."""
    return tables.schema_of(
        tables.LAUNCHES, {column: " | ".join(texts) for column, texts in SOURCES.items()}
    )


def _has_failed(store: MetricStore, numbers: NumberColumns) -> NDArray[np.bool_]:
    """Find collections that the profiler cut short.

    ncu stores launch__* with every kernel, so that none of them together with a duration that is
    stored and is not a number is the mark of one. A range has no launch__* but a duration.
    """
    has_duration = store.kind(_DURATION) != MetricKind.ABSENT
    is_nan: NDArray[np.bool_] = has_duration & np.isnan(numbers(_DURATION))
    if not is_nan.any():
        return is_nan
    is_configured = np.zeros(store.launch_count, dtype=bool)
    for name in store.names:
        if name.startswith("launch__"):
            is_configured |= store.kind(name) != MetricKind.ABSENT
    has_failed: NDArray[np.bool_] = is_nan & ~is_configured
    return has_failed


def _without(column: Evaluated, dropped: NDArray[np.bool_]) -> Evaluated:
    if not dropped.any():
        return column
    return Evaluated(
        np.where(dropped, np.nan, column.values), np.where(dropped, np.int32(-1), column.choice)
    )


def _share(stalls: StallProfile, reason: int) -> Evaluated:
    share = stalls.share_pct[reason]
    return Evaluated(share, np.where(np.isnan(share), np.int32(-1), stalls.latency_choice))


def _top_stall(stalls: StallProfile) -> tuple[NDArray[np.intp], dict[str, Evaluated]]:
    """Find the state with the most cycles, where all states are known."""
    cycles = stalls.cycles.copy()
    cycles[STALL_REASONS.index("selected")] = np.nan
    cycles[:, ~stalls.is_complete] = np.nan
    top: NDArray[np.intp] = np.where(np.isnan(cycles), -1, cycles).argmax(axis=0)
    launch = np.arange(cycles.shape[1])
    most = cycles[top, launch]
    share = np.where(np.isnan(most), np.nan, stalls.share_pct[top, launch])
    choice = np.where(np.isnan(share), np.int32(-1), stalls.latency_choice)
    return top, {
        "top_stall_cycles_per_issue": Evaluated(
            most, np.where(np.isnan(most), np.int32(-1), np.int32(0))
        ),
        "top_stall_pct": Evaluated(share, choice),
    }


def _reasons(reason: NDArray[np.intp], is_missing: NDArray[np.bool_]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(
        number_array(reason.astype(np.int32), ~is_missing), pa.array(STALL_REASONS)
    )


def _typed(name: str, values: NDArray[np.float64]) -> pa.Array:
    """Turn a column with NaN into the Arrow type of the table; a count is never negative."""
    wanted = _TYPES[name]
    if pa.types.is_floating(wanted):
        return number_array(values, ~np.isnan(values))
    return count_array(values)


def _device_name(store: MetricStore) -> pa.Array:
    names = store.column(_DEVICE_NAME)
    return names.cast(pa.string()).dictionary_encode()


def _compute_capability(numbers: NumberColumns) -> pa.Array:
    major, minor = (numbers(name) for name in _CAPABILITY)
    # The minor number has one digit today; 100 leaves it room for two.
    is_missing = ~((major >= 0) & (major < 100) & (minor >= 0) & (minor < 100))
    code = np.where(is_missing, 0, 100 * major + minor).astype(np.int32)
    distinct, index = np.unique(code, return_inverse=True)
    return pa.DictionaryArray.from_arrays(
        number_array(index.astype(np.int32), ~is_missing),
        pa.array([f"{one // 100}.{one % 100}" for one in distinct.tolist()], type=pa.string()),
    )


def _single_origin(array: pa.Array, sources: Sequence[str]) -> pa.Array:
    is_null = np.asarray(array.is_null())
    return origin_array(np.where(is_null, np.int32(-1), np.int32(0)), sources)
