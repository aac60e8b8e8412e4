"""genai-perf and AIPerf: their JSON of statistics, and the CSV of two blocks.

Both call "inter token latency" what is a request's time per output token after the first, so that
it is ``tpot`` here. AIPerf's "inter chunk latency" is the time between chunks of the stream: it is
``itl`` only where a chunk is about a token. Sources: genai-perf 0.0.16, AIPerf 0.10 (schema 1.3).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nsightlens.errors import ServingFileError
from nsightlens.serving.benchmarks.collected import Collected, number_of
from nsightlens.serving.benchmarks.genai_config import read_config
from nsightlens.serving.benchmarks.named import at, claims_object, csv_rows, object_of, refuse_twin
from nsightlens.serving.benchmarks.stated_units import ms_of, per_second_of
from nsightlens.serving.part import ITL_OVER_TPOT, Format

if TYPE_CHECKING:
    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.part import Part

__all__ = ["FORMATS"]

_METRICS = (
    "request_throughput", "request_latency", "time_to_first_token", "inter_token_latency",
    "output_token_throughput", "output_sequence_length", "request_count",
)  # fmt: skip
_LATENCIES = {
    "inter_token_latency": "tpot",
    "time_to_first_token": "ttft",
    "request_latency": "e2e",
}
_RATES = {
    "request_throughput": "requests_per_s",
    "output_token_throughput": "output_tok_per_s",
    "total_token_throughput": "total_tok_per_s",
}
_STATISTICS = {"mean": "avg", "median": "p50", "p99": "p99"}
_HEAD = re.compile(r'"(?:request_latency|request_throughput)"\s*:\s*\{\s*"(?:unit|avg)"')


def _metrics(top: dict[str, Any]) -> dict[str, Any]:
    """Return the statistics by name; the first AIPerf kept them under ``records``."""
    records = top.get("records")
    return records if isinstance(records, dict) else top


def _has_metrics(top: dict[str, Any]) -> bool:
    metrics = _metrics(top)
    known = [metrics.get(name) for name in _METRICS]
    return sum(isinstance(one, dict) and "avg" in one for one in known) >= 2


def _is_aiperf(top: dict[str, Any]) -> bool:
    words = {"aiperf_version", "schema_version", "run_info", "was_cancelled", "error_summary"}
    config = top.get("input_config")
    return bool(words & set(top)) or (isinstance(config, dict) and "loadgen" in config)


def _claims_json(file: OpenedFile) -> bool:
    return claims_object(file, _has_metrics, _HEAD)


def _read_json(file: OpenedFile) -> list[Part]:
    top = object_of(file)
    is_aiperf = _is_aiperf(top)
    run = Collected(file.shown, "aiperf" if is_aiperf else "genai-perf")
    _take(run, _metrics(top))
    if is_aiperf:
        _take_errors(run, top)
    read_config(run, top)
    run.refuse_without_success()
    return [run.part()]


def _take(run: Collected, metrics: dict[str, Any]) -> None:
    """Take the statistics, whichever file they stood in."""
    for name, column in _LATENCIES.items():
        _latency(run, column, metrics, name)
    _chunks(run, metrics)
    for name, column in _RATES.items():
        unit = at(metrics, name, "unit")
        scale = 1.0 if unit is None else per_second_of(unit)
        run.real(column, at(metrics, name, "avg"), scale=scale, where=f"{name}.avg")
    seconds = ms_of(at(metrics, "benchmark_duration", "unit") or "sec")
    scale = None if seconds is None else seconds / 1e3
    run.real("duration_s", at(metrics, "benchmark_duration", "avg"), scale=scale)
    run.count("completed_count", at(metrics, "request_count", "avg"), zero=True)
    run.real("mean_input_tokens", at(metrics, "input_sequence_length", "avg"))
    run.real("mean_output_tokens", at(metrics, "output_sequence_length", "avg"))
    run.count("input_token_count", at(metrics, "total_isl", "avg"))
    run.count("output_token_count", at(metrics, "total_osl", "avg"))
    run.little()


def _latency(run: Collected, column: str, metrics: dict[str, Any], name: str) -> None:
    unit = at(metrics, name, "unit")
    raws = {ours: at(metrics, name, theirs) for ours, theirs in _STATISTICS.items()}
    run.latency(column, raws, 1.0 if unit is None else ms_of(unit), name)


def _chunks(run: Collected, metrics: dict[str, Any]) -> None:
    """Take the time between chunks as that between tokens, where a chunk is a token."""
    scale = ms_of(at(metrics, "inter_chunk_latency", "unit") or "ms")
    mean = number_of(at(metrics, "inter_chunk_latency", "avg"))
    per_token = run.values.get("mean_tpot_ms")
    if not mean or not per_token or scale is None:
        return
    ratio = mean * scale / per_token
    if ITL_OVER_TPOT[0] <= ratio <= ITL_OVER_TPOT[1]:
        _latency(run, "itl", metrics, "inter_chunk_latency")
        run.leave_out_burst_median()
        return
    run.note(
        "chunk_is_no_token",
        f"The time between chunks is {ratio:.3g} times the time per token: chunks hold other than "
        "one token, so that it is not taken as the time between tokens.",
    )


def _take_errors(run: Collected, top: dict[str, Any]) -> None:
    """Take what failed: a count, which is there only where something did, or a list of errors."""
    failed = at(_metrics(top), "error_request_count", "avg")
    summary = top.get("error_summary")
    if failed is None and isinstance(summary, list):
        counts = [number_of(at(one, "count")) for one in summary]
        known = [one for one in counts if one is not None]
        failed = sum(known) if len(known) == len(counts) else None
    if run.count("failed_count", failed, where="error_request_count", zero=True):
        run.note("failed_requests", f"{run.values['failed_count']} requests failed.")
    if "completed_count" in run.values and "failed_count" in run.values:
        total = run.values["completed_count"] + run.values["failed_count"]
        run.count("prompt_count", total, derived="completed and failed")
    if top.get("was_cancelled") is True:
        run.note("cancelled", "The benchmark was cancelled before its end.")
    elif top.get("is_complete") is False:
        reason = str(top.get("incomplete_reason") or "AIPerf does not say why")
        run.note("cancelled", f"The benchmark did not end: {reason[:200]}.")


def _claims_csv(file: OpenedFile) -> bool:
    lines = file.head.lstrip("\ufeff \t\r\n").splitlines()
    return bool(lines) and re.match(r'"?Metric"?,"?(?:avg|Value)"?\b', lines[0]) is not None


def _read_csv(file: OpenedFile) -> list[Part]:
    refuse_twin(file, _claims_json)
    metrics: dict[str, Any] = {}
    header: list[str] = []
    for row in csv_rows(file):
        if row and row[0] == "Metric":
            header = row
        elif len(row) >= 2 and header:
            name, unit = _name_and_unit(row[0])
            cells = {key: cell.replace(",", "") for key, cell in zip(header[1:], row[1:])}  # noqa: B905 - a cut row is short
            found = {"avg" if key == "Value" else key: _cell(cell) for key, cell in cells.items()}
            metrics.setdefault(name, {"unit": unit, **found})
    run = Collected(file.shown, "genai-perf-csv")
    _take(run, metrics)
    failed = at(metrics, "error_request_count", "avg")
    run.count("failed_count", failed, zero=True)
    return [run.part()]


def _cell(cell: str) -> str | None:
    """Return what a cell holds; None for an empty one and for N/A."""
    return None if cell.strip() in {"", "N/A", "nan"} else cell


def _name_and_unit(text: str) -> tuple[str, str | None]:
    """Take ``Time To First Token (ms)`` apart."""
    name, bracket, rest = text.strip().partition("(")
    unit, closed, after = rest.partition(")")
    if (bracket and not closed) or after.strip() or ")" in name or "(" in unit:
        return text, None
    return name.strip().lower().replace(" ", "_"), unit if bracket else None


def _claims_raw(file: OpenedFile) -> bool:
    head = file.head
    is_raw = '"experiments"' in head and '"service_kind"' in head
    is_records = re.search(r'"request_start_ns"', head) is not None and '"metrics"' in head
    return file.looks_like_json and (is_raw or is_records)


def _refuse_raw(file: OpenedFile) -> list[Part]:
    raise ServingFileError(
        file.shown,
        "holds the timestamps of single requests, no statistics",
        "Give profile_export_genai_perf.json or profile_export_aiperf.json, which lies beside it.",
    )


FORMATS = (
    Format(
        "genai-perf",
        "genai-perf and AIPerf JSON",
        _claims_json,
        _read_json,
    ),
    Format("genai-perf-csv", "genai-perf and AIPerf CSV", _claims_csv, _read_csv),
    Format("genai-perf-raw", "genai-perf and AIPerf single requests", _claims_raw, _refuse_raw),
)
