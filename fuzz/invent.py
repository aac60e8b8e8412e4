"""Bytes become a report to write: everything that the writer takes, in any combination."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nsightlens.ncurep.model import (
    NvtxDomainState,
    NvtxRange,
    ProcessInfo,
    RuleMessage,
    SessionInfo,
)
from nsightlens.ncurep.spec import (
    FocusedRuleMessage,
    FocusMetric,
    LaunchSpec,
    Layout,
    MetricSpec,
    ReportSpec,
    Uint32,
)

if TYPE_CHECKING:
    from fuzz.draw import Draw
    from nsightlens.ncurep.model import Kind
    from nsightlens.ncurep.spec import Instance, Value

__all__ = ["invent_layout", "invent_report"]

_KINDS: tuple[Kind, ...] = ("kernel", "range", "cmdlist", "graph")
_METRIC_NAMES = (
    "gpu__time_duration.sum", "dram__bytes_read.sum", "launch__grid_size", "a", "b",
)  # fmt: skip


def invent_report(draw: Draw) -> ReportSpec:
    """Return a report of up to six launches."""
    return ReportSpec(
        launches=draw.some(lambda: _launch(draw), 6),
        sessions=draw.some(lambda: _session(draw), 3),
        process=draw.maybe(lambda: _process(draw)),
        comments=draw.maybe(draw.text),
    )


def invent_layout(draw: Draw) -> Layout:
    """Return one of the ways in which a report can be laid out."""
    sizes = [draw.integer(0, 3) for _ in range(draw.integer(0, 3))]
    return Layout(
        results_per_block=[*sizes, draw.integer(1, 6)],
        may_mix_kinds=draw.is_set(),
        strings=draw.one_of(("first_block", "first_use", "last_block")),
        version=draw.integer(7, 99),
        source_count=draw.integer(0, 2),
        source_bytes=draw.integer(0, 300),
        are_sources_beside_results=draw.is_set(),
        section_count=draw.integer(0, 2),
        sections_bytes=draw.integer(0, 300),
    )


def _launch(draw: Draw) -> LaunchSpec:
    return LaunchSpec(
        kind=draw.one_of(_KINDS),
        name=draw.text(),
        mangled_name=draw.maybe(draw.text),
        demangled_name=draw.maybe(draw.text),
        metrics=draw.some(lambda: _metric(draw), 6),
        grid=_extent(draw),
        block=_extent(draw),
        process=draw.maybe(lambda: _process(draw)),
        thread_id=draw.unsigned(32),
        api_call_id=draw.unsigned(64),
        context_id=draw.maybe(lambda: draw.unsigned(32)),
        stream_id=draw.maybe(lambda: draw.unsigned(32)),
        context_name=draw.maybe(draw.text),
        stream_name=draw.maybe(draw.text),
        creation_time=draw.maybe(lambda: draw.unsigned(64)),
        is_unsupported_device=draw.is_set(),
        is_clock_locked=draw.maybe(draw.is_set),
        nvtx=draw.maybe(lambda: _nvtx(draw)),
        nvtx_other_threads={draw.unsigned(32): _nvtx(draw) for _ in range(draw.integer(0, 1))},
        rules=draw.some(lambda: _rule(draw), 3),
    )


def _metric(draw: Draw) -> MetricSpec:
    name = draw.one_of(_METRIC_NAMES) if draw.is_set() else draw.text()
    return MetricSpec(name, _value(draw), draw.some(lambda: _instance(draw), 4))


def _instance(draw: Draw) -> Instance:
    return _value(draw), _value(draw)


def _value(draw: Draw) -> Value:
    kind = draw.integer(0, 4)
    if kind == 0:
        return None
    if kind == 1:
        return draw.unsigned(64)
    if kind == 2:
        return Uint32(draw.unsigned(32))
    return draw.number() if kind == 3 else draw.text()


def _extent(draw: Draw) -> tuple[int, int, int]:
    return draw.unsigned(64), draw.unsigned(32), draw.integer(0, 9)


def _process(draw: Draw) -> ProcessInfo:
    return ProcessInfo(draw.integer(0, 3), draw.maybe(draw.text), draw.maybe(draw.text))


def _nvtx(draw: Draw) -> list[NvtxDomainState]:
    domains = draw.some(
        lambda: NvtxDomainState(
            draw.unsigned(64),
            draw.text(),
            tuple(draw.some(lambda: _range(draw), 3)),
            tuple(draw.some(lambda: _started_range(draw), 2)),
        ),
        3,
    )
    return list({domain.domain_id: domain for domain in domains}.values())


def _range(draw: Draw) -> NvtxRange:
    if draw.is_set():
        return NvtxRange(draw.text())
    payload = draw.one_of((
        lambda: None, lambda: draw.integer(-(2**63), 2**64 - 1), draw.number, draw.text,
    ))  # fmt: skip
    return NvtxRange(
        draw.text(),
        category=draw.unsigned(32) or None,  # 0 is NVTX's word for none
        color=draw.maybe(lambda: draw.unsigned(32)),
        payload=payload(),
        message=draw.maybe(draw.text),
    )


def _started_range(draw: Draw) -> NvtxRange:
    return replace(_range(draw), range_id=draw.unsigned(64), thread_id=draw.unsigned(32))


def _rule(draw: Draw) -> RuleMessage:
    has_speedup = draw.is_set()
    return FocusedRuleMessage(
        rule=draw.text(),
        rule_name=draw.text(),
        section=draw.maybe(draw.text),
        severity=draw.integer(-1, 5),
        title=draw.maybe(draw.text),
        message=draw.text(),
        speedup_pct=draw.maybe(draw.number) if has_speedup else None,
        speedup_scope=draw.integer(-1, 3) if has_speedup else None,
        focus=tuple(draw.some(lambda: FocusMetric(draw.text(), draw.number()), 2)),
    )


def _session(draw: Draw) -> SessionInfo:
    attributes: dict[int, dict[str, int | float | str]] = {
        draw.integer(0, 9): {draw.text(): draw.number(), draw.text(): draw.unsigned(64)}
        for _ in range(draw.integer(0, 2))
    }
    return SessionInfo(
        process=draw.maybe(lambda: _process(draw)),
        creation_time=draw.maybe(lambda: draw.unsigned(64)),
        operating_system=draw.maybe(draw.text),
        computer_name=draw.maybe(draw.text),
        executable=draw.maybe(draw.text),
        working_directory=draw.maybe(draw.text),
        command_line=draw.maybe(draw.text),
        profiler_command_line=draw.maybe(draw.text),
        versions={draw.text(): draw.text() for _ in range(draw.integer(0, 2))},
        device_names=tuple(draw.some(draw.text, 2)),
        device_attributes=attributes,
    )
