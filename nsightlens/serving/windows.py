"""Samples over time -> the values of one run: means within its duration, peaks, differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nsightlens.serving.part import Samples

__all__ = ["Found", "of_gpu_samples", "of_server_samples", "rises_of", "seconds_of"]

CLOCK_LIMITED_SHARE = 0.05
"""A run is clock-limited where more than this share of its samples says so."""

SLOW_SAMPLES_S = 2.0
"""[s] A peak between samples that lie further apart than this may have been missed."""


class Found(NamedTuple):
    """A value, how it was computed, and what to know of it."""

    value: Any
    derived: str
    note: tuple[str, str] | None = None


def _window(samples: Samples, duration_s: float | None) -> tuple[NDArray[Any], str]:
    """Return which samples lie within the run, and how that was found.

    With time 0 at the begin of the benchmark, those from 0 to the duration; the samples of a clock
    that is not the benchmark's, from the first to the last with a running sequence.
    """
    time = samples.time_s
    busiest = _busiest(samples, duration_s)
    if duration_s and samples.begins_with_run:
        mask = (time >= 0) & (time <= duration_s)
        most = busiest[1] if busiest is not None else _load(samples, np.ones(time.size, bool))
        if mask.any() and _load(samples, mask) >= LEAST_LOAD * most:
            return mask, f"within the {duration_s:.4g} s of the run"
    if busiest is not None:
        return busiest[0], f"of the busiest {duration_s:.4g} s, as long as the run"
    for name in ("running", "gpu_utilization_pct"):
        if name in samples.columns:
            active = np.flatnonzero(np.nan_to_num(samples.columns[name]) > 0)
            if active.size:
                mask = np.zeros(time.size, bool)
                mask[active[0] : active[-1] + 1] = True
                return mask, "from the first to the last that was busy"
    return np.ones(time.size, bool), "of all"


LEAST_LOAD = 0.8
"""A window at the begin that had less than this part of the busiest one is not the run's."""
LONGER = 1.2
"""Samples that are busy for this much longer than the run took hold other load too."""


def _load(samples: Samples, mask: NDArray[Any]) -> float:
    if "running" not in samples.columns:
        return 0.0
    running = np.nan_to_num(samples.columns["running"])
    return float((running * seconds_of(samples))[mask].sum())


def _busiest(samples: Samples, duration_s: float | None) -> tuple[NDArray[Any], float] | None:
    """Return the window as long as the run that had the most load, and that load.

    None where nothing was busy for longer than the run, so that there is nothing to choose.
    """
    running = samples.columns.get("running")
    if running is None or not duration_s:
        return None
    time, load = samples.time_s, np.nan_to_num(running) * seconds_of(samples)
    active = np.flatnonzero(load > 0)
    if not active.size or time[active[-1]] - time[active[0]] < LONGER * duration_s:
        return None
    total = np.concatenate([[0.0], np.cumsum(load)])
    ends = np.searchsorted(time, time + duration_s, side="right")
    loads = total[ends] - total[:-1]
    begin = int(np.argmax(loads))
    mask = (time >= time[begin]) & (time <= time[begin] + duration_s)
    return mask, float(loads[begin])


def _mean(values: NDArray[Any], weight: NDArray[Any] | None = None) -> float | None:
    known = np.isfinite(values)
    if not known.any():
        return None
    weights = None if weight is None or not (weight[known] > 0).any() else weight[known]
    return float(np.average(values[known], weights=weights))


def seconds_of(samples: Samples) -> NDArray[Any]:
    """Return how long each sample stands: until the next one [s]; the last, as long as is usual.

    Engines print a line every so many steps, and steps of small batches are short: a mean of lines
    would count them too often. Shape (n,).
    """
    if samples.time_s.size < 2:
        return np.ones(samples.time_s.size)
    steps = np.diff(samples.time_s)
    usual = float(np.median(steps))
    # After a pause nothing ran: an idle server prints nothing.
    return np.append(np.minimum(steps, 5 * usual) if usual > 0 else steps, usual)


def _peak(values: NDArray[Any]) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.max()) if known.size else None


def _growth(values: NDArray[Any]) -> tuple[float, bool] | None:
    """Return how far a counter rose, over restarts, and whether it was restarted."""
    known = values[np.isfinite(values)]
    if not known.size:
        return None
    return float(rises_of(known).sum()), bool((np.diff(known) < 0).any())


def rises_of(counter: NDArray[Any]) -> NDArray[Any]:
    """Return how far a counter rose from each value to the next: a fall is a restart from 0.

    Examples
    --------
    >>> rises_of(np.array([5.0, 7.0, 1.0, 4.0])).tolist()
    [2.0, 1.0, 3.0]
    """
    steps = np.diff(counter)
    return np.where(steps < 0, counter[1:], steps)


