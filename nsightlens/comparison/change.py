"""Changes and their noise: two spreads become a ratio, a band and where the band comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsightlens.comparison.noise import interval, quantiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.comparison.noise import NoiseRules, Spread
    from nsightlens.comparison.quantities import Quantity
    from nsightlens.comparison.samples import EqualLaunches

__all__ = ["MOST_NOISE_PCT", "NOISE_SOURCES", "Change", "change_of"]

NOISE_SOURCES = ("repeats", "equal_launches", "default")
_ROUNDING = 1e-12
MOST_NOISE_PCT = 100.0
"""[%] A measured noise beyond this is none that anything can be told with."""


class Change(NamedTuple):
    """How a quantity changed, for each row; NaN where one side is not known.

    Parameters
    ----------
    base, new
        Means over the repeats. Shape (n,).
    log_ratio
        ln(new / base).
    band
        Half width of the noise, as a logarithm too; infinite where what was measured scatters so
        much that no change can be told.
    source
        Index into `NOISE_SOURCES`, -1 where there is no change.
    """

    base: NDArray[np.float64]
    new: NDArray[np.float64]
    log_ratio: NDArray[np.float64]
    band: NDArray[np.float64]
    source: NDArray[np.int64]

    @property
    def change_pct(self) -> NDArray[np.float64]:
        """[%] New over base, less 1. Shape (n,)."""
        # Not by the logarithm, which would lose a digit.
        with np.errstate(divide="ignore", invalid="ignore"):
            # 0 of 0 is no change.
            quotient = np.where(self.new == self.base, 1.0, self.new / self.base)
        # What sums of the same numbers differ by in another order is nothing.
        change = np.where(np.abs(quotient - 1.0) < _ROUNDING, 0.0, quotient - 1.0)
        return np.where(np.isnan(self.log_ratio), np.nan, 100.0 * change)

    @property
    def noise_pct(self) -> NDArray[np.float64]:
        """[%] Largest increase that noise explains; NaN where it explains any. Shape (n,)."""
        return np.where(self.is_lost, np.nan, 100.0 * np.expm1(self.band))

    @property
    def noise_down_pct(self) -> NDArray[np.float64]:
        """[%] Largest decrease that noise explains, below 0: what undoes the increase."""
        return np.where(self.is_lost, np.nan, 100.0 * np.expm1(-self.band))

    @property
    def is_lost(self) -> NDArray[np.bool_]:
        """Whether no change can be told, however large. Shape (n,)."""
        return np.isinf(self.band)

    @property
    def direction(self) -> NDArray[np.int64]:
        """1 where the quantity grew beyond the noise, -1 where it shrank, 0 where neither."""
        is_beyond = np.abs(self.log_ratio) > self.band
        return np.where(is_beyond, np.sign(self.log_ratio), 0.0).astype(np.int64)


def change_of(
    quantity: Quantity,
    sides: tuple[Spread, Spread],
    rules: NoiseRules,
    equal: tuple[EqualLaunches, EqualLaunches] | None = None,
) -> Change:
    """Return how a quantity changed from base to new, and how much of it may be noise.

    Parameters
    ----------
    quantity
        The quantity.
    sides
        Base and new. Shape (n,).
    rules
        What is taken for noise.
    equal
        What launches of equal work say, for a duration: where there are no repeats they widen the
        default band, but never narrow it. Within one report nothing shows how two sittings differ.
    """
    base, new = sides
    is_duration = quantity.name == "duration_ns"
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(new.mean / base.mean)
        resolution = 2 * rules.timer_tick_ns if is_duration else quantity.resolution
        smaller = np.minimum(base.mean, new.mean)
        # Both are 0 where nothing was there to count: equal.
        ratio = np.where((base.mean == 0) & (new.mean == 0), 0.0, ratio)
        tick = np.where(smaller > 0, np.log1p(resolution / smaller), 0.0)
    ratio = np.where(np.isfinite(ratio), ratio, np.nan)
    repeated = interval(base, new, rules.confidence_pct)
    default = np.log1p(_percent(quantity.unrepeated_pct, rules.unrepeated_pct)) + tick
    least = np.log1p(_percent(quantity.least_pct, rules.least_pct)) + tick
    band = np.where(np.isnan(repeated), default, np.maximum(repeated, least))
    source = np.where(np.isnan(repeated), NOISE_SOURCES.index("default"), 0)
    if equal is not None:
        within = _within(*equal, rules.confidence_pct)
        is_wider = np.isnan(repeated) & (within > default)
        band = np.where(is_wider, within, band)
        source = np.where(is_wider, NOISE_SOURCES.index("equal_launches"), source)
    is_measured = source != NOISE_SOURCES.index("default")
    band = np.where(is_measured & (band > np.log1p(MOST_NOISE_PCT / 100)), np.inf, band)
    is_known = ~np.isnan(ratio)
    return Change(
        base.mean, new.mean, ratio, np.where(is_known, band, np.nan), np.where(is_known, source, -1)
    )


def _percent(own: float | None, of_durations: float) -> float:
    return (of_durations if own is None else own) / 100


def _within(base: EqualLaunches, new: EqualLaunches, confidence_pct: float) -> NDArray[np.float64]:
    """Return the half width of the noise that equal launches show; NaN where there are none."""
    variance = [
        np.where(np.isnan(one.variance), other.variance, one.variance)
        for one, other in ((base, new), (new, base))
    ]
    freedom = base.freedom + new.freedom
    found = quantiles(freedom, confidence_pct) * np.sqrt(variance[0] + variance[1])
    return np.where(freedom > 0, found, np.nan)
