"""Command lines that start a server with recommended settings, by engine."""

from __future__ import annotations

import math
import re
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.errors import AdviceError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["memory_flag", "model_to_serve", "server_command", "settings_kept", "share_of_each"]

_STEPS = 10_000
"""Shares of memory of one of several servers are rounded down to this part of one."""


class _Flags(NamedTuple):
    """How an engine names its settings; empty where it has no such setting."""

    start: str
    batch_size: str
    memory: str
    batched_tokens: str
    tensor_parallel: str
    context: str
    quantization: str = ""
    kv_cache_dtype: str = ""


# As of vLLM 0.6 to 0.33, SGLang 0.4.6 and 0.5, and of TensorRT-LLM and llama.cpp at the time.
# The share of memory of TensorRT-LLM is of what is free beside the weights, and llama.cpp divides
# one context among its sequences: neither is the setting that was measured, so neither is given.
_VLLM = _Flags(
    "vllm serve {model}",
    "--max-num-seqs",
    "--gpu-memory-utilization",
    "--max-num-batched-tokens",
    "--tensor-parallel-size",
    "--max-model-len",
    "--quantization",
    "--kv-cache-dtype",
)
_ENGINES = {
    "vllm": _VLLM,
    "sglang": _Flags(
        "python -m sglang.launch_server --model-path {model}",
        "--max-running-requests",
        "--mem-fraction-static",
        "--chunked-prefill-size",
        "--tp-size",
        "--context-length",
        "--quantization",
        "--kv-cache-dtype",
    ),
    "tensorrt-llm": _Flags(
        "trtllm-serve {model}",
        "--max_batch_size",
        "",
        "--max_num_tokens",
        "--tp_size",
        "--max_seq_len",
    ),
    "llama.cpp": _Flags("llama-server -m {model}", "-np", "", "-b", "", ""),
}
_NAME = re.compile(r"[A-Za-z0-9_]{2,40}")
_OTHER_NAMES = {"trtllm": "tensorrt-llm", "tensorrt_llm": "tensorrt-llm", "llama-cpp": "llama.cpp"}


_DEFAULT_UTILIZATION = 0.9
_USUAL = frozenset({"auto", "none", "float16", "bfloat16", "half", "fp16", "bf16", "unknown"})


def model_to_serve(runs: pa.Table) -> str | None:
    """Return the model as a server is started with it, where all runs name it alike.

    Parameters
    ----------
    runs
        With the schema ``SERVING_RUNS``.
    """
    for name in ("model_id", "model"):
        names = {str(one) for one in runs[name].to_pylist() if one}
        if len(names) == 1:
            return names.pop()
    return None


def settings_kept(runs: pa.Table) -> dict[str, Any]:
    """Return the settings of a server that all its runs had and a new one needs too.

    How the model is laid out and stored: without them the new server would be another one.

    Parameters
    ----------
    runs
        With the schema ``SERVING_RUNS``.
    """
    kept: dict[str, Any] = {}
    for name in ("tensor_parallel_size", "max_model_len", "max_num_batched_tokens"):
        values = {one for one in runs[name].to_pylist() if one}
        least = 2 if name == "tensor_parallel_size" else 1
        if len(values) == 1 and least <= min(values) < 1 << 31:
            kept[name] = values.pop()
    for name in ("quantization", "kv_cache_dtype"):
        texts = {str(one) for one in runs[name].to_pylist() if one}
        if len(texts) == 1 and _NAME.fullmatch(text := texts.pop()) and text.lower() not in _USUAL:
            kept[name] = text
    return kept


