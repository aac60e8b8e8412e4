"""inference-perf beside its stages: metrics of the server, and files that are of no use.

In the metrics of the server a zero stands for a metric that was not found, which is how 0.0 came to
be the use of a KV cache under load after vLLM had renamed its metric.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nsightlens.errors import ServingFileError
from nsightlens.serving.benchmarks.collected import Collected, number_of
from nsightlens.serving.benchmarks.named import at, claims_object, object_of
from nsightlens.serving.part import Format

if TYPE_CHECKING:
    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.part import Part

__all__ = ["ADVICE_STAGES", "OTHERS", "refuse_summary", "stage_of"]

_HEAD_SERVER = re.compile(r'\{\s*"load_summary"\s*:')
ADVICE_STAGES = "Give the files stage_<N>_lifecycle_metrics.json that lie beside it."


def stage_of(file: OpenedFile) -> tuple[str, str]:
    """Return a name of the stage that its files share, and its number as a place."""
    key = re.sub(r"_(?:lifecycle|prometheus)_metrics$", "", file.name.removesuffix(".json"))
    match = re.search(r"stage_(\d+)$", key)
    return key, f"stage {match[1]}" if match else ""


def refuse_summary(file: OpenedFile) -> None:
    """Raise that the file is of all stages together."""
    raise ServingFileError(
        file.shown, "pools all stages, so that nothing follows for any load", ADVICE_STAGES
    )


def _is_server(top: dict[str, Any]) -> bool:
    is_of_requests = at(top, "load_summary", "count") is not None
    return {"load_summary", "successes"} <= set(top) and not is_of_requests


def _read_server(file: OpenedFile) -> list[Part]:
    """Read what the server said in a stage."""
    top = object_of(file)
    key, place = stage_of(file)
    if "summary" in file.name:
        refuse_summary(file)
    run = Collected(file.shown, "inference-perf-server", place, key)
    found = top.get("successes")
    run.real("mean_waiting", at(found, "queue_len", "mean"), where="queue_len.mean")
    run.real("mean_running", at(found, "num_requests_running", "mean"))
    usage = at(found, "kv_cache_usage_percentage", "mean")  # a fraction, whatever its name says
    run.real("kv_mean_pct", usage, scale=100.0, where="kv_cache_usage_percentage.mean")
    hits = at(found, "prefix_cache_hit_percent", "mean")
    run.real("prefix_hit_pct", hits, where="prefix_cache_hit_percent.mean")
    preempted = number_of(at(found, "num_preemptions_total", "mean"))
    if preempted and at(found, "num_requests_running") is not None:  # 0.7: counted in the stage
        run.real("preemption_count", preempted, where="num_preemptions_total.mean")
    elif preempted:
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
        file.shown, "holds single requests of inference-perf, no statistics", ADVICE_STAGES
    )


def _claims_config(file: OpenedFile) -> bool:
    if file.looks_like_json or not file.is_text:
        return False
    keys = set(re.findall(r"^(\w+):", file.head, re.MULTILINE))
    return {"load", "server", "data"} <= keys and not {"version", "benchmarks", "results"} & keys


def _refuse_config(file: OpenedFile) -> list[Part]:
    raise ServingFileError(
        file.shown, "says how inference-perf was to run, not what it measured", ADVICE_STAGES
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


OTHERS = (
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
"""Formats beside that of the stages."""
