"""Whether the KV pool would hold a case that was not measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nsightlens.advisor.answers import Warned
from nsightlens.advisor.run_columns import positives
from nsightlens.models import largest_batch_size

if TYPE_CHECKING:
    import pyarrow as pa

    from nsightlens.advisor.what_if_steps import Case

__all__ = ["MemoryCase", "memory_case"]

_GIB = 2.0**30


class MemoryCase(NamedTuple):
    """Largest use of the pool [%], why the case cannot run (a clause), and what is weak."""

    kv_peak_pct: float | None
    refused: str | None
    warnings: tuple[Warned, ...] = ()


def memory_case(case: Case, runs: pa.Table | None) -> MemoryCase:
    """Say whether the sequences of a case would fit.

    Parameters
    ----------
    case
        What is asked.
    runs
        With the schema ``SERVING_RUNS``: memory of the GPU and the part that the server may use.
    """
    law, batch = case.law, case.batch_size
    peak = law.kv_peak_at(batch)
    if peak is not None:
        peak *= case.context_ratio
    if case.on is not None and peak is not None:
        pools = _pools_gib(case, runs)
        if pools is None:
            peak = None
        elif pools[1] <= 0:
            return MemoryCase(None, f"{case.on.name} has no memory left for a KV pool")
        else:
            peak *= pools[0] / pools[1]
    if peak is not None and peak > 100:
        fits = 100 / peak * batch
        return MemoryCase(
            peak,
            f"batch {batch:g} would need {peak:.0f} % of the KV pool, so that sequences would be "
            f"preempted: about {fits:.0f} fit",
        )
    is_as_measured = case.on is None and case.context is None
    lost = law.first_preempted
    if is_as_measured and lost is not None and batch >= lost:
        return MemoryCase(
            peak, f"batch {lost:g}, which is no larger, was preempted when it was measured"
        )
    most = _largest(case)
    if most is not None and law.running_at(batch) > most:
        return MemoryCase(
            peak, f"beside the weights, memory holds {most} sequences of {case.context:.4g} tokens"
        )
    if peak is None and not (is_as_measured and batch <= law.largest):
        text = "How much of the KV pool the prediction needs is not known: it may not fit."
        return MemoryCase(None, None, (Warned("kv_unknown", text),))
    return MemoryCase(peak, None)


def _pools_gib(case: Case, runs: pa.Table | None) -> tuple[float, float] | None:
    """Return the KV pool as measured, and that of the same settings on the other GPU [GiB].

    Both GPUs keep the same beside the pool: weights, activations and what the driver takes.
    """
    pool, new = case.law.pool_gib(), None if case.on is None else case.on.memory_bytes
    if pool is None or new is None or runs is None:
        return None
    part, total = (positives(runs, one) for one in ("gpu_memory_utilization", "total_memory_gib"))
    if np.isnan(total).all() and case.was_on is not None and case.was_on.memory_bytes:
        total = np.full(runs.num_rows, case.was_on.memory_bytes / _GIB)
    if np.isnan(part).all() or np.isnan(total).all():
        return None
    used, was = float(np.nanmedian(part)), float(np.nanmedian(total))
    return pool, pool + used * (new / _GIB - was)


def _largest(case: Case) -> int | None:
    """Return how many sequences of the context that is asked for fit on the GPU at all."""
    rates = case.on or case.was_on
    if case.sizes is None or rates is None or not rates.memory_bytes or case.context is None:
        return None
    return largest_batch_size(
        case.sizes.model,
        max(1, round(case.context)),
        memory_bytes=rates.memory_bytes,
        weight_bytes=case.sizes.weight_bytes,
        kv_bytes=case.sizes.kv_bytes,
    )
