"""What weighs against a run of a sweep, and how much less it counts in fits.

Every threshold of these flags is here, with its reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsightlens.advisor.itl_of_run import ItlOfRuns, itl_of_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.advisor.batch_of_run import BatchSizes
    from nsightlens.advisor.repeats import Joined

__all__ = ["WEIGHTS", "Flagged", "flag", "joined_flags"]

WEIGHTS = {
    "preempted": 0.0,
    "thrash": 0.0,
    "clock_limited": 0.25,
    "too_short": 0.5,
    "many_failed": 0.5,
    "repeats_differ": 0.5,
}
"""Factor on the weight in fits, by flag; flags that are not here are told and weigh nothing."""

SHORTEST_S = 30.0
"""[s] A shorter run is mostly ramp-up and drain, and graphs of new batch sizes may be captured in
it: clients warm up with one request."""

FEWEST_WAVES = 3.0
"""A place of the running batch must be taken this many times, or the run has no middle. The paper's
shortest has 3.5."""

CLOCK_SHARE = 0.9
"""[1] A mean SM clock below this part of the largest one says that the clock was limited: the
paper's limited run had 1605 of 1980 MHz, 0.81."""

MANY_FAILED = 0.05
"""[1] From this part of failed requests on, the load was another than the one asked for."""

MOSTLY_FAILED = 0.2
"""[1] From this part of failed requests on, what succeeded is a sample of its own: no weight."""

MOST_SPREAD = 1.25
"""Runs of one setting that differ by more than this factor are not of one setting: repeated runs of
the paper differ by 1 to 2 %."""

SINGLE_WEIGHT = 0.5
"""Weight of a single run beside others that were repeated."""

BEYOND_RUNNING = 1.5
"""A batch that was set this much above the mean that ran is a wish: at the paper's largest batch
sizes that still fill, drain alone makes it 1.34."""

ABOVE_BATCH = 1.1
"""More sequences than this times the batch cannot have run: one of the two numbers is wrong."""

FULL_POOL_PCT = 98.0
"""[%] A KV pool is full: the last block of each sequence is never quite."""

FALLING = 0.95
"""ITL below this part of that of a smaller batch falls by more than repeated runs differ."""

OUTLIER = 20.0
"""A time between tokens above this times the median of the sweep is not of it."""

WAITING_SHARE = 0.1
"""Requests that wait, as a part of the batch, below which a queue is no admission limit."""

LONG_INPUT_TOKENS = 4000.0
"""[token] From this mean length of prompts on, prefill may rule a server at high concurrency."""


class Flagged(NamedTuple):
    """What weighs against the rows of a curve.

    Parameters
    ----------
    masks
        Key of each flag that is set anywhere to where it is. Shape (n,) each.
    weight
        Weight in fits, 1 where nothing weighs. Shape (n,).
    itl
        The time between tokens, which the flags depend on and decide.
    """

    masks: dict[str, NDArray[np.bool_]]
    weight: NDArray[np.float64]
    itl: ItlOfRuns


