"""The scenario of an llm-d benchmark report: which servers there were, and the load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.serving.benchmarks.collected import number_of
from nsightlens.serving.benchmarks.named import at, engine_name, model_name, workload_of

if TYPE_CHECKING:
    from nsightlens.serving.benchmarks.collected import Collected

__all__ = ["read_engines", "read_load"]

_COUNTED = {
    "max_num_seqs": ("max-num-seqs", "max-running-requests"),
    "max_num_batched_tokens": ("max-num-batched-tokens",),
    "max_model_len": ("max-model-len", "context-length"),
    "block_size": ("block-size", "page-size"),
    "tensor_parallel_size": ("tensor-parallel-size", "tp-size", "tp"),
}
_MEMORY = ("gpu-memory-utilization", "mem-fraction-static")
_WORDS = {"dtype": "dtype", "kv_cache_dtype": "kv-cache-dtype", "quantization": "quantization"}
_SWITCHES = {"chunked_prefill": "enable-chunked-prefill", "prefix_caching": "enable-prefix-caching"}


def read_engines(run: Collected, scenario: Any) -> None:
    """Take what is served and on what, of the server that decodes where several kinds do."""
    engines = _of_stack(at(scenario, "stack")) or _of_lists(scenario)
    decoding = [one for one in engines if one["role"] != "prefill"] or engines
    if not decoding:
        return
    _settings(run, decoding[0])
    roles = [one["role"] for one in engines]
    if "prefill" in roles and "decode" in roles:
        run.note(
            "prefill_decode_split",
            "Prefill and decoding run on servers of their own: settings are of the decoding ones.",
        )
    count = sum(one["replicas"] for one in decoding)
    if count > 1:
        run.note(
            "several_servers",
            f"{count} servers shared the requests, each on GPUs of its own: throughput and "
            "requests in flight are of all, the batch of one is a part of them.",
        )


def _of_stack(stack: Any) -> list[dict[str, Any]]:
    """Return the inference engines of a report since 0.2."""
    if not isinstance(stack, list):
        return []
    found = []
    for index, one in enumerate(stack):
        said = at(one, "standardized")
        if at(said, "kind") == "inference_engine":
            replicas = number_of(at(said, "replicas"))
            found.append({
                "where": f"scenario.stack[{index}]",
                "role": at(said, "role"),
                "replicas": int(replicas) if replicas and replicas < 1e6 else 1,
                "model": at(said, "model", "name"),
                "quantization": at(said, "model", "quantization"),
                "engine": at(said, "tool"),
                "version": at(said, "tool_version"),
                "accelerator": at(said, "accelerator"),
                "args": at(one, "native", "args"),
            })  # fmt: skip
    return found


def _of_lists(scenario: Any) -> list[dict[str, Any]]:
    """Return the inference engines of a report 0.1, which has a list per property."""
    engines = at(scenario, "platform", "engine")
    if not isinstance(engines, list):
        return []
    return [
        {
            "where": f"scenario.platform.engine[{index}]",
            "role": at(scenario, "host", "type", index),
            "replicas": 1,
            "model": at(scenario, "model", "name"),
            "quantization": at(scenario, "model", "quantization"),
            "engine": at(one, "name"),
            "version": at(one, "version"),
            "accelerator": at(scenario, "host", "accelerator", index),
            "args": at(one, "args"),
        }
        for index, one in enumerate(engines)
    ]


def _settings(run: Collected, engine: dict[str, Any]) -> None:
    where = engine["where"]
    run.text("model", model_name(engine["model"]), where=where)
    name = engine_name(engine["engine"])
    run.text("engine", name, where=where)
    if name:  # the version of a stack such as llm-d is that of an image, not of its engine
        run.text("engine_version", engine["version"], where=where)
    accelerator = engine["accelerator"]
    run.text("device_name", at(accelerator, "model"), where=where)
    run.count("gpu_count", at(accelerator, "count"), where=where)
    run.count("tensor_parallel_size", at(accelerator, "parallelism", "tp"), where=where)
    run.text("quantization", engine["quantization"], where=where)
    _arguments(run, engine["args"], where)


def _arguments(run: Collected, args: Any, where: str) -> None:
    """Take the settings of a server from its command line, kept as keys and values."""
    if not isinstance(args, dict):
        return
    said = {str(key).lstrip("-").replace("_", "-"): value for key, value in args.items()}
    for column, names in _COUNTED.items():
        for name in names:
            run.count(column, said.get(name), where=f"{where} --{name}")
    for name in _MEMORY:
        run.real("gpu_memory_utilization", said.get(name), where=f"{where} --{name}")
    for column, name in _WORDS.items():
        run.text(column, said.get(name), where=f"{where} --{name}")
    for column, name in _SWITCHES.items():
        if name in said:
            value = said[name]
            run.flag(column, True if value in (None, "") else value, where=f"{where} --{name}")
        if name.replace("enable", "no-enable") in said:
            run.flag(column, False, where=f"{where} --no-{name}")
    if "speculative-config" in said:
        run.flag("speculative", True, where=f"{where} --speculative-config")


def read_load(run: Collected, load: Any) -> None:
    """Take rate, concurrency and nominal lengths; an infinite concurrency is none."""
    said, place = at(load, "standardized"), "scenario.load.standardized"
    run.real("request_rate_per_s", at(said, "rate_qps"), where=f"{place}.rate_qps")
    concurrency = at(said, "concurrency")
    if concurrency != float("inf"):
        run.count("max_concurrency", concurrency, where=f"{place}.concurrency")
    lengths = (at(said, "input_seq_len", "value"), at(said, "output_seq_len", "value"))
    run.text("workload", workload_of(*lengths), where=place)
    run.text("workload", at(load, "type"), where="scenario.load.type")
    run.real("request_rate_per_s", at(load, "args", "qps_values"), where="scenario.load.args")
