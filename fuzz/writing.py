"""Promises of the writers: what is written reads back as what was meant."""

from __future__ import annotations

import random
import zlib
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from support.contents import contents

from fuzz.draw import Draw
from fuzz.invent import invent_layout, invent_report
from fuzz.promise import Finding, check_error, check_same, folder, plain, promise, read, written
from nsightlens.errors import NsightLensError, WireFormatError
from nsightlens.ncurep import encode_ncu_rep, redact_ncu_rep, slice_ncu_rep
from nsightlens.ncurep.model import NvtxDomainState, RuleMessage, SessionInfo
from nsightlens.ncurep.spec import FocusedRuleMessage, Uint32, report_spec_of
from nsightlens.ncurep.write_result import metric_specs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from nsightlens.ncurep.model import NcuRepFile
    from nsightlens.ncurep.spec import LaunchSpec, ReportSpec, Value

__all__ = ["check_redact", "check_round_trip", "check_slice", "check_writer"]


def check_round_trip(data: bytes) -> None:
    """Check that what was read can be written, and reads again as the same."""
    file = read(written(data))
    if isinstance(file, NsightLensError):
        return
    again = read(written(encode_ncu_rep(file)), "raise")
    if isinstance(again, NsightLensError):
        raise Finding("what was read cannot be read when written again") from again
    promise(len(file.results) == len(again.results), "writing changes the number of results")
    for one, other in zip(file.results, again.results, strict=True):
        check_same(one, other)
    for i, (before, after) in enumerate(zip(contents(file), contents(again), strict=True)):
        promise(before[1] == after[1], f"writing changes metrics{' of a later result' * bool(i)}")
    promise(len(file.sessions) == len(again.sessions), "writing changes the number of sessions")
    for before_session, session in zip(file.sessions, again.sessions, strict=True):
        check_same(before_session, session)


def check_writer(data: bytes) -> None:
    """Check that any report reads back as it was said, in whatever layout."""
    draw = Draw(data)
    layout, report = invent_layout(draw), invent_report(draw)
    found = read(written(encode_ncu_rep(report, layout)), "raise")
    if isinstance(found, NsightLensError):
        raise Finding("what was written cannot be read") from found
    spec = report_spec_of(found)
    promise(len(spec.launches) == len(report.launches), "a launch is lost")
    for launch, given in zip(spec.launches, report.launches, strict=True):
        promise(_said(launch) == _said(given), "a metric changes")
        check_same(replace(launch, metrics=()), replace(_stored(given, report), metrics=()))
    _check_sessions(found.sessions, report)


def _said(launch: LaunchSpec) -> list[Any]:
    """Return the metrics of a launch; a 32-bit integer comes back as a number of its value."""
    return [
        (
            metric.name,
            _number(metric.value),
            [(_number(key), _number(value)) for key, value in metric.instances],
        )
        for metric in metric_specs(launch)
    ]


def _number(value: Value) -> Any:
    return plain(value.value if isinstance(value, Uint32) else value)


def _stored(launch: LaunchSpec, report: ReportSpec) -> LaunchSpec:
    """Return a launch as the file can say it: without what its kind has no field for."""
    mangled = launch.name if launch.mangled_name is None else launch.mangled_name
    demangled = launch.name if launch.demangled_name is None else launch.demangled_name
    name = launch.name
    stored = replace(
        launch,
        # An empty name is taken from the others.
        name=name or mangled or demangled,
        mangled_name=mangled or name or demangled,
        demangled_name=demangled or mangled or name,
        process=launch.process or report.process,
        context_name=launch.context_name or None,
        stream_name=launch.stream_name or None,
        nvtx=None if launch.nvtx is None else _domains(launch, launch.nvtx),
        nvtx_other_threads={},
        rules=tuple(_without_focus(rule) for rule in launch.rules),
    )
    if launch.kind == "kernel":
        return stored
    nothing = (0, 0, 0)
    stored = replace(stored, name=name, mangled_name="", demangled_name="", grid=nothing)
    stored = replace(stored, block=nothing)
    if launch.kind != "cmdlist":
        stored = replace(stored, name="", rules=())
    if launch.kind == "range":
        stored = replace(stored, stream_id=None, stream_name=None)
    return stored


