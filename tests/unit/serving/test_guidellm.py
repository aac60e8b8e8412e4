"""GuideLLM: a run per benchmark; its TPOT is no TPOT, its rates are means, its limits none."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from support.other_formats import guidellm, guidellm_metrics, keys_of_notes, read

from nsightlens.errors import ServingFileError

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Part


def _read(folder: Path, top: dict[str, Any]) -> list[Part]:
    return read(folder, "benchmarks.json", top, "guidellm")


def _with_strategy(folder: Path, strategy: dict[str, Any], **profile: Any) -> dict[str, Any]:
    top = guidellm()
    top["benchmarks"][0]["config"] = {"strategy": strategy, "profile": profile}
    return dict(_read(folder, top)[0].values)


def test_each_benchmark_is_a_run(tmp_path: Path) -> None:
    """Its place is its index."""
    parts = _read(tmp_path, guidellm())
    assert [part.run_key for part in parts] == ["benchmarks[0]", "benchmarks[1]"]
    assert [part.where for part in parts] == ["benchmarks[0]", "benchmarks[1]"]


def test_the_time_per_token_that_includes_the_first_is_taken_by_no_column(tmp_path: Path) -> None:
    """The inter token latency, which leaves the first out, is the time between tokens."""
    values = _read(tmp_path, guidellm())[0].values
    assert (values["mean_itl_ms"], values["p99_itl_ms"]) == (14.6, 29.2)
    assert not any("tpot" in name for name in values)
    assert 14.8 not in values.values()


def test_latencies_are_converted_once(tmp_path: Path) -> None:
    """The latency of a request is in seconds, the time to the first token in milliseconds."""
    values = _read(tmp_path, guidellm())[0].values
    assert (values["mean_e2e_ms"], values["mean_ttft_ms"]) == (1900.0, 45.0)


def test_rates_are_means(tmp_path: Path) -> None:
    """Their medians and peaks are weighted by time: 7219 requests per second in a run of five."""
    values = _read(tmp_path, guidellm())[0].values
    rates = ("requests_per_s", "output_tok_per_s", "total_tok_per_s")
    assert [values[name] for name in rates] == [5.0, 640.0, 1920.0]


def test_counts_duration_and_names_are_read(tmp_path: Path) -> None:
    """Of the report where the benchmark does not say them."""
    expected = {
        "completed_count": 100, "failed_count": 1, "prompt_count": 101, "duration_s": 20.0,
        "model": "model-7b", "workload": "in256_out128", "mean_input_tokens": 256.0,
        "output_token_count": 12800, "concurrency": 9.5,
    }  # fmt: skip
    assert expected.items() <= _read(tmp_path, guidellm())[0].values.items()


def test_requests_that_did_not_end_were_in_the_batch_too(tmp_path: Path) -> None:
    """The concurrency is that of all; that fast ones survived is said."""
    top = guidellm()
    one = top["benchmarks"][0]
    one["metrics"]["request_concurrency"]["total"] = {"mean": 12.5}
    one["scheduler_metrics"]["requests_made"] = {"successful": 90, "incomplete": 30, "total": 120}
    part = _read(tmp_path, top)[0]
    assert part.values["concurrency"] == 12.5
    assert keys_of_notes(part) == ["survivor_bias"]
    assert "30 of 120 requests" in part.notes[0].text


def test_the_limit_of_a_strategy_of_streams_is_the_streams(tmp_path: Path) -> None:
    """And one after the other is one."""
    values = _with_strategy(tmp_path, {"type_": "concurrent", "streams": 10})
    assert values["max_concurrency"] == 10
    assert _with_strategy(tmp_path, {"type_": "synchronous"})["max_concurrency"] == 1


@pytest.mark.parametrize("kind", ["constant", "poisson", "async"])
def test_the_limit_of_a_strategy_of_a_rate_is_no_batch(tmp_path: Path, kind: str) -> None:
    """10240 and 512 are GuideLLM's own, as releases differ."""
    for limit in (10240, 512):
        values = _with_strategy(tmp_path, {"type_": kind, "rate": 5.0, "max_concurrency": limit})
        assert values["request_rate_per_s"] == 5.0
        assert "max_concurrency" not in values


def test_a_limit_that_the_user_gave_beside_a_rate_is_one(tmp_path: Path) -> None:
    """It stands in the profile."""
    strategy = {"type_": "constant", "rate": 5.0, "max_concurrency": 64}
    assert _with_strategy(tmp_path, strategy, max_concurrency=64)["max_concurrency"] == 64


