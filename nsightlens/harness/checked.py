"""What a profiler left behind, looked at: its exit code alone says nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow.compute as pc

from nsightlens.errors import NsightLensError
from nsightlens.readers import open_report, open_trace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pyarrow as pa

__all__ = ["Checked", "check_report", "check_trace", "ranges_of_report", "ranges_of_trace"]

_DEFAULT_DOMAIN = "<default domain>"


class Checked(NamedTuple):
    """What is in a report or a trace.

    Parameters
    ----------
    exists
        The profiler wrote one.
    problem
        Why it cannot be read, in one line; empty where it can.
    launch_count
        Launches, or kernels of a trace.
    pass_counts
        Launches by the number of replay passes.
    """

    exists: bool
    problem: str = ""
    launch_count: int = 0
    pass_counts: Mapping[str, int] = {}

    @property
    def is_sound(self) -> bool:
        """Whether it exists, can be read, and holds launches."""
        return self.exists and not self.problem and self.launch_count > 0


def check_report(path: Path) -> Checked:
    """Open a report of ncu and count its launches.

    Parameters
    ----------
    path
        Where ncu was to write it.
    """
    if not path.exists():
        return Checked(exists=False)
    try:
        launches = open_report(path).launches
    except NsightLensError as error:
        return Checked(exists=True, problem=str(error))
    return Checked(exists=True, launch_count=launches.num_rows, pass_counts=_pass_counts(launches))


def _pass_counts(launches: pa.Table) -> dict[str, int]:
    counts = pc.value_counts(launches["replay_pass_count"].combine_chunks()).to_pylist()
    known = [(row["values"], row["counts"]) for row in counts if row["values"] is not None]
    return {str(int(passes)): count for passes, count in sorted(known)}


def check_trace(path: Path) -> Checked:
    """Open the export of a trace and count its kernels.

    Parameters
    ----------
    path
        Where nsys was to write it.
    """
    if not path.exists():
        return Checked(exists=False)
    try:
        return Checked(exists=True, launch_count=len(open_trace(path)))
    except NsightLensError as error:
        return Checked(exists=True, problem=str(error))


def ranges_of_report(path: Path) -> tuple[str, ...] | None:
    """Return the NVTX ranges around the launches of a report, each once, as ``DOMAIN@NAME``.

    Returns
    -------
    tuple of str or None
        Without a domain where it is the default one; None where there is no report.
    """
    try:
        return _named(open_report(path).nvtx)
    except (NsightLensError, OSError):
        return None


def ranges_of_trace(path: Path) -> tuple[str, ...] | None:
    """Return the NVTX ranges of a trace; see `ranges_of_report`."""
    try:
        return _named(open_trace(path).ranges)
    except (NsightLensError, OSError):
        return None


def _named(ranges: pa.Table) -> tuple[str, ...]:
    keys = ["domain", "name"]
    rows = ranges.select(keys).group_by(keys, use_threads=False).aggregate([]).to_pylist()
    return tuple(
        row["name"]
        if row["domain"] in (None, _DEFAULT_DOMAIN)
        else f"{row['domain']}@{row['name']}"
        for row in rows
        if row["name"]
    )
