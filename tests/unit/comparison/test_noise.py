"""What counts as noise: quantiles, intervals and bands."""

from __future__ import annotations

import numpy as np
import pytest

from nsightlens import tables
from nsightlens.comparison.change import NOISE_SOURCES, Change, change_of
from nsightlens.comparison.noise import NoiseRules, Spread, interval, student_quantile
from nsightlens.comparison.quantities import QUANTITIES
from nsightlens.comparison.samples import EqualLaunches

DURATION = QUANTITIES[0]


@pytest.mark.parametrize(
    ("freedom", "confidence_pct", "quantile"),
    [
        # Tables of Student's distribution, two-sided.
        (1, 95.0, 12.706), (2, 95.0, 4.303), (4, 95.0, 2.776), (10, 95.0, 2.228),
        (1, 99.0, 63.657), (3, 99.0, 5.841), (30, 99.0, 2.750), (1000, 95.0, 1.962),
    ],
)  # fmt: skip
def test_quantiles_are_those_of_the_tables(
    freedom: int, confidence_pct: float, quantile: float
) -> None:
    """In three digits."""
    assert student_quantile(freedom, confidence_pct) == pytest.approx(quantile, abs=5e-4)


def _spread(values: list[float]) -> Spread:
    array = np.array(values)
    variance = array.var(ddof=1) / array.mean() ** 2 if len(values) > 1 else np.nan
    return Spread(np.array([array.mean()]), np.array([variance]), np.array([len(values)]))


def _change(base: list[float], new: list[float], rules: NoiseRules | None = None) -> Change:
    return change_of(DURATION, (_spread(base), _spread(new)), rules or NoiseRules())


def test_the_interval_is_that_of_student() -> None:
    """Three repeats each: t at four degrees of freedom; the scatter of both sides is pooled."""
    base, new = _spread([99.0, 100.0, 101.0]), _spread([96.0, 100.0, 104.0])
    pooled = np.sqrt((0.01**2 + 0.04**2) / 2)
    expected = 4.6041 * pooled * np.sqrt(2 / 3)
    assert interval(base, new, 99.0)[0] == pytest.approx(expected, rel=1e-4)
    few = _spread([99.0, 101.0])
    expected = student_quantile(3, 99.0) * np.sqrt((2 * 0.04**2 + 0.0002) / 3 * (1 / 2 + 1 / 3))
    assert interval(few, new, 99.0)[0] == pytest.approx(expected, rel=1e-6)


def test_equal_things_are_seldom_called_changed_and_a_change_is_found() -> None:
    """Five repeats of each side that scatter by 2 percent, ten thousand times."""
    chance = np.random.default_rng(7)

    def repeats(factor: float) -> Spread:
        values = factor * 1e6 * (1 + 0.02 * chance.standard_normal((10_000, 5)))
        mean = values.mean(axis=1)
        return Spread(mean, values.var(axis=1, ddof=1) / mean**2, np.full(len(mean), 5))

    same = change_of(DURATION, (repeats(1.0), repeats(1.0)), NoiseRules())
    assert 0.002 < np.mean(same.direction != 0) < 0.012
    slower = change_of(DURATION, (repeats(1.0), repeats(1.1)), NoiseRules())
    assert np.mean(slower.direction == 1) > 0.98


def test_a_side_without_repeats_is_taken_to_scatter_as_the_other() -> None:
    """Its single value is as uncertain as one of theirs."""
    one, several = _spread([100.0]), _spread([99.0, 100.0, 101.0])
    expected = student_quantile(2, 99.0) * 0.01 * np.sqrt(1 + 1 / 3)
    assert interval(one, several, 99.0)[0] == pytest.approx(expected, rel=1e-6)
    assert interval(several, one, 99.0)[0] == pytest.approx(expected, rel=1e-6)
    assert np.isnan(interval(one, one, 99.0)[0])


