"""Small results of serving benchmarks other than vLLM's and SGLang's, as their tools write them.

Only keys that their sources name; numbers are made up so that none is equal to another.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nsightlens.serving.formats import format_of
from nsightlens.serving.opened import OpenedFile

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Part

__all__ = ["SAMPLES", "keys_of_notes", "read", "write"]


def write(folder: Path, name: str, content: Any) -> OpenedFile:
    """Write a file, JSON where the content is no text, and open it."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return OpenedFile(path, name)


def read(folder: Path, name: str, content: Any, kind: str) -> list[Part]:
    """Write a file and read it by the format that claims it first."""
    file = write(folder, name, content)
    found = format_of(file)
    assert found is not None, f"{name} is claimed by no format"
    assert found.name == kind
    return found.read(file)


def keys_of_notes(part: Part) -> list[str]:
    """Return the keys of a part's notes."""
    return [note.key for note in part.notes]


def _statistic(
    unit: str, mean: float, median: float | None = None, p99: float | None = None
) -> Any:
    more = {} if median is None else {"p50": median, "p99": p99}
    return {"unit": unit, "avg": mean, **more}


def genai_perf() -> dict[str, Any]:
    """Return what genai-perf 0.0.16 writes."""
    return {
        "request_throughput": _statistic("requests/sec", 4.0),
        "request_latency": _statistic("ms", 2000.0, 1900.0, 2500.0),
        "request_count": _statistic("count", 80.0),
        "time_to_first_token": _statistic("ms", 60.0, 55.0, 99.0),
        "inter_token_latency": _statistic("ms", 15.0, 14.0, 21.0),
        "output_token_throughput": _statistic("tokens/sec", 520.0),
        "output_token_throughput_per_user": _statistic("tokens/sec/user", 66.0, 65.0, 70.0),
        "output_sequence_length": _statistic("tokens", 130.0, 128.0, 140.0),
        "input_sequence_length": _statistic("tokens", 550.0, 551.0, 560.0),
        "input_config": {
            "model_names": ["meta-llama/Llama-3.1-8B"],
            "perf_analyzer": {"stimulus": {"concurrency": 8}},
            "input": {"synthetic_tokens": {"mean": 550}, "output_tokens": {"mean": 128}},
        },
    }


def aiperf() -> dict[str, Any]:
    """Return what AIPerf 0.10 writes."""
    return {
        "schema_version": "1.3",
        "aiperf_version": "0.10.0",
        **{key: value for key, value in genai_perf().items() if key != "input_config"},
        "inter_chunk_latency": _statistic("ms", 16.0, 13.0, 30.0),
        "total_token_throughput": _statistic("tokens/sec", 2720.0),
        "benchmark_duration": _statistic("sec", 20.0),
        "total_isl": _statistic("tokens", 44000.0),
        "total_osl": _statistic("tokens", 10400.0),
        "error_request_count": _statistic("requests", 3.0),
        "input_config": {
            "models": {"strategy": "round_robin", "items": [{"name": "Qwen/Qwen3-8B"}]},
            "datasets": [{"type": "synthetic", "prompts": {"isl": {"mean": 550}, "osl": 128}}],
            "phases": [
                {"name": "warm", "kind": "warmup", "exclude_from_results": True, "concurrency": 2},
                {"name": "profiling", "kind": "profiling", "concurrency": 8},
            ],
        },
        "was_cancelled": False,
        "error_summary": [{"error_details": {"code": 500}, "count": 3}],
    }


