"""What our writer writes, read by NVIDIA's own reader: every value must be the same."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any

import pytest
from support import reports
from support.known_metrics import unknown_metrics

from nsightlens.ncurep.model import (
    NvtxDomainState,
    NvtxRange,
    ProcessInfo,
    RuleMessage,
    SessionInfo,
)
from nsightlens.ncurep.spec import (
    Float32,
    FocusedRuleMessage,
    FocusMetric,
    LaunchSpec,
    Layout,
    ReportSpec,
    Uint32,
)
from nsightlens.ncurep.write import write_ncu_rep

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from nsightlens.ncurep.spec import Value

pytestmark = pytest.mark.ncu_report

ncu_report: Any = pytest.importorskip(
    "ncu_report", reason="NVIDIA's reader is not installed (pip install nsightlens[ncu])"
)

KERNEL, RANGE, COMMAND_LIST, GRAPH = 0, 1, 2, 3


def actions_of(
    folder: Path, report: ReportSpec | Iterable[LaunchSpec], layout: Layout | None = None
) -> list[Any]:
    """Write a report and return the actions that NVIDIA's reader finds in it."""
    path = write_ncu_rep(folder / "written.ncu-rep", report, layout)
    context = ncu_report.load_report(str(path))
    ranges = [context.range_by_idx(i) for i in range(context.num_ranges())]
    return [found.action_by_idx(i) for found in ranges for i in range(found.num_actions())]


def same(found: Any, expected: Value) -> bool:
    """Say whether two values are the same, type and bits included."""
    if isinstance(expected, float):
        return isinstance(found, float) and struct.pack("<d", found) == struct.pack("<d", expected)
    return type(found) is type(expected) and bool(found == expected)


SCALARS: dict[str, Value] = {
    "zero": 0,
    "small": 7,
    "beyond_int64": 2**63 + 5,
    "largest": 2**64 - 1,
    "double": 0.1,
    "negative_zero": -0.0,
    "subnormal": 5e-324,
    "nan": math.nan,
    "inf": math.inf,
    "minus_inf": -math.inf,
    "text": "breakdown: a,b",
    "empty_text": "",
    "utf8": "µs 图",
    "null": None,
}


def test_every_kind_of_scalar_is_equal(tmp_path: Path) -> None:
    """Integers beyond 2**63, doubles bit for bit, texts, and a metric without a value."""
    (action,) = actions_of(tmp_path, [LaunchSpec(metrics=SCALARS)])
    assert sorted(action.metric_names()) == sorted(SCALARS)
    for name, expected in SCALARS.items():
        metric = action.metric_by_name(name)
        assert metric.has_value() == (expected is not None), name
        if expected is not None:
            assert same(metric.value(), expected), name


def test_the_narrow_types_are_equal(tmp_path: Path) -> None:
    """A uint32 and a 32-bit float are seen as such."""
    launch = LaunchSpec(metrics={"uint32": Uint32(2**32 - 1), "float32": Float32(1.5)})
    (action,) = actions_of(tmp_path, [launch])
    uint32, float32 = (action.metric_by_name(name) for name in ("uint32", "float32"))
    assert (uint32.kind(), uint32.value()) == (ncu_report.IMetric.ValueKind_UINT32, 2**32 - 1)
    assert (float32.kind(), float32.value()) == (ncu_report.IMetric.ValueKind_FLOAT, 1.5)


def test_the_last_of_two_equal_names_counts(tmp_path: Path) -> None:
    """A name that occurs twice is legal, and the reader takes the last value."""
    (action,) = actions_of(tmp_path, [LaunchSpec(metrics=[("twice", 1.0), ("twice", 2.0)])])
    assert action.metric_by_name("twice").value() == 2.0


@pytest.mark.parametrize(
    "instances",
    [
        [(4096, 1), (4112, 2**63)],
        [(0.5, 1.25), (0.75, math.inf)],
        [("FFMA", 10), ("HMMA", 20)],
        [(1, "first"), (2, "second")],
    ],
    ids=["addresses", "numbers", "opcodes", "texts"],
)
@pytest.mark.parametrize("value", [30, None])
def test_instances_and_their_correlation_ids_are_equal(
    tmp_path: Path, instances: list[tuple[Value, Value]], value: Value
) -> None:
    """Integer, float and text ids, with and without a value of the metric itself."""
    launch = LaunchSpec(metrics={"metric": value}, instances={"metric": instances})
    (action,) = actions_of(tmp_path, [launch])
    metric = action.metric_by_name("metric")
    ids = metric.correlation_ids()
    assert metric.num_instances() == len(instances)
    assert metric.has_value() == (value is not None)
    for i, (correlation, expected) in enumerate(instances):
        assert same(ids.value(i), correlation)
        assert same(metric.value(i), expected)


