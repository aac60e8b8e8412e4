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
    "inferencex",
    "vllm_bench",
    "vllm_offline",
    "sglang_bench",
    "sglang_offline",
    "genai_perf",
    "guidellm",
    "inference_perf",
    "llm_d",
    "llmperf",
    "trtllm",
    "llama_cpp",
    "server_log",
    "prometheus_text",
    "nvidia_smi",
    "dcgm",
    "prometheus_csv",
    "argonne",
    "mlperf_table",
    "other_tables",
    "plain_table",
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
    return next((one for one in formats() if one.claims(file)), None)
