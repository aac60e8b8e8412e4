"""How far the answer may be trusted, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pyarrow.compute as pc

from nsightlens.advisor.answers import Lacking

if TYPE_CHECKING:
    import pyarrow as pa

    from nsightlens.advisor.answers import (
        BatchChoice,
        Curve,
        Plateau,
        ReplicaAdvice,
        Why,
    )

__all__ = ["confidence_of", "lacking"]

FEW_BATCHES = 5
"""Fewer measured batch sizes leave the best one to chance."""
_LEVELS: tuple[Literal["high", "medium", "low"], ...] = ("high", "medium", "low")


def confidence_of(
    curve: Curve, plateau: Plateau, choice: BatchChoice
) -> tuple[Literal["high", "medium", "low"], str]:
    """Return how far the choice may be trusted, and why.

    It begins as high and falls by one level for each of: the chosen row is of one run, or flagged;
    few batch sizes; preemptions are not known; the running batch is not measured; the law does not
    hold; the choice lies between measured batch sizes. One batch size alone is low.
    """
    row: dict[str, Any] = choice.row or {}
    against: list[str] = []
    rows = curve.rows
    if rows.num_rows == 1:
        return "low", "Only one batch size was measured: there was nothing to choose from."
    if not row:
        counts = [one or 1 for one in rows["run_count"].to_pylist()]
        if max(counts) == 1:
            against.append("every batch size was measured once, so that noise is not known")
    elif (row.get("run_count") or 1) == 1:
        against.append("the chosen batch size was measured once, so that noise is not known")
    if rows.num_rows < FEW_BATCHES:
        against.append(f"only {rows.num_rows} batch sizes were measured")
    flags = [one for one in (row.get("flags") or "").split(",") if one and one != "single_run"]
    if flags:
        against.append(f"the chosen run is flagged: {', '.join(flags)}")
    if row and row.get("preemption_count") is None:
        against.append("whether the chosen run was preempted is not known")
    if row and row.get("running_source") in {"nominal", "concurrency"}:
        against.append("how many sequences ran was not measured")
    if plateau.refused is not None:
        against.append("the linear law does not hold")
    if choice.is_interpolated:
        against.append("the choice lies between measured batch sizes")
    if not against:
        return "high", "Repeated runs, measured running batch and preemptions, and the law holds."
    level = _LEVELS[min(len(against), 2)]
    text = "; ".join(against)
    return level, f"{text[0].upper()}{text[1:]}."


def lacking(
    runs: pa.Table,
    curve: Curve,
    replicas: ReplicaAdvice | None,
    why: Why,
) -> tuple[Lacking, ...]:
    """Return what is not there, each with what it would enable."""
    found: list[Lacking] = []

    def want(column: str, what: str, enables: str) -> None:
        if not pc.any(pc.is_valid(runs[column])).as_py():
            found.append(Lacking(what, enables))

    want(
        "mean_running",
        "running sequences over time (samples of the server's metrics, or its log)",
        "the fit over the batch that ran, not the one that was asked for",
    )
    want(
        "preemption_count",
        "preemptions (vllm:num_preemptions_total, or the server's log)",
        "leaving out batch sizes at which the server threw work away",
    )
    want(
        "kv_peak_pct",
        "use of the KV pool (vllm:kv_cache_usage_perc every second)",
        "how much memory to give back, and how many replicas fit",
    )
    want(
        "kv_pool_gib",
        "the server's log from its start (memory profile, KV blocks)",
        "memory in GiB and the new gpu_memory_utilization",
    )
    want("sm_clock_mhz", "SM clocks (nvidia-smi --query-gpu=clocks.sm)", "finding slowed runs")
    if curve.single_throughput_tok_s is None:
        found.append(
            Lacking("a run with a batch size of 1", "the efficiency T(B) / (B T(1)) as defined")
        )
    if max((one or 1 for one in curve.rows["run_count"].to_pylist()), default=1) == 1:
        found.append(Lacking("a second run of each batch size", "knowing the noise"))
    if replicas is not None and replicas.gpu_busy_share is None:
        found.append(
            Lacking(
                "how busy the GPU is in a step (a trace of nsys by --profile, or --busy)",
                "a bound on what replicas can gain",
            )
        )
    if why.verdict in {"no_profile", "unclear"}:
        found.append(
            Lacking(
                "reports of ncu at several batch sizes (--profile)", "why throughput stops to grow"
            )
        )
    return tuple(found)
