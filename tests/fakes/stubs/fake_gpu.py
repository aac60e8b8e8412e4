"""The GPU that the fake profilers see: notes launches and NVTX events of the process it is in.

Stands in front of ``PYTHONPATH`` of a target that `support.fake_target` starts. Every event is one
line of JSON at the end of the file that ``FAKE_PROFILER_RECORDS`` names, written by one call, so
that the lines of all threads and processes of the target are in one order. Loads little: it is in
every Python process that the target starts.

``FAKE_TARGET_FAIL=KIND`` or ``KIND@EXPRESSION`` makes the target fail at the first range, or at
the first whose name the regular expression finds: ``crash`` (an exception), ``exit`` (code 3
without a word), ``abort`` (a signal), ``oom`` (the exception of torch), ``hang`` (for ever, with a
grandchild that ignores the polite signal).
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from typing import Any

RECORDS = "FAKE_PROFILER_RECORDS"
FAIL = "FAKE_TARGET_FAIL"

_file = -1
_process = -1


def note(what: str, **facts: Any) -> None:
    """Note one event, where a fake profiler listens."""
    global _file, _process  # noqa: PLW0603 - one file for the process
    path = os.environ.get(RECORDS)
    if path is None:
        return
    if _file < 0:
        _file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC)
    process = os.getpid()
    line = ""
    if process != _process:  # a first event, also of a child that was forked
        _process = process
        line = _line("process", {"executable": os.path.realpath(sys.executable)})
    os.write(_file, (line + _line(what, facts)).encode())


def launch(
    name: str = "kernel",
    *,
    grid: tuple[int, int, int] = (132, 1, 1),
    block: tuple[int, int, int] = (128, 1, 1),
    flop: float = 0.0,
    bytes: float = 1e6,  # noqa: A002 - the word of the annotations
    tensor: bool = False,
    graph_node: int | None = None,
) -> None:
    """Launch a kernel by name, with the work that it does.

    ``tensor`` says that its operations are those of tensor cores; ``graph_node`` that it is a
    node of a CUDA graph.
    """
    facts = {"name": name, "grid": grid, "block": block, "flop": flop, "bytes": bytes}
    note("launch", **facts, tensor=tensor, node=graph_node)


def copy(bytes: float = 1e6, kind: str = "HtoD") -> None:  # noqa: A002 - as above
    """Copy memory: ``HtoD``, ``DtoH`` or ``DtoD``."""
    note("copy", bytes=bytes, kind=kind)


def profiler_start() -> None:
    """Do what cudaProfilerStart does."""
    note("profiler", on=True)


def profiler_stop() -> None:
    """Do what cudaProfilerStop does."""
    note("profiler", on=False)


def fail_at(text: str) -> None:
    """Fail as the environment asks for, where this range is the one.

    Raises
    ------
    RuntimeError
        A crash was asked for.
    """
    kind, _, expression = os.environ.get(FAIL, "").partition("@")
    if not kind or not re.search(expression, text):
        return
    if kind == "hang":
        _hang()
    elif kind == "abort":
        os.kill(os.getpid(), signal.SIGABRT)
    elif kind == "exit":
        os._exit(3)
    elif kind == "oom":
        raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB.")
    else:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")


def _hang() -> None:
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"
    child = subprocess.Popen([sys.executable, "-S", "-c", deaf])
    note("hang", child=child.pid)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(3600)


def _line(what: str, facts: dict[str, Any]) -> str:
    event = {"what": what, "pid": _process, "tid": threading.get_native_id(), **facts}
    return json.dumps(event) + "\n"
