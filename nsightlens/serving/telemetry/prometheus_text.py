"""What ``/metrics`` of vLLM or SGLang answered, saved as text: one scrape, or several in a row.

A scrape is one moment. It says how large the KV pool is and how often memory was taken from
sequences since the server started; what ran at that moment says nothing of a run, so that it is
a note, unless several scrapes have a time each.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nsightlens.errors import ServingFileError
from nsightlens.serving.benchmarks.collected import Collected
from nsightlens.serving.benchmarks.named import model_name
from nsightlens.serving.part import Format, Samples
from nsightlens.serving.telemetry.exposition import scrapes_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.part import Part
    from nsightlens.serving.telemetry.exposition import Metric

__all__ = ["FORMATS"]

_OURS = re.compile(r"(?:vllm|sglang)[:_]")
_CLAIMED = re.compile(
    r"^(?:# (?:TYPE|HELP) (?:vllm|sglang)[:_]\w+ |(?:vllm|sglang):\w+(?:\{[^\n]*\})? [-+\dNI])",
    re.MULTILINE,
)
_SUMMED = {
    "running": ("num_requests_running", "num_running_reqs"),
    "waiting": ("num_requests_waiting", "num_queue_reqs"),
    "preemption_total": (
        "num_preemptions_total",
        "num_preemptions",
        "num_retracted_requests_total",
    ),
    "output_token_total": ("generation_tokens_total",),
    "prompt_token_total": ("prompt_tokens_total",),
    "output_tok_per_s": ("gen_throughput", "avg_generation_throughput_toks_per_s"),
}
_USAGES = ("kv_cache_usage_perc", "gpu_cache_usage_perc", "token_usage", "swa_token_usage")
"""Fractions in spite of their names."""
_RANKS = ("engine", "dp_rank")


def _claims(file: OpenedFile) -> bool:
    return file.is_text and not file.looks_like_json and bool(_CLAIMED.search(file.head))


def _read(file: OpenedFile) -> list[Part]:
    scrapes = scrapes_of(file.text, _OURS)
    if not scrapes:
        raise ServingFileError(
            file.shown,
            "names metrics of a server, and has no value of any",
            "Save what the server's /metrics answers while the benchmark runs.",
        )
    last = scrapes[-1]
    into = Collected(file.shown, "prometheus-text")
    first = last[0].name
    into.text("engine", "vllm" if first.startswith("vllm") else "sglang", where=_line(last[0]))
    _settings(last, into)
    _counts(last, into)
    samples = _samples(scrapes)
    if samples is None:
        _note_moment(last, into, len(scrapes))
    part = into.part("samples" if samples is not None else "server")
    return [replace(part, samples=samples)]


def _line(metric: Metric) -> str:
    return f"line {metric.line}"


def _plain(name: str) -> str:
    return _OURS.sub("", name, count=1)


def _settings(scrape: Sequence[Metric], into: Collected) -> None:
    """Take the labels of vLLM's ``cache_config_info``, and what SGLang says of its pool."""
    for metric in scrape:
        into.text("model", model_name(metric.labels.get("model_name")), where=_line(metric))
    infos = [one for one in scrape if _plain(one.name) == "cache_config_info"]
    for column, label in (
        ("block_size", "block_size"), ("kv_block_count", "num_gpu_blocks"),
        ("kv_pool_tokens", "kv_cache_size_tokens"),
    ):  # fmt: skip
        counts = [(one.labels.get(label, ""), one) for one in infos]
        known = [(int(text), one) for text, one in counts if re.fullmatch(r"\d{1,15}", text)]
        if known:
            count, one = min(known, key=lambda pair: pair[0])
            into.count(column, count, where=_line(one))
    for one in infos:
        labels, line = one.labels, _line(one)
        into.real("gpu_memory_utilization", labels.get("gpu_memory_utilization"), where=line)
        into.flag("prefix_caching", labels.get("enable_prefix_caching"), where=line)
        dtype = labels.get("cache_dtype")
        if dtype not in {None, "auto"}:
            into.text("kv_cache_dtype", dtype, where=line)
    blocks, size = into.values.get("kv_block_count"), into.values.get("block_size")
    if blocks and size:
        into.count("kv_pool_tokens", blocks * size, derived="blocks times block size")
    for one in scrape:
        if _plain(one.name) == "max_total_num_tokens":
            into.count("kv_pool_tokens", one.value, where=_line(one))
    if len(infos) > 1:
        into.note(
            "several_engines",
            f"{into.path}: {len(infos)} engines serve together: the KV pool is that of one.",
        )


