"""Facts about reports that a reader of labels must know: where and how they were collected.

`report_facts` reads the tables ``sessions`` and ``labels``; `notes` turns facts that change what
the labels mean into sentences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.render import numbers, summary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

__all__ = ["ReportFacts", "notes", "report_facts", "short_version"]

_OF_SESSION = ("report", "device_names", "ncu_version", "clock_control")


class ReportFacts(NamedTuple):
    """One report in a line.

    ``ncu_version`` and ``clock_control`` are ``None`` where the report does not say.
    """

    report: str
    device_names: tuple[str, ...]
    ncu_version: str | None
    clock_control: str | None


def short_version(version: str | None) -> str | None:
    """Return a version without its build number and branch.

    Examples
    --------
    >>> short_version("2024.1.1.0 (build 33998838) (public-release)")
    '2024.1.1'
    """
    if not version or not version.split():
        return None
    return ".".join(version.split()[0].split(".")[:3])


def report_facts(
    paths: Sequence[str], sessions: pa.Table, devices: Sequence[tuple[str | None, str | None]]
) -> dict[str, ReportFacts]:
    """Return the facts of each report by its path.

    Parameters
    ----------
    paths
        The reports, in order.
    sessions
        The table of that name.
    devices
        For each launch its report and the name of its GPU. A report without a launch takes the
        GPUs that its sessions describe.
    """
    by_report: dict[str, list[dict[str, Any]]] = {}
    # Without the date: to make one loads the time zones.
    for session in sessions.select(list(_OF_SESSION)).to_pylist():
        by_report.setdefault(session["report"], []).append(session)
    of_launches: dict[str | None, dict[str, None]] = {}
    for report, device in dict.fromkeys(devices):
        if device is not None:
            of_launches.setdefault(report, {})[device] = None
    return {
        path: _facts_of(path, by_report.get(path, []), tuple(of_launches.get(path, {})))
        for path in paths
    }


def _facts_of(
    path: str, sessions: Sequence[Mapping[str, Any]], devices: tuple[str, ...]
) -> ReportFacts:
    described = dict.fromkeys(name for s in sessions for name in s["device_names"] or ())
    return ReportFacts(
        report=path,
        device_names=devices or tuple(described),
        ncu_version=short_version(_first(sessions, "ncu_version")),
        clock_control=_first(sessions, "clock_control"),
    )


def _first(sessions: Sequence[Mapping[str, Any]], name: str) -> str | None:
    return next((s[name] for s in sessions if s[name]), None)


def notes(
    rows: Mapping[str, Sequence[Any]], facts: Sequence[ReportFacts], warnings: Sequence[str] = ()
) -> list[str]:
    """Return sentences about what a reader of the labels must know, the gravest first."""
    found = list(warnings)
    failed = summary.failed_count(rows)
    if failed:
        found.append(
            f"{numbers.counted(failed, 'launch', 'launches')} failed to be collected (the profiler "
            "was stopped): shown, and left out of every sum."
        )
    locked = sum(1 for fact in facts if is_locked(fact.clock_control))
    if locked:
        where = "" if len(facts) == 1 else f" in {locked} of {len(facts)} reports"
        found.append(
            f"ncu locked the SM clock, by default to its base frequency{where}: durations are "
            "longer and the ridge point is lower than in production (ncu --clock-control none "
            "leaves the clock alone)."
        )
    dependent = sum(1 for value in rows["clock_dependent"] if value)
    if dependent:
        found.append(
            f"{numbers.counted(dependent, 'row')} compute-bound at the clock of the report would "
            "be memory-bound at the boost clock."
        )
    return found


def is_locked(clock_control: str | None) -> bool:
    """Return whether ncu held the clocks while profiling: at base, or where it does not say."""
    words = (clock_control or "").lower()
    return "base" in words or words == "locked"
