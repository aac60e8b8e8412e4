"""Advice written by hand, with the numbers of the paper's OPT-1.3B on one H100.

The limit is twice the time between tokens at batch size 32, and the choice is 96.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nsightlens.advisor.answers import (
    Advice,
    BatchChoice,
    Cost,
    Curve,
    Fit,
    Lacking,
    MemoryAdvice,
    Neighbour,
    Plateau,
    Prediction,
    ReplicaAdvice,
    Slo,
    StepCosts,
    Warned,
    Why,
)
from nsightlens.tables import (
    ADVICE_CURVE,
    ADVICE_REPLICAS,
    SERVING_RUNS,
    empty_table,
    schema_of,
    table_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

__all__ = ["BATCHES", "LIMIT_MS", "advice", "bare_advice", "curve_table_of", "infeasible_advice"]

LIMIT_MS = 15.01918
_SWEEP = {
    "batch_size": (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 640, 768),
    "running_batch": (
        0.98863, 1.98, 3.9409, 7.8418, 15.568, 30.736, 60.374, 89.455, 118.58, 175.37,
        227.15, 327.93, 420.26, 500.11, 571.04,
    ),
    "total_tok_s": (
        381.406, 730.832, 1399.16, 2400.43, 4042.34, 5734.14, 8143.69, 9032.79, 9506.93,
        10317.7, 10809.8, 11144.6, 11203.6, 11298.4, 11050.1,
    ),
    "output_tok_s": (
        276.593, 529.994, 1014.66, 1740.77, 2931.48, 4159.89, 5907.81, 6552.55, 6897.16,
        7485.37, 7841.94, 8084.77, 8127.63, 8196.39, 8016.71,
    ),
    "requests_per_s": (
        0.947281, 1.81514, 3.47504, 5.96183, 10.0398, 14.2278, 20.2075, 22.416, 23.5866,
        25.5982, 26.8232, 27.6538, 27.8005, 28.0356, 27.4153,
    ),
    "mean_itl_ms": (
        3.62333, 3.78188, 3.93335, 4.56628, 5.38138, 7.50959, 10.3958, 13.8938, 17.3461,
        23.5787, 29.2727, 40.876, 52.1108, 61.6774, 72.889,
    ),
    "median_itl_ms": (
        3.58456, 3.70149, 3.79619, 4.28151, 4.9002, 6.48828, 8.67173, 11.4126, 14.1685,
        20.3552, 24.6365, 33.4921, 40.3132, 45.9523, 53.3327,
    ),
    "p99_itl_ms": (
        4.48884, 7.37379, 10.0549, 11.9923, 11.9713, 17.6465, 20.4063, 30.7876, 43.2507,
        169.106, 221.296, 278.384, 339.612, 338.032, 401.906,
    ),
    "mean_tpot_ms": (
        3.59391, 3.75556, 3.9017, 4.5418, 5.34898, 7.51064, 10.4649, 14.2641, 17.6394,
        23.8381, 29.9198, 42.0274, 54.0729, 64.7011, 79.8556,
    ),
    "mean_ttft_ms": (
        1072250, 556987, 288493, 167083, 97741.7, 67532.6, 45558.9, 39544.5, 36465.8,
        31385.6, 27510, 22925.5, 19391.9, 16092.1, 13840.6,
    ),
    "kv_peak_pct": (
        0.63, 0.98, 1.4268, 2.0944, 3.5805, 5.7826, 10.237, 15.984, 18.857, 28.299, 38.046,
        54.301, 70.417, 85.313, 96.769,
    ),
    "kv_pool_gib": (
        54.41, 54.41, 54.41, 54.41, 54.41, 54.41, 54.35, 54.27, 54.27, 54.16, 54.04, 53.81,
        53.59, 53.36, 53.13,
    ),
}  # fmt: skip
BATCHES = _SWEEP["batch_size"]
_T0_MS, _A_MS = 3.328, 0.11795
_BEST_TOK_S, _SINGLE_REQUESTS_PER_S = 11298.4, 0.947281


def _row(place: int) -> dict[str, Any]:
    row: dict[str, Any] = {name: float(values[place]) for name, values in _SWEEP.items()}
    batch, itl = row["batch_size"], row["mean_itl_ms"]
    return row | {
        "run": f"opt-1.3b/max_num_seqs_{batch:g}",
        "run_count": 1,
        "batch_source": "max_num_seqs",
        "running_source": "mean_running",
        "itl_ms": itl,
        "itl_source": "mean_itl_ms",
        "throughput_tok_s": row["total_tok_s"],
        "efficiency": row["requests_per_s"] / (batch * _SINGLE_REQUESTS_PER_S),
        "share_of_best": row["total_tok_s"] / _BEST_TOK_S,
        "preemption_count": 0.0,
        "fit_weight": 1.0,
        "fitted_itl_ms": _T0_MS + _A_MS * row["running_batch"],
        "flags": "single_run" + (",nominal_beyond_running" if batch == 768 else ""),
    }


ROWS = [_row(place) for place in range(len(BATCHES))]


def curve_table_of(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows of a curve; what a row lacks is null."""
    names = [column.name for column in ADVICE_CURVE]
    data = {name: [row.get(name) for row in rows] for name in names}
    return table_of(schema_of(ADVICE_CURVE), data, len(rows))


