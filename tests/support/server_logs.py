"""Logs of servers, made up line by line, and the way to read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.serving.logs import server_log
from nsightlens.serving.opened import OpenedFile

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Format, Part

__all__ = [
    "NAMESPACE",
    "SERVER_ARGS",
    "claimed",
    "parts_of",
    "sgl_decode",
    "sgl_start",
    "v0_start",
    "v0_stats",
    "v0_warning",
    "v1_start",
    "v1_stats",
]

NAMESPACE = (
    "args: Namespace(host=None, allowed_origins=['*', 'a, b'], model='/models/acme/small-1b', "
    "config_format=<ConfigFormat.AUTO: 'auto'>, dtype='auto', kv_cache_dtype='auto', "
    "max_model_len=None, pipeline_parallel_size=1, tensor_parallel_size=2, block_size=16, "
    "enable_prefix_caching=False, gpu_memory_utilization=0.85, max_num_batched_tokens=4096, "
    "max_num_seqs=48, quantization=None, num_scheduler_steps=1, enable_chunked_prefill=None, "
    "speculative_model=None)"
)
SERVER_ARGS = (
    "server_args=ServerArgs(model_path='acme/small-1b', tokenizer_path='acme/small-1b', "
    "dtype='auto', quantization=None, kv_cache_dtype='fp8_e5m2', context_length=None, "
    "mem_fraction_static=0.88, max_running_requests=None, chunked_prefill_size=8192, page_size=1, "
    "tp_size=2, pp_size=1, dp_size=1, enable_dp_attention=False, speculative_algorithm=None, "
    "disable_radix_cache=True)"
)


_CONFIG = (
    "model='/models/acme/small-1b', speculative_config=None, dtype=torch.bfloat16, "
    "max_seq_len=2048, tensor_parallel_size=2, quantization=None, kv_cache_dtype=auto, "
    "chunked_prefill_enabled=False multi_step_stream_outputs=True, "
    "enable_prefix_caching=False, mm_processor_kwargs=None)"
)
_PROFILE = (
    "total_gpu_memory=79.10GiB initial_memory_usage=3.11GiB peak_torch_memory=2.72GiB "
    "memory_usage_post_profile=3.3GiB non_torch_memory=0.25GiB kv_cache_size=50.50GiB "
    "gpu_memory_utilization=0.85"
)


def v0_start(version: str = "0.6.3", *, arguments: str = NAMESPACE, blocks: int = 1000) -> str:
    """Return what vLLM V0 prints until it serves."""
    lines = (
        f"api_server.py:528] vLLM API server version {version}",
        f"api_server.py:529] {arguments}",
        f"llm_engine.py:237] Initializing an LLM engine (v{version}) with config: {_CONFIG}",
        "model_runner.py:1067] Loading model weights took 1.2500 GB",
        f"worker.py:262] Memory profiling results: {_PROFILE}",
        f"gpu_executor.py:122] # GPU blocks: {blocks}, # CPU blocks: 100",
        "gpu_executor.py:126] Maximum concurrency for 2048 tokens per request: 7.81x",
        "launcher.py:19] Available routes are:",
    )
    return "".join(f"INFO 02-19 15:22:{20 + i} {line}\n" for i, line in enumerate(lines))


def v0_stats(second: int, running: int, kv_pct: float, *, pending: int = 0) -> str:
    """Return a line of load of vLLM V0."""
    return (
        f"INFO 02-19 15:23:{second:02} metrics.py:345] Avg prompt throughput: 12.5 tokens/s, "
        f"Avg generation throughput: {10.0 * running:.1f} tokens/s, Running: {running} reqs, "
        f"Swapped: 1 reqs, Pending: {pending} reqs, GPU KV cache usage: {kv_pct}%, "
        "CPU KV cache usage: 0.0%.\n"
    )


def v0_warning(number: int) -> str:
    """Return a warning of a preemption of vLLM V0."""
    return (
        "WARNING 02-19 15:23:30 scheduler.py:1483] Sequence group cmpl-1-0 is preempted by "
        "PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. Increase it. "
        f"total_num_cumulative_preemption={number}\n"
    )


def v1_start(
    version: str = "0.11.0",
    *,
    tokens: str = "160,000",
    concurrency: str = "78.13",
    length: int = 2048,
) -> str:
    """Return what vLLM V1 prints until it serves."""
    return (
        f"(APIServer pid=1) INFO 06-17 10:00:00 [api_server.py:1839] vLLM API server version "
        f"{version}\n"
        "(APIServer pid=1) INFO 06-17 10:00:00 [utils.py:233] non-default args: {'model_tag': "
        "'acme/small-1b', 'model': 'acme/small-1b', 'max_num_seqs': 64, 'block_size': 16, "
        "'gpu_memory_utilization': 0.8, 'tensor_parallel_size': 1}\n"
        "(APIServer pid=1) INFO 06-17 10:00:01 [scheduler.py:222] Chunked prefill is enabled with "
        "max_num_batched_tokens=8192.\n"
        f"(EngineCore_DP0 pid=9) INFO 06-17 10:00:02 [core.py:77] Initializing a V1 LLM engine "
        f"(v{version}) with config: model='acme/small-1b', speculative_config=None, "
        f"dtype=torch.bfloat16, max_seq_len={length}, tensor_parallel_size=1, "
        "quantization=fp8, kv_cache_dtype=fp8, enable_prefix_caching=True, "
        'chunked_prefill_enabled=True, compilation_config={"level":3,"sizes":[1,2],"a":{"b":","}}\n'
        "(EngineCore_DP0 pid=9) INFO 06-17 10:00:09 [gpu_model_runner.py:2602] Model loading took "
        "2.5000 GiB and 3.2 seconds\n"
        "(EngineCore_DP0 pid=9) INFO 06-17 10:00:19 [gpu_worker.py:298] Available KV cache memory: "
        "19.53 GiB\n"
        f"(EngineCore_DP0 pid=9) INFO 06-17 10:00:19 [kv_cache_utils.py:1087] GPU KV cache size: "
        f"{tokens} tokens\n"
        f"(EngineCore_DP0 pid=9) INFO 06-17 10:00:19 [kv_cache_utils.py:1091] Maximum concurrency "
        f"for {length:,} tokens per request: {concurrency}x\n"
        "(EngineCore_DP0 pid=9) INFO 06-17 10:00:29 [gpu_model_runner.py:3480] Graph capturing "
        "finished in 6 secs, took 0.55 GiB\n"
        "(APIServer pid=1) INFO:     Application startup complete.\n"
    )


def v1_stats(
    second: int, running: int, kv_pct: float, *, engine: str = "Engine 000", more: str = ""
) -> str:
    """Return a line of load of vLLM V1."""
    return (
        f"(APIServer pid=1) INFO 06-17 10:01:{second:02} [loggers.py:127] {engine}: Avg prompt "
        f"throughput: 99.0 tokens/s, Avg generation throughput: {20.0 * running:.1f} tokens/s, "
        f"Running: {running} reqs, Waiting: 0 reqs{more}, GPU KV cache usage: {kv_pct}%, "
        "Prefix cache hit rate: 25.0%\n"
    )


def sgl_start() -> str:
    """Return what SGLang prints until it serves."""
    return (
        f"[2025-05-21 10:36:00] {SERVER_ARGS}\n"
        "[2025-05-21 10:36:10 TP0] Load weight end. type=SmallForCausalLM, dtype=torch.bfloat16, "
        "avail mem=60.00 GB, mem usage=2.50 GB.\n"
        "[2025-05-21 10:36:11 TP0] KV Cache is allocated. #tokens: 40000, K size: 9.75 GB, V size: "
        "9.75 GB\n"
        "[2025-05-21 10:36:11 TP1] KV Cache is allocated. #tokens: 40000, K size: 9.75 GB, V size: "
        "9.75 GB\n"
        "[2025-05-21 10:36:20 TP0] Capture cuda graph end. Time elapsed: 5.45 s. "
        "mem usage=0.75 GB. avail mem=9.50 GB.\n"
        "[2025-05-21 10:36:21 TP0] max_total_num_tokens=40000, chunked_prefill_size=8192, "
        "max_prefill_tokens=16384, max_running_requests=256, context_len=4096\n"
        "[2025-05-21 10:36:22] The server is fired up and ready to roll!\n"
    )


def sgl_decode(second: int, running: int, usage: str, *, rank: str = "TP0") -> str:
    """Return a line of load of SGLang."""
    return (
        f"[2025-05-21 10:37:{second:02} {rank}] Decode batch. #running-req: {running}, {usage}, "
        f"cuda graph: True, gen throughput (token/s): {30.0 * running:.2f}, #queue-req: 2\n"
    )


def _opened(folder: Path, text: str, name: str) -> tuple[Format, OpenedFile]:
    path = folder / name
    path.write_bytes(text.encode())
    return server_log.FORMATS[0], OpenedFile(path, name)


def claimed(folder: Path, text: str, name: str = "anything") -> bool:
    """Return whether a text is taken for a server's log."""
    log_format, file = _opened(folder, text, name)
    return log_format.claims(file)


def parts_of(folder: Path, text: str, name: str = "anything") -> Part:
    """Return the part of a log, which is claimed, and is one."""
    log_format, file = _opened(folder, text, name)
    assert log_format.claims(file)
    (part,) = log_format.read(file)
    return part
