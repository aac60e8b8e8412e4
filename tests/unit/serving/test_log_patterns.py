"""The fixed words of a kind of line stand in every line that its expression matches."""

from __future__ import annotations

from support.server_logs import (
    sgl_decode,
    sgl_start,
    v0_start,
    v0_stats,
    v0_warning,
    v1_start,
    v1_stats,
)

from nsightlens.serving.logs.log_patterns import PATTERNS
from nsightlens.serving.logs.log_text import LogText

LINES = """\
INFO 01-28 10:10:10 worker.py:266] total_gpu_memory (79.11GiB) x gpu_memory_utilization (0.90) = \
71.20GiB
INFO 01-28 10:10:10 worker.py:266] model weights take 14.99GiB; non_torch_memory takes 0.16GiB; \
PyTorch activation peak memory takes 1.26GiB; the rest of the memory reserved for KV Cache is \
54.79GiB.
INFO 01-28 10:10:10 metrics.py:471] Prefix cache hit rate: GPU: 12.50%, CPU: 0.00%
INFO 01-28 10:10:10 utils.py:1]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.14.0
[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: 7767
[TensorRT-LLM][INFO] TRTGptModel maxBatchSize: 2048
"""
TEXT = (
    v0_start()
    + v0_stats(1, 8, 5.0)
    + v0_warning(1)
    + v1_start()
    + v1_stats(10, 8, 5.0)
    + sgl_start()
    + sgl_decode(1, 8, "#token: 9, token usage: 0.50")
    + LINES
)
HIT = {
    "vllm_version", "vllm_banner", "vllm_engine", "vllm_config", "vllm_args", "vllm_set_args",
    "vllm_chunked", "sgl_args", "v0_stats", "v1_stats", "v0_prefix_hit", "preempt", "v0_blocks",
    "v0_profile_062", "v0_budget_07", "v0_profile_07", "kv_tokens", "max_conc", "kv_avail",
    "weights_took", "model_took", "graph", "sgl_decode", "sgl_pool", "sgl_max", "sgl_weights",
    "sgl_graph", "trt_blocks", "trt_batch",
}  # fmt: skip


def test_words_find_what_expressions_match() -> None:
    """A search by words gives the matches of a search without them, for every kind."""
    log = LogText(TEXT)
    found = set()
    for name, pattern in PATTERNS.items():
        by_words = [record.match[0] for record in log.records(name)]
        assert by_words == [match[0] for match in pattern.expression.finditer(TEXT)], name
        if by_words:
            found.add(name)
    assert found == HIT
