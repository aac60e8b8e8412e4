"""What would change the answer: which single thing, relaxed by how much, and to what."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from nsightlens.advisor.constraints import constraints_of, slo_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from nsightlens.advisor.answers import BatchChoice, Curve, MemoryAdvice, Plateau
    from nsightlens.advisor.constraints import Constraints

__all__ = ["would_change"]


def would_change(
    curve: Curve, choice: BatchChoice, plateau: Plateau, memory: MemoryAdvice | None
) -> tuple[str, ...]:
    """Return what would change the answer, one sentence each with its number.

    Each names one thing alone: with it relaxed and all else as it is, the rule would choose
    otherwise.
    """
    limits, _ = constraints_of(curve, choice.slos, choice.epsilon)
    found = [*_limits_to_relax(limits, choice), *_epsilon(limits, choice)]
    found += _more_memory(limits, choice)
    if choice.batch_size is None:
        return tuple(found)
    if choice.binding_constraint == "measured_range":
        grew = plateau.is_plateau_reached is False
        still = ": throughput still grew at the largest" if grew else ", of which nothing is known"
        found.append(f"Measuring larger batch sizes{still}.")
    found += _contexts(choice, memory)
    if plateau.fit is not None:
        found.append(
            f"Other contexts: the {1e3 * plateau.fit.a_ms:.4g} us that a step takes per sequence "
            "hold the reading of its KV cache, which grows with it."
        )
    return tuple(found)


def _chosen_of(limits: Constraints, feasible: NDArray[np.bool_], rule: str) -> int | None:
    """Return the row that the rule chooses among some."""
    order = limits.throughput if rule == "throughput" else limits.batch
    known = feasible & ~np.isnan(order)
    return int(np.argmax(np.where(known, order, -np.inf))) if known.any() else None


def _is_another(limits: Constraints, place: int | None, choice: BatchChoice) -> bool:
    return place is not None and limits.batch[place] != choice.batch_size


def _limits_to_relax(limits: Constraints, choice: BatchChoice) -> Iterator[str]:
    """Yield for each limit of latency the least that changes the choice, all others kept."""
    for i, slo in enumerate(limits.slos):
        others = np.delete(limits.meets, i, axis=0).all(axis=0)
        allowed = others & limits.is_efficient & limits.is_sound & ~limits.meets[i]
        for place in np.argsort(limits.latency_ms[i], kind="stable"):
            if not allowed[place] or np.isnan(limits.latency_ms[i][place]):
                continue
            least = float(limits.latency_ms[i][place])
            relaxed = tuple(least if j == i else one for j, one in enumerate(limits.limits_ms))
            then = replace(limits, limits_ms=relaxed)
            chosen = _chosen_of(then, then.is_feasible, choice.rule)
            if chosen is not None and _is_another(then, chosen, choice):
                yield (
                    f"A limit of {_up(least)} ms or more for the {slo_words(slo)} would make it "
                    f"{limits.batch[chosen]:g}."
                )
                break


def _epsilon(limits: Constraints, choice: BatchChoice) -> Iterator[str]:
    if limits.epsilon is None:
        return
    allowed = limits.is_quick & limits.is_sound & ~limits.is_efficient
    for place in np.argsort(-np.nan_to_num(limits.efficiency), kind="stable"):
        reached = limits.efficiency[place]
        if not allowed[place]:
            continue
        then = replace(limits, epsilon=float(np.nextafter(reached, 0)))
        chosen = _chosen_of(then, then.is_feasible, choice.rule)
        if chosen is not None and _is_another(then, chosen, choice):
            yield f"An epsilon below {reached:.4g} would make it {limits.batch[chosen]:g}."
            return


def _more_memory(limits: Constraints, choice: BatchChoice) -> Iterator[str]:
    """Yield what more memory for the KV cache could allow: of what then runs nothing is known."""
    allowed = limits.is_quick & limits.is_efficient & ~limits.thrashes
    chosen = _chosen_of(limits, allowed, choice.rule)
    if chosen is not None and limits.is_preempted[chosen]:
        yield (
            f"More KV memory (or an FP8 KV cache), if it let {limits.batch[chosen]:g} run without "
            "preemptions."
        )


def _contexts(choice: BatchChoice, memory: MemoryAdvice | None) -> Iterator[str]:
    peak = (choice.row or {}).get("kv_peak_pct")
    if not peak:
        return
    if peak >= 99.5:
        yield "Any longer context: the KV pool is full at this batch size."
        return
    whole = f"contexts {_down(100 / peak)} times as long would fill the KV pool"
    if memory is not None and memory.gpu_memory_utilization != memory.gpu_memory_utilization_was:
        yield (
            f"Longer contexts: {_down(1 + memory.margin)} times as long, they would fill the KV "
            f"pool that the new setting leaves; {_down(100 / peak)} times, the one measured with."
        )
    else:
        yield f"{whole[0].upper()}{whole[1:]} at this batch size."


def _down(factor: float) -> str:
    """Return a factor with three digits, not rounded up beyond what is true."""
    return f"{math.floor(factor * 100) / 100:.3g}"


def _up(milliseconds: float) -> str:
    """Return a limit with four digits, not rounded below what would meet it."""
    digits = 3 - math.floor(math.log10(milliseconds))
    return f"{math.ceil(milliseconds * 10**digits - 1e-9) / 10**digits:.{max(digits, 0)}f}"
