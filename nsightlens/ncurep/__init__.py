"""The .ncu-rep file format: reader and writer, knowing nothing of analysis.

``model`` is what a file holds, as plain Python data. Reading: ``wire`` (protobuf fields),
``container`` (blocks and entries), ``scan`` (metrics into columns), ``results``, ``nvtx``,
``rules`` and ``session`` (the other messages), ``command_line`` (options of ncu), ``faults``
(damage told as typed errors) and ``read``, the door. Writing: ``spec`` (what to write),
``encode``, ``write_result`` and ``write``. Copying: ``rewrite`` (block by block), ``slice`` (some
of the launches) and ``redact`` (without what names people, machines and programs), with
``redacted_fields`` (what becomes of each field) and ``leftovers`` (what still names something).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nsightlens.ncurep.read import read_columns, read_ncu_rep

if TYPE_CHECKING:
    from nsightlens.ncurep.model import (
        NcuRepFile,
        NvtxDomainState,
        NvtxRange,
        ProcessInfo,
        RuleMessage,
        SessionInfo,
    )
    from nsightlens.ncurep.redact import Redaction, Remaining, redact_ncu_rep
    from nsightlens.ncurep.slice import slice_ncu_rep
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
    "Redaction",
    "Remaining",
    "ReportSpec",
    "RuleMessage",
    "SessionInfo",
    "encode_ncu_rep",
    "read_columns",
    "read_ncu_rep",
    "redact_ncu_rep",
    "slice_ncu_rep",
    "write_ncu_rep",
]

_MODEL = ("NcuRepFile", "NvtxDomainState", "NvtxRange", "ProcessInfo", "RuleMessage", "SessionInfo")
_SPEC = ("LaunchSpec", "Layout", "MetricSpec", "ReportSpec")
_REDACT = ("Redaction", "Remaining", "redact_ncu_rep")
_WRITE = ("encode_ncu_rep", "write_ncu_rep")
_HOME = {
    **dict.fromkeys(_MODEL, "nsightlens.ncurep.model"),
    **dict.fromkeys(_REDACT, "nsightlens.ncurep.redact"),
    "slice_ncu_rep": "nsightlens.ncurep.slice",
    **dict.fromkeys(_SPEC, "nsightlens.ncurep.spec"),
    **dict.fromkeys(_WRITE, "nsightlens.ncurep.write"),
}


def __getattr__(name: str) -> Any:
    # Whoever only reads does not wait for the writer.
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
