"""Results of vLLM's offline benchmarks: the little that they say, and what they lack."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from support.client_results import keys_of_notes, read, vllm_result, write

from nsightlens.errors import ServingFileError
from nsightlens.serving.benchmarks.vllm_offline import FORMATS
from nsightlens.serving.opened import OpenedFile

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Part

THROUGHPUT: dict[str, Any] = {
    "elapsed_time": 10.0,
    "num_requests": 200,
    "total_num_tokens": 60_000,
    "requests_per_second": 20.0,
    "tokens_per_second": 6000.0,
}
LATENCY: dict[str, Any] = {
    "avg_latency": 1.25,
    "latencies": [1.0, 1.5],
    "percentiles": {"10": 1.05, "50": 1.25, "99": 1.495},
}


def read_one(folder: Path, result: dict[str, Any]) -> Part:
    """Read a file of one result."""
    (part,) = read(FORMATS, write(folder / "result.json", result, indent=4))
    return part


def test_throughput_is_of_all_tokens_together(tmp_path: Path) -> None:
    """Prompt and generated tokens cannot be told apart: no output rate, no mean lengths."""
    part = read_one(tmp_path, THROUGHPUT | {"model_id": "acme/Small-1B"})
    assert part.values == {
        "model": "Small-1B",
        "duration_s": 10.0,
        "prompt_count": 200,
        "completed_count": 200,
        "request_rate_per_s": math.inf,
        "requests_per_s": 20.0,
        "total_tok_per_s": 6000.0,
    }
    assert keys_of_notes(part) == ["total_only"]


def test_a_throughput_that_contradicts_its_counts_is_replaced(tmp_path: Path) -> None:
    """Tokens over time are used."""
    part = read_one(tmp_path, THROUGHPUT | {"tokens_per_second": 3000.0})
    assert part.values["total_tok_per_s"] == 6000.0
    assert "contradiction" in keys_of_notes(part)


@pytest.mark.parametrize("changes", [{"elapsed_time": 0}, {"num_requests": "many"}])
def test_throughput_of_nothing_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    """No time or no requests."""
    with pytest.raises(ServingFileError, match="holds no measurement"):
        read_one(tmp_path, THROUGHPUT | changes)


def test_latency_is_of_a_batch_that_is_not_known(tmp_path: Path) -> None:
    """No time per token is made up from it."""
    part = read_one(tmp_path, LATENCY)
    assert part.values == {
        "mean_e2e_ms": 1250.0,
        "median_e2e_ms": 1250.0,
        "p99_e2e_ms": 1495.0,
    }
    assert keys_of_notes(part) == ["batch_unknown"]


@pytest.mark.parametrize(("batch", "key"), [(8, "static_batch_size"), ("8", "?static_batch_size")])
def test_latency_with_its_batch_gives_requests_per_second(
    tmp_path: Path, batch: Any, key: str
) -> None:
    """Someone may write the batch beside the result; as text it is a hint."""
    part = read_one(tmp_path, LATENCY | {"batch_size": batch})
    assert part.values[key] == 8
    assert part.values["requests_per_s"] == 6.4
    assert keys_of_notes(part) == ["prefill_included"]


def test_latencies_fill_what_is_absent(tmp_path: Path) -> None:
    """Mean and percentiles follow from the list."""
    part = read_one(tmp_path, LATENCY | {"avg_latency": None, "percentiles": {}})
    assert part.values["mean_e2e_ms"] == 1250.0
    assert part.values["median_e2e_ms"] == 1250.0
    assert part.derived["mean_e2e_ms"] == "from latencies"


@pytest.mark.parametrize("listed", [None, "abc", [1.0, None], [-1.0], [], [[1.0]]])
def test_damaged_latencies_leave_the_mean(tmp_path: Path, listed: Any) -> None:
    """The stated numbers remain; without them, the file is refused."""
    damaged = LATENCY | {"latencies": listed}
    assert read_one(tmp_path, damaged).values["mean_e2e_ms"] == 1250.0
    with pytest.raises(ServingFileError, match="no latency above zero"):
        read_one(tmp_path, damaged | {"avg_latency": math.nan})


def test_other_formats_are_not_claimed(tmp_path: Path) -> None:
    """Serving results are not offline ones."""
    path = write(tmp_path / "a.json", vllm_result())
    assert not any(one.claims(OpenedFile(path)) for one in FORMATS)
