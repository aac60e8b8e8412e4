"""The time that a range of `nsightlens.annotate` takes where no profiler listens.

Usage: python -m benchmarks.annotate

Prints a line each for an empty context manager, for `nvtx.annotate` and for our ranges: nanoseconds
to make, enter and leave one, the best of some runs, and how many times as long as the empty one.
Wanted: under 2 us for ours.
"""

from __future__ import annotations

import importlib.util
import timeit

__all__ = ["COUNT", "best_ns", "measured"]

COUNT = 100_000
"""Ranges in a run; the best of seven counts."""
_RUNS = 7
_EMPTY = """
class Empty:
    __slots__ = ()
    def __enter__(self): pass
    def __exit__(self, *error): pass
"""
_STATEMENTS = {
    "empty context manager": ("with Empty(): pass", _EMPTY),
    "nsightlens.annotate.step": (
        "with step('decode', batch_size=8, context=500, query=1): pass",
        "from nsightlens.annotate import step",
    ),
    "nsightlens.annotate.op": (
        "with op('qkv_proj', flop=2.0e9, bytes=2.5e7): pass",
        "from nsightlens.annotate import op",
    ),
    "nvtx.annotate": (
        "with annotate('step v1 phase=decode', domain='nsightlens'): pass",
        "from nvtx import annotate",
    ),
}


def best_ns(statement: str, setup: str, count: int = COUNT) -> float:
    """Return the time that a statement takes.

    Returns
    -------
    float
        [ns] The mean of the fastest run.
    """
    return 1e9 * min(timeit.repeat(statement, setup, number=count, repeat=_RUNS)) / count


def measured(count: int = COUNT) -> dict[str, float]:
    """Return the time of each kind of range by its name [ns]; without ``nvtx``, not its own."""
    has_nvtx = importlib.util.find_spec("nvtx") is not None
    return {
        name: best_ns(statement, setup, count)
        for name, (statement, setup) in _STATEMENTS.items()
        if has_nvtx or not name.startswith("nvtx")
    }


def main() -> None:
    """Measure and print."""
    times = measured()
    empty_ns = times["empty context manager"]
    for name, time_ns in times.items():
        print(f"{name:<26} {time_ns:7.0f} ns  {time_ns / empty_ns:5.1f}x")


if __name__ == "__main__":
    main()
