"""Results of vLLM's serving benchmark are read whatever wrote them; traps are sprung or named."""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING, Any

import pytest
from support.client_results import keys_of_notes, read, sglang_result, vllm_result, write

from nsightlens.errors import ServingFileError
from nsightlens.serving.benchmarks.vllm_bench import FORMATS
from nsightlens.serving.opened import OpenedFile

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Part


def read_one(folder: Path, result: dict[str, Any]) -> Part:
    """Read a file of one result."""
    (part,) = read(FORMATS, write(folder / "result.json", result))
    return part


def claimed(path: Path) -> str | None:
    """Return the format that claims a file."""
    file = OpenedFile(path)
    return next((one.name for one in FORMATS if one.claims(file)), None)


def test_a_result_becomes_columns_in_their_units(tmp_path: Path) -> None:
    """Every number of the summary lands in its column, with its key as the place."""
    part = read_one(tmp_path, vllm_result())
    assert part.values == {
        "model": "Small-1B",
        "model_id": "acme/Small-1B",
        "duration_s": 50.0,
        "completed_count": 100,
        "prompt_count": 100,
        "failed_count": 0,
        "input_token_count": 20000,
        "output_token_count": 10000,
        "mean_input_tokens": 200.0,
        "mean_output_tokens": 100.0,
        "request_rate_per_s": math.inf,
        "max_concurrency": 8,
        "requests_per_s": 2.0,
        "output_tok_per_s": 200.0,
        "total_tok_per_s": 600.0,
        "mean_ttft_ms": 50.0,
        "median_ttft_ms": 49.0,
        "p99_ttft_ms": 70.0,
        "mean_tpot_ms": 30.0,
        "median_tpot_ms": 29.0,
        "p99_tpot_ms": 50.0,
        "mean_itl_ms": 31.0,
        "median_itl_ms": 30.0,
        "p99_itl_ms": 51.0,
    }
    assert part.wheres["mean_itl_ms"] == "mean_itl_ms"
    assert part.derived["mean_output_tokens"] == "total_output_tokens over completed requests"
    assert part.derived["failed_count"] == "num_prompts less completed"
    assert part.notes == ()
    assert (part.kind, part.format, part.where, part.run_key) == ("result", "vllm-bench", "", "")


def test_the_protocol_of_the_client_is_not_the_engine(tmp_path: Path) -> None:
    """Results of other servers say "backend": "vllm" too."""
    assert "engine" not in read_one(tmp_path, vllm_result(backend="vllm")).values


def test_no_limit_of_concurrency_is_absent(tmp_path: Path) -> None:
    """A null is no number."""
    assert "max_concurrency" not in read_one(tmp_path, vllm_result(max_concurrency=None)).values


@pytest.mark.parametrize(("rate", "read_as"), [("inf", math.inf), (4, 4.0), (0.5, 0.5)])
def test_the_rate_of_requests_is_a_number_or_infinite(
    tmp_path: Path, rate: Any, read_as: float
) -> None:
    """The string "inf" means all at once."""
    part = read_one(tmp_path, vllm_result(request_rate=rate))
    assert part.values["request_rate_per_s"] == read_as


def test_failures_stand_there_in_new_files(tmp_path: Path) -> None:
    """A count of failures is used as it stands."""
    part = read_one(tmp_path, vllm_result(num_prompts=103, failed=3))
    assert part.values["failed_count"] == 3
    assert "failed_count" not in part.derived
    assert part.notes == ()


def test_requests_that_were_never_sent_are_no_failures(tmp_path: Path) -> None:
    """A dataset that is smaller than the number asked for is said."""
    part = read_one(tmp_path, vllm_result(num_prompts=120, failed=0))
    assert part.values["failed_count"] == 0
    assert keys_of_notes(part) == ["fewer_requests"]


def test_goodput_under_a_key_with_a_colon_does_no_harm(tmp_path: Path) -> None:
    """One generation wrote "request_goodput:"."""
    part = read_one(tmp_path, vllm_result(**{"request_goodput:": 1.5, "request_goodput": ...}))
    assert part.values["requests_per_s"] == 2.0


