"""What kept the fma pipe busy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nsightlens.analysis.fma import fma_pipe

UNKNOWN = math.nan


def shares(
    capability: str, whole: float, heavy: float, fp32: float, fp16: float
) -> dict[str, float]:
    """Return the activity of each resource that has some, of one launch."""
    one = np.ones(1)
    pipe = fma_pipe(whole * one, heavy * one, np.zeros(1, dtype=np.intp), [capability])
    found = {name: float(v[0]) for name, v in pipe.attribute(fp32 * one, fp16 * one).items()}
    return {name: value for name, value in found.items() if not math.isnan(value)}


@pytest.mark.parametrize(
    ("fp32", "fp16", "resource"),
    [
        (0.40, 0.0, "fp32"),
        (0.21, 0.0, "fp32"),  # additions: half the FLOP for the same activity
        (0.0, 0.40, "fp16"),
        (0.15, 0.20, "fp16"),
        (0.05, 0.05, "integer"),
        (0.05, UNKNOWN, "fma"),
        (0.40, UNKNOWN, "fp32"),
        (UNKNOWN, 0.40, "fp16"),
        (UNKNOWN, 0.0, "fma"),
        (UNKNOWN, UNKNOWN, "fma"),
    ],
)
def test_counted_flop_explain_the_pipe_first(fp32: float, fp16: float, resource: str) -> None:
    """On an H100, active for 40 %, both halves alike."""
    assert shares("9.0", 0.40, 0.41, fp32, fp16) == {resource: pytest.approx(0.41)}


def test_a_heavy_half_that_is_busier_does_no_fp32() -> None:
    """78 % against 5 % in the light half: integers, for FP16 would use both on an H100."""
    found = shares("9.0", 0.414, 0.779, UNKNOWN, UNKNOWN)
    assert found == {"integer": pytest.approx(0.779), "fp32": pytest.approx(0.049)}


@pytest.mark.parametrize(("fp16", "resource"), [(0.75, "fp16"), (0.0, "integer"), (UNKNOWN, "fma")])
def test_where_fp16_uses_one_half_a_busier_half_may_be_fp16(fp16: float, resource: str) -> None:
    """An A10 does as many FLOP in FP16 as in FP32: half as many instructions."""
    assert shares("8.6", 0.40, 0.78, 0.0, fp16)[resource] == pytest.approx(0.78)


def test_a_chip_with_a_pipe_for_fp16_does_none_of_it_here() -> None:
    """FP32 explains nothing of it on an A100, and FP16 cannot."""
    assert shares("8.0", 0.40, UNKNOWN, 0.02, UNKNOWN) == {"integer": pytest.approx(0.40)}


@pytest.mark.parametrize(
    ("capability", "heavy", "most"),
    [("9.0", UNKNOWN, 0.4), ("8.6", UNKNOWN, 0.8), ("8.6", 0.5, 0.5)],
)
def test_fp16_is_at_most_what_its_half_of_the_pipe_did(
    capability: str, heavy: float, most: float
) -> None:
    """Where only the mean of two halves is known, one of them may have done everything."""
    pipe = fma_pipe(np.array([0.4]), np.array([heavy]), np.zeros(1, dtype=np.intp), [capability])
    assert pipe.most_fp16.tolist() == pytest.approx([most])
