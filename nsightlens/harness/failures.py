"""Why a part failed: what is known of the attempt, given to the diagnosis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.errors import ProfilingError
from nsightlens.harness.manifest import Failure

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.harness.execute import Attempted
    from nsightlens.harness.host import Host
    from nsightlens.harness.plan import Part, Request

__all__ = ["OF_EVERY_TOOL", "failure_of", "lacks_launches"]

OF_EVERY_TOOL = frozenset({"disk_full", "stub"})


def lacks_launches(part: Part, attempted: Attempted) -> bool:
    """Return whether ncu ended well and profiled nothing."""
    return (
        part.tool.name == "ncu"
        and not attempted.ended.over
        and attempted.ended.return_code == 0
        and not attempted.checked.problem
        and not attempted.checked.launch_count
    )


def failure_of(
    part: Part,
    attempted: Attempted,
    *,
    host: Host,  # noqa: ARG001
    log: Path,
    ranges_seen: tuple[str, ...],  # noqa: ARG001
    request: Request,  # noqa: ARG001
) -> tuple[ProfilingError, Failure]:
    """Return the error that tells why a part failed, and what the manifest keeps of it."""
    error = ProfilingError(f"{part.part_id}: exit code {attempted.ended.return_code}. Log: {log}.")
    return error, Failure(error.cause, str(error), error.remedies)
