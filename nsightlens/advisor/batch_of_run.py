"""Which batch a run was set to, and how many sequences of it ran.

The two differ: a server that may run 512 sequences runs 103 where its KV pool holds no more, and
latency follows what runs. Files say the first in several places and the second in others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nsightlens.advisor.run_columns import first_known, numbers, positives

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["BatchSizes", "batch_sizes", "running_batches"]

RATE_BOUND = 0.8
"""Requests that come at a rate bind, not the settings, where fewer than this part of the batch
that was set are in flight; and where fewer than this part of those in flight run, others wait. At a
batch that is used up, some are on their way at any time."""


class BatchSizes(NamedTuple):
    """The batch that each run was set to. Shape (n,) each.

    Parameters
    ----------
    size
        Sequences; NaN where nothing says it.
    source
        Column of ``serving_runs`` that it is, or ``static``, ``concurrency`` or ``running``; empty
        where nothing says it.
    is_client_bound
        The client keeps fewer requests in flight than the server would run.
    is_by_load
        No setting bound: the batch is what was in flight, or of that what ran.
    """

    size: NDArray[np.float64]
    source: NDArray[np.str_]
    is_client_bound: NDArray[np.bool_]
    is_by_load: NDArray[np.bool_]

    def of_rows(self, rows: NDArray[Any]) -> BatchSizes:
        """Return those of some rows, given by index or by mask."""
        return BatchSizes(
            self.size[rows], self.source[rows], self.is_client_bound[rows], self.is_by_load[rows]
        )


def batch_sizes(runs: pa.Table) -> BatchSizes:
    """Return the batch that each run was set to.

    Parameters
    ----------
    runs
        With the schema ``SERVING_RUNS``.

    Returns
    -------
    BatchSizes
        The least of what limits a run: the server's ``max_num_seqs`` or the batch that runs in
        lock-step, the client's ``max_concurrency``, and with one of these the number of prompts.
        Without any limit, and where requests come too seldom to reach one, it is the mean number
        in flight, rounded; or of these the ones that ran, where others waited: the server has a
        limit then that no file says.

    Examples
    --------
    >>> from nsightlens.tables import SERVING_RUNS, schema_of, table_of
    >>> data = {"max_num_seqs": [256, 256, None], "max_concurrency": [None, 32, 8]}
    >>> found = batch_sizes(table_of(schema_of(SERVING_RUNS), data, 3))
    >>> found.size.tolist(), found.source.tolist()
    ([256.0, 32.0, 8.0], ['max_num_seqs', 'max_concurrency', 'max_concurrency'])
    """
    server = {name: positives(runs, name) for name in ("max_num_seqs", "static_batch_size")}
    client = {name: positives(runs, name) for name in ("max_concurrency", "prompt_count")}
    # A number of prompts is no batch; beside a limit, it may be a harder one.
    is_limited = ~(np.isnan(server["max_num_seqs"]) & np.isnan(client["max_concurrency"]))
    client["prompt_count"][~is_limited] = np.nan
    size, source = _least({**server, **client}, runs.num_rows)
    own, _ = _least(server, runs.num_rows)
    is_client_bound = (size < own) & np.isin(source, list(client))
    source[source == "static_batch_size"] = "static"
    in_flight, ran = _load(runs)
    comes_at_rate = np.isfinite(numbers(runs, "request_rate_per_s")) & (source != "static")
    by_load = (comes_at_rate & (in_flight < RATE_BOUND * size)) | np.isnan(size)
    by_load &= ~np.isnan(in_flight)
    others_wait = ran < RATE_BOUND * in_flight
    load = np.where(others_wait, ran, in_flight)
    size[by_load] = np.maximum(np.rint(load[by_load]), 1.0)
    source[by_load] = np.where(others_wait, "running", "concurrency")[by_load]
    return BatchSizes(size, source, is_client_bound & ~by_load, by_load)


def _load(runs: pa.Table) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return how many requests were in flight, and how many of them ran."""
    columns = {name: positives(runs, name) for name in ("concurrency", "mean_running", *_OF_LITTLE)}
    running = ("mean_running", columns["mean_running"])
    little = ("little", _little(columns))
    count = runs.num_rows
    in_flight, _ = first_known([("concurrency", columns["concurrency"]), running, little], count)
    return in_flight, first_known([running, little], count)[0]


def _least(
    limits: Mapping[str, NDArray[np.float64]], count: int
) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Return the least limit of each row and its name; of equal ones, the first."""
    size, source = np.full(count, np.nan), np.full(count, "", "<U24")
    for name, limit in limits.items():
        less = ~np.isnan(limit) & ~(limit >= size)
        size[less], source[less] = limit[less], name
    return size, source


_OF_LITTLE = (
    "output_tok_per_s", "mean_tpot_ms", "mean_itl_ms",
    "requests_per_s", "mean_e2e_ms", "mean_ttft_ms", "median_ttft_ms",
)  # fmt: skip


def _little(columns: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    """Return the mean number of sequences that decode, by Little's law.

    Generated tokens per second times the time of one; or requests per second times the time from
    their first to their last token (J. D. C. Little, Oper. Res. 9 (1961) 383). Unlike requests in
    flight, it counts none that wait.
    """
    per_token, _ = first_known(
        [(name, columns[name]) for name in ("mean_tpot_ms", "mean_itl_ms")],
        len(columns["mean_tpot_ms"]),
    )
    first_token, _ = first_known(
        [(name, columns[name]) for name in ("mean_ttft_ms", "median_ttft_ms")], len(per_token)
    )
    decoding = columns["mean_e2e_ms"] - first_token
    decoding = np.where(decoding > 0, decoding, np.nan)
    by_tokens = columns["output_tok_per_s"] * per_token / 1e3
    by_requests = columns["requests_per_s"] * decoding / 1e3
    return first_known([("tokens", by_tokens), ("requests", by_requests)], len(per_token))[0]


def running_batches(
    columns: Mapping[str, NDArray[Any]], batches: BatchSizes
) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Return how many sequences ran on average, and how that is known.

    Parameters
    ----------
    columns
        Columns of ``serving_runs``; NaN where missing. Shape (n,) each.
    batches
        From `batch_sizes`, of the same rows.

    Returns
    -------
    tuple of numpy.ndarray
        Sequences, and ``static``, ``mean_running``, ``little``, ``concurrency`` or ``nominal``.
        ``little`` is Little's law over the phase of decoding. Neither it nor requests in flight
        can be more than was allowed to run. Under a light load a server idles between requests: a
        step has at least one sequence, whatever the mean over time is.
    """
    size = batches.size
    most = np.where(batches.source == "concurrency", np.inf, size)
    running, source = first_known(
        [
            ("static", np.where(batches.source == "static", size, np.nan)),
            ("mean_running", columns["mean_running"]),
            ("little", np.minimum(_little(columns), most)),
            ("concurrency", np.minimum(columns["concurrency"], most)),
            ("nominal", size),
        ],
        len(size),
    )
    return np.where(batches.is_by_load, np.fmax(running, 1.0), running), source
