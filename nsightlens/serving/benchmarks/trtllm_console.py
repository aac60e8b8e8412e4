"""The report that trtllm-bench prints: names and numbers in sections, perhaps within a log.

"Token Throughput" of 0.17 is of generated tokens (3000 x 128 / 13.5257 s = 28390 per second in the
documentation); later releases name output and total apart.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from nsightlens.serving.benchmarks.collected import Collected, number_of
from nsightlens.serving.benchmarks.named import model_name, workload_of
from nsightlens.serving.benchmarks.several_runs import parts_of_runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.part import Part

__all__ = ["claims_console", "read_console"]

_OVERVIEW = re.compile(r"=[ \t]*PERFORMANCE OVERVIEW[ \t\r]*$", re.MULTILINE)
_BEGIN = re.compile(r"^.*=[ \t]*(?:ENGINE DETAILS|\w+ BACKEND)[ \t\r]*$", re.MULTILINE)
_LINE = re.compile(r"^[ \t]*([A-Z][^:\n]{0,80}?)[ \t]*:[ \t]+(\S[^\n]*)$", re.MULTILINE)
_PERCENTILE = re.compile(r"\[(Latency|TTFT|TPOT)\]\s+(P50|P99)\s*:\s*([\d.,eE+-]+)")
_LARGEST_SEARCHED = 32 << 20
_AT_ONCE_PER_S = 1e6
_REALS = {
    "Request Throughput (req/sec)": ("requests_per_s", 1.0),
    "Total Output Throughput (tokens/sec)": ("output_tok_per_s", 1.0),
    "Token Throughput (tokens/sec)": ("output_tok_per_s", 1.0),
    "Total Token Throughput (tokens/sec)": ("total_tok_per_s", 1.0),
    "Total Latency (ms)": ("duration_s", 1e-3),
    "Average request latency (ms)": ("mean_e2e_ms", 1.0),
    "Average time-to-first-token [TTFT] (ms)": ("mean_ttft_ms", 1.0),
    "Average time-per-output-token [TPOT] (ms)": ("mean_tpot_ms", 1.0),
    "Average Input Length (tokens)": ("mean_input_tokens", 1.0),
    "Average Output Length (tokens)": ("mean_output_tokens", 1.0),
    "Number of concurrent requests": ("concurrency", 1.0),
}
_COUNTS = {
    "Number of requests": "prompt_count",
    "TP Size": "tensor_parallel_size",
    "Max Runtime Batch Size": "max_num_seqs",
    "Max Runtime Tokens": "max_num_batched_tokens",
    "Max Sequence Length": "max_model_len",
}
_TEXTS = {
    "TensorRT-LLM Version": "engine_version",
    "Dtype": "dtype",
    "KV Cache Dtype": "kv_cache_dtype",
    "Quantization": "quantization",
}
_LATENCY = {"Latency": "e2e", "TTFT": "ttft", "TPOT": "tpot"}
_STATISTIC = {"P50": "median", "P99": "p99"}


def claims_console(file: OpenedFile) -> bool:
    """Return whether a text holds the report that trtllm-bench prints."""
    if not file.is_text:  # a log may begin with "[", as JSON does
        return False
    text = file.text if file.byte_count <= _LARGEST_SEARCHED else file.head
    return bool(_OVERVIEW.search(text))


def read_console(file: OpenedFile) -> list[Part]:
    """Read every report of a text."""
    return parts_of_runs(
        file.shown,
        [(place, partial(_run, file, place, text)) for place, text in _reports(file.text)],
    )


def _reports(text: str) -> Iterator[tuple[str, str]]:
    """Yield each report with its place: from its first heading to that of the next."""
    starts = [match.start() for match in _BEGIN.finditer(text)] or [0]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        if _OVERVIEW.search(text, start, end):
            yield f"line {text.count(chr(10), 0, start) + 1}", text[start:end]


def _run(file: OpenedFile, place: str, text: str) -> Part:
    run = Collected(file.shown, "trtllm-bench-console", place, place)
    said = {match[1]: match[2].strip() for match in _LINE.finditer(text)}
    numbers = {key: value.replace(",", "") for key, value in said.items()}
    for key, (column, scale) in _REALS.items():
        run.real(column, numbers.get(key), scale=scale, where=key)
    for key, column in _COUNTS.items():
        run.count(column, _measured(numbers.get(key)), where=key)
    words = "number of requests: the report is of requests that ended"
    run.count("completed_count", run.values.get("prompt_count"), derived=words)
    for match in _PERCENTILE.finditer(text):
        column = f"{_STATISTIC[match[2]]}_{_LATENCY[match[1]]}_ms"
        run.real(column, match[3].replace(",", ""), where=match[0].split(":")[0].strip())
    _settings(run, said)
    run.little()
    return run.part()


def _measured(text: str | None) -> str | None:
    """Return what a line says, but for the word that stands for nothing."""
    return None if text in (None, "None", "N/A") else text


def _settings(run: Collected, said: dict[str, str]) -> None:
    run.text("engine", "tensorrt-llm")
    run.text("model", model_name(said.get("Model")))
    for key, column in _TEXTS.items():
        run.text(column, _measured(said.get(key)), where=key)
    tensor, pipeline = number_of(said.get("TP Size")), number_of(said.get("PP Size"))
    if tensor and pipeline:
        run.count("gpu_count", tensor * pipeline, derived="TP Size times PP Size")
    lengths = [run.values.get(f"mean_{side}_tokens") for side in ("input", "output")]
    run.text("workload", workload_of(*lengths), derived="mean lengths")
    rate = number_of(said.get("Issue Rate (req/sec)"))
    if rate is not None and rate > _AT_ONCE_PER_S:
        run.values["request_rate_per_s"] = float("inf")
    else:
        run.real("request_rate_per_s", rate)
