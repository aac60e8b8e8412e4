"""Samples of a server's metrics are read from a table, in the units of samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from nsightlens.errors import ServingFileError
from nsightlens.serving.opened import OpenedFile
from nsightlens.serving.telemetry.prometheus_csv import FORMATS
from nsightlens.serving.windows import of_server_samples

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Part, Samples

SAMPLES = FORMATS[-1]


def _file(folder: Path, text: str, name: str = "metrics.csv") -> OpenedFile:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return OpenedFile(path, name)


def _read(folder: Path, text: str) -> tuple[Part, Samples]:
    file = _file(folder, text)
    assert SAMPLES.claims(file)
    (part,) = SAMPLES.read(file)
    assert part.kind == "samples"
    assert part.samples is not None
    return part, part.samples


def _keys(part: Part) -> set[str]:
    return {note.key for note in part.notes}


def test_fractions_become_percent_and_times_count_from_the_run(tmp_path: Path) -> None:
    """As the paper's own sampler wrote them."""
    part, samples = _read(
        tmp_path,
        "time [s],scheduler_total_time,gpu_cache_usage_perc,num_requests_running,"
        "num_requests_waiting,num_preemptions_total,generation_tokens_total\n"
        "0.116,0,0,0,0,0,0\n1.25,0.1,0.25,64,1936,3,16\n2.25,0.2,0.5,64,1900,5,400\n",
    )
    assert samples.begins_with_run
    assert samples.columns["kv_usage_pct"].tolist() == [0, 25, 50]
    assert samples.columns["preemption_total"].tolist() == [0, 3, 5]
    assert samples.columns["output_token_total"].tolist() == [0, 16, 400]
    assert part.notes == ()
    found = of_server_samples([samples], 2.0)
    assert found["preemption_count"].value == 5
    assert found["kv_peak_pct"].value == 50


def test_preemptions_are_unknown_without_their_counter(tmp_path: Path) -> None:
    """Unknown is not none."""
    _, samples = _read(tmp_path, "time [s],num_requests_running\n0,1\n1,2\n")
    assert "preemption_count" not in of_server_samples([samples], 1.0)


@pytest.mark.parametrize(
    ("header", "times", "begins"),
    [
        ("time [s]", ("0.1", "1.1"), True),
        ("time_ms", ("100", "1100"), True),
        ("time [s]", ("5000", "5001"), False),
        ("timestamp", ("1764000000", "1764000001"), False),
        ("timestamp", ("2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"), False),
        ("Time", ("2026-01-01 00:00:00", "2026-01-01 00:00:01"), False),
    ],
)
def test_times_of_a_clock_do_not_begin_with_the_run(
    tmp_path: Path, header: str, times: tuple[str, str], begins: bool
) -> None:
    """Steps are in seconds whatever the clock."""
    text = f"{header},vllm:num_requests_running\n{times[0]},1\n{times[1]},2\n"
    part, samples = _read(tmp_path, text)
    assert samples.begins_with_run is begins
    assert np.diff(samples.time_s) == pytest.approx([1.0])
    assert part.values == {"?engine": "vllm"}


def test_engines_in_a_column_of_labels_are_added_up(tmp_path: Path) -> None:
    """Ranks of data parallelism each serve a part of the requests."""
    part, samples = _read(
        tmp_path,
        "timestamp,engine,vllm:num_requests_running,vllm:kv_cache_usage_perc,"
        "vllm:num_preemptions_total\n"
        "1764000000,0,1,0.5,10\n1764000000,1,3,.6,1\n"
        "1764000010,0,2,.7,14\n1764000010,1,5,.1,1\n",
    )
    assert samples.columns["running"].tolist() == [4, 7]
    assert samples.columns["kv_usage_pct"].tolist() == [60, 70]
    assert samples.columns["preemption_total"].tolist() == [0, 4]
    assert "engines_added" in _keys(part)


def test_ranks_of_one_engine_are_counted_once(tmp_path: Path) -> None:
    """Each rank of tensor parallelism says the same."""
    part, samples = _read(
        tmp_path,
        "time [s],tp_rank,sglang:num_running_reqs,sglang:token_usage\n"
        "0.1,0,4,.5\n0.1,1,4,.5\n1.1,0,5,.5\n1.1,1,5,.5\n",
    )
    assert samples.columns["running"].tolist() == [4, 5]
    assert "engines_added" not in _keys(part)


def test_labels_in_headers_are_of_engines(tmp_path: Path) -> None:
    """A dashboard exports a column per series; other labels make no engine."""
    text = (
        'time [s],"vllm:num_requests_running{{engine=""0""}}",'
        '"vllm:num_requests_running{{engine=""1"",job=""x""}}",'
        '"vllm:kv_cache_usage_perc{{engine=""{}""}}"\n0,1,2,.5\n1,3,4,.25\n'
    )
    part, samples = _read(tmp_path, text.format("0"))
    assert samples.columns["running"].tolist() == [3, 7]
    assert samples.columns["kv_usage_pct"].tolist() == [50, 25]
    assert "engines_added" in _keys(part)


