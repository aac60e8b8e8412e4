"""`choose_batch`: the batch size to serve with, by the rules of "Mind the Memory Gap"."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nsightlens.advisor.answers import BatchChoice, Slo, Warned
from nsightlens.advisor.constraints import constraints_of, plausible, plausible_value
from nsightlens.advisor.interpolation import Between, between_measured
from nsightlens.advisor.neighbours import binding_of, binding_of_nothing, neighbours_of
from nsightlens.errors import AdviceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.advisor.answers import Curve, Fit
    from nsightlens.advisor.constraints import Constraints, Rule

__all__ = ["PAPERS_SECOND_SLO", "choose_batch"]

PAPERS_SECOND_SLO = Slo("tpot", "mean", factor=3.0)
"""What the rule ``largest`` limits where nothing is asked for: mean TPOT, to 3 times that at 32."""


def choose_batch(
    curve: Curve,
    slos: Sequence[Slo] = (),
    *,
    rule: Rule = "throughput",
    epsilon: float = 0.1,
    interpolate: bool = False,
    fit: Fit | None = None,
) -> BatchChoice:
    """Choose the batch size to serve with.

    Rule ``throughput``, the Batching Configuration Advisor of arXiv 2503.08311::

        B_opt = argmax_B T(B)   subject to   latency(B) <= SLO   and   T(B) / (B T(1)) > epsilon

    and of equally fast ones the smallest. Rule ``largest``, of the paper's figure on memory: the
    largest batch size with latency(B) <= SLO. Neither returns a run that was preempted.

    Parameters
    ----------
    curve
        The runs, by batch size.
    slos
        Limits of latency, all to be met. Without any, rule ``largest`` takes 3 times the mean TPOT
        at the batch size nearest to 32.
    rule
        See above.
    epsilon
        Least efficiency, of rule ``throughput`` alone; not applied where it is not known.
    interpolate
        Also choose between measured batch sizes: see `nsightlens.advisor.interpolation`.
    fit
        The law that interpolation may use.

    Returns
    -------
    BatchChoice
        Also where nothing is feasible: then with the constraint to relax.

    Raises
    ------
    AdviceError
        There are no rows, or none with what the rule needs; a limit or epsilon is no sensible
        number; no row has the latency that is limited.

    Examples
    --------
    >>> from nsightlens.advisor.answers import Curve
    >>> from nsightlens.tables import ADVICE_CURVE, schema_of, table_of
    >>> data = {
    ...     "batch_size": [1, 32, 64],
    ...     "throughput_tok_s": [100.0, 2000.0, 2500.0],
    ...     "mean_itl_ms": [10.0, 16.0, 25.6],
    ...     "efficiency": [1.0, 0.625, 0.39],
    ...     "preemption_count": [0, 0, 0],
    ... }
    >>> curve = Curve(table_of(schema_of(ADVICE_CURVE), data, 3), "total", 100.0)
    >>> choice = choose_batch(curve, [Slo("itl", "mean", limit_ms=20)])
    >>> choice.batch_size, choice.binding_constraint
    (32.0, 'slo')
    >>> choice.binding_text[:55]
    'Batch size 64 would give 25.0 % more throughput, but ha'
    """
    if rule not in {"throughput", "largest"}:
        raise AdviceError(f"There is no rule {rule!r}: it is throughput or largest.")
    if curve.rows.num_rows == 0:
        raise AdviceError("No run has both a batch size and a result, so nothing can be chosen.")
    slos, warnings = _slos(curve, tuple(slos), rule)
    limits, not_applied = constraints_of(curve, slos, epsilon if rule == "throughput" else None)
    warnings = (*warnings, *not_applied)
    if rule == "throughput" and np.isnan(limits.throughput).all():
        raise AdviceError(
            "No run says its throughput, which is to be the most. The rule largest (--rule "
            "largest) needs latencies alone."
        )
    between = between_measured(curve, limits, fit) if interpolate else []
    best = _best(curve, limits, between, rule)
    if best is None:
        return _nothing(limits, rule, warnings)
    choice = _choice(curve, limits, best, rule, warnings)
    if not between:
        return choice
    furthest = max(choice.largest_feasible or 0.0, *(one.batch_size for one in between))
    return replace(choice, is_interpolated=best in between, largest_feasible=furthest)


def _slos(
    curve: Curve, slos: tuple[Slo, ...], rule: Rule
) -> tuple[tuple[Slo, ...], tuple[Warned, ...]]:
    if slos or rule == "throughput":
        return slos, ()
    second = PAPERS_SECOND_SLO
    if not np.isnan(plausible(curve.rows, second.column)).all():
        return (second,), ()
    text = "No run says its mean TPOT: mean ITL is limited in its place."
    return (Slo("itl", "mean", factor=second.factor),), (Warned("itl_for_tpot", text),)


def _best(
    curve: Curve, limits: Constraints, between: Sequence[Between], rule: Rule
) -> Between | None:
    """Return the best of the measured rows and those between them."""
    places = np.flatnonzero(limits.is_feasible)
    measured = [(int(i), float(limits.batch[i]), float(limits.throughput[i])) for i in places]
    candidates = [Between(*one, row={}) for one in measured] + list(between)
    if rule == "throughput":
        candidates = [one for one in candidates if not np.isnan(one.throughput)]
        order = [(one.throughput, -one.batch_size) for one in candidates]
    else:
        order = [(one.batch_size, 0.0) for one in candidates]
    if not candidates:
        return None
    best = candidates[max(range(len(order)), key=order.__getitem__)]
    if best.row:
        return best
    return best._replace(row=curve.rows.slice(best.place, 1).to_pylist()[0])


def _choice(
    curve: Curve,
    limits: Constraints,
    best: Between,
    rule: Rule,
    warnings: tuple[Warned, ...],
) -> BatchChoice:
    column = limits.slos[0].column if limits.slos else "itl_ms"
    smaller, larger = neighbours_of(
        limits,
        plausible(curve.rows, column),
        best.batch_size,
        best.throughput,
        plausible_value(best.row[column]),
    )
    binding, text = binding_of(limits, rule, best.batch_size, best.throughput)
    if best.row["preemption_count"] is None:
        unknown = (
            f"Whether sequences were preempted at batch size {best.batch_size:g} is not known: "
            "look at vllm:num_preemptions_total, or into the server's log."
        )
        warnings = (*warnings, Warned("preemption_unknown", unknown))
    return BatchChoice(
        rule=rule,
        epsilon=_epsilon(limits),
        slos=limits.slos,
        limits_ms=limits.limits_ms,
        batch_size=best.batch_size,
        row=best.row,
        is_interpolated=False,
        binding_constraint=binding,
        binding_text=text,
        largest_feasible=float(limits.batch[limits.is_feasible].max()),
        smaller=smaller,
        larger=larger,
        nearest_feasible_slo_ms=None,
        warnings=warnings,
    )


def _nothing(limits: Constraints, rule: Rule, warnings: tuple[Warned, ...]) -> BatchChoice:
    binding, text, nearest = binding_of_nothing(limits, rule)
    nothing: dict[str, Any] = dict.fromkeys(
        ("batch_size", "row", "largest_feasible", "smaller", "larger")
    )
    return BatchChoice(
        rule=rule,
        epsilon=_epsilon(limits),
        slos=limits.slos,
        limits_ms=limits.limits_ms,
        is_interpolated=False,
        binding_constraint=binding,
        binding_text=text,
        nearest_feasible_slo_ms=nearest,
        warnings=warnings,
        **nothing,
    )


def _epsilon(limits: Constraints) -> float | None:
    return None if np.isnan(limits.efficiency).all() else limits.epsilon
