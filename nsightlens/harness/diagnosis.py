"""Why a profile failed, and what to do about it on this host.

`diagnose` looks at one run of a profiler: what it said, how it ended, what it left. The first of
these that holds is the cause, for each explains those behind it:

1. it was interrupted;
2. the profiler named a failure (`nsightlens.harness.diagnosis_lines`, in an order of its own);
3. its time was over; it was killed;
4. the target failed;
5. no kernel was profiled;
6. the profiler said something else, crashed, or left no report that can be read.

An exit code of 0 proves nothing: ncu ends with it also where it profiled nothing. The texts and
the remedies are those of `nsightlens.harness.diagnosis_causes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nsightlens.errors import ProfilingError
from nsightlens.harness.diagnosis_case import Case
from nsightlens.harness.diagnosis_causes import CAUSES, Cause, Remedy, remedies_for

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from nsightlens.harness.host import Host
    from nsightlens.harness.options import NcuOptions, NsysOptions

__all__ = ["CAUSES", "Attempt", "Cause", "Diagnosis", "Remedy", "diagnose", "error_of"]

_TOLD_REMEDIES = 3


class Attempt(NamedTuple):
    """One run of a profiler, over."""

    tool: str
    """``ncu`` or ``nsys``."""
    argv: tuple[str, ...]
    return_code: int
    """Negative: the number of the signal that ended it."""
    has_timed_out: bool
    """We ended it because its time was over."""
    tool_text: str
    """Its standard output: lines of ncu between those of the target."""
    error_text: str
    """Its standard error: mostly the target's."""
    report: Path
    result_count: int | None
    """Launches, or kernels of a trace; None where there is no report that can be read."""
    options: NcuOptions | NsysOptions
    ranges_seen: tuple[str, ...] | None = None
    """NVTX ranges that the target opened, ``DOMAIN@NAME``; None where nobody looked."""
    report_problem: str = ""
    """Why the report cannot be read, if that is known."""


class Diagnosis(NamedTuple):
    """Why it failed."""

    cause: str
    """Key of `CAUSES`."""
    message: str
    """What happened, in one line."""
    remedies: tuple[str, ...]
    """What to do on this host, in the order in which to try it."""
    evidence: tuple[str, ...]
    """Lines of the profiler or the target that show it, as they were said."""


def diagnose(attempt: Attempt, host: Host, tool_version: Sequence[int]) -> Diagnosis | None:
    """Say why a profile failed; None where it went well.

    It went well where the report holds launches, the exit code is 0, and the profiler named no
    error.

    Parameters
    ----------
    attempt
        What was run, what it said and how it ended.
    host
        Where it was run, which decides the remedies.
    tool_version
        Of the profiler; empty where it is not known.

    Examples
    --------
    >>> from pathlib import Path
    >>> from nsightlens.harness.host import Host
    >>> from nsightlens.harness.options import NcuOptions
    >>> text = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission ..."
    >>> options = NcuOptions()
    >>> run = Attempt("ncu", ("ncu",), 1, False, text, "", Path("r.ncu-rep"), None, options)
    >>> diagnose(run, Host(container="docker"), (2025, 1)).cause
    'counters_not_permitted'
    """
    found = Case(attempt, host, tuple(tool_version)).found()
    if found is None:
        return None
    summary = CAUSES[found.cause].summary
    text = " ".join((f"{summary}: {found.detail}" if found.detail else summary).split())
    return Diagnosis(
        found.cause,
        text if text.endswith((".", "!", "?")) else f"{text}.",
        remedies_for(found.cause, attempt, host),
        found.evidence,
    )


def error_of(diagnosis: Diagnosis, *, log: Path, what: str = "") -> ProfilingError:
    """Return the error that tells a diagnosis in one line, with the first remedies.

    Parameters
    ----------
    diagnosis
        What was found.
    log
        Where the profiler's words are kept.
    what
        What failed, such as the name of a part; empty for nothing in front.
    """
    front = f"{what}: " if what else ""
    told = diagnosis.remedies[:_TOLD_REMEDIES]
    numbered = [f"({i}) {text}" for i, text in enumerate(told, 1)] if told[1:] else list(told)
    left = len(diagnosis.remedies) - len(told)
    more = f" {left} more in docs/profiling-failures.md." if left else ""
    advice = f" What to do: {' '.join(numbered)}{more}" if told else ""
    return ProfilingError(
        f"{front}{diagnosis.message}{advice} Log: {log}.",
        cause=diagnosis.cause,
        remedies=diagnosis.remedies,
    )
