"""Launches for comparisons, made from durations, and the reports of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens import open_report
from support.reports import (
    DRAM_CLOCK_HZ,
    SM_CLOCK_HZ,
    cuda_core_metrics,
    dram_metrics,
    make_launch,
    write_report,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from nsightlens.ncurep.spec import LaunchSpec, Value
    from nsightlens.report import Report

__all__ = ["metrics_of", "report_in", "timed"]


def timed(
    duration_ns: float | None,
    name: str = "axpy",
    *,
    sm_clock_hz: float = SM_CLOCK_HZ,
    dram_clock_hz: float = DRAM_CLOCK_HZ,
    metrics: Mapping[str, Value] | None = None,
    **fields: Any,
) -> LaunchSpec:
    """Return a launch that takes a duration, or has none; it moves 1 MB and does 1 MFLOP."""
    duration = duration_ns or 1e6
    of_duration = {} if duration_ns is None else {"gpu__time_duration.sum": float(duration_ns)}
    return make_launch(
        name,
        {
            **of_duration,
            **dram_metrics(duration, 6e5, 4e5),
            **cuda_core_metrics(ffma=5e5, duration_ns=duration),
            "sm__cycles_elapsed.avg.per_second": sm_clock_hz,
            "smsp__cycles_elapsed.avg.per_second": sm_clock_hz,
            "dram__cycles_elapsed.avg.per_second": dram_clock_hz,
            **(metrics or {}),
        },
        **fields,
    )


def report_in(
    folder: Path, launches: Sequence[LaunchSpec], name: str = "one.ncu-rep", **session: Any
) -> Report:
    """Write a report of these launches and read it."""
    return open_report(write_report(folder, launches, name=name, **session))


def metrics_of(launch: LaunchSpec) -> dict[str, Value]:
    """Return the metrics of a launch by name."""
    assert not isinstance(launch.metrics, (list, tuple))
    return dict(launch.metrics)  # type: ignore[arg-type]
