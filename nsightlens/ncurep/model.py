"""What a .ncu-rep file holds, as plain Python data: the contract between reader, writer and users.

The reader (`nsightlens.ncurep.read`) fills these, the writer (`nsightlens.ncurep.write`) takes
them, so that ``write(read(x))`` says the same as ``x``. Scalar metrics are the bulk of a file and
are kept as parallel flat columns (`ScalarColumns`), not as an object per value.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from nsightlens.metric_store import MetricKind as ValueKind

if TYPE_CHECKING:
    from nsightlens.errors import ReportFormatError

__all__ = [
    "DEFAULT_DOMAIN",
    "FILE_VERSION",
    "MAGIC",
    "InstanceColumns",
    "Kind",
    "NcuRepFile",
    "NvtxDomainState",
    "NvtxRange",
    "ProcessInfo",
    "Result",
    "RuleMessage",
    "ScalarColumns",
    "SessionInfo",
    "ValueKind",
]

MAGIC = b"NVR\0"
FILE_VERSION = 7
"""The container version that every Nsight Compute from 2020.3 to 2025.2 writes."""

DEFAULT_DOMAIN = "<default domain>"
"""What ncu calls the NVTX domain of ranges that name none."""

Kind = Literal["kernel", "range", "cmdlist", "graph"]


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """One profiled process."""

    process_id: int
    host_name: str | None = None
    process_name: str | None = None


@dataclass(frozen=True, slots=True)
class NvtxRange:
    """One NVTX range that was open when the launch was made.

    ``payload`` is None, an int, a float or a str. ``range_id`` is set for start/end ranges,
    whose ``thread_id`` is the thread that started them.
    """

    name: str
    category: int | None = None
    color: int | None = None
    payload: int | float | str | None = None
    message: str | None = None
    range_id: int | None = None
    thread_id: int | None = None


@dataclass(frozen=True, slots=True)
class NvtxDomainState:
    """The ranges of one domain that were open when the launch was made.

    ``push_pop`` is the stack of the launching thread, bottom first; ``start_end`` the start/end
    ranges of the process.
    """

    domain_id: int
    name: str
    push_pop: tuple[NvtxRange, ...] = ()
    start_end: tuple[NvtxRange, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleMessage:
    """One message of one of NVIDIA's rules.

    ``severity`` is the number in the file: 0 none, 1 ok, 2 warning, 3 error, 4 optimization.
    ``speedup_scope``: 0 unknown, 1 local, 2 global.
    """

    rule: str
    rule_name: str
    section: str | None
    severity: int
    title: str | None
    message: str
    speedup_pct: float | None = None
    speedup_scope: int | None = None


@dataclass(slots=True)
class Result:
    """One result (a launch, or a range, graph or command list) without its metrics.

    ``None`` where the file does not say. Names are after the fallback rule: an empty name is
    filled from the others. ``nvtx`` is None where the file has no NVTX state at all.
    """

    kind: Kind = "kernel"
    offset: int = 0
    process: ProcessInfo | None = None
    thread_id: int | None = None
    api_call_id: int | None = None
    function_name: str | None = None
    mangled_name: str | None = None
    demangled_name: str | None = None
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    context_id: int | None = None
    stream_id: int | None = None
    context_name: str | None = None
    stream_name: str | None = None
    creation_time: int | None = None
    is_unsupported_device: bool = False
    is_clock_locked: bool | None = None
    nvtx: tuple[NvtxDomainState, ...] | None = None
    rules: tuple[RuleMessage, ...] = ()


@dataclass(slots=True)
class ScalarColumns:
    """Every scalar metric value of the file, in file order: parallel columns of length n.

    ``result[i]`` is an index into ``NcuRepFile.results``, ``name[i]`` into ``NcuRepFile.strings``,
    ``kind[i]`` a `ValueKind`. ``value[i]`` is the value as float64 (0.0 for null and text),
    ``integer[i]`` the exact value of an integer (else 0), ``text[i]`` the value of a text.
    A metric with instances and no value of its own, or with neither, has kind NULL.
    """

    result: array[int] = field(default_factory=lambda: array("I"))
    name: array[int] = field(default_factory=lambda: array("I"))
    kind: array[int] = field(default_factory=lambda: array("B"))
    value: array[float] = field(default_factory=lambda: array("d"))
    integer: array[int] = field(default_factory=lambda: array("Q"))
    instance_count: array[int] = field(default_factory=lambda: array("I"))
    text: dict[int, str] = field(default_factory=dict)


@dataclass(slots=True)
class InstanceColumns:
    """Instanced values of the metrics that were asked for: parallel columns of length m.

    ``scalar[j]`` is the position of the metric in `ScalarColumns`. ``*_kind`` are `ValueKind`:
    one set for the correlation id (NULL where the file has none), one for the element.
    """

    scalar: array[int] = field(default_factory=lambda: array("I"))
    correlation_kind: array[int] = field(default_factory=lambda: array("B"))
    correlation_value: array[float] = field(default_factory=lambda: array("d"))
    correlation_integer: array[int] = field(default_factory=lambda: array("Q"))
    correlation_text: dict[int, str] = field(default_factory=dict)
    kind: array[int] = field(default_factory=lambda: array("B"))
    value: array[float] = field(default_factory=lambda: array("d"))
    integer: array[int] = field(default_factory=lambda: array("Q"))
    text: dict[int, str] = field(default_factory=dict)


@dataclass(slots=True)
class SessionInfo:
    """One profiling session (one profiled process), merged from all blocks that describe it."""

    process: ProcessInfo | None = None
    creation_time: int | None = None
    operating_system: str | None = None
    computer_name: str | None = None
    executable: str | None = None
    working_directory: str | None = None
    command_line: str | None = None
    profiler_command_line: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    clock_control: str | None = None
    cache_control: str | None = None
    replay_mode: str | None = None
    device_names: tuple[str, ...] = ()
    device_attributes: dict[int, dict[str, int | float | str]] = field(default_factory=dict)


@dataclass(slots=True)
class NcuRepFile:
    """Everything that was read from one file.

    ``damage`` is the error that reading stopped at, when the caller asked for what comes before
    it; ``None`` for a sound file.
    """

    path: str
    size_bytes: int
    version: int
    strings: list[str]
    results: list[Result]
    scalars: ScalarColumns
    sessions: list[SessionInfo]
    instances: InstanceColumns | None = None
    damage: ReportFormatError | None = None
    block_count: int = 0
    source_count: int = 0
