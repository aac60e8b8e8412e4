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
that was set are in flight. At a batch that is used up, some are on their way at any time."""


class BatchSizes(NamedTuple):
    """The batch that each run was set to. Shape (n,) each.

    Parameters
    ----------
    size
        Sequences; NaN where nothing says it.
    source
        Column of ``serving_runs`` that it is, ``static`` or ``concurrency``; empty likewise.
    is_client_bound
        The client keeps fewer requests in flight than the server would run.
    is_rate_bound
        Requests come at a rate that the server keeps up with: the batch is what was in flight.
    """

    size: NDArray[np.float64]
    source: NDArray[np.str_]
    is_client_bound: NDArray[np.bool_]
    is_rate_bound: NDArray[np.bool_]

    def of_rows(self, rows: NDArray[Any]) -> BatchSizes:
        """Return those of some rows, given by index or by mask."""
        return BatchSizes(
            self.size[rows], self.source[rows], self.is_client_bound[rows], self.is_rate_bound[rows]
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
        in flight, rounded.

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
    if_limited = ~(np.isnan(server["max_num_seqs"]) & np.isnan(client["max_concurrency"]))
    client["prompt_count"][~if_limited] = np.nan
    size, source = _least({**server, **client}, runs.num_rows)
    own, _ = _least(server, runs.num_rows)
    is_client_bound = (size < own) & np.isin(source, list(client))
    in_flight, _ = first_known(
        [(name, positives(runs, name)) for name in ("concurrency", "mean_running")], runs.num_rows
    )
    comes_at_rate = np.isfinite(numbers(runs, "request_rate_per_s"))
    is_rate_bound = comes_at_rate & (in_flight < RATE_BOUND * size)
    loose = np.isnan(size) & ~np.isnan(in_flight)
    most = positives(runs, "max_running")
    by_flight = np.maximum(np.rint(np.fmin(in_flight, most)), 1.0)
    taken = is_rate_bound | loose
    size[taken], source[taken] = by_flight[taken], "concurrency"
    source[source == "static_batch_size"] = "static"
    return BatchSizes(size, source, is_client_bound & ~taken, is_rate_bound)


def _least(
    limits: Mapping[str, NDArray[np.float64]], count: int
) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Return the least limit of each row and its name; of equal ones, the first."""
    size, source = np.full(count, np.nan), np.full(count, "", "<U24")
    for name, limit in limits.items():
        less = ~np.isnan(limit) & ~(limit >= size)
        size[less], source[less] = limit[less], name
    return size, source


def running_batches(
    columns: Mapping[str, NDArray[Any]], size: NDArray[np.float64], source: NDArray[np.str_]
) -> tuple[NDArray[np.float64], NDArray[np.str_]]:
    """Return how many sequences ran on average, and how that is known.

    Parameters
    ----------
    columns
        Columns of ``serving_runs``; NaN where missing. Shape (n,) each.
    size, source
        From `batch_sizes`. Shape (n,).

    Returns
    -------
    tuple of numpy.ndarray
        Sequences, and ``static``, ``mean_running``, ``little``, ``concurrency`` or ``nominal``.
        ``little`` is Little's law over the phase of decoding, generated tokens per second times
        TPOT (J. D. C. Little, Oper. Res. 9 (1961) 383): unlike requests in flight, it counts none
        that wait. Neither it nor these can be more than was allowed to run.
    """
    static = np.where(source == "static", size, np.nan)
    per_token, _ = first_known(
        [(name, columns[name]) for name in ("mean_tpot_ms", "mean_itl_ms")], len(size)
    )
    little = columns["output_tok_per_s"] * per_token / 1e3
    return first_known(
        [
            ("static", static),
            ("mean_running", columns["mean_running"]),
            ("little", np.minimum(little, size)),
            ("concurrency", np.minimum(columns["concurrency"], size)),
            ("nominal", size),
        ],
        len(size),
    )
