"""One part of a run: started, watched, and what it left looked at. Nothing is kept here yet."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.errors import OutputError, ProgramNotFoundError
from nsightlens.harness.checked import Checked, check_report, check_trace
from nsightlens.harness.progress import NcuProgress
from nsightlens.harness.run_folder import RUN_VARIABLE
from nsightlens.programs import run_watched

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nsightlens.harness.options import Target
    from nsightlens.harness.plan import Part, Request
    from nsightlens.harness.run_folder import RunFolder
    from nsightlens.programs import Watched

__all__ = ["Attempted", "Logs", "attempt", "read_log"]

_EXPORT_TIMEOUT_S = 3600.0
"""[s] For the export of a trace, where no limit was asked for."""
_LONGEST_LOG_BYTES = 1 << 20
"""[B] Of each end of a log that is looked at; what matters stands at its begin or its end."""


class Logs(NamedTuple):
    """Where the words of a part go: what the profiler and the target say, and their errors."""

    out: Path
    err: Path


class Attempted(NamedTuple):
    """How one attempt at a part ended.

    Parameters
    ----------
    ended
        How the profiler ended; of a trace that could not be exported, how the export did.
    checked
        What it left.
    stdout, stderr
        What was said; of what is very long, both ends.
    """

    ended: Watched
    checked: Checked
    stdout: str
    stderr: str


def attempt(
    part: Part,
    folder: RunFolder,
    request: Request,
    run_id: str,
    on_progress: Callable[[NcuProgress, float], None] | None = None,
) -> Attempted:
    """Run one part, and look at what it left below ``.partial``.

    Parameters
    ----------
    part
        What is run.
    folder
        The run folder.
    request
        With the time limits.
    run_id
        Of the run, by which everything below it is found again.
    on_progress
        Called several times a second with what ncu said, and the time [s] since the begin.

    Raises
    ------
    ProgramNotFoundError
        The profiler cannot be started.
    OutputError
        The run folder cannot be written.
    """
    for path in part.made:
        path.unlink(missing_ok=True)
    logs = Logs(folder.log(part.part_id), folder.log(part.part_id, of_target=True))
    progress, began = NcuProgress(), time.monotonic()

    def listen(text: str) -> None:
        progress.feed(text)
        if on_progress is not None:
            on_progress(progress, time.monotonic() - began)

    ended = run_part_command(
        part.argv, part.target, logs, run_id,
        timeout_s=request.timeout_s, idle_timeout_s=request.idle_timeout_s, on_text=listen,
    )  # fmt: skip
    stdout, stderr = read_log(logs.out), read_log(logs.err)
    if part.tool.name == "ncu":
        return Attempted(ended, check_report(part.made[0]), stdout, stderr)
    if ended.return_code or ended.over or not part.made[0].exists():
        return Attempted(ended, Checked(exists=part.made[0].exists()), stdout, stderr)
    return _exported(part, folder, run_id, Attempted(ended, Checked(exists=True), stdout, stderr))


def run_part_command(
    argv: Sequence[str],
    target: Target,
    logs: Logs,
    run_id: str,
    *,
    timeout_s: float | None,
    idle_timeout_s: float | None = None,
    on_text: Callable[[str], None] | None = None,
) -> Watched:
    """Run a command of a part in the folder and with the variables of its target.

    Raises
    ------
    ProgramNotFoundError
        It cannot be started.
    OutputError
        Its words cannot be written.
    """
    try:
        return run_watched(
            argv,
            stdout=logs.out,
            stderr=logs.err,
            timeout_s=timeout_s,
            idle_timeout_s=idle_timeout_s,
            environment=_environment(target.environment),
            mark=(RUN_VARIABLE, run_id),
            folder=None if target.folder is None else Path(target.folder),
            on_text=on_text,
        )
    except OSError as error:
        if error.filename in (str(logs.out), str(logs.err)):
            raise OutputError(f"{error.filename} cannot be written: {error.strerror}.") from error
        what = error.filename or argv[0]
        raise ProgramNotFoundError(
            f"{what} cannot be started: {error.strerror or error}."
        ) from error


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    return {**os.environ, **more}


def _exported(part: Part, folder: RunFolder, run_id: str, traced: Attempted) -> Attempted:
    """Export a trace; what went wrong there is told as what went wrong with the part."""
    logs = Logs(folder.partial / "export.out", folder.partial / "export.err")
    ended = run_part_command(
        part.export_argv, part.target, logs, run_id, timeout_s=_EXPORT_TIMEOUT_S
    )
    said = read_log(logs.out), read_log(logs.err)
    kept = folder.log(part.part_id), folder.log(part.part_id, of_target=True)
    for path, text in zip(kept, said, strict=True):
        with path.open("a", encoding="utf-8") as log:
            log.write(text)
    return Attempted(
        ended._replace(duration_s=traced.ended.duration_s + ended.duration_s),
        check_trace(part.made[1]),
        traced.stdout + said[0],
        traced.stderr + said[1],
    )


def read_log(path: Path) -> str:
    """Return what a log says; of one that is very long, both ends."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        if size <= 2 * _LONGEST_LOG_BYTES:
            data = file.read()
        else:
            data = file.read(_LONGEST_LOG_BYTES)
            file.seek(size - _LONGEST_LOG_BYTES)
            data += b"\n" + file.read()
    return data.decode("utf-8", "replace")
