"""GuideLLM: ``benchmarks.json`` or ``.yaml``, a run per benchmark (0.2, 0.3, 0.5 and 0.8).

Its words are the reverse of vLLM's: its inter token latency leaves the first token out, and its
time per output token includes the time to the first, so that the latter is taken by no column.
Rates are weighted by time: only their mean says something.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from nsightlens.errors import ServingFileError
from nsightlens.serving.benchmarks.collected import Collected, number_of
from nsightlens.serving.benchmarks.guidellm_names import read_names
from nsightlens.serving.benchmarks.named import at, claims_object, object_of, refuse_twin
from nsightlens.serving.benchmarks.several_runs import parts_of_runs
from nsightlens.serving.benchmarks.yaml_door import LARGEST_YAML_BYTES, read_yaml
from nsightlens.serving.part import Format

if TYPE_CHECKING:
    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.part import Part

__all__ = ["FORMATS"]

_NO_LIMIT = 10240
"""[B] What GuideLLM 0.8 writes as ``max_concurrency`` where nobody limited it: 1024 a worker."""
_HEAD = re.compile(r'"guidellm_version"|"type_"\s*:\s*"generative_benchmark')
_HEAD_YAML = re.compile(r"^(?:args|benchmarks|config|metadata):", re.MULTILINE)
_TEXT_YAML = re.compile(
    r"^[ \t-]*(?:guidellm_version:|type_:[ \t]*['\"]?generative_benchmark)", re.MULTILINE
)
_LATENCIES = {
    "itl": ("inter_token_latency_ms", 1.0),
    "ttft": ("time_to_first_token_ms", 1.0),
    "e2e": ("request_latency", 1e3),
}
_RATES = {
    "requests_per_s": "requests_per_second",
    "output_tok_per_s": "output_tokens_per_second",
    "total_tok_per_s": "tokens_per_second",
}
_COUNTS = (("scheduler_metrics", "requests_made"), ("run_stats", "requests_made"),
           ("metrics", "request_totals"), ("request_totals",))  # fmt: skip
_STRATEGY = (("config", "strategy"), ("args", "strategy"), ("scheduler", "strategy"))
_PROFILE = (("config", "profile"), ("args", "profile"))


def _is_report(top: dict[str, Any]) -> bool:
    benchmarks = top.get("benchmarks")
    if at(top, "metadata", "guidellm_version") is not None:
        return True
    return isinstance(benchmarks, list) and any(
        str(at(one, "type_")).startswith("generative_benchmark") for one in benchmarks
    )


def _claims_json(file: OpenedFile) -> bool:
    return claims_object(file, _is_report, _HEAD)


def _claims_yaml(file: OpenedFile) -> bool:
    """Look through the whole text: keys are sorted, so that those which tell come late."""
    if file.looks_like_json or not file.is_text or not _HEAD_YAML.search(file.head):
        return False
    if _TEXT_YAML.search(file.head):
        return True
    return file.byte_count <= LARGEST_YAML_BYTES and bool(_TEXT_YAML.search(file.text))


def _read(file: OpenedFile) -> list[Part]:
    return _parts(file, object_of(file))


def _read_yaml(file: OpenedFile) -> list[Part]:
    refuse_twin(file, _claims_json)
    return _parts(file, read_yaml(file))


def _parts(file: OpenedFile, top: Any) -> list[Part]:
    benchmarks = at(top, "benchmarks")
    if not isinstance(benchmarks, list) or not benchmarks:
        raise ServingFileError(
            file.shown, "holds no benchmarks", "Run guidellm again, or give another of its files."
        )
    places = [f"benchmarks[{index}]" for index in range(len(benchmarks))]
    return parts_of_runs(
        file.shown,
        [
            (place, partial(_run, file, top, one, place))
            for place, one in zip(places, benchmarks, strict=True)
        ],
    )


def _run(file: OpenedFile, top: Any, one: Any, place: str) -> Part:
    run = Collected(file.shown, "guidellm", place, place)
    _counts(run, one)
    for column, (name, scale) in _LATENCIES.items():
        found = at(one, "metrics", name, "successful")
        raws = {"mean": at(found, "mean"), "median": at(found, "median")}
        raws["p99"] = at(found, "percentiles", "p99")
        run.latency(column, raws, scale, f"{place}.metrics.{name}.successful")
    run.leave_out_burst_median()
    for column, name in _RATES.items():
        run.real(column, at(one, "metrics", name, "successful", "mean"))
    _tokens(run, one)
    _concurrency(run, one, place)
    _strategy(run, next((found for keys in _STRATEGY if (found := at(one, *keys))), None))
    if "request_rate_per_s" in run.values:  # what the user asked for, not what GuideLLM filled in
        for keys in _PROFILE:
            run.count("max_concurrency", at(one, *keys, "max_concurrency"))
    run.real("duration_s", at(one, "duration"))
    start, end = number_of(at(one, "start_time")), number_of(at(one, "end_time"))
    if start is not None and end is not None:
        run.real("duration_s", end - start, derived="end_time less start_time")
    read_names(run, top, one)
    return run.part()


def _counts(run: Collected, one: Any) -> None:
    made = next((found for keys in _COUNTS if isinstance(found := at(one, *keys), dict)), {})
    run.count("completed_count", made.get("successful"), zero=True)
    run.count("failed_count", made.get("errored"), zero=True)
    total = run.count("prompt_count", made.get("total"))
    run.refuse_without_success(total)
    incomplete = number_of(made.get("incomplete"))
    if incomplete:
        of = f" of {total}" if total else ""
        run.note(
            "survivor_bias",
            f"{incomplete:.0f}{of} requests had not ended when time was up, and are in no latency: "
            "those that did end are the fast ones.",
        )


def _tokens(run: Collected, one: Any) -> None:
    for side, name in (("input", "prompt_token_count"), ("output", "output_token_count")):
        found = at(one, "metrics", name, "successful")
        run.real(f"mean_{side}_tokens", at(found, "mean"))
        run.count(f"{side}_token_count", at(found, "total_sum"))


def _concurrency(run: Collected, one: Any, place: str) -> None:
    """Take the requests in flight, those that did not end included: they were in the batch too."""
    for key in ("total", "successful"):
        where = f"{place}.metrics.request_concurrency.{key}.mean"
        run.real("concurrency", at(one, "metrics", "request_concurrency", key, "mean"), where=where)


def _strategy(run: Collected, strategy: Any) -> None:
    """Take the load. A strategy of a rate has a limit of concurrency that limits nothing."""
    kind = at(strategy, "type_") or at(strategy, "kind")
    if kind == "synchronous":
        run.count("max_concurrency", 1, derived="one request after the other")
    elif kind == "concurrent":
        run.count("max_concurrency", at(strategy, "streams"))
    elif kind == "throughput":
        run.values["request_rate_per_s"] = float("inf")
        limit = number_of(at(strategy, "max_concurrency"))
        if limit is not None and limit < _NO_LIMIT:
            run.count("max_concurrency", limit)
    else:
        run.real("request_rate_per_s", at(strategy, "rate"))


def _claims_csv(file: OpenedFile) -> bool:
    first = file.head.split("\n", 1)[0]
    is_grouped = first.startswith("Run Info,") and "Server Throughput" in first
    return is_grouped or first.startswith("Type,Run Id,Id,Name,Start Time,End Time,Duration")


def _refuse_csv(file: OpenedFile) -> list[Part]:
    raise ServingFileError(
        file.shown,
        "is GuideLLM's table, whose columns change between releases",
        "Give benchmarks.json or benchmarks.yaml of the same run.",
    )


FORMATS = (
    Format(
        "guidellm",
        "GuideLLM benchmarks.json",
        _claims_json,
        _read,
    ),
    Format("guidellm-yaml", "GuideLLM benchmarks.yaml", _claims_yaml, _read_yaml),
    Format("guidellm-csv", "GuideLLM benchmarks.csv", _claims_csv, _refuse_csv),
)
