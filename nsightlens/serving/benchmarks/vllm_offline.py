"""Results of ``vllm bench throughput`` and ``vllm bench latency``: little, and said so.

Throughput knows prompt and generated tokens only together, and no latency. Latency is of a whole
batch whose size stands nowhere in the file.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from nsightlens.serving.benchmarks.client_counts import require_speed
from nsightlens.serving.benchmarks.client_parts import parts_of
from nsightlens.serving.benchmarks.client_run import ClientRun
from nsightlens.serving.benchmarks.json_objects import objects_of
from nsightlens.serving.benchmarks.named import model_name
from nsightlens.serving.benchmarks.vllm_settings import take_settings
from nsightlens.serving.part import Format

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.part import Part

__all__ = ["FORMATS"]

THROUGHPUT, LATENCY = "vllm-throughput", "vllm-latency"

_THROUGHPUT_KEYS = {"elapsed_time", "num_requests", "total_num_tokens", "tokens_per_second"}
_LATENCY_KEYS = {"avg_latency", "latencies", "percentiles"}
_MOST_DIGITS = 7
_PERCENTILES = {"median_e2e_ms": "50", "p99_e2e_ms": "99"}


def _is_throughput(data: Mapping[str, Any]) -> bool:
    return data.keys() >= _THROUGHPUT_KEYS


def _is_latency(data: Mapping[str, Any]) -> bool:
    return data.keys() >= _LATENCY_KEYS


def _claims_throughput(file: OpenedFile) -> bool:
    if not file.looks_like_json or '"total_num_tokens"' not in file.head:
        return False
    return any(_is_throughput(data) for _, data in objects_of(file).found)


def _claims_latency(file: OpenedFile) -> bool:
    if not file.looks_like_json or '"avg_latency"' not in file.head:
        return False
    return any(_is_latency(data) for _, data in objects_of(file).found)


def _read_throughput(file: OpenedFile) -> list[Part]:
    return parts_of(objects_of(file), file.shown, _throughput, is_run=_is_throughput)


def _read_latency(file: OpenedFile) -> list[Part]:
    return parts_of(objects_of(file), file.shown, _latency, is_run=_is_latency)


def _throughput(data: Mapping[str, Any], shown: str, where: str) -> Part:
    run = ClientRun(data, shown, where)
    duration, requests = run.number("elapsed_time"), run.whole("num_requests")
    if not duration or not requests:
        raise run.refusal(
            "holds no measurement: elapsed_time or num_requests is not above zero",
            "Run the benchmark again.",
        )
    run.put("duration_s", duration, "elapsed_time")
    run.put("prompt_count", requests, "num_requests")
    run.put("completed_count", requests, "num_requests", "the benchmark ends where one fails")
    run.put("model", model_name(run.text("model_id") or run.text("model")), "model_id")
    run.put("request_rate_per_s", math.inf, derived="an offline benchmark gives all at once")
    run.rate("requests_per_s", "requests_per_second", requests, "num_requests")
    tokens = run.whole("total_num_tokens")
    run.rate("total_tok_per_s", "tokens_per_second", tokens, "total_num_tokens")
    take_settings(run)
    run.note(
        "total_only",
        "counts prompt and generated tokens together, and no latency: vllm bench serve says both.",
    )
    require_speed(run)
    return run.part(THROUGHPUT)


def _latency(data: Mapping[str, Any], shown: str, where: str) -> Part:
    run = ClientRun(data, shown, where)
    latencies = _latencies(run)
    mean = run.positive("avg_latency")
    words = "from latencies"
    if mean is None and latencies is not None:
        mean = float(latencies.mean())
        run.put("mean_e2e_ms", 1e3 * mean, "latencies", words)
    elif mean is not None:
        run.put("mean_e2e_ms", 1e3 * mean, "avg_latency")
    if mean is None:
        raise run.refusal("says no latency above zero", "Run the benchmark again.")
    percentiles = data.get("percentiles")
    stated = ClientRun(percentiles if isinstance(percentiles, dict) else {}, shown, where)
    for column, key in _PERCENTILES.items():
        value = stated.positive(key)
        if value is not None:
            run.put(column, 1e3 * value, f"percentiles.{key}")
        elif latencies is not None:
            value = 1e3 * float(np.percentile(latencies, int(key)))
            run.put(column, value, "latencies", words)
    run.notes += stated.part("").notes
    run.put("model", model_name(run.text("model_id") or run.text("model")), "model_id")
    take_settings(run)
    _take_batch(run, mean)
    return run.part(LATENCY)


def _latencies(run: ClientRun) -> Any:
    """Return the latencies [s] of each repetition; None where they are no numbers above zero."""
    listed = run.data["latencies"]
    try:
        values = np.fromiter(listed, np.float64, len(listed))
    except (TypeError, ValueError, OverflowError):
        values = np.zeros(0)
    return values if values.size and np.isfinite(values).all() and (values > 0).all() else None


def _take_batch(run: ClientRun, mean_s: float) -> None:
    """Set the batch, and what follows from it, where someone wrote it beside the result.

    The time per token would need two output lengths: the latency has prefill in it.
    """
    given = run.data.get("batch_size")
    is_text = isinstance(given, str)
    text = given.strip() if isinstance(given, str) else ""
    batch = run.whole("batch_size") or 0 if not is_text else 0
    if text.isdecimal() and len(text) <= _MOST_DIGITS:
        batch = int(text)
    if batch <= 0:
        run.note(
            "batch_unknown",
            "is the latency of a batch whose size, and whose lengths, the file does not say: put "
            "them into its name (batch_size_8_in32_out128.json).",
        )
        return
    hint = "?" if is_text else ""
    run.put(f"{hint}static_batch_size", batch, "batch_size")
    run.put("requests_per_s", batch / mean_s, "avg_latency", "batch_size over avg_latency")
    run.note("prefill_included", "the latency has prefill in it: no time per token follows.")


FORMATS: tuple[Format, ...] = (
    Format(THROUGHPUT, "vllm bench throughput", _claims_throughput, _read_throughput),
    Format(LATENCY, "vllm bench latency", _claims_latency, _read_latency),
)
