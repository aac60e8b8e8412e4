"""Which predicted steps fit in the memory of the GPU: others cannot run, and limit nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.sweeps.verdict_whole import LeftOut

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nsightlens.sweeps.verdict_evidence import Evidence

__all__ = ["NOT_FITTING", "fitting_steps", "memory_words"]

NOT_FITTING = "the step does not fit in memory"
"""Why such batch sizes are left out."""


def fitting_steps(
    chosen: set[int], fits: Mapping[int, bool | None]
) -> tuple[set[int], list[LeftOut]]:
    """Return the batch sizes that fit, and those that are left out; all where fewer than two fit.

    Parameters
    ----------
    chosen
        Batch sizes that can be judged.
    fits
        By batch size; None where it is not known, as of what was measured.

    Examples
    --------
    >>> sorted(fitting_steps({1, 8, 64}, {1: True, 8: True, 64: False})[0])
    [1, 8]
    >>> len(fitting_steps({1, 64}, {1: True, 64: False})[0])
    2
    """
    too_large = {batch for batch in chosen if fits.get(batch) is False}
    if not too_large or len(chosen - too_large) < 2:
        return chosen, []
    return chosen - too_large, [LeftOut(tuple(sorted(too_large)), NOT_FITTING)]


def memory_words(evidence: Evidence) -> str:
    """Say of the batch sizes that are judged which of them fit, where not all do; else empty."""
    fitting = [step.batch for step in evidence.steps if step.fits is not False]
    if len(fitting) == len(evidence.steps):
        return ""
    if fitting:
        return f", of which only {fitting[0]} fits in memory"
    if len(evidence.steps) == 1:
        return ", which does not fit in memory"
    return ", none of which fits in memory"