def test_the_oldest_files_say_less(tmp_path: Path) -> None:
    """Without burstiness, concurrency limit and total throughput, totals over time fill the gap."""
    old = vllm_result(
        date="20240610-101112",
        burstiness=...,
        max_concurrency=...,
        endpoint_type=...,
        total_token_throughput=...,
        input_throughput=400.0,
        best_of=1,
    )
    part = read_one(tmp_path, old)
    assert part.values["total_tok_per_s"] == 600.0
    assert part.derived["total_tok_per_s"] == "all tokens over the duration"


def test_percentiles_may_be_named_otherwise(tmp_path: Path) -> None:
    """The median is p50 where it was asked for as a percentile."""
    changed = vllm_result(median_itl_ms=..., p50_itl_ms=28.0, **{"p99.9_itl_ms": 99.0})
    part = read_one(tmp_path, changed)
    assert part.values["median_itl_ms"] == 28.0
    assert part.wheres["median_itl_ms"] == "p50_itl_ms"
    assert part.values["p99_itl_ms"] == 51.0


# Several runs in a file.


def test_appended_runs_are_a_run_a_line(tmp_path: Path) -> None:
    """--append-result writes an object a line."""
    path = write(tmp_path / "all.json", *(vllm_result(max_concurrency=n) for n in (1, 2, 4)))
    parts = read(FORMATS, path)
    assert [part.values["max_concurrency"] for part in parts] == [1, 2, 4]
    assert [part.where for part in parts] == ["line 1", "line 2", "line 3"]
    assert len({part.run_key for part in parts}) == 3
    assert parts[1].wheres["mean_itl_ms"] == "line 2, mean_itl_ms"


def test_pretty_printed_objects_may_follow_each_other(tmp_path: Path) -> None:
    """Objects of many lines are told apart as well."""
    objects = [vllm_result(max_concurrency=n) for n in (1, 2)]
    parts = read(FORMATS, write(tmp_path / "all.json", *objects, indent=4))
    assert [part.values["max_concurrency"] for part in parts] == [1, 2]
    assert [part.where for part in parts] == ["object 1", "object 2"]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_cut_last_run_is_left_out_and_said(tmp_path: Path, indent: int | None) -> None:
    """The runs before a cut are of use."""
    path = write(tmp_path / "all.json", vllm_result(), vllm_result(), indent=indent)
    path.write_text(path.read_text(encoding="utf-8")[:-60], encoding="utf-8")
    (part,) = read(FORMATS, path)
    assert keys_of_notes(part) == ["bad_line"]


def test_a_failed_run_among_good_ones_is_a_note(tmp_path: Path) -> None:
    """What is refused beside other runs is said with its line."""
    path = write(tmp_path / "all.json", vllm_result(completed=0), vllm_result())
    (part,) = read(FORMATS, path)
    assert part.where == "line 2"
    assert part.notes[0].key == "refused_run"
    assert "line 1: holds no measurement: all 100 requests failed" in part.notes[0].text


def test_lines_of_something_else_are_left_out(tmp_path: Path) -> None:
    """Objects that are no results may lie between results."""
    path = write(tmp_path / "all.json", vllm_result(), {"note": "second half"}, vllm_result())
    parts = read(FORMATS, path)
    assert [part.where for part in parts] == ["line 1", "line 3"]
    assert parts[0].notes[0].text == "all.json, line 2: is no such result: left out."


def test_a_table_with_cells_that_are_too_long_is_diagnosed(tmp_path: Path) -> None:
    """A table with the text of every answer in it is no table that can be read."""
    path = tmp_path / "all.csv"
    _write_table(path, [vllm_result(generated_texts="x" * 200_000)])
    with pytest.raises(ServingFileError, match="is no CSV that can be read"):
        read(FORMATS, path)


# What lies in the folder of a sweep.


