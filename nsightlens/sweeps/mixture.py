"""What is added up although it differs: context lengths, and attention of several shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nsightlens.sweeps.components import is_merging
from nsightlens.sweeps.verdict_whole import batch_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.analysis.sums import Adder
    from nsightlens.sweeps.part import SweepPart

__all__ = ["add_ranges", "mixture_notes"]

_SPREAD = 1.25
"""[1] The largest over the smallest: closer, a generation adds a token to its context each step."""
_CONTEXT, _INTENSITY = "context_length", "useful_intensity"


def add_ranges(
    adder: Adder, context_length: NDArray[np.float64], useful_intensity: NDArray[np.float64]
) -> None:
    """Keep the smallest and the largest of launches.

    Parameters
    ----------
    adder
        To which they are added.
    context_length
        [token] NaN where it is not known. Shape (launches,).
    useful_intensity
        [FLOP/B] Of annotated shapes, NaN where there are none. Shape (launches,).
    """
    for name, values in ((_CONTEXT, context_length), (_INTENSITY, useful_intensity)):
        is_known = np.isfinite(values)
        adder.most(name, np.where(is_known, values, -np.inf))
        # The largest of the negative ones is the smallest.
        adder.most(f"minus {name}", np.where(is_known, -values, -np.inf))


def mixture_notes(part: SweepPart) -> list[str]:
    """Say where decode attention of several contexts or shapes is added up, or set side by side.

    Parameters
    ----------
    part
        The sums.
    """
    names = ("device_name", "phase", "family", "subtype", "batch_size")
    keys = list(zip(*(part.keys[name].to_pylist() for name in names), strict=True))
    gpus = dict.fromkeys(gpu for gpu, *_ in keys)
    notes = []
    for gpu in gpus:
        at: dict[int, list[int]] = {}
        for i, (device, phase, family, subtype, batch) in enumerate(keys):
            is_main = family == "attention" and not is_merging(family, subtype)
            if is_main and (device, phase) == (gpu, "decode") and batch is not None:
                at.setdefault(int(batch), []).append(i)
        where = f" on {gpu or 'a GPU without a name'}" if len(gpus) > 1 else ""
        notes += _notes(part, dict(sorted(at.items())), where)
    return notes


def _notes(part: SweepPart, at: dict[int, list[int]], where: str) -> list[str]:
    contexts, intensities = (_ranges(part, name, at) for name in (_CONTEXT, _INTENSITY))
    mixed = _spread(contexts)
    notes = []
    if mixed:
        low, high = _ends([contexts[batch] for batch in mixed])
        notes.append(
            f"Decode attention of several context lengths{where} is added up at batch"
            f" {batch_words(mixed)}: {low:.0f} to {high:.0f} tokens. Shares and intensities are of"
            " the mixture."
        )
    elif contexts and _differs(_ends(list(contexts.values()))):
        low, high = _ends(list(contexts.values()))
        notes.append(
            f"The context length of decode{where} differs between batch sizes: {low:.0f} to"
            f" {high:.0f} tokens. Trends are of both together."
        )
    if shapes := _spread(intensities):
        low, high = _ends([intensities[batch] for batch in shapes])
        notes.append(
            f"Decode attention of several shapes{where}, such as of several models, is added up at"
            f" batch {batch_words(shapes)}: {low:.3g} to {high:.3g} FLOP/B of useful intensity."
        )
    return notes


def _ranges(part: SweepPart, name: str, at: dict[int, list[int]]) -> dict[int, tuple[float, float]]:
    """Return the smallest and the largest at each batch size at which one is known."""
    low, high = -part.sums.most[f"minus {name}"], part.sums.most[name]
    found = {batch: (float(low[rows].min()), float(high[rows].max())) for batch, rows in at.items()}
    return {batch: ends for batch, ends in found.items() if np.isfinite(ends).all()}


def _spread(ranges: dict[int, tuple[float, float]]) -> list[int]:
    return [batch for batch, ends in ranges.items() if _differs(ends)]


def _ends(ranges: list[tuple[float, float]]) -> tuple[float, float]:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _differs(ends: tuple[float, float]) -> bool:
    return ends[0] > 0 and ends[1] > _SPREAD * ends[0]
