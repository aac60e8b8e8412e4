"""Results of ``vllm bench serve`` and of ``benchmark_serving.py``, of all generations.

One object, several of ``--append-result``, or a table of them. `vllm_sweep` has what lies beside
the runs of a sweep and is none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nsightlens.errors import ServingFileError
from nsightlens.serving.benchmarks.client_counts import (
    require_speed,
    take_counts,
    take_rate_of_requests,
)
from nsightlens.serving.benchmarks.client_latency import take_latencies
from nsightlens.serving.benchmarks.client_parts import parts_of
from nsightlens.serving.benchmarks.client_run import ClientRun
from nsightlens.serving.benchmarks.json_objects import objects_of, rows_of
from nsightlens.serving.benchmarks.named import model_name
from nsightlens.serving.benchmarks.vllm_settings import take_settings
from nsightlens.serving.benchmarks.vllm_sweep import SWEEP_FORMATS, refuse_beside_runs
from nsightlens.serving.part import Format

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.part import Part

__all__ = ["FORMATS"]

NAME = "vllm-bench"

# Of the generation until early 2025 the median is written as the mean, and the reverse; the copies
# of it that were seen have no "burstiness", and the version that mended it has.
_MENDED = "202503"

_SUFFIXES = {
    "itl": ("itl_ms",),
    "tpot": ("tpot_ms",),
    "ttft": ("ttft_ms",),
    "e2e": ("e2el_ms", "latency_ms"),
}
_CLIENT_KEYS = {"num_prompts", "model_id", "tokenizer_id", "backend", "endpoint_type"}
_REQUEST_RATES = ("request_throughput", "request_inthroughput")
_HEADS = tuple(f'"{name}"' for name in _REQUEST_RATES)
_FOREIGN = {"total_output_tokens_retokenized", "median_ttft", "mean_ttft", "median_tpot"}
_CUT = re.compile(r'"(?:tokenizer_id|model_id)"\s*:.*"num_prompts"\s*:', re.DOTALL)


def _is_run(data: Mapping[str, Any]) -> bool:
    keys = data.keys()
    return (
        {"duration", "completed"} <= keys
        and any(name in keys for name in _REQUEST_RATES)
        and bool({"output_throughput", "total_token_throughput"} & keys)
        and bool(_CLIENT_KEYS & keys)
        and not _FOREIGN & keys
    )


def _is_cut(file: OpenedFile) -> bool:
    """Whether a file begins as a result and is no JSON: it would be unknown otherwise."""
    head = file.head
    foreign = any(f'"{name}"' in head for name in _FOREIGN)
    return bool(_CUT.search(head)) and not foreign and not objects_of(file).found


def _is_table(file: OpenedFile) -> bool:
    header = file.head.partition("\n")[0].strip()
    names = {name.strip().strip('"') for name in header.split(",")}
    return _is_run(dict.fromkeys(names)) and not file.looks_like_json


def _claims(file: OpenedFile) -> bool:
    if not file.looks_like_json:
        return file.is_text and _is_table(file)
    if any(name in file.head for name in _HEADS) and any(
        _is_run(data) for _, data in objects_of(file).found
    ):
        return True
    return _is_cut(file)


def _read(file: OpenedFile) -> list[Part]:
    objects = objects_of(file) if file.looks_like_json else rows_of(file)
    if file.looks_like_json and not objects.found:
        raise ServingFileError(
            file.shown, file.json_problem(), "Copy it again, or run the benchmark again."
        )
    refuse_beside_runs(file, [data for _, data in objects.found])
    return parts_of(objects, file.shown, _read_run, is_run=_is_run)


def _read_run(data: Mapping[str, Any], shown: str, where: str) -> Part:
    run = ClientRun(data, shown, where)
    details = take_counts(run, "num_prompts")
    run.put("model", model_name(run.text("model_id")), "model_id")
    run.put("model_id", run.text("model_id"), "model_id")
    take_rate_of_requests(run)
    run.put("max_concurrency", run.whole("max_concurrency") or None, "max_concurrency")
    values = run.values
    completed = values.get("completed_count")
    outputs, inputs = values.get("output_token_count"), values.get("input_token_count")
    requests = next((key for key in _REQUEST_RATES if key in data), _REQUEST_RATES[0])
    run.rate("requests_per_s", requests, completed, "completed")
    run.rate("output_tok_per_s", "output_throughput", outputs, "total_output_tokens")
    total = inputs + outputs if inputs and outputs else None
    run.rate("total_tok_per_s", "total_token_throughput", total, "all tokens")
    take_settings(run)
    take_latencies(run, _SUFFIXES, details, is_e2e_swapped=_is_swapped(data))
    if any(str(key).startswith("spec_decode_") and value for key, value in data.items()):
        run.put("speculative", True, "spec_decode_*", "the server drafted tokens")
    require_speed(run)
    return run.part(NAME)


def _is_swapped(data: Mapping[str, Any]) -> bool:
    """Whether the client is of the generation that exchanged mean and median of whole latencies."""
    if "burstiness" in data:
        return False
    date = data.get("date")
    if isinstance(date, str) and re.match(r"\d{8}", date):
        return date[:6] < _MENDED
    return "best_of" in data


FORMATS: tuple[Format, ...] = (
    *SWEEP_FORMATS,
    Format(NAME, "vllm bench serve, benchmark_serving.py", _claims, _read),
)