def test_without_repeats_the_default_band_and_two_ticks_of_the_timer_are_noise() -> None:
    """Each side may be off by one."""
    found = _change([1000.0], [1000.0])
    assert NOISE_SOURCES[found.source[0]] == "default"
    assert found.noise_pct[0] == pytest.approx(100 * (1.03 * 1.064 - 1))


def test_with_repeats_the_band_is_measured_and_never_below_the_least() -> None:
    """Repeats of one sitting cannot show how two differ."""
    alike = _change([1e6, 1e6, 1e6], [1.009e6, 1.009e6, 1.009e6])
    assert NOISE_SOURCES[alike.source[0]] == "repeats"
    assert alike.noise_pct[0] == pytest.approx(1.0, abs=0.01)
    assert alike.direction[0] == 0
    scattered = _change([0.9e6, 1e6, 1.1e6], [0.99e6, 1.1e6, 1.21e6])
    assert scattered.noise_pct[0] > 30
    assert scattered.direction[0] == 0


def test_both_ends_of_the_noise_are_stated_and_undo_one_another() -> None:
    """An increase of 20 % is undone by a decrease of 17 %: neither end is nearer than the other."""
    rules = NoiseRules(unrepeated_pct=20, timer_tick_ns=0)
    up, down = _change([1e6], [1.19e6], rules), _change([1e6], [1e6 / 1.19], rules)
    assert (up.direction[0], down.direction[0]) == (0, 0)
    assert up.noise_pct[0] == pytest.approx(20)
    assert up.noise_down_pct[0] == pytest.approx(-100 / 6)
    assert _change([1e6], [0.83e6], rules).direction[0] == -1


def test_repeats_that_scatter_beyond_all_measure_tell_nothing() -> None:
    """Not a noise of 2 million percent."""
    found = _change([1e6, 9e6], [3e7, 4e7])
    assert found.is_lost[0]
    assert np.isnan(found.noise_pct[0])
    assert found.direction[0] == 0
    wide = _change([1e6], [9e6], NoiseRules(unrepeated_pct=500))
    assert wide.noise_pct[0] == pytest.approx(500, abs=0.1), "what was stated is as it was stated"


@pytest.mark.parametrize(
    ("new", "direction"), [(1.05e6, 1), (1.02e6, 0), (0.98e6, 0), (0.95e6, -1)]
)
def test_only_what_lies_beyond_the_band_is_a_change(new: float, direction: int) -> None:
    """Either way."""
    assert _change([1e6], [new]).direction[0] == direction


def test_equal_launches_widen_the_default_band_and_never_narrow_it() -> None:
    """Within one report nothing shows how two sittings differ."""
    sides = (_spread([1e6]), _spread([1e6]))
    wide = EqualLaunches(np.array([0.05**2]), np.array([20.0]))
    narrow = EqualLaunches(np.array([0.0001**2]), np.array([20.0]))
    default = change_of(DURATION, sides, NoiseRules())
    widened = change_of(DURATION, sides, NoiseRules(), (wide, wide))
    assert NOISE_SOURCES[widened.source[0]] == "equal_launches"
    assert widened.band[0] > 0.15
    assert change_of(DURATION, sides, NoiseRules(), (narrow, narrow)).band == default.band


def test_a_counter_that_was_not_there_and_is_now_has_no_ratio() -> None:
    """Of nothing to something there is no percentage; of nothing to nothing it is 0."""
    nothing, something = _spread([0.0]), _spread([5.0])
    assert np.isnan(change_of(QUANTITIES[1], (nothing, something), NoiseRules()).change_pct[0])
    both = change_of(QUANTITIES[1], (nothing, nothing), NoiseRules())
    assert both.log_ratio[0] == 0.0


def test_the_quantities_are_those_of_the_table() -> None:
    """In its order, as rows and totals rely on the first."""
    assert [one.name for one in QUANTITIES] == [column.name for column in tables.COMPARED]
