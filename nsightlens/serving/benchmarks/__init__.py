"""Results of serving benchmarks -> parts of runs, a module or a few per tool.

- `vllm_bench`, `vllm_sweep`, `vllm_settings`, `vllm_offline`; `sglang_bench`, `sglang_offline`,
  `sglang_server_info`: clients of one family, over `client_run` and its `client_*`.
- `genai_perf`, `guidellm`, `inference_perf`, `inferencex`, `llm_d`, `llmperf`, `trtllm`,
  `llama_cpp`: the others, over `collected` (each value checked once), `named`, `doubts` and
  `several_runs`.
- `json_objects`, `stated_units`, `yaml_door`: how files are written.
"""
