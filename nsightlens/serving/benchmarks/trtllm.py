"""trtllm-bench: the JSON of ``--report_json``, and the report on the console.

Times of the JSON end in ``_ms``, or stand in dictionaries of percentiles whose unit is checked
against the mean beside them. The largest batch is a limit; what ran is the mean number of
concurrent requests. Source: TensorRT-LLM ``bench/dataclasses/reporting.py``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nsightlens.serving.benchmarks.collected import Collected, number_of
from nsightlens.serving.benchmarks.named import (
    at,
    claims_object,
    model_name,
    object_of,
    workload_of,
)
from nsightlens.serving.benchmarks.trtllm_console import claims_console, read_console
from nsightlens.serving.part import Format

if TYPE_CHECKING:
    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.part import Part

__all__ = ["FORMATS"]

_HEAD = re.compile(r'"engine"\s*:\s*\{[\s\S]*"(?:world_info|request_info|machine)"\s*:')
_AT_ONCE_PER_S = 1e6
"""[1/s] [B] Requests that are issued faster are all sent at once: 5e14 in the documentation."""
_UNITS = (1.0, 1e3, 1e-6)


def _is_report(top: dict[str, Any]) -> bool:
    return isinstance(top.get("performance"), dict) and (
        isinstance(top.get("world_info"), dict) or isinstance(top.get("request_info"), dict)
    )


def _read(file: OpenedFile) -> list[Part]:
    top = object_of(file)
    run = Collected(file.shown, "trtllm-bench")
    requests, said = top.get("request_info"), top.get("performance")
    done: dict[str, Any] = said if isinstance(said, dict) else {}
    count = run.count("prompt_count", at(requests, "num_requests"))
    run.count(
        "completed_count", count, derived="num_requests: the report is of requests that ended"
    )
    run.real("concurrency", at(requests, "avg_num_concurrent_requests"))
    run.real("mean_input_tokens", at(requests, "avg_input_length"))
    run.real("mean_output_tokens", at(requests, "avg_output_length"))
    run.real("duration_s", done.get("total_latency_ms"), scale=1e-3)
    run.real("requests_per_s", done.get("request_throughput_req_s"))
    run.real("output_tok_per_s", done.get("system_output_throughput_tok_s"))
    run.real("total_tok_per_s", done.get("system_total_throughput_tok_s"))
    _latency(run, "e2e", done, "avg_request_latency_ms", "request_latency_percentiles_ms")
    streamed = top.get("streaming_metrics")
    if isinstance(streamed, dict):
        _latency(run, "ttft", streamed, "avg_ttft_ms", "ttft_percentiles")
        _latency(run, "tpot", streamed, "avg_tpot_ms", "tpot_percentiles")
    _settings(run, top)
    run.little()
    return [run.part()]


def _latency(run: Collected, column: str, found: dict[str, Any], mean: str, others: str) -> None:
    """Take a mean in ms, and percentiles whose average says in which unit they are."""
    run.real(f"mean_{column}_ms", found.get(mean), where=mean)
    said = number_of(found.get(mean))
    average = number_of(at(found, others, "average"))
    scale: float | None = 1.0
    if said and average:
        near = [one for one in _UNITS if abs(average * one - said) <= 0.02 * said]
        scale = near[0] if near else None
    raws = {"median": at(found, others, "p50"), "p99": at(found, others, "p99")}
    run.latency(column, raws, scale, others)


def _settings(run: Collected, top: dict[str, Any]) -> None:
    engine, world = top.get("engine"), top.get("world_info")
    run.text("engine", "tensorrt-llm")
    run.text("engine_version", at(engine, "version"))
    run.text("model", model_name(at(engine, "model")) or model_name(at(engine, "model_path")))
    run.text("dtype", at(engine, "dtype"))
    run.text("kv_cache_dtype", at(engine, "kv_cache_dtype"))
    run.text("quantization", at(engine, "quantization"))
    run.count("max_model_len", at(engine, "max_sequence_length"))
    run.text("device_name", at(top, "machine", "name"))
    run.real("total_memory_gib", at(top, "machine", "memory.total"))
    run.count("tensor_parallel_size", at(world, "tp_size"))
    run.count("gpu_count", at(world, "world_size"))
    run.count("max_num_seqs", at(world, "max_batch_size"))
    run.count("max_num_batched_tokens", at(world, "max_num_tokens"))
    run.flag("speculative", True if isinstance(top.get("decoding_stats"), dict) else None)
    lengths = [run.values.get(f"mean_{side}_tokens") for side in ("input", "output")]
    run.text("workload", workload_of(*lengths), derived="mean lengths")
    rate = number_of(at(world, "issue_rate"))
    if rate is not None and rate > _AT_ONCE_PER_S:
        run.values["request_rate_per_s"] = float("inf")
    else:
        run.real("request_rate_per_s", rate)


FORMATS = (
    Format(
        "trtllm-bench",
        "trtllm-bench report",
        lambda file: claims_object(file, _is_report, _HEAD),
        _read,
    ),
    Format("trtllm-bench-console", "trtllm-bench console", claims_console, read_console),
)
