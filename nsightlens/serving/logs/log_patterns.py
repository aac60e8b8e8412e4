"""What servers print, as one table: each line's fixed words, and the expression that reads it.

The fixed words find a line at the speed of a substring search; the expression is tried on that line
only. All are searched for, never matched from the beginning, since a line may begin with colours,
with the name of a process or of a container, or with another record that was glued before it.

The lines were read in the sources of vLLM 0.5.4 to 0.33 and SGLang 0.4.6 to 0.5.23, and in logs.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["ANSI", "PATTERNS", "REPEATED", "LogPattern", "tidy"]


class LogPattern(NamedTuple):
    """A kind of line: the words that each such line has, and the expression with named groups."""

    words: str
    expression: re.Pattern[str]


def _pattern(words: str, expression: str) -> LogPattern:
    return LogPattern(words, re.compile(expression))


ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\[(?:\d{1,2};)*\d{1,2}m")
"""Colours, and what is left of them where a terminal's text was copied: ``[1;36m``."""

_LEFT_OF_ANSI = re.compile(r"\[\d{1,2}[;m]")

REPEATED = re.compile(r"\[repeated \d+x across cluster\]")
"""Ray's mark on a line that stands for equal lines of other workers."""

_NUMBER = r"\d{1,12}(?:\.\d{1,12})?"

