"""Curves for the advisor's questions: written by hand, or taken from the paper's tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.advisor.answers import Curve
from nsightlens.tables import ADVICE_CURVE, SERVING_RUNS, schema_of, table_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

__all__ = ["curve", "curve_of_paper", "runs", "runs_of_paper"]

# Of the servers' logs of the paper's sweep [GiB]: weights and activations at their peak.
PEAK_TORCH_GIB = {96: 2.72, 256: 2.95, 768: 3.86}
NON_TORCH_GIB = 0.10


def curve(rows: Sequence[Mapping[str, Any]], **changes: Any) -> Curve:
    """Return a curve of rows; what a row lacks is null, but it was not preempted."""
    filled = [{"run": f"b{one['batch_size']:g}", "preemption_count": 0.0, **one} for one in rows]
    names = dict.fromkeys(name for one in filled for name in one)
    data = {name: [one.get(name) for one in filled] for name in names}
    table = table_of(schema_of(ADVICE_CURVE), data, len(filled))
    return Curve(table, "total", changes.pop("single", None), **changes)


def runs(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return a table of runs; what a row lacks is null."""
    names = dict.fromkeys(name for one in rows for name in one)
    data = {name: [one.get(name) for one in rows] for name in names}
    return table_of(schema_of(SERVING_RUNS), data, len(rows))


def curve_of_paper(rows: Sequence[Mapping[str, str]]) -> Curve:
    """Return the curve of rows of ``serving_sweep.tsv``."""
    single = next(float(one["req_s"]) for one in rows if one["max_num_seqs"] == "1")
    best = max(float(one["total_tok_s"]) for one in rows if one["preemptions"] == "0")
    found = [
        {
            "run": _name(one),
            "run_count": 1,
            "batch_size": float(one["max_num_seqs"]),
            "batch_source": "max_num_seqs",
            "running_batch": float(one["mean_running_in_window"]),
            "running_source": "mean_running",
            "itl_ms": float(one["mean_itl_ms"]),
            "itl_source": "mean_itl_ms",
            "mean_itl_ms": float(one["mean_itl_ms"]),
            "median_itl_ms": float(one["median_itl_ms"]),
            "p99_itl_ms": float(one["p99_itl_ms"]),
            "mean_tpot_ms": float(one["mean_tpot_ms"]),
            "mean_ttft_ms": float(one["mean_ttft_ms"]),
            "throughput_tok_s": float(one["total_tok_s"]),
            "total_tok_s": float(one["total_tok_s"]),
            "output_tok_s": float(one["out_tok_s"]),
            "requests_per_s": float(one["req_s"]),
            "efficiency": float(one["req_s"]) / (float(one["max_num_seqs"]) * single),
            "share_of_best": float(one["total_tok_s"]) / best,
            "kv_peak_pct": float(one["kv_peak_pct"]),
            "kv_pool_gib": float(one["kv_gib"]),
            "preemption_count": float(one["preemptions"]),
            "flags": "",
        }
        for one in rows
    ]
    return curve(found, single=float(rows[0]["total_tok_s"]))


def runs_of_paper(rows: Sequence[Mapping[str, str]]) -> pa.Table:
    """Return the runs of rows of ``serving_sweep.tsv``, with memory as their logs have it."""
    return runs(
        [
            {
                "run": _name(one),
                "model": one["model"],
                "engine": "vllm",
                "max_num_seqs": int(one["max_num_seqs"]),
                "max_model_len": 2048,
                "block_size": 16,
                "replicas": 1,
                "gpu_memory_utilization": float(one["gmu"]),
                "total_memory_gib": float(one["total_gib"]),
                "kv_pool_gib": float(one["kv_gib"]),
                "kv_block_count": int(one["gpu_blocks"]),
                "kv_peak_pct": float(one["kv_peak_pct"]),
                "preemption_count": float(one["preemptions"]),
                "total_tok_per_s": float(one["total_tok_s"]),
                "mean_itl_ms": float(one["mean_itl_ms"]),
                "peak_torch_gib": PEAK_TORCH_GIB.get(int(one["max_num_seqs"])),
                "non_torch_gib": NON_TORCH_GIB,
            }
            for one in rows
        ]
    )


def _name(row: Mapping[str, str]) -> str:
    return f"max_num_seqs_{row['max_num_seqs']}"
