"""What the measurements are to reach, and the lines that say whether they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.results import PEER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from benchmarks.results import NamesMeasured, Results
    from benchmarks.workloads import Workload

__all__ = ["names_verdict", "verdicts"]

ALL_METRICS_RATIO, FORTY_METRICS_RATIO = 100.0, 50.0
"""Times that NVIDIA's reader takes as long as ours, in process."""
MEMORY_RATIO = 5.0
"""Times that NVIDIA's reader takes as much memory as ours, whole process."""
LARGEST_S = 3.0
"""[s] For all metrics of the largest report, in process, with the file in the system's cache."""
TIME_GROWTH, MEMORY_GROWTH = 1.2, 1.05
"""Most that the time of a launch may grow with their number, and memory with heavier parts; not 1,
because two runs of the same differ too."""
MILLION_NAMES_S = 20.0
"""[s] For a million distinct kernel names; repeated ones may take a fiftieth of it."""


def names_verdict(found: NamesMeasured | None) -> Iterator[str]:
    """Yield a line for each target of kernel names, where there were as many as it is for."""
    if found is not None and found.name_count == 1_000_000:
        yield _at_most("1,000,000 distinct kernel names: seconds", found.seconds, MILLION_NAMES_S)
        text = "1,000,000 kernel names of 1,000: seconds"
        yield _at_most(text, found.repeated_s, MILLION_NAMES_S / 50)


def verdicts(results: Results, workloads: Mapping[str, Workload], reader: str) -> Iterator[str]:
    """Yield a line for each target that the run could measure.

    Parameters
    ----------
    results
        Everything measured.
    workloads
        By name.
    reader
        Whose results are to reach the targets.
    """
    for name in ("basic-2000", "full-200"):
        for read, wanted in (
            ("all metrics", ALL_METRICS_RATIO),
            ("40 metrics", FORTY_METRICS_RATIO),
        ):
            ours, theirs = results.get((name, read, reader)), results.get((name, read, PEER))
            if ours is None or theirs is None:
                continue
            if ours.in_process_s and theirs.in_process_s:
                ratio = theirs.in_process_s / ours.in_process_s
                yield _at_least(f"{name}, {read}: time of {PEER} / ours", ratio, wanted)
            memory = theirs.megabytes / ours.megabytes
            yield _at_least(f"{name}, {read}: memory of {PEER} / ours", memory, MEMORY_RATIO)
    largest = results.get(("basic-20000", "all metrics", reader))
    if largest is not None and largest.in_process_s:
        text = "basic-20000, all metrics: seconds"
        yield _at_most(text, largest.in_process_s, LARGEST_S)
    yield from _linearity(results, workloads, reader)
    yield from _skipped_parts(results, reader)


def _linearity(results: Results, workloads: Mapping[str, Workload], reader: str) -> Iterator[str]:
    """Say whether a launch of a long report takes as long as one of a short one."""
    pair = [
        (workloads[name].launch_count, results.get((name, "all metrics", reader)))
        for name in ("basic-2000", "basic-20000")
        if name in workloads
    ]
    each = [found.in_process_s / count for count, found in pair if found and found.in_process_s]
    if len(each) == 2:
        short, long = each
        counts = " and ".join(f"{count:,}" for count, _ in pair)
        text = f"time per launch of {counts}: {short * 1e6:.1f} and {long * 1e6:.1f} us"
        yield _at_most(text, long / short, TIME_GROWTH)


def _skipped_parts(results: Results, reader: str) -> Iterator[str]:
    """Say whether heavier sections and sources take more memory."""
    for name in ("basic-2000", "full-200"):
        light = results.get((name, "all metrics", reader))
        heavy = results.get((f"{name}-heavier", "all metrics", reader))
        if light is not None and heavy is not None:
            text = (
                f"{name}, memory with heavier sections and sources:"
                f" {light.megabytes:.0f} and {heavy.megabytes:.0f} MB"
            )
            yield _at_most(text, heavy.megabytes / light.megabytes, MEMORY_GROWTH)


def _at_least(text: str, value: float, wanted: float) -> str:
    return _line(text, value, f">= {wanted:g}", value >= wanted)


def _at_most(text: str, value: float, wanted: float) -> str:
    return _line(text, value, f"<= {wanted:g}", value <= wanted)


def _line(text: str, value: float, wanted: str, is_met: bool) -> str:
    return f"{text:74} {value:8.2f}  {wanted:>7}  {'met' if is_met else 'NOT MET'}"