def test_instances_without_correlation_ids_have_none(tmp_path: Path) -> None:
    """Some metrics are only split, not attributed."""
    launch = LaunchSpec(instances={"metric": [(None, 1.0), (None, 2.0)]})
    metric = actions_of(tmp_path, [launch])[0].metric_by_name("metric")
    assert [metric.value(i) for i in range(metric.num_instances())] == [1.0, 2.0]
    assert not metric.has_correlation_ids()


def test_nvtx_states_are_equal(tmp_path: Path) -> None:
    """Two domains, the stack of the launching thread among others, and start/end ranges."""
    inner = NvtxRange("inner", category=3, color=0xFF00FF00, payload=-5, message="why")
    request = NvtxRange("request", range_id=9, thread_id=44)
    state = [
        NvtxDomainState(0, "<default domain>", push_pop=(NvtxRange("outer"), inner)),
        NvtxDomainState(5, "engine", push_pop=(NvtxRange("step"),), start_end=(request,)),
    ]
    others = {
        1: [NvtxDomainState(0, "<default domain>", push_pop=(NvtxRange("not mine"),))],
        99: [NvtxDomainState(5, "engine", push_pop=(NvtxRange("not mine either"),))],
    }
    launch = LaunchSpec(thread_id=20, nvtx=state, nvtx_other_threads=others)
    found = actions_of(tmp_path, [launch])[0].nvtx_state()
    domains = {name: found.domain_by_id(name) for name in found.domains()}
    assert {i: domain.name() for i, domain in domains.items()} == {
        0: "<default domain>",
        5: "engine",
    }
    assert list(domains[0].push_pop_ranges()) == ["outer", "inner"]
    assert list(domains[5].push_pop_ranges()) == ["step"]
    assert list(domains[0].start_end_ranges()) == []
    assert list(domains[5].start_end_ranges()) == ["request"]
    attributes = domains[0].push_pop_range(1)
    assert (attributes.category(), attributes.color(), attributes.message()) == (
        3,
        0xFF00FF00,
        "why",
    )
    assert attributes.payload_as_double() == -5.0
    assert not domains[0].push_pop_range(0).has_attributes()


@pytest.mark.parametrize("payload", [None, 0, 7, 2.5])
def test_payloads_are_equal(tmp_path: Path, payload: float | None) -> None:
    """An integer payload, a number, and a range with attributes but no payload."""
    attributes = NvtxRange("range", category=1, payload=payload)
    state = [NvtxDomainState(1, "engine", push_pop=(attributes,))]
    found = actions_of(tmp_path, [LaunchSpec(nvtx=state)])[0].nvtx_state()
    assert found.domain_by_id(1).push_pop_range(0).payload_as_double() == (payload or 0)


def test_rule_messages_are_equal(tmp_path: Path) -> None:
    """Rule, section, title, message, severity, estimated speed-up and focus metrics."""
    rules = [
        RuleMessage("R", "Rule", "S", 4, "Title", "first", 12.5, 2),
        RuleMessage("R", "Rule", "S", 2, "Second", "second", 3.0, 1),
        FocusedRuleMessage(
            "Q", "Other", "T", 3, "Third", "third", focus=(FocusMetric("m", 1.5, 2, "1.5 < 2"),)
        ),
    ]
    found = actions_of(tmp_path, [LaunchSpec(rules=rules)])[0].rule_results_as_dicts()
    # NVIDIA's module numbers severities in another order than the file does.
    severities = {0: 0, 1: 1, 2: 3, 3: 4, 4: 2}
    assert [result["rule_message"] for result in found] == [
        {"title": rule.title, "message": rule.message, "type": severities[rule.severity]}
        for rule in rules
    ]
    assert [(r["rule_identifier"], r["name"], r["section_identifier"]) for r in found] == [
        (rule.rule, rule.rule_name, rule.section) for rule in rules
    ]
    assert [r.get("speedup_estimation") for r in found] == [
        {"type": 2, "speedup": 12.5},
        {"type": 1, "speedup": 3.0},
        None,
    ]
    assert found[2]["focus_metrics"] == [
        {"name": "m", "value": 1.5, "severity": 2, "info": "1.5 < 2"}
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("f", "m", "d"), ("f", "m", "d")),
        (("f", "m", ""), ("f", "m", "m")),
        (("f", "", "d"), ("f", "", "d")),
        (("", "m", "d"), ("m", "m", "d")),
        (("f", "m", "void k<\udcff>()"), ("f", "m", "void k<\udcff>()")),
    ],
    ids=["all", "no demangled", "no mangled", "no function", "not UTF-8"],
)
def test_names_are_equal(
    tmp_path: Path, given: tuple[str, str, str], expected: tuple[str, str, str]
) -> None:
    """Each name as given; an empty function or demangled name shows the mangled one."""
    name, mangled, demangled = given
    launch = LaunchSpec(name=name, mangled_name=mangled, demangled_name=demangled)
    (action,) = actions_of(tmp_path, [launch])
    bases = (
        ncu_report.IAction.NameBase_FUNCTION,
        ncu_report.IAction.NameBase_MANGLED,
        ncu_report.IAction.NameBase_DEMANGLED,
    )
    assert tuple(action.name(base) for base in bases) == expected


