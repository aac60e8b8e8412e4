"""From a report to the answer: the two bundled sweeps, whose answers are opposite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import nsightlens
from nsightlens import example
from nsightlens.example.gated_layer import LLAMA_3_8B, gated_decode_layer
from nsightlens.example.layer import OPT_1_3B, decode_layer
from nsightlens.example.model import H100_SXM

if TYPE_CHECKING:
    from collections.abc import Callable

    from nsightlens.example.layer import Layer
    from nsightlens.example.model import Kernel
    from nsightlens.sweeps import Sweep

RIDGE = H100_SXM.tensor_op_per_s("hgmma") / H100_SXM.dram_bytes_per_s


@pytest.fixture(scope="module")
def long_context() -> Sweep:
    """Return the sweep of OPT-1.3B with 500 tokens of context."""
    return nsightlens.sweep(nsightlens.open_report(example.path()))


@pytest.fixture(scope="module")
def short_context() -> Sweep:
    """Return the sweep of Llama 3 8B with 96 tokens of context."""
    return nsightlens.sweep(nsightlens.open_report(example.path("short_context")))


def trend_of(sweep: Sweep, family: str) -> dict[str, Any]:
    """Return the trend of the kernels of a family that ran at every batch size."""
    trends: list[dict[str, Any]] = sweep.trends.to_pylist()
    most = max(trend["batch_size_count"] for trend in trends)
    (found,) = (t for t in trends if t["family"] == family and t["batch_size_count"] == most)
    return found


def analytic_crossover(step: Callable[[int, int, Layer], list[Kernel]], layer: Layer) -> float:
    """Return the batch size at which all GEMMs of a layer together reach the ridge point."""

    def is_beyond(batch: int) -> bool:
        gemms = [kernel for kernel in step(batch, 96, layer) if kernel.family == "gemm"]
        return sum(k.useful_flop for k in gemms) / sum(k.bytes for k in gemms) >= RIDGE

    return next(batch for batch in range(1, 2000) if is_beyond(batch))


@pytest.mark.parametrize("name", ["long_context", "short_context"])
def test_the_intensity_of_attention_is_flat(name: str, request: pytest.FixtureRequest) -> None:
    """Executed and useful: the slope is 0 within its stated error and a hundredth."""
    trend = trend_of(request.getfixturevalue(name), "attention")
    for what in ("intensity", "useful_intensity"):
        assert abs(trend[f"{what}_slope"]) <= 2 * trend[f"{what}_slope_stderr"] + 0.01
        assert trend[f"{what}_growth"] == "flat"
    assert trend["flip"] == "none"


@pytest.mark.parametrize("name", ["long_context", "short_context"])
def test_the_useful_intensity_of_a_gemm_grows_in_proportion(
    name: str, request: pytest.FixtureRequest
) -> None:
    """Slope about 1; the executed one is smaller, because a tile pads small batches."""
    trend = trend_of(request.getfixturevalue(name), "gemm")
    assert trend["useful_intensity_slope"] == pytest.approx(1.0, abs=0.05)
    assert 1 - trend["useful_intensity_slope"] < 0.1 - 2 * trend["useful_intensity_slope_stderr"]
    assert trend["useful_intensity_growth"] == "proportional"
    assert trend["intensity_slope"] < trend["useful_intensity_slope"]


def test_the_gemms_cross_the_ridge_where_the_shapes_say_with_long_context(
    long_context: Sweep,
) -> None:
    """By the law of their shapes exactly; interpolated between batch 256 and 512 nearly so."""
    _check_crossover(long_context, analytic_crossover(decode_layer, OPT_1_3B))


def test_the_gemms_cross_the_ridge_where_the_shapes_say_with_short_context(
    short_context: Sweep,
) -> None:
    """In another model at another batch size."""
    _check_crossover(short_context, analytic_crossover(gated_decode_layer, LLAMA_3_8B))


def _check_crossover(sweep: Sweep, expected: float) -> None:
    trend = trend_of(sweep, "gemm")
    assert trend["flip"] == "memory_to_compute"
    assert trend["flip_batch_size"] == 512
    assert trend["analytic_flip_batch_size"] == pytest.approx(expected, abs=1)
    # A chord of a law that bends lies to the right of it: by 6 % at most for doubling sizes.
    assert expected * 0.999 <= trend["flip_batch_size_interpolated"] <= expected * 1.062


def test_long_context_is_limited_by_the_bandwidth_that_attention_uses_up(
    long_context: Sweep,
) -> None:
    """The answer of the paper."""
    explanation, paragraph = long_context.verdict
    assert explanation == "bandwidth_saturated_attention"
    assert "At batch 512 attention has 84 %" in paragraph
    assert "DRAM at 91 %" in paragraph
    assert trend_of(long_context, "attention")["dram_saturated_batch_size"] == 32


def test_short_context_is_limited_by_the_compute_of_the_gemms(short_context: Sweep) -> None:
    """The opposite."""
    explanation, paragraph = short_context.verdict
    assert explanation == "compute_bound_plateau"
    assert "At batch 1024 matmul has 78 %" in paragraph
    assert "tensor fp16 at 69 %" in paragraph


def test_the_shares_of_a_step_are_those_of_its_kernels(short_context: Sweep) -> None:
    """Attention, matmul and the rest make a whole."""
    for step in short_context.steps.to_pylist():
        parts = (step[f"{name}_share_pct"] for name in ("attention", "matmul", "other"))
        assert sum(parts) == pytest.approx(100)