GENAI_CSV = """Metric,avg,min,max,p99,p95,p90,p75,p50,p25,p10,p5,p1
Time To First Token (ms),60.00,50.00,99.00,98.00,90.00,80.00,70.00,55.00,52.00,51.00,50.50,50.10
Request Latency (ms),"2,000.00","1,500.00","2,600.00","2,500.00",1,1,1,"1,900.00",1,1,1,1
Inter Token Latency (ms),15.00,12.00,22.00,21.00,20.00,19.00,16.00,14.00,13.00,12.50,12.20,12.10
Output Sequence Length (tokens),130.00,100.00,140.00,140.00,1,1,1,128.00,1,1,1,1

Metric,Value
Output Token Throughput (tokens/sec),"1,520.50"
Request Throughput (per sec),4.00
Request Count (count),80.00
"""


def _guidellm_values(mean: float, **more: Any) -> dict[str, Any]:
    found = {"mean": mean, "median": mean * 0.9, "percentiles": {"p99": mean * 2}, **more}
    nothing = {"mean": 0.0, "median": 0.0, "percentiles": {"p99": 0.0}, "count": 0}
    return {"successful": found, "errored": nothing, "incomplete": nothing, "total": found}


def guidellm_metrics() -> dict[str, Any]:
    """Return the metrics of a benchmark of GuideLLM."""
    return {
        "requests_per_second": _guidellm_values(5.0, median=7219.0),
        "request_concurrency": _guidellm_values(9.5),
        "request_latency": _guidellm_values(1.9),
        "prompt_token_count": _guidellm_values(256.0, total_sum=25600.0),
        "output_token_count": _guidellm_values(128.0, total_sum=12800.0),
        "time_to_first_token_ms": _guidellm_values(45.0),
        "time_per_output_token_ms": _guidellm_values(14.8),
        "inter_token_latency_ms": _guidellm_values(14.6),
        "output_tokens_per_second": _guidellm_values(640.0, median=1.0),
        "tokens_per_second": _guidellm_values(1920.0, median=2.0),
    }


def guidellm() -> dict[str, Any]:
    """Return what GuideLLM 0.5 writes: one benchmark of ten streams, one of a rate."""
    counts = {"successful": 100, "errored": 1, "incomplete": 0, "total": 101}
    strategies = (
        {"type_": "concurrent", "streams": 10, "max_concurrency": 10},
        {"type_": "constant", "rate": 5.0, "max_concurrency": 10240},
    )
    return {
        "metadata": {"version": 1, "guidellm_version": "0.5.2"},
        "args": {
            "model": "org/model-7b",
            "data": ["prompt_tokens=256,output_tokens=128"],
            "profile": "concurrent",
        },
        "benchmarks": [
            {
                "type_": "generative_benchmark",
                "config": {"strategy": strategy, "profile": {"type_": strategy["type_"]}},
                "scheduler_metrics": {"requests_made": counts},
                "metrics": guidellm_metrics(),
                "duration": 20.0,
            }
            for strategy in strategies
        ],
    }


def _spread(mean: float, median: float, p99: float) -> dict[str, float]:
    return {"mean": mean, "min": 0.0, "median": median, "p99": p99, "max": p99 * 2}


def inference_perf() -> dict[str, Any]:
    """Return what inference-perf writes of a stage."""
    return {
        "load_summary": {
            "count": 100, "send_duration": 19.0, "requested_rate": 5.0, "achieved_rate": 5.2,
        },
        "successes": {
            "count": 98,
            "latency": {
                "request_latency": _spread(1.5, 1.4, 2.0),
                "normalized_time_per_output_token": _spread(0.024, 0.023, 0.03),
                "time_per_output_token": _spread(0.012, 0.0119, 0.014),
                "time_to_first_token": _spread(0.3, 0.2, 0.9),
                "inter_token_latency": _spread(0.0121, 0.00015, 0.17),
            },
            "throughput": {
                "input_tokens_per_sec": 980.0, "output_tokens_per_sec": 310.0,
                "total_tokens_per_sec": 1290.0, "requests_per_sec": 4.9,
            },
            "prompt_len": {"mean": 200.0},
            "output_len": {"mean": 63.0},
        },
        "failures": {"count": 2, "request_latency": None},
    }  # fmt: skip


