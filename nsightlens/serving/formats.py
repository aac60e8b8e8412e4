"""The readers of all formats, in the order in which they are asked whether a file is theirs."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from nsightlens.errors import ServingFileError

if TYPE_CHECKING:
    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.part import Format

__all__ = ["MODULES", "format_of", "formats"]

MODULES: tuple[str, ...] = (
    "benchmarks.inferencex",
    "benchmarks.vllm_bench",
    "benchmarks.vllm_offline",
    "benchmarks.sglang_bench",
    "benchmarks.sglang_offline",
    "benchmarks.genai_perf",
    "benchmarks.guidellm",
    "benchmarks.inference_perf",
    "benchmarks.llm_d",
    "benchmarks.llmperf",
    "benchmarks.trtllm",
    "benchmarks.llama_cpp",
    "logs.server_log",
    "telemetry.prometheus_text",
    "telemetry.nvidia_smi",
    "telemetry.dcgm",
    "telemetry.prometheus_csv",
    "tabular.argonne",
    "tabular.mlperf_table",
    "tabular.other_tables",
    "tabular.plain_table",
)
"""Modules of this package with a tuple ``FORMATS``; the one whose claim is the weakest is last."""


@cache
def formats() -> tuple[Format, ...]:
    """Return every format that is known, in the order of the asking."""
    modules = (import_module(f"nsightlens.serving.{name}") for name in MODULES)
    return tuple(one for module in modules for one in module.FORMATS)


def format_of(file: OpenedFile) -> Format | None:
    """Return the format that claims a file; None where nobody knows it.

    Raises
    ------
    ServingFileError
        The file is empty.
    """
    if not file.byte_count:
        raise ServingFileError(file.shown, "is empty", "Run the benchmark again, or remove it.")
    return next((one for one in _in_order(file.path.suffix.lower()) if one.claims(file)), None)


_LIKELY = {
    ".csv": ("nvidia-smi", "nvidia-smi-dmon", "prometheus-csv", "aiperf-server-metrics"),
    ".log": ("trtllm-bench-console", "llama-batched-bench", "llama-bench", "server-log"),
    ".txt": ("trtllm-bench-console", "llama-batched-bench", "llama-bench", "server-log"),
    ".json": ("vllm-bench",),
    ".jsonl": ("vllm-bench", "sglang-bench"),
}
"""Formats that a suffix makes likely: to ask them first saves asking all others. No two formats
claim one file but for tables, of which any is one, and which are asked last."""


@cache
def _in_order(suffix: str) -> tuple[Format, ...]:
    likely = _LIKELY.get(suffix, ())
    return tuple(sorted(formats(), key=lambda one: one.name not in likely))
