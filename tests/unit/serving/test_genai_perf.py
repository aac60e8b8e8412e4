"""genai-perf and AIPerf: their inter token latency is TPOT, a chunk is no token unchecked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.other_formats import GENAI_CSV, aiperf, genai_perf, keys_of_notes, read, write

from nsightlens.errors import ServingFileError

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Part


def _read(folder: Path, top: dict[str, Any]) -> Part:
    (part,) = read(folder, "profile_export.json", top, "genai-perf")
    return part


def test_the_inter_token_latency_of_genai_perf_is_tpot(tmp_path: Path) -> None:
    """It is a mean over requests of (latency - TTFT) / (tokens - 1)."""
    part = _read(tmp_path, genai_perf())
    assert part.format == "genai-perf"
    expected = {"mean_tpot_ms": 15.0, "median_tpot_ms": 14.0, "p99_tpot_ms": 21.0}
    assert expected.items() <= part.values.items()
    assert not any("itl" in name for name in part.values)


def test_settings_and_throughput_of_genai_perf_are_read(tmp_path: Path) -> None:
    """Concurrency stands below the stimulus."""
    part = _read(tmp_path, genai_perf())
    expected = {
        "model": "Llama-3.1-8B", "max_concurrency": 8, "workload": "in550_out128",
        "requests_per_s": 4.0, "output_tok_per_s": 520.0, "completed_count": 80,
        "mean_input_tokens": 550.0, "mean_output_tokens": 130.0, "concurrency": 8.0,
    }  # fmt: skip
    assert expected.items() <= part.values.items()
    assert part.wheres["max_concurrency"] == "input_config.perf_analyzer.stimulus.concurrency"


def test_flat_settings_of_old_genai_perf_are_read(tmp_path: Path) -> None:
    """It wrote its command line's arguments."""
    top = genai_perf()
    top["input_config"] = {
        "model": ["gpt2"], "concurrency": 4, "request_rate": None,
        "synthetic_input_tokens_mean": 100, "output_tokens_mean": 10,
    }  # fmt: skip
    values = _read(tmp_path, top).values
    assert (values["model"], values["max_concurrency"]) == ("gpt2", 4)
    assert values["workload"] == "in100_out10"


def test_units_are_read(tmp_path: Path) -> None:
    """Seconds and microseconds become milliseconds; an unknown unit leaves out."""
    top = genai_perf()
    top["inter_token_latency"]["unit"] = "us"
    top["time_to_first_token"]["unit"] = "sec"
    top["request_latency"]["unit"] = "parsec"
    part = _read(tmp_path, top)
    assert part.values["mean_tpot_ms"] == pytest.approx(0.015)
    assert part.values["mean_ttft_ms"] == 60_000.0
    assert "mean_e2e_ms" not in part.values
    assert "unusable_value" in keys_of_notes(part)


def test_the_phase_that_was_measured_gives_the_concurrency_of_aiperf(tmp_path: Path) -> None:
    """The warm-up, which is excluded from results, had another."""
    part = _read(tmp_path, aiperf())
    assert part.format == "aiperf"
    assert part.values["max_concurrency"] == 8
    assert part.wheres["max_concurrency"] == "input_config.phases[1].concurrency"
    assert (part.values["model"], part.values["workload"]) == ("Qwen3-8B", "in550_out128")


def test_two_measured_phases_give_no_concurrency(tmp_path: Path) -> None:
    """The statistics are of both together."""
    top = aiperf()
    top["input_config"]["phases"].append({"name": "more", "concurrency": 16})
    part = _read(tmp_path, top)
    assert "max_concurrency" not in part.values
    assert "several_phases" in keys_of_notes(part)


def test_old_aiperf_has_its_load_in_loadgen(tmp_path: Path) -> None:
    """With the rate that was asked for, and the lengths below the prompt."""
    top = aiperf()
    top["input_config"] = {
        "endpoint": {"model_names": ["org/m"]},
        "loadgen": {"concurrency": 32, "request_rate": 2.5},
        "input": {"prompt": {"input_tokens": {"mean": 64}, "output_tokens": {"mean": 32}}},
    }
    values = _read(tmp_path, top).values
    assert (values["max_concurrency"], values["request_rate_per_s"]) == (32, 2.5)
    assert (values["model"], values["workload"]) == ("m", "in64_out32")


def test_lengths_and_model_stand_in_the_command_line_too(tmp_path: Path) -> None:
    """Where the settings leave them out."""
    top = aiperf()
    top["input_config"] = {}
    top["run_info"] = {"cli_command": "aiperf profile -m 'org/m2' --isl 77 --osl=11"}
    values = _read(tmp_path, top).values
    assert (values["model"], values["workload"]) == ("m2", "in77_out11")