def test_a_strategy_of_throughput_sends_all_at_once(tmp_path: Path) -> None:
    """Up to a limit, where it is a real one."""
    values = _with_strategy(tmp_path, {"type_": "throughput", "max_concurrency": 512})
    assert math.isinf(values["request_rate_per_s"])
    assert values["max_concurrency"] == 512
    values = _with_strategy(tmp_path, {"type_": "throughput", "max_concurrency": 10240})
    assert "max_concurrency" not in values


def test_a_benchmark_of_which_all_failed_is_left_out_with_a_note(tmp_path: Path) -> None:
    """And the file is refused where none is left."""
    top = guidellm()
    for name, one in zip(("one", "all"), top["benchmarks"], strict=True):
        one["scheduler_metrics"]["requests_made"] = {"successful": 0, "errored": 9, "total": 9}
        if name == "one":
            parts = _read(tmp_path, {**top, "benchmarks": [one, guidellm()["benchmarks"][1]]})
            assert [part.run_key for part in parts] == ["benchmarks[1]"]
            assert keys_of_notes(parts[0]) == ["run_left_out"]
    with pytest.raises(ServingFileError, match="all 9 requests failed"):
        _read(tmp_path, top)


def test_a_report_of_0_3_is_read(tmp_path: Path) -> None:
    """Strategy and counts stood elsewhere, and no version did."""
    top = {
        "benchmarks": [
            {
                "type_": "generative_benchmark",
                "args": {
                    "profile": {"type_": "concurrent"},
                    "strategy": {"type_": "concurrent", "streams": 4},
                },
                "run_stats": {"requests_made": {"successful": 7, "errored": 0, "total": 7}},
                "worker": {"backend_model": "org/old"},
                "request_loader": {"data": '{"prompt_tokens": 128, "output_tokens": 16}'},
                "metrics": guidellm_metrics(),
                "start_time": 1000.0,
                "end_time": 1030.0,
            }
        ]
    }
    (part,) = _read(tmp_path, top)
    expected = {
        "max_concurrency": 4, "completed_count": 7, "model": "old", "workload": "in128_out16",
        "duration_s": 30.0,
    }  # fmt: skip
    assert expected.items() <= part.values.items()


def test_a_report_of_0_8_is_read(tmp_path: Path) -> None:
    """Its settings stand in a specification."""
    top = guidellm()
    top["metadata"] = {"version": 2, "guidellm_version": "0.8.0"}
    del top["args"]
    data = {"kind": "synthetic_text", "prompt_tokens": 32, "output_tokens": 8}
    top["config"] = {"spec": {"backend": {"model": "org/new"}, "data": [data]}}
    values = _read(tmp_path, top)[0].values
    assert (values["model"], values["workload"]) == ("new", "in32_out8")


def test_yaml_says_the_same_as_json(tmp_path: Path) -> None:
    """GuideLLM sorts its keys, and writes tuples as such."""
    yaml = pytest.importorskip("yaml")
    of_json = _read(tmp_path, guidellm())
    top = guidellm()
    for one in top["benchmarks"]:
        one["a_long_list"] = ["x" * 100] * 1000  # more than is looked at for most formats
        one["statuses"] = ("successful", "errored")
    text = yaml.dump(top)
    with pytest.raises(ServingFileError, match=r"repeats benchmarks\.json"):
        read(tmp_path, "benchmarks.yaml", text, "guidellm-yaml")
    of_yaml = read(tmp_path, "alone.yaml", text, "guidellm-yaml")
    assert [part.values for part in of_yaml] == [part.values for part in of_json]


def test_a_report_that_was_cut_is_refused_with_the_place(tmp_path: Path) -> None:
    """It is known by its beginning."""
    text = json.dumps(guidellm())[:2000]
    with pytest.raises(ServingFileError, match=r"ends early|is no JSON"):
        read(tmp_path, "benchmarks.json", text, "guidellm")


@pytest.mark.parametrize("benchmarks", [[], None, {}, 5])
def test_a_report_without_benchmarks_is_refused(tmp_path: Path, benchmarks: Any) -> None:
    """Nothing was run."""
    with pytest.raises(ServingFileError, match="holds no benchmarks"):
        _read(tmp_path, {**guidellm(), "benchmarks": benchmarks})


@pytest.mark.parametrize(
    "first",
    [
        "Run Info,Run Info,Benchmark,Server Throughput",
        "Type,Run Id,Id,Name,Start Time,End Time,Duration",
    ],
)
def test_the_csv_is_refused(tmp_path: Path, first: str) -> None:
    """The JSON of the same run says it all."""
    with pytest.raises(ServingFileError, match="GuideLLM's table"):
        read(tmp_path, "benchmarks.csv", first + "\n1,2,3,4\n", "guidellm-csv")
