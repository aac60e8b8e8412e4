"""The summary of a client is checked, and put right where it is known how: vLLM's as example."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.client_results import details, keys_of_notes, read, vllm_result, write

from nsightlens.errors import ServingFileError
from nsightlens.serving.benchmarks.vllm_bench import FORMATS
from nsightlens.tables import SERVING_RUNS

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Part

COLUMNS = {column.name for column in SERVING_RUNS}


def read_one(folder: Path, result: dict[str, Any]) -> Part:
    """Read a file of one result."""
    (part,) = read(FORMATS, write(folder / "result.json", result))
    return part


# Traps.


def test_a_run_in_which_every_request_failed_is_refused(tmp_path: Path) -> None:
    """The client writes it as usual, with zeros."""
    zeros = {key: 0.0 for key in vllm_result() if key.endswith(("_ms", "put"))}
    failed = vllm_result(**zeros, completed=0, errors=["", "Traceback\nTimeoutError: slow"])
    with pytest.raises(
        ServingFileError, match=r"all 100 requests failed \(TimeoutError: slow\)\. Look into"
    ):
        read_one(tmp_path, failed)


def test_a_zero_is_no_latency(tmp_path: Path) -> None:
    """Zeros, NaN and infinities of latencies are left out, each with a note."""
    changed = vllm_result(mean_tpot_ms=0.0, p99_tpot_ms=math.nan, median_itl_ms=math.inf)
    part = read_one(tmp_path, changed)
    assert not {"mean_tpot_ms", "p99_tpot_ms", "median_itl_ms"} & part.values.keys()
    assert sorted(keys_of_notes(part)) == ["not_measured", "zero_not_measured"]


def test_gaps_of_chunks_are_said(tmp_path: Path) -> None:
    """Mean ITL far above mean TPOT means that a chunk holds several tokens."""
    part = read_one(tmp_path, vllm_result(mean_itl_ms=50.3, mean_tpot_ms=6.0))
    assert keys_of_notes(part) == ["itl_per_chunk"]
    assert "8.38 times" in part.notes[0].text
    assert (part.values["mean_itl_ms"], part.values["mean_tpot_ms"]) == (50.3, 6.0)


def test_a_median_of_chunks_read_together_is_left_out(tmp_path: Path) -> None:
    """No step takes a twentieth of a millisecond."""
    part = read_one(tmp_path, vllm_result(median_itl_ms=0.048, mean_itl_ms=30.0))
    assert "median_itl_ms" not in part.values
    assert keys_of_notes(part) == ["median_itl_tiny"]


@pytest.mark.parametrize(
    ("changes", "is_swapped"),
    [
        ({"date": "20241015-000000", "burstiness": ...}, True),
        ({"date": ..., "burstiness": ..., "best_of": 1}, True),
        ({"date": "20250801-000000", "burstiness": ...}, False),
        ({"date": "20241015-000000"}, False),
    ],
)
def test_exchanged_mean_and_median_are_put_right(
    tmp_path: Path, changes: dict[str, Any], is_swapped: bool
) -> None:
    """The old generation wrote the median of whole latencies as their mean, and the reverse."""
    part = read_one(tmp_path, vllm_result(mean_e2el_ms=3000.0, median_e2el_ms=4000.0, **changes))
    right = (4000.0, 3000.0) if is_swapped else (3000.0, 4000.0)
    assert (part.values["mean_e2e_ms"], part.values["median_e2e_ms"]) == right
    assert ("e2e_swapped" in keys_of_notes(part)) is is_swapped
    assert ("mean_e2e_ms" in part.derived) is is_swapped
    assert part.values["concurrency"] == pytest.approx(100 * right[0] / 1e3 / 50)


def test_details_say_which_of_mean_and_median_is_right(tmp_path: Path) -> None:
    """With the latencies of each request there, an old file is believed where it is right."""
    old = {"date": "20241015-000000", "burstiness": ..., "num_prompts": 4, "completed": 3}
    lists = {
        "output_lens": [3, 3, 3],
        "ttfts": [0.1, 0.1, 0.7],
        "itls": [[0.1, 0.1]] * 3,
    }
    right, exchanged = (
        read_one(tmp_path, vllm_result(mean_e2el_ms=mean, median_e2el_ms=median, **old, **lists))
        for mean, median in ((500.0, 300.0), (300.0, 500.0))
    )
    for part in (right, exchanged):
        assert part.values["mean_e2e_ms"] == pytest.approx(500)
        assert part.values["median_e2e_ms"] == pytest.approx(300)
    assert "e2e_swapped" not in keys_of_notes(right)
    assert "e2e_swapped" in keys_of_notes(exchanged)


# Details of each request.


def _few(**changes: Any) -> dict[str, Any]:
    counts = {"num_prompts": 4, "completed": 3, "duration": 1.0, "total_output_tokens": 8}
    rates = {"request_throughput": 3.0, "output_throughput": 8.0, "total_input_tokens": 30}
    latencies = {key: ... for key in vllm_result() if key.endswith("_ms")}
    changed = {**latencies, **counts, **rates, "total_token_throughput": 38.0, **details()}
    return vllm_result(**{**changed, **changes})


def test_what_the_summary_lacks_is_computed_from_details(tmp_path: Path) -> None:
    """Details are in seconds; failed and empty requests are no latencies."""
    part = read_one(tmp_path, _few())
    values = part.values
    assert values["mean_ttft_ms"] == pytest.approx(200)
    assert values["mean_itl_ms"] == pytest.approx(1e3 * 0.14 / 6)
    assert values["median_itl_ms"] == pytest.approx(20)
    assert values["mean_tpot_ms"] == pytest.approx(1e3 * (0.06 / 2 + 0.08 / 4) / 2)
    assert values["mean_e2e_ms"] == pytest.approx(1e3 * (0.16 + 0.38) / 2)
    assert values["concurrency"] == pytest.approx(0.54)
    assert values["failed_count"] == 1
    assert part.derived["mean_itl_ms"] == "from the details of each request"
    assert part.wheres["mean_itl_ms"] == "itls"


def test_requests_without_a_token_do_not_shorten_the_first(tmp_path: Path) -> None:
    """Their 0 ms to the first token pulled the mean down."""
    part = read_one(tmp_path, _few(mean_ttft_ms=400 / 3, median_ttft_ms=100.0))
    assert part.values["mean_ttft_ms"] == pytest.approx(200)
    assert part.values["median_ttft_ms"] == pytest.approx(200)
    assert keys_of_notes(part) == ["empty_requests"]


def test_answers_of_one_token_have_no_time_per_token(tmp_path: Path) -> None:
    """They have a first token and none after it."""
    lists = {"output_lens": [1, 5, 0, 0], "itls": [[], [0.01, 0.01, 0.02, 0.04], [], []]}
    values = read_one(tmp_path, _few(total_output_tokens=6, output_throughput=6.0, **lists)).values
    assert values["mean_tpot_ms"] == pytest.approx(20)
    assert values["mean_ttft_ms"] == pytest.approx(200)


def test_a_first_token_after_no_time_is_none(tmp_path: Path) -> None:
    """Also where the client did not write how many tokens each request got."""
    values = read_one(tmp_path, _few(output_lens=..., itls=...)).values
    assert values["mean_ttft_ms"] == pytest.approx(200)


def test_details_that_contradict_the_summary_are_said(tmp_path: Path) -> None:
    """The summary is kept."""
    part = read_one(tmp_path, _few(mean_tpot_ms=90.0))
    assert part.values["mean_tpot_ms"] == 90.0
    assert "contradiction" in keys_of_notes(part)


@pytest.mark.parametrize(
    "damage",
    [
        {"ttfts": [0.1]},
        {"ttfts": [0.1, "a", 0.0, 0.0]},
        {"itls": [[0.1], None, [], []]},
        {"itls": [[-0.1], [], [], []]},
        {"ttfts": [math.nan, 0.1, 0.1, 0.1]},
    ],
)
def test_damaged_details_are_not_used(tmp_path: Path, damage: dict[str, Any]) -> None:
    """The summary remains."""
    part = read_one(tmp_path, _few(**damage))
    assert "mean_itl_ms" not in part.values
    assert part.values["output_tok_per_s"] == 8.0
    assert keys_of_notes(part) == ["details_unusable"]


# Contradictions.


@pytest.mark.parametrize(
    ("changes", "column", "value"),
    [
        ({"output_throughput": 250.0}, "output_tok_per_s", 200.0),
        ({"request_throughput": 0.0}, "requests_per_s", 2.0),
        ({"total_token_throughput": 200.0}, "total_tok_per_s", 600.0),
    ],
)
def test_a_rate_that_contradicts_its_counts_is_replaced(
    tmp_path: Path, changes: dict[str, Any], column: str, value: float
) -> None:
    """Counts over the duration are used, and both numbers are said."""
    part = read_one(tmp_path, vllm_result(**changes))
    assert part.values[column] == value
    assert "over the duration" in part.derived[column]
    assert keys_of_notes(part) == ["contradiction"]


def test_more_answers_than_requests_are_a_contradiction(tmp_path: Path) -> None:
    """The requests that were sent, and what failed, are then not known."""
    part = read_one(tmp_path, vllm_result(num_prompts=90))
    assert not {"prompt_count", "failed_count"} & part.values.keys()
    assert "100 requests completed, but 90 were sent" in part.notes[0].text


@pytest.mark.parametrize(
    ("changes", "column"),
    [
        ({"mean_ttft_ms": 60_000.0}, "mean_ttft_ms"),
        ({"p99_itl_ms": 3.0}, "p99_itl_ms"),
        ({"mean_itl_ms": -3.0}, "mean_itl_ms"),
    ],
)
def test_latencies_that_cannot_be_are_left_out(
    tmp_path: Path, changes: dict[str, Any], column: str
) -> None:
    """Longer than the run, below the median, or negative."""
    part = read_one(tmp_path, vllm_result(**changes))
    assert column not in part.values
    assert "contradiction" in keys_of_notes(part)


def test_seconds_under_a_name_in_milliseconds_are_left_out(tmp_path: Path) -> None:
    """No model makes a token in 0.03 ms."""
    seconds = {
        f"{one}_{name}_ms": 0.03 for one in ("mean", "median", "p99") for name in ("itl", "tpot")
    }
    part = read_one(tmp_path, vllm_result(**seconds))
    assert not [key for key in part.values if "tpot" in key or "itl" in key]
    assert set(keys_of_notes(part)) == {"implausible", "median_itl_tiny"}


def test_an_answer_is_not_whole_before_its_first_token(tmp_path: Path) -> None:
    """The whole latency is left out, and no concurrency is made of it."""
    part = read_one(tmp_path, vllm_result(mean_e2el_ms=40.0, median_e2el_ms=3000.0))
    assert not {"mean_e2e_ms", "concurrency"} & part.values.keys()
    assert part.values["median_e2e_ms"] == 3000.0
    assert keys_of_notes(part) == ["contradiction"]


def test_more_sequences_than_requests_are_a_contradiction(tmp_path: Path) -> None:
    """Throughput times the time of a token is the batch: 200/s at 300 ms are 60, of 8."""
    part = read_one(tmp_path, vllm_result(mean_tpot_ms=300.0, p99_tpot_ms=310.0))
    assert "need 60 sequences at once, more than the 8" in part.notes[-1].text


@pytest.mark.parametrize("duration", [0, -3.5, -(10**400)])
def test_a_run_of_no_time_is_refused(tmp_path: Path, duration: float) -> None:
    """A duration of zero or less makes every rate wrong."""
    with pytest.raises(ServingFileError, match="says that the run took"):
        read_one(tmp_path, vllm_result(duration=duration))


def test_a_benchmark_of_embeddings_is_refused(tmp_path: Path) -> None:
    """Without generated tokens there is no decode step."""
    with pytest.raises(ServingFileError, match="no generated token"):
        read_one(tmp_path, vllm_result(total_output_tokens=0, output_throughput=0.0))


def test_a_result_without_speed_is_refused(tmp_path: Path) -> None:
    """Neither rates nor latencies: nothing can be said."""
    silent = {key: None for key in vllm_result() if key.endswith(("_ms", "put", "tokens"))}
    with pytest.raises(ServingFileError, match="neither throughput nor the time between tokens"):
        read_one(tmp_path, vllm_result(**silent, duration=None, completed=None))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from([10**400, -1, 0, 1e300, "inf", "64"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from(sorted({*vllm_result(), *details(), "failed", "max_num_seqs", "tp"})),
        JSON_VALUES,
        min_size=1,
        max_size=6,
    )
)
def test_whatever_stands_in_a_result_is_read_or_diagnosed(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    """Any value under any key gives columns with numbers that can be, or a diagnosis."""
    path = tmp_path / "result.json"
    path.write_text(json.dumps(vllm_result(**changes)), encoding="utf-8")
    parts = []
    with suppress(ServingFileError):
        parts = read(FORMATS, path)
    for part in parts:
        for key, value in part.values.items():
            assert key.removeprefix("?") in COLUMNS
            if isinstance(value, float) and key != "request_rate_per_s":
                assert 0 < value < math.inf
