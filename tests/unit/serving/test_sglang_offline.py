"""Results of SGLang's offline benchmarks: what a batch in lock-step says, and what it does not."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.client_results import keys_of_notes, read, vllm_result, write

from nsightlens.errors import ServingFileError
from nsightlens.serving.benchmarks.sglang_offline import FORMATS
from nsightlens.serving.opened import OpenedFile

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Part

# 0.5 s of prefill, then 100 steps of 10 ms, but for one that took 110 ms.
ONE_BATCH: dict[str, Any] = {
    "run_name": "default",
    "batch_size": 8,
    "input_len": 256,
    "output_len": 101,
    "prefill_latency": 0.5,
    "prefill_throughput": 4096.0,
    "median_decode_latency": 0.010,
    "median_decode_throughput": 800.0,
    "total_latency": 1.6,
    "overall_throughput": 8 * 357 / 1.6,
}
# 0.5 s to the last first token, then 1 s.
SERVER: dict[str, Any] = {
    "run_name": "default",
    "batch_size": 8,
    "input_len": 256,
    "output_len": 101,
    "latency": 1.5,
    "output_throughput": 808.0,
    "overall_throughput": 8 * 357 / 1.5,
    "last_gen_throughput": 790.0,
}
OFFLINE: dict[str, Any] = {
    "backend": "engine",
    "successful_requests": 10,
    "total_latency": 5.0,
    "total_input_tokens": 1000,
    "total_output_tokens": 2000,
    "request_throughput": 2.0,
    "input_throughput": 200.0,
    "output_throughput": 400.0,
    "total_throughput": 600.0,
    "last_gen_throughput": 30.0,
}


def read_one(folder: Path, result: dict[str, Any]) -> Part:
    """Read a file of one run."""
    (part,) = read(FORMATS, write(folder / "result.jsonl", result))
    return part


def test_a_batch_in_lock_step_says_the_time_of_a_step(tmp_path: Path) -> None:
    """The median is stated, the mean follows from the whole less prefill."""
    part = read_one(tmp_path, ONE_BATCH)
    values = part.values
    assert part.format == "sglang-one-batch"
    assert values["engine"] == "sglang"
    assert values["static_batch_size"] == 8
    assert (values["mean_running"], values["running_source"]) == (8.0, "static")
    assert values["median_itl_ms"] == values["median_tpot_ms"] == pytest.approx(10)
    assert values["mean_itl_ms"] == pytest.approx(11)
    assert values["mean_ttft_ms"] == pytest.approx(500)
    assert values["mean_e2e_ms"] == pytest.approx(1600)
    assert values["decode_tok_per_s"] == pytest.approx(800)
    assert values["output_tok_per_s"] == pytest.approx(8 * 101 / 1.6)
    assert values["total_tok_per_s"] == pytest.approx(8 * 357 / 1.6)
    assert values["requests_per_s"] == pytest.approx(5)
    assert values["workload"] == "in256_out101"
    assert (values["mean_input_tokens"], values["mean_output_tokens"]) == (256, 101)
    assert part.notes == ()


def test_a_sweep_of_batches_is_a_line_each(tmp_path: Path) -> None:
    """Lines without a decode step are left out and said."""
    prefill_only = {
        key: value for key, value in ONE_BATCH.items() if not key.startswith("median")
    } | {"output_len": 1}
    lines = [ONE_BATCH | {"batch_size": n, "median_decode_throughput": 100.0 * n} for n in (1, 8)]
    parts = read(FORMATS, write(tmp_path / "result.jsonl", prefill_only, *lines))
    assert [part.where for part in parts] == ["line 2", "line 3"]
    assert [part.values["static_batch_size"] for part in parts] == [1, 8]
    assert parts[0].notes[-1].key == "refused_run"


def test_prefill_alone_is_refused(tmp_path: Path) -> None:
    """One token per sequence comes from prefill."""
    with pytest.raises(ServingFileError, match="there is no decode step in it"):
        read_one(tmp_path, ONE_BATCH | {"output_len": 1})


@pytest.mark.parametrize(
    ("changes", "column", "expected"),
    [
        ({"median_decode_throughput": 500.0}, "decode_tok_per_s", 800.0),
        ({"overall_throughput": 500.0}, "total_tok_per_s", 8 * 357 / 1.6),
        ({"prefill_latency": 1.7}, "mean_itl_ms", None),
    ],
)
def test_contradictions_within_a_batch_are_said(
    tmp_path: Path, changes: dict[str, Any], column: str, expected: float | None
) -> None:
    """What follows from sizes and latencies is used."""
    part = read_one(tmp_path, ONE_BATCH | changes)
    assert part.values.get(column) == (None if expected is None else pytest.approx(expected))
    assert keys_of_notes(part) == ["contradiction"]


def test_a_batch_sent_to_a_server_tells_prefill_from_decode(tmp_path: Path) -> None:
    """Its output_throughput is over the time after the last first token."""
    part = read_one(tmp_path, SERVER)
    assert part.format == "sglang-one-batch-server"
    assert part.values["mean_ttft_ms"] == pytest.approx(500)
    assert part.values["mean_tpot_ms"] == pytest.approx(10)
    assert part.values["decode_tok_per_s"] == pytest.approx(800)
    assert part.values["output_tok_per_s"] == pytest.approx(8 * 101 / 1.5)
    assert part.values["static_batch_size"] == 8
    assert part.notes == ()


def test_newer_files_of_it_say_the_first_token(tmp_path: Path) -> None:
    """A stated time to the first token is used, and the model's name."""
    newer = SERVER | {"ttft": 0.5, "model_path": "acme/Small-1B", "acc_length": 2.0}
    part = read_one(tmp_path, newer)
    assert part.values["mean_tpot_ms"] == pytest.approx(10)
    assert part.values["model"] == "Small-1B"
    assert part.values["speculative"] is True


