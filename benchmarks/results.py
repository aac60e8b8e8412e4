"""What was measured, and the lines of text that show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.workloads import Workload

__all__ = ["PEER", "Measured", "NamesMeasured", "Results", "heading", "row"]

PEER = "ncu_report"


class Measured(NamedTuple):
    """Time [s] in process (None: not measured) and of the whole process, and peak memory [MB]."""

    in_process_s: float | None
    whole_s: float
    megabytes: float


class NamesMeasured(NamedTuple):
    """Time [s] for a column of so many distinct kernel names, and for one that repeats some."""

    name_count: int
    seconds: float
    repeated_s: float


Results = dict[tuple[str, str, str], Measured]
"""By workload, what is read, and who reads it."""


def heading(workload: Workload, facts: Mapping[str, float], *, has_peer: bool) -> str:
    """Return what stands above the rows of a report: what is in it, and the columns."""
    ratios = f"   {PEER} / this: in process, whole, memory" if has_peer else ""
    return (
        f"\n{workload.name}: {workload.about}, {facts['launches']:,} launches x"
        f" {facts['metrics']:,} metrics, {facts['bytes'] / 1e6:,.0f} MB (a launch has"
        f" {facts['instances']:,} instances and {facts['launch_bytes'] / 1e3:,.0f} KB,"
        f" {facts['sections_bytes'] / 1e3:,.0f} KB of them sections)\n"
        f"{'':32}{'in process':>12}{'a launch':>11}{'whole':>11}{'memory':>10}{ratios}"
    )


def row(what: str, reader: str, found: Measured, launch_count: int, peer: Measured | None) -> str:
    """Return one line: what was read, who read it, what it took, and how many times less."""
    warm = found.in_process_s
    times = f"{'':12}{'':11}"
    if warm is not None:
        times = f"{warm:10.3f} s{warm / launch_count * 1e6:8.0f} us"
    line = f"{what:14}{reader:18}{times}{found.whole_s:9.2f} s{found.megabytes:7.0f} MB"
    if peer is None:
        return line
    in_process = f"{peer.in_process_s / warm:8.1f}x" if warm and peer.in_process_s else f"{'':9}"
    return (
        f"{line}   {in_process}{peer.whole_s / found.whole_s:8.1f}x"
        f"{peer.megabytes / found.megabytes:8.1f}x"
    )
