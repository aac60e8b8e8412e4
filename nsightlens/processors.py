"""How many processors there are to share, and whether this process is one of those that share them.

Apart from `nsightlens.worker`, whose imports take longer than many a command.
"""

from __future__ import annotations

import os

__all__ = ["is_worker", "mark_as_worker", "processor_count"]

_serving: list[bool] = []


def processor_count() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def is_worker() -> bool:
    """Tell whether this is the process of a `nsightlens.worker.Worker`."""
    return bool(_serving)


def mark_as_worker() -> None:
    """Note that it is."""
    _serving.append(True)
