"""The .ncu-rep file format: reader and writer, knowing nothing of analysis.

``model`` is what a file holds, as plain Python data. Reading: ``wire`` (protobuf fields),
``container`` (blocks and entries), ``scan`` (metrics into columns), ``results``, ``nvtx``,
``rules`` and ``session`` (the other messages), ``faults`` (damage told as typed errors) and
``read``, the door. Writing: ``spec`` (what to write), ``encode``, ``write_result``
and ``write``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nsightlens.ncurep.read import read_ncu_rep

if TYPE_CHECKING:
    from nsightlens.ncurep.model import (
        NcuRepFile,
        NvtxDomainState,
        NvtxRange,
        ProcessInfo,
        RuleMessage,
        SessionInfo,
    )
    from nsightlens.ncurep.spec import LaunchSpec, Layout, MetricSpec, ReportSpec
    from nsightlens.ncurep.write import encode_ncu_rep, write_ncu_rep

__all__ = [
    "LaunchSpec",
    "Layout",
    "MetricSpec",
    "NcuRepFile",
    "NvtxDomainState",
    "NvtxRange",
    "ProcessInfo",
    "ReportSpec",
    "RuleMessage",
    "SessionInfo",
    "encode_ncu_rep",
    "read_ncu_rep",
    "write_ncu_rep",
]

_MODEL = ("NcuRepFile", "NvtxDomainState", "NvtxRange", "ProcessInfo", "RuleMessage", "SessionInfo")
_SPEC = ("LaunchSpec", "Layout", "MetricSpec", "ReportSpec")
_WRITE = ("encode_ncu_rep", "write_ncu_rep")
_HOME = {
    **dict.fromkeys(_MODEL, "nsightlens.ncurep.model"),
    **dict.fromkeys(_SPEC, "nsightlens.ncurep.spec"),
    **dict.fromkeys(_WRITE, "nsightlens.ncurep.write"),
}


def __getattr__(name: str) -> Any:
    # Whoever only reads does not wait for the writer.
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
