"""Results of several clients, each of one of the servers that share a GPU -> one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.serving.run import Origin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.serving.part import Part
    from nsightlens.serving.run import Run

__all__ = ["WORK", "clients_together"]

WORK = frozenset({"workload", "request_rate_per_s", "max_concurrency", "mixture_of_experts"})
"""What the client of each server has in common with the others, beside settings."""

_SUMMED = (
    "prompt_count", "completed_count", "failed_count", "input_token_count", "output_token_count",
    "concurrency",
)  # fmt: skip
_RATES = {
    "requests_per_s": ("completed_count",),
    "output_tok_per_s": ("output_token_count",),
    "total_tok_per_s": ("input_token_count", "output_token_count"),
}
_LATENCIES = ("itl", "tpot", "ttft", "e2e")
_UNEVEN = 1.2


def clients_together(run: Run, parts: Sequence[Part]) -> None:
    """Fill a run from the results of clients that ran at once.

    Counts add up; rates are counts over the longest duration, else they add up; mean latencies are
    weighted by what each client completed; of percentiles the largest is taken.

    Parameters
    ----------
    run
        Without values yet.
    parts
        One per server.
    """
    count = len(parts)

    def put(name: str, value: float, words: str) -> None:
        run.put(name, value, Origin(parts[0].path, "", parts[0].format, words))

    def each(name: str) -> list[float] | None:
        found = [part.values[name] for part in parts if name in part.values]
        return [float(one) for one in found] if len(found) == count else None

    put("replicas", count, f"{count} results of servers, by the names of files")
    durations = each("duration_s")
    if durations:
        put("duration_s", max(durations), f"longest of {count} clients")
        if max(durations) > _UNEVEN * min(durations):
            run.note(
                "uneven_clients",
                f"The clients of {run.name} ran {min(durations):.4g} to {max(durations):.4g} s: "
                "while only some ran, the others' servers were idle.",
            )
    for name in _SUMMED:
        numbers = each(name)
        if numbers:
            put(name, sum(numbers), f"sum of {count} clients")
    for name, counts in _RATES.items():
        if durations and all(one in run.values for one in counts):
            total = sum(run.values[one] for one in counts)
            put(name, total / max(durations), f"{count} clients, over the longest duration")
        elif numbers := each(name):
            put(name, sum(numbers), f"sum of {count} clients")
    requests = each("completed_count") or [1.0] * count
    tokens = each("output_token_count") or requests
    for latency in _LATENCIES:
        weights = tokens if latency == "itl" else requests  # ITL weighs gaps, the others requests
        for statistic in ("mean", "median"):
            name = f"{statistic}_{latency}_ms"
            numbers = each(name)
            if numbers:
                mean = sum(w * x for w, x in zip(weights, numbers, strict=True)) / sum(weights)
                about = "" if statistic == "mean" else ", which is about the median of all"
                put(name, mean, f"mean of {count} clients, weighted{about}")
        numbers = each(f"p99_{latency}_ms")
        if numbers:
            put(f"p99_{latency}_ms", max(numbers), f"largest of {count} clients")
