"""Kernel names: family, subtype, phase, data types and a short name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nsightlens.kernels.model import FAMILIES, KernelName
from nsightlens.kernels.parse import parse_kernel_name

if TYPE_CHECKING:
    from nsightlens.kernels.columns import parse_kernel_names, parse_launch_kernels
    from nsightlens.kernels.user_rules import KernelRules, UserRules, read_user_rules, user_rules_of

__all__ = [
    "FAMILIES",
    "KernelName",
    "KernelRules",
    "UserRules",
    "parse_kernel_name",
    "parse_kernel_names",
    "parse_launch_kernels",
    "read_user_rules",
    "user_rules_of",
]

# Read when they are asked for: Arrow is only needed for whole columns, and few people have rules.
_LATER = {
    "KernelRules": "user_rules",
    "UserRules": "user_rules",
    "parse_kernel_names": "columns",
    "parse_launch_kernels": "columns",
    "read_user_rules": "user_rules",
    "user_rules_of": "user_rules",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f"nsightlens.kernels.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
