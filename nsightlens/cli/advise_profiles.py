"""Profiles that belong to serving results: reports of ncu become a sweep, traces timelines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from nsightlens.sweeps import Sweep
    from nsightlens.timelines.timeline import Timeline

__all__ = ["open_profiles"]

_TRACES = (".sqlite", ".nsys-rep")


def open_profiles(names: Sequence[str]) -> tuple[list[Sweep], list[Timeline]]:
    """Return the sweep of all reports together, and a timeline of each trace.

    Parameters
    ----------
    names
        Reports, traces, and folders of them.

    Raises
    ------
    NsightLensError
        One of them cannot be read.
    """
    if not names:
        return [], []
    from pathlib import Path

    from nsightlens.readers import open_report, open_trace
    from nsightlens.sweeps import sweep
    from nsightlens.timelines.timeline import timeline

    reports: list[Path] = []
    traces: list[Path] = []
    for name in names:
        _sort(Path(name), reports, traces)
    sweeps = [sweep(open_report(reports))] if reports else []
    return sweeps, [timeline(open_trace(path)) for path in traces]


def _sort(path: Path, reports: list[Path], traces: list[Path]) -> None:
    if not path.is_dir():
        (traces if path.name.lower().endswith(_TRACES) else reports).append(path)
        return
    exports = sorted(path.rglob("*.sqlite"))
    found = sorted(path.rglob("*.ncu-rep"))
    reports += found
    traces += exports
    if not found and not exports:
        traces.append(path)  # an export of nsys in a folder of Arrow or Parquet files