def _fit(**changes: Any) -> Fit:
    kept: dict[str, Any] = {
        "method": "relative", "over": "running", "t0_ms": _T0_MS, "a_ms": _A_MS, "knee": 28.2,
        "knee_low": 26.9, "knee_high": 29.6, "r2": 0.9988, "mean_error_pct": 1.94,
        "max_error_pct": 4.61, "row_count": 15, "asymptote_tok_s": 8478.0,
    }  # fmt: skip
    return Fit(**(kept | changes))


OTHER_FIT = _fit(
    method="milliseconds", t0_ms=2.9, a_ms=0.1203, knee=24.1, knee_low=None, knee_high=None
)

PLATEAU = Plateau(
    fit=_fit(),
    other_fit=OTHER_FIT,
    refused=None,
    batch_at_90=192.0,
    batch_at_95=256.0,
    best_batch=640.0,
    best_throughput_tok_s=_BEST_TOK_S,
    is_plateau_reached=True,
)
REFUSED = Plateau(
    fit=None,
    other_fit=None,
    refused=Warned("not_linear", "No knee is given: a line misses by up to 39.0 %."),
    batch_at_90=None,
    batch_at_95=None,
    best_batch=None,
    best_throughput_tok_s=None,
    is_plateau_reached=None,
)

SLO = Slo("itl", "mean", factor=2.0)
CHOICE = BatchChoice(
    rule="throughput",
    epsilon=0.1,
    slos=(SLO,),
    limits_ms=(LIMIT_MS,),
    batch_size=96.0,
    row=ROWS[BATCHES.index(96)],
    is_interpolated=False,
    binding_constraint="slo",
    binding_text="Batch size 128 would give 5.2 % more throughput, but has a mean ITL of 17.346 "
    "ms, above the limit of 15.019 ms.",
    largest_feasible=96.0,
    smaller=Neighbour(64.0, 8143.69, -9.8430, 10.3958, -25.177, None),
    larger=Neighbour(128.0, 9506.93, 5.2491, 17.3461, 24.848, "slo"),
    nearest_feasible_slo_ms=None,
)
NOTHING = replace(
    CHOICE,
    slos=(Slo("itl", "mean", 3.0),),
    limits_ms=(3.0,),
    batch_size=None,
    row=None,
    binding_text="Nothing is feasible: the least mean ITL that the other limits leave is 3.6233 "
    "ms, at batch size 1, above the limit of 3 ms.",
    largest_feasible=None,
    smaller=None,
    larger=None,
    nearest_feasible_slo_ms=3.62333,
)

MEMORY = MemoryAdvice(
    kv_pool_gib=54.27,
    kv_peak_pct=15.984,
    kv_used_gib=8.6745,
    kv_freed_gib=45.5955,
    freed_pct=71.88,
    margin=0.1,
    kv_needed_gib=9.542,
    kv_blocks_needed=3258,
    kv_given_back_gib=44.728,
    gpu_memory_utilization=0.195,
    gpu_memory_utilization_was=0.9,
    missing=(),
    text="At batch size 96 the KV pool of 54.27 GiB is used to 15.98 % at its peak (8.67 GiB), so "
    "45.60 GiB are never used (71.9 % of the GPU's memory); with a margin of 10 % (9.54 GiB, 3,258 "
    "blocks) 44.73 GiB can be given back by gpu_memory_utilization 0.195 instead of 0.9.",
)

