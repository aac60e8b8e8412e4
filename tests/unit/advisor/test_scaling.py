"""Bytes per element, contexts and peaks are what runs and products say."""

from __future__ import annotations

import pytest
from support.advice_curves import runs

from nsightlens.advisor.scaling import analytic_knee, mean_context, rates_of, sizes_of
from nsightlens.errors import FilterError
from nsightlens.models import read_model

OPT = read_model("opt-1.3b")


@pytest.mark.parametrize(
    ("quantization", "weight_bytes"),
    [("awq", 0.5), ("gptq_marlin", 0.5), ("fp8", 1.0), ("w8a8", 1.0), (None, 2.0), ("none", 2.0)],
)
def test_weights_are_as_small_as_their_quantization(
    quantization: str | None, weight_bytes: float
) -> None:
    """Two bytes where nothing says otherwise; what is given wins."""
    table = runs([{"quantization": quantization}])
    assert sizes_of(OPT, table, None, None).weight_bytes == weight_bytes
    assert sizes_of(OPT, table, 4.0, None).weight_bytes == 4.0


def test_half_of_the_bytes_halve_the_knee() -> None:
    """Of the weights; half of those of the cache double it."""
    knee = analytic_knee(OPT, 500)
    assert analytic_knee(OPT, 500, kv_bytes=1.0) == pytest.approx(2 * knee)
    assert 0.5 * knee < analytic_knee(OPT, 500, weight_bytes=1.0) < 0.6 * knee


def test_a_model_that_cannot_be_divided_is_refused() -> None:
    """32 heads among 5 GPUs."""
    with pytest.raises(FilterError):
        sizes_of(OPT, runs([{"tensor_parallel_size": 5}]), None, None)


def test_eight_bit_weights_use_eight_bit_tensor_cores() -> None:
    """Smaller ones are expanded to 16 bit."""
    half, eight, four = (
        rates_of("H100 SXM5 80GB", weight_bytes=one).flop_per_s for one in (2.0, 1.0, 0.5)
    )
    assert eight == pytest.approx(2 * half)
    assert four == half
    # An A100 has no fp8, but int8.
    assert rates_of("A100-SXM4-40GB", weight_bytes=1.0).flop_per_s == pytest.approx(
        624e12, rel=0.01
    )


def test_blocks_are_a_pool_of_tokens() -> None:
    """Their number times their size; the middle of several runs is taken."""
    rows = [
        {"kv_mean_pct": pct, "kv_block_count": 1000, "block_size": 16, "mean_running": 8.0}
        for pct in (10.0, 20.0, 90.0)
    ]
    assert mean_context(runs(rows), None) == pytest.approx(0.2 * 16_000 / 8)
    assert mean_context(None, None) is None
    assert mean_context(runs([{"model": "opt"}]), None) is None
