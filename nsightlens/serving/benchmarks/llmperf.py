"""LLMPerf (ray-project): ``<model>_<in>_<out>_summary.json``, in seconds.

Its inter token latency is the whole latency over the tokens, time to the first included, so that
it is no column here: the time per token after the first is derived from means.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nsightlens.errors import ServingFileError
from nsightlens.serving.benchmarks.collected import Collected, number_of
from nsightlens.serving.benchmarks.named import (
    at,
    claims_object,
    model_name,
    object_of,
    workload_of,
)
from nsightlens.serving.part import Format

if TYPE_CHECKING:
    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.part import Part

__all__ = ["FORMATS"]

_LATENCIES = {"ttft": "results_ttft_s", "e2e": "results_end_to_end_latency_s"}
_STATISTICS = {"mean": "mean", "median": "quantiles_p50", "p99": "quantiles_p99"}
_HEAD = re.compile(r'"results_(?:ttft|inter_token_latency|end_to_end_latency)_s_')


def _is_summary(top: dict[str, Any]) -> bool:
    return any(_HEAD.match(f'"{key}') for key in top) or (
        "num_concurrent_requests" in top and "results_error_rate" in top
    )


def _read(file: OpenedFile) -> list[Part]:
    top = object_of(file)
    run = Collected(file.shown, "llmperf")
    started = run.count("prompt_count", top.get("results_num_requests_started"))
    run.count("completed_count", top.get("results_num_completed_requests"), zero=True)
    run.count("failed_count", top.get("results_number_errors"), zero=True)
    run.refuse_without_success(started)
    for column, name in _LATENCIES.items():
        raws = {one: top.get(f"{name}_{theirs}") for one, theirs in _STATISTICS.items()}
        run.latency(column, raws, 1e3, name)
    run.real("mean_input_tokens", top.get("results_number_input_tokens_mean"))
    run.real("mean_output_tokens", top.get("results_number_output_tokens_mean"))
    name = "results_mean_output_throughput_token_per_s"
    run.real("output_tok_per_s", top.get(name), where=name)
    per_minute = number_of(top.get("results_num_completed_requests_per_min"))
    if per_minute is not None:
        words = "completed requests per minute over 60"
        run.real("requests_per_s", per_minute / 60, derived=words)
    completed, rate = run.values.get("completed_count"), run.values.get("requests_per_s")
    if completed and rate:
        run.real("duration_s", completed / rate, derived="completed over requests per second")
    run.count("max_concurrency", top.get("num_concurrent_requests"))
    run.text("model", model_name(top.get("model")))
    lengths = (number_of(top.get("mean_input_tokens")), number_of(top.get("mean_output_tokens")))
    run.text("workload", workload_of(*lengths))
    run.little()
    _tpot(run)
    return [run.part()]


def _tpot(run: Collected) -> None:
    """Derive the time per token after the first from means: near it where lengths are equal."""
    e2e, ttft = run.values.get("mean_e2e_ms"), run.values.get("mean_ttft_ms")
    tokens = run.values.get("mean_output_tokens")
    if not e2e or not ttft or not tokens or tokens <= 1 or e2e <= ttft:
        return
    run.real(
        "mean_tpot_ms",
        (e2e - ttft) / (tokens - 1),
        derived="(mean latency less mean time to first token) over (mean output tokens less one)",
    )
    run.note(
        "tpot_from_means",
        "LLMPerf's inter token latency includes the time to the first token: the time per token is "
        "computed from means instead, and has no median and no percentile.",
    )


def _claims_responses(file: OpenedFile) -> bool:
    if not file.looks_like_json:
        return False
    first = at(file.json, 0) if isinstance(file.json, list) else None
    keys = set(first) if isinstance(first, dict) else set()
    return {"ttft_s", "end_to_end_latency_s"} <= keys or {"error_code", "ttft_s"} <= keys


def _refuse_responses(file: OpenedFile) -> list[Part]:
    raise ServingFileError(
        file.shown,
        "holds single responses of LLMPerf, no statistics",
        "Give the file that ends in _summary.json and lies beside it.",
    )


FORMATS = (
    Format(
        "llmperf",
        "LLMPerf summary",
        lambda file: claims_object(file, _is_summary, _HEAD),
        _read,
    ),
    Format("llmperf-responses", "LLMPerf single responses", _claims_responses, _refuse_responses),
)