_REPLICA_ROWS = [
    {
        "replicas": 1, "batch_size": 96.0, "gpu_memory_utilization": 0.9, "kv_pool_gib": 54.27,
        "kv_block_count": 18525.0, "kv_blocks_needed": 2961.0, "fits": True, "origin": "measured",
        "gain": 1.0, "gain_bound": 1.0, "throughput_tok_s": 9032.79, "itl_ms": 13.8938,
        "meets_slo": True, "note": "",
    },
    {
        "replicas": 2, "batch_size": 96.0, "mps": True, "gpu_memory_utilization": 0.45,
        "kv_pool_gib": 25.24, "kv_block_count": 8616.0, "kv_blocks_needed": 2961.0, "fits": True,
        "origin": "measured", "gain": 1.363, "gain_bound": 1.5625, "throughput_tok_s": 12314.0,
        "itl_ms": 18.98, "meets_slo": False, "note": "measured",
    },
    {
        "replicas": 5, "batch_size": 96.0, "gpu_memory_utilization": 0.18, "kv_pool_gib": 8.12,
        "kv_block_count": 2770.0, "kv_blocks_needed": 2961.0, "fits": False, "origin": "predicted",
        "note": "2770 blocks are fewer than the 2961 needed",
    },
]  # fmt: skip
_COMPARED = (
    "2 servers of batch size 96 under MPS give 12314.0 token/s, 12.3 % more than the best "
    "single server, batch size 768 (10967.6 token/s, beyond the limit of latency)."
)
REPLICAS = ReplicaAdvice(
    rows=table_of(
        schema_of(ADVICE_REPLICAS),
        {
            column.name: [row.get(column.name) for row in _REPLICA_ROWS]
            for column in ADVICE_REPLICAS
        },
        len(_REPLICA_ROWS),
    ),
    replicas_max=4,
    recommended=1,
    gpu_busy_share=0.64,
    busy_source="decode_256.nsys-rep",
    gain_bound=1.5625,
    comparisons=(_COMPARED,),
    commands=("nvidia-cuda-mps-control -d", "vllm serve a &\nvllm serve b &"),
    missing=(),
    text="Up to 4 servers of batch size 96 fit on the GPU, each with 2,961 KV blocks; the GPU "
    "works in 64.0 % of a step, so they gain at most 1.56x. 2 servers of batch size 96 under MPS "
    "had an ITL of about 18.98 ms, beyond the limit of 15.019 ms: one is recommended.",
)

WHY = Why(
    verdict="attention_bandwidth",
    text="Attention's share of a decode step rises from 9.6 % at batch size 1 to 42.8 % at 512, "
    "where it reads the KV cache at 88.6 % of the peak of DRAM; the GEMMs' falls from 36.0 to "
    "7.4 %.",
    shares=(
        (1.0, 9.6, 36.0, 29.6, 24.9),
        (32.0, 24.3, 31.9, 15.3, 28.5),
        (128.0, 38.2, 15.5, 14.0, 32.2),
        (512.0, 42.8, 7.4, 13.2, 36.6),
    ),
    sources=("opt-1.3b_decode.ncu-rep",),
)
COSTS = (
    StepCosts(
        batch_size=256.0,
        step_us=25100.0,
        gpu_busy_share=0.64,
        costs=(
            Cost("gaps", 9000.0, 35.9, 6100.0, True, "Gaps between kernels take 9.0 ms."),
            Cost("copies", 12.0, 0.05, 0.0, False, "Copies take 12 us, which is nothing."),
        ),
        source="decode_256.nsys-rep",
    ),
)
PREDICTION = Prediction(
    question="batch 160",
    batch_size=160.0,
    context_length=None,
    device=None,
    itl_ms=20.6,
    itl_low_ms=19.8,
    itl_high_ms=21.4,
    throughput_tok_s=9930.0,
    kv_peak_pct=23.6,
    method="the fitted law",
    backtest_mean_error_pct=2.1,
    backtest_max_error_pct=5.0,
    text="Predicted for batch 160: an ITL of 20.6 ms (19.8 to 21.4) and 9930 token/s.",
)
WARNINGS = (
    Warned("single_run", "Measured once: batch sizes 1, 2, 4, 8, 16, 32 and 9 more. Noise between "
           "runs is not known there."),
    Warned("nominal_beyond_running", "More was asked for than ran at batch size 768 (571 ran on "
           "average): fits are over what ran, and the setting could be lower."),
)  # fmt: skip
SHARE_REASON = (
    "Batch size 96 gives 79.9 % of the best throughput at an efficiency of 0.2465 of linear "
    "scaling."
)
_LACKING = Lacking("SM clocks (nvidia-smi --query-gpu=clocks.sm)", "finding slowed runs")
_RUNS = {
    "run": ["b1", "b96"],
    "model": ["opt-1.3b"] * 2,
    "request_rate_per_s": [float("inf")] * 2,
}
_SETUP = {
    "model": "opt-1.3b", "engine": "vllm", "engine_version": "0.6.3",
    "device_name": "NVIDIA H100", "workload": "sharegpt", "dtype": None,
}  # fmt: skip


