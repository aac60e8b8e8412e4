"""What a fake nsys saw of a target, as the tables of an export of Nsight Systems.

Time is made up and always the same: a call takes so long, and a kernel as long as the model of
`support.fake_kernels` says. At the end of each step the host waits for the GPU.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from nsightlens.example.model import H100_SXM, duration_ns
from support.fake_kernels import kernel_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from support.fake_records import Event

Row = dict[str, Any]

_RANGE_NS = 300
_LAUNCH_NS = 4_000
_LATENCY_NS = 1_500
_COPY_BYTES_PER_NS = 50.0
# eventType of NVTX_EVENTS.
_MARK, _PUSH_POP, _START_END, _DOMAIN = 34, 59, 60, 75
_COPY_KINDS = {"HtoD": 1, "DtoH": 2, "DtoD": 8}


@dataclass
class _Process:
    free_at: int = 0
    """[ns] From when on the GPU has nothing to do."""
    stacks: dict[tuple[int, str], list[Row]] = field(default_factory=dict)
    started: dict[int, Row] = field(default_factory=dict)
    domains: dict[str, int] = field(default_factory=dict)
    correlation: int = 0
    depth: int = 0


@dataclass
class Timeline:
    """Takes events in their order, and keeps tables.

    Parameters
    ----------
    has_nodes
        Nodes of CUDA graphs are kernels of their own.
    is_wanted
        Whether an event is in the capture range.
    """

    has_nodes: bool
    is_wanted: Callable[[Event], bool]
    now: int = 1_000_000
    tables: dict[str, list[Row]] = field(default_factory=dict)
    _strings: dict[str, int] = field(default_factory=dict)
    _processes: dict[int, _Process] = field(default_factory=dict)

    def take(self, events: Iterable[Event]) -> None:
        """Take more events."""
        for event in events:
            process = self._process(event)
            if event.launch is not None and self.is_wanted(event):
                self._launch(event, process)
            self._event(event, process)
            self.now += _RANGE_NS

    def finish(self) -> dict[str, list[Row]]:
        """Return the tables, those with nothing in them left out."""
        strings: list[Row] = [{"id": i, "value": text} for text, i in self._strings.items()]
        gpu: Row = {
            "id": 0, "name": H100_SXM.name, "smCount": H100_SXM.sm_count, "cuDevice": 0,
            "computeMajor": 9, "computeMinor": 0, "clockRate": 1_980_000_000,
            "memoryBandwidth": int(H100_SXM.dram_bytes_per_s), "totalMemory": 85029158912,
        }  # fmt: skip
        versions = {"EXPORT_SCHEMA_VERSION": "3.25.0", "EXPORT_SCHEMA_VERSION_MAJOR": "3"}
        meta: list[Row] = [{"name": name, "value": value} for name, value in versions.items()]
        tables = {"StringIds": strings, "TARGET_INFO_GPU": [gpu], "META_DATA_EXPORT": meta}
        return {**{name: rows for name, rows in self.tables.items() if rows}, **tables}

    def _process(self, event: Event) -> _Process:
        if event.process not in self._processes:
            self._processes[event.process] = _Process()
            row = {"globalPid": event.process << 24, "pid": event.process, "name": "python"}
            self._add("PROCESSES", row)
        return self._processes[event.process]

    def _event(self, event: Event, process: _Process) -> None:
        what, facts = event.what, event.facts
        domain = facts.get("domain", "")
        if what == "push":
            row = self._range(event, process, _PUSH_POP)
            process.stacks.setdefault((event.thread, domain), []).append(row)
            process.depth += domain == "nsightlens"
        elif what == "pop":
            stack = process.stacks.get((event.thread, domain))
            if stack:
                process.depth -= domain == "nsightlens"
                if domain == "nsightlens" and not process.depth:
                    self._synchronise(event, process)
                stack.pop()["end"] = self.now
        elif what == "start":
            row = self._range(event, process, _START_END)
            process.started[facts["id"]] = {**row, "rangeId": facts["id"]}
            row["rangeId"] = facts["id"]
            process.started[facts["id"]] = row
        elif what == "end" and facts["id"] in process.started:
            row = process.started.pop(facts["id"])
            row["end"], row["endGlobalTid"] = self.now, _global_tid(event)
        elif what == "mark":
            self._range(event, process, _MARK)
        elif what == "copy" and self.is_wanted(event):
            self._copy(event, process)

    def _range(self, event: Event, process: _Process, kind: int) -> Row:
        row = {
            "start": self.now, "end": None, "eventType": kind, "text": event.facts["text"],
            "globalTid": _global_tid(event), "endGlobalTid": None, "textId": None,
            "domainId": self._domain(event, process), "rangeId": None,
        }  # fmt: skip
        self._add("NVTX_EVENTS", row)
        return row

    def _domain(self, event: Event, process: _Process) -> int:
        name = event.facts["domain"]
        if not name:
            return 0
        if name not in process.domains:
            process.domains[name] = len(process.domains) + 1
            row = {
                "start": self.now, "end": None, "eventType": _DOMAIN, "text": name,
                "globalTid": _global_tid(event), "endGlobalTid": None, "textId": None,
                "domainId": process.domains[name], "rangeId": None,
            }  # fmt: skip
            self._add("NVTX_EVENTS", row)
        return process.domains[name]

    def _call(self, event: Event, process: _Process, name: str, duration: int) -> int:
        """Add a call of the runtime and return its correlation id."""
        process.correlation += 1
        row = {
            "start": self.now, "end": self.now + duration, "eventClass": 0,
            "globalTid": _global_tid(event), "correlationId": process.correlation,
            "nameId": self._string(name), "returnValue": 0,
        }  # fmt: skip
        self._add("CUPTI_ACTIVITY_KIND_RUNTIME", row)
        self.now += duration
        return process.correlation

    def _launch(self, event: Event, process: _Process) -> None:
        launch = event.launch
        assert launch is not None
        node = launch.facts.get("node")
        call = "cudaLaunchKernel_v7000" if node is None else "cudaGraphLaunch_v10000"
        correlation = self._call(event, process, call, _LAUNCH_NS)
        kernel = kernel_of(launch)
        start = max(process.free_at, self.now + _LATENCY_NS)
        process.free_at = start + round(duration_ns(kernel))
        where: Row = {
            "start": start, "end": process.free_at, "deviceId": 0, "contextId": 1, "streamId": 7,
            "correlationId": correlation, "globalPid": event.process << 24,
        }  # fmt: skip
        if node is not None and not self.has_nodes:
            self._add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", {**where, "graphId": 1, "graphExecId": 1})
            return
        block = launch.facts.get("block", (kernel.block_threads, 1, 1))
        row = {
            **where,
            "demangledName": self._string(kernel.demangled_name),
            "shortName": self._string(kernel.name),
            "mangledName": None,
            "registersPerThread": kernel.registers,
            **dict(zip(("gridX", "gridY", "gridZ"), kernel.grid, strict=True)),
            **dict(zip(("blockX", "blockY", "blockZ"), block, strict=True)),
            "staticSharedMemory": 0,
            "dynamicSharedMemory": kernel.shared_bytes_per_block,
            "graphNodeId": node,
        }
        self._add("CUPTI_ACTIVITY_KIND_KERNEL", row)

    def _copy(self, event: Event, process: _Process) -> None:
        correlation = self._call(event, process, "cudaMemcpyAsync_v3020", _LAUNCH_NS)
        start = max(process.free_at, self.now + _LATENCY_NS)
        moved = int(event.facts["bytes"])
        process.free_at = start + round(moved / _COPY_BYTES_PER_NS)
        row = {
            "start": start, "end": process.free_at, "deviceId": 0, "contextId": 1, "streamId": 7,
            "correlationId": correlation, "globalPid": event.process << 24, "bytes": moved,
            "copyKind": _COPY_KINDS[event.facts["kind"]], "srcKind": 1, "dstKind": 2,
        }  # fmt: skip
        self._add("CUPTI_ACTIVITY_KIND_MEMCPY", row)

    def _synchronise(self, event: Event, process: _Process) -> None:
        waits = max(process.free_at - self.now, 0) + 1_000
        self._call(event, process, "cudaDeviceSynchronize_v3020", waits)

    def _string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings) + 1)

    def _add(self, table: str, row: Row) -> None:
        self.tables.setdefault(table, []).append(row)


def _global_tid(event: Event) -> int:
    """Return PID << 24 | TID; the first thread has the id of its process, as on Linux."""
    return event.process << 24 | (event.process + event.thread - 1) & 0xFFFFFF
