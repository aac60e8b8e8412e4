"""What a server's log says of its load: sequences that ran, use of the pool, preemptions.

vLLM prints a line every 5 or 10 s and SGLang one per 40 steps, so that peaks between lines are
missed: a peak from here is a lower bound.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nsightlens.serving.log_patterns import REPEATED
from nsightlens.serving.log_text import seconds_of_clock
from nsightlens.serving.part import Samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from nsightlens.serving.collected import Collected
    from nsightlens.serving.log_text import LogText, Record

__all__ = ["Load", "load_of", "samples_of", "take_peaks"]

NAN = float("nan")
V0_INTERVAL_S, V1_INTERVAL_S = 5.0, 10.0
"""[s] Between two lines of load, as vLLM's loggers are set; used where lines have no clock."""
_ROUND_S = 2.0
"""[s] Lines of several engines that are no further apart are of one time."""
_NEW_YEAR_S = 180 * 86_400.0
_LEAP_YEAR_S = 366 * 86_400.0
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


_COLUMNS = ("running", "waiting", "kv_usage_pct", "output_tok_per_s", "prefix_hit_pct")


def load_of(log: LogText) -> tuple[list[Load], float]:
    """Return the lines of load in their order, and the interval [s] between them where known."""
    aggregated = [one for one in _vllm(log, "v1_stats") if one.engine == "all"]
    lines = aggregated or list(_vllm(log, "v1_stats"))
    if lines:
        return lines, V1_INTERVAL_S
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
    return value if value < 1e15 else NAN


def _percent(text: str | None) -> float:
    value = _number(text)
    return value if value <= 100.5 else NAN


def samples_of(lines: Sequence[Load], interval_s: float, into: Collected) -> Samples | None:
    """Return the lines of load as samples; those of several engines at one time are added up."""
    if not lines:
        return None
    rounds = list(_rounds(lines))
    rows = np.array([_joined(one) for one in rounds])
    time = _times([one[-1].time_s for one in rounds])
    if time is None:
        interval = interval_s if np.isfinite(interval_s) else 1.0
        time = np.arange(len(rounds)) * interval
        into.note(
            "no_clock",
            f"{into.path}: lines of load have no clock: they are taken as {interval:g} s apart.",
        )
    columns = {name: rows[:, i] for i, name in enumerate(_COLUMNS) if np.isfinite(rows[:, i]).any()}
    return Samples(time, columns, begins_with_run=False) if columns else None


def _rounds(lines: Sequence[Load]) -> Iterator[list[Load]]:
    """Yield the lines of each time: an engine that rests prints none, and runs nothing."""
    if len({line.engine for line in lines}) == 1:
        yield from ([line] for line in lines)
        return
    current: list[Load] = []
    for line in lines:
        seen = any(one.engine == line.engine for one in current)
        if current and (seen or abs(line.time_s - current[0].time_s) > _ROUND_S):
            yield current
            current = []
        current.append(line)
    yield current


def _joined(lines: Sequence[Load]) -> tuple[float, ...]:
    if len(lines) == 1:
        return lines[0][2:7]

    def known(name: str) -> list[float]:
        return [value for value in (getattr(one, name) for one in lines) if value == value]  # noqa: PLR0124

    def of(name: str, how: str) -> float:
        values = known(name)
        if not values:
            return NAN
        return {"sum": sum, "max": max}[how](values)  # type: ignore[operator,no-any-return]

    hits = known("prefix_hit_pct")
    return (
        of("running", "sum"),
        of("waiting", "sum"),
        of("kv_usage_pct", "max"),
        of("output_tok_per_s", "sum"),
        sum(hits) / len(hits) if hits else NAN,
    )


def _times(clocks: Sequence[float]) -> NDArray[Any] | None:
    """Return times that never fall, over a new year too; None where most lines have no clock."""
    time = np.array(clocks, float)
    known = np.isfinite(time)
    if known.sum() * 2 < time.size or not known.any():
        return None
    order = np.arange(time.size)
    time = np.interp(order, order[known], time[known])
    steps = np.diff(time, prepend=time[0])
    time = time + np.cumsum(np.where(steps < -_NEW_YEAR_S, _LEAP_YEAR_S, 0.0))
    return np.maximum.accumulate(time)


def take_peaks(log: LogText, lines: Sequence[Load], samples: Samples, into: Collected) -> Samples:
    """Take the largest use of the pool and the most that ran; return samples with SGLang's peak.

    SGLang prints the use of the pool when it takes in prompts too, which may be the largest.
    """
    count = len(lines)
    if "running" in samples.columns:
        most = float(np.nanmax(samples.columns["running"]))
        words = f"largest of {count} lines of the log: a lower bound"
        into.real("max_running", most, derived=words, zero=True)
    usages = [samples.columns["kv_usage_pct"]] if "kv_usage_pct" in samples.columns else []
    peak = float(np.nanmax(usages[0])) if usages else NAN
    hits = log.last("v0_prefix_hit")
    if hits is not None:
        line = f"line {log.line_number(hits.offset)}"
        into.real("prefix_hit_pct", hits.match["hit"], where=line, zero=True)
    prompts = _prompts(log)
    if prompts is not None:
        into.real("prefix_hit_pct", prompts.hit_pct, derived="cached tokens of prompts", zero=True)
        if not prompts.peak_pct <= peak:
            peak = prompts.peak_pct
            samples = _with_peak(samples, prompts.peak_time_s, peak)
    if np.isfinite(peak):
        words = f"largest of {count} lines of the log: a lower bound of the peak"
        into.real("kv_peak_pct", peak, derived=words, zero=True)
    return samples


class _Prompts(NamedTuple):
    """What SGLang's lines on batches of prompts say together."""

    peak_time_s: float
    peak_pct: float
    hit_pct: float


def _prompts(log: LogText) -> _Prompts | None:
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
    return _Prompts(*peak, 100 * cached / (new + cached) if new + cached > 0 else NAN)


def _with_peak(samples: Samples, time_s: float, usage_pct: float) -> Samples:
    """Return samples with one more, of the use of the pool alone."""
    if not np.isfinite(time_s):
        return samples
    place = int(np.searchsorted(samples.time_s, time_s))
    columns = {name: np.insert(values, place, NAN) for name, values in samples.columns.items()}
    columns.setdefault("kv_usage_pct", np.full(samples.time_s.size + 1, NAN))[place] = usage_pct
    return Samples(np.insert(samples.time_s, place, time_s), columns, begins_with_run=False)
