"""How reports were collected, and where that differs among those of one sweep."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nsightlens.report import Report

__all__ = ["Sessions", "no_sessions", "session_notes", "sessions_of"]

_SETTINGS = {
    "clock_control": "Clock control",
    "cache_control": "Cache control",
    "replay_mode": "Replay mode",
}


class Sessions(NamedTuple):
    """How many sessions were collected with which setting.

    Parameters
    ----------
    counts
        For each column of `nsightlens.tables.SESSIONS` that matters, sessions by value; those that
        do not say it are left out.
    """

    counts: dict[str, dict[str, int]]

    def added(self, other: Sessions) -> Sessions:
        """Return the sessions of both."""
        return Sessions(
            {
                name: dict(Counter(self.counts[name]) + Counter(other.counts[name]))
                for name in _SETTINGS
            }
        )


def no_sessions() -> Sessions:
    """Return none."""
    return Sessions({name: {} for name in _SETTINGS})


def sessions_of(report: Report) -> Sessions:
    """Count the sessions of a report."""
    columns = {name: report.sessions[name].to_pylist() for name in _SETTINGS}
    return Sessions(
        {
            name: dict(Counter(value for value in values if value))
            for name, values in columns.items()
        }
    )


def session_notes(sessions: Sessions) -> list[str]:
    """Say what differs among sessions whose launches are added up, one sentence each.

    Examples
    --------
    >>> counts = no_sessions().counts | {"clock_control": {"base": 3, "none": 1}}
    >>> print(*session_notes(Sessions(counts)))
    Clock control differs: base (3 sessions), none (1 session). Durations do not compare.
    """
    return [
        f"{words} differs: {_listed(sessions.counts[name])}. Durations do not compare."
        for name, words in _SETTINGS.items()
        if len(sessions.counts[name]) > 1
    ]


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(
        f"{value} ({count} session{'s' if count > 1 else ''})"
        for value, count in sorted(counts.items())
    )
