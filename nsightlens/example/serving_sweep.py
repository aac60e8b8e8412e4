"""A synthetic serving sweep: OPT-1.3B behind a server on an H100, at many batch sizes.

Made by the law that the advisor looks for, ITL = t0 + a B, with the bytes of the model and usual
shares of the peaks; so the advisor's answer for it says nothing about any GPU.
"""

from __future__ import annotations

import csv
import io

__all__ = ["BATCH_SIZES", "encode_serving_sweep"]

BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536)

_REQUESTS = 10000
_INPUT_TOKENS, _OUTPUT_TOKENS = 128.0, 256.0
_CONTEXT_TOKENS = _INPUT_TOKENS + _OUTPUT_TOKENS / 2
_WEIGHTS_BYTES = 2.63e9
_KV_BYTES_PER_TOKEN = 196608.0
_DRAM_BYTES_PER_S = 0.85 * 3.35e12
_HOST_MS = 1.6
_TOTAL_GIB, _UTILIZATION = 79.65, 0.9
_BLOCK_TOKENS = 16
_DRAIN = 0.95
"""Share of the batch that runs on average: at the end of a benchmark it runs empty."""


def encode_serving_sweep() -> str:
    """Return the sweep as a CSV with named columns, a row per run.

    Examples
    --------
    >>> encode_serving_sweep().splitlines()[1].split(",")[:4]
    ['opt-1.3b', 'vllm', 'H100 80GB HBM3', 'synthetic']
    """
    rows = [_row(batch) for batch in BATCH_SIZES]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _row(batch: int) -> dict[str, object]:
    peak_torch_gib = 2.58 + 0.0017 * batch
    pool_gib = _UTILIZATION * _TOTAL_GIB - peak_torch_gib - 0.1
    blocks = int(pool_gib * 2**30 / (_BLOCK_TOKENS * _KV_BYTES_PER_TOKEN))
    # A sequence is longest at its end; not all of a batch are at once.
    wanted = batch * (_INPUT_TOKENS + 0.8 * _OUTPUT_TOKENS) / _BLOCK_TOKENS
    running = max(1.0, _DRAIN * batch * min(1.0, blocks / wanted))
    t0_ms = 1e3 * _WEIGHTS_BYTES / _DRAM_BYTES_PER_S + _HOST_MS
    a_ms = 1e3 * _CONTEXT_TOKENS * _KV_BYTES_PER_TOKEN / _DRAM_BYTES_PER_S
    prefill_ms = 0.012 * running
    itl_ms = t0_ms + a_ms * running + prefill_ms
    output_tok_per_s = 1e3 * running / itl_ms
    requests_per_s = output_tok_per_s / _OUTPUT_TOKENS
    return {
        "model": "opt-1.3b",
        "engine": "vllm",
        "device_name": "H100 80GB HBM3",
        "workload": "synthetic",
        "max_num_seqs": batch,
        "gpu_memory_utilization": _UTILIZATION,
        "block_size": _BLOCK_TOKENS,
        "chunked_prefill": "false",
        "replicas": 1,
        "prompt_count": _REQUESTS,
        "completed_count": _REQUESTS,
        "duration_s": round(_REQUESTS / requests_per_s, 2),
        "mean_input_tokens": _INPUT_TOKENS,
        "mean_output_tokens": _OUTPUT_TOKENS,
        "requests_per_s": round(requests_per_s, 4),
        "output_tok_per_s": round(output_tok_per_s, 1),
        "total_tok_per_s": round(requests_per_s * (_INPUT_TOKENS + _OUTPUT_TOKENS), 1),
        "mean_itl_ms": round(itl_ms, 4),
        "median_itl_ms": round(itl_ms - 0.9 * prefill_ms, 4),
        "p99_itl_ms": round(1.6 * itl_ms, 4),
        "mean_tpot_ms": round(1.004 * itl_ms, 4),
        "mean_running": round(running, 2),
        "max_running": batch,
        "kv_peak_pct": round(min(100.0, 100 * wanted / blocks), 3),
        "preemption_count": 0 if wanted < blocks else round(wanted - blocks),
        "kv_pool_gib": round(pool_gib, 2),
        "kv_block_count": blocks,
        "total_memory_gib": _TOTAL_GIB,
        "weights_gib": 2.4509,
        "peak_torch_gib": round(peak_torch_gib, 2),
        "non_torch_gib": 0.1,
        "host_share_pct": round(100 * _HOST_MS / itl_ms + 12, 2),
    }
