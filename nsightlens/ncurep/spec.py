"""What the writer takes: a report said in plain Python, with defaults for all that does not matter.

`nsightlens.ncurep.write` turns a `ReportSpec` into bytes. Names, NVTX states, rule messages,
processes and sessions are those of `nsightlens.ncurep.model`, so that what the reader returns can
be written again (`report_spec_of`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from nsightlens.ncurep.model import (
    FILE_VERSION,
    InstanceColumns,
    Kind,
    NcuRepFile,
    NvtxDomainState,
    ProcessInfo,
    RuleMessage,
    SessionInfo,
    ValueKind,
)

if TYPE_CHECKING:
    from array import array
    from collections.abc import Mapping, Sequence

__all__ = [
    "Float32",
    "FocusMetric",
    "FocusedRuleMessage",
    "LaunchSpec",
    "Layout",
    "MetricSpec",
    "ReportSpec",
    "Uint32",
    "Value",
    "report_spec_of",
]


class Uint32(NamedTuple):
    """An integer to be stored as uint32; a plain ``int`` is stored as uint64."""

    value: int


class Float32(NamedTuple):
    """A number to be stored as a 32-bit float; a plain ``float`` is stored with 64 bits."""

    value: float


Value: TypeAlias = int | float | str | Uint32 | Float32 | None
"""A metric's value; ``None`` stands for a metric that has none."""

Instance: TypeAlias = tuple[Value, Value]
"""A correlation id (``None`` where there is none) and the value that belongs to it."""


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """One stored metric: a value, instances, both, or neither."""

    name: str
    value: Value = None
    instances: Sequence[Instance] = ()


@dataclass(frozen=True, slots=True)
class FocusMetric:
    """A metric that a rule's message points at. ``severity``: 0 default, 1 low, 2 high."""

    metric: str
    value: float
    severity: int = 0
    info: str = ""


