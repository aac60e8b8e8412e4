"""Servers that never served: which line of a log says so, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nsightlens.serving.logs.log_text import LogText

__all__ = ["Failure", "failure_of", "memory_ran_out_later"]


class Failure(NamedTuple):
    """A reason for which a server did not start: what a file says, what to do, and its line."""

    problem: str
    advice: str
    offset: int


_OUT_OF_MEMORY = ("CUDA out of memory", "torch.OutOfMemoryError", "HIP out of memory")
_AGAIN = "start the server again, and measure with that one."
_REASONS = (
    (
        ("No available memory for the cache blocks",),
        "is of a server that did not start: no memory was left for its KV cache",
        f"Raise gpu_memory_utilization or lower max_model_len, {_AGAIN}",
    ),
    (
        (
            "larger than the maximum number of tokens that can be stored in KV cache",
            "larger than the available KV cache memory",
        ),
        "is of a server that did not start: its KV cache is too small for max_model_len",
        f"Lower max_model_len or raise gpu_memory_utilization, {_AGAIN}",
    ),
    (
        ("is less than desired GPU memory utilization",),
        "is of a server that did not start: less memory was free than it was to use",
        f"End what else uses the GPU or lower gpu_memory_utilization, {_AGAIN}",
    ),
    (
        ("Not enough memory. Please try to increase --mem-fraction-static",),
        "is of a server that did not start: no memory was left for its KV cache",
        f"Raise --mem-fraction-static, {_AGAIN}",
    ),
    (
        _OUT_OF_MEMORY,
        "is of a server that did not start: it ran out of memory",
        f"Lower gpu_memory_utilization, max_num_seqs or max_model_len, {_AGAIN}",
    ),
    (
        ("Engine core initialization failed", "Engine process failed to start"),
        "is of a server that did not start",
        f"Read the error above that line, {_AGAIN}",
    ),
)
_READY = (
    "Application startup complete", "Uvicorn running on", "Available routes are",
    "The server is fired up", "Avg prompt throughput: ", "#running-req: ",
)  # fmt: skip


def failure_of(log: LogText) -> Failure | None:
    """Return why the server of a log never served; None where it did, or where nothing says so."""
    if any(log.has(words) for words in _READY):
        return None
    for all_words, problem, advice in _REASONS:
        for words in all_words:
            place = log.find(words)
            if place >= 0:
                return Failure(problem, advice, place)
    return None


def memory_ran_out_later(log: LogText) -> int | None:
    """Return where a server that had started ran out of memory; None where it did not."""
    if not any(log.has(words) for words in _READY):
        return None
    places = [place for place in map(log.find, _OUT_OF_MEMORY) if place >= 0]
    return min(places, default=None)
