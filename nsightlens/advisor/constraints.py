"""Which rows of a curve are within the limits: latency, efficiency, and no preemption."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nsightlens.advisor.answers import Slo, Warned
from nsightlens.advisor.run_columns import numbers, positives
from nsightlens.errors import AdviceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from nsightlens.advisor.answers import Curve

__all__ = [
    "Constraint",
    "Constraints",
    "Rule",
    "constraints_of",
    "is_within",
    "limits_of",
    "plausible",
    "plausible_value",
    "slo_words",
]

Constraint = Literal["preemption", "thrash", "slo", "efficiency"]
Rule = Literal["throughput", "largest"]

ROUNDING = 1e-9
"""Part of a limit by which a latency may exceed it: a limit in s is one in ms but for rounding."""

_PLAUSIBLE = (1e-9, 1e15)
"""No time, rate or size in the units of these tables is outside: a file that says so is broken."""

_LATENCIES = tuple(
    f"{one}_{name}_ms" for name in ("itl", "tpot", "ttft") for one in ("mean", "median", "p99")
)


@dataclass(frozen=True, eq=False)
class Constraints:
    """The rows of a curve against limits. Arrays have one value per row, NaN where missing.

    Parameters
    ----------
    batch, throughput, efficiency, preemption
        Columns of the curve. Shape (n,).
    thrashes
        Whether a row's server thrashed: latency fell under more load. Shape (n,).
    slos, limits_ms
        The limits, and each in ms.
    epsilon
        Least efficiency; None where there is none.
    latency_ms
        [ms] What each limit is for. Shape (s, n).
    """

    batch: NDArray[np.float64]
    throughput: NDArray[np.float64]
    efficiency: NDArray[np.float64]
    preemption: NDArray[np.float64]
    thrashes: NDArray[np.bool_]
    slos: tuple[Slo, ...]
    limits_ms: tuple[float, ...]
    epsilon: float | None
    latency_ms: NDArray[np.float64]

    @property
    def meets(self) -> NDArray[np.bool_]:
        """Whether each row meets each limit of latency; not where it is not known. Shape (s, n)."""
        limits = np.array(self.limits_ms, np.float64).reshape(-1, 1)
        return is_within(self.latency_ms, limits)

    @property
    def is_quick(self) -> NDArray[np.bool_]:
        """Whether each row meets all limits of latency. Shape (n,)."""
        return np.asarray(self.meets.all(axis=0))

    @property
    def is_efficient(self) -> NDArray[np.bool_]:
        """Whether the efficiency is above epsilon, or not known. Shape (n,)."""
        if self.epsilon is None:
            return np.ones(len(self.batch), bool)
        return np.isnan(self.efficiency) | (self.efficiency > self.epsilon)

    @property
    def is_preempted(self) -> NDArray[np.bool_]:
        """Whether sequences are known to have lost their KV blocks. Shape (n,)."""
        return self.preemption > 0

    @property
    def is_sound(self) -> NDArray[np.bool_]:
        """Whether each row's server kept the work of its sequences. Shape (n,)."""
        return ~self.is_preempted & ~self.thrashes

    @property
    def is_feasible(self) -> NDArray[np.bool_]:
        """Whether each row may be chosen. Shape (n,)."""
        return self.is_quick & self.is_efficient & self.is_sound

    def broken_by(self, place: int) -> tuple[Constraint, ...]:
        """Return what forbids a row; nothing where it may be chosen."""
        broken: list[Constraint] = []
        if self.is_preempted[place]:
            broken.append("preemption")
        if self.thrashes[place]:
            broken.append("thrash")
        if not self.is_quick[place]:
            broken.append("slo")
        if not self.is_efficient[place]:
            broken.append("efficiency")
        return tuple(broken)


def is_within(
    latency_ms: NDArray[Any] | float, limit_ms: NDArray[Any] | float
) -> NDArray[np.bool_]:
    """Return whether latencies are within a limit, but for rounding; not where they are NaN."""
    return np.asarray(np.asarray(latency_ms) <= np.asarray(limit_ms) * (1 + ROUNDING))


def plausible(table: pa.Table, name: str) -> NDArray[np.float64]:
    """Return a column of what can only be above zero; NaN where it is not, or beyond reason."""
    values = positives(table, name)
    values[~((values >= _PLAUSIBLE[0]) & (values <= _PLAUSIBLE[1]))] = np.nan
    return values


def plausible_value(value: float | None) -> float | None:
    """Return a number that can only be above zero; None where it is not, or beyond reason.

    Examples
    --------
    >>> [plausible_value(one) for one in (54.27, 0.0, float("nan"), 1e300, None)]
    [54.27, None, None, None, None]
    """
    return value if value is not None and _PLAUSIBLE[0] <= value <= _PLAUSIBLE[1] else None


