"""One check of ``nsightlens doctor``, and what its verdict may be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from nsightlens.harness.diagnosis import Attempt
from nsightlens.harness.diagnosis_causes import remedies_for
from nsightlens.harness.options import NcuOptions

if TYPE_CHECKING:
    from nsightlens.harness.host import Host

    Status = Literal["ok", "warning", "problem", "unknown"]

__all__ = ["STATUSES", "Check", "remedies_of_failure"]

STATUSES: tuple[Status, ...] = ("ok", "warning", "problem", "unknown")
"""A ``problem`` keeps ncu from profiling; a ``warning`` spoils a part of it; ``unknown`` is what
only trying will tell."""


class Check(NamedTuple):
    """One thing that was looked at."""

    key: str
    """Names it; never changes."""
    status: Status
    message: str
    """What was found, in one line."""
    remedies: tuple[str, ...] = ()
    """What to do, in the order in which to try it; empty where all is well."""


def remedies_of_failure(cause: str, host: Host) -> tuple[str, ...]:
    """Return the remedies of a failure that has not happened yet."""
    attempt = Attempt("ncu", (), 1, False, "", "", Path(), None, NcuOptions())
    return remedies_for(cause, attempt, host)