def test_a_row_per_metric_is_read(tmp_path: Path) -> None:
    """As queries of Prometheus come out of most tools."""
    part, samples = _read(
        tmp_path,
        "timestamp,__name__,engine,value\n"
        "0,vllm:num_requests_running,0,4\n0,vllm:kv_cache_usage_perc,0,.4\n"
        "1,vllm:num_requests_running,0,5\n1,process_cpu_seconds,0,oops\n",
    )
    assert samples.columns["running"].tolist() == [4, 5]
    assert samples.columns["kv_usage_pct"][0] == 40
    assert np.isnan(samples.columns["kv_usage_pct"][1])
    assert "time_unit" in _keys(part)


def test_parquet_of_aiperf_is_read(tmp_path: Path) -> None:
    """Its rows are of one metric and time each; those of histograms are left alone."""
    path = tmp_path / "server_metrics_export.parquet"
    start = 1_764_000_000_000_000_000
    names = ["vllm:num_requests_running", "vllm:kv_cache_usage_perc", "vllm:ttft"] * 2
    table = pa.table(
        {
            "endpoint_url": ["http://a/metrics"] * 6,
            "metric_name": names,
            "timestamp_ns": [start] * 3 + [start + 500_000_000] * 3,
            "value": [3.0, 0.5, None, 4.0, 0.75, None],
        }
    )
    parquet.write_table(table, path)
    file = OpenedFile(path)
    assert SAMPLES.claims(file)
    (part,) = SAMPLES.read(file)
    assert part.samples is not None
    assert np.diff(part.samples.time_s) == pytest.approx([0.5])
    assert part.samples.columns["running"].tolist() == [3, 4]
    assert part.samples.columns["kv_usage_pct"].tolist() == [50, 75]


def test_a_use_of_zero_under_load_was_not_exported(tmp_path: Path) -> None:
    """Trap 9: a metric that was renamed reads 0."""
    part, samples = _read(
        tmp_path, "time [s],gpu_cache_usage_perc,num_requests_running\n0,0,4\n1,0,5\n"
    )
    assert "kv_usage_pct" not in samples.columns
    assert "kv_not_exported" in _keys(part)


def test_a_use_above_one_is_percent_already(tmp_path: Path) -> None:
    """And above a hundred it is nothing."""
    part, samples = _read(
        tmp_path, "time [s],kv_cache_usage_perc,num_requests_running\n0,35,4\n1,0.5,5\n"
    )
    assert samples.columns["kv_usage_pct"].tolist() == [35, 0.5]
    assert "already_percent" in _keys(part)
    part, samples = _read(
        tmp_path, "time [s],kv_cache_usage_perc,num_requests_running\n0,3500,4\n1,0.5,5\n"
    )
    assert "kv_usage_pct" not in samples.columns
    assert "implausible" in _keys(part)


def test_samples_are_put_in_the_order_of_time(tmp_path: Path) -> None:
    """Rows without a time are no samples; cells without a number are unknown."""
    part, samples = _read(
        tmp_path, "time [s],num_requests_running\n2,4\n1,x\n,3\nnan,3\n0,2\n3,-1\n"
    )
    assert samples.time_s.tolist() == [0, 1, 2, 3]
    assert samples.columns["running"][[0, 2]].tolist() == [2, 4]
    assert np.isnan(samples.columns["running"][[1, 3]]).all()
    assert "not_a_number" in _keys(part)


def test_the_old_and_the_new_name_of_one_metric_are_one(tmp_path: Path) -> None:
    """VLLM 0.9 exports both."""
    _, samples = _read(
        tmp_path,
        "time [s],vllm:gpu_cache_usage_perc,vllm:kv_cache_usage_perc\n0,.5,.5\n1,,.25\n",
    )
    assert samples.columns["kv_usage_pct"].tolist() == [50, 25]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("time [s],num_requests_running\nnoon,1\n", "no time that is understood"),
        ("time [s],num_requests_running\n0,\n1,\n", "no value of a metric"),
        ("time [s],num_requests_running\n", "a header and no rows"),
        ("time [s];kv_cache_usage_perc;num_requests_running\n0;0,5;1\n1;0.5;1\n", "decimal comma"),
        ("time,metric,value\n0,vllm:foo,1\n", "no value of a metric"),
    ],
)
def test_what_says_nothing_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    """With what to sample instead."""
    with pytest.raises(ServingFileError, match=problem):
        _read(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "time,temperature\n0,1\n",
        "date,model,batch_size,prompt_tokens,generation_tokens,tok_s\n2026-01-01,a,1,2,3,4\n",
        "num_requests_running,gpu_cache_usage_perc\n1,2\n",
        "time,metric,value\n0,temperature,1\n",
    ],
)
def test_other_tables_are_not_claimed(tmp_path: Path, text: str) -> None:
    """Without times, or without a metric that only servers have."""
    assert not SAMPLES.claims(_file(tmp_path, text))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.lists(st.text(max_size=5) | st.floats().map(str), min_size=3, max_size=3),
        min_size=1,
        max_size=6,
    )
)
def test_any_cells_are_read_or_refused(tmp_path: Path, rows: list[list[str]]) -> None:
    """Times never fall and are never unknown."""
    text = "time,vllm:num_requests_running,vllm:kv_cache_usage_perc\n"
    file = _file(tmp_path, text + "\n".join(",".join(row) for row in rows))
    if not SAMPLES.claims(file):
        return
    try:
        (part,) = SAMPLES.read(file)
    except ServingFileError:
        return
    assert part.samples is not None
    assert np.isfinite(part.samples.time_s).all()
    assert (np.diff(part.samples.time_s) >= 0).all()