def of_server_samples(
    servers: Sequence[Samples], duration_s: float | None, *, by_time: bool = False
) -> dict[str, Found]:
    """Return the columns of ``serving_runs`` that samples of one run's servers give.

    Parameters
    ----------
    servers
        One per server that ran at once: running sequences are summed, of peaks the largest counts.
    duration_s
        [s] Of the run; None where it is not known.
    by_time
        Samples stand for the time until the next one, as lines of a log do; else all count alike,
        as samples of one interval do.
    """
    weights = [seconds_of(one) if by_time else None for one in servers]
    windows = [_window(one, duration_s) for one in servers]
    found: dict[str, Found] = {}

    def each(name: str) -> list[tuple[NDArray[Any], NDArray[Any], str]]:
        return [
            (one.columns[name], mask, words)
            for one, (mask, words) in zip(servers, windows, strict=True)
            if name in one.columns
        ]

    def _of(weights: list[NDArray[Any] | None], name: str) -> list[NDArray[Any] | None]:
        pairs = zip(servers, weights, strict=True)
        return [weight for one, weight in pairs if name in one.columns]

    def put(column: str, numbers: list[float | None], words: str, *, total: bool) -> None:
        known = [one for one in numbers if one is not None]
        if known and len(known) == len(servers):
            several = f", {'sum' if total else 'largest'} of {len(known)} servers"
            found[column] = Found(
                sum(known) if total else max(known), words + (several if len(known) > 1 else "")
            )

    for name, column in (("running", "mean_running"), ("waiting", "mean_waiting")):
        rows = each(name)
        if rows:
            _, mask, words = rows[0]
            count = int(mask.sum())
            means = [
                _mean(values[m], None if weight is None else weight[m])
                for (values, m, _), weight in zip(rows, _of(weights, name), strict=True)
            ]
            how = "mean over time" if by_time else "mean"
            put(column, means, f"{how} of {count} samples {words}", total=True)
    rows = each("running")
    put("mean_running_whole", [_mean(v) for v, _, _ in rows], "mean of all samples", total=True)
    put("max_running", [_peak(v) for v, _, _ in rows], "largest sample", total=True)
    rows = each("kv_usage_pct")
    put("kv_peak_pct", [_peak(v) for v, _, _ in rows], "largest sample", total=False)
    put("kv_mean_pct", [_mean(v[m]) for v, m, _ in rows], "mean within the run", total=False)
    rows = each("prefix_hit_pct")
    put("prefix_hit_pct", [_mean(v[m]) for v, m, _ in rows], "mean within the run", total=False)
    growths = [_growth(v) for v, _, _ in each("preemption_total")]
    if growths and all(one is not None for one in growths):
        known = [one for one in growths if one is not None]
        restarted = any(one[1] for one in known)
        note = ("counter_restarted", "A counter of preemptions fell: the server was restarted.")
        found["preemption_count"] = Found(
            sum(one[0] for one in known), "growth of the counter", note if restarted else None
        )
    if "kv_peak_pct" in found:
        found["kv_peak_pct"] = found["kv_peak_pct"]._replace(note=_slow(servers))
    return found


def _slow(servers: Sequence[Samples]) -> tuple[str, str] | None:
    steps = [float(np.median(np.diff(one.time_s))) for one in servers if one.time_s.size > 1]
    slowest = max(steps, default=0.0)
    if slowest <= SLOW_SAMPLES_S:
        return None
    return (
        "kv_peak_sampled",
        f"KV use was sampled every {slowest:.3g} s: its peak may have been higher.",
    )


def of_gpu_samples(gpus: Sequence[Samples], duration_s: float | None) -> dict[str, Found]:
    """Return the columns of ``serving_runs`` that telemetry of a run's GPUs gives."""
    found: dict[str, Found] = {}
    clocks, peaks, limited, dram = [], [], [], []
    for one in gpus:
        mask, _ = _window(one, duration_s)
        columns = one.columns
        if "sm_clock_mhz" in columns:
            clocks.append(_mean(columns["sm_clock_mhz"][mask]))
            peaks.append(_peak(columns["sm_clock_mhz"]))
        if "clock_limited" in columns:
            limited.append(_mean(columns["clock_limited"][mask]))
        if "dram_active_pct" in columns:
            dram.append(_mean(columns["dram_active_pct"][mask]))
    for column, numbers, words in (
        ("sm_clock_mhz", clocks, "mean within the run"),
        ("sm_clock_max_mhz", peaks, "largest sample"),
        ("dram_active_pct", dram, "mean within the run"),
    ):
        known = [number for number in numbers if number is not None]
        if known:
            lowest = min(known) if column == "sm_clock_mhz" else max(known)
            several = f", of {len(known)} GPUs" if len(known) > 1 else ""
            found[column] = Found(lowest, words + several)
    shares = [one for one in limited if one is not None]
    if shares:
        share = max(shares)
        found["clock_limited"] = Found(
            share > CLOCK_LIMITED_SHARE, f"{100 * share:.3g} % of the samples say so"
        )
    return found
