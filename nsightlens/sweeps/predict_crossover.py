"""Where a family of a model meets the ridge point: its law solved for the batch size."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from nsightlens.sweeps.predict_tables import grouped

if TYPE_CHECKING:
    from collections.abc import Callable

    from nsightlens.sweeps.predict_tables import PredictedStep, TimedWork
    from nsightlens.sweeps.trends import RowName

__all__ = ["LARGEST", "crossovers_of"]

LARGEST = 2**40
"""A family that lies left of the ridge point even at this batch size never meets it."""


def crossovers_of(step_of: Callable[[int], PredictedStep], by: str) -> dict[RowName, float | None]:
    """Return the batch size at which each row's family meets the ridge point.

    Parameters
    ----------
    step_of
        What a step of a batch size consists of.
    by
        As for `nsightlens.sweeps.predict_tables.predicted_rows`.

    Returns
    -------
    dict
        ``None`` for a family that never meets it, or lies right of it at one sequence already.

    Notes
    -----
    The more sequences share what is read once, the larger the intensity: it never falls with the
    batch size, so that bisection finds the neighbours between which it passes the ridge point.
    Between them 1 / AI = c / B + d holds, for linear layers exactly.
    """
    names = [_name(work) for work in grouped(step_of(1).works, by)]
    return {name: _crossover(partial(_ratio, step_of, by, name)) for name in names}


def _name(work: TimedWork) -> RowName:
    return work.family, work.subtype, work.operation


def _ratio(step_of: Callable[[int], PredictedStep], by: str, name: RowName, batch: int) -> float:
    """Return compute time over DRAM time: intensity over the ridge point."""
    (work,) = (one for one in grouped(step_of(batch).works, by) if _name(one) == name)
    return work.compute_ns / work.dram_ns


def _crossover(ratio: Callable[[int], float]) -> float | None:
    low, high = 1, LARGEST
    if ratio(low) >= 1.0 or ratio(high) < 1.0:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if ratio(middle) < 1.0:
            low = middle
        else:
            high = middle
    inverse = 1.0 / ratio(low), 1.0 / ratio(high)
    share = (inverse[0] - 1.0) / (inverse[0] - inverse[1])
    return 1.0 / (1.0 / low + share * (1.0 / high - 1.0 / low))