def _counts(scrape: Sequence[Metric], into: Collected) -> None:
    """Take the preemptions since the server started; none only where it served and now rests."""
    preempted = _sum(scrape, "preemption_total")
    generated, running = _sum(scrape, "output_token_total"), _sum(scrape, "running")
    rests = running == 0 and not _sum(scrape, "waiting") and bool(generated)
    if preempted is not None and (preempted or rests):
        words = "since the server started" + ("" if rests else ", at least: it still ran")
        into.count("preemption_count", preempted, derived=words, zero=True)
    queries, hits = (
        sum(one.value for one in scrape if _plain(one.name) == f"prefix_cache_{name}_total")
        for name in ("queries", "hits")
    )
    if queries > 0:
        words = "hits over queries since the server started"
        into.real("prefix_hit_pct", 100 * hits / queries, derived=words, zero=True)


def _sum(scrape: Sequence[Metric], column: str) -> float | None:
    """Return a value of all engines together; of ranks of one engine the largest. None without."""
    names = _SUMMED[column]
    by_rank: dict[tuple[str, ...], float] = {}
    for one in scrape:
        if _plain(one.name) in names:
            rank = tuple(one.labels.get(name, "") for name in (*_RANKS, "model_name"))
            by_rank[rank] = max(by_rank.get(rank, one.value), one.value)
    return sum(by_rank.values()) if by_rank else None


def _usage_pct(scrape: Sequence[Metric]) -> float | None:
    values = [one.value for one in scrape if _plain(one.name) in _USAGES]
    fractions = [value for value in values if 0 <= value <= 1.005]
    return 100 * max(fractions) if fractions else None


def _samples(scrapes: Sequence[Sequence[Metric]]) -> Samples | None:
    """Return scrapes as samples; None where there is one only, or where they have no times."""
    times = [
        next((one.time_s for one in scrape if one.time_s is not None), None) for scrape in scrapes
    ]
    known = [time for time in times if time is not None]
    if len(known) < 2 or len(known) != len(times):
        return None
    columns = {}
    for name in (*_SUMMED, "kv_usage_pct"):
        values = [
            _usage_pct(scrape) if name == "kv_usage_pct" else _sum(scrape, name)
            for scrape in scrapes
        ]
        column = np.array([np.nan if value is None else value for value in values], float)
        if np.isfinite(column).any():
            columns[name] = column
    order = np.argsort(known, kind="stable")
    columns = {name: column[order] for name, column in columns.items()}
    return Samples(np.array(known)[order], columns, begins_with_run=False) if columns else None


def _note_moment(scrape: Sequence[Metric], into: Collected, count: int) -> None:
    running, waiting, usage = _sum(scrape, "running"), _sum(scrape, "waiting"), _usage_pct(scrape)
    facts = [
        f"{value:.4g} {words}"
        for value, words in ((running, "ran"), (waiting, "waited"), (usage, "% of the pool in use"))
        if value is not None
    ]
    which = "one moment" if count == 1 else f"the last of {count} moments without times"
    into.note(
        "one_scrape",
        f"{into.path} is of {which} ({', '.join(facts) or 'without load'}): what ran in a run, and "
        "its peak, need scrapes over time.",
    )


FORMATS = (Format("prometheus-text", "answer of /metrics of vLLM or SGLang", _claims, _read),)