def _domains(launch: LaunchSpec, own: Sequence[NvtxDomainState]) -> tuple[NvtxDomainState, ...]:
    """Return the domains of a launch, and without ranges those that only other threads have."""
    known = {domain.domain_id: domain for domain in own}
    for thread_id, state in launch.nvtx_other_threads.items():
        if thread_id != launch.thread_id:
            for domain in state:
                known.setdefault(domain.domain_id, NvtxDomainState(domain.domain_id, domain.name))
    return tuple(known.values())


def _without_focus(rule: RuleMessage) -> RuleMessage:
    if not isinstance(rule, FocusedRuleMessage):
        return rule
    kept = {slot.name: getattr(rule, slot.name) for slot in fields(rule) if slot.name != "focus"}
    return RuleMessage(**kept)


def _check_sessions(found: list[SessionInfo], report: ReportSpec) -> None:
    """Check that every process that was named has a session."""
    named = [s.process for s in report.sessions if s.process]
    named += [p for p in (launch.process or report.process for launch in report.launches) if p]
    if report.process and not report.sessions and not report.launches:
        named.append(report.process)
    promise({s.process for s in found if s.process} >= set(named), "a process has no session")


def check_slice(data: bytes) -> None:
    """Check that a slice of a sound report holds the chosen launches as they were."""
    path = written(data)
    whole, out = read(path), folder() / "slice.ncu-rep"
    chance = random.Random(zlib.crc32(data))
    count = 1 if isinstance(whole, NsightLensError) else len(whole.results)
    chosen = sorted(chance.sample(range(count), chance.randint(0, min(count, 4))))
    try:
        slice_ncu_rep(path, out, chosen, on_error="salvage", overwrite=True)
    except NsightLensError as error:
        check_error(error)
        promise(not chosen or _is_damaged(whole), "a sound report cannot be sliced")
        return
    if isinstance(whole, NsightLensError) or whole.damage is not None:
        return
    part = _sound(out, "a slice is damaged")
    promise(len(part.results) == len(chosen), "a slice has another number of launches")
    for found, launch in zip(part.results, chosen, strict=True):
        check_same(found, whole.results[launch])
    every, kept = contents(whole), contents(part)
    promise([one[1] for one in kept] == [every[i][1] for i in chosen], "a slice changes metrics")
    promise(len(part.sessions) == len(whole.sessions), "a slice changes the number of sessions")
    for session, given in zip(part.sessions, whole.sessions, strict=True):
        check_same(session, given)


def check_redact(data: bytes) -> None:
    """Check that a sound report without its secrets has the metrics that it had."""
    path = written(data)
    whole, out = read(path), folder() / "redacted.ncu-rep"
    keeps = zlib.crc32(data) % 2 == 0
    try:
        redact_ncu_rep(path, out, keep_kernel_names=keeps, keep_nvtx=keeps, overwrite=True)
    except NsightLensError as error:
        check_error(error)
        # Readers step over much that has to be looked into to take a name out of it.
        is_refused = _is_damaged(whole) or isinstance(error, WireFormatError)
        promise(is_refused, "a sound report cannot be redacted")
        return
    if isinstance(whole, NsightLensError) or whole.damage is not None:
        return
    found = _sound(out, "a redacted report is damaged")
    metrics = [one[1] for one in contents(found)]
    promise(metrics == [one[1] for one in contents(whole)], "redaction changes metrics")
    for session in found.sessions:
        named = (
            session.computer_name, session.executable, session.working_directory,
            session.command_line, session.process and session.process.host_name,
        )  # fmt: skip
        promise(not any(named), "redaction leaves what names a machine or a program")


def _is_damaged(found: NcuRepFile | NsightLensError) -> bool:
    return isinstance(found, NsightLensError) or found.damage is not None


def _sound(path: Path, otherwise: str) -> NcuRepFile:
    found = read(path, "raise")
    if isinstance(found, NsightLensError):
        raise Finding(otherwise) from found
    return found