def inference_perf_server() -> dict[str, Any]:
    """Return what inference-perf writes of the server in a stage."""
    return {
        "load_summary": {},
        "successes": {
            "count": 98,
            "queue_len": {"mean": 3},
            "request_latency": {"mean": 1.4},
            "kv_cache_usage_percentage": {"mean": 0.25, "p99": 0.4},
            "num_preemptions_total": {"mean": 0},
            "prefix_cache_hit_percent": {"mean": 0.0},
        },
        "failures": {},
    }


LLM_D = """\
version: '0.2'
run:
  time: {duration: PT0M20.5S}
scenario:
  stack:
  - metadata: {label: decode-0}
    standardized:
      kind: inference_engine
      tool: vllm
      tool_version: 0.11.0
      role: decode
      replicas: 1
      model: {name: org/model-7b}
      accelerator: {model: H100, count: 2, parallelism: {tp: 2}}
    native:
      args: {--max-num-seqs: 64, --gpu-memory-utilization: 0.9, --no-enable-prefix-caching: null}
  load:
    standardized:
      rate_qps: 10
      concurrency: .inf
      input_seq_len: {distribution: fixed, value: 512}
      output_seq_len: {distribution: fixed, value: 64}
results:
  request_performance:
    aggregate:
      requests:
        total: 200
        failures: 4
        input_length: {units: count, mean: 511.5}
        output_length: {units: count, mean: 63.5}
      latency:
        request_latency: {units: s, mean: 1.25, p50: 1.2, p99: 2.5}
        time_to_first_token: {units: ms, mean: 80.0, p50: 70.0, p99: 160.0}
        time_per_output_token: {units: s/token, mean: 0.018, p50: 0.017, p99: 0.03}
        inter_token_latency: {units: us/token, mean: 18200.0, p50: 16000.0, p99: 41000.0}
      throughput:
        request_rate: {units: queries/s, mean: 9.5}
        output_token_rate: {units: tokens/s, mean: 603.0}
        total_token_rate: {units: tokens/min, mean: 327744.0}
  observability:
    components:
    - component_label: decode-0
      aggregate:
        running_requests: {units: count, mean: 11.5, max: 20}
        waiting_requests: {units: count, mean: 0.5}
        kv_cache_usage: {units: percent, mean: 40.0, max: 71.5}
    - component_label: router
      aggregate:
        running_requests: {units: count, mean: 99.0}
"""


def llmperf() -> dict[str, Any]:
    """Return what LLMPerf writes."""
    return {
        "version": "2023-08-31",
        "model": "meta-llama/Llama-2-7b-chat-hf",
        "mean_input_tokens": 550,
        "mean_output_tokens": 150,
        "num_concurrent_requests": 5,
        "results_inter_token_latency_s_mean": 0.0161,
        "results_inter_token_latency_s_quantiles_p50": 0.0151,
        "results_ttft_s_mean": 0.25,
        "results_ttft_s_quantiles_p50": 0.21,
        "results_ttft_s_quantiles_p99": 0.47,
        "results_end_to_end_latency_s_mean": 2.35,
        "results_end_to_end_latency_s_quantiles_p50": 2.26,
        "results_end_to_end_latency_s_quantiles_p99": 3.7,
        "results_number_input_tokens_mean": 551.0,
        "results_number_output_tokens_mean": 141.0,
        "results_number_output_tokens_min": "22",
        "results_num_requests_started": 150,
        "results_error_rate": 0.02,
        "results_number_errors": 3,
        "results_mean_output_throughput_token_per_s": 207.5,
        "results_num_completed_requests": 147,
        "results_num_completed_requests_per_min": 84.0,
    }