def flag(
    joined: Joined,
    batches: BatchSizes,
    running: NDArray[np.float64],
    running_source: NDArray[np.str_],
) -> Flagged:
    """Look at the rows of a curve for what weighs against them.

    Parameters
    ----------
    joined
        The rows, by rising batch size.
    batches
        Of the rows: what set their batch sizes.
    running, running_source
        From `batch_of_run.running_batches`. Shape (n,).
    """
    columns, size = joined.columns, joined.batch_size
    preempted = columns["preemption_count"] > 0
    itl = itl_of_runs(columns, ~preempted)
    is_static = batches.source == "static"
    failed = columns["failed_count"]
    few = columns["completed_count"] < FEWEST_WAVES * running
    is_measured = ~np.isin(running_source, ["nominal", "static"])
    masks = {
        "preempted": preempted,
        "thrash": _thrash(joined, itl.itl_ms, preempted),
        "clock_limited": _clock_limited(joined, batches.is_by_load),
        "too_short": ~is_static & (few | (columns["duration_s"] < SHORTEST_S)),
        "failed_requests": failed > 0,
        "many_failed": failed > MANY_FAILED * (failed + columns["completed_count"]),
        "nominal_beyond_running": is_measured
        & ~batches.is_by_load
        & (size > BEYOND_RUNNING * running),
        "nominal_only": running_source == "nominal",
        "running_beyond_batch": columns["mean_running"] > ABOVE_BATCH * size,
        "client_bound": batches.is_client_bound,
        "by_load": batches.is_by_load,
        "itl_per_chunk": itl.is_per_chunk,
        "prefill_interference": itl.is_interfered,
        "speculative": columns["speculative"] > 0,
        "moe": columns["mixture_of_experts"] > 0,
        "long_input": ~is_static & (columns["mean_input_tokens"] >= LONG_INPUT_TOKENS),
        "mixed_settings": np.array([bool(one) for one in joined.mixed], bool),
        "repeats_differ": joined.spread > MOST_SPREAD,
        "single_run": joined.run_count == 1,
    }
    weight = np.ones(len(size))
    if (joined.run_count > 1).any():
        weight[masks["single_run"]] *= SINGLE_WEIGHT
    weight[failed > MOSTLY_FAILED * (failed + columns["completed_count"])] = 0.0
    for key, factor in WEIGHTS.items():
        weight[masks[key]] *= factor
    return Flagged({key: mask for key, mask in masks.items() if mask.any()}, weight, itl)


def joined_flags(masks: dict[str, NDArray[np.bool_]], count: int) -> list[str]:
    """Return the keys of the flags of each row, joined by ','.

    Examples
    --------
    >>> joined_flags({"moe": np.array([True, False]), "preempted": np.array([True, False])}, 2)
    ['moe,preempted', '']
    """
    keys: list[list[str]] = [[] for _ in range(count)]
    for key, mask in masks.items():
        for row in np.flatnonzero(mask):
            keys[row].append(key)
    return [",".join(one) for one in keys]


def _clock_limited(joined: Joined, is_by_load: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return where the device said so, or the clock was far below the largest of the sweep.

    A device may count only violations of some limits. Under a light load, its clock falls because
    it idles.
    """
    clock, most = joined.columns["sm_clock_mhz"], joined.columns["sm_clock_max_mhz"]
    largest = np.fmax.reduce(np.concatenate([clock, most]))
    is_limited = joined.columns["clock_limited"] >= 1
    is_limited |= (clock < CLOCK_SHARE * largest) & ~is_by_load
    return np.asarray(is_limited, bool)


def _thrash(
    joined: Joined, itl_ms: NDArray[np.float64], preempted: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return where tokens come faster than at a smaller batch because requests are kept out.

    A larger batch cannot make a step shorter. Where the pool is full or a queue grows meanwhile,
    fewer sequences run, or blocks are thrown away and computed again.
    """
    columns = joined.columns
    waiting = columns["mean_waiting"]
    is_full = columns["kv_peak_pct"] >= FULL_POOL_PCT
    is_queueing = waiting >= WAITING_SHARE * joined.batch_size
    is_queueing &= waiting > _largest_before(waiting, preempted)
    # One row that is wrong by a unit is no reason to call all larger ones thrashing.
    wrong = itl_ms > OUTLIER * np.nanmedian(itl_ms) if (~np.isnan(itl_ms)).any() else preempted
    is_falling = itl_ms < FALLING * _largest_before(itl_ms, preempted | wrong)
    return np.asarray(is_falling & (is_full | is_queueing), bool)


def _largest_before(
    values: NDArray[np.float64], left_out: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the largest of the rows before each; -inf where there is none."""
    known = np.where(left_out | np.isnan(values), -np.inf, values)
    return np.concatenate([[-np.inf], np.maximum.accumulate(known)[:-1]])
