"""The manifest of a run folder: what was asked for, with what it was made, and how far it came."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from nsightlens.errors import OutputError
from nsightlens.files import write_text
from nsightlens.harness.plan import command_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from nsightlens.harness.plan import Part
    from nsightlens.harness.tools import Tool

    State = Literal["waiting", "running", "checked", "finished", "failed"]

__all__ = [
    "FORMAT",
    "MANIFEST",
    "Failure",
    "Output",
    "PartRecord",
    "RunManifest",
    "continued",
    "differences",
    "read_manifest",
    "record_of",
    "write_manifest",
]

MANIFEST = "manifest.json"
FORMAT = "nsightlens.run"
VERSION = 1


class Output(NamedTuple):
    """A file that a part made.

    Parameters
    ----------
    path
        Below the run folder, with ``/`` between its parts.
    size_bytes
        [B] Its size.
    sha256
        Of its content.
    """

    path: str
    size_bytes: int
    sha256: str


class Failure(NamedTuple):
    """Why a part failed.

    Parameters
    ----------
    cause
        Key of the diagnosis; ``unknown`` where nothing tells.
    message
        What happened and what to do, as it was told.
    remedies
        What to do, in the order in which to try it.
    stops_run
        The parts behind it would fail the same way.
    """

    cause: str
    message: str
    remedies: tuple[str, ...] = ()
    stops_run: bool = False


@dataclass(frozen=True)
class PartRecord:
    """How far one part has come.

    Parameters
    ----------
    part_id, tool, work, batch_size
        As in `nsightlens.harness.plan.Part`.
    state
        ``checked`` has outputs that are sound and not at their place yet.
    argv, export_argv
        The exact command lines.
    environment
        Variables that the target got beside those of the process.
    made
        Where the profiler writes.
    outputs
        What was made; empty before it is.
    launch_count
        Launches of the report, or kernels of the trace.
    pass_counts
        Launches by the number of replay passes.
    attempts
        How often it was begun.
    began_at, ended_at
        Of the last attempt, in UTC.
    duration_s
        [s] Of the last attempt.
    exit_code
        Of the profiler; negative where a signal ended it.
    failure
        Why the last attempt failed.
    """

    part_id: str
    tool: str
    work: str
    batch_size: int | None
    state: State
    argv: tuple[str, ...]
    made: tuple[str, ...]
    export_argv: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    outputs: tuple[Output, ...] = ()
    launch_count: int | None = None
    pass_counts: Mapping[str, int] = field(default_factory=dict)
    attempts: int = 0
    began_at: str | None = None
    ended_at: str | None = None
    duration_s: float | None = None
    exit_code: int | None = None
    failure: Failure | None = None

    @property
    def is_finished(self) -> bool:
        """Whether it need not run again."""
        return self.state == "finished"


@dataclass(frozen=True)
class RunManifest:
    """What a run folder holds.

    Parameters
    ----------
    run_id
        Of this run alone: a variable of every process below it has this value.
    created_at
        In UTC.
    nsightlens_version
        That began the run.
    request
        What was asked for; for ``ncu`` and ``nsys`` what each is told.
    tools
        Each profiler by name: its path and version.
    host
        GPUs, driver, clocks and the like.
    environment
        Variables that change what is measured, of those that this process had.
    seed
        Of weights and inputs; None where the program is not ours.
    parts
        How far each has come, in the order in which they were planned.
    tables
        Files of tables of everything that is finished, each with its number of rows; empty where
        they are still to be made.
    """

    run_id: str
    created_at: str
    nsightlens_version: str
    request: Mapping[str, Any]
    tools: Mapping[str, Mapping[str, str]]
    host: Mapping[str, Any]
    environment: Mapping[str, str]
    seed: int | None
    parts: tuple[PartRecord, ...] = ()
    tables: Mapping[str, int] = field(default_factory=dict)

    def part(self, part_id: str) -> PartRecord | None:
        """Return the record of a part; None where there is none."""
        return next((one for one in self.parts if one.part_id == part_id), None)

    def with_part(self, record: PartRecord) -> RunManifest:
        """Return the manifest with the record of a part in place of its former one, or added."""
        if self.part(record.part_id) is None:
            return replace(self, parts=(*self.parts, record))
        parts = tuple(record if one.part_id == record.part_id else one for one in self.parts)
        return replace(self, parts=parts)


def record_of(part: Part) -> PartRecord:
    """Return the record of a part that has not begun."""
    return PartRecord(
        part_id=part.part_id,
        tool=part.tool.name,
        work=part.work,
        batch_size=part.batch_size,
        state="waiting",
        argv=part.argv,
        made=tuple(str(path) for path in part.made),
        export_argv=part.export_argv,
        environment=dict(part.target.environment),
    )


def tool_facts(tool: Tool) -> dict[str, str]:
    """Return what the manifest keeps of a profiler."""
    return {"path": tool.path, "version": tool.version_text, "found_by": tool.found_by}


def write_manifest(folder: Path, manifest: RunManifest) -> None:
    """Replace the manifest of a run folder, in one step.

    Raises
    ------
    OutputError
        It could not be written; the former one is as it was.
    """
    content = {"format": FORMAT, "version": VERSION, **asdict(manifest)}
    # NamedTuples, which JSON would make lists of.
    content["parts"] = [_part_content(one) for one in manifest.parts]
    text = json.dumps(content, indent=1, ensure_ascii=False)
    write_text(folder / MANIFEST, [text, "\n"], force=True)


def _part_content(record: PartRecord) -> dict[str, Any]:
    content = {one.name: getattr(record, one.name) for one in fields(record)}
    content["environment"] = dict(record.environment)
    content["pass_counts"] = dict(record.pass_counts)
    content["outputs"] = [output._asdict() for output in record.outputs]
    content["failure"] = None if record.failure is None else record.failure._asdict()
    return content


def read_manifest(folder: Path) -> RunManifest | None:
    """Return the manifest of a run folder; None where it has none.

    Raises
    ------
    OutputError
        There is a file of its name that is none, is damaged, or has another version.
    """
    path = folder / MANIFEST
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise _refusal(path, f"cannot be read ({error})") from error
    try:
        content = json.loads(text)
        if content["format"] != FORMAT:
            raise _refusal(path, "is of something else than a run of nsightlens profile")
        if content["version"] != VERSION:
            raise _refusal(
                path, f"has version {content['version']}, and this nsightlens knows {VERSION}"
            )
        return _manifest_of(content)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        if isinstance(error, OutputError):
            raise
        raise _refusal(path, "is no manifest of a run, or is damaged") from error


def _refusal(path: Path, problem: str) -> OutputError:
    return OutputError(f"{path} {problem}. Nothing was changed; choose another folder.")


def _manifest_of(content: Mapping[str, Any]) -> RunManifest:
    names = {one.name for one in fields(RunManifest)} - {"parts"}
    parts = tuple(_part_of(one) for one in content["parts"])
    return RunManifest(**{name: content[name] for name in names}, parts=parts)


def _part_of(content: Mapping[str, Any]) -> PartRecord:
    given = {one.name: content[one.name] for one in fields(PartRecord)}
    for name in ("argv", "made", "export_argv"):
        given[name] = tuple(given[name])
    given["outputs"] = tuple(Output(**one) for one in given["outputs"])
    for output in given["outputs"]:
        folder, _, name = output.path.partition("/")
        if folder in ("", "..") or name in ("", "..") or "/" in name:
            raise ValueError(output.path)  # a file outside of the run folder
    if given["failure"] is not None:
        failure = Failure(**given["failure"])
        given["failure"] = failure._replace(remedies=tuple(failure.remedies))
    return PartRecord(**given)


def continued(before: RunManifest, now: RunManifest) -> RunManifest:
    """Return the manifest of a run that goes on, with what is asked for now.

    Parameters
    ----------
    before
        What the folder holds.
    now
        What is asked for, without `differences`. What is not finished is done as it says.
    """
    merged = replace(before, tools={**before.tools, **now.tools}, request=now.request)
    for record in now.parts:
        former = before.part(record.part_id)
        if former is None:
            merged = merged.with_part(record)
        elif not former.is_finished:
            merged = merged.with_part(replace(record, attempts=former.attempts))
    return merged


# --- Is it the same run? ---


def differences(before: RunManifest, now: RunManifest) -> tuple[str, ...]:
    """Return in what a run differs from the one that a folder holds; empty where it continues it.

    Parts that only one of them has make no difference: a run may get another batch size, or
    another tool.

    Parameters
    ----------
    before
        What the folder holds.
    now
        What is asked for.
    """
    target = _told("target", before.request.get("target"), now.request.get("target"))
    if target:
        return tuple(target)  # what else differs follows from it
    of_tools = set(before.tools) & set(now.tools)
    requests = [
        {name: value for name, value in one.request.items() if name not in ("ncu", "nsys")}
        for one in (before, now)
    ]
    found = list(_differing("", *requests))
    for name in sorted(of_tools):
        found += _differing(
            f"{name}: ", before.request.get(name) or {}, now.request.get(name) or {}
        )
        versions = [one.tools[name].get("version") for one in (before, now)]
        found += _told(f"version of {name}", *versions)
    found += _told("GPU", *(_gpus(one.host) for one in (before, now)))
    found += _differing("environment variable ", before.environment, now.environment)
    if found:
        return tuple(found)
    # Only where nothing above says it in words.
    for part in now.parts:
        former = before.part(part.part_id)
        if former is not None:
            found += _of_commands(former, part)
            found += _differing(
                f"{part.part_id}: environment variable ", former.environment, part.environment
            )
    return tuple(found)


def _of_commands(former: PartRecord, part: PartRecord) -> list[str]:
    before, now = (command_of(one.argv, one.made) for one in (former, part))
    if before == now:
        return []
    gone = " ".join(word for word in before if word not in now) or "(other order)"
    come = " ".join(word for word in now if word not in before) or "(other order)"
    return [f"command of {part.part_id}: {_short(gone)} then, {_short(come)} now"]


def _differing(what: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    names = dict.fromkeys((*before, *now))
    return [
        text for name in names for text in _told(f"{what}{name}", before.get(name), now.get(name))
    ]


def _told(what: str, before: Any, now: Any) -> list[str]:
    if before == now:
        return []
    return [f"{what}: {_short(_word(before))} then, {_short(_word(now))} now"]


def _word(value: Any) -> str:
    if value is None or value == []:
        return "none"
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value))
    return str(value)


_LONGEST = 120
"""[character] Of a value in a message."""


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _gpus(host: Mapping[str, Any]) -> Sequence[str]:
    return [str(gpu.get("name")) for gpu in host.get("gpus") or ()]