def inferencex() -> dict[str, Any]:
    """Return what the client of InferenceX writes: seconds without a suffix."""
    return {
        "date": "20260214-110230",
        "model_id": "MiniMaxAI/MiniMax-M2.5",
        "num_prompts": 480,
        "request_rate": "inf",
        "max_concurrency": 48,
        "duration": 50.0,
        "completed": 470,
        "total_input_tokens": 481280,
        "total_output_tokens": 60160,
        "request_throughput": 9.4,
        "request_goodput": None,
        "input_throughput": 9625.6,
        "output_throughput": 1203.2,
        "median_ttft": 1.65,
        "p99_ttft": 2.5,
        "median_tpot": 0.026,
        "p99_tpot": 0.037,
        "median_e2el": 4.98,
        "p99_e2el": 6.09,
    }


def inferencex_aggregated() -> dict[str, Any]:
    """Return what InferenceX makes of a client's result."""
    return {
        "hw": "h200",
        "conc": 64,
        "image": "vllm/vllm-openai:v0.11.0",
        "model": "org/model-70b",
        "framework": "trt",
        "precision": "fp8",
        "spec_decoding": "none",
        "disagg": False,
        "isl": 1024,
        "osl": 8192,
        "tp": 4,
        "ep": 1,
        "dp_attention": "false",
        "tput_per_gpu": 600.0,
        "output_tput_per_gpu": 530.0,
        "input_tput_per_gpu": 70.0,
        "mean_ttft": 0.2,
        "median_ttft": 0.18,
        "p99_ttft": 0.5,
        "mean_tpot": 0.0336,
        "mean_intvty": 29.8,
        "median_tpot": 0.0335,
        "p99_tpot": 0.04,
        "mean_itl": 0.034,
        "mean_e2el": 250.0,
    }


def trtllm() -> dict[str, Any]:
    """Return what trtllm-bench writes with ``--streaming``."""
    return {
        "engine": {
            "model": "meta-llama/Llama-3.1-8B", "version": "1.0.0", "backend": "Pytorch",
            "dtype": "bfloat16", "kv_cache_dtype": "FP8", "quantization": "FP8",
        },
        "machine": {"name": "NVIDIA H200", "memory.total": 139.8, "clocks.mem": 3.2},
        "world_info": {
            "tp_size": 2, "pp_size": 1, "world_size": 2, "max_batch_size": 4096,
            "max_num_tokens": 8192, "issue_rate": 5.0689e14,
        },
        "request_info": {
            "num_requests": 3000, "avg_num_concurrent_requests": 812.5,
            "avg_input_length": 128.0, "avg_output_length": 100.0,
        },
        "performance": {
            "total_latency_ms": 12500.0, "avg_request_latency_ms": 3385.0,
            "request_throughput_req_s": 240.0, "system_output_throughput_tok_s": 24000.0,
            "system_total_throughput_tok_s": 54720.0,
            "request_latency_percentiles_ms": {"p50": 3300.0, "p99": 4000.0, "average": 3385.0},
        },
        "streaming_metrics": {
            "avg_ttft_ms": 420.0, "avg_tpot_ms": 30.0,
            "tpot_percentiles": {"p50": 29.0, "p99": 41.0, "average": 30.0},
            "ttft_percentiles": {"p50": 4.1e8, "p99": 9e8, "average": 4.2e8},
        },
        "decoding_stats": None,
    }  # fmt: skip


TRTLLM_CONSOLE = """\
[01/18/2025-01:01:42] [TRT-LLM] [I] Benchmark complete.

===========================================================
= PYTORCH BACKEND
===========================================================
Model:                  org/model-7b
TensorRT-LLM Version:   1.0.0
Dtype:                  bfloat16
KV Cache Dtype:         None
Quantization:           FP8

===========================================================
= WORLD + RUNTIME INFORMATION
===========================================================
TP Size:                2
PP Size:                2
Max Runtime Batch Size: 512
Max Runtime Tokens:     8192
Issue Rate (req/sec):   25.5

===========================================================
= PERFORMANCE OVERVIEW
===========================================================
Number of requests:             1,000
Number of concurrent requests:  101.5
Average Input Length (tokens):  128.0000
Average Output Length (tokens): 100.0000
Request Throughput (req/sec):                     25.0000
Total Output Throughput (tokens/sec):             2,500.0000
Total Token Throughput (tokens/sec):              5,700.0000
Total Latency (ms):                               40,000.0000
Average request latency (ms):                     4,060.0000
Average time-to-first-token [TTFT] (ms):          100.0000
Average time-per-output-token [TPOT] (ms):        40.0000

-- Request Latency Breakdown (ms) -----------------------

[Latency] P50    : 4,000.0000
[Latency] P99    : 5,000.0000
[TPOT] P50    : 39.5000
[TPOT] P99    : 55.0000
"""