def constraints_of(
    curve: Curve, slos: Sequence[Slo], epsilon: float | None
) -> tuple[Constraints, tuple[Warned, ...]]:
    """Lay limits against a curve.

    Returns
    -------
    tuple of Constraints and of Warned
        The second says which constraint could not be applied to which rows.

    Raises
    ------
    AdviceError
        A limit is no number above zero, or no row has the latency that it is for.
    """
    if epsilon is not None and not (math.isfinite(epsilon) and epsilon >= 0):
        raise AdviceError(f"epsilon is {epsilon}; it must be a number of 0 or more, such as 0.1.")
    rows = curve.rows
    latency = [plausible(rows, slo.column) for slo in slos]
    found = Constraints(
        batch=numbers(rows, "batch_size"),
        throughput=plausible(rows, "throughput_tok_s"),
        efficiency=plausible(rows, "efficiency"),
        preemption=numbers(rows, "preemption_count"),
        thrashes=np.array(
            ["thrash" in (one or "").split(",") for one in rows["flags"].to_pylist()], bool
        ),
        slos=tuple(slos),
        limits_ms=limits_of(curve, slos),
        epsilon=epsilon,
        latency_ms=np.array(latency, np.float64).reshape(len(latency), rows.num_rows),
    )
    return found, _not_applied(found)


def limits_of(curve: Curve, slos: Sequence[Slo]) -> tuple[float, ...]:
    """Return each limit in ms.

    A factor is of the latency at the measured batch size nearest to the reference: of those that
    are equally near, the smaller.

    Raises
    ------
    AdviceError
        A limit is no number above zero, or no row has the latency that it is for.
    """
    return tuple(_limit(curve.rows, slo) for slo in slos)


def _limit(rows: pa.Table, slo: Slo) -> float:
    latency = plausible(rows, slo.column)
    known = ~np.isnan(latency)
    if not known.any():
        others = [one for one in _LATENCIES if not np.isnan(plausible(rows, one)).all()]
        there = f"There are {', '.join(others)}" if others else "There is no other latency either"
        raise AdviceError(
            f"No run says {slo.column}, which was limited. {there}: limit one of these, by "
            "--slo-tpot, --slo-on tpot or --statistic median."
        )
    if slo.limit_ms is not None and slo.factor is not None:
        raise AdviceError(f"The limit of {slo.column} is given both in ms and as a multiple.")
    given = slo.factor if slo.limit_ms is None else slo.limit_ms
    if given is None or math.isnan(given) or given <= 0:
        raise AdviceError(f"The limit of {slo.column} is {given}; it must be above zero.")
    if slo.limit_ms is not None:
        return float(slo.limit_ms)
    batch = numbers(rows, "batch_size")[known]
    if not (math.isfinite(slo.reference_batch) and slo.reference_batch > 0):
        raise AdviceError(f"The reference batch size is {slo.reference_batch}: no size of a batch.")
    # The rows are in rising order, and argmin takes the first of equals: the smaller.
    return float(given * latency[known][np.argmin(np.abs(batch - slo.reference_batch))])


def slo_words(slo: Slo) -> str:
    """Return what a limit is for, as words.

    Examples
    --------
    >>> slo_words(Slo("tpot", "p99", 40.0))
    'p99 TPOT'
    """
    return f"{slo.statistic} {slo.metric.upper()}"


def _not_applied(found: Constraints) -> tuple[Warned, ...]:
    warnings: list[Warned] = []
    if found.epsilon is not None:
        unknown = np.isnan(found.efficiency)
        if unknown.all():
            text = (
                "The efficiency T(B) / (B T(1)) is not known, because no batch size of 1 was "
                f"measured: epsilon = {found.epsilon:g} was not applied."
            )
            warnings.append(Warned("efficiency_unknown", text))
        elif unknown.any():
            text = f"At {_batches(found, unknown)} the efficiency is not known, and not limited."
            warnings.append(Warned("efficiency_unknown_in_part", text))
    for slo, latency in zip(found.slos, found.latency_ms, strict=True):
        unknown = np.isnan(latency)
        if unknown.any():
            text = f"At {_batches(found, unknown)} no run says {slo.column}: not chosen from."
            warnings.append(Warned("latency_unknown_in_part", text))
    return tuple(warnings)


def _batches(found: Constraints, which: NDArray[np.bool_]) -> str:
    sizes = [f"{one:g}" for one in found.batch[which][:8]]
    more = int(which.sum()) - len(sizes)
    return f"batch size {', '.join(sizes)}{f' and {more} more' if more else ''}"
