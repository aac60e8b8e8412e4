"""Any report that can be said reads back as it was said, however it is cut into blocks."""

from __future__ import annotations

import struct
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.contents import contents, read_back

from nsightlens.ncurep.model import NvtxDomainState, NvtxRange, ProcessInfo, RuleMessage
from nsightlens.ncurep.spec import LaunchSpec, Layout, MetricSpec, ReportSpec, report_spec_of

if TYPE_CHECKING:
    from nsightlens.ncurep.model import Kind
    from nsightlens.ncurep.spec import Value

KINDS: tuple[Kind, ...] = ("kernel", "range", "cmdlist", "graph")

texts = st.text(st.characters(codec="utf-8"), max_size=12)
names = texts.filter(bool)
uint32 = st.integers(0, 2**32 - 1)
uint64 = st.integers(0, 2**64 - 1)
numbers = uint64 | st.floats()
values: st.SearchStrategy[Value] = st.none() | numbers | texts
instances = st.lists(st.tuples(values, values), max_size=4)
metrics = st.lists(st.builds(MetricSpec, names, values, instances), max_size=8)
extents = st.tuples(*[st.integers(0, 2**31)] * 3)
processes = st.builds(ProcessInfo, uint32, texts, texts)

# Category 0 is NVTX's word for none: a range stored with it has none when it is read.
attributes = st.fixed_dictionaries(
    {},
    optional={
        "category": st.integers(1, 2**32 - 1),
        "color": uint32,
        "payload": st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | texts,
        "message": texts,
    },
)
ranges = st.builds(
    lambda name, given, kept: NvtxRange(name, **(given if kept else {})),
    texts,
    attributes,
    st.booleans(),
)
started_ranges = st.builds(
    lambda opened, range_id, thread_id: replace(opened, range_id=range_id, thread_id=thread_id),
    ranges,
    uint64,
    uint32,
)
states = st.lists(
    st.builds(
        NvtxDomainState,
        uint64,
        texts,
        st.lists(ranges, max_size=3).map(tuple),
        st.lists(started_ranges, max_size=2).map(tuple),
    ),
    max_size=3,
    unique_by=lambda domain: domain.domain_id,
)

rules = st.builds(
    RuleMessage,
    rule=texts,
    rule_name=texts,
    section=st.none() | texts,
    severity=st.integers(-(2**31), 2**31 - 1),
    title=st.none() | texts,
    message=texts,
)
rules_with_speedup = st.builds(
    lambda rule, percent, scope: replace(rule, speedup_pct=percent, speedup_scope=scope),
    rules,
    st.floats(0, 100),
    st.integers(-(2**31), 2**31 - 1),
)

launches = st.builds(
    LaunchSpec,
    kind=st.sampled_from(KINDS),
    name=names,
    mangled_name=names,
    demangled_name=names,
    metrics=metrics,
    grid=extents,
    block=extents,
    process=st.none() | processes,
    thread_id=uint32,
    api_call_id=uint64,
    context_id=st.none() | uint32,
    stream_id=st.none() | uint32,
    context_name=st.none() | names,
    stream_name=st.none() | names,
    creation_time=st.none() | uint64,
    is_unsupported_device=st.booleans(),
    is_clock_locked=st.none() | st.booleans(),
    nvtx=st.none() | states,
    nvtx_other_threads=st.just({}),
    rules=st.lists(rules | rules_with_speedup, max_size=3),
)
specs = st.builds(
    ReportSpec, launches=st.lists(launches, max_size=5), process=st.none() | processes
)
layouts = st.builds(
    Layout,
    results_per_block=st.integers(1, 6)
    | st.lists(st.integers(0, 3), min_size=1, max_size=4).filter(lambda sizes: sizes[-1] > 0),
    may_mix_kinds=st.booleans(),
    strings=st.sampled_from(["first_block", "first_use", "last_block"]),
    version=st.integers(7, 99),
    source_count=st.integers(0, 2),
    source_bytes=st.integers(0, 50),
    are_sources_beside_results=st.booleans(),
    section_count=st.integers(0, 2),
    sections_bytes=st.integers(0, 50),
)

few_files = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def bits(value: Value) -> object:
    """Return a value so that NaN equals NaN, and -0.0 does not equal 0.0."""
    return struct.pack("<d", value) if isinstance(value, float) else value


def said(launch: LaunchSpec) -> list[object]:
    """Return the metrics of a specification, comparable bit for bit."""
    assert not isinstance(launch.metrics, dict)
    return [
        (m.name, bits(m.value), [(bits(key), bits(value)) for key, value in m.instances])
        for m in launch.metrics
        if isinstance(m, MetricSpec)
    ]


def expected(launch: LaunchSpec, report: ReportSpec) -> LaunchSpec:
    """Return a launch without what the format does not store for its kind."""
    launch = replace(launch, process=launch.process or report.process)
    if launch.kind == "kernel":
        return launch
    without: dict[str, object]
    without = {"mangled_name": "", "demangled_name": "", "grid": (0, 0, 0), "block": (0, 0, 0)}
    if launch.kind != "cmdlist":
        without |= {"name": "", "rules": ()}
    if launch.kind == "range":
        without |= {"stream_id": None, "stream_name": None}
    return replace(launch, **without)  # type: ignore[arg-type]


@given(report=specs, layout=layouts)
@few_files
def test_a_report_reads_back_as_it_was_said(report: ReportSpec, layout: Layout) -> None:
    """Names, ids, metrics, instances, NVTX state and rules of every launch are the given ones."""
    with tempfile.TemporaryDirectory() as folder:
        found = report_spec_of(read_back(Path(folder), report, layout))
    assert len(found.launches) == len(report.launches)
    for launch, given_launch in zip(found.launches, report.launches, strict=True):
        assert said(launch) == said(given_launch)
        wanted = expected(given_launch, report)
        assert replace(launch, metrics=[]) == replace(
            wanted,
            metrics=[],
            nvtx=None if wanted.nvtx is None else tuple(wanted.nvtx),
            rules=tuple(wanted.rules),
        )


@given(report=specs, layout=layouts)
@few_files
def test_every_layout_reads_the_same(report: ReportSpec, layout: Layout) -> None:
    """Cutting a report into blocks in another way changes nothing."""
    with tempfile.TemporaryDirectory() as folder:
        plain = contents(read_back(Path(folder), report))
        assert contents(read_back(Path(folder), report, layout)) == plain


@given(report=specs)
@few_files
def test_writing_what_was_read_changes_nothing(report: ReportSpec) -> None:
    """Reading is the inverse of writing, also of what the reader returns."""
    with tempfile.TemporaryDirectory() as folder:
        first = read_back(Path(folder), report)
        assert contents(read_back(Path(folder), first)) == contents(first)
