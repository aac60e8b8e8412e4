"""One process that searches one target with atheris, until its time is up or it dies.

What a target raises is kept as a finding and the search goes on. What ends the process (a crash in
compiled code, a run that does not come back, memory without end) leaves its input beside the
findings too, written by libFuzzer, and `fuzz.campaign` starts the process again.
"""

from __future__ import annotations

import os
import random
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from fuzz.targets import Target

__all__ = ["MOST_SECONDS", "check_within_limits", "limit_memory", "search"]

MOST_SECONDS = 5.0
"""[s] Processor time that one input may take."""

MOST_MEMORY_BYTES = 1 << 30
"""[byte] What one input may take beyond what the process has without it."""

_HANG_SECONDS = 60  # processor time is measured above; this ends what does not come back at all


def search(name: str, corpus: Path, until: float) -> None:
    """Search one target until a time [s since the epoch]; ends the process.

    Parameters
    ----------
    name
        A key of `fuzz.targets.TARGETS`.
    corpus
        Folder with the inputs to begin with, which gets those that reach something new.
    until
        When to end.
    """
    import atheris

    with atheris.instrument_imports(include=["nsightlens"]):
        from fuzz import findings
        from fuzz.targets import TARGETS
    target = TARGETS[name]

    def run(data: bytes) -> None:
        try:
            check_within_limits(target.check, data)
        except Exception as error:
            print(f"finding: {findings.keep(name, data, error)}", file=sys.stderr, flush=True)

    def change(part: bytes, most_bytes: int) -> bytes:
        # Looked up at each call: atheris puts the real one in its place as the search begins.
        return bytes(atheris.Mutate(part, most_bytes))

    options = [
        f"-max_len={target.most_bytes}",
        f"-timeout={_HANG_SECONDS}",
        "-rss_limit_mb=3072",
        f"-artifact_prefix={findings.FOLDER}/{name}-",
        "-print_final_stats=1",
        f"-max_total_time={max(1, round(until - time.time()))}",
    ]
    atheris.Setup([sys.argv[0], str(corpus), *options], run, **_hooks(target, change))
    limit_memory()
    atheris.Fuzz()


def _hooks(target: Target, change: Callable[[bytes, int], bytes]) -> dict[str, Any]:
    """Return what atheris calls to make new inputs of old ones, for `atheris.Setup`."""
    hooks: dict[str, Any] = {}
    mutate, cross = target.mutate, target.cross
    if mutate is not None:
        hooks["custom_mutator"] = lambda data, most_bytes, seed: mutate(
            data, random.Random(seed), most_bytes, lambda part: change(part, most_bytes)
        )
    if cross is not None:
        hooks["custom_crossover"] = lambda data, other, most_bytes, seed: cross(
            data, other, random.Random(seed), most_bytes
        )
    return hooks


def check_within_limits(check: Callable[[bytes], None], data: bytes) -> None:
    """Check one input, and that it took no more time than it may."""
    from fuzz.promise import Finding

    start = time.process_time()
    check(data)
    if time.process_time() - start > MOST_SECONDS:
        raise Finding(f"one input took more than {MOST_SECONDS:g} s")


def limit_memory() -> None:
    """Let whoever asks for too much memory have a MemoryError instead."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + MOST_MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.RLIM_INFINITY))
