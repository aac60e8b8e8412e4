"""A throughput without a name for its tokens is told by arithmetic, or is left out."""

from __future__ import annotations

import numpy as np
import pytest

from nsightlens.serving.tabular.plain_rates import verdict_of

BATCH = [1.0, 8.0, 64.0]
GROWING = [100.0, 600.0, 2000.0]


def _verdict(rate: list[float], **others: list[float]) -> tuple[str | None, str]:
    arrays = {name: np.array(values, float) for name, values in others.items()}
    found = verdict_of(np.array(rate, float), arrays)
    return found.column, found.key


@pytest.mark.parametrize(
    ("factor", "column"), [(1.0, "output_tok_per_s"), (3.0, "total_tok_per_s")]
)
def test_tokens_and_time_decide(factor: float, column: str) -> None:
    """With twice as many prompt tokens, the total is three times the output."""
    rate = [factor * one for one in GROWING]
    tokens = {
        "input_token_count": [20 * one for one in GROWING],
        "output_token_count": [10 * one for one in GROWING],
        "duration_s": [10.0] * 3,
    }
    assert _verdict(rate, **tokens) == (column, "throughput_resolved")
    lengths = {
        "mean_input_tokens": [200.0] * 3,
        "mean_output_tokens": [100.0] * 3,
        "requests_per_s": [one / 100 for one in GROWING],
    }
    assert _verdict(rate, **lengths) == (column, "throughput_resolved")


def test_what_fits_no_tokens_is_left_out() -> None:
    """It may be of requests, or of a part of the run."""
    tokens = {
        "input_token_count": [20.0] * 3,
        "output_token_count": [10.0] * 3,
        "duration_s": [1.0] * 3,
    }
    assert _verdict(GROWING, **tokens) == (None, "throughput_unclear")


def test_without_tokens_it_is_the_total() -> None:
    """Growth is the same, and nothing is derived from its size."""
    assert _verdict(GROWING, max_num_seqs=BATCH) == ("total_tok_per_s", "throughput_unclear")


def test_beside_a_clear_throughput_it_is_not_used() -> None:
    """Two columns of one meaning would contradict each other."""
    found = _verdict(GROWING, max_num_seqs=BATCH, output_tok_per_s=[1.0, 2.0, 3.0])
    assert found == (None, "throughput_unclear")


def test_one_over_the_latency_is_what_one_request_sees() -> None:
    """The trap of avg_tokens_per_sec in tables that people write."""
    latency = [4.0, 5.0, 20.0]
    rate = [1000 / one for one in latency]
    found = _verdict(rate, static_batch_size=BATCH, mean_itl_ms=latency)
    assert found == (None, "throughput_per_request")


def test_a_rate_that_falls_with_the_batch_is_of_one_request() -> None:
    """No server is slower at 64 than at 1."""
    falling = [250.0, 200.0, 50.0]
    assert _verdict(falling, static_batch_size=BATCH) == (None, "throughput_per_request")


def test_a_total_beside_a_latency_is_kept() -> None:
    """It is about the batch over the latency."""
    found = _verdict([250.0, 1600.0, 3200.0], static_batch_size=BATCH, mean_itl_ms=[4, 5, 20])
    assert found == ("total_tok_per_s", "throughput_unclear")


def test_rows_without_values_do_not_decide() -> None:
    """NaN is neither large nor small."""
    nan = float("nan")
    assert _verdict([nan, nan, nan], static_batch_size=BATCH)[0] == "total_tok_per_s"
    assert _verdict([1.0], static_batch_size=[nan])[0] == "total_tok_per_s"
    assert _verdict([100.0, 50.0], static_batch_size=[1.0, 2.0])[0] == "total_tok_per_s"
