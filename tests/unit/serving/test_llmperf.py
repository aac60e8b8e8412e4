"""LLMPerf: seconds, and an inter token latency that includes the time to the first token."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.other_formats import keys_of_notes, llmperf, read

from nsightlens.errors import ServingFileError

if TYPE_CHECKING:
    from pathlib import Path


def test_its_inter_token_latency_is_taken_by_no_column(tmp_path: Path) -> None:
    """The time per token is computed from means: (2350 - 250) / (141 - 1)."""
    (part,) = read(tmp_path, "a_summary.json", llmperf(), "llmperf")
    assert not any("itl" in name for name in part.values)
    assert part.values["mean_tpot_ms"] == pytest.approx(15.0)
    assert "mean_tpot_ms" in part.derived
    assert not {"median_tpot_ms", "p99_tpot_ms"} & set(part.values)
    assert keys_of_notes(part) == ["tpot_from_means"]


def test_the_rest_is_read_in_our_units(tmp_path: Path) -> None:
    """Completed requests stand there per minute."""
    (part,) = read(tmp_path, "a_summary.json", llmperf(), "llmperf")
    expected = {
        "mean_ttft_ms": 250.0, "p99_ttft_ms": 470.0, "median_e2e_ms": 2260.0,
        "requests_per_s": 1.4, "output_tok_per_s": 207.5, "duration_s": 105.0,
        "completed_count": 147, "failed_count": 3, "prompt_count": 150, "max_concurrency": 5,
        "model": "Llama-2-7b-chat-hf", "workload": "in550_out150", "mean_input_tokens": 551.0,
    }  # fmt: skip
    assert {name: part.values[name] for name in expected} == pytest.approx(expected)
    assert part.values["concurrency"] == pytest.approx(1.4 * 2.35)


@pytest.mark.parametrize("tokens", [1.0, 0.5, None])
def test_without_tokens_after_the_first_there_is_no_time_per_token(
    tmp_path: Path, tokens: float | None
) -> None:
    """Nothing is divided by zero."""
    top = {**llmperf(), "results_number_output_tokens_mean": tokens}
    (part,) = read(tmp_path, "a_summary.json", top, "llmperf")
    assert "mean_tpot_ms" not in part.values


def test_a_summary_of_failures_is_refused(tmp_path: Path) -> None:
    """No request completed."""
    top = {**llmperf(), "results_num_completed_requests": 0}
    with pytest.raises(ServingFileError, match="all 150 requests failed"):
        read(tmp_path, "a_summary.json", top, "llmperf")


def test_single_responses_are_refused(tmp_path: Path) -> None:
    """The summary lies beside them."""
    one = {"error_code": None, "ttft_s": 0.2, "end_to_end_latency_s": 2.0}
    with pytest.raises(ServingFileError, match="single responses"):
        read(tmp_path, "a_individual_responses.json", [one], "llmperf-responses")
