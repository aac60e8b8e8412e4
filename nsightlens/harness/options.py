"""What a profile was asked to be: the target, and what each profiler is told.

Three plain records that every part of the harness shares: `nsightlens.cli` and recipes fill them,
`nsightlens.harness` turns them into command lines, the manifest of a run folder keeps them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    ReplayMode = Literal["kernel", "application", "range", "app-range"]
    GraphProfiling = Literal["node", "graph"]

__all__ = ["NcuOptions", "NsysOptions", "Target"]


@dataclass(frozen=True)
class Target:
    """The program to be profiled."""

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables beside those of this process."""
    folder: str | None = None
    """Where it runs; None for the working directory of this process."""


@dataclass(frozen=True)
class NcuOptions:
    """What ``ncu`` is told beside the target and the output.

    Filters are in ncu's own words; `nsightlens.harness` writes the expressions for our own
    annotations. ``metric_set`` is ``smallest`` for the fewest passes that the analysis needs on
    this GPU, or a set of ncu's own, such as ``full``.
    """

    metric_set: str = "smallest"
    metrics: tuple[str, ...] = ()
    """Beside those of the set."""
    sections: tuple[str, ...] = ()
    nvtx_include: tuple[str, ...] = ()
    nvtx_exclude: tuple[str, ...] = ()
    kernel: str | None = None
    """``NAME`` or ``regex:EXPRESSION``."""
    launch_skip: int | None = None
    launch_count: int | None = None
    replay_mode: ReplayMode = "kernel"
    graph_profiling: GraphProfiling = "node"
    target_processes: Literal["all", "application-only"] = "all"
    clock_control: str = "none"
    cache_control: str = "none"
    are_collectives_excluded: bool = True
    """NCCL's kernels wait for other GPUs, and hang where launches are replayed one by one."""
    waits_for_profiler_start: bool = False
    """Nothing is profiled before the target calls cudaProfilerStart."""
    ends_target: bool = False
    """The target is ended after ``launch_count`` launches."""
    more: tuple[str, ...] = ()
    """Options of ncu that are passed as they are."""


@dataclass(frozen=True)
class NsysOptions:
    """What ``nsys profile`` is told beside the target and the output."""

    trace: tuple[str, ...] = ("cuda", "nvtx")
    cuda_graph_trace: GraphProfiling = "node"
    capture_range: Literal["cudaProfilerApi", "nvtx"] | None = None
    nvtx_capture: str | None = None
    """``RANGE@DOMAIN`` of ``capture_range`` nvtx."""
    capture_range_end: str = "stop"
    traces_forks: bool = False
    """``--trace-fork-before-exec``: children between fork and exec too."""
    gpu_metrics_devices: str | None = None
    delay_s: float | None = None
    duration_s: float | None = None
    wait: Literal["primary", "all"] | None = None
    more: tuple[str, ...] = ()
    """Options of nsys that are passed as they are."""