def advice(**changes: Any) -> Advice:
    """Return the advice for OPT-1.3B, with some of its parts replaced."""
    kept: dict[str, Any] = {
        "setup": _SETUP,
        "runs": table_of(schema_of(SERVING_RUNS), _RUNS, 2),
        "curve": Curve(curve_table_of(ROWS), "total", 381.406, WARNINGS),
        "plateau": PLATEAU,
        "choice": CHOICE,
        "memory": MEMORY,
        "replicas": REPLICAS,
        "why": WHY,
        "costs": COSTS,
        "predictions": (PREDICTION,),
        "command": "vllm serve opt-1.3b --max-num-seqs 96 --gpu-memory-utilization 0.195",
        "reasons": (
            CHOICE.binding_text,
            SHARE_REASON,
            MEMORY.text,
            REPLICAS.text,
            WHY.text,
        ),
        "would_change": (
            "A limit of 17.35 ms or more would allow 128.",
            "Contexts 6.3 times as long would fill the KV pool at this batch size.",
        ),
        "confidence": "medium",
        "confidence_text": "Each batch size was measured once, so that noise is not known.",
        "lacking": (_LACKING,),
        "warnings": WARNINGS,
        "sources": ("opt-1.3b/max_num_seqs_96/server.log", "opt-1.3b_decode.ncu-rep"),
    }  # fmt: skip
    return Advice(**(kept | changes))


def infeasible_advice(**changes: Any) -> Advice:
    """Return the same for a limit of 3 ms, which no batch size meets."""
    kept: dict[str, Any] = {
        "choice": NOTHING, "memory": None, "replicas": None, "command": None,
        "reasons": (NOTHING.binding_text,), "would_change": ("A limit of 3.623 ms or more.",),
    }  # fmt: skip
    return advice(**(kept | changes))


def bare_advice(**changes: Any) -> Advice:
    """Return advice of a file with nothing but a batch size and a throughput in each row."""
    rows = [{"batch_size": b, "throughput_tok_s": t} for b, t in ((8.0, 900.0), (16.0, 1500.0))]
    choice = replace(
        CHOICE,
        epsilon=None,
        slos=(),
        limits_ms=(),
        batch_size=16.0,
        row={**dict.fromkeys(column.name for column in ADVICE_CURVE), **rows[1]},
        binding_constraint="measured_range",
        binding_text="No batch size above 16 was measured.",
        largest_feasible=16.0,
        smaller=Neighbour(8.0, 900.0, -40.0, None, None, None),
        larger=None,
    )
    memory = MemoryAdvice(
        None, None, None, None, None, 0.1, None, None, None, None, None,
        ("use of the KV pool", "size of the KV pool"), "",
    )  # fmt: skip
    replicas = ReplicaAdvice(
        rows=empty_table(ADVICE_REPLICAS),
        replicas_max=None,
        recommended=1,
        gpu_busy_share=None,
        busy_source=None,
        gain_bound=None,
        comparisons=(),
        commands=(),
        missing=("size of the KV pool",),
        text="",
    )
    kept: dict[str, Any] = {
        "setup": {},
        "runs": empty_table(SERVING_RUNS),
        "curve": Curve(curve_table_of(rows), "output", None),
        "plateau": REFUSED,
        "choice": choice,
        "memory": memory,
        "replicas": replicas,
        "why": Why("no_profile", ""),
        "costs": (),
        "predictions": (),
        "command": None,
        "reasons": (),
        "would_change": (),
        "confidence": "low",
        "confidence_text": "",
        "lacking": (),
        "warnings": (),
        "sources": (),
    }
    return advice(**(kept | changes))
