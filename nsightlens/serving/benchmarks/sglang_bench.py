"""Results of SGLang's ``bench_serving``: a line a run, of one or several models, old and new.

Files of before 0.4.2 have neither the model, nor the time per token, nor mean gaps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.errors import ServingFileError
from nsightlens.serving.benchmarks.client_counts import (
    require_speed,
    take_counts,
    take_rate_of_requests,
)
from nsightlens.serving.benchmarks.client_latency import take_latencies
from nsightlens.serving.benchmarks.client_parts import parts_of
from nsightlens.serving.benchmarks.client_run import ClientRun, disagree
from nsightlens.serving.benchmarks.json_objects import objects_of
from nsightlens.serving.benchmarks.named import model_name
from nsightlens.serving.benchmarks.sglang_server_info import has_speculation, take_server_info
from nsightlens.serving.part import Format

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.part import Part

__all__ = ["FORMATS"]

NAME = "sglang-bench"

# SGLang's own protocol; with every other the server may be another engine.
_NATIVE = {"sglang", "sglang-native"}
_MARK = "total_output_tokens_retokenized"
_SUFFIXES = {
    "itl": ("itl_ms",),
    "tpot": ("tpot_ms",),
    "ttft": ("ttft_ms",),
    "e2e": ("e2e_latency_ms",),
}


def _is_run(data: Mapping[str, Any]) -> bool:
    return {_MARK, "duration", "completed"} <= data.keys()


def _claims(file: OpenedFile) -> bool:
    """Claim by the one key that no other client writes; it may lie behind a long server_info."""
    if not file.looks_like_json:
        return False
    mark = f'"{_MARK}"'
    return mark in file.head or ('"server_info"' in file.head and mark in file.text)


def _read(file: OpenedFile) -> list[Part]:
    objects = objects_of(file)
    if not objects.found:
        raise ServingFileError(
            file.shown, file.json_problem(), "Copy it again, or run the benchmark again."
        )
    return parts_of(objects, file.shown, _read_run, is_run=_is_run)


def _read_run(data: Mapping[str, Any], shown: str, where: str) -> Part:
    run = ClientRun(data, shown, where)
    details = take_counts(run, None)
    backend = run.text("backend")
    if backend in _NATIVE:
        run.put("engine", "sglang", "backend", "its own protocol")
    for key in ("model", "model_id"):
        run.put("model", model_name(run.text(key)), key)
    take_server_info(run, data.get("server_info"))
    run.put("workload", _workload(run), "dataset_name")
    take_rate_of_requests(run)
    run.put("max_concurrency", run.whole("max_concurrency") or None, "max_concurrency")
    values = run.values
    completed = values.get("completed_count")
    outputs, inputs = values.get("output_token_count"), values.get("input_token_count")
    run.rate("requests_per_s", "request_throughput", completed, "completed")
    run.rate("output_tok_per_s", "output_throughput", outputs, "total_output_tokens")
    total = inputs + outputs if inputs and outputs else None
    run.rate("total_tok_per_s", "total_throughput", total, "all tokens")
    take_latencies(run, _SUFFIXES, details)
    _take_concurrency(run)
    if has_speculation(data):
        run.put("speculative", True, "accept_length", "drafted tokens were accepted")
    require_speed(run)
    return run.part(NAME)


def _workload(run: ClientRun) -> str | None:
    """Return what tells runs of different work apart: the dataset, and lengths that were asked for.

    Lengths are written for every dataset, and mean something for random ones alone. With a range
    ratio r they are uniform from r times the length to the length.
    """
    dataset = run.text("dataset_name")
    if dataset is None:
        return None
    if dataset.startswith("random"):
        lengths = [run.whole("random_input_len"), run.whole("random_output_len")]
        if all(lengths):
            ratio = run.number("random_range_ratio")
            tail = "" if ratio is None or ratio == 1 else f"_ratio{ratio:g}"
            return f"in{lengths[0]}_out{lengths[1]}{tail}"
    length = run.whole("sharegpt_output_len") if dataset == "sharegpt" else None
    return f"{dataset}_out{length}" if length else dataset


def _take_concurrency(run: ClientRun) -> None:
    """Set the mean of requests in flight that the client states: sum of latencies over duration."""
    stated = run.positive("concurrency")
    if stated is None:
        return
    computed = run.values.get("concurrency")
    if computed is not None and disagree(stated, computed):
        run.note(
            "contradiction",
            f"concurrency is {stated:.6g}, but {computed:.6g} by mean latency and duration: the "
            "latter is used.",
        )
    else:
        run.put("concurrency", stated, "concurrency")


FORMATS: tuple[Format, ...] = (Format(NAME, "SGLang bench_serving", _claims, _read),)
