"""Results of SGLang's serving benchmark are read, old and new, one or many in a file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from support.client_results import keys_of_notes, read, sglang_result, vllm_result, write

from nsightlens.errors import ServingFileError
from nsightlens.serving.benchmarks.sglang_bench import FORMATS
from nsightlens.serving.opened import OpenedFile

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Part

SERVER: dict[str, Any] = {
    "model_path": "/models/Small-1B",
    "served_model_name": None,
    "tp_size": 2,
    "pp_size": 1,
    "dp_size": 1,
    "enable_dp_attention": False,
    "dtype": "auto",
    "quantization": "fp8",
    "kv_cache_dtype": "fp8_e5m2",
    "mem_fraction_static": 0.88,
    "max_running_requests": 64,
    "context_length": None,
    "chunked_prefill_size": 8192,
    "disable_radix_cache": True,
    "speculative_algorithm": None,
    "page_size": 1,
    "version": "0.5.3",
    "max_total_num_tokens": 123456,
    "internal_states": [
        {"memory_usage": {"weight": 3.5, "kvcache": 40.25, "token_capacity": 9, "graph": 1.5}}
    ],
}


def read_one(folder: Path, result: dict[str, Any]) -> Part:
    """Read a file of one run."""
    (part,) = read(FORMATS, write(folder / "result.jsonl", result))
    return part


def old_result(**changes: Any) -> dict[str, Any]:
    """Return a run as files of before 0.4.2 have it: without mean gaps and rates of requests."""
    kept = {"mean_e2e_latency_ms", "median_e2e_latency_ms", "median_ttft_ms", "median_itl_ms"}
    removed = {key: ... for key in sglang_result() if key.endswith("_ms") and key not in kept}
    rates = {"request_throughput": ..., "input_throughput": ..., "concurrency": ...}
    return sglang_result(**{**removed, **rates, "accept_length": ..., **changes})


def test_a_run_becomes_columns_in_their_units(tmp_path: Path) -> None:
    """Every number lands in its column; the engine is known by its own protocol."""
    part = read_one(tmp_path, sglang_result())
    assert part.values == {
        "engine": "sglang",
        "workload": "in200_out100",
        "duration_s": 50.0,
        "completed_count": 100,
        "input_token_count": 20000,
        "output_token_count": 10000,
        "mean_input_tokens": 200.0,
        "mean_output_tokens": 100.0,
        "request_rate_per_s": math.inf,
        "max_concurrency": 8,
        "requests_per_s": 2.0,
        "output_tok_per_s": 200.0,
        "total_tok_per_s": 600.0,
        "mean_ttft_ms": 780.0,
        "median_ttft_ms": 779.0,
        "p99_ttft_ms": 800.0,
        "mean_tpot_ms": 30.0,
        "median_tpot_ms": 29.0,
        "p99_tpot_ms": 50.0,
        "mean_itl_ms": 30.0,
        "median_itl_ms": 29.0,
        "p99_itl_ms": 50.0,
        "mean_e2e_ms": 3750.0,
        "median_e2e_ms": 3749.0,
        "p99_e2e_ms": 3770.0,
        "concurrency": 7.5,
    }
    assert part.wheres["concurrency"] == "concurrency"
    assert "concurrency" not in part.derived
    assert part.notes == ()


def test_an_old_run_gives_what_follows(tmp_path: Path) -> None:
    """Rates and the requests in flight come from counts and the mean latency."""
    part = read_one(tmp_path, old_result(max_concurrency=None))
    assert part.values["requests_per_s"] == 2.0
    assert part.values["concurrency"] == pytest.approx(100 * 3.75 / 50)
    assert "mean latency" in part.derived["concurrency"]
    assert not {"mean_itl_ms", "mean_tpot_ms", "model", "max_concurrency"} & part.values.keys()
    assert part.values["median_itl_ms"] == 29.0
    assert part.notes == ()


def test_several_runs_lie_in_a_file(tmp_path: Path) -> None:
    """The client appends; each line is a run of its own, and a bad line is said."""
    path = write(tmp_path / "a.jsonl", *(sglang_result(max_concurrency=n) for n in (8, 9)))
    with path.open("a", encoding="utf-8") as file:
        file.write('{"backend": "sgl')
    parts = read(FORMATS, path)
    assert [part.where for part in parts] == ["line 1", "line 2"]
    assert [part.values["max_concurrency"] for part in parts] == [8, 9]
    assert "line 3 is no whole JSON object" in parts[0].notes[0].text


@pytest.mark.parametrize("backend", ["sglang-oai", "vllm", "trt"])
def test_another_protocol_says_nothing_of_the_engine(tmp_path: Path, backend: str) -> None:
    """Several engines answer to it."""
    assert "engine" not in read_one(tmp_path, sglang_result(backend=backend)).values


@pytest.mark.parametrize(
    ("changes", "workload"),
    [
        ({"random_range_ratio": 0.0}, "in200_out100_ratio0"),
        ({"dataset_name": "random-ids"}, "in200_out100"),
        ({"dataset_name": "sharegpt"}, "sharegpt"),
        ({"dataset_name": "sharegpt", "sharegpt_output_len": 390}, "sharegpt_out390"),
        ({"dataset_name": "mmmu"}, "mmmu"),
        ({"random_input_len": None}, "random"),
        ({"dataset_name": ...}, None),
    ],
)
def test_the_workload_tells_datasets_and_lengths_apart(
    tmp_path: Path, changes: dict[str, Any], workload: str | None
) -> None:
    """Lengths are written for every dataset, and are of random ones alone."""
    assert read_one(tmp_path, sglang_result(**changes)).values.get("workload") == workload


def test_the_rate_of_a_trace_is_no_number(tmp_path: Path) -> None:
    """New versions replay traces."""
    assert (
        "request_rate_per_s" not in read_one(tmp_path, sglang_result(request_rate="trace")).values
    )


@pytest.mark.parametrize("is_nested", [False, True])
def test_the_server_told_its_settings(tmp_path: Path, is_nested: bool) -> None:
    """server_info has every argument; what is automatic or unset is absent."""
    info = {"prefill": [{}], "decode": [SERVER]} if is_nested else SERVER
    part = read_one(tmp_path, sglang_result(backend="sglang-oai", server_info=info))
    told = {
        "engine": "sglang",
        "engine_version": "0.5.3",
        "model": "Small-1B",
        "max_num_seqs": 64,
        "tensor_parallel_size": 2,
        "gpu_count": 2,
        "quantization": "fp8",
        "kv_cache_dtype": "fp8_e5m2",
        "gpu_memory_utilization": 0.88,
        "chunked_prefill": True,
        "prefix_caching": False,
        "speculative": False,
        "block_size": 1,
        "kv_pool_tokens": 123456,
        "weights_gib": 3.5,
        "kv_pool_gib": 40.25,
        "cuda_graph_gib": 1.5,
    }
    assert {key: part.values[key] for key in told} == told
    assert not {"dtype", "max_model_len"} & part.values.keys()
    assert part.wheres["max_num_seqs"] == "server_info.max_running_requests"
    assert part.notes == ()


def test_copies_of_the_model_share_or_add_gpus(tmp_path: Path) -> None:
    """Data parallelism adds GPUs, but not where it is of attention alone."""
    for of_attention, gpus in ((False, 8), (True, 2)):
        info = SERVER | {"dp_size": 4, "enable_dp_attention": of_attention}
        part = read_one(tmp_path, sglang_result(server_info=info))
        assert part.values["gpu_count"] == gpus


@pytest.mark.parametrize(
    "info", [None, [], "x", {"decode": [None]}, {"internal_states": [3]}, {"tp_size": "two"}]
)
def test_a_strange_answer_of_the_server_does_no_harm(tmp_path: Path, info: Any) -> None:
    """The run is of use without it."""
    part = read_one(tmp_path, sglang_result(server_info=info))
    assert part.values["output_tok_per_s"] == 200.0
    assert "tensor_parallel_size" not in part.values


def test_a_long_answer_of_the_server_does_not_hide_the_format(tmp_path: Path) -> None:
    """The key that tells the format may lie behind more than 64 KiB."""
    long = {"server_info": SERVER | {"note": "x" * 70_000}}
    (part,) = read(FORMATS, write(tmp_path / "a.jsonl", long | sglang_result()))
    assert part.values["max_num_seqs"] == 64


def test_accepted_drafts_mean_speculative_decoding(tmp_path: Path) -> None:
    """A null says that there was none."""
    assert read_one(tmp_path, sglang_result(accept_length=2.7)).values["speculative"] is True
    assert "speculative" not in read_one(tmp_path, sglang_result()).values


def test_gaps_of_chunks_are_said(tmp_path: Path) -> None:
    """Other protocols count chunks."""
    part = read_one(tmp_path, sglang_result(backend="sglang-oai", mean_itl_ms=90.0))
    assert keys_of_notes(part) == ["itl_per_chunk"]


def test_zeros_of_a_client_that_does_not_stream_are_no_latencies(tmp_path: Path) -> None:
    """Without streaming, there are no times of tokens."""
    zeros = {key: 0.0 for key in sglang_result() if key.endswith(("ttft_ms", "itl_ms"))}
    part = read_one(tmp_path, sglang_result(**zeros))
    assert not {"mean_ttft_ms", "mean_itl_ms", "p99_itl_ms"} & part.values.keys()
    assert keys_of_notes(part) == ["zero_not_measured"]


def test_a_concurrency_that_contradicts_latencies_is_replaced(tmp_path: Path) -> None:
    """It is the sum of latencies over the duration by definition."""
    part = read_one(tmp_path, sglang_result(concurrency=75.0))
    assert part.values["concurrency"] == pytest.approx(7.5)
    assert keys_of_notes(part) == ["contradiction"]


def test_details_count_failures(tmp_path: Path) -> None:
    """--output-details has an error for each request that failed."""
    lists = {"ttfts": [0.5] * 100 + [0.0], "errors": [""] * 100 + ["refused"]}
    part = read_one(tmp_path, sglang_result(**lists))
    assert (part.values["failed_count"], part.values["prompt_count"]) == (1, 101)


def test_a_run_in_which_every_request_failed_is_refused(tmp_path: Path) -> None:
    """There is nothing in it, and the line is named."""
    path = write(tmp_path / "a.jsonl", sglang_result(completed=0), sglang_result(completed=0))
    with pytest.raises(ServingFileError, match=r"in line 1: holds no measurement: every request"):
        read(FORMATS, path)


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    """It is known by its mark, though nothing can be read of it."""
    path = write(tmp_path / "a.jsonl", sglang_result())
    path.write_text(path.read_text(encoding="utf-8")[:500], encoding="utf-8")
    with pytest.raises(ServingFileError, match=r"ends early, at line 1, column"):
        read(FORMATS, path)


def test_results_of_vllm_are_not_claimed(tmp_path: Path) -> None:
    """Each client has its reader."""
    path = write(tmp_path / "a.json", vllm_result())
    assert not any(one.claims(OpenedFile(path)) for one in FORMATS)
