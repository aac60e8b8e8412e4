"""llm-d's benchmark report: every unit is read, and the servers that decode give the settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.other_formats import LLM_D, keys_of_notes, read

from nsightlens.errors import ServingFileError

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Part

yaml = pytest.importorskip("yaml")


def _report(**changes: Any) -> dict[str, Any]:
    return {**yaml.safe_load(LLM_D), **changes}


def _read(folder: Path, content: Any) -> Part:
    kind = "llm-d-report-yaml" if isinstance(content, str) else "llm-d-report"
    name = "report.yaml" if isinstance(content, str) else "report.json"
    (part,) = read(folder, name, content, kind)
    return part


def test_each_latency_is_in_its_own_unit(tmp_path: Path) -> None:
    """Seconds, milliseconds and microseconds stand side by side."""
    values = _read(tmp_path, LLM_D).values
    assert values["mean_e2e_ms"] == 1250.0
    assert values["mean_ttft_ms"] == 80.0
    assert values["p99_tpot_ms"] == pytest.approx(30.0)
    assert values["median_itl_ms"] == pytest.approx(16.0)


def test_each_rate_is_in_its_own_unit(tmp_path: Path) -> None:
    """327,744 tokens per minute are 5462.4 per second."""
    values = _read(tmp_path, LLM_D).values
    assert values["requests_per_s"] == 9.5
    assert values["output_tok_per_s"] == 603.0
    assert values["total_tok_per_s"] == pytest.approx(5462.4)


def test_a_latency_without_a_unit_is_left_out(tmp_path: Path) -> None:
    """No factor of a thousand is guessed."""
    report = _report()
    latency = report["results"]["request_performance"]["aggregate"]["latency"]
    del latency["request_latency"]["units"]
    part = _read(tmp_path, report)
    assert "mean_e2e_ms" not in part.values
    assert keys_of_notes(part) == ["unusable_value"]


def test_counts_duration_and_load_are_read(tmp_path: Path) -> None:
    """The duration is ISO 8601; an infinite concurrency is no limit."""
    values = _read(tmp_path, LLM_D).values
    expected = {
        "prompt_count": 200, "failed_count": 4, "completed_count": 196, "duration_s": 20.5,
        "request_rate_per_s": 10.0, "workload": "in512_out64", "mean_input_tokens": 511.5,
    }  # fmt: skip
    assert expected.items() <= values.items()
    assert "max_concurrency" not in values


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [("PT1M5.5S", 65.5), ("PT2H", 7200.0), ("P1DT1S", 86401.0), (33.5, 33.5), ("soon", None)],
)
def test_a_duration_is_iso_8601_or_seconds(
    tmp_path: Path, duration: Any, seconds: float | None
) -> None:
    """What is neither is left out."""
    part = _read(tmp_path, _report(run={"time": {"duration": duration}}))
    assert part.values.get("duration_s") == seconds


def test_settings_of_the_engine_are_read(tmp_path: Path) -> None:
    """From the standardized part, and from its command line."""
    expected = {
        "model": "model-7b", "engine": "vllm", "engine_version": "0.11.0", "device_name": "H100",
        "gpu_count": 2, "tensor_parallel_size": 2, "max_num_seqs": 64, "prefix_caching": False,
        "gpu_memory_utilization": 0.9,
    }  # fmt: skip
    assert expected.items() <= _read(tmp_path, LLM_D).values.items()


def test_what_ran_is_of_the_engine_and_not_of_a_router(tmp_path: Path) -> None:
    """Both have running requests."""
    part = _read(tmp_path, LLM_D)
    expected = {
        "mean_running": 11.5, "max_running": 20.0, "mean_waiting": 0.5, "kv_mean_pct": 40.0,
        "kv_peak_pct": 71.5, "running_source": "result",
    }  # fmt: skip
    assert expected.items() <= part.values.items()
    assert "components[0]" in part.wheres["mean_running"]


def test_several_servers_and_split_roles_are_told_of(tmp_path: Path) -> None:
    """Settings are of the servers that decode."""
    report = _report()
    decode = report["scenario"]["stack"][0]
    decode["standardized"]["replicas"] = 3
    prefill = json.loads(json.dumps(decode))
    prefill["standardized"] |= {"role": "prefill", "replicas": 1}
    prefill["standardized"]["accelerator"]["count"] = 1
    report["scenario"]["stack"] = [prefill, decode]
    part = _read(tmp_path, report)
    assert part.values["gpu_count"] == 2
    assert "replicas" not in part.values  # they do not share a GPU
    assert {"prefill_decode_split", "several_servers"} <= set(keys_of_notes(part))


def test_a_report_0_1_is_read(tmp_path: Path) -> None:
    """It has a list per property, and rates with their unit in the name."""
    report = {
        "version": "0.1",
        "scenario": {
            "host": {
                "type": ["replica"],
                "accelerator": [{"model": "H100", "count": 1, "parallelism": {"tp": 1}}],
            },
            "platform": {"engine": [{"name": "vllm", "version": "0.9.0", "args": {}}]},
            "model": {"name": "org/m", "quantization": "fp8"},
            "load": {"type": "long-input", "args": {"qps_values": 1.5}},
        },
        "metrics": {
            "time": {"duration": 16.5},
            "requests": {"total": 32, "failures": 1, "incomplete": 2},
            "latency": {"request_latency": {"units": "s", "mean": 3.0, "p50": 2.0}},
            "throughput": {"output_tokens_per_sec": 32.5, "requests_per_sec": 1.0},
            "service": {"batch_size": {"units": "count", "mean": 2.5}},
        },
    }
    part = _read(tmp_path, report)
    expected = {
        "completed_count": 29, "mean_e2e_ms": 3000.0, "median_e2e_ms": 2000.0, "duration_s": 16.5,
        "output_tok_per_s": 32.5, "requests_per_s": 1.0, "mean_running": 2.5, "model": "m",
        "quantization": "fp8", "request_rate_per_s": 1.5, "workload": "long-input",
        "concurrency": 3.0,
    }  # fmt: skip
    assert expected.items() <= part.values.items()
    assert "survivor_bias" in keys_of_notes(part)


def test_a_version_at_the_end_is_found(tmp_path: Path) -> None:
    """Keys stand in any order."""
    head, rest = LLM_D.split("\n", 1)
    assert _read(tmp_path, rest + head + "\n").values == _read(tmp_path, LLM_D).values


def test_a_report_without_a_scenario_is_read(tmp_path: Path) -> None:
    """But not inference-perf's, which repeats the metrics of a stage."""
    text = LLM_D[: LLM_D.index("scenario:")] + LLM_D[LLM_D.index("results:") :]
    assert _read(tmp_path, text).values["requests_per_s"] == 9.5
    with pytest.raises(ServingFileError, match="repeats"):
        read(tmp_path, "inference-perf.partial.stage_0.yaml", text, "llm-d-report-yaml")


def test_the_time_per_token_of_guidellm_is_none(tmp_path: Path) -> None:
    """It includes the time to the first token, whoever reports it."""
    report = _report()
    report["scenario"]["load"]["standardized"]["tool"] = "guidellm"
    part = _read(tmp_path, report)
    assert not any("tpot" in name for name in part.values)
    assert part.values["mean_itl_ms"] == pytest.approx(18.2)
    assert keys_of_notes(part) == ["tpot_includes_ttft"]


def test_json_says_the_same_as_yaml(tmp_path: Path) -> None:
    """But for the infinite number, which JSON writes otherwise."""
    report = _report()
    assert _read(tmp_path, report).values == _read(tmp_path, LLM_D).values


def test_a_report_of_which_all_failed_is_refused(tmp_path: Path) -> None:
    """Its latencies are none."""
    with pytest.raises(ServingFileError, match="all 200 requests failed"):
        _read(tmp_path, LLM_D.replace("failures: 4", "failures: 200"))


def test_a_yaml_that_was_cut_is_refused_with_its_line(tmp_path: Path) -> None:
    """In the middle of a mapping."""
    with pytest.raises(ServingFileError, match="is no YAML at line"):
        _read(tmp_path, LLM_D[: LLM_D.index("p50: 16000")])
