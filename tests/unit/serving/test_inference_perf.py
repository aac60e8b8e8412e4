"""inference-perf: a stage is a run; summaries, single requests and settings are of no use."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.other_formats import inference_perf, inference_perf_server, keys_of_notes, read

from nsightlens.errors import ServingFileError

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Part

_STAGE = "stage_3_lifecycle_metrics.json"
_SERVER = "stage_3_prometheus_metrics.json"


def _read(folder: Path, top: dict[str, Any], name: str = _STAGE) -> Part:
    (part,) = read(folder, name, top, "inference-perf")
    return part


def test_seconds_become_milliseconds(tmp_path: Path) -> None:
    """Neither unit stands in the file."""
    values = _read(tmp_path, inference_perf()).values
    assert values["mean_itl_ms"] == pytest.approx(12.1)
    assert values["mean_tpot_ms"] == pytest.approx(12.0)
    assert values["median_tpot_ms"] == pytest.approx(11.9)
    assert values["p99_ttft_ms"] == pytest.approx(900.0)
    assert values["mean_e2e_ms"] == pytest.approx(1500.0)


def test_the_median_between_tokens_of_one_read_is_left_out(tmp_path: Path) -> None:
    """The mean and the 99th percentile stay, and so does the median of TPOT."""
    part = _read(tmp_path, inference_perf())
    assert "median_itl_ms" not in part.values
    assert part.values["p99_itl_ms"] == pytest.approx(170.0)
    assert keys_of_notes(part) == ["itl_median_unusable"]


def test_load_counts_and_what_follows_from_them_are_read(tmp_path: Path) -> None:
    """The duration is completed over rate, the concurrency Little's."""
    part = _read(tmp_path, inference_perf())
    expected = {
        "completed_count": 98, "failed_count": 2, "prompt_count": 100, "request_rate_per_s": 5.0,
        "requests_per_s": 4.9, "output_tok_per_s": 310.0, "total_tok_per_s": 1290.0,
        "mean_input_tokens": 200.0, "mean_output_tokens": 63.0,
    }  # fmt: skip
    assert expected.items() <= part.values.items()
    assert part.values["duration_s"] == pytest.approx(20.0)
    assert part.values["concurrency"] == pytest.approx(4.9 * 1.5)
    assert {"duration_s", "concurrency"} <= set(part.derived)


def test_a_stage_is_named_by_its_number(tmp_path: Path) -> None:
    """What comes before it is shared with the metrics of the server."""
    part = _read(tmp_path, inference_perf(), "x_stage_12_lifecycle_metrics.json")
    assert (part.where, part.run_key) == ("stage 12", "x_stage_12")


def test_a_stage_that_completed_less_than_was_asked_for_is_saturated(tmp_path: Path) -> None:
    """95 % is the edge; what the client itself could not send is said."""
    top = inference_perf()
    top["load_summary"]["requested_rate"] = 4.9 / 0.951
    assert "saturated" not in keys_of_notes(_read(tmp_path, top))
    top["load_summary"]["requested_rate"] = 4.9 / 0.949
    note = _read(tmp_path, top).notes[-1]
    assert note.key == "saturated"
    assert "client itself" not in note.text
    top["load_summary"]["requested_rate"] = 20.0
    assert "The client itself sent only 5.2" in _read(tmp_path, top).notes[-1].text


def test_a_fixed_concurrency_has_no_rate(tmp_path: Path) -> None:
    """All requests are queued within a second, which is no rate that was missed."""
    top = inference_perf()
    top["load_summary"] |= {"requested_rate": 100.0, "concurrency": 8}
    part = _read(tmp_path, top)
    assert part.values["max_concurrency"] == 8
    assert "request_rate_per_s" not in part.values
    assert "saturated" not in keys_of_notes(part)


def test_lengths_and_duration_of_0_7_are_read(tmp_path: Path) -> None:
    """They have other names, and what was found in the prefix cache is counted."""
    top = inference_perf()
    del top["successes"]["prompt_len"]
    top["successes"]["prompt_tokens"] = {"total": 19600.0, "cached": 4900.0, "mean": 200.0}
    top["benchmark_time_seconds"] = 21.0
    values = _read(tmp_path, top).values
    assert values["mean_input_tokens"] == 200.0
    assert values["prefix_hit_pct"] == 25.0
    assert values["duration_s"] == 21.0


def test_without_streaming_there_is_no_time_between_tokens(tmp_path: Path) -> None:
    """Null is not zero."""
    top = inference_perf()
    for name in ("time_per_output_token", "time_to_first_token", "inter_token_latency"):
        top["successes"]["latency"][name] = None
    part = _read(tmp_path, top)
    assert not [name for name in part.values if "itl" in name or "tpot" in name or "ttft" in name]
    assert part.notes == ()


