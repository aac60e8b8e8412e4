"""inference-perf: metrics of a stage's requests, and of its server; other files refused.

A stage is a run. Seconds throughout. ``summary_*`` pools all stages, whose load differs, so that
nothing follows from it. The client reads several tokens at once, which spoils the median of the
time between tokens, but not its mean. Source: kubernetes-sigs/inference-perf, a demo of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nsightlens.errors import ServingFileError
from nsightlens.serving.benchmarks.collected import Collected, number_of
from nsightlens.serving.benchmarks.inference_perf_others import (
    ADVICE_STAGES,
    OTHERS,
    refuse_summary,
    stage_of,
)
from nsightlens.serving.benchmarks.named import at, claims_object, object_of
from nsightlens.serving.part import Format

if TYPE_CHECKING:
    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.part import Part

__all__ = ["FORMATS"]

_LATENCIES = {
    "itl": "inter_token_latency",
    "tpot": "time_per_output_token",
    "ttft": "time_to_first_token",
    "e2e": "request_latency",
}
_STATISTICS = ("mean", "median", "p99")
_RATES = {
    "requests_per_s": "requests_per_sec",
    "output_tok_per_s": "output_tokens_per_sec",
    "total_tok_per_s": "total_tokens_per_sec",
}
_KEPT_UP = 0.95
"""Share of the requested rate from which on the server kept up."""
_HEAD_STAGE = re.compile(r'\{\s*"load_summary"\s*:\s*\{\s*"')


def _is_lifecycle(top: dict[str, Any]) -> bool:
    counts = at(top, "load_summary", "count") is not None
    return "load_summary" in top and (counts or at(top, "successes", "latency") is not None)


def _is_summary(file: OpenedFile, load: dict[str, Any]) -> bool:
    if re.search(r"(?:^|[_-])summary_lifecycle", file.name):
        return True
    is_of_stage = {"requested_rate", "achieved_rate", "send_duration", "concurrency"} & set(load)
    return not is_of_stage and not stage_of(file)[1]


def _read_lifecycle(file: OpenedFile) -> list[Part]:
    top = object_of(file)
    said = top.get("load_summary")
    load = said if isinstance(said, dict) else {}
    if re.search(r"(?:^|[_-])adapter_", file.name):
        raise ServingFileError(
            file.shown, "holds the requests of one adapter, not all that ran", ADVICE_STAGES
        )
    if _is_summary(file, load):
        refuse_summary(file)
    key, place = stage_of(file)
    run = Collected(file.shown, "inference-perf", place, key)
    done = top.get("successes")
    run.count("completed_count", at(done, "count"), where="successes.count", zero=True)
    run.count("failed_count", at(top, "failures", "count"), where="failures.count", zero=True)
    run.count("prompt_count", load.get("count"), where="load_summary.count")
    run.refuse_without_success(load.get("count"))
    for column, name in _LATENCIES.items():
        raws = {one: at(done, "latency", name, one) for one in _STATISTICS}
        run.latency(column, raws, 1e3, f"successes.latency.{name}")
    run.leave_out_burst_median()
    for column, name in _RATES.items():
        run.real(column, at(done, "throughput", name), where=f"successes.throughput.{name}")
    _tokens(run, done)
    _load(run, load)
    run.real("duration_s", top.get("benchmark_time_seconds"), where="benchmark_time_seconds")
    completed, rate = run.values.get("completed_count"), run.values.get("requests_per_s")
    if completed and rate:
        run.real("duration_s", completed / rate, derived="completed over requests per second")
    run.little()
    _saturation(run, load)
    return [run.part()]


def _tokens(run: Collected, done: Any) -> None:
    """Take lengths, which 0.7 names otherwise, and what the server found in its prefix cache."""
    for column, names in (
        ("mean_input_tokens", ("prompt_len", "prompt_tokens")),
        ("mean_output_tokens", ("output_len", "output_tokens")),
    ):
        for name in names:
            run.real(column, at(done, name, "mean"), where=f"successes.{name}.mean")
    total = number_of(at(done, "prompt_tokens", "total"))
    cached = number_of(at(done, "prompt_tokens", "cached"))
    if total and cached:
        run.real("prefix_hit_pct", 100 * cached / total, derived="cached over all prompt tokens")


def _load(run: Collected, load: dict[str, Any]) -> None:
    """Take the load; with a fixed concurrency, the rate is how fast requests were queued."""
    if run.count("max_concurrency", load.get("concurrency"), where="load_summary.concurrency"):
        return
    run.real("request_rate_per_s", load.get("requested_rate"), where="load_summary.requested_rate")


def _saturation(run: Collected, load: dict[str, Any]) -> None:
    asked, done = run.values.get("request_rate_per_s"), run.values.get("requests_per_s")
    if not asked or not done or done >= _KEPT_UP * asked:
        return
    sent = number_of(load.get("achieved_rate"))
    of_client = ""
    if sent is not None and sent < _KEPT_UP * asked:
        of_client = f" The client itself sent only {sent:.4g}."
    run.note(
        "saturated",
        f"{done:.4g} of {asked:.4g} requests per second were completed: the load was more than "
        f"server or client could carry, and requests waited.{of_client}",
    )


FORMATS = (
    Format(
        "inference-perf",
        "inference-perf stage metrics",
        lambda file: claims_object(file, _is_lifecycle, _HEAD_STAGE),
        _read_lifecycle,
    ),
    *OTHERS,
)
