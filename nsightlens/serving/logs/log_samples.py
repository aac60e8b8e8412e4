"""Lines of load of a server's log -> samples over time, and the peaks that they saw.

Peaks between lines are missed: one from here is a lower bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nsightlens.serving.logs.log_load import prompts_of
from nsightlens.serving.part import Samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from nsightlens.serving.benchmarks.collected import Collected
    from nsightlens.serving.logs.log_load import Load
    from nsightlens.serving.logs.log_text import LogText

__all__ = ["samples_of", "take_peaks"]

NAN = float("nan")
_ROUND_S = 2.0
"""[s] Lines of several engines that are no further apart are of one time."""
_NEW_YEAR_S = 180 * 86_400.0
_LEAP_YEAR_S = 366 * 86_400.0
_COLUMNS = ("running", "waiting", "kv_usage_pct", "output_tok_per_s", "prefix_hit_pct")


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
    prompts = prompts_of(log)
    if prompts is not None:
        into.real("prefix_hit_pct", prompts.hit_pct, derived="cached tokens of prompts", zero=True)
        if not prompts.peak_pct <= peak:
            peak = prompts.peak_pct
            samples = _with_peak(samples, prompts.peak_time_s, peak)
    if np.isfinite(peak):
        words = f"largest of {count} lines of the log: a lower bound of the peak"
        into.real("kv_peak_pct", peak, derived=words, zero=True)
    return samples


def _with_peak(samples: Samples, time_s: float, usage_pct: float) -> Samples:
    """Return samples with one more, of the use of the pool alone."""
    if not np.isfinite(time_s):
        return samples
    place = int(np.searchsorted(samples.time_s, time_s))
    columns = {name: np.insert(values, place, NAN) for name, values in samples.columns.items()}
    columns.setdefault("kv_usage_pct", np.full(samples.time_s.size + 1, NAN))[place] = usage_pct
    return Samples(np.insert(samples.time_s, place, time_s), columns, begins_with_run=False)
