"""Ten ways in which serving results lead to a wrong batch size, each from files to advice."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from nsightlens.advisor.advice import Wishes, advise
from nsightlens.advisor.answers import Slo
from nsightlens.errors import ServingFileError
from nsightlens.serving.serving import open_serving

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.advisor.answers import Advice

T0_MS, A_MS = 10.0, 0.2
INPUT, OUTPUT = 100, 200
BATCHES = (1, 8, 32, 64, 128)


def _result(running: float, **changed: Any) -> dict[str, Any]:
    """A result of ``vllm bench serve`` in which so many sequences ran, by the law."""
    itl_ms = T0_MS + A_MS * running
    output_rate = 1e3 * running / itl_ms
    requests = 2000
    duration = requests * OUTPUT / output_rate
    return {
        "date": "20260101-000000",
        "backend": "vllm",
        "endpoint_type": "vllm",
        "model_id": "org/some-7b",
        "num_prompts": requests,
        "request_rate": "inf",
        "burstiness": 1.0,
        "max_concurrency": None,
        "duration": duration,
        "completed": requests,
        "failed": 0,
        "total_input_tokens": requests * INPUT,
        "total_output_tokens": requests * OUTPUT,
        "request_throughput": requests / duration,
        "output_throughput": output_rate,
        "total_token_throughput": output_rate * (INPUT + OUTPUT) / OUTPUT,
        **{f"{s}_ttft_ms": 100.0 for s in ("mean", "median", "std", "p99")},
        **{f"{s}_tpot_ms": itl_ms for s in ("mean", "median", "p99")},
        **{f"{s}_itl_ms": itl_ms for s in ("mean", "median", "p99")},
        **changed,
    }


def _write(folder: Path, result: dict[str, Any], running: list[float] | None = None) -> None:
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")
    if running is not None:
        rows = "".join(f"{t},{r},0.5,0\n" for t, r in enumerate(running))
        header = "time [s],num_requests_running,gpu_cache_usage_perc,num_preemptions_total\n"
        (folder / "metrics.csv").write_text(header + rows, encoding="utf-8")


def _advice(folder: Path, **wishes: Any) -> Advice:
    return advise(open_serving(folder), Wishes(**wishes))


def _rows(advice: Advice) -> dict[float, dict[str, Any]]:
    return {row["batch_size"]: row for row in advice.curve.rows.to_pylist()}


def _keys(advice: Advice) -> set[str]:
    return {one.key for one in advice.warnings}


def test_trap_1_the_batch_size_is_in_no_result(tmp_path: Path) -> None:
    """It comes from the name of the folder, which is said."""
    for batch in BATCHES:
        _write(tmp_path / f"some-7b_{batch}_20260101", _result(batch))
    advice = _advice(tmp_path)
    assert sorted(_rows(advice)) == list(BATCHES)
    assert {row["batch_source"] for row in _rows(advice).values()} == {"name"}
    assert "batch_by_name" in _keys(advice)


def test_trap_2_more_was_asked_for_than_ran(tmp_path: Path) -> None:
    """The law is fitted over what ran; over what was asked for it would not hold."""
    for batch in (*BATCHES, 256, 512):
        ran = min(batch, 103)
        _write(tmp_path / f"max_num_seqs_{batch}", _result(ran), [float(ran)] * 20)
    advice = _advice(tmp_path)
    assert advice.plateau.fit is not None
    assert advice.plateau.fit.knee == pytest.approx(T0_MS / A_MS, rel=1e-3)
    assert _rows(advice)[512]["running_batch"] == 103
    assert "nominal_beyond_running" in _rows(advice)[512]["flags"]


def test_trap_3_latency_per_chunk_is_not_latency_per_token(tmp_path: Path) -> None:
    """Eight tokens in a chunk: TPOT is taken, and it is said why."""
    for batch in BATCHES:
        per_chunk = 8 * (T0_MS + A_MS * batch)
        _write(tmp_path / f"max_num_seqs_{batch}", _result(batch, mean_itl_ms=per_chunk))
    advice = _advice(tmp_path)
    assert _rows(advice)[64]["itl_source"] == "mean_tpot_ms"
    assert _rows(advice)[64]["itl_ms"] == pytest.approx(T0_MS + A_MS * 64)
    assert "itl_per_chunk" in _keys(advice)


def test_trap_4_a_median_of_microseconds_is_no_latency(tmp_path: Path) -> None:
    """Many tokens from one packet: a limit of the median must not be met by it."""
    for batch in BATCHES:
        _write(tmp_path / f"max_num_seqs_{batch}", _result(batch, median_itl_ms=0.048))
    advice = _advice(tmp_path)
    assert {row["median_itl_ms"] for row in _rows(advice).values()} == {None}
    assert _rows(advice)[64]["itl_ms"] == pytest.approx(T0_MS + A_MS * 64)


def test_trap_5_a_mean_far_above_the_median_is_prefill(tmp_path: Path) -> None:
    for batch in BATCHES:
        median = (T0_MS + A_MS * batch) / 2.1
        _write(tmp_path / f"max_num_seqs_{batch}", _result(batch, median_itl_ms=median))
    advice = _advice(tmp_path)
    assert "prefill_interference" in _keys(advice)


def test_trap_6_the_backend_of_the_client_is_not_the_engine(tmp_path: Path) -> None:
    for batch in BATCHES:
        _write(tmp_path / f"max_num_seqs_{batch}", _result(batch))
    assert set(open_serving(tmp_path).runs["engine"].to_pylist()) == {None}


def test_trap_7_seconds_are_not_milliseconds(tmp_path: Path) -> None:
    """InferenceX writes seconds without a suffix."""
    for batch in BATCHES:
        result = _result(batch, max_concurrency=batch)
        seconds = {
            key.removesuffix("_ms"): value / 1e3
            for key, value in result.items()
            if key.endswith("_ms") and key.startswith(("median", "p99"))
        }
        kept = {key: value for key, value in result.items() if not key.endswith("_ms")}
        _write(tmp_path / f"conc{batch}", {**kept, **seconds})
    row = open_serving(tmp_path).runs.to_pylist()[0]
    assert row["median_tpot_ms"] == pytest.approx(T0_MS + A_MS)


def test_trap_8_throughput_of_output_is_not_that_of_all_tokens(tmp_path: Path) -> None:
    """Two columns, and with cached prompts only generated tokens count."""
    for batch in BATCHES:
        _write(tmp_path / f"max_num_seqs_{batch}", _result(batch))
        (tmp_path / f"max_num_seqs_{batch}" / "server.log").write_text(
            "INFO 01-01 00:00:00 api_server.py:10] vLLM API server version 0.6.3\n"
            f"INFO 01-01 00:00:00 api_server.py:11] args: Namespace(max_num_seqs={batch}, "
            "enable_prefix_caching=True, block_size=16)\n",
            encoding="utf-8",
        )
    cached = _advice(tmp_path)
    row = _rows(cached)[64]
    assert cached.curve.throughput == "output"
    assert row["throughput_tok_s"] == row["output_tok_s"]
    assert row["total_tok_s"] == pytest.approx(row["output_tok_s"] * (INPUT + OUTPUT) / OUTPUT)
    assert _advice(tmp_path, throughput="total").curve.throughput == "total"


def test_trap_9_zeros_are_no_measurements(tmp_path: Path) -> None:
    """A run in which every request failed is refused, not the fastest of all."""
    latencies = [f"{s}_{m}_ms" for s in ("mean", "median", "p99") for m in ("itl", "tpot", "ttft")]
    failed = _result(64, completed=0, failed=2000, **dict.fromkeys(latencies, 0.0))
    _write(tmp_path / "alone", failed)
    with pytest.raises(ServingFileError, match="all 2000 requests failed"):
        open_serving(tmp_path / "alone")
    for batch in BATCHES[:-1]:
        _write(tmp_path / "sweep" / f"max_num_seqs_{batch}", _result(batch))
    _write(tmp_path / "sweep" / "max_num_seqs_128", failed)
    advice = _advice(tmp_path / "sweep", slos=(Slo(limit_ms=50.0),))
    assert advice.choice.batch_size == 64


def test_trap_10_latency_that_falls_with_more_load_is_a_server_that_thrashes(
    tmp_path: Path,
) -> None:
    """The row is neither chosen nor fitted."""
    for batch in BATCHES[:-1]:
        _write(tmp_path / f"max_num_seqs_{batch}", _result(batch), [float(batch)] * 20)
    thrashing = _result(20, request_throughput=None)
    folder = tmp_path / "max_num_seqs_128"
    _write(folder, thrashing)
    rows = "".join(f"{t},{20 + t % 3},1.0,0,{100 + t}\n" for t in range(20))
    (folder / "metrics.csv").write_text(
        "time [s],num_requests_running,gpu_cache_usage_perc,num_preemptions_total,"
        f"num_requests_waiting\n{rows}",
        encoding="utf-8",
    )
    advice = _advice(tmp_path, slos=(Slo(limit_ms=50.0),))
    assert advice.choice.batch_size == 64
    assert "thrash" in _rows(advice)[128]["flags"]
    largest = _advice(tmp_path, slos=(Slo("tpot", limit_ms=50.0),), rule="largest")
    assert largest.choice.batch_size == 64
    assert largest.choice.binding_constraint in {"thrash", "preemption"}
    assert _rows(advice)[128]["fit_weight"] == 0
