"""`fit`, `itl_at`, `leave_one_out`: the straight line, the interval of its knee, its back-test."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsightlens.advisor.fitting import fit, itl_at, leave_one_out, t_quantile_975

if TYPE_CHECKING:
    from nsightlens.advisor.answers import Fit

Method = Literal["relative", "milliseconds"]
METHODS: tuple[Method, ...] = ("relative", "milliseconds")
BATCH = np.array([1.0, 2, 4, 8, 16, 32, 64, 128])
ONES = np.ones(len(BATCH))


def noisy(seed: int, size: float = 0.03) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return a time of 10 ms and 0.2 ms per sequence, with relative errors."""
    rng = np.random.default_rng(seed)
    return np.asarray((10 + 0.2 * BATCH) * (1 + size * rng.standard_normal(len(BATCH))))


def fitted(*args: object, method: Method = "relative") -> Fit:
    """Return the fit, which there is."""
    found = fit(*args, method=method)  # type: ignore[arg-type]
    assert found is not None
    return found


@settings(max_examples=40)
@given(
    t0=st.floats(0.01, 1e3),
    a=st.floats(1e-3, 1e2),
    method=st.sampled_from(METHODS),
    weights=st.lists(st.floats(0.1, 1.0), min_size=8, max_size=8),
)
def test_an_exact_line_is_recovered(
    t0: float, a: float, method: Method, weights: list[float]
) -> None:
    """Whatever the weights, a line through the points has their numbers and no error."""
    found = fitted(BATCH, t0 + a * BATCH, weights, method=method)
    assert found.t0_ms == pytest.approx(t0, rel=1e-6, abs=1e-9 * a)
    assert found.a_ms == pytest.approx(a, rel=1e-6)
    assert found.knee == pytest.approx(t0 / a, rel=1e-6, abs=1e-9)
    assert found.max_error_pct < 1e-6
    assert found.r2 == pytest.approx(1.0)
    assert found.asymptote_tok_s == pytest.approx(1000 / a, rel=1e-6)


@settings(max_examples=30)
@given(seed=st.integers(0, 1000), scale=st.floats(1e-2, 1e2), method=st.sampled_from(METHODS))
def test_the_knee_scales_with_the_batch_and_its_interval_too(
    seed: int, scale: float, method: Method
) -> None:
    """Counting sequences in pairs halves the knee, and changes no error."""
    one = fitted(BATCH, noisy(seed), ONES, method=method)
    other = fitted(scale * BATCH, noisy(seed), ONES, method=method)
    assert other.knee == pytest.approx(scale * (one.knee or 0), rel=1e-6)
    assert other.knee_low == pytest.approx(scale * (one.knee_low or 0), rel=1e-6)
    assert other.knee_high == pytest.approx(scale * (one.knee_high or 0), rel=1e-6)
    assert other.max_error_pct == pytest.approx(one.max_error_pct, rel=1e-6)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 1000), unit=st.sampled_from([1e-3, 1e3]), method=st.sampled_from(METHODS)
)
def test_the_unit_of_time_does_not_matter(seed: int, unit: float, method: Method) -> None:
    """In seconds or microseconds, the knee and all errors are the same."""
    one = fitted(BATCH, noisy(seed), ONES, method=method)
    other = fitted(BATCH, unit * noisy(seed), ONES, method=method)
    assert other.t0_ms == pytest.approx(unit * one.t0_ms, rel=1e-9)
    assert (other.knee, other.knee_low) == pytest.approx((one.knee, one.knee_low), rel=1e-7)
    assert other.mean_error_pct == pytest.approx(one.mean_error_pct, rel=1e-7)


@settings(max_examples=30)
@given(order=st.permutations(range(8)), method=st.sampled_from(METHODS))
def test_the_order_of_rows_does_not_matter(order: list[int], method: Method) -> None:
    """Not even in the last digit."""
    weight = np.linspace(0.2, 1, 8)
    one = fit(BATCH, noisy(3), weight, method=method)
    assert fit(BATCH[order], noisy(3)[order], weight[order], method=method) == one


@pytest.mark.parametrize("method", METHODS)
def test_rows_twice_keep_the_line_and_a_weight_of_two_is_two_rows(method: Method) -> None:
    """Only the interval gets narrower by rows that were measured twice."""
    one = fitted(BATCH, noisy(5), ONES, method=method)
    twice = fitted(np.tile(BATCH, 2), np.tile(noisy(5), 2), np.tile(ONES, 2), method=method)
    assert (twice.t0_ms, twice.a_ms) == pytest.approx((one.t0_ms, one.a_ms))
    assert twice.max_error_pct == pytest.approx(one.max_error_pct)
    assert one.knee_low is not None
    assert twice.knee_low is not None
    assert twice.knee_low > one.knee_low
    heavy = fitted(BATCH, noisy(5), [2, 1, 1, 1, 1, 1, 1, 1], method=method)
    first = fitted([1, *BATCH], [noisy(5)[0], *noisy(5)], np.ones(9), method=method)
    assert heavy.t0_ms == pytest.approx(first.t0_ms)


