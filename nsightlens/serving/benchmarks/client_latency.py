"""Latencies of a client's summary -> columns, with what is known to be wrong in them put right."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.serving.benchmarks.client_checks import LATENCIES, STATISTICS, check_latencies
from nsightlens.serving.benchmarks.client_run import disagree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nsightlens.serving.benchmarks.client_details import Details
    from nsightlens.serving.benchmarks.client_run import ClientRun

__all__ = ["take_latencies"]

_PREFIXES = {"mean": ("mean",), "median": ("median", "p50"), "p99": ("p99",)}
_COMPARED = {"mean_itl_ms", "mean_tpot_ms", "mean_e2e_ms"}


def take_latencies(
    run: ClientRun,
    suffixes: Mapping[str, tuple[str, ...]],
    details: Details | None,
    *,
    is_e2e_swapped: bool = False,
) -> None:
    """Set the columns of latencies [ms] and of concurrency.

    Parameters
    ----------
    run
        With duration and counts already.
    suffixes
        For each of ``itl``, ``tpot``, ``ttft`` and ``e2e``, how its keys end.
    details
        What each request said.
    is_e2e_swapped
        Whether the client wrote the median of whole latencies as their mean, and the reverse.
    """
    for name in LATENCIES:
        for statistic in STATISTICS:
            keys = [
                f"{one}_{end}" for end in suffixes.get(name, ()) for one in _PREFIXES[statistic]
            ]
            key = next((one for one in keys if run.data.get(one) is not None), None)
            if key is not None:
                run.put(f"{statistic}_{name}_ms", run.positive(key), key)
    if is_e2e_swapped:
        _swap_back(run, details)
    if details is not None:
        _use_details(run, details)
    check_latencies(run)
    if "concurrency" not in run.values:
        _concurrency(run, details)


def _swap_back(run: ClientRun, details: Details | None) -> None:
    """Exchange mean and median of whole latencies, where details do not say them themselves."""
    mean, median = run.values.get("mean_e2e_ms"), run.values.get("median_e2e_ms")
    true = details.summary() if details is not None else {}
    if "mean_e2e_ms" in true:
        words = "from the details of each request: this generation may exchange mean and median"
        for column in ("mean_e2e_ms", "median_e2e_ms"):
            run.put(column, true[column], "ttfts", words)
        if not mean or not median or not _are_exchanged(mean, median, true):
            return
    elif "mean_e2el_ms" not in run.data and "median_e2el_ms" not in run.data:
        return
    else:
        words = "this generation of the benchmark writes mean and median under each other's name"
        run.drop("mean_e2e_ms")
        run.drop("median_e2e_ms")
        run.put("mean_e2e_ms", median, "median_e2el_ms", words)
        run.put("median_e2e_ms", mean, "mean_e2el_ms", words)
    run.note("e2e_swapped", "mean and median of the whole latency stood under each other's name.")


def _are_exchanged(mean: float, median: float, true: Mapping[str, float]) -> bool:
    true_mean, true_median = true["mean_e2e_ms"], true["median_e2e_ms"]
    as_they_are = abs(mean - true_mean) + abs(median - true_median)
    return abs(mean - true_median) + abs(median - true_mean) < as_they_are


def _use_details(run: ClientRun, details: Details) -> None:
    summary = details.summary()
    ttft = summary.get("mean_ttft_ms")
    stated = run.values.get("mean_ttft_ms")
    if details.empty_count and ttft and stated and disagree(stated, ttft, 0.01):
        run.note(
            "empty_requests",
            f"{details.empty_count} requests without a token count as 0 ms in the mean time to the "
            f"first token, {stated:.6g} ms: without them it is {ttft:.6g} ms.",
        )
        for column in ("mean_ttft_ms", "median_ttft_ms", "p99_ttft_ms"):
            words = "from ttfts, without requests that got no token"
            run.put(column, summary[column], "ttfts", words)
    for column, value in summary.items():
        key = {"itl": "itls", "tpot": "itls", "ttft": "ttfts", "e2e": "ttfts"}[column.split("_")[1]]
        if column not in run.values:
            run.put(column, value, key, "from the details of each request")
        elif column in _COMPARED and disagree(run.values[column], value):
            run.note(
                "contradiction",
                f"{column} is {run.values[column]:.6g} ms, but {value:.6g} ms by the details of "
                "each request: the former is used.",
            )


def _concurrency(run: ClientRun, details: Details | None) -> None:
    duration = run.values.get("duration_s")
    completed, mean = run.values.get("completed_count"), run.values.get("mean_e2e_ms")
    if duration and details is not None and details.e2e_s is not None and details.e2e_s.size:
        total = float(details.e2e_s.sum())
        run.put("concurrency", total / duration, "ttfts", "sum of latencies over the duration")
    elif duration and completed and mean:
        words = "completed requests times mean latency over the duration"
        run.put("concurrency", completed * mean / 1e3 / duration, derived=words)
