"""Runs of equal settings, joined: the median of what was measured, the worst of what harms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nsightlens.advisor.run_columns import numbers, positives
from nsightlens.serving.part import LARGEST

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["Joined", "join"]

_ANY = ("speculative", "mixture_of_experts", "prefix_caching")
_MOST = ("clock_limited",)
_LARGEST = ("preemption_count", "failed_count")
_LARGEST_KNOWN = ("kv_peak_pct", "max_running")
_MEASURED = (
    *(f"{one}_{name}_ms" for name in ("itl", "tpot", "ttft") for one in ("mean", "median", "p99")),
    "requests_per_s", "output_tok_per_s", "total_tok_per_s", "decode_tok_per_s", "duration_s",
    "mean_e2e_ms", "completed_count", "mean_running", "concurrency", "kv_pool_gib",
    "mean_input_tokens", "sm_clock_mhz", "sm_clock_max_mhz",
)  # fmt: skip
_NOT_NEGATIVE = ("mean_waiting", "kv_mean_pct")
# Two runs of one batch that differ in these are no repetition.
_SETTINGS = (
    "max_num_seqs", "max_concurrency", "max_num_batched_tokens", "gpu_memory_utilization",
    "chunked_prefill", "request_rate_per_s", "prompt_count", "block_size", "max_model_len",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Joined:
    """Runs by batch size, in rising order. Shape (m,) each.

    Parameters
    ----------
    batch_size
        Without repetition.
    first
        Row of one of the runs of each batch size.
    names, run_count
        Names of the runs, joined by ' + ', and how many they are.
    columns
        Columns of ``serving_runs``: the median of the runs that have a value, NaN where none has.
        ``preemption_count``, ``failed_count``, ``kv_peak_pct`` and ``max_running`` are the
        largest, so that a batch size of which one run was preempted is not safe.
    mixed
        Per batch size, settings in which its runs differ, in words; empty where in none.
    is_preempted_in_part
        Some of the runs were preempted, and others not.
    spread
        Largest over smallest throughput or latency of the runs that were joined. Shape (m,).
    """

    batch_size: NDArray[np.float64]
    first: NDArray[np.intp]
    names: list[str]
    run_count: NDArray[np.intp]
    columns: dict[str, NDArray[np.float64]]
    mixed: list[str]
    is_preempted_in_part: NDArray[np.bool_]
    spread: NDArray[np.float64]


def join(runs: pa.Table, batch_size: NDArray[np.float64]) -> Joined:
    """Join the runs of each batch size.

    Parameters
    ----------
    runs
        With the schema ``SERVING_RUNS``, in any order.
    batch_size
        Of each run, without NaN. Shape (n,).
    """
    sizes, first, group, count = np.unique(
        batch_size, return_index=True, return_inverse=True, return_counts=True
    )
    group = group.reshape(-1)
    columns = {name: _median(positives(runs, name), group, len(sizes)) for name in _MEASURED}
    for name in _NOT_NEGATIVE:
        columns[name] = _median(_not_negative(runs, name), group, len(sizes))
    for name in (*_LARGEST, *_LARGEST_KNOWN, *_ANY):
        columns[name] = _largest(_not_negative(runs, name), group, len(sizes))
    for name in _MOST:
        columns[name] = np.rint(_median(numbers(runs, name), group, len(sizes)) + 0.01)
    # A repeat of which nothing is known may have been preempted: none is known only where all are.
    unknown = np.bincount(group, np.isnan(numbers(runs, "preemption_count")), len(sizes)) > 0
    counted = columns["preemption_count"]
    columns["preemption_count"] = np.where(unknown & (counted == 0), np.nan, counted)
    preempted = (numbers(runs, "preemption_count") > 0).astype(np.float64)
    share = np.bincount(group, preempted, len(sizes)) / count
    return Joined(
        batch_size=sizes,
        first=first,
        names=_names(runs, group, count),
        run_count=count,
        columns=columns,
        mixed=_mixed(runs, group, len(sizes)),
        is_preempted_in_part=(share > 0) & (share < 1),
        spread=np.fmax.reduce([_spread(runs, name, group, len(sizes)) for name in _SPREAD]),
    )


def _not_negative(runs: pa.Table, name: str) -> NDArray[np.float64]:
    values = numbers(runs, name)
    values[~((values >= 0) & (values < LARGEST))] = np.nan
    return values


def _median(
    values: NDArray[np.float64], group: NDArray[np.intp], count: int
) -> NDArray[np.float64]:
    """Return the median of what is known of each group; NaN where nothing is."""
    known = ~np.isnan(values)
    order = np.lexsort((values[known], group[known]))
    ordered = values[known][order]
    size = np.bincount(group[known], minlength=count)
    begin = np.cumsum(size) - size
    has = size > 0
    result = np.full(count, np.nan)
    lower = ordered[begin[has] + (size[has] - 1) // 2]
    result[has] = lower + (ordered[begin[has] + size[has] // 2] - lower) / 2
    return result


def _largest(
    values: NDArray[np.float64], group: NDArray[np.intp], count: int
) -> NDArray[np.float64]:
    result = np.full(count, -np.inf)
    known = ~np.isnan(values)
    np.maximum.at(result, group[known], values[known])
    result[np.isinf(result)] = np.nan
    return result


_SPREAD = ("total_tok_per_s", "output_tok_per_s", "requests_per_s", "mean_itl_ms", "mean_tpot_ms")


def _spread(runs: pa.Table, name: str, group: NDArray[np.intp], count: int) -> NDArray[np.float64]:
    """Return the largest over the smallest of each group; 1 where nothing is known of it."""
    values = positives(runs, name)
    most, least = _largest(values, group, count), -_largest(-values, group, count)
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(most / least, nan=1.0)


def _names(runs: pa.Table, group: NDArray[np.intp], count: NDArray[np.intp]) -> list[str]:
    names = np.array([one or "" for one in runs["run"].to_pylist()], object)
    order = np.lexsort((names.astype(str), group))
    parts = np.split(names[order], np.cumsum(count)[:-1])
    return [" + ".join(part) for part in parts]


def _mixed(runs: pa.Table, group: NDArray[np.intp], count: int) -> list[str]:
    words: list[list[str]] = [[] for _ in range(count)]
    for name in _SETTINGS:
        values = numbers(runs, name)
        largest = np.full(count, -np.inf)
        least = np.full(count, np.inf)
        known = ~np.isnan(values)
        np.maximum.at(largest, group[known], values[known])
        np.minimum.at(least, group[known], values[known])
        for place in np.flatnonzero(largest > least):
            words[place].append(f"{name} ({least[place]:g} to {largest[place]:g})")
    return [", ".join(one) for one in words]
