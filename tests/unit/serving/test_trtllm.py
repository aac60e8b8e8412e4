"""trtllm-bench: its report as JSON and on the console; a limit is no batch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from support.other_formats import TRTLLM_CONSOLE, keys_of_notes, read, trtllm

from nsightlens.errors import ServingFileError

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Part


def _read(folder: Path, top: dict[str, Any]) -> Part:
    (part,) = read(folder, "report.json", top, "trtllm-bench")
    return part


def test_what_ran_is_the_mean_of_concurrent_requests(tmp_path: Path) -> None:
    """The largest batch is a limit."""
    values = _read(tmp_path, trtllm()).values
    assert (values["concurrency"], values["max_num_seqs"]) == (812.5, 4096)


def test_performance_is_read(tmp_path: Path) -> None:
    """Everything is in milliseconds but what says otherwise."""
    expected = {
        "duration_s": 12.5, "requests_per_s": 240.0, "output_tok_per_s": 24000.0,
        "total_tok_per_s": 54720.0, "mean_e2e_ms": 3385.0, "median_e2e_ms": 3300.0,
        "p99_e2e_ms": 4000.0, "mean_tpot_ms": 30.0, "median_tpot_ms": 29.0, "p99_tpot_ms": 41.0,
        "completed_count": 3000, "workload": "in128_out100",
    }  # fmt: skip
    assert expected.items() <= _read(tmp_path, trtllm()).values.items()


def test_percentiles_are_in_the_unit_in_which_their_average_is_the_mean(tmp_path: Path) -> None:
    """Nanoseconds here; where it is neither, they are left out."""
    values = _read(tmp_path, trtllm()).values
    assert (values["median_ttft_ms"], values["p99_ttft_ms"]) == pytest.approx((410.0, 900.0))
    top = trtllm()
    top["streaming_metrics"]["ttft_percentiles"]["average"] = 7.0
    part = _read(tmp_path, top)
    assert "median_ttft_ms" not in part.values
    assert part.values["mean_ttft_ms"] == 420.0
    assert keys_of_notes(part) == ["unusable_value"]


def test_settings_are_read(tmp_path: Path) -> None:
    """All at once is no rate of 5e14."""
    values = _read(tmp_path, trtllm()).values
    expected = {
        "engine": "tensorrt-llm", "engine_version": "1.0.0", "model": "Llama-3.1-8B",
        "dtype": "bfloat16", "kv_cache_dtype": "FP8", "quantization": "FP8", "gpu_count": 2,
        "tensor_parallel_size": 2, "device_name": "NVIDIA H200", "total_memory_gib": 139.8,
    }  # fmt: skip
    assert expected.items() <= values.items()
    assert math.isinf(values["request_rate_per_s"])
    assert "speculative" not in values


def test_without_streaming_there_is_no_time_per_token(tmp_path: Path) -> None:
    """And the machine may be null."""
    top = {**trtllm(), "machine": None}
    del top["streaming_metrics"]
    values = _read(tmp_path, top).values
    assert not [name for name in values if "tpot" in name or "ttft" in name or "itl" in name]
    assert values["mean_e2e_ms"] == 3385.0


def test_the_console_is_read_within_a_log(tmp_path: Path) -> None:
    """Thousands have separators; None is nothing."""
    (part,) = read(tmp_path, "run.txt", TRTLLM_CONSOLE, "trtllm-bench-console")
    expected = {
        "prompt_count": 1000, "concurrency": 101.5, "max_num_seqs": 512, "output_tok_per_s": 2500.0,
        "total_tok_per_s": 5700.0, "duration_s": 40.0, "mean_tpot_ms": 40.0, "p99_tpot_ms": 55.0,
        "median_e2e_ms": 4000.0, "gpu_count": 4, "tensor_parallel_size": 2,
        "request_rate_per_s": 25.5, "model": "model-7b", "requests_per_s": 25.0,
    }  # fmt: skip
    assert expected.items() <= part.values.items()
    assert "kv_cache_dtype" not in part.values
    assert part.where == "line 4"


def test_token_throughput_of_0_17_is_of_output(tmp_path: Path) -> None:
    """Later releases say which."""
    text = TRTLLM_CONSOLE.replace("Total Output Throughput", "Token Throughput")
    text = text.replace("Total Token Throughput", "Other")
    (part,) = read(tmp_path, "run.txt", text, "trtllm-bench-console")
    assert part.values["output_tok_per_s"] == 2500.0
    assert "total_tok_per_s" not in part.values


def test_two_reports_of_one_log_are_two_runs(tmp_path: Path) -> None:
    """Each begins with its engine; one that was cut before its results is none."""
    second = TRTLLM_CONSOLE.replace("2,500.0000", "3,500.0000")
    cut = TRTLLM_CONSOLE.split("= PERFORMANCE")[0]
    text = TRTLLM_CONSOLE + second + cut
    parts = read(tmp_path, "run.txt", text, "trtllm-bench-console")
    assert [part.values["output_tok_per_s"] for part in parts] == [2500.0, 3500.0]
    assert len({part.run_key for part in parts}) == 2


def test_a_console_without_numbers_is_refused(tmp_path: Path) -> None:
    """The heading alone is no result."""
    with pytest.raises(ServingFileError, match="neither a latency nor a throughput"):
        read(tmp_path, "run.txt", "= PERFORMANCE OVERVIEW\n=====\n", "trtllm-bench-console")
