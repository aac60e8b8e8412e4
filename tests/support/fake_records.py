"""What `fake_gpu` noted of a target, as launches with the NVTX ranges they were made in.

A launch is one that the target made, or a whole range of our own annotations (``op v1 ...`` in the
domain ``nsightlens``) in which it made none: a target without a GPU has kernels that way.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Stacks = dict[str, list[str]]
"""Open push/pop ranges by domain, the outermost first."""


class Started(NamedTuple):
    """An open start/end range."""

    domain: str
    text: str
    number: int
    thread: int


@dataclass(frozen=True)
class Launch:
    """One launch and what was open when it was made."""

    process: int
    thread: int
    """Number of the thread within its process, from 1 on: real ids differ from run to run."""
    number: int
    """Place of the call among all events of the process."""
    executable: str
    stacks: Mapping[int, Stacks]
    """By thread."""
    started: tuple[Started, ...]
    facts: Mapping[str, Any]
    """What the launch said of itself; ``op`` where a range stands for it."""
    is_on: bool
    """False where cudaProfilerStart was not called, or cudaProfilerStop was."""

    @property
    def own(self) -> Stacks:
        """Ranges open on the launching thread."""
        return self.stacks.get(self.thread, {})


class Event(NamedTuple):
    """One event of a process, for a timeline."""

    process: int
    thread: int
    what: str
    facts: Mapping[str, Any]
    launch: Launch | None


@dataclass
class _Open:
    text: str
    launches: int = 0


@dataclass
class _Process:
    executable: str = "?"
    threads: dict[int, int] = field(default_factory=dict)
    stacks: dict[int, dict[str, list[_Open]]] = field(default_factory=dict)
    started: dict[int, Started] = field(default_factory=dict)
    is_on: bool = False
    count: int = 0


class Records:
    """Takes lines as they come, and gives events."""

    def __init__(self) -> None:
        self._processes: dict[int, _Process] = {}

    def events(self, lines: Iterable[str]) -> Iterator[Event]:
        """Yield the events of more lines, in their order."""
        for line in lines:
            facts = json.loads(line)
            what, number = facts.pop("what"), facts.pop("pid")
            process = self._processes.setdefault(number, _Process())
            thread = process.threads.setdefault(facts.pop("tid"), len(process.threads) + 1)
            process.count += 1
            launch = self._take(process, number, thread, what, facts)
            yield Event(number, thread, what, facts, launch)

    def _take(
        self, process: _Process, number: int, thread: int, what: str, facts: dict[str, Any]
    ) -> Launch | None:
        launch = None
        stacks = process.stacks.setdefault(thread, {})
        if what == "process":
            process.executable = facts["executable"]
        elif what == "push":
            stacks.setdefault(facts["domain"], []).append(_Open(facts["text"]))
        elif what == "pop":
            if stack := stacks.get(facts["domain"]):
                newest = stack[-1]
                if _is_operation(facts["domain"], newest) and not newest.launches:
                    launch = _launch(process, number, thread, {"op": newest.text})
                stack.pop()
        elif what == "start":
            process.started[facts["id"]] = Started(
                facts["domain"], facts["text"], facts["id"], thread
            )
        elif what == "end":
            process.started.pop(facts["id"], None)
        elif what == "profiler":
            process.is_on = facts["on"]
        elif what == "launch":
            launch = _launch(process, number, thread, facts)
        return launch


def _is_operation(domain: str, newest: _Open) -> bool:
    return domain == "nsightlens" and newest.text.startswith("op v1 ")


def _launch(process: _Process, number: int, thread: int, facts: Mapping[str, Any]) -> Launch:
    for stack in process.stacks.get(thread, {}).values():
        for opened in stack:
            opened.launches += 1
    stacks = {
        of: {name: [each.text for each in stack] for name, stack in domains.items() if stack}
        for of, domains in process.stacks.items()
    }
    return Launch(
        process=number,
        thread=thread,
        number=process.count,
        executable=process.executable,
        stacks={of: domains for of, domains in stacks.items() if domains},
        started=tuple(process.started.values()),
        facts=facts,
        is_on=process.is_on,
    )
