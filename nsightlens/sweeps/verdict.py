"""`verdict_of`: what limits decode at the smallest and at the largest batch size, in words.

The study that this tool follows ("Mind the Memory Gap", arXiv 2503.08311) has two explanations for
the plateau of large batches: attention uses DRAM bandwidth up, or matrix products use compute up.
Which of them holds is read from the labels and from the shares of time; the tables may say either,
both or neither, and the paragraph says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.sweeps.model import Verdict
from nsightlens.sweeps.verdict_evidence import evidence_of
from nsightlens.sweeps.verdict_lacking import lacking
from nsightlens.sweeps.verdict_words import (
    conclusion_words,
    left_out_words,
    opening_words,
    side_words,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from nsightlens.sweeps.trends import RowName
    from nsightlens.sweeps.verdict_evidence import ComponentAt, Evidence

__all__ = ["DOMINANT", "TWICE", "verdict_of"]

DOMINANT = 0.5
"""[1] With this share of the time of kernels a component explains the duration of a step."""

TWICE = 2.0
"""[1] So does the one with the largest share, where the other has no more than its half."""


def verdict_of(
    rows: pa.Table,
    trends: pa.Table,
    steps: pa.Table,
    *,
    components: pa.Table | None = None,
    crossovers: Mapping[RowName, float | None] | None = None,
    selection: str = "",
    is_salvaged: bool = False,
) -> Verdict:
    """Say what limits decode, and what explains it.

    Parameters
    ----------
    rows, trends, steps
        With the schemas of `nsightlens.tables.SWEEP`, ``SWEEP_TRENDS`` and ``SWEEP_STEPS``.
    components
        The rows of each step and component added up, from
        `nsightlens.sweeps.component_rows.component_rows`, so that the verdict is the same whatever
        a row is. None, where rows cannot be added up: the row and the trend with most of the time
        stand for their component.
    crossovers
        Of ``components``, where their law is known; see `nsightlens.sweeps.trends.trends_of`.
    selection
        Filters that launches had to pass; empty for all launches.
    is_salvaged
        A report ends in the middle, so that its last step may not be whole.

    Returns
    -------
    Verdict
        ``undecided`` without two batch sizes at which attention and matmul were both profiled, or
        where neither has a label that explains the time.

    Notes
    -----
    At the largest batch size, a component explains the step where it has half of the time of
    kernels, or the largest share and twice that of the other. ``bandwidth_saturated_attention``:
    it is attention, limited by DRAM and saturated. ``compute_bound_plateau``: it is compute-bound
    and does not wait, or both are. ``mixed``: neither explains the step alone; attention is
    saturated and matmul compute-bound. Where matmul still reads weights, more sequences share them,
    and there is no plateau yet.

    Predicted steps that do not fit in memory are left out if two others fit, else said not to fit.

    Examples
    --------
    >>> from nsightlens import open_report, sweep
    >>> from nsightlens.example import path
    >>> sweep(open_report(path())).verdict.explanation
    'bandwidth_saturated_attention'
    """
    missing = lacking(rows, steps)
    evidence = evidence_of(
        rows, trends, steps, components, crossovers=crossovers, is_salvaged=is_salvaged
    )
    if evidence is None:
        return Verdict("undecided", missing)
    explanation = _explanation(evidence)
    sides = {step.batch: step for step in (evidence.small, evidence.large)}
    texts = [
        opening_words(evidence, selection),
        left_out_words(evidence),
        *map(side_words, sides.values()),
        conclusion_words(evidence, explanation, missing),
    ]
    return Verdict(explanation, " ".join(text for text in texts if text))


def _explanation(evidence: Evidence) -> str:
    attention, matmul = evidence.large.attention, evidence.large.matmul
    if attention is None or matmul is None or not evidence.has_two_steps or evidence.is_in_doubt:
        return "undecided"
    leader = _leader(attention, matmul)
    if leader is None:
        return _together(attention, matmul)
    if leader.is_compute_bound:
        return "compute_bound_plateau"
    if leader is attention and attention.is_bandwidth_saturated:
        return "bandwidth_saturated_attention"
    return "undecided"


def _together(attention: ComponentAt, matmul: ComponentAt) -> str:
    """Return what explains a step of which neither has most of the time."""
    if not matmul.is_compute_bound:
        # At the limit of DRAM it still reads weights, which more sequences would share.
        return "undecided"
    if attention.is_compute_bound:
        return "compute_bound_plateau"
    return "mixed" if attention.is_bandwidth_saturated else "undecided"


def _leader(attention: ComponentAt, matmul: ComponentAt) -> ComponentAt | None:
    """Return the component that explains the duration of a step; None where none does alone."""
    larger, smaller = sorted((attention, matmul), key=lambda one: -one.share)
    is_largest = larger.share >= 1.0 - attention.share - matmul.share
    if larger.share >= DOMINANT or (is_largest and larger.share >= TWICE * smaller.share):
        return larger
    return None
