"""``server_info`` in results of SGLang's clients: all arguments of the server, and its memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.serving.benchmarks.client_run import ClientRun
from nsightlens.serving.benchmarks.named import model_name

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["has_speculation", "take_server_info"]

_WHOLE = {
    "max_num_seqs": "max_running_requests",
    "max_model_len": "context_length",
    "block_size": "page_size",
    "tensor_parallel_size": "tp_size",
    "kv_pool_tokens": "max_total_num_tokens",
}
_TEXT = {
    "dtype": "dtype",
    "quantization": "quantization",
    "kv_cache_dtype": "kv_cache_dtype",
    "engine_version": "version",
}


def take_server_info(run: ClientRun, info: Any) -> None:
    """Set the columns of settings and memory that the server told its client.

    Memory is that of one GPU. ``mem_fraction_static`` counts as ``gpu_memory_utilization``:
    weights and KV pool, but not activations.
    """
    if isinstance(info, dict) and isinstance(info.get("decode"), list) and info["decode"]:
        info = info["decode"][0]
    if not isinstance(info, dict) or not info:
        return
    server = ClientRun(info, run.shown, run.where)
    run.put("engine", "sglang", "server_info", "only this server has such an answer")
    if "model" not in run.values:
        name = server.text("served_model_name") or server.text("model_path")
        run.put("model", model_name(name), "server_info.model_path")
    for column, key in _WHOLE.items():
        run.put(column, server.whole(key) or None, f"server_info.{key}")
    for column, key in _TEXT.items():
        text = server.text(key)
        if text and text.lower() not in {"auto", "none"}:
            run.put(column, text, f"server_info.{key}")
    _take_flags(run, server)
    _take_memory(run, server)
    run.notes += server.part("").notes


def _take_flags(run: ClientRun, server: ClientRun) -> None:
    fraction = server.number("mem_fraction_static")
    if fraction and fraction <= 1:
        run.put("gpu_memory_utilization", fraction, "server_info.mem_fraction_static")
    chunk = server.data.get("chunked_prefill_size")
    if isinstance(chunk, int) and not isinstance(chunk, bool):
        words = "pieces of chunked_prefill_size tokens; -1 is none"
        run.put("chunked_prefill", chunk > 0, "server_info.chunked_prefill_size", words)
    radix = server.data.get("disable_radix_cache")
    if isinstance(radix, bool):
        key = "server_info.disable_radix_cache"
        run.put("prefix_caching", not radix, key, "not disable_radix_cache")
    if "speculative_algorithm" in server.data:
        algorithm = server.text("speculative_algorithm")
        run.put("speculative", bool(algorithm), "server_info.speculative_algorithm")
    tensor, stages = server.whole("tp_size"), server.whole("pp_size")
    copies = 1 if server.data.get("enable_dp_attention") else server.whole("dp_size")
    if tensor and stages and copies:
        words = "tp_size times pp_size times dp_size"
        run.put("gpu_count", tensor * stages * copies, "server_info.tp_size", words)


def _take_memory(run: ClientRun, server: ClientRun) -> None:
    states = server.data.get("internal_states")
    state = states[0] if isinstance(states, list) and states else None
    usage = state.get("memory_usage") if isinstance(state, dict) else None
    if not isinstance(usage, dict):
        return
    memory = ClientRun(usage, run.shown, run.where)
    where = "server_info.internal_states[0].memory_usage"
    for column, keys in (
        ("weights_gib", ("weight",)),
        ("kv_pool_gib", ("kvcache",)),
        ("cuda_graph_gib", ("graph", "cuda graph")),
    ):
        key = next((key for key in keys if key in usage), keys[0])
        run.put(column, memory.number(key) or None, f"{where}.{key}")
    if "kv_pool_tokens" not in run.values:
        tokens = memory.whole("token_capacity") or None
        run.put("kv_pool_tokens", tokens, f"{where}.token_capacity")
    run.notes += memory.part("").notes


def has_speculation(data: Mapping[str, Any]) -> bool:
    """Return whether a client's result says how many drafted tokens were accepted."""
    value = data.get("accept_length", data.get("acc_length"))
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
