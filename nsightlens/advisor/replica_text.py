"""The answer on several servers as text, and what weakens it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.advisor.answers import Warned
from nsightlens.advisor.constraints import slo_words
from nsightlens.advisor.replica_words import servers_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.advisor.replica_rows import ReplicaCase

__all__ = ["replica_text", "replica_warnings"]

NOISE = 1.02
"""Two runs of one setting differ by this factor; a measured gain may exceed its bound by it."""

Row = dict[str, Any]


def replica_text(
    case: ReplicaCase, rows: Sequence[Row], replicas_max: int | None, best: Row
) -> str:
    """Return the answer as text: how many fit, what bounds the gain, and what is recommended."""
    batch = f"{case.batch_size:g}"
    if replicas_max is None:
        text = f"How many servers of batch size {batch} fit on the GPU is not known"
    elif replicas_max == 1:
        why = next((one["note"] for one in rows if one["replicas"] == 2), "")
        text = f"Only one server of batch size {batch} fits on the GPU"
        text += f" (each of two: {why})" if why else ""
    else:
        text = f"Up to {replicas_max} servers of batch size {batch} fit on the GPU"
        if case.needed_blocks is not None:
            text += f", each with at least {case.needed_blocks:,} KV blocks"
    several = replicas_max is not None and replicas_max > 1
    if several and case.busy_share is not None:
        text += (
            f"; the GPU works in {100 * case.busy_share:.1f} % of a step, so they gain at most "
            f"{case.bound(replicas_max or 1):.2f}x"
        )
    if best["replicas"] > 1:
        is_measured = best["origin"] == "measured"
        itl = ""
        if best["itl_ms"] is not None:
            itl = f" and an ITL of {'' if is_measured else 'at least '}{best['itl_ms']:.4g} ms"
        if is_measured:
            return f"{text}. {servers_words(best)} are recommended: {best['gain']:.2f}x{itl}."
        return (
            f"{text}. {servers_words(best)} are worth measuring: at most {best['gain']:.2f}x{itl}, "
            "which is within the limit only as far as the gain is reached."
            if case.slos
            else f"{text}. {servers_words(best)} are worth measuring: at most "
            f"{best['gain']:.2f}x{itl}."
        )
    beyond = [
        one for one in rows if one["replicas"] > 1 and one["fits"] and one["meets_slo"] is False
    ]
    if beyond:
        first = beyond[0]
        word = "had" if first["origin"] == "measured" else "would have"
        itl = "too high a latency"
        if first["itl_ms"] is not None:
            least = "" if first["origin"] == "measured" else "at least "
            itl = f"an ITL of {least}{first['itl_ms']:.4g} ms"
        text += f". {servers_words(first)} {word} {itl}, and exceed the limit ({_limits(case)}): "
        text += "one is recommended"
    elif several:
        text += ". One is recommended: "
        is_ttft = any(slo.metric == "ttft" for slo in case.slos)
        text += (
            "what the time to the first token of several would be is not known"
            if is_ttft and case.busy_share is not None
            else "no gain is known"
        )
    return f"{text}."


def _limits(case: ReplicaCase) -> str:
    pairs = zip(case.slos, case.limits_ms, strict=True)
    return " and ".join(f"{slo_words(slo)} of {limit:.5g} ms" for slo, limit in pairs)


def replica_warnings(case: ReplicaCase, rows: Sequence[Row], best: Row) -> tuple[Warned, ...]:
    """Return what weakens the answer on replicas."""
    found: list[Warned] = []
    above = [
        one
        for one in rows
        if one["origin"] == "measured"
        and one["gain"] is not None
        and one["gain_bound"] is not None
        and one["gain"] > NOISE * one["gain_bound"]
    ]
    if above:
        text = (
            f"{servers_words(above[0])} gained {above[0]['gain']:.2f}x, above the bound of "
            f"{above[0]['gain_bound']:.2f}x: the busy share is of other runs, or too large."
        )
        found.append(Warned("gain_above_bound", text))
    if best["replicas"] > 1 and best["mps"] is not False:
        text = (
            "Without MPS the kernels of the servers take turns on the GPU instead of running "
            "beside one another, and less is gained."
        )
        found.append(Warned("mps_needed", text))
    if best["replicas"] > 1 and best["origin"] == "predicted":
        text = (
            f"The gain of {best['replicas']} servers is a bound, and their ITL follows from it: "
            "neither was measured."
        )
        found.append(Warned("replicas_predicted", text))
    return (*found, *_graph_warning(case, best))


def _graph_warning(case: ReplicaCase, best: Row) -> tuple[Warned, ...]:
    """CUDA graphs may lie beside the budget, where R servers have R of them."""
    pool, count = case.pool, best["replicas"]
    if pool.cuda_graph_gib is None or pool.total_gib is None or pool.gpu_memory_utilization is None:
        return ()
    beside = pool.total_gib * (1 - pool.gpu_memory_utilization)
    if count * pool.cuda_graph_gib <= beside:
        return ()
    text = (
        f"The CUDA graphs of {count} servers take {count * pool.cuda_graph_gib:.2f} GiB, and "
        f"gpu_memory_utilization leaves {beside:.2f} GiB beside their budgets: lower it."
    )
    return (Warned("graphs_beside_budget", text),)
