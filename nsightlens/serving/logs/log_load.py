"""Lines of load of a server's log: sequences that ran and waited, use of the pool, tokens.

vLLM prints a line every 5 s (V0) or 10 s (V1), and SGLang one per 40 steps of decoding.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.serving.logs.log_patterns import REPEATED
from nsightlens.serving.logs.log_text import seconds_of_clock
from nsightlens.serving.part import LARGEST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nsightlens.serving.logs.log_text import LogText, Record

__all__ = ["Load", "Prompts", "load_of", "prompts_of"]

NAN = float("nan")
V0_INTERVAL_S, V1_INTERVAL_S = 5.0, 10.0
"""[s] Between two lines of load, as vLLM's loggers are set; used where lines have no clock."""
_USAGES = re.compile(r"usage: (\d{1,6}(?:\.\d{1,6})?)")
_DP = re.compile(r"\bDP(\d{1,6})\b")


class Load(NamedTuple):
    """One line of load: its clock [s] or NaN, the engine, and what it says; NaN for nothing."""

    time_s: float
    engine: str
    running: float
    waiting: float
    kv_usage_pct: float
    output_tok_per_s: float
    prefix_hit_pct: float
    preempted: float


def load_of(log: LogText) -> tuple[list[Load], float]:
    """Return the lines of load in their order, and the interval [s] between them where known."""
    lines = list(_vllm(log, "v1_stats"))
    if lines:
        return [one for one in lines if one.engine == "all"] or lines, V1_INTERVAL_S
    lines = list(_vllm(log, "v0_stats"))
    return (lines, V0_INTERVAL_S) if lines else (list(_sglang(log)), NAN)


def _vllm(log: LogText, name: str) -> Iterator[Load]:
    for record in log.records(name):
        if REPEATED.search(record.line):
            continue
        match = record.match.groupdict()
        engine = "all" if match.get("all") else match.get("engine") or _engine_of(record)
        yield Load(
            _clock(record),
            engine,
            _number(match["run"]),
            _number(match["wait"]) + (_number(match["swap"]) if "swap" in match else 0.0),
            _percent(match["kv"]),
            _number(match["gen"]),
            _percent(match.get("hit")),
            _number(match.get("preempt")),
        )


def _sglang(log: LogText) -> Iterator[Load]:
    for record in log.records("sgl_decode"):
        running, usage, rate, waiting = record.match.group("run", "usage", "gen", "wait")
        largest = max(map(float, _USAGES.findall(usage)), default=NAN)
        yield Load(
            _clock(record),
            _engine_of(record),
            _number(running),
            _number(waiting),
            100 * largest if largest <= 1.005 else NAN,
            _number(rate),
            NAN,
            NAN,
        )


def _clock(record: Record) -> float:
    seconds = seconds_of_clock(record.line, record.match.start())
    return NAN if seconds is None else seconds


def _engine_of(record: Record) -> str:
    if "DP" not in record.line:
        return ""
    match = _DP.search(record.line, 0, record.match.start())
    return match[1] if match else ""


def _number(text: str | None) -> float:
    value = float(text) if text else NAN
    return value if value < LARGEST else NAN


def _percent(text: str | None) -> float:
    value = _number(text)
    return value if value <= 100.5 else NAN


class Prompts(NamedTuple):
    """What SGLang's lines on batches of prompts say together."""

    peak_time_s: float
    peak_pct: float
    hit_pct: float


def prompts_of(log: LogText) -> Prompts | None:
    """Return when a batch of prompts found the pool fullest, and how much of prompts was cached."""
    peak = (NAN, -1.0)
    new = cached = 0.0
    for record in log.records("sgl_prefill"):
        usage = max(map(float, _USAGES.findall(record.match["usage"])), default=NAN)
        if peak[1] < 100 * usage <= 100.5:
            peak = (_clock(record), 100 * usage)
        new += _number(record.match["new"])
        cached += _number(record.match["cached"])
    if peak[1] < 0:
        return None
    return Prompts(*peak, 100 * cached / (new + cached) if new + cached > 0 else NAN)
