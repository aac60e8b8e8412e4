"""Latencies that cannot be, or are not what their name says: left out, or said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.serving.benchmarks.client_run import TOLERANCE
from nsightlens.serving.part import ITL_OVER_TPOT

if TYPE_CHECKING:
    from nsightlens.serving.benchmarks.client_run import ClientRun

__all__ = ["LATENCIES", "STATISTICS", "check_latencies"]

LATENCIES = ("itl", "tpot", "ttft", "e2e")
STATISTICS = ("mean", "median", "p99")

SHORTEST_STEP_MS = 0.2
"""[ms] No step of a model is shorter: a smaller median is of chunks that were read together."""

_STEPS = ("mean_itl_ms", "mean_tpot_ms", "median_tpot_ms", "p99_itl_ms", "p99_tpot_ms")
_MOST_RUNNING = 1.5
_NEARLY = 1 - 1e-6


def check_latencies(run: ClientRun) -> None:
    """Check the columns of latencies of a run against each other, its duration and its rate."""
    _check_steps(run)
    _check_whole(run)
    _check_range(run)
    _check_gaps(run)
    _check_running(run)


def _check_steps(run: ClientRun) -> None:
    """Leave out tokens that came faster than any step."""
    for column in _STEPS:
        value = run.values.get(column)
        if value and value < SHORTEST_STEP_MS:
            run.drop(column)
            run.note(
                "implausible",
                f"{column} is {value:.3g} ms, shorter than any step of a model; perhaps it is in "
                "seconds: left out.",
            )


def _check_whole(run: ClientRun) -> None:
    """Leave out whole answers that came before their first token."""
    for statistic in STATISTICS:
        whole, first = (run.values.get(f"{statistic}_{name}_ms") for name in ("e2e", "ttft"))
        if whole and first and whole < first * _NEARLY:
            run.drop(f"{statistic}_e2e_ms")
            run.note(
                "contradiction",
                f"{statistic} of the whole latency, {whole:.6g} ms, is below that to the first "
                f"token, {first:.6g} ms: the former is left out.",
            )


def _check_range(run: ClientRun) -> None:
    """Leave out what is longer than the run, and a last percent that is below the middle."""
    duration = run.values.get("duration_s")
    for name in LATENCIES:
        for statistic in STATISTICS:
            column = f"{statistic}_{name}_ms"
            value = run.values.get(column)
            if value and duration and value > 1e3 * duration * (1 + TOLERANCE):
                run.drop(column)
                run.note(
                    "contradiction",
                    f"{column} is {value:.6g} ms, longer than the whole run of {duration:.6g} s: "
                    "left out.",
                )
        median, p99 = run.values.get(f"median_{name}_ms"), run.values.get(f"p99_{name}_ms")
        if median and p99 and p99 < median * _NEARLY:
            run.drop(f"p99_{name}_ms")
            run.note(
                "contradiction",
                f"the 99th percentile of {name}, {p99:.6g} ms, is below its median, {median:.6g} "
                "ms: the former is left out.",
            )


def _check_gaps(run: ClientRun) -> None:
    mean, median = run.values.get("mean_itl_ms"), run.values.get("median_itl_ms")
    tpot = run.values.get("mean_tpot_ms")
    if median and median < SHORTEST_STEP_MS:
        run.drop("median_itl_ms")
        beside = f" (mean {mean:.4g} ms)" if mean else ""
        run.note(
            "median_itl_tiny",
            f"the median gap of {median:.3g} ms{beside} is not the time of a step, but between "
            "chunks that were read together, or in seconds: left out.",
        )
    low, high = ITL_OVER_TPOT
    if mean and tpot and not low <= mean / tpot <= high:
        run.note(
            "itl_per_chunk",
            f"mean ITL {mean:.4g} ms is {mean / tpot:.3g} times mean TPOT {tpot:.4g} ms: the gaps "
            "are between chunks of the answer, not between tokens.",
        )


def _check_running(run: ClientRun) -> None:
    """Say where the rate and the time per token imply more sequences than there were requests."""
    rate, tpot = run.values.get("output_tok_per_s"), run.values.get("mean_tpot_ms")
    limits = [run.values.get("max_concurrency"), run.values.get("completed_count")]
    most = min((one for one in limits if one), default=None)
    if rate and tpot and most and rate * tpot / 1e3 > _MOST_RUNNING * most + 1:
        run.note(
            "contradiction",
            f"{rate:.6g} tokens per second at {tpot:.6g} ms each need {rate * tpot / 1e3:.4g} "
            f"sequences at once, more than the {most} that there were.",
        )
