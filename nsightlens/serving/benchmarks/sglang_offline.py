"""Results of SGLang's offline benchmarks: a batch in lock-step, and all prompts at once.

- ``bench_one_batch``: no scheduler; its decode latency is the time of a step.
- ``bench_one_batch_server``: one batch, sent to a server at once.
- ``bench_offline_throughput``: the engine's scheduler, without a client.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from nsightlens.serving.benchmarks.client_counts import require_speed, take_means
from nsightlens.serving.benchmarks.client_parts import parts_of
from nsightlens.serving.benchmarks.client_run import ClientRun, disagree
from nsightlens.serving.benchmarks.json_objects import objects_of
from nsightlens.serving.benchmarks.named import model_name
from nsightlens.serving.benchmarks.sglang_server_info import has_speculation, take_server_info
from nsightlens.serving.part import Format

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.part import Part

__all__ = ["FORMATS"]

ONE_BATCH, ONE_BATCH_SERVER = "sglang-one-batch", "sglang-one-batch-server"
OFFLINE = "sglang-offline-throughput"

_BATCH = {"run_name", "batch_size", "input_len", "output_len"}
_KEYS = {
    ONE_BATCH: _BATCH | {"prefill_latency"},
    ONE_BATCH_SERVER: _BATCH | {"latency", "output_throughput"},
    OFFLINE: {"successful_requests", "total_latency", "total_output_tokens", "output_throughput"},
}
_ENGINES = {"engine", "runtime"}


def _format(name: str, title: str, read_run: Callable[[ClientRun], None]) -> Format:
    keys = _KEYS[name]

    def is_run(data: Mapping[str, Any]) -> bool:
        return keys <= data.keys()

    def claims(file: OpenedFile) -> bool:
        if not file.looks_like_json or not all(f'"{key}"' in file.head for key in keys):
            return False
        return any(is_run(data) for _, data in objects_of(file).found)

    def read_one(data: Mapping[str, Any], shown: str, where: str) -> Part:
        run = ClientRun(data, shown, where)
        read_run(run)
        require_speed(run)
        return run.part(name)

    def read(file: OpenedFile) -> list[Part]:
        return parts_of(objects_of(file), file.shown, read_one, is_run=is_run)

    return Format(name, title, claims, read)


def _take_batch(run: ClientRun, latency_key: str) -> tuple[int, int, int, float]:
    """Set what every run of one batch has; return batch, lengths [token] and latency [s]."""
    batch, inputs, outputs = (run.whole(key) for key in ("batch_size", "input_len", "output_len"))
    latency = run.number(latency_key)
    if not batch or not inputs or not outputs or not latency:
        raise run.refusal(
            f"lacks one of batch_size, input_len, output_len and {latency_key} above zero",
            "Run the benchmark again.",
        )
    if outputs == 1:
        raise run.refusal(
            "generated one token per sequence, which prefill makes: there is no decode step in it",
            "Run the benchmark again with a longer --output-len.",
        )
    run.put("engine", "sglang", derived="only SGLang writes this format")
    run.put("model", model_name(run.text("model_path") or run.text("model")), "model_path")
    run.put("static_batch_size", batch, "batch_size")
    run.put("mean_running", float(batch), "batch_size", "all sequences run in lock-step")
    run.put("running_source", "static", "batch_size")
    run.put("workload", f"in{inputs}_out{outputs}", "input_len")
    run.put("completed_count", batch, "batch_size")
    run.put("duration_s", latency, latency_key)
    run.put("mean_input_tokens", float(inputs), "input_len")
    run.put("mean_output_tokens", float(outputs), "output_len")
    run.put("input_token_count", batch * inputs, "input_len", "batch_size times input_len")
    run.put("output_token_count", batch * outputs, "output_len", "batch_size times output_len")
    run.rate("requests_per_s", "", batch, "batch_size")
    run.rate("output_tok_per_s", "", batch * outputs, "batch_size times output_len")
    total = batch * (inputs + outputs)
    run.rate("total_tok_per_s", "overall_throughput", total, "all tokens")
    for statistic in ("mean", "median"):
        run.put(f"{statistic}_e2e_ms", 1e3 * latency, latency_key, "one for all sequences")
    if has_speculation(run.data):
        run.put("speculative", True, "acc_length", "drafted tokens were accepted")
    return batch, inputs, outputs, latency


def _read_one_batch(run: ClientRun) -> None:
    batch, _, outputs, latency = _take_batch(run, "total_latency")
    step = run.positive("median_decode_latency")
    prefill = run.positive("prefill_latency")
    if step is None:
        raise run.refusal("has no median_decode_latency", "Run the benchmark again.")
    run.put("median_itl_ms", 1e3 * step, "median_decode_latency")
    run.put("median_tpot_ms", 1e3 * step, "median_decode_latency", "a step is a token of each")
    if prefill is not None and prefill < latency:
        mean = 1e3 * (latency - prefill) / (outputs - 1)
        words = "total_latency less prefill_latency, over the steps after it"
        run.put("mean_itl_ms", mean, "total_latency", words)
        run.put("mean_tpot_ms", mean, "total_latency", words)
        for statistic in ("mean", "median"):
            run.put(f"{statistic}_ttft_ms", 1e3 * prefill, "prefill_latency", "one for all")
    elif prefill is not None:
        run.note(
            "contradiction",
            f"prefill_latency {prefill:.6g} s is not below total_latency {latency:.6g} s: left "
            "out.",
        )
    stated, computed = run.positive("median_decode_throughput"), batch / step
    if stated is not None and disagree(stated, computed):
        run.note(
            "contradiction",
            f"median_decode_throughput is {stated:.6g}, but batch_size over median_decode_latency "
            f"{computed:.6g} per second: the latter is used.",
        )
    words = "batch_size over median_decode_latency"
    run.put("decode_tok_per_s", computed, "median_decode_latency", words)


def _read_one_batch_server(run: ClientRun) -> None:
    """Read a batch that was sent to a server.

    ``output_throughput`` is over the time after the last sequence's first token, or, in versions
    that do not stream, over all of it; a comparison with the whole tells which.
    """
    batch, _, outputs, latency = _take_batch(run, "latency")
    take_server_info(run, run.data.get("server_info"))
    stated, whole = run.positive("output_throughput"), batch * outputs / latency
    first = run.positive("ttft") if "ttft" in run.data else None
    if first is None and stated is not None and stated > 1.002 * whole:
        first = latency - batch * outputs / stated
        words = "latency less the time that output_throughput is over"
        run.put("mean_ttft_ms", 1e3 * first, "output_throughput", words)
    elif first is not None:
        run.put("mean_ttft_ms", 1e3 * first, "ttft", "of the last sequence to begin")
    if stated is not None and stated < whole and disagree(stated, whole):
        run.note(
            "contradiction",
            f"output_throughput is {stated:.6g}, but batch_size times output_len over latency "
            f"{whole:.6g} per second: the latter is used.",
        )
    if first is None or first >= latency:
        run.drop("mean_ttft_ms")
        run.note("prefill_included", "nothing tells prefill from decode: no time per token.")
        return
    words = "latency less the time to the first token, over the tokens after it"
    run.put("mean_tpot_ms", 1e3 * (latency - first) / (outputs - 1), "latency", words)
    words = "tokens over latency less the time to the first token"
    run.put("decode_tok_per_s", batch * (outputs - 1) / (latency - first), "latency", words)


def _read_offline(run: ClientRun) -> None:
    latency, completed = run.number("total_latency"), run.whole("successful_requests")
    if not latency or not completed:
        raise run.refusal(
            "holds no measurement: total_latency or successful_requests is not above zero",
            "Look into the output of the benchmark for the reason, and run it again.",
        )
    run.put("duration_s", latency, "total_latency")
    run.put("completed_count", completed, "successful_requests")
    if run.text("backend") in _ENGINES:
        run.put("engine", "sglang", "backend", "it ran within the benchmark")
    run.put("request_rate_per_s", math.inf, derived="an offline benchmark gives all at once")
    for column, key in (
        ("input_token_count", "total_input_tokens"),
        ("output_token_count", "total_output_tokens"),
    ):
        run.put(column, run.whole(key) or None, key)
    take_means(run)
    outputs, inputs = run.values.get("output_token_count"), run.values.get("input_token_count")
    run.rate("requests_per_s", "request_throughput", completed, "successful_requests")
    run.rate("output_tok_per_s", "output_throughput", outputs, "total_output_tokens")
    total = inputs + outputs if inputs and outputs else None
    run.rate("total_tok_per_s", "total_throughput", total, "all tokens")


FORMATS: tuple[Format, ...] = (
    _format(ONE_BATCH, "SGLang bench_one_batch", _read_one_batch),
    _format(ONE_BATCH_SERVER, "SGLang bench_one_batch_server", _read_one_batch_server),
    _format(OFFLINE, "SGLang bench_offline_throughput", _read_offline),
)
