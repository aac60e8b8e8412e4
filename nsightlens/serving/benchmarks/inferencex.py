"""InferenceX (InferenceMAX): its clients' JSON, and the ``agg_*.json`` made of it; all in seconds.

Both look like vLLM's result with ``_ms`` taken off the names, and the numbers divided by 1000. The
aggregated file gives throughput per GPU. Source: SemiAnalysisAI/InferenceX, its
``process_result.py`` and files in its tree.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from nsightlens.serving.benchmarks.collected import Collected, number_of
from nsightlens.serving.benchmarks.named import (
    claims_object,
    engine_name,
    model_name,
    object_of,
    workload_of,
)
from nsightlens.serving.benchmarks.several_runs import parts_of_runs
from nsightlens.serving.part import Format

if TYPE_CHECKING:
    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.part import Part

__all__ = ["FORMATS"]

_LATENCIES = {"itl": "itl", "tpot": "tpot", "ttft": "ttft", "e2e": "e2el"}
_SECONDS = re.compile(r"(?:mean|median|std|p\d+(?:\.\d+)?)_(?:itl|tpot|ttft|e2el)")
_HEAD_RAW = re.compile(r'"(?:median|mean|p99)_(?:tpot|ttft|e2el)"\s*:')
_HEAD_AGG = re.compile(r'"tput_per_gpu"\s*:')
_NAME = re.compile(
    r"_(?P<engine>vllm|sglang|trt\w*?)_(?P<way>tep|dep|tp)(?P<gpus>\d+)"
    r"(?:_isl(?P<isl>\d+)_osl(?P<osl>\d+))?(?=[_.])"
)


def _has_seconds(one: dict[str, Any]) -> bool:
    has_ms = any(key.endswith("_ms") for key in one)
    return not has_ms and any(_SECONDS.fullmatch(key) for key in one)


def _is_raw(one: dict[str, Any]) -> bool:
    return "num_prompts" in one and "request_throughput" in one and _has_seconds(one)


def _is_aggregated(one: dict[str, Any]) -> bool:
    return "tput_per_gpu" in one and ("conc" in one or "hw" in one)


def _claims_raw(file: OpenedFile) -> bool:
    if file.looks_like_json and file.json is None and '_ms"' in file.head:
        return False
    return claims_object(file, _is_raw, _HEAD_RAW)


def _claims_aggregated(file: OpenedFile) -> bool:
    if file.looks_like_json and isinstance(file.json, list):
        return bool(file.objects) and _is_aggregated(file.objects[0][1])
    return claims_object(file, _is_aggregated, _HEAD_AGG)


def _latencies(run: Collected, one: dict[str, Any]) -> None:
    for column, name in _LATENCIES.items():
        raws = {
            statistic: one.get(f"{statistic}_{name}") for statistic in ("mean", "median", "p99")
        }
        run.latency(column, raws, 1e3, name)
    run.leave_out_burst_median()


def _read_raw(file: OpenedFile) -> list[Part]:
    return parts_of_runs(
        file.shown, [(place, partial(_raw, file, one)) for place, one in _objects(file)]
    )


def _raw(file: OpenedFile, one: dict[str, Any]) -> Part:
    run = Collected(file.shown, "inferencex")
    sent = run.count("prompt_count", one.get("num_prompts"))
    completed = run.count("completed_count", one.get("completed"), zero=True)
    run.refuse_without_success(sent)
    run.count("failed_count", one.get("failed"), zero=True)
    if sent is not None and completed is not None:
        run.count("failed_count", sent - completed, derived="sent less completed", zero=True)
    _latencies(run, one)
    run.real("duration_s", one.get("duration"))
    run.count("input_token_count", one.get("total_input_tokens"))
    run.count("output_token_count", one.get("total_output_tokens"))
    run.real("requests_per_s", one.get("request_throughput"))
    run.real("output_tok_per_s", one.get("output_throughput"))
    run.real("total_tok_per_s", one.get("total_token_throughput"))
    of_input = number_of(one.get("input_throughput"))
    if of_input and "output_tok_per_s" in run.values:
        total = of_input + run.values["output_tok_per_s"]
        run.real("total_tok_per_s", total, derived="input and output throughput")
    run.count("max_concurrency", one.get("max_concurrency"))
    if str(one.get("request_rate")).lower() in {"inf", "infinity"}:
        run.values["request_rate_per_s"] = float("inf")
    else:
        run.real("request_rate_per_s", one.get("request_rate"))
    run.text("model", model_name(one.get("model_id")))
    _of_name(run, file.name)
    run.little()
    return run.part()


def _of_name(run: Collected, name: str) -> None:
    """Take what stands in the file's name alone: engine, GPUs, how experts are spread, lengths."""
    match = _NAME.search(name)
    if match is None:
        return
    place = f"name {match[0].strip('_')!r}"
    gpus, spread = int(match["gpus"]), match["way"]
    if not 0 < gpus <= 4096:
        return
    run.text("?engine", engine_name(match["engine"]), where=place)
    run.count("?gpu_count", gpus, where=place)
    # dep: each GPU runs attention for sequences of its own, only the experts are spread.
    run.count("?tensor_parallel_size", 1 if spread == "dep" else gpus, where=place)
    if spread != "tp":
        run.flag("?mixture_of_experts", True, where=place)
    if match["isl"]:
        run.text("?workload", workload_of(int(match["isl"]), int(match["osl"])), where=place)


