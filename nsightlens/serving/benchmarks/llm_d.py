"""llm-d-benchmark: its benchmark report 0.1, 0.2 and 0.2.1, YAML or JSON; every unit is read.

The report names the unit beside each statistic, and different tools that fill it use different
ones. Source: schemas and examples in llm-d/llm-d-benchmark.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nsightlens.errors import ServingFileError
from nsightlens.serving.benchmarks.collected import Collected, number_of
from nsightlens.serving.benchmarks.llm_d_scenario import read_engines, read_load
from nsightlens.serving.benchmarks.llm_d_server import read_service
from nsightlens.serving.benchmarks.named import at, claims_object, object_of
from nsightlens.serving.benchmarks.stated_units import ms_of, per_second_of
from nsightlens.serving.benchmarks.yaml_door import read_yaml
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
_STATISTICS = {"mean": "mean", "median": "p50", "p99": "p99"}
_RATES = {
    "requests_per_s": ("request_rate", "requests_per_sec"),
    "output_tok_per_s": ("output_token_rate", "output_tokens_per_sec"),
    "total_tok_per_s": ("total_token_rate", "total_tokens_per_sec"),
}
_AGGREGATE = ("results", "request_performance", "aggregate")
_TOP_KEY = re.compile(r"^(?:version|run|scenario|results|metrics):", re.MULTILINE)
_SECOND = (
    re.compile(r"^version:[ \t]*['\"]?0\.\d", re.MULTILINE),
    re.compile(r"^results:", re.MULTILINE),
    re.compile(r"^[ \t]+request_performance:", re.MULTILINE),
)
_FIRST = (
    re.compile(r"^version:[ \t]*['\"]?0\.1\b", re.MULTILINE),
    re.compile(r"^scenario:", re.MULTILINE),
    re.compile(r"^metrics:", re.MULTILINE),
)
_LARGEST_SEARCHED = 4 << 20
_HEAD_JSON = re.compile(r'"request_performance"\s*:|"scenario"\s*:[\s\S]*"metrics"\s*:')
_ISO = re.compile(
    r"P(?:(\d+(?:\.\d+)?)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?"
)


def _is_report(top: dict[str, Any]) -> bool:
    is_second = isinstance(at(top, *_AGGREGATE), dict)
    is_first = isinstance(at(top, "metrics", "latency"), dict) and "scenario" in top
    return is_second or is_first


def _claims_yaml(file: OpenedFile) -> bool:
    """Look at keys without indentation: they may stand in any order, the version last."""
    if file.looks_like_json or not file.is_text or not _TOP_KEY.search(file.head):
        return False
    text = file.text if file.byte_count <= _LARGEST_SEARCHED else file.head
    return any(all(one.search(text) for one in keys) for keys in (_SECOND, _FIRST))


def _read_json(file: OpenedFile) -> list[Part]:
    return [_run(file, object_of(file))]


def _read_yaml(file: OpenedFile) -> list[Part]:
    if re.search(r"\.partial\.stage_\d+\.ya?ml$", file.name):
        raise ServingFileError(
            file.shown,
            "repeats a part of what inference-perf wrote of the stage",
            "Give stage_<N>_lifecycle_metrics.json, which lies beside it.",
        )
    return [_run(file, read_yaml(file))]


def _run(file: OpenedFile, top: Any) -> Part:
    place = ".".join(_AGGREGATE) if isinstance(at(top, *_AGGREGATE), dict) else "metrics"
    found = at(top, *place.split("."))
    if not isinstance(found, dict):
        raise ServingFileError(
            file.shown, "holds no results of requests", "Give the report of a run that ended."
        )
    run = Collected(file.shown, "llm-d-report")
    _requests(run, found, place)
    is_of_guidellm = "guidellm" in str(_tool(top)).lower()
    for column, name in _LATENCIES.items():
        if column == "tpot" and is_of_guidellm:
            continue
        one = at(found, "latency", name)
        raws = {ours: at(one, theirs) for ours, theirs in _STATISTICS.items()}
        run.latency(column, raws, ms_of(at(one, "units")), f"{place}.latency.{name}")
    run.leave_out_burst_median()
    if is_of_guidellm:
        run.note(
            "tpot_includes_ttft",
            "GuideLLM's time per output token includes the time to the first, and is not taken.",
        )
    for column, names in _RATES.items():
        _rate(run, column, at(found, "throughput"), names)
    seconds = _seconds(at(top, "run", "time", "duration"))
    run.real("duration_s", seconds, where="run.time.duration")
    run.real("duration_s", at(found, "time", "duration"), where=f"{place}.time.duration")
    read_engines(run, at(top, "scenario"))
    read_load(run, at(top, "scenario", "load"))
    read_service(run, top)
    run.little()
    return run.part()


def _tool(top: Any) -> Any:
    """Return what generated the load: GuideLLM's words mean other things."""
    load = at(top, "scenario", "load")
    return at(load, "standardized", "tool") or at(load, "name")


def _requests(run: Collected, found: dict[str, Any], place: str) -> None:
    requests = found.get("requests")
    total = number_of(at(requests, "total"))
    failed = number_of(at(requests, "failures"))
    incomplete = number_of(at(requests, "incomplete")) or 0.0
    run.count("prompt_count", total, where=f"{place}.requests.total")
    run.count("failed_count", failed, where=f"{place}.requests.failures", zero=True)
    if total is not None and failed is not None:
        words = "total less failures and what had not ended"
        run.count("completed_count", total - failed - incomplete, derived=words, zero=True)
        run.refuse_without_success(total)
    if incomplete:
        run.note(
            "survivor_bias",
            f"{incomplete:.0f} requests had not ended when time was up, and are in no latency.",
        )
    for column, name in (
        ("mean_input_tokens", "input_length"),
        ("mean_output_tokens", "output_length"),
    ):
        run.real(column, at(requests, name, "mean"))


def _rate(run: Collected, column: str, throughput: Any, names: tuple[str, str]) -> None:
    """Take a rate with its unit (0.2), or one whose name ends in it (0.1)."""
    one = at(throughput, names[0])
    if isinstance(one, dict):
        run.real(column, one.get("mean"), scale=per_second_of(one.get("units")), where=names[0])
    run.real(column, at(throughput, names[1]), where=names[1])


def _seconds(duration: Any) -> float | None:
    """Return an ISO 8601 duration such as ``PT1M2.5S`` in seconds [s]; None for all else."""
    match = _ISO.fullmatch(duration.strip()) if isinstance(duration, str) else None
    if match is None or not any(match.groups()):
        return number_of(duration)
    scales = (86400, 3600, 60, 1)
    return sum(float(one) * scale for one, scale in zip(match.groups(), scales, strict=True) if one)


FORMATS = (
    Format(
        "llm-d-report",
        "llm-d benchmark report",
        lambda file: claims_object(file, _is_report, _HEAD_JSON),
        _read_json,
    ),
    Format("llm-d-report-yaml", "llm-d benchmark report, YAML", _claims_yaml, _read_yaml),
)
