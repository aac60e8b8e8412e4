"""Metrics are known by the names of the engines, and engines that ran at once are added up."""

from __future__ import annotations

import numpy as np
import pytest

from nsightlens.serving.part import SAMPLE_NAMES
from nsightlens.serving.telemetry.sample_columns import _NAMES, Series, metric_of, together


def _series(time: list[float], **columns: list[float]) -> Series:
    return Series(
        np.array(time, float), {name: np.array(one, float) for name, one in columns.items()}
    )


@pytest.mark.parametrize(
    ("name", "column", "engine"),
    [
        ("num_requests_running", "running", None),
        ("vllm:num_requests_running", "running", "vllm"),
        ("vllm_num_requests_running", "running", "vllm"),
        ("sglang:num_running_reqs", "running", "sglang"),
        ("vllm:kv_cache_usage_perc", "kv_usage_pct", "vllm"),
        ("gpu_cache_usage_perc", "kv_usage_pct", None),
        ("sglang:token_usage", "kv_usage_pct", "sglang"),
        ("vllm:num_preemptions_total", "preemption_total", "vllm"),
        ("sglang:gen_throughput", "output_tok_per_s", "sglang"),
    ],
)
def test_a_metric_is_known_by_its_name(name: str, column: str, engine: str | None) -> None:
    """With the prefix of its engine or without."""
    found = metric_of(name)
    assert found is not None
    assert (found.column, found.engine) == (column, engine)


def test_labels_in_a_header_are_taken() -> None:
    """Grafana writes them behind the name."""
    found = metric_of('vllm:num_requests_waiting{engine="1", model_name="a b"}')
    assert found is not None
    assert found.labels == (("engine", "1"), ("model_name", "a b"))


@pytest.mark.parametrize("name", ["", "time", "vllm:e2e_request_latency_seconds", "running{"])
def test_other_metrics_are_none(name: str) -> None:
    """What is not used is not taken."""
    assert metric_of(name) is None


def test_every_column_of_samples_exists() -> None:
    """The list cannot name one that was renamed."""
    assert set(_NAMES.values()) <= set(SAMPLE_NAMES)


def test_running_is_added_and_of_use_the_largest_counts() -> None:
    """An engine holds its last value until its next sample, and has none before its first."""
    one = _series([0, 2], running=[1, 3], kv_usage_pct=[0.1, 0.9])
    other = _series([1, 3], running=[10, 20], kv_usage_pct=[0.5, 0.2])
    both = together([one, other])
    assert both.time_s.tolist() == [0, 1, 2, 3]
    assert both.columns["running"].tolist() == [1, 11, 13, 23]
    assert both.columns["kv_usage_pct"].tolist() == [0.1, 0.5, 0.9, 0.9]


def test_a_restart_of_one_engine_is_no_growth_of_the_other() -> None:
    """Counters count from each engine's first sample."""
    one = _series([0, 1, 2], preemption_total=[100, 110, 3])
    other = _series([1, 2], preemption_total=[7, 8])
    assert together([one, other]).columns["preemption_total"].tolist() == [0, 10, 14]


def test_unknown_values_of_one_engine_do_not_hide_the_other() -> None:
    """Null of one is not null of all."""
    nan = float("nan")
    one = _series([0, 1], running=[nan, 2])
    other = _series([0, 1], running=[1, 1], waiting=[nan, nan])
    both = together([one, other])
    assert both.columns["running"].tolist() == [1, 3]
    assert np.isnan(both.columns["waiting"]).all()