def _objects(file: OpenedFile) -> list[tuple[str, dict[str, Any]]]:
    return list(file.objects) or [("", object_of(file))]


def _read_aggregated(file: OpenedFile) -> list[Part]:
    return parts_of_runs(
        file.shown,
        [(place, partial(_aggregated, file, place, one)) for place, one in _objects(file)],
    )


def _aggregated(file: OpenedFile, place: str, one: dict[str, Any]) -> Part:
    run = Collected(file.shown, "inferencex-agg", place, place)
    _latencies(run, one)
    run.count("max_concurrency", one.get("conc"))
    run.text("model", model_name(one.get("model")))
    run.text("engine", engine_name(one.get("framework")))
    run.text("device_name", one.get("hw"))
    run.text("quantization", one.get("precision"))
    run.text("workload", workload_of(number_of(one.get("isl")), number_of(one.get("osl"))))
    drafts = one.get("spec_decoding")
    if isinstance(drafts, str):
        run.flag("speculative", drafts.lower() not in {"", "none", "false", "off"})
    run.flag("speculative", drafts)
    expert_parallel = number_of(one.get("ep"))
    if expert_parallel is not None and expert_parallel > 1:
        run.flag("mixture_of_experts", True)
    _per_gpu(run, one)
    return run.part()


def _per_gpu(run: Collected, one: dict[str, Any]) -> None:
    """Multiply throughput per GPU by the GPUs; not where prefill and decoding have their own."""
    if str(one.get("disagg")).lower() == "true":
        run.note(
            "disaggregated",
            "Prefill and decoding run on GPUs of their own: throughput per GPU is not taken as "
            "that of a server.",
        )
        return
    gpus = run.count("gpu_count", one.get("tp"))
    if not gpus:
        return
    is_spread = str(one.get("dp_attention")).lower() == "true"
    run.count("tensor_parallel_size", 1 if is_spread else gpus, where="tp")
    for column, name in (
        ("total_tok_per_s", "tput_per_gpu"),
        ("output_tok_per_s", "output_tput_per_gpu"),
    ):
        words = f"{name} times {gpus} GPUs"
        run.real(column, one.get(name), scale=float(gpus), where=name, derived=words)


FORMATS = (
    Format("inferencex", "InferenceX client result", _claims_raw, _read_raw),
    Format("inferencex-agg", "InferenceX aggregated result", _claims_aggregated, _read_aggregated),
)