def test_summaries_pool_all_stages(tmp_path: Path) -> None:
    """By their name, or by what they lack where they were renamed."""
    top = inference_perf()
    with pytest.raises(ServingFileError, match="pools all stages"):
        _read(tmp_path, top, "summary_lifecycle_metrics.json")
    top["load_summary"] = {"count": 100}
    with pytest.raises(ServingFileError, match="pools all stages"):
        _read(tmp_path, top, "renamed.json")
    assert _read(tmp_path, top).values["completed_count"] == 98


def test_the_requests_of_one_adapter_are_not_all(tmp_path: Path) -> None:
    """Others ran beside them."""
    with pytest.raises(ServingFileError, match="one adapter"):
        _read(tmp_path, inference_perf(), "adapter_a_stage_0_lifecycle_metrics.json")


def test_a_stage_of_which_all_failed_is_refused(tmp_path: Path) -> None:
    """It has no latencies."""
    top = inference_perf()
    top["successes"] = {"count": 0, "latency": {"request_latency": None}, "throughput": {}}
    with pytest.raises(ServingFileError, match="all 100 requests failed"):
        _read(tmp_path, top)


def test_a_zero_of_the_server_is_a_metric_that_was_not_found(tmp_path: Path) -> None:
    """The use of the cache is a fraction, whatever its name says."""
    (part,) = read(tmp_path, _SERVER, inference_perf_server(), "inference-perf-server")
    assert part.kind == "server"
    assert part.run_key == "stage_3"
    assert part.values == {"mean_waiting": 3.0, "kv_mean_pct": 25.0}


def test_a_server_of_zeros_alone_is_refused(tmp_path: Path) -> None:
    """Nothing was found."""
    top = inference_perf_server()
    top["successes"] = {"queue_len": {"mean": 0}, "kv_cache_usage_percentage": {"mean": 0.0}}
    with pytest.raises(ServingFileError, match="no metric of the server but zeros"):
        read(tmp_path, _SERVER, top, "inference-perf-server")


def test_preemptions_are_a_count_where_they_are_of_the_stage(tmp_path: Path) -> None:
    """Before 0.7 the mean of the counter was written, which began before the stage."""
    top = inference_perf_server()
    top["successes"]["num_preemptions_total"] = {"mean": 12}
    (part,) = read(tmp_path, _SERVER, top, "inference-perf-server")
    assert "preemption_count" not in part.values
    assert keys_of_notes(part) == ["preemptions_since_start"]
    top["successes"]["num_requests_running"] = {"mean": 30.5}
    (part,) = read(tmp_path, _SERVER, top, "inference-perf-server")
    assert (part.values["preemption_count"], part.values["mean_running"]) == (12, 30.5)


def test_the_summary_of_the_server_is_refused(tmp_path: Path) -> None:
    """It pools all stages too."""
    name = "summary_prometheus_metrics.json"
    with pytest.raises(ServingFileError, match="pools all stages"):
        read(tmp_path, name, inference_perf_server(), "inference-perf-server")


def test_single_requests_are_refused(tmp_path: Path) -> None:
    """They are a list."""
    one = {"start_time": 1.0, "end_time": 2.0, "request": "{}", "response": "x", "info": {}}
    with pytest.raises(ServingFileError, match="single requests"):
        read(tmp_path, "per_request_lifecycle_metrics.json", [one], "inference-perf-requests")


def test_settings_are_refused(tmp_path: Path) -> None:
    """They say how it was to run; no YAML library is needed to see that."""
    text = "api:\n  type: chat\ndata:\n  type: random\nload:\n  type: constant\nserver:\n  x: y\n"
    with pytest.raises(ServingFileError, match="how inference-perf was to run"):
        read(tmp_path, "config.yaml", text, "inference-perf-config")


def test_a_manifest_is_refused(tmp_path: Path) -> None:
    """It holds no measurement."""
    text = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: x\n---\nkind: Service\n"
    with pytest.raises(ServingFileError, match="manifest of Kubernetes"):
        read(tmp_path, "manifests.yaml", text, "kubernetes-manifest")


def test_a_stage_that_was_cut_is_refused_with_the_place(tmp_path: Path) -> None:
    """It is known by its beginning."""
    text = json.dumps(inference_perf())[:300]
    with pytest.raises(ServingFileError, match=r"ends early|is no JSON"):
        read(tmp_path, _STAGE, text, "inference-perf")
