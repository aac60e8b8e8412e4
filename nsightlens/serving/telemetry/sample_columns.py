"""Names under which servers export metrics -> the columns of samples; several engines -> one.

Names and their units are of vLLM and SGLang. Their gauges of use are fractions of 1, in spite of
names such as ``gpu_cache_usage_perc``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nsightlens.serving.windows import rises_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["FRACTIONS", "Series", "metric_of", "together"]

_NAMES = {
    "num_requests_running": "running",
    "num_running_reqs": "running",
    "num_requests_waiting": "waiting",
    "num_queue_reqs": "waiting",
    "gpu_cache_usage_perc": "kv_usage_pct",
    "kv_cache_usage_perc": "kv_usage_pct",
    "token_usage": "kv_usage_pct",
    "full_token_usage": "kv_usage_pct",
    "num_preemptions_total": "preemption_total",
    "num_preemptions": "preemption_total",
    "num_retracted_requests_total": "preemption_total",
    "generation_tokens_total": "output_token_total",
    "generation_tokens": "output_token_total",
    "prompt_tokens_total": "prompt_token_total",
    "prompt_tokens": "prompt_token_total",
    "gen_throughput": "output_tok_per_s",
    "avg_generation_throughput_toks_per_s": "output_tok_per_s",
    "gpu_prefix_cache_hit_rate": "prefix_hit_pct",
    "cache_hit_rate": "prefix_hit_pct",
}
FRACTIONS = frozenset({"kv_usage_pct", "prefix_hit_pct"})
"""Columns of samples that servers export as a fraction of 1."""

_LARGEST = frozenset({"kv_usage_pct", "prefix_hit_pct"})
_HEADER = re.compile(r"(?:(vllm|sglang)[:_])?([a-zA-Z_]\w*)\s*(?:\{(.*)\})?")
_LABEL = re.compile(r'(\w+)\s*=\s*"?([^",}]*)"?')


class Metric(NamedTuple):
    """What a name of a metric says: column of samples, engine where its prefix tells, labels."""

    column: str
    engine: str | None
    labels: tuple[tuple[str, str], ...]


class Series(NamedTuple):
    """Values of one engine over time: [s], and columns of equal length with NaN where unknown."""

    time_s: NDArray[Any]
    columns: Mapping[str, NDArray[Any]]


def metric_of(name: str) -> Metric | None:
    """Return what the name of a metric says; None where it is none that is used.

    Examples
    --------
    >>> metric_of('vllm:num_requests_running{engine="0"}')
    Metric(column='running', engine='vllm', labels=(('engine', '0'),))
    >>> metric_of("sglang:token_usage").column
    'kv_usage_pct'
    """
    match = _HEADER.fullmatch(name.strip())
    if not match or match[2].lower() not in _NAMES:
        return None
    labels = tuple(_LABEL.findall(match[3] or ""))
    return Metric(_NAMES[match[2].lower()], match[1], labels)


def together(series: Sequence[Series]) -> Series:
    """Put engines that ran at once into one series.

    What runs and waits is added up; of use of memory, the largest counts. Counters count from 0 at
    each engine's first sample, so that one that is restarted, or comes later, adds no more than it
    counted. Between two samples of an engine its last one holds; before the first it has no value.

    Examples
    --------
    >>> import numpy as np
    >>> one = Series(np.array([0.0, 1.0]), {"running": np.array([1.0, 2.0])})
    >>> together([one, one]).columns["running"]
    array([2., 4.])
    """
    if len(series) == 1:
        return series[0]
    time = np.unique(np.concatenate([one.time_s for one in series]))
    names = dict.fromkeys(name for one in series for name in one.columns)
    columns = {}
    for name in names:
        stacked = np.stack([_held(one, name, time) for one in series if name in one.columns])
        known = np.isfinite(stacked)
        reduced = (
            np.where(known, stacked, -np.inf).max(axis=0)
            if name in _LARGEST
            else np.where(known, stacked, 0.0).sum(axis=0)
        )
        columns[name] = np.where(known.any(axis=0), reduced, np.nan)
    return Series(time, columns)


def _held(one: Series, name: str, time: NDArray[Any]) -> NDArray[Any]:
    values = one.columns[name]
    known = np.isfinite(values)
    if name.endswith("_total"):
        values = _growth(values, known)
    if not known.any():
        return np.full(time.size, np.nan)
    at = np.searchsorted(one.time_s[known], time, side="right") - 1
    return np.where(at >= 0, values[known][np.maximum(at, 0)], np.nan)


def _growth(values: NDArray[Any], known: NDArray[Any]) -> NDArray[Any]:
    """Return how far a counter rose since its first value, over restarts."""
    grown = np.full(values.size, np.nan)
    if known.any():
        grown[known] = np.concatenate([[0.0], np.cumsum(rises_of(values[known]))])
    return grown
