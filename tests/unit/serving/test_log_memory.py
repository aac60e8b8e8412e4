"""Sizes of memory and of the KV pool come from the lines that say them, in every generation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.server_logs import parts_of, sgl_start, v0_start, v1_start

if TYPE_CHECKING:
    from pathlib import Path


def test_the_profile_of_old_vllm_is_one_line(tmp_path: Path) -> None:
    """Its sizes are per GPU and in GiB."""
    part = parts_of(tmp_path, v0_start())
    found = {name: part.values[name] for name in part.values if name.endswith("_gib")}
    assert found == {
        "kv_pool_gib": 50.5,
        "total_memory_gib": 79.1,
        "peak_torch_gib": 2.72,
        "non_torch_gib": 0.25,
        "weights_gib": 1.25,
    }
    assert (part.values["kv_block_count"], part.values["kv_pool_tokens"]) == (1000, 16000)
    assert part.derived["kv_pool_tokens"] == "blocks times block size"
    assert part.wheres["kv_pool_gib"] == "line 5"


def test_the_profile_of_newer_v0_is_several_lines(tmp_path: Path) -> None:
    """The logger repeats its prefix on each line of a message, after a return."""
    prefix = "INFO 01-28 10:10:10 worker.py:266]"
    text = (
        "INFO 01-28 10:10:00 llm_engine.py:234] Initializing a V0 LLM engine (v0.8.5) with config: "
        "model='acme/small-1b', dtype=torch.float16, a=1\n"
        f"{prefix} Memory profiling takes 5.30 seconds\r\n"
        f"{prefix} the current vLLM instance can use total_gpu_memory (79.11GiB) x "
        "gpu_memory_utilization (0.90) = 71.20GiB\r\n"
        f"{prefix} model weights take 14.99GiB; non_torch_memory takes 0.16GiB; PyTorch activation "
        "peak memory takes 1.26GiB; the rest of the memory reserved for KV Cache is 54.79GiB.\n"
        "INFO 01-28 10:10:11 executor_base.py:111] # cuda blocks: 28053, # CPU blocks: 2048\n"
        "INFO 01-28 10:10:11 executor_base.py:116] Maximum concurrency for 8192 tokens per "
        "request: 54.79x\n"
    )
    part = parts_of(tmp_path, text)
    assert part.values["total_memory_gib"] == 79.11
    assert part.values["gpu_memory_utilization"] == 0.9
    assert part.values["kv_pool_gib"] == 54.79
    assert part.values["peak_torch_gib"] == pytest.approx(16.25)
    assert part.derived["peak_torch_gib"] == "weights and peak of activations added"
    assert part.values["kv_block_count"] == 28053
    assert part.values["block_size"] == 16
    assert part.derived["block_size"] == "concurrency times its tokens, over the blocks"


def test_of_several_workers_the_smallest_pool_counts(tmp_path: Path) -> None:
    """All workers of a server have as many blocks as the one with least memory."""
    lines = "".join(
        f"(VllmWorker rank={i}) INFO 06-17 10:00:19 [gpu_worker.py:298] Available KV cache memory: "
        f"{gib} GiB\nINFO 06-17 10:00:19 [kv_cache_utils.py:634] GPU KV cache size: {tokens} "
        "tokens\n"
        for i, (gib, tokens) in enumerate([(20.5, "168,000"), (19.5, "160,000")])
    )
    values = parts_of(tmp_path, lines).values
    assert (values["kv_pool_gib"], values["kv_pool_tokens"]) == (19.5, 160_000)


def test_blocks_follow_from_tokens_where_the_line_counts_blocks(tmp_path: Path) -> None:
    """Up to 0.20 the tokens are blocks times their size, if the two lines agree."""
    values = parts_of(tmp_path, v1_start("0.11.0")).values
    assert (values["kv_pool_tokens"], values["kv_block_count"]) == (160_000, 10_000)
    assert (values["weights_gib"], values["cuda_graph_gib"]) == (2.5, 0.55)
    assert values["kv_pool_gib"] == 19.53
    for version in ("0.21.0", "0.11.0.dev5+g1234567"):
        assert "kv_block_count" not in parts_of(tmp_path, v1_start(version)).values


def test_of_a_pool_of_several_groups_what_fits_counts(tmp_path: Path) -> None:
    """A reported case: 159,296 tokens, but 8 requests of 65,536 tokens, which are 524,288."""
    text = v1_start("0.17.0", tokens="159,296", concurrency="8.00", length=65_536)
    part = parts_of(tmp_path, text)
    assert part.values["kv_pool_tokens"] == 524_288
    assert "kv_block_count" not in part.values
    assert "kv_groups" in {note.key for note in part.notes}


def test_both_on_one_line_are_read(tmp_path: Path) -> None:
    """Newer vLLM prints tokens and concurrency in one record."""
    text = (
        "INFO 06-17 10:00:19 [kv_cache_utils.py:9] GPU KV cache size: 160,000 tokens, Maximum "
        "concurrency for 2,048 tokens per request: 78.13x\n"
    )
    assert parts_of(tmp_path, text).values["kv_pool_tokens"] == 160_000


def test_blocks_that_were_set_by_hand_scale_the_pool(tmp_path: Path) -> None:
    """The profile says what fits, and num_gpu_blocks_override what is used of it."""
    line = (
        "INFO 02-19 15:22:27 llm_engine.py:423] Overriding num_gpu_blocks=4000 with "
        "num_gpu_blocks_override=1000\n"
    )
    part = parts_of(
        tmp_path, v0_start().replace("INFO 02-19 15:22:25", line + "INFO 02-19 15:22:25")
    )
    assert part.values["kv_pool_gib"] == pytest.approx(50.5 / 4)
    assert part.values["kv_block_count"] == 1000


def test_a_drafting_model_does_not_replace_the_weights(tmp_path: Path) -> None:
    """Of two models that were loaded the larger is the one that is served."""
    draft = "INFO 02-19 15:22:28 model_runner.py:1067] Loading model weights took 0.2000 GB\n"
    assert parts_of(tmp_path, v0_start() + draft).values["weights_gib"] == 1.25


def test_a_negative_pool_is_no_size(tmp_path: Path) -> None:
    """The server prints how much is missing; that is noted, and no value."""
    text = v1_start().replace("memory: 19.53 GiB", "memory: -3.20 GiB")
    part = parts_of(tmp_path, text)
    assert "kv_pool_gib" not in part.values
    assert "unusable_value" in {note.key for note in part.notes}


def test_sglang_splits_its_pool_in_two(tmp_path: Path) -> None:
    """K and V are added, of one worker; GB is 2**30 bytes."""
    part = parts_of(tmp_path, sgl_start())
    assert (part.values["kv_pool_gib"], part.values["kv_pool_tokens"]) == (19.5, 40_000)
    assert part.derived["kv_pool_gib"] == "K and V added"
    assert (part.values["weights_gib"], part.values["cuda_graph_gib"]) == (2.5, 0.75)
    assert part.values["kv_block_count"] == 40_000


def test_sglang_may_make_several_pools(tmp_path: Path) -> None:
    """Layers with a sliding window have a pool of their own: both take memory."""
    pools = (
        "[2025-05-21 10:36:11 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 40000, "
        "KV size: 8.00 GB\n"
        "[2025-05-21 10:36:11 TP0] KV Cache is allocated. #tokens: 32000, KV size: 4.00 GB\n"
    )
    text = "\n".join(line for line in sgl_start().split("\n") if "is allocated" not in line)
    part = parts_of(tmp_path, text + pools)
    assert (part.values["kv_pool_gib"], part.values["kv_pool_tokens"]) == (12.0, 40_000)


def test_of_tensorrt_llm_the_last_pool_counts(tmp_path: Path) -> None:
    """A first pass finds how large the pool may be, and makes one to try."""
    line = "[MemUsageChange] Allocated {} GiB for max tokens in paged KV cache ({}).\n"
    text = "[TensorRT-LLM] TensorRT-LLM version: 0.17.0\n" + line.format("1.00", 8192)
    part = parts_of(tmp_path, text + line.format("60.68", 497_088))
    assert (part.values["engine"], part.values["engine_version"]) == ("tensorrt-llm", "0.17.0")
    assert (part.values["kv_pool_gib"], part.values["kv_pool_tokens"]) == (60.68, 497_088)
    part = parts_of(tmp_path, text + line.format("0.00", 497_088))
    assert part.values["kv_pool_tokens"] == 497_088
    assert "kv_pool_gib" not in part.values