def test_a_run_of_a_sweep_carries_its_settings(tmp_path: Path) -> None:
    """Swept parameters of the server are values, also those that are text."""
    swept = {
        "run_number": 1,
        "max_num_seqs": 4,
        "max-num-batched-tokens": 2048,
        "kv_cache_dtype": "fp8",
        "enable_chunked_prefill": False,
        "gpu_memory_utilization": 0.5,
    }
    path = tmp_path / "SERVE--max_num_seqs=4-BENCH--" / "run=1.json"
    (part,) = read(FORMATS, write(path, vllm_result(**swept), indent=4))
    assert part.values["max_num_seqs"] == 4
    assert part.values["max_num_batched_tokens"] == 2048
    assert part.values["kv_cache_dtype"] == "fp8"
    assert part.values["chunked_prefill"] is False
    assert part.values["gpu_memory_utilization"] == 0.5


def test_summaries_beside_their_runs_are_refused(tmp_path: Path) -> None:
    """Otherwise every run would count twice."""
    runs = [vllm_result(run_number=n, max_num_seqs=4) for n in (0, 1)]
    folder = tmp_path / "SERVE--max_num_seqs=4"
    write(folder / "run=0.json", runs[0])
    summary = write(folder / "summary.json", runs)
    table = tmp_path / "summary.csv"
    _write_table(table, runs)
    for path in (summary, table):
        assert claimed(path) == "vllm-bench"
        with pytest.raises(ServingFileError, match="repeats the results of the runs"):
            read(FORMATS, path)


