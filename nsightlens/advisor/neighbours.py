"""What keeps from a larger batch size, what the next ones would cost, and what to relax."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nsightlens.advisor.answers import Neighbour
from nsightlens.advisor.constraints import slo_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.advisor.constraints import Constraint, Constraints, Rule

__all__ = ["binding_of", "binding_of_nothing", "neighbours_of"]


def neighbours_of(
    limits: Constraints,
    latency_ms: NDArray[np.float64],
    batch_size: float,
    throughput: float,
    latency: float | None,
) -> tuple[Neighbour | None, Neighbour | None]:
    """Return the next smaller and the next larger measured batch size.

    Parameters
    ----------
    limits
        Of the curve.
    latency_ms
        [ms] The latency to compare, of every row. Shape (n,).
    batch_size, throughput, latency
        Of the choice; NaN where a throughput is not known.
    """
    known = ~np.isnan(limits.throughput) | np.isnan(throughput)
    smaller = np.flatnonzero(known & (limits.batch < batch_size))
    larger = np.flatnonzero(known & (limits.batch > batch_size))

    def one(place: int) -> Neighbour:
        other = None if np.isnan(latency_ms[place]) else float(latency_ms[place])
        rate = float(limits.throughput[place])
        broken = limits.broken_by(place)
        return Neighbour(
            batch_size=float(limits.batch[place]),
            throughput_tok_s=None if np.isnan(rate) else rate,
            throughput_change_pct=None
            if np.isnan(rate) or np.isnan(throughput)
            else _change_pct(rate, throughput),
            latency_ms=other,
            latency_change_pct=None
            if other is None or not latency
            else _change_pct(other, latency),
            excluded_by=broken[0] if broken else None,
        )

    return (
        one(int(smaller[-1])) if smaller.size else None,
        one(int(larger[0])) if larger.size else None,
    )


def binding_of(
    limits: Constraints,
    rule: Rule,
    batch_size: float,
    throughput: float,
) -> tuple[str, str]:
    """Return what keeps from a larger choice, as a key and as a sentence.

    It is what forbids the nearest larger batch size that the rule would prefer: with more
    throughput, or just larger. A run that was preempted is named first, since no limit that is
    relaxed makes it one to serve with.
    """
    larger = limits.batch > batch_size
    if rule == "throughput":
        larger &= ~np.isnan(limits.throughput)
        better = larger & (limits.throughput > throughput)
    else:
        better = larger
    if better.any():
        place = int(np.flatnonzero(better)[0])
        broken = limits.broken_by(place)
        return broken[0], _forbidden(limits, place, broken, throughput)
    if not larger.any():
        return "measured_range", f"No batch size above {batch_size:g} was measured."
    place = int(np.flatnonzero(larger)[0])
    change = _change_pct(float(limits.throughput[place]), throughput)
    compared = "as many as" if change == 0 else f"{-change:.1f} % fewer than"
    text = (
        f"No larger batch size that was measured is faster: the next, {limits.batch[place]:g}, "
        f"gives {limits.throughput[place]:.1f} token/s, {compared} {batch_size:g}."
    )
    return "throughput", text


def binding_of_nothing(limits: Constraints, rule: Rule) -> tuple[str, str, float | None]:
    """Return what to relax where nothing is feasible: key, sentence, and the least limit [ms].

    The limit is None where it is not latency that forbids, or where several limits must be relaxed
    at once.
    """
    allowed = limits.is_sound.copy()
    if rule == "throughput":
        allowed &= ~np.isnan(limits.throughput)
    if not allowed.any():
        return "preemption", _all_preempted(limits), None
    others = allowed & limits.is_efficient
    if not others.any():
        place = int(np.argmax(np.where(allowed, limits.efficiency, -np.inf)))
        text = (
            f"Nothing is feasible: the best efficiency of a run without preemption is "
            f"{limits.efficiency[place]:.4g}, at batch size {limits.batch[place]:g}, not above "
            f"epsilon = {limits.epsilon:g}."
        )
        return "efficiency", text, None
    return _latency_to_relax(limits, others)


def _latency_to_relax(
    limits: Constraints, others: NDArray[np.bool_]
) -> tuple[str, str, float | None]:
    """Of the limits that alone can be relaxed, name the one that has to be relaxed least."""
    best: tuple[float, int, int] | None = None
    meets = limits.meets
    for i, limit in enumerate(limits.limits_ms):
        rest = others & np.delete(meets, i, axis=0).all(axis=0) & ~np.isnan(limits.latency_ms[i])
        if not rest.any():
            continue
        place = int(np.argmin(np.where(rest, limits.latency_ms[i], np.inf)))
        ratio = float(limits.latency_ms[i][place] / limit)
        if best is None or ratio < best[0]:
            best = (ratio, i, place)
    if best is None:
        text = "Nothing is feasible: no single limit that is relaxed would be enough."
        return "slo", f"{text} {_closest(limits, others)}".rstrip(), None
    _, i, place = best
    least = float(limits.latency_ms[i][place])
    text = (
        f"Nothing is feasible: the least {slo_words(limits.slos[i])} that the other limits leave "
        f"is {least:.5g} ms, at batch size {limits.batch[place]:g}, above the limit of "
        f"{limits.limits_ms[i]:.5g} ms."
    )
    return "slo", text, least


def _closest(limits: Constraints, others: NDArray[np.bool_]) -> str:
    worst = (limits.latency_ms / np.array(limits.limits_ms).reshape(-1, 1)).max(axis=0)
    known = others & ~np.isnan(worst)
    if not known.any():
        return ""
    place = int(np.argmin(np.where(known, worst, np.inf)))
    return (
        f"Batch size {limits.batch[place]:g} misses them by a factor of {worst[place]:.3g} at most."
    )


def _all_preempted(limits: Constraints) -> str:
    least = f"{limits.batch.min():g}"
    smaller = "" if limits.batch.min() <= 1 else "Measure smaller batch sizes, or "
    remedy = f"{smaller}give the KV cache more memory."
    return (
        "Nothing is feasible: every run that was measured lost KV blocks to preemption or "
        f"thrashed, from batch size {least} on. {remedy[0].upper()}{remedy[1:]}"
    )


def _forbidden(
    limits: Constraints, place: int, broken: tuple[Constraint, ...], throughput: float
) -> str:
    reasons = " and ".join(_reason(limits, place, one) for one in broken)
    gain = _change_pct(float(limits.throughput[place]), throughput)
    promise = (
        "" if np.isnan(gain) or gain <= 0 else f" would give {gain:.1f} % more throughput, but"
    )
    return f"Batch size {limits.batch[place]:g}{promise} {reasons}."


def _reason(limits: Constraints, place: int, one: Constraint) -> str:
    if one == "preemption":
        return f"lost the KV blocks of {limits.preemption[place]:g} sequences to preemption"
    if one == "thrash":
        return "was quicker under more load, because its server thrashed"
    if one == "efficiency":
        return (
            f"has an efficiency of {limits.efficiency[place]:.4f}, not above "
            f"epsilon = {limits.epsilon:g}"
        )
    i = int(np.flatnonzero(~limits.meets[:, place])[0])
    latency, words = limits.latency_ms[i][place], slo_words(limits.slos[i])
    if np.isnan(latency):
        return f"has no known {words}"
    return f"has a {words} of {latency:.5g} ms, above the limit of {limits.limits_ms[i]:.5g} ms"


def _change_pct(value: float, base: float) -> float:
    return 100 * (value / base - 1) if base else float("nan")
