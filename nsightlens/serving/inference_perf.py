"""inference-perf: metrics of a stage's requests, and of its server; other files refused.

A stage is a run. Seconds throughout. ``summary_*`` pools all stages, whose load differs, so that
nothing follows from it. The client reads several tokens at once, which spoils the median of the
time between tokens, but not its mean. Source: kubernetes-sigs/inference-perf, a demo of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nsightlens.errors import ServingFileError
from nsightlens.serving.collected import Collected, number_of
from nsightlens.serving.named import at, claims_object, object_of
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
_HEAD_SERVER = re.compile(r'\{\s*"load_summary"\s*:')
_ADVICE_STAGES = "Give the files stage_<N>_lifecycle_metrics.json that lie beside it."


def _is_lifecycle(top: dict[str, Any]) -> bool:
    counts = at(top, "load_summary", "count") is not None
    return "load_summary" in top and (counts or at(top, "successes", "latency") is not None)


def _is_server(top: dict[str, Any]) -> bool:
    return "load_summary" in top and "successes" in top and not _is_lifecycle(top)


def _stage(file: OpenedFile) -> tuple[str, str]:
    """Return a name of the stage that its files share, and its number as a place."""
    key = re.sub(r"_(?:lifecycle|prometheus)_metrics$", "", file.name.removesuffix(".json"))
    match = re.search(r"stage_(\d+)$", key)
    return key, f"stage {match[1]}" if match else ""


def _is_summary(file: OpenedFile, load: dict[str, Any]) -> bool:
    return bool(re.search(r"(?:^|[_-])summary_", file.name)) or not (
        {"requested_rate", "achieved_rate", "send_duration", "concurrency"} & set(load)
    )


def _refuse_summary(file: OpenedFile) -> None:
    raise ServingFileError(
        file.shown, "pools all stages, so that nothing follows for any load", _ADVICE_STAGES
    )


def _read_lifecycle(file: OpenedFile) -> list[Part]:
    top = object_of(file)
    load = top["load_summary"] if isinstance(top["load_summary"], dict) else {}
    if _is_summary(file, load):
        _refuse_summary(file)
    key, place = _stage(file)
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
    run.real("mean_input_tokens", at(done, "prompt_len", "mean"))
    run.real("mean_output_tokens", at(done, "output_len", "mean"))
    run.real("request_rate_per_s", load.get("requested_rate"), where="load_summary.requested_rate")
    run.count("max_concurrency", load.get("concurrency"), where="load_summary.concurrency")
    completed, rate = run.values.get("completed_count"), run.values.get("requests_per_s")
    if completed and rate:
        run.real("duration_s", completed / rate, derived="completed over requests per second")
    run.little()
    _saturation(run, load)
    return [run.part()]


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


def _read_server(file: OpenedFile) -> list[Part]:
    """Read what the server said in a stage. Zero stands for a metric that was not found."""
    top = object_of(file)
    key, place = _stage(file)
    if "summary" in file.name:
        _refuse_summary(file)
    run = Collected(file.shown, "inference-perf-server", place, key)
    found = top["successes"]
    run.real("mean_waiting", at(found, "queue_len", "mean"), where="queue_len.mean")
    run.real("mean_running", at(found, "num_requests_running", "mean"))
    usage = at(found, "kv_cache_usage_percentage", "mean")  # a fraction, whatever its name says
    run.real("kv_mean_pct", usage, scale=100.0, where="kv_cache_usage_percentage.mean")
    preempted = number_of(at(found, "num_preemptions_total", "mean"))
    if preempted:
        run.note(
            "preemptions_since_start",
            f"The server had preempted sequences (its counter was {preempted:.4g} on average), "
            "which may be of this stage or of one before it.",
        )
    if not run.values and not run.notes:
        raise ServingFileError(
            file.shown,
            "holds no metric of the server but zeros, which stand for metrics that were not found",
            "Nothing is to be done: the stage's lifecycle metrics hold the results.",
        )
    return [run.part("server")]


def _claims_requests(file: OpenedFile) -> bool:
    if not file.head.lstrip("\ufeff \t\r\n").startswith("["):
        return False
    head = file.head[:4096]
    return '"start_time"' in head and '"request"' in head and '"response"' in head


def _refuse_requests(file: OpenedFile) -> list[Part]:
    raise ServingFileError(
        file.shown, "holds single requests of inference-perf, no statistics", _ADVICE_STAGES
    )


def _claims_config(file: OpenedFile) -> bool:
    if file.looks_like_json or not file.is_text:
        return False
    keys = set(re.findall(r"^(\w+):", file.head, re.MULTILINE))
    return {"load", "server", "data"} <= keys and not {"version", "benchmarks", "results"} & keys


def _refuse_config(file: OpenedFile) -> list[Part]:
    raise ServingFileError(
        file.shown, "says how inference-perf was to run, not what it measured", _ADVICE_STAGES
    )


def _claims_manifest(file: OpenedFile) -> bool:
    keys = set(re.findall(r"^(\w+):", file.head, re.MULTILINE))
    return file.is_text and not file.looks_like_json and {"apiVersion", "kind"} <= keys


def _refuse_manifest(file: OpenedFile) -> list[Part]:
    raise ServingFileError(
        file.shown,
        "is a manifest of Kubernetes: it says what was to run, not what was measured",
        "Give the results of the benchmark, and the log of the server for its settings.",
    )


FORMATS = (
    Format(
        "inference-perf",
        "inference-perf stage metrics",
        lambda file: claims_object(file, _is_lifecycle, _HEAD_STAGE),
        _read_lifecycle,
    ),
    Format(
        "inference-perf-server",
        "inference-perf metrics of the server in a stage",
        lambda file: claims_object(file, _is_server, _HEAD_SERVER),
        _read_server,
    ),
    Format(
        "inference-perf-requests",
        "inference-perf single requests",
        _claims_requests,
        _refuse_requests,
    ),
    Format("inference-perf-config", "inference-perf settings", _claims_config, _refuse_config),
    Format("kubernetes-manifest", "manifest of Kubernetes", _claims_manifest, _refuse_manifest),
)
