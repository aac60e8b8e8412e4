"""Counts, tokens and rates of a client's summary -> columns, checked against each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from nsightlens.serving.benchmarks.client_details import details_of
from nsightlens.serving.part import LARGEST

if TYPE_CHECKING:
    from nsightlens.serving.benchmarks.client_details import Details
    from nsightlens.serving.benchmarks.client_run import ClientRun

__all__ = ["require_speed", "take_counts", "take_means", "take_rate_of_requests"]

_SPEEDS = (
    "output_tok_per_s", "mean_itl_ms", "median_itl_ms", "mean_tpot_ms", "median_tpot_ms",
    "total_tok_per_s", "requests_per_s",
)  # fmt: skip


def take_counts(run: ClientRun, sent_key: str | None) -> Details | None:
    """Set duration, counts of requests and tokens; refuse runs that measured nothing.

    Parameters
    ----------
    run
        Of `nsightlens.serving.benchmarks.client_run`.
    sent_key
        Key of the requests that were sent; None where the format has none.

    Returns
    -------
    Details or None
        What each request said.

    Raises
    ------
    ServingFileError
        Every request failed, the duration is not above zero, or no token was generated.
    """
    duration = run.data.get("duration")
    if isinstance(duration, (int, float)) and not isinstance(duration, bool) and duration <= 0:
        raise run.refusal(
            f"says that the run took {str(duration)[:20]} s", "Run the benchmark again."
        )
    run.put("duration_s", run.number("duration"), "duration")
    completed = run.whole("completed")
    sent = run.whole(sent_key) if sent_key else None
    if completed == 0:
        raise run.refusal(
            f"holds no measurement: {_failed_words(run, sent)}",
            "Look into the log of the server for the reason, and run the benchmark again.",
        )
    details = details_of(run)
    run.put("completed_count", completed, "completed")
    _take_sent(run, sent_key, sent, completed, details)
    for column, key in (
        ("input_token_count", "total_input_tokens"),
        ("output_token_count", "total_output_tokens"),
    ):
        run.put(column, run.whole(key), key)
    if run.values.get("output_token_count") == 0:
        raise run.refusal(
            f"has {completed} completed requests and no generated token",
            "Results of embedding models, and of servers that answer nothing, have no decode step.",
        )
    if details is not None and details.output_tokens is not None:
        tokens = int(details.output_tokens.sum())
        if "output_token_count" not in run.values and tokens:
            run.put("output_token_count", tokens, "output_lens", "sum of output_lens")
    if run.values.get("input_token_count") == 0:
        run.drop("input_token_count")
        run.positive("total_input_tokens")
    take_means(run)
    return details


def _failed_words(run: ClientRun, sent: int | None) -> str:
    words = f"all {sent} requests failed" if sent else "every request failed"
    errors = run.data.get("errors")
    first = next((one for one in errors if one), None) if isinstance(errors, list) else None
    if isinstance(first, str) and first.strip():
        words += f" ({first.strip().splitlines()[-1][:80]})"
    return words


def _take_sent(
    run: ClientRun,
    sent_key: str | None,
    sent: int | None,
    completed: int | None,
    details: Details | None,
) -> None:
    failed = run.whole("failed")
    if failed is not None:
        run.put("failed_count", failed, "failed")
    elif details is not None and details.failed_count is not None:
        run.put("failed_count", details.failed_count, "errors", "requests with an error")
        if sent_key is None and completed is not None:
            words = "requests that completed or had an error"
            run.put("prompt_count", completed + details.failed_count, "errors", words)
    if sent is None or sent_key is None:
        return
    if completed is not None and completed + (failed or 0) > sent:
        words = f"{completed} requests completed"
        words += f" and {failed} failed" if failed else ""
        run.note("contradiction", f"{words}, but {sent} were sent: the latter is left out.")
        return
    run.put("prompt_count", sent, sent_key)
    if completed is None:
        return
    if "failed_count" not in run.values:
        run.put("failed_count", sent - completed, sent_key, f"{sent_key} less completed")
    lost = sent - completed - run.values["failed_count"]
    if lost > 0:
        run.note(
            "fewer_requests",
            f"of {sent} requests that were asked for, {completed} completed and "
            f"{run.values['failed_count']} failed: {lost} were never sent.",
        )


def take_means(run: ClientRun) -> None:
    """Set mean lengths of requests, from totals over completed requests."""
    completed = run.values.get("completed_count")
    for column, mean, key in (
        ("input_token_count", "mean_input_tokens", "total_input_tokens"),
        ("output_token_count", "mean_output_tokens", "total_output_tokens"),
    ):
        if completed and run.values.get(column):
            words = f"{key} over completed requests"
            run.put(mean, run.values[column] / completed, key, words)


def take_rate_of_requests(run: ClientRun, key: str = "request_rate") -> None:
    """Set the rate that requests were sent with; ``"inf"`` and ``Infinity`` are infinite."""
    value = run.data.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return
    try:
        rate = float(value)
    except (ValueError, OverflowError):
        return
    if 0 < rate <= LARGEST or rate == math.inf:
        run.put("request_rate_per_s", rate, key)
    else:
        run.note("implausible", f"{key} is {rate:.6g}: left out.")


def require_speed(run: ClientRun) -> None:
    """Refuse a run that says nothing of speed.

    Raises
    ------
    ServingFileError
        Neither throughput nor the time of a token is known.
    """
    if not any(run.values.get(name) for name in _SPEEDS):
        raise run.refusal(
            "says neither throughput nor the time between tokens", "Run the benchmark again."
        )
