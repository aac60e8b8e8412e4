"""Slopes in log-log, their errors, and what is said of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nsightlens.sweeps.slopes import GROWTHS, Slope, growth_of, growth_of_law, slope_of

NONE = math.nan


def test_three_points_have_the_slope_and_error_of_the_formula() -> None:
    """With u = 0, 1, 2 and v = 0, 2, 1: slope 1/2, residuals -1/2, 1, -1/2, so error sqrt(3)/2."""
    slope = slope_of(np.exp([0.0, 1.0, 2.0]), np.exp([0.0, 2.0, 1.0]))
    assert slope.value == pytest.approx(0.5)
    assert slope.stderr == pytest.approx(math.sqrt(3) / 2)
    assert (slope.low, slope.high) == pytest.approx((-1.0, 2.0))


def test_two_batch_sizes_have_a_slope_and_no_error() -> None:
    """A line through two points fits whatever they are."""
    slope = slope_of(np.array([1.0, 4.0]), np.array([1.0, 2.0]))
    assert slope.value == pytest.approx(0.5)
    assert math.isnan(slope.stderr)
    assert growth_of(slope) is None


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([], []),
        ([8.0], [1.0]),
        ([8.0, 8.0, 8.0], [1.0, 2.0, 3.0]),
        ([1.0, 2.0, 4.0], [NONE, NONE, 1.0]),
        ([1.0, 2.0, 4.0], [0.0, 0.0, 1.0]),
        ([0.0, -2.0, 4.0], [1.0, 1.0, 1.0]),
        ([1.0, 2.0, 4.0], [math.inf, -1.0, 1.0]),
    ],
)
def test_fewer_than_two_points_have_no_slope(x: list[float], y: list[float]) -> None:
    """What has no logarithm is no point."""
    slope = slope_of(np.array(x), np.array(y))
    assert all(math.isnan(value) for value in slope)
    assert growth_of(slope) is None


def test_one_batch_size_seen_twice_leaves_two_for_the_error() -> None:
    """Three points at two batch sizes say nothing of how the law bends."""
    assert math.isnan(slope_of(np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0])).stderr)


def test_the_order_of_the_points_does_not_matter() -> None:
    """Local slopes are those between neighbours in batch size."""
    x, y = np.array([1.0, 2.0, 8.0, 32.0]), np.array([1.0, 2.0, 7.0, 20.0])
    one, other = slope_of(x, y), slope_of(x[::-1], y[::-1])
    assert one == pytest.approx(other)


@pytest.mark.parametrize(
    ("value", "stderr", "growth"),
    [
        (0.0, 0.0, "flat"),
        (0.05, 0.02, "flat"),
        (0.05, 0.03, "unclear"),
        (0.97, 0.01, "proportional"),
        (1.08, 0.0, "proportional"),
        (0.5, 0.1, "below_proportion"),
        (0.85, 0.05, "below_proportion"),
        (0.95, 0.05, "unclear"),
        (-0.5, 0.1, "falling"),
        (1.5, 0.1, "above_proportion"),
        (0.5, 0.4, "unclear"),
    ],
)
def test_growth_is_said_only_where_the_error_allows_it(
    value: float, stderr: float, growth: str
) -> None:
    """Two standard errors to either side count."""
    assert growth in GROWTHS
    assert growth_of(Slope(value, stderr, NONE, NONE)) == growth


@pytest.mark.parametrize(
    ("slope", "growth"),
    [
        (Slope(0.97, 0.01, 0.6, 1.0), "proportional"),
        (Slope(0.85, NONE, 0.85, 0.85), "below_proportion"),
        (Slope(1.0, NONE, 0.99, 1.0), "proportional"),
        (Slope(0.6, 0.3, 0.0, 1.0), "below_proportion"),
        (Slope(-1e-17, NONE, -1e-17, -1e-17), "flat"),
        (Slope(0.6, 0.3, -0.5, 1.5), "unclear"),
        (Slope(NONE, NONE, NONE, NONE), None),
    ],
)
def test_growth_of_a_law_is_left_open_by_no_error(slope: Slope, growth: str | None) -> None:
    """Two points are enough, and a bend is no scatter."""
    assert growth_of_law(slope) == growth