@pytest.mark.parametrize("results_per_block", [1, 2, 10])
@pytest.mark.parametrize("strings", ["first_block", "first_use", "last_block"])
def test_ranges_graphs_and_processes_load_in_any_layout(
    tmp_path: Path, results_per_block: int, strings: Any
) -> None:
    """Several results in a block, and names that are defined after their use, change nothing."""
    first, second = ProcessInfo(1, "host", "one"), ProcessInfo(2, "host", "two")
    launches = [
        LaunchSpec(kind="kernel", metrics={"a": 0.0}, process=first),
        LaunchSpec(kind="kernel", metrics={"b": 1.0}, process=first),
        LaunchSpec(kind="range", metrics={"a": 2.0}, process=first),
        LaunchSpec(kind="graph", metrics={"c": 3.0}, process=second),
        LaunchSpec(kind="cmdlist", metrics={"a": 4.0}, process=second),
        LaunchSpec(kind="kernel", metrics={"d": 5.0}, process=second),
    ]
    sessions = [reports.session(first), reports.session(second)]
    layout = Layout(
        results_per_block=results_per_block,
        strings=strings,
        source_count=1,
        source_bytes=64,
        section_count=2,
        sections_bytes=64,
    )
    report = ReportSpec(launches=launches, sessions=sessions, comments="made by a test")
    actions = actions_of(tmp_path, report, layout)
    assert [action.workload_type() for action in actions] == [
        KERNEL,
        KERNEL,
        RANGE,
        GRAPH,
        COMMAND_LIST,
        KERNEL,
    ]
    found = [
        {name: action.metric_by_name(name).value() for name in action.metric_names()}
        for action in actions
    ]
    assert found == [launch.metrics for launch in launches]


def test_the_fixtures_load_with_equal_values(tmp_path: Path) -> None:
    """The launches that all other tests use are reports to NVIDIA's reader as well."""
    launches = reports.everything()
    for action, launch in zip(actions_of(tmp_path, launches), launches, strict=True):
        assert isinstance(launch.metrics, dict)
        assert len(action.metric_names()) == len(launch.metrics)
        for name, expected in launch.metrics.items():
            assert same(action.metric_by_name(name).value(), expected), name


def test_every_metric_of_the_fixtures_exists_on_the_chip(tmp_path: Path) -> None:
    """A counter that is misspelt, or not of this architecture, would have no description."""
    path = write_ncu_rep(tmp_path / "fixtures.ncu-rep", reports.everything())
    assert unknown_metrics(path) == []


@pytest.mark.parametrize(
    "said",
    [
        {"executable": "/bin/app"},
        {"working_directory": "/tmp"},
        {"command_line": "--steps 3"},
        {"profiler_command_line": "ncu app"},
        {"clock_control": "none"},
        {"replay_mode": "kernel"},
        {"operating_system": "Linux"},
        {"versions": {"CUDA Version": "12.4"}},
    ],
)
def test_a_session_that_says_little_is_a_session(said: dict[str, Any], tmp_path: Path) -> None:
    """What a message of the format requires is written, whatever else is known."""
    session = SessionInfo(process=ProcessInfo(7, "host", "app"), **said)
    report = ReportSpec(launches=[LaunchSpec(metrics={"a": 1})], sessions=[session])
    (action,) = actions_of(tmp_path, report)
    assert action.metric_by_name("a").as_uint64() == 1