def _write_table(path: Path, runs: list[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["", *runs[0]])
        for number, run in enumerate(runs):
            writer.writerow([number, *("" if one is None else one for one in run.values())])


def test_a_summary_alone_is_read(tmp_path: Path) -> None:
    """Someone may have kept the summary only, as JSON or as a table; a failure is no run."""
    runs = [vllm_result(run_number=n, max_num_seqs=4 * n) for n in (1, 2)]
    table = tmp_path / "summary.csv"
    _write_table(table, runs)
    write(tmp_path / "run=3.failure.json", {"error_type": "E", "error": "", "serve_overrides": {}})
    of_json = read(FORMATS, write(tmp_path / "summary.json", runs))
    of_table = read(FORMATS, table)
    assert [part.where for part in of_json] == ["[0]", "[1]"]
    assert [part.where for part in of_table] == ["row 1", "row 2"]
    assert [part.values for part in of_json] == [part.values for part in of_table]
    assert of_table[1].values["max_num_seqs"] == 8


def test_the_warm_up_of_a_sweep_is_refused(tmp_path: Path) -> None:
    """It looks like a result."""
    path = write(tmp_path / "warmup.json", vllm_result(run_number=0))
    with pytest.raises(ServingFileError, match="is the warm-up of a sweep"):
        read(FORMATS, path)


def test_a_failed_run_of_a_sweep_is_refused_with_its_error(tmp_path: Path) -> None:
    """The reason of the failure is in the message."""
    failure = {
        "run_number": 2,
        "error_type": "RuntimeError",
        "error": "Server died.\nmore",
        "serve_overrides": {"max_num_seqs": 4096},
        "bench_overrides": {},
    }
    path = write(tmp_path / "run=2.failure.json", failure, indent=2)
    with pytest.raises(
        ServingFileError, match=r"says that run 2 of a sweep failed \(RuntimeError: Server died\)"
    ):
        read(FORMATS, path)


def test_records_for_a_dashboard_are_refused(tmp_path: Path) -> None:
    """They repeat the result beside them in part."""
    record = {"benchmark": {"name": "vLLM benchmark"}, "model": {"name": "m"}, "metric": {}}
    path = write(tmp_path / "a.pytorch.json", [record])
    with pytest.raises(ServingFileError, match="records for PyTorch's dashboard"):
        read(FORMATS, path)


# Settings that a person wrote beside the result.


def test_metadata_is_text_and_therefore_a_hint(tmp_path: Path) -> None:
    """--metadata writes strings; they only fill gaps."""
    metadata = {
        "input_len": "1000",
        "output_len": "500",
        "max_num_seqs": "64",
        "tensor_parallel_size": "2",
        "gpu": "H200",
        "enable-prefix-caching": "true",
        "quantization": "none",
    }
    part = read_one(tmp_path, vllm_result(**metadata))
    hints = {key: value for key, value in part.values.items() if key.startswith("?")}
    assert hints == {
        "?max_num_seqs": 64,
        "?tensor_parallel_size": 2,
        "?device_name": "H200",
        "?prefix_caching": True,
        "?workload": "in1000_out500",
    }


@pytest.mark.parametrize(
    ("key", "value", "hint"),
    [
        ("batch_size", "32", ("?max_num_seqs", 32)),
        ("bs", 32, ("?max_num_seqs", 32)),
        ("concurrency", "16", ("?max_concurrency", 16)),
    ],
)
def test_a_batch_that_a_person_wrote_is_a_hint(
    tmp_path: Path, key: str, value: Any, hint: tuple[str, int]
) -> None:
    """It fills the gap where the client had no limit, and is nothing beside one."""
    without = read_one(tmp_path, vllm_result(max_concurrency=None, **{key: value}))
    assert without.values[hint[0]] == hint[1]
    assert hint[0] not in read_one(tmp_path, vllm_result(**{key: value})).values


@pytest.mark.parametrize(
    ("setting", "column", "value"),
    [
        ({"no_enable_prefix_caching": True}, "prefix_caching", False),
        ({"enable_chunked_prefill": "off"}, "?chunked_prefill", False),
        ({"speculative_config": {"method": "ngram"}}, "speculative", True),
        ({"num_scheduler_steps": 8}, "scheduler_steps", 8),
        ({"gpu": 8}, "device_name", None),
        ({"dtype": "auto"}, "?dtype", None),
        ({"enable_prefix_caching": "perhaps"}, "?prefix_caching", None),
    ],
)
def test_settings_are_read_by_their_names(
    tmp_path: Path, setting: dict[str, Any], column: str, value: Any
) -> None:
    """Switches may be negative; a number is no name of a GPU; "auto" says nothing."""
    assert read_one(tmp_path, vllm_result(**setting)).values.get(column) == value


def test_a_setting_that_is_none_is_said(tmp_path: Path) -> None:
    """A part of the memory above 1, and a number of sequences that is no number, are left out."""
    part = read_one(tmp_path, vllm_result(gpu_memory_utilization=90, max_num_seqs=[1]))
    assert not {"gpu_memory_utilization", "max_num_seqs"} & part.values.keys()
    assert keys_of_notes(part) == ["implausible", "not_a_number"]


def test_a_setting_that_stands_there_twice_is_compared(tmp_path: Path) -> None:
    """Two spellings that differ are a contradiction."""
    part = read_one(tmp_path, vllm_result(run_number=0, tp=2, tensor_parallel_size=4))
    assert part.values["tensor_parallel_size"] == 2
    assert keys_of_notes(part) == ["contradiction"]


def test_drafted_tokens_mean_speculative_decoding(tmp_path: Path) -> None:
    """Keys of speculative decoding count where they have a value."""
    with_it = vllm_result(spec_decode_acceptance_rate=0.7)
    without = vllm_result(spec_decode_acceptance_rate=None)
    assert read_one(tmp_path, with_it).values["speculative"] is True
    assert "speculative" not in read_one(tmp_path, without).values


# Claims.


def test_other_formats_are_not_claimed(tmp_path: Path) -> None:
    """Results in seconds without a suffix, and SGLang's, belong to others."""
    seconds = vllm_result(median_ttft=0.05, median_tpot=0.03)
    others = (seconds, sglang_result(), {"num_prompts": 3}, {"request_throughput": {"avg": 2}})
    for number, other in enumerate(others):
        assert claimed(write(tmp_path / f"{number}.json", other)) is None
    table = tmp_path / "a.csv"
    table.write_text("model,batch_size,output_throughput\nm,1,2\n", encoding="utf-8")
    assert claimed(table) is None
    (tmp_path / "a.log").write_text("[1;36m(APIServer) INFO\n", encoding="utf-8")
    assert claimed(tmp_path / "a.log") is None


@pytest.mark.parametrize("keep", [0.35, 0.6, 0.95])
def test_a_cut_result_is_known_and_refused(tmp_path: Path, keep: float) -> None:
    """Wherever it ends, the message says that it ends early."""
    path = write(tmp_path / "a.json", vllm_result())
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: int(keep * len(text))], encoding="utf-8")
    assert claimed(path) == "vllm-bench"
    with pytest.raises(ServingFileError, match=r"ends early|is no JSON"):
        read(FORMATS, path)
