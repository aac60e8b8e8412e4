"""Kernel names: family, subtype, phase, data types and a short name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.kernels.model import FAMILIES, KernelName
from nsightlens.kernels.parse import parse_kernel_name

if TYPE_CHECKING:
    from nsightlens.kernels.columns import parse_kernel_names, parse_launch_kernels

__all__ = [
    "FAMILIES",
    "KernelName",
    "parse_kernel_name",
    "parse_kernel_names",
    "parse_launch_kernels",
]


def __getattr__(name: str) -> Any:
    if name in {"parse_kernel_names", "parse_launch_kernels"}:
        # Arrow is only needed for whole columns.
        from nsightlens.kernels import columns  # noqa: PLC0415

        return getattr(columns, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
