"""The sentence of the verdict on intensities: how they grow, and where they pass the ridge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from nsightlens.sweeps.components import COMPONENTS
from nsightlens.sweeps.crossover import flips_of
from nsightlens.sweeps.slopes import MARGIN

if TYPE_CHECKING:
    from nsightlens.sweeps.verdict_evidence import ComponentAt, Evidence

__all__ = ["growth_words", "law_batch", "significant"]

Kind = Literal["useful", "executed"]
_HEADINGS: dict[Kind, str] = {
    "useful": "Useful intensity",
    "executed": "Executed intensity, padding included",
}
_SIDES = ("memory", "compute")
_SAME = 1.05
"""[1] The largest over the smallest intensity: so close, they are one number."""


def growth_words(evidence: Evidence) -> str:
    """Say how the intensities of both grow, and between which batch sizes they pass the ridge.

    Parameters
    ----------
    evidence
        What the verdict rests on.

    Returns
    -------
    str
        Range, slope and crossing are of the same intensity, which is named: the useful one where
        it is known at every batch size, else the executed one. Empty where neither is known.
    """
    texts: dict[Kind, list[str]] = {"useful": [], "executed": []}
    for name in COMPONENTS[:2]:
        kind = _kind(evidence, name)
        if kind is not None:
            texts[kind].append(_growth(evidence, name, kind))
    return " ".join(f"{_HEADINGS[kind]}: {', '.join(found)}." for kind, found in texts.items()
                    if found)  # fmt: skip


def law_batch(evidence: Evidence, name: str) -> float | None:
    """Return the batch size at which the law of its shapes meets the ridge; None where unknown."""
    found: float | None = evidence.trends.get(name, {}).get("analytic_flip_batch_size")
    return found


def significant(value: float) -> str:
    """Return a number with three digits, or all of its whole ones."""
    return f"{value:.0f}" if 99.95 <= abs(value) < 1e6 else f"{value:.3g}"


def _members(evidence: Evidence, name: str) -> list[tuple[int, ComponentAt]]:
    found = ((step.batch, getattr(step, name)) for step in evidence.steps)
    return [(batch, one) for batch, one in found if one is not None]


def _kind(evidence: Evidence, name: str) -> Kind | None:
    ones = [one for _, one in _members(evidence, name)]
    if not ones:
        return None
    if all(one.useful is not None for one in ones):
        return "useful"
    return "executed" if all(one.executed is not None for one in ones) else None


def _growth(evidence: Evidence, name: str, kind: Kind) -> str:
    values = [getattr(one, kind) for _, one in _members(evidence, name)]
    prefix = "useful_" if kind == "useful" else ""
    slope = evidence.trends.get(name, {}).get(f"{prefix}intensity_slope")
    error = f" (slope {round(slope, 2) + 0.0:.2f})" if slope is not None else ""
    low, high = min(values), max(values)
    if high <= _SAME * low:
        text = f"{name} stays at {significant(values[-1])} FLOP/B{error}"
    elif abs(slope or 0.0) < MARGIN:
        text = f"{name} lies between {significant(low)} and {significant(high)} FLOP/B{error}"
    else:
        first, last = significant(values[0]), significant(values[-1])
        text = f"{name} goes from {first} to {last} FLOP/B{error}"
    return text + _crossing(evidence, name, kind)


def _crossing(evidence: Evidence, name: str, kind: Kind) -> str:
    """Say between which measured batch sizes it passes the ridge: where exactly, a law may say."""
    members = _members(evidence, name)
    flips = flips_of([_side(one, kind) for _, one in members], _SIDES) or []
    if not flips:
        return ""
    if len(flips) > 1:
        return f" and changes sides of the ridge {len(flips)} times"
    low, high = (members[at][0] for at in (flips[0].before, flips[0].after))
    law = law_batch(evidence, name)
    if law is None or not low <= law <= high:
        return f" and crosses the ridge between batch {low} and {high}"
    if members[-1][1].row["origin"] == "analytic":
        # Of shapes alone, which are known exactly, so is the batch size.
        return f" and crosses the ridge at batch {law:.0f}"
    return f" and crosses the ridge between batch {low} and {high} ({law:.0f} by its shapes)"


def _side(one: ComponentAt, kind: Kind) -> str | None:
    row: dict[str, Any] = one.row
    ridge = row["ridge_point_flop_per_byte"]
    if kind == "executed" or row["origin"] == "analytic":
        side: str | None = row["roofline_bound"]
        return side
    if not ridge or one.useful is None:
        return None
    return _SIDES[int(one.useful >= ridge)]
