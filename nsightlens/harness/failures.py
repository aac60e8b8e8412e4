"""Why a part failed: what is known of the attempt, given to the diagnosis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.harness.diagnosis import CAUSES, Attempt, Diagnosis, diagnose, error_of
from nsightlens.harness.manifest import Failure

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.errors import ProfilingError
    from nsightlens.harness.execute import Attempted
    from nsightlens.harness.host import Host
    from nsightlens.harness.plan import Part

__all__ = ["OF_EVERY_TOOL", "diagnosis_of", "told"]

OF_EVERY_TOOL = frozenset({"disk_full", "stub_libcuda"})
"""Causes that concern the other tool too, of those that would recur."""


def diagnosis_of(
    part: Part, attempted: Attempted, host: Host, ranges_seen: tuple[str, ...] | None = None
) -> Diagnosis | None:
    """Return why an attempt failed; None where what it made can be kept.

    Parameters
    ----------
    part, attempted
        What was run, and how that ended.
    host
        Where it was run.
    ranges_seen
        NVTX ranges that the program opens; None where nobody looked.
    """
    checked = attempted.checked
    is_read = checked.exists and not checked.problem
    found = diagnose(
        Attempt(
            tool=part.tool.name,
            argv=part.argv,
            return_code=attempted.ended.return_code,
            has_timed_out=bool(attempted.ended.over),
            tool_text=attempted.stdout,
            error_text=attempted.stderr,
            report=part.made[0],
            result_count=checked.launch_count if is_read else None,
            options=part.options,
            ranges_seen=ranges_seen,
            report_problem=checked.problem,
        ),
        host,
        part.tool.version,
    )
    if found is None and not checked.is_sound:
        problem = checked.problem or "it left nothing that can be kept"
        return Diagnosis("unknown", f"{CAUSES['unknown'].summary}: {problem}.", (), ())
    return found


def told(diagnosis: Diagnosis, *, part: Part, log: Path) -> tuple[ProfilingError, Failure]:
    """Return the error that tells a diagnosis, and what the manifest keeps of it.

    Parameters
    ----------
    diagnosis
        Why the part failed.
    part
        Which one.
    log
        Where its words are kept.
    """
    error = error_of(diagnosis, log=log, what=part.part_id)
    stops_run = CAUSES[diagnosis.cause].would_recur
    return error, Failure(diagnosis.cause, diagnosis.message, diagnosis.remedies, stops_run)
