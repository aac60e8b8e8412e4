"""The sentences of a verdict that is undecided: what the labels at the largest batch size lack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.sweeps.verdict_fitting import NOT_FITTING
from nsightlens.sweeps.verdict_growth import law_batch

if TYPE_CHECKING:
    from nsightlens.sweeps.verdict_evidence import ComponentAt, Evidence

__all__ = ["why_undecided"]

_HALF = 0.5
_OPEN = "What limits large batches stays undecided"


def why_undecided(evidence: Evidence) -> str:
    """Say why the labels at the largest batch size explain no plateau.

    Parameters
    ----------
    evidence
        What the verdict rests on, with both components at two batch sizes.
    """
    first, second = evidence.large.components
    batch = evidence.large.batch
    unknown = [one.name for one in (first, second) if one.row["bound"] in (None, "unknown")]
    if unknown:
        return (
            f"{_OPEN}: {' and '.join(unknown)} has no label at batch {batch}; its reason says which"
            " metrics are missing."
        )
    blind = [one.name for one in (first, second) if one.lacks_dram]
    if blind:
        return (
            f"{_OPEN}: {' and '.join(blind)} is memory-bound at batch {batch}, and DRAM throughput"
            " was not collected, so that nothing says whether bandwidth is used up: collect"
            " --section SpeedOfLight and --section MemoryWorkloadAnalysis."
        )
    if first.waits:
        return (
            f"Neither explanation holds: at batch {batch} {first.name} waits for latency, and"
            " neither bandwidth nor compute is used up."
        )
    matmul = first if first.name == "matmul" else second
    if matmul.is_bandwidth_saturated:
        return _reads_weights(evidence, first, matmul)
    return (
        f"{_OPEN}: no component with most of the time is at a limit of DRAM or compute at batch"
        f" {batch}."
    )


def _reads_weights(evidence: Evidence, first: ComponentAt, matmul: ComponentAt) -> str:
    """Say that more sequences still share the weights that are read, and where that may end."""
    batch, attention = evidence.large.batch, evidence.large.attention
    until = _until(evidence)
    if first is matmul and first.share >= _HALF:
        return (
            "Neither explanation holds yet: reading weights still limits the step at batch"
            f" {batch}, so that larger batches pay{_beyond(evidence)}{until}."
        )
    are_both = attention is not None and attention.is_bandwidth_saturated
    return (
        f"Neither explanation holds yet: at batch {batch}"
        f" {'both are' if are_both else 'matmul is'} memory-bound, and matmul has"
        f" {100.0 * matmul.share:.0f} % of the time for reading weights, which more sequences would"
        f" share. Larger batches still pay{_beyond(evidence)}{until}."
    )


def _beyond(evidence: Evidence) -> str:
    """Say what to do about larger batches: those that do not fit cannot run."""
    if any(one.why == NOT_FITTING for one in evidence.left_out):
        return ", but do not fit in memory"
    is_analytic = any(one.row["origin"] == "analytic" for one in evidence.large.components)
    return "" if is_analytic else ": profile them"


def _until(evidence: Evidence) -> str:
    """Say where a plateau can be expected: where attention has the time, or matmul computes."""
    batch, attention = evidence.large.batch, evidence.large.attention
    said = []
    if attention is not None and attention.is_bandwidth_saturated and 0 < attention.share < _HALF:
        # Weights are read once, however many sequences; each has keys and values of its own.
        half = batch * (1.0 - attention.share) / attention.share
        said.append(f"attention, which alone grows, has half of the time near batch {half:.0f}")
    law = law_batch(evidence, "matmul")
    if law is not None and law > batch:
        said.append(f"matmul reaches the ridge at batch {law:.0f} by its shapes")
    return f"; {' and '.join(said)}" if said else ""
