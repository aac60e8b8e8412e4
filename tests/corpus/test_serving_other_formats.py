"""Real results of other serving benchmarks: numbers as they stand in the files, by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.other_formats import keys_of_notes

from nsightlens.errors import ServingFileError
from nsightlens.serving.formats import format_of
from nsightlens.serving.opened import OpenedFile

if TYPE_CHECKING:
    from nsightlens.serving.part import Part

pytestmark = pytest.mark.corpus

_FOLDERS = (
    "guidellm", "inference_perf", "inferencex", "llama_batched_bench", "llm_d_benchmark_report",
    "llmperf", "trtllm_bench",
)  # fmt: skip


@pytest.fixture(scope="module")
def others() -> Path:
    """Return the folder of real results of other benchmarks, or skip."""
    folder = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "serving" / "other"
    if not folder.is_dir():
        pytest.skip("the corpus of real serving results does not lie beside this checkout")
    return folder


def _read(others: Path, pattern: str, kind: str) -> list[Part]:
    (path,) = others.glob(pattern)
    file = OpenedFile(path)
    found = format_of(file)
    assert found is not None
    assert found.name == kind
    return found.read(file)


def _has(part: Part, **expected: object) -> None:
    assert {name: part.values.get(name) for name in expected} == pytest.approx(expected)


def test_every_file_is_read_or_refused_with_a_reason(others: Path) -> None:
    """None is unknown, and none is claimed by a format of another tool."""
    pytest.importorskip("yaml")
    counts: dict[str, list[int]] = {}
    for folder in _FOLDERS:
        for path in sorted((others / folder).iterdir()):
            file = OpenedFile(path)
            found = format_of(file)
            assert found is not None, path.name
            try:
                runs = len(found.read(file))
            except ServingFileError:
                runs = 0
            counts.setdefault(found.name, []).append(runs)
    assert {name: (len(runs), sum(runs)) for name, runs in counts.items()} == {
        "guidellm": (1, 2),
        "inference-perf": (8, 7),
        "inference-perf-server": (8, 7),
        "inference-perf-config": (1, 0),
        "kubernetes-manifest": (4, 0),
        "inferencex": (26, 26),
        "llama-batched-bench": (1, 42),
        "llm-d-report-yaml": (3, 3),
        "llmperf": (2, 2),
        "trtllm-bench-console": (1, 1),
    }


def test_guidellm(others: Path) -> None:
    """Two benchmarks of a rate, whose limit of 10240 is no batch."""
    parts = _read(others, "guidellm/*.json", "guidellm")
    _has(
        parts[0],
        completed_count=2, failed_count=0, request_rate_per_s=2.0, max_concurrency=None,
        mean_itl_ms=1.1508464813232422, median_itl_ms=1.0459763663155692, mean_tpot_ms=None,
        mean_ttft_ms=11.481165885925293, mean_e2e_ms=19.78909969329834,
        requests_per_s=0.39843430656414264, output_tok_per_s=3.1950675815128577,
        total_tok_per_s=31.75098409128402, concurrency=0.007884656213828013,
        mean_input_tokens=71.5, mean_output_tokens=8.0, duration_s=5.01964807510376,
    )  # fmt: skip
    assert parts[0].values["model"] == "e2e-mock-model"
    assert parts[0].values["workload"] == "in32_out8"
    _has(parts[1], request_rate_per_s=4.0, mean_itl_ms=1.0904414313180106)


def test_inference_perf(others: Path) -> None:
    """Stage 3 asked for 118.56 requests per second and completed 75.5."""
    pattern = "inference_perf/*stage_{}_lifecycle_metrics.json"
    (part,) = _read(others, pattern.format(3), "inference-perf")
    _has(
        part,
        completed_count=7113, failed_count=0, request_rate_per_s=118.56,
        requests_per_s=75.47864152919294, output_tok_per_s=4729.527969088627,
        total_tok_per_s=19828.259291313094, mean_itl_ms=12.196454954685292, median_itl_ms=None,
        p99_itl_ms=175.96450920216739, mean_tpot_ms=12.19645495468529,
        median_tpot_ms=12.089044682306144, mean_ttft_ms=3939.456935812729,
        mean_e2e_ms=5515.044372924829, mean_input_tokens=200.03978630676227,
        concurrency=75.47864152919294 * 5.515044372924829,
    )  # fmt: skip
    assert keys_of_notes(part) == ["itl_median_unusable", "saturated"]
    (first,) = _read(others, pattern.format(0), "inference-perf")
    assert keys_of_notes(first) == ["itl_median_unusable"]


def test_the_server_of_inference_perf(others: Path) -> None:
    """The cache was used to 4.88 % on average; what is zero was not found."""
    pattern = "inference_perf/*stage_3_prometheus_metrics.json"
    (part,) = _read(others, pattern, "inference-perf-server")
    assert part.values == pytest.approx({"mean_waiting": 221.0, "kv_mean_pct": 4.8798})


@pytest.mark.parametrize(
    ("pattern", "kind", "reason"),
    [
        ("*summary_lifecycle*", "inference-perf", "pools all stages"),
        ("*summary_prometheus*", "inference-perf-server", "pools all stages"),
        ("*config.yaml", "inference-perf-config", "how inference-perf was to run"),
        ("*eagle_manifests.yaml", "kubernetes-manifest", "manifest of Kubernetes"),
    ],
)
def test_what_is_of_no_use(others: Path, pattern: str, kind: str, reason: str) -> None:
    """Summaries, settings and manifests are refused."""
    with pytest.raises(ServingFileError, match=reason):
        _read(others, f"inference_perf/{pattern}", kind)


def test_llm_d_reports(others: Path) -> None:
    """Units are read as they stand: the first example calls its seconds milliseconds."""
    pytest.importorskip("yaml")
    pattern = "llm_d_benchmark_report/*br_v{}_example.yaml"
    (first,) = _read(others, pattern.format("0_1"), "llm-d-report-yaml")
    _has(
        first,
        prompt_count=32, failed_count=0, completed_count=31, mean_e2e_ms=3.31325431142327,
        median_ttft_ms=0.203539535985328, mean_itl_ms=0.0836929455635872, p99_itl_ms=None,
        output_tok_per_s=32.544923821416, requests_per_s=1.0238155253639, gpu_count=8,
        tensor_parallel_size=8, duration_s=16.531641244888306, request_rate_per_s=1.34,
    )  # fmt: skip
    assert {"latency_implausible", "survivor_bias"} <= set(keys_of_notes(first))
    for version in ("0_2", "0_2_1"):
        (part,) = _read(others, pattern.format(version), "llm-d-report-yaml")
        _has(
            part,
            prompt_count=500, completed_count=500, mean_ttft_ms=36.8578234128654,
            p99_ttft_ms=50.294897216372185, mean_itl_ms=36.8578234128654,
            requests_per_s=2262.448, duration_s=49.97206788184121, request_rate_per_s=10.0,
            max_concurrency=None, max_model_len=1024, block_size=1024, mean_running=24.6,
            max_running=62.0, mean_waiting=3.2, kv_mean_pct=42.5, kv_peak_pct=92.1,
        )  # fmt: skip
        assert part.values["workload"] == "in2148_out1000"
        assert {"several_servers", "rates_disagree"} <= set(keys_of_notes(part))


def test_llmperf(others: Path) -> None:
    """Its inter token latency of 15.8 ms includes the first token: 14.4 ms follow from means."""
    (part,) = _read(others, "llmperf/*anyscale_70b.json", "llmperf")
    _has(
        part,
        completed_count=150, max_concurrency=5, mean_ttft_ms=248.90269464666667,
        p99_e2e_ms=3705.7007264000186, output_tok_per_s=207.52121071152493,
        requests_per_s=84.73327721639254 / 60, mean_itl_ms=None,
        mean_tpot_ms=(2354.6667737533324 - 248.90269464666667) / (146.94666666666666 - 1),
    )  # fmt: skip
    (part,) = _read(others, "llmperf/*groq_70b.json", "llmperf")
    assert part.values["mean_tpot_ms"] == pytest.approx(3.941, rel=1e-3)


def test_inferencex(others: Path) -> None:
    """26 ms per token stand there as 0.026."""
    (part,) = _read(others, "inferencex/*dep8_isl1024_osl128_conc48.json", "inferencex")
    _has(
        part,
        prompt_count=480, completed_count=480, failed_count=0, max_concurrency=48,
        duration_s=51.190334897488356, requests_per_s=9.376770067264223,
        output_tok_per_s=1200.2265686098206, total_tok_per_s=9601.812548878564 + 1200.2265686098206,
        median_tpot_ms=26.04818938109349, p99_tpot_ms=37.218516771644936,
        median_ttft_ms=1647.8123511187732, median_e2e_ms=4983.939467463642, mean_itl_ms=None,
        **{"?tensor_parallel_size": 1, "?gpu_count": 8},
    )  # fmt: skip
    assert math.isinf(part.values["request_rate_per_s"])
    assert part.values["?workload"] == "in1024_out128"


def test_trtllm_bench(others: Path) -> None:
    """Its token throughput is of output: 3000 x 128 tokens in 13.5 s."""
    (part,) = _read(others, "trtllm_bench/*.txt", "trtllm-bench-console")
    _has(
        part,
        prompt_count=3000, output_tok_per_s=28390.4265, total_tok_per_s=None,
        requests_per_s=221.8002, duration_s=13.5256862, max_num_seqs=4096,
        max_num_batched_tokens=8192, max_model_len=256, tensor_parallel_size=1, concurrency=None,
    )  # fmt: skip
    assert part.values["engine_version"] == "0.17.0"
    assert math.isinf(part.values["request_rate_per_s"])


def test_llama_batched_bench(others: Path) -> None:
    """Four models in one file, of which three begin with their warm-up."""
    parts = _read(others, "llama_batched_bench/*.md", "llama-batched-bench")
    rows: dict[tuple[str, str], list[Part]] = {}
    for part in parts:
        key = (str(part.values["model"]), str(part.values["workload"]))
        rows.setdefault(key, []).append(part)
    assert list(rows) == [
        ("gpt-oss-20b", "in512_out32"), ("gpt-oss-20b", "in8192_out32"),
        ("gpt-oss-120b", "in512_out32"), ("Qwen3-Coder-30B-A3B", "in512_out32"),
        ("Qwen2.5-Coder-7B", "in512_out32"), ("Qwen2.5-Coder-7B", "in4096_out32"),
        ("Qwen2.5-Coder-7B", "in8192_out32"),
    ]  # fmt: skip
    for found in rows.values():
        assert [part.values["static_batch_size"] for part in found] == [1, 2, 4, 8, 16, 32]
    _has(
        rows["Qwen2.5-Coder-7B", "in512_out32"][-1],
        mean_itl_ms=1.726e3 / 32, decode_tok_per_s=593.27, total_tok_per_s=2004.95,
        duration_s=8.683, output_tok_per_s=32 * 32 / 8.683,
    )  # fmt: skip
    assert rows["Qwen2.5-Coder-7B", "in512_out32"][-1].values["quantization"] == "Q8_0"
    noted = {part.where: keys_of_notes(part) for part in parts if part.notes}
    assert noted == {f"line {number}": ["warm_up_in_run"] for number in (7, 26, 39)}
