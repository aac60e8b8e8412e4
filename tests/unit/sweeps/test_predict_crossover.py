"""The crossover of a prediction is that of its law, whichever batch sizes are looked at."""

from __future__ import annotations

from typing import Any

import pytest

from nsightlens.models import read_model, step_work
from nsightlens.sweeps.predict import predict, prediction

H100 = "H100 SXM5 80GB"
POWERS = [2**i for i in range(10)]


def trend_of(model: str, batches: list[int], family: str = "gemm", **options: Any) -> Any:
    """Return the trend of a family."""
    trends = predict(model, H100, batches, 500, **options).trends.to_pylist()
    return next(row for row in trends if row["family"] == family)


@pytest.mark.parametrize("batches", [[1, 4096], [1, 1024], POWERS, [100], [1, 2]])
def test_the_crossover_does_not_depend_on_the_batch_sizes(batches: list[int]) -> None:
    """It solves 2 B KN / (2 KN + 2 biases + 2 B (K + N)) = ridge, summed over the products."""
    peaks = prediction("opt-1.3b", H100, [1], 500).peaks
    ridge = peaks.flop_per_s["tensor_fp16"] / peaks.bytes_per_s
    works = [
        [one for one in step_work(read_model("opt-1.3b"), batch_size=b, context_length=500)
         if one.family == "gemm"]
        for b in (1, 2)
    ]  # fmt: skip
    flop, (at_1, at_2) = sum(one.flop for one in works[0]), (
        sum(one.bytes for one in of) for of in works
    )  # fmt: skip
    # flop B = ridge (weights + activations B)
    activations = at_2 - at_1
    expected = ridge * (at_1 - activations) / (flop - ridge * activations)
    found = trend_of("opt-1.3b", batches)
    assert found["analytic_flip_batch_size"] == pytest.approx(expected, rel=1e-6)
    assert found["analytic_flip_batch_size"] == pytest.approx(363.98, abs=0.01)
    assert found["flip_batch_size_interpolated"] is None
    assert found["useful_flip_batch_size"] is None


def test_the_flip_lies_between_its_neighbours() -> None:
    found = trend_of("opt-1.3b", [1, 128, 512, 1024])
    assert (found["flip_batch_size_before"], found["flip_batch_size"]) == (128, 512)
    assert found["flip"] == "memory_to_compute"


def test_a_mixture_of_experts_has_a_crossover_too() -> None:
    """Its intensity is no linear layer's: experts are read by and by."""
    found = trend_of("gpt-oss-20b", [1, 4096])
    at = found["analytic_flip_batch_size"]
    below, above = (
        next(row for row in predict("gpt-oss-20b", H100, [batch], 500).rows.to_pylist()
             if (row["family"], row["subtype"]) == (found["family"], found["subtype"]))
        for batch in (int(at), int(at) + 1)
    )  # fmt: skip
    assert below["bound_ratio"] < 1.0 <= above["bound_ratio"]


def test_what_never_meets_the_ridge_has_no_crossover() -> None:
    """Neither attention of any batch size, nor products that begin beyond it."""
    assert trend_of("opt-1.3b", [1, 8], "attention")["analytic_flip_batch_size"] is None
    prefill = trend_of("opt-1.3b", [1, 8], phase="prefill")
    assert (prefill["flip"], prefill["analytic_flip_batch_size"]) == ("none", None)


def test_every_operation_has_its_own() -> None:
    rows = predict("llama-3-8b", H100, [1, 1024], 500, by="operation").trends.to_pylist()
    at = {row["kernel"]: row["analytic_flip_batch_size"] for row in rows}
    ridge = 989.4e12 / 3.352e12
    for name, inputs, outputs in (("o_proj", 4096, 4096), ("down_proj", 14336, 4096)):
        expected = ridge / (1.0 - ridge * (inputs + outputs) / (inputs * outputs))
        assert at[name] == pytest.approx(expected, rel=1e-3)
    assert at["attention"] is None


@pytest.mark.parametrize("batches", [[1, 16], [1, 4, 4096], POWERS])
@pytest.mark.parametrize("model", ["opt-1.3b", "gpt-oss-20b", "deepseek-v3"])
def test_a_formula_always_follows_a_law(model: str, batches: list[int]) -> None:
    """How it bends is no doubt about it."""
    trends = predict(model, H100, batches, 500).trends.to_pylist()
    # What only moves bytes has no intensity.
    rows = [row for row in trends if row["useful_intensity_slope"] is not None]
    assert len(rows) > 3
    for row in rows:
        assert row["useful_intensity_growth"] in ("flat", "proportional", "below_proportion")
