"""Values of one run: checked once, absent where nothing was measured, never silently dropped."""

from __future__ import annotations

from typing import Any

import pytest
from support.other_formats import keys_of_notes

from nsightlens.errors import ServingFileError
from nsightlens.serving.benchmarks.collected import Collected
from nsightlens.serving.benchmarks.several_runs import parts_of_runs


def _run(**values: Any) -> Collected:
    run = Collected("a.json", "test")
    for name, value in values.items():
        run.real(name, value, zero=name.endswith("_count"))
    return run


def test_a_zero_that_stands_for_not_measured_is_absent() -> None:
    """A latency of zero is none, and no note is due."""
    part = _run(mean_itl_ms=0.0, mean_tpot_ms=5.0).part()
    assert part.values == {"mean_tpot_ms": 5.0}
    assert part.notes == ()


@pytest.mark.parametrize(
    "raw", ["fast", -1.0, float("nan"), float("inf"), [1.0], {}, True, 10**400]
)
def test_what_is_no_such_quantity_is_left_out_with_a_note(raw: Any) -> None:
    """Each kind of rubbish ends in null and a note that shows it."""
    part = _run(mean_itl_ms=raw, mean_tpot_ms=5.0).part()
    assert "mean_itl_ms" not in part.values
    assert keys_of_notes(part) == ["unusable_value"]
    assert "mean_itl_ms" in part.notes[0].text


def test_a_number_written_as_text_is_a_number() -> None:
    """YAML reads 1e-05 as a text, since it has no point."""
    run = Collected("a.yaml", "test")
    run.real("mean_itl_ms", "1.5e+01")
    assert run.values == {"mean_itl_ms": 15.0}


def test_a_count_is_whole_or_left_out() -> None:
    """Half a request is no count."""
    run = _run(mean_tpot_ms=5.0)
    run.count("prompt_count", 80.0)
    run.count("completed_count", 79.5)
    run.count("failed_count", 1e300)
    assert run.values["prompt_count"] == 80
    assert isinstance(run.values["prompt_count"], int)
    assert not {"completed_count", "failed_count"} & set(run.part().values)


def test_a_value_in_a_unit_that_is_not_known_is_left_out() -> None:
    """No factor of a thousand is guessed."""
    run = _run(mean_tpot_ms=5.0)
    run.latency("itl", {"mean": 3.0}, None)
    part = run.part()
    assert "mean_itl_ms" not in part.values
    assert "unit that is not known" in part.notes[0].text


def test_a_run_without_latency_and_throughput_is_refused_with_what_was_unusable() -> None:
    """A file that only says its settings is no result."""
    with pytest.raises(ServingFileError, match=r"neither a latency nor a throughput.*'quick'"):
        _run(mean_itl_ms="quick", max_concurrency=8, request_rate_per_s=3.0).part()


def test_a_run_of_which_every_request_failed_is_refused() -> None:
    """Its latencies are zeros that were never measured."""
    with pytest.raises(ServingFileError, match="all 20 requests failed"):
        _run(completed_count=0, failed_count=20, mean_itl_ms=3.0).part()


def test_a_median_of_bytes_that_came_together_is_left_out() -> None:
    """A tenth of a millisecond beside a mean of twelve is no time between tokens."""
    run = _run(mean_itl_ms=12.0, median_itl_ms=0.15)
    run.leave_out_burst_median()
    part = run.part()
    assert "median_itl_ms" not in part.values
    assert keys_of_notes(part) == ["itl_median_unusable"]


def test_a_median_far_below_the_mean_by_prefills_is_kept() -> None:
    """Decoding in 35 ms among long prefills gives a mean of 636 ms: the median is the step."""
    run = _run(mean_itl_ms=636.0, median_itl_ms=35.0)
    run.leave_out_burst_median()
    assert run.part().values["median_itl_ms"] == 35.0


def test_a_time_between_tokens_that_no_server_reaches_is_told_of() -> None:
    """Seconds that a file calls milliseconds are a thousand times too small."""
    assert keys_of_notes(_run(mean_itl_ms=0.0837).part()) == ["latency_implausible"]


def test_a_rate_that_count_and_duration_contradict_is_told_of() -> None:
    """500 requests in 50 s are ten per second, and not 2262."""
    assert keys_of_notes(_run(completed_count=500, duration_s=50, requests_per_s=9).part()) == []
    part = _run(completed_count=500, duration_s=50, requests_per_s=2262).part()
    assert keys_of_notes(part) == ["rates_disagree"]


def test_requests_in_flight_follow_from_rate_and_latency() -> None:
    """Little's law: 4 per second, each of 2 s."""
    run = _run(requests_per_s=4.0, mean_e2e_ms=2000.0)
    run.little()
    part = run.part()
    assert part.values["concurrency"] == 8.0
    assert "Little" in part.derived["concurrency"]


def test_a_run_that_failed_becomes_a_note_on_the_first_that_did_not() -> None:
    """Two failed runs with the same reason are one note."""
    runs = [_run(completed_count=0), _run(mean_itl_ms=3.0), _run(completed_count=0)]
    parts = parts_of_runs("a.json", [(f"line {n}", run.part) for n, run in enumerate(runs, 1)])
    assert len(parts) == 1
    assert keys_of_notes(parts[0]) == ["run_left_out"]
    assert parts[0].notes[0].text.startswith("line 1, line 3 says that every request failed")


def test_a_file_whose_runs_all_failed_is_refused() -> None:
    """No run is left, or there was none."""
    with pytest.raises(ServingFileError, match="holds no whole run"):
        parts_of_runs("a.json", [])
    with pytest.raises(ServingFileError, match="every request failed"):
        parts_of_runs("a.json", [("line 1", _run(completed_count=0).part)])
