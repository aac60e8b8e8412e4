"""A run: every part that is not finished yet, one after another, into the run folder.

Whatever ends it, the folder is left sound: finished parts are kept, and the same request goes on
where it ended.
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens._version import __version__
from nsightlens.errors import OutputError, ProgramNotFoundError
from nsightlens.harness.execute import attempt
from nsightlens.harness.failures import OF_EVERY_TOOL, diagnosis_of, told
from nsightlens.harness.host import host_facts
from nsightlens.harness.look import ranges_seen
from nsightlens.harness.manifest import RunManifest, record_of, tool_facts
from nsightlens.harness.ncu_metrics import OLDEST_VERSION
from nsightlens.harness.options import Target
from nsightlens.harness.plan import TOOLS, parts_of, tools_of
from nsightlens.harness.progress import Progress, remaining_s
from nsightlens.harness.results import make_tables
from nsightlens.harness.run_folder import now, opened
from nsightlens.harness.surroundings import capability_of, environment_facts, host_content
from nsightlens.harness.tools import Tool, find_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from nsightlens.errors import ProfilingError
    from nsightlens.harness.diagnosis import Diagnosis
    from nsightlens.harness.execute import Attempted
    from nsightlens.harness.host import Host
    from nsightlens.harness.manifest import PartRecord
    from nsightlens.harness.plan import Part, Request
    from nsightlens.harness.progress import NcuProgress
    from nsightlens.harness.run_folder import RunFolder
    from nsightlens.harness.tools import ToolName

__all__ = ["Listener", "Plan", "ProfileRun", "perform", "planned", "profile"]


class Listener(NamedTuple):
    """Who is told of a run while it lasts.

    Parameters
    ----------
    on_progress
        Called several times a second.
    on_part
        Called with the record of each part that has ended, well or not.
    on_note
        Called with what a person must know, one sentence each.
    """

    on_progress: Callable[[Progress], None] = lambda _: None
    on_part: Callable[[PartRecord], None] = lambda _: None
    on_note: Callable[[str], None] = lambda _: None


class ProfileRun(NamedTuple):
    """A run folder, and what could not be made.

    Parameters
    ----------
    folder
        Where it lies.
    manifest
        What it holds.
    errors
        One for each part that failed, in their order.
    skipped
        Parts that were not begun, because they would have failed the same way.
    """

    folder: Path
    manifest: RunManifest
    errors: tuple[ProfilingError, ...] = ()
    skipped: tuple[str, ...] = ()

    @property
    def reports(self) -> tuple[Path, ...]:
        """Reports of ncu that are finished."""
        return self._outputs("ncu")

    @property
    def traces(self) -> tuple[Path, ...]:
        """Exports of traces of nsys that are finished."""
        return tuple(one for one in self._outputs("nsys") if one.suffix != ".nsys-rep")

    def _outputs(self, tool: str) -> tuple[Path, ...]:
        return tuple(
            self.folder / output.path
            for record in self.manifest.parts
            if record.is_finished and record.tool == tool
            for output in record.outputs
        )


def profile(request: Request, listener: Listener | None = None) -> ProfileRun:
    """Profile a program or a model, into a run folder.

    Parameters
    ----------
    request
        What, how and where. A folder that holds an interrupted run of the same is continued.
    listener
        Who is told of it while it lasts.

    Returns
    -------
    ProfileRun
        With an error for each part that failed, where at least one is finished.

    Raises
    ------
    ProfilingError
        No part is finished; the first of their errors.
    ProgramNotFoundError
        A profiler is not installed.
    ProfilerOptionError, FilterError
        A profiler would refuse what it is to be told.
    RunFolderBusyError
        Another run writes into the folder.
    RunFolderMismatchError
        The folder holds another run.
    OutputError
        The folder holds something else, or cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from nsightlens.harness import Decode, Request, profile
    >>> request = Request(Path("run"), Decode("opt-1.3b", (1, 8, 64), context=500))
    >>> profile(request).reports  # doctest: +SKIP
    (PosixPath('run/reports/ncu-batch-0001.ncu-rep'), ...)
    """
    run = perform(request, listener)
    if run.errors and not any(record.is_finished for record in run.manifest.parts):
        raise run.errors[0]
    return run


class Plan(NamedTuple):
    """What would be run.

    Parameters
    ----------
    parts
        In the order in which they run.
    tools
        The profilers, by name.
    host
        Where they run.
    notes
        What is not known yet, one sentence each.
    """

    parts: tuple[Part, ...]
    tools: Mapping[ToolName, Tool]
    host: Host
    notes: tuple[str, ...] = ()


def planned(request: Request, *, is_dry: bool = False) -> Plan:
    """Return the parts of a run with their exact command lines; nothing is run.

    Parameters
    ----------
    request
        What is to be profiled.
    is_dry
        A profiler that is not installed is taken for one on PATH, of the oldest version whose
        options are known.

    Raises
    ------
    ProgramNotFoundError
        A profiler is not installed, or the one that was named is none.
    ProfilerOptionError, FilterError
        A profiler would refuse what it is to be told.
    """
    host, notes = host_facts(), []
    tools: dict[ToolName, Tool] = {}
    for name in tools_of(request):
        given = request.given.get(name)
        try:
            tools[name] = find_tool(name, given=given)
        except ProgramNotFoundError:
            if not is_dry or given is not None:
                raise
            number = ".".join(map(str, OLDEST_VERSION))
            tools[name] = Tool(name, name, OLDEST_VERSION, number, "assumed")
            notes.append(f"{name} is not installed here: a plan for {name} {number} on PATH")
    capability = capability_of(host)
    if is_dry and "ncu" in tools and request.ncu.metric_set == "smallest" and capability is None:
        notes.append(
            "the GPU is not known here: sections stand for the smallest list of metrics, which "
            "is made for the GPU of the run"
        )
    return Plan(parts_of(request, tools, capability), tools, host, tuple(notes))


def perform(request: Request, listener: Listener | None = None) -> ProfileRun:
    """Do what `profile` does, and return also where no part is finished."""
    listener = listener or Listener()
    plan = planned(request)
    asked = RunManifest(
        run_id=uuid.uuid4().hex,
        created_at=now(),
        nsightlens_version=__version__,
        request=request_content(request),
        tools={name: tool_facts(tool) for name, tool in plan.tools.items()},
        host=host_content(plan.host),
        environment=environment_facts(),
        seed=request.seed,
        parts=tuple(map(record_of, plan.parts)),
    )
    with opened(request.folder) as folder:
        folder.begin(asked, replaces=request.replaces, on_note=listener.on_note)
        run = _Run(request, folder, plan.host, listener)
        try:
            run.go(plan.parts)
        finally:
            with suppress(OutputError):
                folder.sweep_up()
        manifest = folder.written
        if request.makes_tables and (run.has_finished or not _has_tables(folder)):
            made = make_tables(folder.path, manifest)
            for note in made.notes:
                listener.on_note(note)
            manifest = replace(manifest, tables=made.row_counts)
            folder.write(manifest)
    return ProfileRun(request.folder, manifest, tuple(run.errors), tuple(run.skipped))


def _has_tables(folder: RunFolder) -> bool:
    """Return whether the tables of what is finished are there, or nothing is finished."""
    manifest = folder.written
    if not any(record.is_finished for record in manifest.parts):
        return True
    names = manifest.tables
    return bool(names) and all((folder.path / "tables" / name).exists() for name in names)


class _Run:
    """The parts of a run, as they run."""

    def __init__(self, request: Request, folder: RunFolder, host: Host, listener: Listener) -> None:
        self._request = request
        self._folder = folder
        self._host = host
        self._listener = listener
        self._seen: dict[str, tuple[str, ...] | None] = {}
        self._last_s: float | None = None
        self.has_finished = False
        self.errors: list[ProfilingError] = []
        self.skipped: list[str] = []

    def go(self, parts: Iterable[Part]) -> None:
        """Run what is not finished; go on after a failure where that makes sense."""
        todo = [part for part in parts if not self._record(part).is_finished]
        stopped: set[str] = set()
        for position, part in enumerate(todo):
            if part.tool.name in stopped:
                self.skipped.append(part.part_id)
                continue
            record = self._run(part, position, len(todo))
            self._listener.on_part(record)
            if record.failure is not None and record.failure.stops_run:
                stopped |= set(TOOLS) if record.failure.cause in OF_EVERY_TOOL else {part.tool.name}

    def _record(self, part: Part) -> PartRecord:
        return self._folder.written.part(part.part_id) or record_of(part)

    def _run(self, part: Part, position: int, total: int) -> PartRecord:
        """Run a part and keep what it made, or why it made nothing."""
        waiting = replace(self._record(part), failure=None, exit_code=None)
        running = replace(
            waiting, state="running", attempts=waiting.attempts + 1, began_at=now(), ended_at=None
        )
        self._keep(running)

        def on_progress(progress: NcuProgress, elapsed_s: float) -> None:
            self._listener.on_progress(self._progress(part, position, total, progress, elapsed_s))

        folder, run_id = self._folder, self._folder.written.run_id
        try:
            attempted = attempt(part, folder, self._request, run_id, on_progress)
        except BaseException:
            # An interrupt, most of all. Nothing is lost where this cannot be written either.
            with suppress(OutputError):
                self._keep(replace(running, state="waiting", ended_at=now()))
            raise
        ended = replace(
            running,
            ended_at=now(),
            duration_s=round(attempted.ended.duration_s, 3),
            exit_code=attempted.ended.return_code,
        )
        diagnosis = diagnosis_of(part, attempted, self._host)
        if diagnosis is not None:
            return self._failed(part, ended, attempted, diagnosis)
        self._last_s = attempted.ended.duration_s
        outputs = tuple(
            folder.output(path, made) for path, made in zip(part.outputs, part.made, strict=True)
        )
        made = replace(
            ended,
            outputs=outputs,
            launch_count=attempted.checked.launch_count,
            pass_counts=dict(attempted.checked.pass_counts),
        )
        folder.finish(made)
        self.has_finished = True
        return self._record(part)

    def _failed(
        self, part: Part, ended: PartRecord, attempted: Attempted, diagnosis: Diagnosis
    ) -> PartRecord:
        # A program that never came to CUDA has no launches to look at either.
        has_connected = "==PROF== Connected" in attempted.stdout
        if diagnosis.cause == "no_kernels" and has_connected:
            seen = self._ranges(part)
            diagnosis = diagnosis_of(part, attempted, self._host, seen) or diagnosis
        error, failure = told(diagnosis, part=part, log=self._folder.log(part.part_id))
        record = replace(ended, state="failed", failure=failure)
        self._keep(record)
        self.errors.append(error)
        return record

    def _keep(self, record: PartRecord) -> None:
        self._folder.write(self._folder.written.with_part(record))

    def _ranges(self, part: Part) -> tuple[str, ...] | None:
        """Return the NVTX ranges that the program opens; None where that could not be seen."""
        if part.work not in self._seen:
            self._seen[part.work] = ranges_seen(part, self._folder, self._request)
        return self._seen[part.work]

    def _progress(
        self, part: Part, position: int, total: int, progress: NcuProgress, elapsed_s: float
    ) -> Progress:
        is_ncu = part.tool.name == "ncu"
        launches = progress.launch_count if is_ncu else None
        expected = (progress.launch_total or self._expected(part)) if is_ncu else None
        return Progress(
            part_id=part.part_id,
            number=position + 1,
            total=total,
            launch_count=launches,
            launch_total=expected,
            pass_count=progress.pass_count,
            elapsed_s=elapsed_s,
            remaining_s=remaining_s(
                elapsed_s=elapsed_s,
                launch_count=launches,
                launch_total=expected,
                parts_left=total - position - 1,
                last_part_s=self._last_s,
            ),
        )

    def _expected(self, part: Part) -> int | None:
        """Return the launches of another batch size: a step of a model has as many at each."""
        counts = [
            record.launch_count
            for record in self._folder.written.parts
            if record.is_finished and record.tool == part.tool.name
        ]
        return counts[-1] if counts and part.batch_size is not None else None


def request_content(request: Request) -> dict[str, Any]:
    """Return what the manifest keeps of a request: what must be the same for the run to go on."""
    work = request.work
    if isinstance(work, Target):
        content: dict[str, Any] = {"target": list(work.argv), "working folder": work.folder}
    else:
        content = {
            "target": ["model", work.model],
            "context": work.context,
            "options of the model": list(work.more),
            "prefill": work.has_prefill,
        }
    content |= {"seed": request.seed, "annotated steps only": request.are_steps_only}
    for name in ("ncu", "nsys"):
        options = asdict(getattr(request, name))
        content[name] = {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in options.items()
        }
    return content