@pytest.mark.parametrize("method", METHODS)
def test_rows_without_weight_or_value_change_nothing(method: Method) -> None:
    """A weight of 0, NaN and a time of 0 leave a row out; the scale of weights says nothing."""
    more_batch = [*BATCH, 256, 512, 20, np.nan]
    more_itl = [*noisy(7), 1e6, np.nan, 0.0, 5.0]
    weight = [*(7 * ONES), 0, 7, 7, 7]
    assert fitted(more_batch, more_itl, weight, method=method) == fit(
        BATCH, noisy(7), ONES, method=method
    )


def test_relative_fits_miss_a_batch_of_one_less() -> None:
    """Where a line bends, least squares in ms gives the small times away."""
    bent = 3.5 + 0.1 * BATCH**1.05
    by_method = {
        method: abs(itl_at(fitted(BATCH, bent, ONES, method=method), 1.0) / bent[0] - 1)
        for method in METHODS
    }
    assert by_method["relative"] < by_method["milliseconds"] / 2


@pytest.mark.parametrize(
    ("batch", "itl"), [([], []), ([4.0], [5.0]), ([4.0, 4.0, 4.0], [5.0, 6.0, 7.0])]
)
def test_one_batch_makes_no_line(batch: list[float], itl: list[float]) -> None:
    """However many rows it has."""
    assert fit(batch, itl, np.ones(len(batch))) is None
    assert leave_one_out(batch, itl, np.ones(len(batch))) is None


def test_two_batches_make_a_line_without_an_interval() -> None:
    """There is nothing left to see an error by."""
    found = fitted([1, 11], [3.0, 5.0], [1, 1])
    assert found.knee == pytest.approx(14.0)
    assert (found.knee_low, found.knee_high) == (None, None)
    assert found.row_count == 2


def test_a_line_that_falls_or_begins_below_zero_has_no_knee() -> None:
    """Such a number would be negative, and say nothing."""
    falling = fitted(BATCH, 20 - 0.1 * BATCH, ONES)
    assert (falling.knee, falling.knee_high, falling.asymptote_tok_s) == (None, None, None)
    negative = fitted(BATCH[3:], BATCH[3:] - 2, ONES[3:])
    assert negative.t0_ms == pytest.approx(-2)
    assert negative.knee is None


def test_a_slope_that_may_be_zero_gives_a_knee_without_an_end() -> None:
    """Fieller's set is unbounded then, which no pair of numbers says."""
    found = fitted([1, 2, 3, 4], [5.0, 7.0, 4.0, 6.9], np.ones(4))
    assert found.knee is not None
    assert (found.knee_low, found.knee_high) == (None, None)


def test_the_interval_holds_the_true_knee_in_95_of_100_cases() -> None:
    """Of 600 sweeps with errors of 3 %, 93 to 97 % have it, and it misses on both sides."""
    found = [fitted(BATCH, noisy(seed), ONES) for seed in range(600)]
    low = np.array([one.knee_low for one in found])
    high = np.array([one.knee_high for one in found])
    assert 0.93 < np.mean((low <= 50) & (high >= 50)) < 0.97
    assert np.mean(low > 50) < 0.05
    assert np.mean(high < 50) < 0.05


@pytest.mark.parametrize("method", METHODS)
def test_leaving_one_out_is_fitting_all_others(method: Method) -> None:
    """The closed form is what a loop of fits gives."""
    itl, weight = noisy(11), np.linspace(0.25, 1, 8)
    errors = []
    for row in range(8):
        others = np.arange(8) != row
        one = fitted(BATCH[others], itl[others], weight[others], method=method)
        errors.append(100 * abs(itl_at(one, float(BATCH[row])) / itl[row] - 1))
    found = leave_one_out(BATCH, itl, weight, method=method)
    assert found == pytest.approx((np.mean(errors), max(errors)))


def test_leaving_one_out_needs_four_rows_and_two_batches_without_each() -> None:
    """Three rows predict nothing of each other; nor does one batch another."""
    assert leave_one_out([1, 2, 3], [4.0, 5.0, 6.5], np.ones(3)) is None
    assert leave_one_out([1, 1, 1, 9], [4.0, 4.1, 4.2, 6.5], np.ones(4)) is None
    assert leave_one_out([1, 2, 3, 4], [4.0, 5.0, 6.0, 7.0], np.ones(4)) == pytest.approx((0, 0))


def test_itl_at_takes_numbers_and_arrays() -> None:
    """A number gives a number."""
    line = fitted([1, 2, 3], [4.0, 5.0, 6.0], np.ones(3))
    assert isinstance(itl_at(line, 7.0), float)
    assert itl_at(line, np.array([7.0, 9.0])).tolist() == pytest.approx([10.0, 12.0])


@pytest.mark.parametrize(
    ("degrees", "quantile"), [(1, 12.7062), (4, 2.7764), (11, 2.2010), (20, 2.0860), (120, 1.9799)]
)
def test_students_t_is_that_of_printed_tables(degrees: int, quantile: float) -> None:
    """NIST's table 1.3.6.7.2, at the ends of our table and beyond."""
    assert t_quantile_975(degrees) == pytest.approx(quantile, abs=6e-5)


def test_huge_and_tiny_numbers_do_not_overflow() -> None:
    """Times from a nanosecond to eleven days make a line as any other."""
    for scale in (1e-6, 1e12):
        found = fitted(BATCH, scale * (10 + 0.2 * BATCH), ONES)
        assert math.isclose(found.knee or 0, 50, rel_tol=1e-6)