PATTERNS: dict[str, LogPattern] = {
    # Who speaks, and with which settings.
    "vllm_version": _pattern(
        "vLLM API server version", r"vLLM API server version (?P<version>[^\s,]+)"
    ),
    "vllm_banner": _pattern("█  version ", r"█ +version (?P<version>[^\s,]+)"),
    "vllm_engine": _pattern(
        "LLM engine (v",
        r"Initializing an? (?:(?P<generation>V\d) )?LLM engine \(v(?P<version>[^)]+)\)",
    ),
    "vllm_config": _pattern(") with config: ", r"LLM engine \(v[^)]+\) with config: "),
    "vllm_args": _pattern("args: Namespace(", r"\bargs: Namespace(?=\()"),
    "vllm_set_args": _pattern("non-default args: {", r"non-default args: (?=\{)"),
    "vllm_chunked": _pattern(
        "Chunked prefill is enabled",
        r"Chunked prefill is enabled with max_num_batched_tokens=(?P<tokens>\d+)",
    ),
    "architecture": _pattern("Resolved architecture: ", r"Resolved architecture: (?P<model>\w+)"),
    "sgl_args": _pattern("server_args=ServerArgs(", r"server_args=ServerArgs(?=\()"),
    "trt_version": _pattern(
        "TensorRT-LLM version: ", r"TensorRT-LLM version: (?P<version>[^\s,]+)"
    ),
    # What vLLM prints every 5 s (V0) or 10 s (V1), and when it takes memory from a sequence.
    "v0_stats": _pattern(
        ", Swapped: ",
        rf"Avg prompt throughput: {_NUMBER} tokens/s, Avg generation throughput: "
        rf"(?P<gen>{_NUMBER}) tokens/s, Running: (?P<run>\d+) reqs, Swapped: (?P<swap>\d+) reqs, "
        rf"Pending: (?P<wait>\d+) reqs, GPU KV cache usage: (?P<kv>{_NUMBER})%",
    ),
    "v1_stats": _pattern(
        " reqs, Waiting: ",
        r"(?:(?:Engine (?P<engine>\d+)|(?P<all>\d+) Engines Aggregated): )?"
        rf"Avg prompt throughput: {_NUMBER} tokens/s, Avg generation throughput: "
        rf"(?P<gen>{_NUMBER}) tokens/s, Running: (?P<run>\d+) reqs, Waiting: (?P<wait>\d+) reqs"
        r"(?:, Deferred: \d+ reqs)?(?:, KV fetch: [^,]+, [^,]+, [^,]+)?"
        r"(?:, Preemptions: (?P<preempt>\d+))?"
        rf"(?:, [A-Z]+ KV cache usage: (?P<kv>{_NUMBER})%)?"
        rf"(?:, Prefix cache hit rate: (?P<hit>{_NUMBER})%)?",
    ),
    "v0_prefix_hit": _pattern(
        "Prefix cache hit rate: GPU: ", rf"Prefix cache hit rate: GPU: (?P<hit>{_NUMBER})%"
    ),
    "preempt": _pattern(
        "is preempted by PreemptionMode.",
        r"is preempted by PreemptionMode\.\w+ mode because there is not enough KV cache space"
        r"[^\n]*?total_(?:num_)?cumulative_preemption(?:_cnt)?=(?P<n>\d+)",
    ),
    # vLLM's memory.
    "v0_blocks": _pattern(
        " blocks: ", r"# (?P<dev>\w+) blocks: (?P<gpu>\d+), # CPU blocks: (?P<cpu>\d+)"
    ),
    "v0_override": _pattern(
        "num_gpu_blocks_override=",
        r"Overriding num_gpu_blocks=(?P<was>\d+) with num_gpu_blocks_override=(?P<now>\d+)",
    ),
    "v0_profile_062": _pattern(
        "Memory profiling results: ",
        rf"total_gpu_memory=(?P<total>{_NUMBER})GiB initial_memory_usage={_NUMBER}GiB "
        rf"peak_torch_memory=(?P<peak>{_NUMBER})GiB (?:memory_usage_post_profile={_NUMBER}Gi?B )?"
        rf"non_torch_memory=(?P<nt>{_NUMBER})Gi?B kv_cache_size=(?P<kv>-?{_NUMBER})Gi?B "
        rf"gpu_memory_utilization=(?P<gmu>{_NUMBER})",
    ),
    # 0.6.5 to 0.10 print two lines, and the logger repeats its prefix on the second.
    "v0_budget_07": _pattern(
        "x gpu_memory_utilization (",
        rf"total_gpu_memory \((?P<total>{_NUMBER})GiB\) x gpu_memory_utilization "
        rf"\((?P<gmu>{_NUMBER})\) = (?P<budget>{_NUMBER})GiB",
    ),
    "v0_profile_07": _pattern(
        "model weights take ",
        rf"model weights take (?P<w>{_NUMBER})GiB; non_torch_memory takes (?P<nt>-?{_NUMBER})GiB; "
        rf"PyTorch activation peak memory takes (?P<act>{_NUMBER})GiB; the rest of the memory "
        rf"reserved for KV Cache is (?P<kv>-?{_NUMBER})GiB",
    ),
    "kv_tokens": _pattern(
        " KV cache size: ", r"[A-Z]+(?: \+ host)? KV cache size: (?P<tok>[\d,]*\d) tokens"
    ),
    "max_conc": _pattern(
        "Maximum concurrency for ",
        rf"Maximum concurrency for (?P<len>[\d,]*\d) tokens per request: (?P<x>{_NUMBER})x",
    ),
    "kv_avail": _pattern(
        "vailable KV cache memory: ", rf"vailable KV cache memory: (?P<gib>-?{_NUMBER}) GiB"
    ),
    "weights_took": _pattern(
        "Loading model weights took ", rf"Loading model weights took (?P<gib>{_NUMBER}) Gi?B"
    ),
    "model_took": _pattern("Model loading took ", rf"Model loading took (?P<gib>{_NUMBER}) Gi?B"),
    "graph": _pattern(
        "Graph capturing finished in ",
        rf"Graph capturing finished in \d+ secs?, took (?P<gib>-?{_NUMBER}) GiB",
    ),
    # SGLang.
    "sgl_decode": _pattern(
        "Decode batch",
        r"Decode batch(?: \[\d+\])?[.,] #running-req: (?P<run>\d+), (?P<usage>#[^\n]*?)"
        rf"gen throughput \(token/s\): (?P<gen>{_NUMBER}), #queue-req: (?P<wait>\d+)",
    ),
    "sgl_prefill": _pattern(
        "Prefill batch",
        r"Prefill batch(?: \[\d+\])?[.,] #new-seq: \d+, #new-token: (?P<new>\d+), "
        r"#cached-token: (?P<cached>\d+), (?P<usage>[^\n]*?)#running-req: (?P<run>\d+)",
    ),
    "sgl_pool": _pattern(
        "is allocated. ",
        rf"KV Cache is allocated\. [^\n]*?#tokens: (?P<tok>\d+), "
        rf"(?:K size: (?P<k>{_NUMBER}) GB, V size: (?P<v>{_NUMBER}) GB|"
        rf"KV size: (?P<kv>{_NUMBER}) GB)",
    ),
    "sgl_max": _pattern(
        "max_total_num_tokens=",
        r"max_total_num_tokens=(?P<tok>\d+), chunked_prefill_size=(?P<chunk>-?\d+|None), "
        r"max_prefill_tokens=\d+, max_running_requests=(?P<mrr>\d+), "
        r"[^\n]*?context_len=(?P<ctx>\d+)",
    ),
    "sgl_retract": _pattern(
        "#retracted_reqs: ",
        r"(?:KV cache pool is full\. Retract requests|Decode out of memory happened)\. "
        r"#retracted_reqs: (?P<n>\d+)",
    ),
    "sgl_weights": _pattern(
        "Load weight end. ",
        rf"Load weight end\. (?:type=(?P<model>\w+), )?[^\n]*?mem usage=(?P<gib>{_NUMBER}) GB",
    ),
    "sgl_graph": _pattern(
        "Capture cuda graph end. ",
        rf"Capture cuda graph end\. [^\n]*?mem usage=(?P<gib>-?{_NUMBER}) GB",
    ),
    # TensorRT-LLM.
    "trt_kv": _pattern(
        "max tokens in paged KV cache (",
        rf"Allocated (?P<gib>{_NUMBER}) GiB for max tokens in paged KV cache \((?P<tok>\d+)\)",
    ),
    "trt_blocks": _pattern(
        "blocks in KV cache primary pool: ",
        r"Number of blocks in KV cache primary pool: (?P<n>\d+)",
    ),
    "trt_batch": _pattern("maxBatchSize: ", r"TRTGptModel maxBatchSize: (?P<n>\d+)"),
    "trt_length": _pattern("maxSequenceLen: ", r"TRTGptModel maxSequenceLen: (?P<n>\d+)"),
    "trt_memory": _pattern(
        "calculating max tokens in paged kv cache: total: ",
        rf"calculating max tokens in paged kv cache: total: (?P<total>{_NUMBER}) GiB",
    ),
}


def tidy(line: str) -> str:
    r"""Return a line without colours and without the return of a terminal's line.

    Examples
    --------
    >>> tidy("\x1b[36m(APIServer pid=1)\x1b[0m INFO [1;36mready[0m\r")
    '(APIServer pid=1) INFO ready'
    """
    if "\x1b" in line or ("m" in line and _LEFT_OF_ANSI.search(line)):
        line = ANSI.sub("", line)
    return line.rstrip("\r")
