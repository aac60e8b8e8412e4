"""The ``source`` part of a JSON envelope, and the facts about reports that headings show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens._version import __version__
from nsightlens.cli.load import noticed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from nsightlens.cli.load import Loaded, Unread
    from nsightlens.render.facts import ReportFacts
    from nsightlens.report import Report

__all__ = ["facts_of", "source_from", "source_of"]


def facts_of(report: Report) -> list[ReportFacts]:
    """Return the facts of each source of a report, in order."""
    from nsightlens.render.facts import report_facts

    paths = report.launches["report"].to_pylist()
    devices = report.launches["device_name"].to_pylist()
    pairs = list(dict.fromkeys(zip(paths, devices, strict=True)))
    return list(report_facts(report.sources, report.sessions, pairs).values())


def source_of(loaded: Loaded, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the rows were made from, and by what.

    Parameters
    ----------
    loaded
        What was read.
    options
        The options that decide which rows there are; those that were not given are left out.
    """
    facts = facts_of(loaded.report)
    return source_from(facts, loaded.unread, noticed(loaded.report), options)


def source_from(
    facts: Iterable[ReportFacts],
    unread: Iterable[Unread],
    warnings: Iterable[str],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what the rows were made from, and by what.

    Parameters
    ----------
    facts
        Of each report that was read, in order.
    unread
        What could not be read.
    warnings
        What was noticed while reading.
    options
        As for `source_of`.
    """
    return {
        "tool": "nsightlens",
        "tool_version": __version__,
        "reports": [
            {
                "path": fact.report,
                "device_names": list(fact.device_names),
                "ncu_version": fact.ncu_version,
                "clock_control": fact.clock_control,
            }
            for fact in facts
        ],
        "unread": [{"path": path, "error": str(error)} for path, error in unread],
        "warnings": list(warnings),
        "options": {name: value for name, value in options.items() if value is not None},
    }
