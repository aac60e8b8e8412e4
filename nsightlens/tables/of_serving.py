"""What serving benchmarks, server logs and telemetry say of the runs of an LLM server.

``serving_runs`` has a row per run of a benchmark, ``serving_origins`` says for each of its values
which file it came from, and ``advice_curve`` is what the advisor works on: the runs of one setup
in the order of batch size.
"""

from __future__ import annotations

from nsightlens.tables.column import Column, category, flag, real, text, whole

__all__ = ["ADVICE_CURVE", "ADVICE_REPLICAS", "SERVING_FILES", "SERVING_ORIGINS", "SERVING_RUNS"]


def _latency(name: str, meaning: str) -> tuple[Column, ...]:
    return tuple(
        real(f"{one}_{name}_ms", "ms", f"{words} of {meaning}")
        for one, words in (("mean", "mean"), ("median", "median"), ("p99", "99th percentile"))
    )


SERVING_RUNS: tuple[Column, ...] = (
    text("run", "name of the run within what was opened: its path, and its place in the file"),
    # What was served, and on what.
    category("model", "model as the files name it, without folders"),
    category("model_id", "model as the files name it, with its folders: what a server is started with"),
    category("engine", "vllm, sglang, tensorrt-llm, llama.cpp, ...; null where only the client's protocol is known"),
    category("engine_version", "as the server says it"),
    category("device_name", "GPU, as the files name it"),
    whole("gpu_count", "GPUs of one server"),
    whole("tensor_parallel_size", "GPUs that share each layer"),
    category("dtype", "data type of weights and activations"),
    category("quantization", "quantization of weights, as the files name it"),
    category("kv_cache_dtype", "data type of the KV cache"),
    category("workload", "dataset or lengths that tell runs of different work apart, such as sharegpt or in1024_out128"),
    # Settings of the server.
    whole("max_num_seqs", "most sequences that the server runs at once (SGLang: max_running_requests)"),
    whole("max_num_batched_tokens", "most tokens in a step", "token"),
    whole("max_model_len", "longest context", "token"),
    whole("block_size", "tokens of a KV block", "token"),
    real("gpu_memory_utilization", "1", "part of the memory that the server may use (SGLang: mem_fraction_static)"),
    flag("chunked_prefill", "prompts are processed in pieces beside decoding"),
    flag("prefix_caching", "KV blocks of equal prompt beginnings are shared"),
    flag("speculative", "several tokens per sequence and step are drafted and checked"),
    whole("scheduler_steps", "decode steps per scheduling step"),
    flag("mixture_of_experts", "the model routes tokens to experts"),
    whole("replicas", "servers that share the GPU; 1 where nothing says otherwise"),
    flag("mps", "the replicas run under NVIDIA MPS"),
    # Settings of the client.
    real("request_rate_per_s", "1/s", "requests sent per second; infinite where all are sent at once"),
    whole("max_concurrency", "most requests in flight that the client allows"),
    whole("static_batch_size", "sequences that run in lock-step: the batch, where there is no scheduler"),
    whole("prompt_count", "requests sent"),
    # What happened.
    whole("completed_count", "requests that succeeded"),
    whole("failed_count", "requests that failed"),
    real("duration_s", "s", "first send to last completion"),
    whole("input_token_count", "prompt tokens of what succeeded", "token"),
    whole("output_token_count", "generated tokens of what succeeded", "token"),
    real("mean_input_tokens", "token", "per request"),
    real("mean_output_tokens", "token", "per request"),
    real("requests_per_s", "1/s", "requests completed per second"),
    real("output_tok_per_s", "token/s", "generated tokens per second, over the whole duration"),
    real("total_tok_per_s", "token/s", "prompt and generated tokens per second"),
    real("decode_tok_per_s", "token/s", "generated tokens per second of decoding alone"),
    *_latency("itl", "the time between tokens, over all gaps of all requests"),
    *_latency("tpot", "a request's time per output token after the first"),
    *_latency("ttft", "the time to the first token, queueing included"),
    *_latency("e2e", "a request's whole latency"),
    # What ran at once.
    real("mean_running", "", "sequences that ran, mean within the duration"),
    real("mean_running_whole", "", "the same over all samples, before and after the duration too"),
    real("max_running", "", "most sequences that ran"),
    real("mean_waiting", "", "requests that waited in the server, mean within the duration"),
    real("concurrency", "", "requests in flight, mean: sum of latencies over the duration"),
    category("running_source", "where mean_running came from: samples, log, result or static"),
    # Memory.
    real("kv_peak_pct", "%", "largest use of the KV pool"),
    real("kv_mean_pct", "%", "mean use of the KV pool within the duration"),
    real("preemption_count", "", "sequences that lost their KV blocks; null where it is not known, which is not none"),
    real("kv_pool_gib", "GiB", "size of the KV pool of one server"),
    whole("kv_block_count", "KV blocks of the pool"),
    real("kv_pool_tokens", "token", "tokens that the pool holds"),
    real("total_memory_gib", "GiB", "memory of the GPU"),
    real("weights_gib", "GiB", "memory of the weights"),
    real("peak_torch_gib", "GiB", "weights and activations at their peak, as PyTorch counts"),
    real("non_torch_gib", "GiB", "memory beside PyTorch's: context, NCCL"),
    real("cuda_graph_gib", "GiB", "memory of CUDA graphs"),
    real("prefix_hit_pct", "%", "prompt tokens found in the prefix cache"),
    # The GPU.
    real("sm_clock_mhz", "MHz", "mean SM clock within the duration"),
    real("sm_clock_max_mhz", "MHz", "largest SM clock that the device allows or that was seen in any sample"),
    flag("clock_limited", "the device said that heat, power or hardware slowed its clock"),
    real("gpu_busy_pct", "%", "share of a step's wall time with a kernel on the GPU, from a profile; not utilization.gpu"),
    real("dram_active_pct", "%", "cycles with DRAM traffic, from DCGM"),
    # Time shares, where the files have them.
    real("attention_share_pct", "%", "share of attention in the time of a decode step"),
    real("matmul_share_pct", "%", "share of matrix products"),
    real("host_share_pct", "%", "share in which no kernel ran"),
)  # fmt: skip

