"""Flips, interpolated and analytic crossings, with numbers worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nsightlens.sweeps.crossover import (
    analytic_crossing,
    crossing,
    flips_of,
    interpolation_tolerance,
    lasting_change,
)

SIDES = ("memory", "compute")
BATCH = np.array([1.0, 8.0, 64.0, 512.0])


def intensity(weights: float, rest: float) -> np.ndarray:
    """Return 1 / (weights / B + rest) at the batch sizes."""
    return 1.0 / (weights / BATCH + rest)


def test_a_flip_lies_between_known_neighbours() -> None:
    """What is unknown between them is passed over."""
    (flip,) = flips_of(["memory", "memory", "unknown", None, "compute"], SIDES) or []
    assert flip == (1, 4, "memory", "compute")


@pytest.mark.parametrize("sides", [[], ["memory"], ["unknown", "memory", None]])
def test_too_few_known_sides_are_no_answer(sides: list[str | None]) -> None:
    """That is not the same as no flip."""
    assert flips_of(sides, SIDES) is None


def test_a_line_in_log_log_passes_one_where_it_should() -> None:
    """From 1/4 at 16 to 2 at 128: two thirds of the way, at 64."""
    assert crossing((16.0, 128.0), (0.25, 2.0)) == pytest.approx(64.0)
    assert crossing((16.0, 128.0), (2.0, 0.25)) == pytest.approx(32.0)
    assert crossing((16.0, 128.0), (1.0, 2.0)) == pytest.approx(16.0)


@pytest.mark.parametrize(
    "ratio", [(0.5, 0.9), (2.0, 3.0), (math.nan, 2.0), (0.0, 2.0), (0.5, math.inf), (1.0, 1.0)]
)
def test_there_is_no_crossing_where_the_ratio_does_not_pass_one(
    ratio: tuple[float, float],
) -> None:
    """Nor where it is no number."""
    assert math.isnan(crossing((1.0, 8.0), ratio))


def test_the_tolerance_grows_with_the_spacing() -> None:
    """Six per cent for batch sizes that double."""
    assert interpolation_tolerance(2.0) == pytest.approx(1.0615, abs=1e-4)
    assert 1.0 < interpolation_tolerance(1.1) < 1.002


def test_the_law_is_solved_beyond_the_measured_batch_sizes() -> None:
    """1/250 - 0.001 = 0.003 and 1 / 0.003 = 333; with a ridge of 900, 9000."""
    assert analytic_crossing(BATCH, intensity(1.0, 0.001), 250.0) == pytest.approx(1000 / 3)
    assert analytic_crossing(BATCH, intensity(1.0, 0.001), 900.0) == pytest.approx(9000.0)


@pytest.mark.parametrize(
    ("values", "ridge"),
    [
        (intensity(1.0, 0.001), 1000.0),
        (intensity(1.0, 0.001), 2000.0),
        (intensity(0.0, 1.0), 250.0),
        (intensity(0.001, 0.001), 250.0),
        (intensity(1.0, 0.001), math.nan),
        (np.array([1.0, 8.0, np.nan, np.nan]), 250.0),
        (np.array([1.0, 8.0, 64.0, 700.0]) ** 1.5, 250.0),
        (np.array([0.0, 0.0, 0.0, 0.0]), 250.0),
    ],
    ids=["asymptote", "ridge above it", "attention", "beyond it at one sequence", "no ridge",
         "two points", "another law", "no work"],
)  # fmt: skip
def test_a_law_without_a_crossing_has_none(values: np.ndarray, ridge: float) -> None:
    """It is not made up."""
    assert math.isnan(analytic_crossing(BATCH, values, ridge))


@pytest.mark.parametrize(
    ("sides", "position"),
    [
        (["memory", "compute", "compute"], 1),
        (["memory", "compute", "memory"], None),
        (["memory", "compute", "memory", "unknown", "compute"], 4),
        (["unknown", None], None),
        (["memory"], None),
    ],
)
def test_a_change_counts_where_it_lasts(sides: list[str | None], position: int | None) -> None:
    """Back at the side of the smallest batch size, nothing changed for good."""
    assert lasting_change(sides, SIDES) == position
