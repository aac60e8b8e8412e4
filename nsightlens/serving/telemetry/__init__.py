"""Samples over time -> parts of runs: Prometheus, nvidia-smi, DCGM.

- `prometheus_csv`, `prometheus_text`, `prometheus_statistics`, `exposition`, `sample_columns`,
  `sample_series`: metrics of a server.
- `nvidia_smi`, `nvidia_dmon`, `dcgm`, `gpu_rows`: telemetry of GPUs.
"""
