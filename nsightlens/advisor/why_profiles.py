"""What one sweep of kernels says of the plateau: attention's bandwidth, compute, or neither.

Three things together say that attention's bandwidth ends the growth: its share of the time rises
with the batch, that of matmul falls, and at the largest batch its kernels use DRAM up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow.compute as pc

from nsightlens.analysis.thresholds import SATURATED
from nsightlens.sweeps.verdict_evidence import decode_rows, evidence_of
from nsightlens.sweeps.verdict_lacking import lacking

if TYPE_CHECKING:
    import pyarrow as pa

    from nsightlens.sweeps import Sweep
    from nsightlens.sweeps.verdict_evidence import ComponentAt, Evidence

__all__ = ["RISE", "Judged", "Shares", "judged"]

Shares = tuple[float, float | None, float | None, float | None, float | None]
"""Batch size, then attention, matmul, other and host [%]."""

RISE = 0.05
"""[1] A share that grows by less of the time is not said to rise."""
_DOMINANT = 0.5


class Judged(NamedTuple):
    """What a sweep says.

    Parameters
    ----------
    verdict
        As in `nsightlens.advisor.answers.Why`, but never ``host`` nor ``no_profile``.
    text
        In sentences with numbers.
    shares
        Of the time of kernels, by batch size.
    last_batch
        Largest batch size; None without a decode step.
    """

    verdict: str
    text: str
    shares: tuple[Shares, ...]
    last_batch: float | None


def judged(sweep: Sweep) -> Judged | None:
    """Judge what was measured in a sweep.

    Parameters
    ----------
    sweep
        From `nsightlens.sweep`.

    Returns
    -------
    Judged or None
        None for a sweep that was predicted, which is no evidence.
    """
    rows, trends, steps = (_measured(one) for one in (sweep.rows, sweep.trends, sweep.steps))
    if not rows.num_rows and sweep.rows.num_rows:
        return None
    found = evidence_of(rows, trends, steps)
    if found is None or not found.steps:
        return Judged("unclear", lacking(rows, steps), (), None)
    table = {step["batch_size"]: step for step in decode_rows(steps)}
    shares = tuple(
        (
            float(step.batch),
            *(table[step.batch][f"{name}_share_pct"] for name in ("attention", "matmul", "other")),
            None,
        )
        for step in found.steps
    )
    verdict, text = _verdict(found, lacking(rows, steps))
    return Judged(verdict, text, shares, float(found.large.batch))


def _measured(table: pa.Table) -> pa.Table:
    return table.filter(pc.equal(table["origin"].cast("string"), "measured"))


def _verdict(found: Evidence, missing: str) -> tuple[str, str]:
    if missing or not found.has_two_steps or found.is_in_doubt:
        why = missing or "Attention and matmul were not both profiled whole at two batch sizes."
        return "unclear", f"The profile of {found.device} does not say what limits it. {why}"
    attention, matmul = found.large.attention, found.large.matmul
    before = found.small.attention, found.small.matmul
    if attention is None or matmul is None or before[0] is None or before[1] is None:
        return "unclear", "Attention or matmul has no time in the profile."
    text = (
        f"On {found.device}, from batch {found.small.batch} to {found.large.batch}, attention goes "
        f"from {_share(before[0])} to {_share(attention)} of kernel time and matmul from "
        f"{_share(before[1])} to {_share(matmul)}"
    )
    leader = max(attention, matmul, key=lambda one: one.share)
    if leader.is_compute_bound and (leader is attention or leader.share >= _DOMINANT):
        return "compute", (
            f"{text}; at batch {found.large.batch} {leader.name} is compute-bound "
            f"({_limiter(leader)}), so that compute ends the growth of throughput."
        )
    rises = attention.share >= before[0].share + RISE and matmul.share < before[1].share
    if rises and _is_saturated(attention) and leader is attention:
        return "attention_bandwidth", (
            f"{text}; at batch {found.large.batch} attention uses {_dram(attention)}, so that each "
            "further sequence adds reads of its KV cache for which there is no bandwidth left."
        )
    return "unclear", f"{text}. {_open(attention, matmul, rises=rises)}"


def _open(attention: ComponentAt, matmul: ComponentAt, *, rises: bool) -> str:
    """Say what keeps from a verdict."""
    if attention.row["dram_throughput_pct"] is None:
        return (
            "Whether attention saturates DRAM is not known: collect its DRAM throughput "
            "(--section MemoryWorkloadAnalysis)."
        )
    if not _is_saturated(attention):
        return (
            f"But attention uses {_dram(attention)}, less than {100 * SATURATED:.0f} %: it waits "
            f"for something else (regime {attention.row['regime']})."
        )
    if not rises:
        return "Attention saturates DRAM, but its share does not rise while that of matmul falls."
    what = "compute-bound" if matmul.is_compute_bound else f"{matmul.row['bound']}-bound"
    return (
        f"Attention saturates DRAM, but matmul, {what}, still has more of the time: profile a "
        "larger batch."
    )


def _is_saturated(one: ComponentAt) -> bool:
    dram = one.row["dram_throughput_pct"]
    return one.is_bandwidth_saturated or (dram is not None and dram >= 100 * SATURATED)


def _share(one: ComponentAt) -> str:
    return f"{100 * one.share:.0f} %"


def _dram(one: ComponentAt) -> str:
    dram = one.row["dram_throughput_pct"]
    return "up the DRAM bandwidth" if dram is None else f"{dram:.0f} % of the DRAM bandwidth"


def _limiter(one: ComponentAt) -> str:
    fraction = one.row["limiter_fraction"]
    name = str(one.row["limiter"]).replace("_", " ")
    return name if fraction is None else f"{name} at {100 * fraction:.0f} %"
