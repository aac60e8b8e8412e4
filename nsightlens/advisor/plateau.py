"""`plateau`: where throughput stops to grow: the knee of ITL = t0 + a B, or why there is none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from nsightlens.advisor.answers import Curve, Plateau, Warned
from nsightlens.advisor.fitting import fit, itl_at
from nsightlens.advisor.refusals import reason_to_refuse
from nsightlens.advisor.run_columns import numbers
from nsightlens.arrays import known_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.advisor.answers import Fit

__all__ = ["plateau", "with_fitted"]

FLAT = 0.1
"""The last rows gain less than this part of what the first gain per sequence: a plateau."""

_OVER = {"running": "running_batch", "nominal": "batch_size"}


def plateau(
    curve: Curve,
    *,
    method: Literal["relative", "milliseconds"] = "relative",
    over: Literal["running", "nominal"] = "running",
) -> Plateau:
    """Find where throughput stops to grow.

    Parameters
    ----------
    curve
        From `nsightlens.advisor.curve.curve_of`.
    method, over
        How the law is fitted, and over which batch; see `nsightlens.advisor.fitting.fit`. Over
        the batch that was asked for, the law of a server that could not run it does not hold.

    Returns
    -------
    Plateau
        Without a fit, and with the reason, where the law does not hold.

    Examples
    --------
    >>> from nsightlens.advisor.curve import curve_of
    >>> from nsightlens.tables import SERVING_RUNS, schema_of, table_of
    >>> data = {
    ...     "static_batch_size": [1, 16, 64, 256],
    ...     "mean_itl_ms": [10.2, 13.2, 22.8, 61.2],
    ...     "output_tok_per_s": [98.0, 1212.0, 2807.0, 4183.0],
    ... }
    >>> found = plateau(curve_of(table_of(schema_of(SERVING_RUNS), data, 4)))
    >>> round(found.fit.knee, 1), found.batch_at_90, found.is_plateau_reached
    (50.0, 256.0, True)
    """
    rows = curve.rows
    batch, itl = numbers(rows, _OVER[over]), numbers(rows, "itl_ms")
    weight = numbers(rows, "fit_weight")
    other: Literal["relative", "milliseconds"] = (
        "milliseconds" if method == "relative" else "relative"
    )
    fits = [fit(batch, itl, weight, method=one, over=over) for one in (method, other)]
    ends = _ends(curve)
    refused = reason_to_refuse(curve, batch, fits[0], best_batch=ends.best_batch, over=over)
    if refused is not None:
        fits = [None, None]
    return Plateau(
        fit=fits[0],
        other_fit=fits[1],
        refused=refused,
        batch_at_90=ends.batch_at(0.90),
        batch_at_95=ends.batch_at(0.95),
        best_batch=ends.best_batch,
        best_throughput_tok_s=ends.best,
        is_plateau_reached=_is_flat(ends.size, ends.rate),
        warnings=_warnings(curve, fits[0], batch, over),
    )


def with_fitted(curve: Curve, found: Plateau) -> Curve:
    """Return the curve with the time between tokens that its law says, null without a law.

    Examples
    --------
    >>> from nsightlens.advisor.curve import curve_of
    >>> from nsightlens.tables import SERVING_RUNS, schema_of, table_of
    >>> data = {"static_batch_size": [1, 2, 3], "mean_itl_ms": [4.0, 5.0, 6.0]}
    >>> curve = curve_of(table_of(schema_of(SERVING_RUNS), data, 3))
    >>> fitted = with_fitted(curve, plateau(curve)).rows["fitted_itl_ms"]
    >>> [round(one, 6) for one in fitted.to_pylist()]
    [4.0, 5.0, 6.0]
    """
    if found.fit is None:
        return curve
    fitted = itl_at(found.fit, numbers(curve.rows, _OVER[found.fit.over]))
    place = curve.rows.schema.get_field_index("fitted_itl_ms")
    field = curve.rows.schema.field(place)
    return replace(curve, rows=curve.rows.set_column(place, field, known_numbers(fitted)))


class _Ends(NamedTuple):
    """Rows that were not preempted, did not thrash and have a throughput, by rising batch size."""

    size: NDArray[np.float64]
    rate: NDArray[np.float64]

    @property
    def best(self) -> float | None:
        return float(self.rate.max()) if len(self.rate) else None

    @property
    def best_batch(self) -> float | None:
        return float(self.size[self.rate.argmax()]) if len(self.rate) else None

    def batch_at(self, share: float) -> float | None:
        """Return the first batch size with that share of the best throughput."""
        if not len(self.rate):
            return None
        return float(self.size[np.flatnonzero(self.rate >= share * self.rate.max())[0]])


def _ends(curve: Curve) -> _Ends:
    rate = numbers(curve.rows, "throughput_tok_s")
    preempted = numbers(curve.rows, "preemption_count") > 0
    flags = [(one or "").split(",") for one in curve.rows["flags"].to_pylist()]
    thrashes = np.array(["thrash" in one for one in flags], bool)
    good = ~np.isnan(rate) & ~preempted & ~thrashes
    return _Ends(numbers(curve.rows, "batch_size")[good], rate[good])


def _is_flat(size: NDArray[np.float64], rate: NDArray[np.float64]) -> bool | None:
    """Return whether the last rows gain next to nothing; None with fewer than three rows.

    With five rows or more, each end is three rows, so that one row of noise decides less.
    """
    if len(size) < 3:
        return None
    steps = 2 if len(size) >= 5 else 1
    first = (rate[steps] - rate[0]) / (size[steps] - size[0])
    last = (rate[-1] - rate[-1 - steps]) / (size[-1] - size[-1 - steps])
    return bool(last <= 0 or last < FLAT * first)


def _warnings(
    curve: Curve, found: Fit | None, batch: NDArray[np.float64], over: str
) -> tuple[Warned, ...]:
    warned = []
    flags = [set(one.split(",")) for one in curve.rows["flags"].to_pylist()]
    beyond = np.array(["nominal_beyond_running" in one for one in flags], bool)
    counted = numbers(curve.rows, "fit_weight") > 0
    if over == "nominal" and (beyond & counted).any():
        row = int(np.flatnonzero(beyond & counted)[-1])
        asked = numbers(curve.rows, "batch_size")[row]
        ran = numbers(curve.rows, "running_batch")[row]
        text = (
            f"The fit is over the batch that was asked for, of which less ran: {ran:.3g} of "
            f"{asked:g}. Over what ran, it would be another."
        )
        warned.append(Warned("nominal_only", text))
    if found is None or found.knee is None:
        return tuple(warned)
    used = batch[counted & ~np.isnan(batch)]
    if not used.min() <= found.knee <= used.max():
        text = (
            f"The knee, {found.knee:.3g} sequences, is outside of what was measured "
            f"({used.min():.3g} to {used.max():.3g})."
        )
        warned.append(Warned("knee_outside", text))
    return tuple(warned)
