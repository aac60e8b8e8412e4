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
    from nsightlens.ncurep.spec import LaunchSpec, ReportSpec
    from nsightlens.ncurep.write import encode_ncu_rep, write_ncu_rep

__all__ = ["LaunchSpec", "ReportSpec", "encode_ncu_rep", "read_ncu_rep", "write_ncu_rep"]

_HOME = {
    "LaunchSpec": "nsightlens.ncurep.spec",
    "ReportSpec": "nsightlens.ncurep.spec",
    "encode_ncu_rep": "nsightlens.ncurep.write",
    "write_ncu_rep": "nsightlens.ncurep.write",
}


def __getattr__(name: str) -> Any:
    # Whoever only reads does not wait for the writer.
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