def test_chunks_of_a_token_each_give_the_time_between_tokens(tmp_path: Path) -> None:
    """16 ms per chunk and 15 per token are the same within a quarter."""
    values = _read(tmp_path, aiperf()).values
    assert (values["mean_itl_ms"], values["median_itl_ms"], values["p99_itl_ms"]) == (16, 13, 30)


@pytest.mark.parametrize("mean", [48.0, 3.0])
def test_chunks_of_several_tokens_are_no_time_between_tokens(tmp_path: Path, mean: float) -> None:
    """Nor are chunks of less than a token; the time per token stays."""
    top = aiperf()
    top["inter_chunk_latency"]["avg"] = mean
    part = _read(tmp_path, top)
    assert not any("itl" in name for name in part.values)
    assert part.values["mean_tpot_ms"] == 15.0
    assert "chunk_is_no_token" in keys_of_notes(part)


def test_failed_requests_of_aiperf_are_counted(tmp_path: Path) -> None:
    """The count is there only where something failed; else the list of errors is empty."""
    part = _read(tmp_path, aiperf())
    assert (part.values["failed_count"], part.values["prompt_count"]) == (3, 83)
    assert "failed_requests" in keys_of_notes(part)
    top = aiperf()
    del top["error_request_count"]
    assert _read(tmp_path, top).values["failed_count"] == 3
    top["error_summary"] = []
    assert _read(tmp_path, top).values["failed_count"] == 0
    del top["error_summary"]
    assert "failed_count" not in _read(tmp_path, top).values


def test_a_cancelled_run_is_told_of(tmp_path: Path) -> None:
    """Its statistics are of what had been sent."""
    assert "cancelled" in keys_of_notes(_read(tmp_path, {**aiperf(), "was_cancelled": True}))
    assert "cancelled" in keys_of_notes(_read(tmp_path, {**aiperf(), "is_complete": False}))


def test_a_run_of_which_every_request_failed_is_refused(tmp_path: Path) -> None:
    """AIPerf writes statistics of nothing."""
    top = aiperf()
    top["request_count"]["avg"] = 0.0
    with pytest.raises(ServingFileError, match="all 3 requests failed"):
        _read(tmp_path, top)


def test_the_csv_of_two_blocks_is_read(tmp_path: Path) -> None:
    """Thousands have separators, names carry units."""
    (part,) = read(tmp_path, "a.csv", GENAI_CSV, "genai-perf-csv")
    expected = {
        "mean_tpot_ms": 15.0, "median_tpot_ms": 14.0, "p99_tpot_ms": 21.0, "p99_ttft_ms": 98.0,
        "mean_e2e_ms": 2000.0, "output_tok_per_s": 1520.5, "requests_per_s": 4.0,
        "completed_count": 80, "mean_output_tokens": 130.0,
    }  # fmt: skip
    assert expected.items() <= part.values.items()


def test_a_csv_beside_its_json_is_not_another_run(tmp_path: Path) -> None:
    """Both are written by default; a JSON of something else is no reason."""
    write(tmp_path, "a.json", {"other": 1})
    assert read(tmp_path, "a.csv", GENAI_CSV, "genai-perf-csv")
    write(tmp_path, "a.json", genai_perf())
    with pytest.raises(ServingFileError, match=r"repeats a\.json"):
        read(tmp_path, "a.csv", GENAI_CSV, "genai-perf-csv")


def test_a_csv_of_another_kind_is_no_table(tmp_path: Path) -> None:
    """A cell of a megabyte is more than the module takes."""
    text = GENAI_CSV + '"' + "x" * 200_000 + '",1\n'
    with pytest.raises(ServingFileError, match="is no table"):
        read(tmp_path, "a.csv", text, "genai-perf-csv")


def test_a_csv_that_was_cut_gives_what_it_has(tmp_path: Path) -> None:
    """The second block is gone, and the last row is short."""
    (part,) = read(tmp_path, "a.csv", GENAI_CSV[:330], "genai-perf-csv")
    assert part.values["mean_ttft_ms"] == 60.0
    assert "output_tok_per_s" not in part.values


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("profile_export.json", '{"service_kind": "openai", "experiments": [{"requests": []}]}'),
        ("r.jsonl", '{"metadata": {"request_start_ns": 1}, "metrics": {"x": {"value": 1}}}\n'),
    ],
)
def test_single_requests_are_refused(tmp_path: Path, name: str, text: str) -> None:
    """The statistics lie beside them."""
    with pytest.raises(ServingFileError, match="single requests"):
        read(tmp_path, name, text, "genai-perf-raw")
