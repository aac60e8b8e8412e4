"""Sessions: what a report says about the profiled process, its machine, its GPUs and ncu itself.

ncu spreads one session over about eight header-only blocks, each with a part of it; `SessionMerger`
puts them together again by process. Fed by `nsightlens.ncurep.container` while it walks the
blocks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from nsightlens.ncurep.command_line import options_of_ncu
from nsightlens.ncurep.model import ProcessInfo, SessionInfo
from nsightlens.ncurep.scan import metric_value
from nsightlens.ncurep.wire import BYTES

if TYPE_CHECKING:
    from nsightlens.ncurep.wire import Message

__all__ = ["SessionMerger", "read_process"]

# SessionDetails
_PROCESS_ID, _CREATION_TIME, _HOST_SYSTEM, _TARGET_SYSTEM = 1, 2, 3, 4
_DEVICE_ATTRIBUTES, _VERSION, _EXECUTABLE, _SETTINGS, _PROFILER_COMMAND_LINE = 6, 8, 9, 10, 11

# ProfilerSettings, which only Nsight Compute's own window writes
_SETTINGS_CLOCK_CONTROL, _SETTINGS_REPLAY_MODE = 8, 11

# The command line of ncu is the only place that says these three for a report of the ncu command.
_OPTIONS = ("clock-control", "cache-control", "replay-mode")
_WORD = re.compile(r"[a-z][\w-]*")

_PLACE = 100  # [character] what an entry takes beside its text, about

_SINGLE = (
    "creation_time", "operating_system", "computer_name", "executable", "working_directory",
    "command_line", "profiler_command_line", "clock_control", "replay_mode",
)  # fmt: skip


def read_process(message: Message) -> ProcessInfo:
    """Return the process of a block header.

    Raises
    ------
    WireFault
        Where the message lacks the process id.
    """
    process_id = message.uint32(1)
    if process_id is None:
        raise message.missing("process id")
    return ProcessInfo(process_id, message.text(2), message.text(3))


@dataclass(slots=True)
class _Draft:
    """A session being put together; ``device_names`` by device id until it is done."""

    info: SessionInfo
    device_names: dict[int, str] = field(default_factory=dict)


class SessionMerger:
    """Collects the session parts of all blocks and merges them by process.

    Where two parts of one process say the same thing differently, the later one counts. A part
    of a block that names no process describes every process of the file, and counts where the
    process's own parts say nothing.
    """

    def __init__(self) -> None:
        self._by_process: dict[ProcessInfo, _Draft] = {}
        self._first_of_id: dict[int, ProcessInfo] = {}
        self._common: _Draft | None = None

    def add(self, process: ProcessInfo | None, details: Message | None) -> None:
        """Take the part of one block; either may be absent.

        Raises
        ------
        WireFault
            Where the part does not follow the wire format or lacks a required field.
        """
        if process is None and details is not None:
            process = self._process_of(details)
        if process is not None:
            draft = self._by_process.get(process)
            if draft is None:
                draft = self._by_process[process] = _Draft(SessionInfo(process=process))
                self._first_of_id.setdefault(process.process_id, process)
        elif details is not None:
            draft = self._common = self._common or _Draft(SessionInfo())
        if details is not None and draft is not None:
            _read_details(draft, details)

    def _process_of(self, details: Message) -> ProcessInfo | None:
        process_id = details.uint32(_PROCESS_ID)
        if process_id is None:
            return None
        return self._first_of_id.get(process_id) or ProcessInfo(process_id)

    def repeated_size(self) -> int:
        """Return how much text all processes are told that no process says, about [character]."""
        if self._common is None:
            return 0
        info, names = self._common.info, self._common.device_names
        texts = [getattr(info, slot) for slot in _SINGLE if slot != "creation_time"]
        texts += [*info.versions, *info.versions.values(), *names.values()]
        return len(self._by_process) * sum(_PLACE + len(text or "") for text in texts)

    def sessions(self) -> list[SessionInfo]:
        """Return one session per process, in the order in which the file first names them."""
        drafts = list(self._by_process.values())
        if not drafts and self._common is not None:
            drafts = [self._common]
        return [_finished(draft, self._common) for draft in drafts]


def _finished(draft: _Draft, common: _Draft | None) -> SessionInfo:
    info = draft.info
    if common is not None and common is not draft:
        for slot in _SINGLE:
            if getattr(info, slot) is None:
                setattr(info, slot, getattr(common.info, slot))
        info.versions = {**common.info.versions, **info.versions}
        info.device_attributes = {**common.info.device_attributes, **info.device_attributes}
        draft.device_names = {**common.device_names, **draft.device_names}
    # Same order as the attributes, so that the two can be read side by side.
    info.device_names = tuple(draft.device_names[device] for device in info.device_attributes)
    _read_command_line(info)
    return info


def _read_details(draft: _Draft, details: Message) -> None:
    info = draft.info
    info.creation_time = details.uint64(_CREATION_TIME) or info.creation_time
    info.profiler_command_line = details.text(_PROFILER_COMMAND_LINE) or info.profiler_command_line
    # The machine that ran the kernels counts, not the one that looked on.
    for number in (_TARGET_SYSTEM, _HOST_SYSTEM):
        system = details.message(number)
        if system is not None and (number == _TARGET_SYSTEM or info.operating_system is None):
            _read_system(info, system)
    for version in details.messages(_VERSION):
        info.versions[version.text(1) or ""] = version.text(2) or ""
    executable = details.message(_EXECUTABLE)
    if executable is not None:
        info.executable = executable.text(1) or info.executable
        info.working_directory = executable.text(2) or info.working_directory
        info.command_line = executable.text(3) or info.command_line
    settings = details.message(_SETTINGS)
    if settings is not None:
        info.clock_control = _lower(settings.text(_SETTINGS_CLOCK_CONTROL)) or info.clock_control
        info.replay_mode = _lower(settings.text(_SETTINGS_REPLAY_MODE)) or info.replay_mode
    for device in details.messages(_DEVICE_ATTRIBUTES):
        _read_device(draft, device)


def _read_system(session: SessionInfo, system: Message) -> None:
    name, build = system.text(1), system.text(2)
    session.operating_system = " ".join(filter(None, (name, build))) or session.operating_system
    session.computer_name = system.text(5) or session.computer_name


def _read_device(draft: _Draft, device: Message) -> None:
    device_id = device.uint32(1)
    if device_id is None:
        raise device.missing("device id")
    names = draft.device_names
    names[device_id] = device.text(2) or names.get(device_id, "")
    attributes = draft.info.device_attributes.setdefault(device_id, {})
    for attribute in device.messages(3):
        field = attribute.last(2, BYTES)
        found = metric_value(attribute.data, field.start, field.stop) if field else None
        if found is not None:
            attributes[attribute.text(1) or ""] = found


def _read_command_line(session: SessionInfo) -> None:
    """Take what the options of ncu say; an option that was not given stays unknown."""
    line = session.profiler_command_line
    if line is None:
        return
    clock_control, cache_control, replay_mode = _options(line)
    session.clock_control = session.clock_control or clock_control
    session.cache_control = session.cache_control or cache_control
    session.replay_mode = session.replay_mode or replay_mode


@lru_cache(maxsize=1)  # the processes of a file share one line
def _options(line: str) -> tuple[str | None, str | None, str | None]:
    given = options_of_ncu(line)
    values = [given.get(name, "") for name in _OPTIONS]
    clock_control, cache_control, replay_mode = (
        value if _WORD.fullmatch(value) else None for value in values
    )
    return clock_control, cache_control, replay_mode


def _lower(text: str | None) -> str | None:
    return text.lower() if text else None