def test_older_files_of_it_do_not_tell_prefill_from_decode(tmp_path: Path) -> None:
    """Where output_throughput is over the whole latency, no time per token follows."""
    part = read_one(tmp_path, SERVER | {"output_throughput": round(8 * 101 / 1.5, 2)})
    assert not {"mean_tpot_ms", "mean_ttft_ms", "decode_tok_per_s"} & part.values.keys()
    assert part.values["output_tok_per_s"] == pytest.approx(8 * 101 / 1.5)
    assert keys_of_notes(part) == ["prefill_included"]


def test_a_throughput_below_the_whole_is_a_contradiction(tmp_path: Path) -> None:
    """Sizes over latency are used."""
    part = read_one(tmp_path, SERVER | {"output_throughput": 300.0})
    assert part.values["output_tok_per_s"] == pytest.approx(8 * 101 / 1.5)
    assert keys_of_notes(part) == ["contradiction", "prefill_included"]


def test_offline_throughput_is_without_latencies(tmp_path: Path) -> None:
    """All prompts at once; the throughput of the tail is no average, and is not used."""
    part = read_one(tmp_path, OFFLINE)
    assert part.values == {
        "engine": "sglang",
        "duration_s": 5.0,
        "completed_count": 10,
        "request_rate_per_s": math.inf,
        "input_token_count": 1000,
        "output_token_count": 2000,
        "mean_input_tokens": 100.0,
        "mean_output_tokens": 200.0,
        "requests_per_s": 2.0,
        "output_tok_per_s": 400.0,
        "total_tok_per_s": 600.0,
    }
    assert part.notes == ()


def test_offline_throughput_that_was_not_filled_in_is_refused(tmp_path: Path) -> None:
    """The program begins with -1 everywhere."""
    unset = {key: -1 for key in OFFLINE if key.startswith("total") or key.endswith("throughput")}
    with pytest.raises(ServingFileError, match="holds no measurement"):
        read_one(tmp_path, OFFLINE | unset)


def test_other_formats_are_not_claimed(tmp_path: Path) -> None:
    """Serving results are not offline ones."""
    path = write(tmp_path / "a.json", vllm_result())
    assert not any(one.claims(OpenedFile(path)) for one in FORMATS)


VALUES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just([1])
)


@pytest.mark.parametrize("result", [ONE_BATCH, SERVER, OFFLINE], ids=["batch", "server", "all"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_stands_in_a_result_is_read_or_diagnosed(
    tmp_path: Path, result: dict[str, Any], data: st.DataObject
) -> None:
    """Any value under any key gives numbers above zero, or a diagnosis."""
    keys = st.sampled_from(sorted({*result, "ttft", "server_info"}))
    changes = data.draw(st.dictionaries(keys, VALUES, min_size=1, max_size=3))
    path = tmp_path / "result.jsonl"
    path.write_text(json.dumps(result | changes) + "\n", encoding="utf-8")
    try:
        (part,) = read(FORMATS, path)
    except ServingFileError:
        return
    for key, value in part.values.items():
        if isinstance(value, float) and key != "request_rate_per_s":
            assert 0 < value < math.inf, key