def server_command(
    engine: str | None,
    model: str | None,
    *,
    batch_size: int,
    gpu_memory_utilization: float | None = None,
    max_num_batched_tokens: int | None = None,
    tensor_parallel_size: int | None = None,
    max_model_len: int | None = None,
    quantization: str | None = None,
    kv_cache_dtype: str | None = None,
    replicas: int = 1,
    port: int = 8000,
) -> str:
    """Return the command that starts a server with these settings.

    Parameters
    ----------
    engine
        As in ``serving_runs``; None for vLLM, whose clients most results are of. Of an engine that
        is not known, a comment of the shell says what to set.
    model
        Name or path; ``MODEL`` stands for it where it is not known.
    batch_size
        Most sequences at once, of each server.
    gpu_memory_utilization
        [1] Part of the GPU's memory for all servers together; None for the engine's default, and
        for several servers 0.9, which is that of vLLM.
    max_num_batched_tokens
        [token] Most tokens in a step; None for the engine's default.
    tensor_parallel_size
        GPUs that share each layer; None for the engine's default.
    max_model_len
        [token] Longest context; None for the model's.
    quantization, kv_cache_dtype
        As the engine names them; None for what the model says.
    replicas
        Servers that share the GPU: one line each, in the background, with ports from ``port`` on
        and equal shares of the memory, rounded down.
    port
        Port of the first; it is given where it is not 8000, or there are several.

    Returns
    -------
    str
        Quoted for a POSIX shell.

    Raises
    ------
    AdviceError
        A number is not above zero, or the ports end before the servers do.

    Examples
    --------
    >>> server_command("vllm", "facebook/opt-1.3b", batch_size=96, gpu_memory_utilization=0.195)
    'vllm serve facebook/opt-1.3b --max-num-seqs 96 --gpu-memory-utilization 0.195'
    >>> server_command("sglang", "my model", batch_size=64)
    "python -m sglang.launch_server --model-path 'my model' --max-running-requests 64"
    >>> print(server_command(None, None, batch_size=96, gpu_memory_utilization=0.9, replicas=2))
    vllm serve MODEL --max-num-seqs 96 --gpu-memory-utilization 0.45 --port 8000 &
    vllm serve MODEL --max-num-seqs 96 --gpu-memory-utilization 0.45 --port 8001 &
    """
    numbers = {
        "batch_size": batch_size,
        "max_num_batched_tokens": max_num_batched_tokens,
        "tensor_parallel_size": tensor_parallel_size,
        "max_model_len": max_model_len,
        "replicas": replicas,
        "port": port,
    }
    for what, number in numbers.items():
        if number is not None and number < 1:
            raise AdviceError(f"{what} is {number}; it must be a whole number above zero.")
    if port + replicas - 1 > 65535:
        raise AdviceError(f"Port {port} leaves no ports for {replicas} servers.")
    name = _canonical(engine)
    flags = _ENGINES.get(name)
    if flags is None:
        return f"# {_one_line(name)}: serve with at most {batch_size} sequences at once"
    if replicas > 1 and gpu_memory_utilization is None:
        gpu_memory_utilization = _DEFAULT_UTILIZATION
    share = share_of_each(gpu_memory_utilization, replicas)
    words = [flags.start.format(model=shlex.quote(model or "MODEL"))]
    for flag, value in (
        (flags.batch_size, batch_size),
        (flags.memory, None if share is None else f"{share:g}"),
        (flags.batched_tokens, max_num_batched_tokens),
        (flags.tensor_parallel, tensor_parallel_size),
        (flags.context, max_model_len),
        (flags.quantization, quantization),
        (flags.kv_cache_dtype, kv_cache_dtype),
    ):
        if flag and value is not None:
            words += [flag, shlex.quote(str(value))]
    one = " ".join(words)
    if replicas > 1:
        return "\n".join(f"{one} --port {port + i} &" for i in range(replicas))
    return one if port == 8000 else f"{one} --port {port}"


def share_of_each(gpu_memory_utilization: float | None, replicas: int) -> float | None:
    """Return the setting of each of several servers, rounded down so that all fit [1].

    Raises
    ------
    AdviceError
        The setting of all is not above 0 and at most 1.
    """
    if gpu_memory_utilization is None:
        return None
    if not 0 < gpu_memory_utilization <= 1:
        raise AdviceError(
            f"gpu_memory_utilization is {gpu_memory_utilization}; it must be above 0 and at most 1."
        )
    if replicas == 1:
        return gpu_memory_utilization
    # 0.9 / 3 is a little less than 0.3 in binary: that is no reason to give 0.2999.
    return math.floor(gpu_memory_utilization / replicas * _STEPS + 1e-9) / _STEPS


def memory_flag(engine: str | None) -> str:
    """Return the flag of an engine for the share of memory; empty where it has none.

    Examples
    --------
    >>> memory_flag("sglang")
    '--mem-fraction-static'
    """
    flags = _ENGINES.get(_canonical(engine))
    return "" if flags is None else flags.memory


def _canonical(engine: str | None) -> str:
    name = (engine or "vllm").strip().lower()
    return _OTHER_NAMES.get(name, name)


def _one_line(text: str) -> str:
    return " ".join(text.split())
