"""Decode steps under NVIDIA's profilers: what to run, where it is kept, and what went wrong.

- `nsightlens.harness.run`: `profile`, from a request to a run folder.
- `nsightlens.harness.plan`: what is asked for, and the parts and command lines that it becomes.
- `nsightlens.harness.options`: the program, and what each profiler is told.
- `nsightlens.harness.execute`, `look`, `failures`, `checked`: one part, and what became of it.
- `nsightlens.harness.run_folder`, `manifest`, `results`: what is kept, and how.
- `nsightlens.harness.progress`: how far a run has come.
- `nsightlens.harness.ncu_command`, `nsys_command`, `ncu_metrics`, `nvtx_filter`: command lines.
- `nsightlens.harness.tools`, `host`: what is installed, and on what machine.
- `nsightlens.harness.recipes`: what the engines need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nsightlens.harness.options import NcuOptions, NsysOptions, Target
    from nsightlens.harness.plan import Decode, Request
    from nsightlens.harness.run import Listener, ProfileRun, planned, profile

__all__ = [
    "Decode",
    "Listener",
    "NcuOptions",
    "NsysOptions",
    "ProfileRun",
    "Request",
    "Target",
    "planned",
    "profile",
]

# Imported when first used: the command line needs the options alone to build its parser.
_HOME = {
    "Decode": "plan",
    "Listener": "run",
    "NcuOptions": "options",
    "NsysOptions": "options",
    "ProfileRun": "run",
    "Request": "plan",
    "Target": "options",
    "planned": "run",
    "profile": "run",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'nsightlens.harness' has no attribute {name!r}")
    return getattr(import_module(f"nsightlens.harness.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