SERVING_ORIGINS: tuple[Column, ...] = (
    text("run", "see serving_runs"),
    category("column", "column of serving_runs"),
    category("path", "file that the value came from"),
    text("where", "place in it: a line, a row, a key; empty for the whole file"),
    category("format", "what the file was read as"),
    category("derived", "how it was computed from what the file says; null where it stands there"),
)

SERVING_FILES: tuple[Column, ...] = (
    text("path", "file that was found"),
    category("format", "what it was read as; null where no reader knows it"),
    category("state", "read, refused (known, but of no use) or unknown"),
    whole("run_count", "runs that it gave values to"),
    text("reason", "why it was refused, and what to do; null where it was read"),
)

ADVICE_CURVE: tuple[Column, ...] = (
    text("run", "see serving_runs; runs of equal settings are joined with ' + '"),
    whole("run_count", "runs of equal settings that the row is the median of"),
    real("batch_size", "", "batch size as it was set: the number to serve with"),
    category("batch_source", "where batch_size came from: max_num_seqs, max_concurrency, static, prompt_count, concurrency, running, or name (of a file or folder)"),
    real("running_batch", "", "sequences that ran on average: what latency follows"),
    category("running_source", "mean_running, little (output rate times TPOT), concurrency, static or nominal"),
    real("itl_ms", "ms", "time between tokens that fits use"),
    category("itl_source", "column of serving_runs that itl_ms is"),
    *_latency("itl", "the time between tokens"),
    *_latency("tpot", "the time per output token after the first"),
    *_latency("ttft", "the time to the first token, queueing included"),
    real("throughput_tok_s", "token/s", "throughput that is maximised: total or output, see the advice"),
    real("total_tok_s", "token/s", "prompt and generated tokens per second"),
    real("output_tok_s", "token/s", "generated tokens per second"),
    real("requests_per_s", "1/s", "requests completed per second"),
    real("efficiency", "1", "T(B) / (B T(1)) with T in requests per second where known: 1 is linear scaling"),
    real("marginal_gain", "1", "throughput gained per sequence added since the row before, over T(1)"),
    real("share_of_best", "1", "throughput over the best of the sweep"),
    real("kv_peak_pct", "%", "largest use of the KV pool"),
    real("kv_pool_gib", "GiB", "size of the KV pool"),
    real("preemption_count", "", "sequences preempted; null where it is not known"),
    real("fit_weight", "1", "weight of the row in fits: 1, less where a flag says so, 0 where it is left out"),
    real("fitted_itl_ms", "ms", "time between tokens of the fitted law; null where the law does not hold"),
    text("flags", "keys of what weighs against the row, joined by ','; empty where nothing does"),
)  # fmt: skip

ADVICE_REPLICAS: tuple[Column, ...] = (
    whole("replicas", "servers that share the GPU"),
    real("batch_size", "", "batch size of each"),
    flag("mps", "under NVIDIA MPS"),
    real("gpu_memory_utilization", "1", "of each server"),
    real("kv_pool_gib", "GiB", "KV pool of each server"),
    real("kv_block_count", "", "KV blocks of each server"),
    real("kv_blocks_needed", "", "blocks that the batch needs at its peak, with the margin"),
    flag("fits", "the pool of each server holds what it needs"),
    category("origin", "measured or predicted"),
    real(
        "gain", "1", "throughput over one server of the same batch size; the bound where predicted"
    ),
    real("gain_bound", "1", "min(R, 1 / GPU busy share)"),
    real("throughput_tok_s", "token/s", "of all servers together; at the bound where predicted"),
    real("itl_ms", "ms", "time between tokens; at the bound where predicted"),
    flag("meets_slo", "itl_ms is within the limit; null without one"),
    text("note", "why it does not fit or what was measured"),
)
