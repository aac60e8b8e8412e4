"""Batch sizes between those that were measured, where a limit is just met: only when asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from nsightlens.advisor.constraints import is_within, plausible

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.advisor.answers import Curve, Fit
    from nsightlens.advisor.constraints import Constraints

__all__ = ["Between", "between_measured"]

_MOST_BATCHES = 100_000
"""Batch sizes that are looked at between two measured ones; of more, evenly spread ones."""


class Between(NamedTuple):
    """A batch size between the measured rows ``place`` and ``place + 1``."""

    place: int
    batch_size: float
    throughput: float
    row: dict[str, Any]


def between_measured(curve: Curve, limits: Constraints, fit: Fit | None) -> list[Between]:
    """Return, for each feasible row before one that is not, the largest batch size between them.

    Every number is interpolated linearly in the batch size. Of the time between tokens that ``fit``
    is of, the larger of that and of the fitted law is taken, so that an error of the law cannot
    stretch a limit. The efficiency follows from the interpolated throughput. Nothing is looked for
    beyond the measured range, nor towards a row that was preempted, because nobody knows from
    where on sequences would be.

    Parameters
    ----------
    curve
        Rows in rising order of batch size.
    limits
        Of this curve.
    fit
        The law ITL = t0 + a B; None where it does not hold.

    Returns
    -------
    list of Between
        At most one for each pair of neighbours; whole batch sizes.
    """
    feasible = limits.is_feasible
    starts = feasible[:-1] & ~feasible[1:] & limits.is_sound[1:]
    found = [_largest_between(curve, limits, fit, int(place)) for place in np.flatnonzero(starts)]
    return [one for one in found if one is not None]


def _largest_between(
    curve: Curve, limits: Constraints, fit: Fit | None, place: int
) -> Between | None:
    low, high = limits.batch[place], limits.batch[place + 1]
    first, last = np.floor(low) + 1, np.ceil(high) - 1
    if last < first:
        return None
    count = int(min(last - first + 1, _MOST_BATCHES))
    batch = np.unique(np.floor(np.linspace(first, last, count)))
    share = (batch - low) / (high - low)
    fitted = _fitted(curve, fit, place, share, batch)
    ok = np.ones(len(batch), bool)
    for slo, latency, limit in zip(limits.slos, limits.latency_ms, limits.limits_ms, strict=True):
        values = _mix(latency[place : place + 2], share)
        if fitted is not None and fitted[0] == slo.column:
            values = np.maximum(values, fitted[1])
        ok &= is_within(values, limit)
    efficiency = _efficiency(limits, place, share, batch)
    if limits.epsilon is not None:
        ok &= np.isnan(efficiency) | (efficiency > limits.epsilon)
    throughput = _mix(limits.throughput[place : place + 2], share)
    if not ok.any():
        return None
    best = int(np.flatnonzero(ok)[-1])
    row = _row(curve.rows.slice(place, 2), float(share[best]), float(batch[best]), efficiency[best])
    if fitted is not None:
        for name in ("itl_ms", fitted[0]):
            if row[name] is not None:
                row[name] = max(row[name], float(fitted[1][best]))
    return Between(place, float(batch[best]), float(throughput[best]), row)


def _mix(pair: NDArray[Any], share: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(pair[0] + (pair[1] - pair[0]) * share, np.float64)


def _fitted(
    curve: Curve, fit: Fit | None, place: int, share: NDArray[Any], batch: NDArray[Any]
) -> tuple[str, NDArray[np.float64]] | None:
    """Return the column that the law is of, and its values; None where it says nothing here."""
    pair = curve.rows.slice(place, 2)
    sources = set(pair["itl_source"].to_pylist())
    if (
        fit is None
        or len(sources) != 1
        or None in sources
        or np.isnan(plausible(pair, "itl_ms")).any()
    ):
        return None
    law_batch = batch if fit.over == "nominal" else _mix(plausible(pair, "running_batch"), share)
    values = fit.t0_ms + fit.a_ms * law_batch
    return None if np.isnan(values).any() else (sources.pop(), values)


def _efficiency(
    limits: Constraints, place: int, share: NDArray[Any], batch: NDArray[Any]
) -> NDArray[np.float64]:
    """T(B) / (B T(1)): linear is T(B) / T(1), so B times it is what is interpolated."""
    speedup = limits.efficiency[place : place + 2] * limits.batch[place : place + 2]
    return np.asarray(_mix(speedup, share) / batch)


def _row(pair: pa.Table, share: float, batch: float, efficiency: float) -> dict[str, Any]:
    low, high = pair.to_pylist()
    row = dict(low)
    for field in pair.schema:
        one, other = low[field.name], high[field.name]
        if pa.types.is_floating(field.type):
            known = one is not None and other is not None
            row[field.name] = one + (other - one) * share if known else None
        elif one != other and field.name != "batch_source":
            row[field.name] = None
    flags = f"{low['flags'] or ''},{high['flags'] or ''}".split(",")
    row |= {
        "batch_size": batch,
        "efficiency": None if np.isnan(efficiency) else float(efficiency),
        "marginal_gain": None,
        "run": f"{low['run']} + {high['run']}",
        "run_count": min(low["run_count"] or 1, high["run_count"] or 1),
        "flags": ",".join(dict.fromkeys(one for one in flags if one)),
    }
    return row