LLAMA_JSONL = """\
main: n_kv_max = 2048, n_batch = 2048, is_pp_shared = 0
llama_model_loader: - kv   1:   general.name str   = Llama 7B
{"n_kv_max": 2048, "n_batch": 2048, "n_ubatch": 512, "flash_attn": 1, "is_pp_shared": 0, "pp": 128, "tg": 64, "pl": 1, "n_kv": 192, "t_pp": 0.05, "speed_pp": 2560.0, "t_tg": 0.64, "speed_tg": 100.0, "t": 0.69, "speed": 278.3}
{"n_kv_max": 2048, "n_batch": 2048, "n_ubatch": 512, "flash_attn": 1, "is_pp_shared": 0, "pp": 128, "tg": 64, "pl": 4, "n_kv": 768, "t_pp": 0.2, "speed_pp": 2560.0, "t_tg": 0.8, "speed_tg": 320.0, "t": 1.0, "speed": 768.0}
"""  # noqa: E501 - a line of the file is an object

LLAMA_BENCH = """\
| model                          |       size |     params | backend    | ngl |            test |                  t/s |
| ------------------------------ | ---------: | ---------: | ---------- | --: | --------------: | -------------------: |
| llama 7B Q4_0                  |   3.56 GiB |     6.74 B | CUDA       |  99 |           pp512 |      5000.00 ± 10.00 |
| llama 7B Q4_0                  |   3.56 GiB |     6.74 B | CUDA       |  99 |           tg128 |        125.00 ± 0.50 |
| llama 7B Q4_0                  |   3.56 GiB |     6.74 B | CUDA       |  99 |  tg128 @ d32768 |         50.00 ± 0.20 |
| llama 7B Q4_0                  |   3.56 GiB |     6.74 B | CUDA       |  99 |     pp512+tg128 |        600.00 ± 0.20 |
"""  # noqa: E501 - as llama-bench prints it

SAMPLES: dict[str, tuple[str, Any]] = {
    "genai-perf": ("profile_export_genai_perf.json", genai_perf()),
    "aiperf": ("profile_export_aiperf.json", aiperf()),
    "genai-perf-csv": ("profile_export_genai_perf.csv", GENAI_CSV),
    "guidellm": ("benchmarks.json", guidellm()),
    "inference-perf": ("stage_3_lifecycle_metrics.json", inference_perf()),
    "inference-perf-server": ("stage_3_prometheus_metrics.json", inference_perf_server()),
    "llm-d-report-yaml": ("benchmark_report.yaml", LLM_D),
    "llmperf": ("model_550_150_summary.json", llmperf()),
    "inferencex": ("m_vllm_tep8_isl1024_osl128_conc48.json", inferencex()),
    "inferencex-agg": ("agg_m.json", inferencex_aggregated()),
    "trtllm-bench": ("report.json", trtllm()),
    "trtllm-bench-console": ("run.txt", TRTLLM_CONSOLE),
    "llama-batched-bench": ("batched.jsonl", LLAMA_JSONL),
    "llama-bench": ("bench.md", LLAMA_BENCH),
}
"""A file of each format, by its name; AIPerf's is read by the format ``genai-perf``."""