@dataclass(frozen=True, slots=True)
class FocusedRuleMessage(RuleMessage):
    """A rule's message together with the metrics that it points at."""

    focus: tuple[FocusMetric, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSpec:
    """One result to write: a kernel launch, or a range, graph or command list.

    Parameters
    ----------
    name
        Function name of the kernel.
    mangled_name, demangled_name
        ``None`` repeats ``name``; ``""`` is stored empty, as some compilers leave it.
    metrics
        Values by metric name; a sequence of pairs or `MetricSpec` where a name occurs twice.
    instances
        Instances by metric name: of that metric where ``metrics`` has it (the last of the name),
        else of a metric without a value of its own.
    process
        ``None`` stands for the process of the report.
    thread_id, api_call_id
        ``None`` leaves them out, except that a kernel must have them: it gets 0.
    nvtx
        Ranges open on the launching thread and start/end ranges; ``None`` stores no NVTX state.
    nvtx_other_threads
        Push/pop ranges open on other threads, by thread id.
    rules
        Messages of NVIDIA's rules; neighbours of the same rule form one rule result.

    Notes
    -----
    Range and graph results have neither names nor a grid nor rules in this format, and a range no
    stream; those fields are left out for them.
    """

    name: str = "kernel"
    kind: Kind = "kernel"
    metrics: Mapping[str, Value] | Sequence[tuple[str, Value] | MetricSpec] = field(
        default_factory=dict
    )
    instances: Mapping[str, Sequence[Instance]] = field(default_factory=dict)
    mangled_name: str | None = None
    demangled_name: str | None = None
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (32, 1, 1)
    process: ProcessInfo | None = None
    thread_id: int | None = 1
    api_call_id: int | None = 1
    context_id: int | None = 1
    stream_id: int | None = 7
    context_name: str | None = None
    stream_name: str | None = None
    creation_time: int | None = None
    is_unsupported_device: bool = False
    is_clock_locked: bool | None = None
    nvtx: Sequence[NvtxDomainState] | None = None
    nvtx_other_threads: Mapping[int, Sequence[NvtxDomainState]] = field(default_factory=dict)
    rules: Sequence[RuleMessage] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSpec:
    """A whole report to write.

    Parameters
    ----------
    launches
        The results, in file order.
    sessions
        One per profiled process; none is needed.
    process
        Process of every launch that names none; ``None`` writes none for them.
    comments
        Free text that is stored with the session, such as where the report comes from.
    """

    launches: Sequence[LaunchSpec] = ()
    sessions: Sequence[SessionInfo] = ()
    process: ProcessInfo | None = None
    comments: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How the same report is laid out in the file; readers must not care.

    Parameters
    ----------
    results_per_block
        Results in each block, or the sizes of the blocks in turn; the last size repeats. A block
        ends early where the process or the kind changes.
    may_mix_kinds
        Let kinds share a block as far as the order of the payload allows (kernels, ranges, command
        lists, graphs). Legal by the format, but NVIDIA's reader sees only the first kind.
    strings
        Where metric names are defined: all in the first block, each in the block that first uses
        it, or all in a block after the last result.
    version
        Container version in the file's header.
    source_count, source_bytes
        Program binaries to store, and their size [B] each: opaque filler.
    are_sources_beside_results
        Put the sources into the first block of results instead of blocks of their own.
    section_count, sections_bytes
        Section definitions of each kernel result, and their size [B] together: opaque filler, as
        large a part of a real file as of a written one.
    """

    results_per_block: int | Sequence[int] = 1
    may_mix_kinds: bool = False
    strings: Literal["first_block", "first_use", "last_block"] = "first_block"
    version: int = FILE_VERSION
    source_count: int = 0
    source_bytes: int = 0
    are_sources_beside_results: bool = False
    section_count: int = 0
    sections_bytes: int = 0


def report_spec_of(file: NcuRepFile) -> ReportSpec:
    """Return what the reader found as something that can be written.

    Instances are carried over as far as they were read.
    """
    metrics = _metrics_by_result(file)
    launches = [
        LaunchSpec(
            kind=result.kind,
            metrics=metrics[i],
            name=result.function_name or "",
            mangled_name=result.mangled_name or "",
            demangled_name=result.demangled_name or "",
            grid=result.grid or (0, 0, 0),
            block=result.block or (0, 0, 0),
            process=result.process,
            thread_id=result.thread_id,
            api_call_id=result.api_call_id,
            context_id=result.context_id,
            stream_id=result.stream_id,
            context_name=result.context_name,
            stream_name=result.stream_name,
            creation_time=result.creation_time,
            is_unsupported_device=result.is_unsupported_device,
            is_clock_locked=result.is_clock_locked,
            nvtx=result.nvtx,
            rules=result.rules,
        )
        for i, result in enumerate(file.results)
    ]
    return ReportSpec(launches=launches, sessions=file.sessions)


def _metrics_by_result(file: NcuRepFile) -> list[list[MetricSpec]]:
    scalars = file.scalars
    instances = _instances_by_scalar(file.instances)
    metrics: list[list[MetricSpec]] = [[] for _ in file.results]
    for i, result in enumerate(scalars.result):
        value = _value(scalars.kind[i], scalars.value, scalars.integer, scalars.text, i)
        name = file.strings[scalars.name[i]]
        metrics[result].append(MetricSpec(name, value, instances.get(i, ())))
    return metrics


def _instances_by_scalar(columns: InstanceColumns | None) -> dict[int, list[Instance]]:
    found: dict[int, list[Instance]] = {}
    if columns is None:
        return found
    for j, scalar in enumerate(columns.scalar):
        correlation = _value(
            columns.correlation_kind[j],
            columns.correlation_value,
            columns.correlation_integer,
            columns.correlation_text,
            j,
        )
        value = _value(columns.kind[j], columns.value, columns.integer, columns.text, j)
        found.setdefault(scalar, []).append((correlation, value))
    return found


def _value(
    kind: int, number: array[float], integer: array[int], text: Mapping[int, str], i: int
) -> Value:
    if kind == ValueKind.INTEGER:
        return integer[i]
    if kind == ValueKind.DOUBLE:
        return number[i]
    return text[i] if kind == ValueKind.TEXT else None
