"""Names that tables of runs use for the columns of ``serving_runs``: a list to add to.

Words are in lower case and joined by ``_``, without the unit and without the statistic where those
are taken apart (`plain_names`). The number is a rank: of several headers of one column, the lowest
counts.
"""

from __future__ import annotations

__all__ = ["ALIASES", "BATCHES", "LATENCIES", "MEMORIES", "SHARES", "STATISTICS"]

STATISTICS = {
    "mean": "mean", "avg": "mean", "average": "mean",
    "median": "median", "p50": "median",
    "p99": "p99", "99th": "p99",
}  # fmt: skip

_E2E = "latency_is_e2e"
LATENCIES = {
    "itl": ("itl", ""),
    "inter_token_latency": ("itl", ""),
    "intertoken_latency": ("itl", ""),
    "inter_token_time": ("itl", ""),
    "time_between_tokens": ("itl", ""),
    "tbt": ("itl", ""),
    # One token per sequence and step.
    "step": ("itl", "step_is_itl"),
    "step_time": ("itl", "step_is_itl"),
    "decode_step": ("itl", "step_is_itl"),
    "decode_step_time": ("itl", "step_is_itl"),
    "tpot": ("tpot", ""),
    "time_per_output_token": ("tpot", ""),
    "ttft": ("ttft", ""),
    "time_to_first_token": ("ttft", ""),
    "e2e": ("e2e", ""),
    "e2el": ("e2e", ""),
    "e2e_latency": ("e2e", ""),
    "end_to_end_latency": ("e2e", ""),
    "request_latency": ("e2e", ""),
    "latency": ("e2e", _E2E),
}
"""Latency without unit and statistic -> what it is of, and what to remark."""

BATCHES = {
    "batch": 0, "batch_size": 0, "bs": 1, "bsz": 1, "b": 2, "batchsize": 0, "global_batch_size": 1,
}  # fmt: skip

MEMORIES = {
    **dict.fromkeys(
        ("kv", "kv_pool", "kv_cache", "kv_cache_size", "kv_pool_size", "kv_memory", "kv_size",
         "kv_cache_memory", "available_kv_cache_memory", "gpu_kv_cache"),
        "kv_pool_gib",
    ),
    **dict.fromkeys(
        ("total", "total_memory", "gpu_memory", "total_gpu_memory", "device_memory", "vram",
         "memory_total", "hbm"),
        "total_memory_gib",
    ),
    **dict.fromkeys(
        ("weights", "weight", "model_weights", "weights_memory", "model_memory", "model_size"),
        "weights_gib",
    ),
    **dict.fromkeys(("peak_torch", "peak_torch_memory", "torch_peak"), "peak_torch_gib"),
    **dict.fromkeys(("non_torch", "non_torch_memory"), "non_torch_gib"),
    **dict.fromkeys(("cuda_graph", "cuda_graphs", "graph_memory", "graphs"), "cuda_graph_gib"),
}  # fmt: skip
"""Memory without its unit."""

SHARES = {
    **dict.fromkeys(
        ("kv_peak", "kv_max", "max_kv", "peak_kv", "kv_usage_peak", "kv_usage_max", "max_kv_usage",
         "peak_kv_usage", "kv_cache_peak", "max_kv_cache_usage", "kv_cache_usage_max",
         "peak_kv_cache_usage", "kv_cache_usage_peak", "max_kv_cache", "kv_peak_usage"),
        ("kv_peak_pct", "plain", 1),
    ),
    **dict.fromkeys(("kv_peak_each", "kv_peaks"), ("kv_peak_pct", "largest", 0)),
    **dict.fromkeys(
        ("kv_mean", "mean_kv", "avg_kv", "kv_avg", "mean_kv_usage", "kv_usage_mean",
         "avg_kv_usage", "kv_usage_avg", "mean_kv_cache_usage", "kv_cache_usage_mean"),
        ("kv_mean_pct", "plain", 0),
    ),
    **dict.fromkeys(
        ("prefix_hit", "prefix_hit_rate", "prefix_cache_hit", "prefix_cache_hit_rate",
         "cache_hit_rate"),
        ("prefix_hit_pct", "plain", 0),
    ),
    **dict.fromkeys(
        ("attention", "attention_share", "attention_time", "attn", "attn_share", "attn_time"),
        ("attention_share_pct", "plain", 0),
    ),
    **dict.fromkeys(
        ("matmul", "matmul_share", "matmul_time", "gemm", "gemm_share", "gemm_time",
         "linear_share"),
        ("matmul_share_pct", "plain", 0),
    ),
    **dict.fromkeys(
        ("cpu_time", "cpu_share", "host", "host_share", "host_time", "cpu_time_share"),
        ("host_share_pct", "plain", 0),
    ),
    **dict.fromkeys(("gpu_busy", "gpu_busy_share"), ("gpu_busy_pct", "plain", 0)),
    **dict.fromkeys(("dram_active",), ("dram_active_pct", "plain", 0)),
}  # fmt: skip
"""Shares without their unit: column, how a cell becomes the value, rank."""

ALIASES = {
    # What a cell holds where it stands for one server is a list with one each.
    "kv_peak_pct_server0": ("kv_peak_pct", "plain", 3),
    "kv_peak_pct_each": ("kv_peak_pct", "largest", 0),
    "kv_peak_each": ("kv_peak_pct", "largest", 0),
    "gpu_blocks": ("kv_block_count", "plain", 1),
    "num_gpu_blocks": ("kv_block_count", "plain", 1),
    "kv_blocks": ("kv_block_count", "plain", 1),
    "num_kv_blocks": ("kv_block_count", "plain", 1),
    "gpu_blocks_each": ("kv_block_count", "smallest", 0),
    "kv_tokens": ("kv_pool_tokens", "plain", 0),
    "kv_cache_tokens": ("kv_pool_tokens", "plain", 0),
    "max_total_num_tokens": ("kv_pool_tokens", "plain", 0),
    # Under these names vLLM exports fractions.
    "max_gpu_cache_usage_perc": ("kv_peak_pct", "fraction", 2),
    "max_kv_cache_usage_perc": ("kv_peak_pct", "fraction", 2),
    # What was served, and on what.
    "model_id": ("model", "plain", 1),
    "model_name": ("model", "plain", 1),
    "framework": ("engine", "plain", 1),
    "backend": ("engine", "backend", 3),
    "framework_version": ("engine_version", "plain", 1),
    "gpu": ("device_name", "plain", 1),
    "gpu_name": ("device_name", "plain", 1),
    "gpu_type": ("device_name", "plain", 1),
    "hardware": ("device_name", "plain", 1),
    "hw": ("device_name", "plain", 1),
    "device": ("device_name", "plain", 1),
    "accelerator": ("device_name", "plain", 1),
    "gpus": ("gpu_count", "plain", 1),
    "num_gpus": ("gpu_count", "plain", 1),
    "num_of_hardware": ("gpu_count", "plain", 1),
    "tp": ("tensor_parallel_size", "plain", 1),
    "tp_size": ("tensor_parallel_size", "plain", 1),
    "tensor_parallel": ("tensor_parallel_size", "plain", 1),
    "precision": ("dtype", "plain", 1),
    "data_type": ("dtype", "plain", 1),
    "quant": ("quantization", "plain", 1),
    "kv_dtype": ("kv_cache_dtype", "plain", 1),
    "dataset": ("workload", "plain", 1),
    "dataset_name": ("workload", "plain", 1),
    # Settings of the server.
    "mns": ("max_num_seqs", "plain", 1),
    "max_batch_size": ("max_num_seqs", "plain", 2),
    "max_running_requests": ("max_num_seqs", "plain", 1),
    "max_num_sequences": ("max_num_seqs", "plain", 1),
    "mnbt": ("max_num_batched_tokens", "plain", 1),
    "max_num_tokens": ("max_num_batched_tokens", "plain", 2),
    "max_context_length": ("max_model_len", "plain", 1),
    "gmu": ("gpu_memory_utilization", "plain", 1),
    "gpu_mem_util": ("gpu_memory_utilization", "plain", 1),
    "gpu_memory_util": ("gpu_memory_utilization", "plain", 1),
    "mem_fraction_static": ("gpu_memory_utilization", "plain", 1),
    "chunked": ("chunked_prefill", "plain", 1),
    "enable_chunked_prefill": ("chunked_prefill", "plain", 1),
    "prefix_cache": ("prefix_caching", "plain", 1),
    "enable_prefix_caching": ("prefix_caching", "plain", 1),
    "moe": ("mixture_of_experts", "plain", 1),
    "num_scheduler_steps": ("scheduler_steps", "plain", 1),
    "num_replicas": ("replicas", "plain", 1),
    "replica_count": ("replicas", "plain", 1),
    "servers": ("replicas", "plain", 1),
    "num_servers": ("replicas", "plain", 1),
    # Settings of the client.
    "request_rate": ("request_rate_per_s", "plain", 1),
    "requested_rate": ("request_rate_per_s", "plain", 1),
    "qps": ("request_rate_per_s", "plain", 2),
    "conc": ("max_concurrency", "plain", 1),
    "concurrent_requests": ("max_concurrency", "plain", 1),
    "num_concurrent_requests": ("max_concurrency", "plain", 1),
    "concurrent_users": ("max_concurrency", "plain", 1),
    "num_users": ("max_concurrency", "plain", 1),
    "users": ("max_concurrency", "plain", 1),
    "prompts": ("prompt_count", "plain", 1),
    "num_prompts": ("prompt_count", "plain", 1),
    "num_requests": ("prompt_count", "plain", 2),
    # What happened.
    "completed": ("completed_count", "plain", 1),
    "completed_requests": ("completed_count", "plain", 1),
    "successful_requests": ("completed_count", "plain", 1),
    "failed": ("failed_count", "plain", 1),
    "failed_requests": ("failed_count", "plain", 1),
    "in_tok": ("input_token_count", "plain", 1),
    "in_tokens": ("input_token_count", "plain", 1),
    "total_input_tokens": ("input_token_count", "plain", 1),
    "total_input": ("input_token_count", "plain", 1),
    "out_tok": ("output_token_count", "plain", 1),
    "out_tokens": ("output_token_count", "plain", 1),
    "total_output_tokens": ("output_token_count", "plain", 1),
    "total_generated_tokens": ("output_token_count", "plain", 1),
    "mean_in_tok": ("mean_input_tokens", "plain", 1),
    "avg_input_tokens": ("mean_input_tokens", "plain", 1),
    "mean_input_len": ("mean_input_tokens", "plain", 1),
    "mean_out_tok": ("mean_output_tokens", "plain", 1),
    "avg_output_tokens": ("mean_output_tokens", "plain", 1),
    "mean_output_len": ("mean_output_tokens", "plain", 1),
    "total_token_throughput": ("total_tok_per_s", "plain", 1),
    # What ran at once.
    "mean_running_in_window": ("mean_running", "plain", 0),
    "running": ("mean_running", "plain", 2),
    "avg_running": ("mean_running", "plain", 2),
    "running_batch": ("mean_running", "plain", 2),
    "mean_running_requests": ("mean_running", "plain", 2),
    "avg_running_requests": ("mean_running", "plain", 2),
    "peak_running": ("max_running", "plain", 1),
    "avg_waiting": ("mean_waiting", "plain", 1),
    "mean_concurrency": ("concurrency", "plain", 1),
    "avg_concurrency": ("concurrency", "plain", 1),
    "preemptions": ("preemption_count", "plain", 1),
    "num_preemptions": ("preemption_count", "plain", 1),
    "num_preemptions_total": ("preemption_count", "plain", 1),
    "preempted": ("preemption_count", "happened", 2),
    "has_preemptions": ("preemption_count", "happened", 2),
    # The GPU.
    "throttled": ("clock_limited", "plain", 1),
    # Nominal lengths: they tell runs of different work apart.
    **dict.fromkeys(("input_len", "input_length", "isl", "prompt_len", "prompt_length",
                     "random_input_len"), ("?input_len", "plain", 1)),
    **dict.fromkeys(("output_len", "output_length", "osl", "gen_len", "random_output_len"),
                    ("?output_len", "plain", 1)),
}  # fmt: skip
"""Headers as a whole: column, how a cell becomes the value, rank."""
