"""The writer: what a specification says is in the file, however it is laid out."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support import reports
from support.contents import contents, read_back, read_bytes

from nsightlens.errors import OutputError, OutputExistsError
from nsightlens.ncurep import read_ncu_rep
from nsightlens.ncurep.model import (
    NvtxDomainState,
    NvtxRange,
    ProcessInfo,
    RuleMessage,
    SessionInfo,
    ValueKind,
)
from nsightlens.ncurep.spec import (
    Float32,
    FocusedRuleMessage,
    FocusMetric,
    LaunchSpec,
    Layout,
    MetricSpec,
    ReportSpec,
    Uint32,
    Value,
    report_spec_of,
)
from nsightlens.ncurep.write import encode_ncu_rep, write_ncu_rep

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.ncurep.model import Kind

PROCESS = ProcessInfo(11, "10.0.0.1", "first")
OTHER_PROCESS = ProcessInfo(12, "10.0.0.1", "second")


def rich_report() -> ReportSpec:
    """Return a report that uses everything that a specification can say."""
    state = [
        NvtxDomainState(
            0,
            "<default domain>",
            push_pop=(
                NvtxRange("outer"),
                NvtxRange("inner", category=3, color=0xFF00FF00, payload=-5, message="why"),
            ),
        ),
        NvtxDomainState(
            5,
            "engine",
            start_end=(NvtxRange("request", category=0, payload=2.5, range_id=9, thread_id=44),),
        ),
    ]
    launch = LaunchSpec(
        name="axpy",
        demangled_name="void axpy<float>(float)",
        mangled_name="_Z4axpyIfEvT_",
        metrics=[("a", 1), ("b", 2.5), ("c", "text"), ("d", None), ("a", 7)],
        instances={"a": [(1, 2), ("k", 3.5), (2.5, "s"), (None, 4)], "only": [(1, 1.0)]},
        process=PROCESS,
        context_name="context",
        stream_name="stream",
        creation_time=1234,
        is_unsupported_device=True,
        is_clock_locked=True,
        nvtx=state,
        rules=[
            RuleMessage("R", "Rule", "S", 4, "Title", "message", 12.5, 2),
            RuleMessage("Q", "Other", None, 2, None, "message"),
        ],
    )
    kinds: tuple[Kind, ...] = ("range", "cmdlist", "graph")
    others = [
        LaunchSpec(kind=kind, name="name", metrics={"a": i}, process=OTHER_PROCESS)
        for i, kind in enumerate(kinds)
    ]
    return ReportSpec(
        launches=[launch, *others, *reports.everything()],
        sessions=[reports.session(PROCESS), reports.session(OTHER_PROCESS)],
        process=PROCESS,
        comments="made by a test",
    )


def values_of(folder: Path, metrics: dict[str, Value]) -> dict[str, Value]:
    """Return metrics as they read back, from columns to plain values."""
    scalars_file = read_back(folder, [LaunchSpec(metrics=metrics)])
    (spec,) = report_spec_of(scalars_file).launches
    return {m.name: m.value for m in spec.metrics if isinstance(m, MetricSpec)}


def test_a_file_begins_with_the_magic_and_the_version() -> None:
    """The first bytes are those that the format documents."""
    data = encode_ncu_rep([], Layout(version=9))
    assert data[:4] == b"NVR\0"
    assert data[4:10] == struct.pack("<I", 2) + b"\x08\x09"


@pytest.mark.parametrize(
    "value",
    [0, 1, 2**32, 2**63, 2**64 - 1, 0.0, -0.0, 1e-300, math.inf, -math.inf, "", "text", None],
)
def test_a_value_reads_back_as_it_was_given(tmp_path: Path, value: Value) -> None:
    """Integers, doubles, texts and missing values keep value and type."""
    found = values_of(tmp_path, {"metric": value})["metric"]
    assert repr(found) == repr(value)


def test_a_nan_reads_back_as_a_number_that_is_none(tmp_path: Path) -> None:
    """NaN is a legal value, not a missing one."""
    file = read_back(tmp_path, [LaunchSpec(metrics={"metric": math.nan})])
    assert file.scalars.kind[0] == ValueKind.DOUBLE
    assert math.isnan(file.scalars.value[0])


def test_the_narrow_types_of_the_format_can_be_written(tmp_path: Path) -> None:
    """A uint32 and a 32-bit float are other fields than their wide twins, with equal values."""
    assert values_of(tmp_path, {"u": Uint32(3), "f": Float32(1.5)}) == {"u": 3, "f": 1.5}
    narrow = encode_ncu_rep([LaunchSpec(metrics={"f": Float32(1.5)})])
    wide = encode_ncu_rep([LaunchSpec(metrics={"f": 1.5})])
    assert len(wide) - len(narrow) == 4


@pytest.mark.parametrize("value", [-1, 2**64, Uint32(2**32), Uint32(-1)])
def test_an_integer_that_does_not_fit_is_refused(value: Value) -> None:
    """Nothing is cut to size in silence."""
    with pytest.raises(ValueError, match="is not an unsigned"):
        encode_ncu_rep([LaunchSpec(metrics={"metric": value})])


def test_a_name_that_occurs_twice_is_stored_twice(tmp_path: Path) -> None:
    """Duplicates keep their order, and instances join the last one."""
    launch = LaunchSpec(metrics=[("twice", 1.0), ("twice", 2.0)], instances={"twice": [(1, 5)]})
    scalars = read_back(tmp_path, [launch]).scalars
    assert list(scalars.value) == [1.0, 2.0]
    assert list(scalars.instance_count) == [0, 1]


def test_instances_without_a_metric_form_one_without_a_value(tmp_path: Path) -> None:
    """An instance-only metric is null as a scalar."""
    file = read_back(tmp_path, [LaunchSpec(instances={"only": [(7, 1.5), (None, 2.5)]})])
    assert list(file.scalars.kind) == [ValueKind.NULL]
    assert file.instances is not None
    assert list(file.instances.value) == [1.5, 2.5]
    assert list(file.instances.correlation_kind) == [ValueKind.INTEGER, ValueKind.NULL]


def test_names_that_are_not_given_repeat_the_function_name(tmp_path: Path) -> None:
    """A short specification still gives a result with three names."""
    (result,) = read_back(tmp_path, [LaunchSpec(name="axpy")]).results
    assert (result.function_name, result.mangled_name, result.demangled_name) == ("axpy",) * 3


def test_bytes_that_are_not_utf8_can_be_written(tmp_path: Path) -> None:
    """A surrogate escape stands for a byte that is no text, and the reader shows that byte."""
    assert b"bad\xffname" in encode_ncu_rep([LaunchSpec(name="bad\udcffname")])
    (result,) = read_back(tmp_path, [LaunchSpec(name="bad\udcffname")]).results
    assert result.function_name == r"bad\xffname"


def test_the_stack_of_the_launching_thread_is_the_launchs(tmp_path: Path) -> None:
    """Stacks of other threads are in the file and not in the launch."""
    mine = [NvtxDomainState(1, "engine", push_pop=(NvtxRange("mine"),))]
    theirs = [NvtxDomainState(1, "engine", push_pop=(NvtxRange("theirs"),))]
    launch = LaunchSpec(thread_id=20, nvtx=mine, nvtx_other_threads={10: theirs, 30: theirs})
    assert b"theirs" in encode_ncu_rep([launch])
    (result,) = read_back(tmp_path, [launch]).results
    assert result.nvtx == tuple(mine)


def test_no_nvtx_state_is_not_an_empty_one(tmp_path: Path) -> None:
    """A report without ``--nvtx`` differs from one in which no range was open."""
    without, empty = read_back(tmp_path, [LaunchSpec(nvtx=None), LaunchSpec(nvtx=[])]).results
    assert without.nvtx is None
    assert empty.nvtx == ()


def test_a_range_with_an_attribute_has_a_category(tmp_path: Path) -> None:
    """The format stores category, colour and message together; 0 stands for no category."""
    state = [NvtxDomainState(1, "engine", push_pop=(NvtxRange("range", payload=7),))]
    (result,) = read_back(tmp_path, [LaunchSpec(nvtx=state)]).results
    assert result.nvtx is not None
    assert result.nvtx[0].push_pop == (NvtxRange("range", payload=7),)


def test_rule_messages_keep_their_order_and_fields(tmp_path: Path) -> None:
    """Messages of one rule share a rule result, and what a message points at does not disturb."""
    rules = [
        RuleMessage("R", "Rule", "S", 4, "Title", "first", 12.5, 2),
        RuleMessage("R", "Rule", "S", 2, None, "second"),
        FocusedRuleMessage("Q", "Other", None, 1, "T", "third", focus=(FocusMetric("a", 1.0, 2),)),
    ]
    data = encode_ncu_rep([LaunchSpec(rules=rules)])
    assert data.count(b"Rule") == 1
    (result,) = read_bytes(tmp_path, data).results
    assert [(m.rule, m.severity, m.title, m.message, m.speedup_pct) for m in result.rules] == [
        ("R", 4, "Title", "first", 12.5),
        ("R", 2, None, "second", None),
        ("Q", 1, "T", "third", None),
    ]


def test_sessions_read_back_merged(tmp_path: Path) -> None:
    """A session is spread over blocks as ncu does, and its parts come together again."""
    session = SessionInfo(
        process=PROCESS,
        creation_time=1_700_000_000,
        operating_system="Linux",
        computer_name="node",
        executable="/bin/app",
        working_directory="/tmp",
        command_line="--steps 3",
        profiler_command_line="ncu app",
        versions={"CUDA Version": "12.6", "Display Driver Version": "560.28"},
        clock_control="base",
        replay_mode="kernel",
        device_names=("GPU 0", "GPU 1"),
        device_attributes={0: {"a": 1, "b": 2.5}, 1: {"c": "text"}},
    )
    file = read_back(tmp_path, ReportSpec(launches=[LaunchSpec()], sessions=[session]))
    assert file.sessions == [session]
    assert file.block_count > 5


def test_a_device_keeps_its_name_whatever_its_number(tmp_path: Path) -> None:
    """On a machine with several GPUs a session may describe the second one alone."""
    session = SessionInfo(
        process=PROCESS,
        device_names=("GPU 3", "GPU 1", "GPU without attributes"),
        device_attributes={3: {"a": 3}, 1: {"a": 1}},
    )
    (found,) = read_back(tmp_path, ReportSpec(sessions=[session])).sessions
    assert found.device_names == session.device_names
    # A device of which only the name is known takes the first free number.
    assert found.device_attributes == {**session.device_attributes, 0: {}}


def test_a_comment_is_stored_even_without_a_session() -> None:
    """Where a report comes from can always be said inside it."""
    data = encode_ncu_rep(ReportSpec(process=PROCESS, comments="synthetic, from a model"))
    assert b"synthetic, from a model" in data


def test_processes_belong_to_their_launches(tmp_path: Path) -> None:
    """A launch that names no process gets the report's, and a block never mixes two."""
    launches = [LaunchSpec(), LaunchSpec(process=OTHER_PROCESS), LaunchSpec()]
    report = ReportSpec(launches=launches, process=PROCESS)
    file = read_back(tmp_path, report, Layout(results_per_block=3))
    assert [result.process for result in file.results] == [PROCESS, OTHER_PROCESS, PROCESS]
    assert file.block_count == 3


@pytest.mark.parametrize("strings", ["first_block", "first_use", "last_block"])
@pytest.mark.parametrize("results_per_block", [1, 3, 100, [0, 2, 1], (1, 0, 4)])
@pytest.mark.parametrize("may_mix_kinds", [False, True])
def test_the_layout_does_not_change_what_a_report_says(
    tmp_path: Path, strings: str, results_per_block: int, may_mix_kinds: bool
) -> None:
    """Blocks and string tables can lie in any way."""
    layout = Layout(
        strings=strings,  # type: ignore[arg-type]
        results_per_block=results_per_block,
        may_mix_kinds=may_mix_kinds,
        source_count=2,
        source_bytes=100,
        section_count=3,
        sections_bytes=50,
        are_sources_beside_results=may_mix_kinds,
    )
    report = rich_report()
    plain = read_back(tmp_path, report)
    other = read_back(tmp_path, report, layout)
    assert other.source_count == 2
    assert contents(other) == contents(plain)
    assert other.sessions == plain.sessions


@pytest.mark.parametrize("sizes", [0, -1, [], [2, 0], [-1, 2]])
def test_block_sizes_that_lead_nowhere_are_refused(sizes: int) -> None:
    """The last size repeats, so it cannot be zero."""
    with pytest.raises(ValueError, match="results_per_block"):
        encode_ncu_rep([LaunchSpec()], Layout(results_per_block=sizes))


def test_filler_has_the_size_that_was_asked_for() -> None:
    """Heavy sections and sources can be had for measurements."""
    plain = len(encode_ncu_rep([LaunchSpec()]))
    sections = len(encode_ncu_rep([LaunchSpec()], Layout(section_count=7, sections_bytes=5000)))
    sources = len(encode_ncu_rep([LaunchSpec()], Layout(source_count=3, source_bytes=5000)))
    assert 5000 <= sections - plain < 5300
    assert 15000 <= sources - plain < 15100


def test_what_was_read_can_be_written_again(tmp_path: Path) -> None:
    """Reading what was written of what was read says the same."""
    first = read_back(tmp_path, rich_report())
    second = read_back(tmp_path, first)
    assert contents(second) == contents(first)
    assert second.sessions == first.sessions
    assert len(first.results) == len(rich_report().launches)


def test_a_report_is_not_overwritten_unless_asked(tmp_path: Path) -> None:
    """The first file stays as it was, and the error names it."""
    path = write_ncu_rep(tmp_path / "r.ncu-rep", [LaunchSpec(name="first")])
    before = path.read_bytes()
    with pytest.raises(OutputExistsError, match=r"r\.ncu-rep .* say overwrite=True") as error:
        write_ncu_rep(path, [LaunchSpec(name="second")])
    assert "--force" not in str(error.value)
    assert path.read_bytes() == before
    write_ncu_rep(path, [LaunchSpec(name="second")], overwrite=True)
    assert read_ncu_rep(path).results[0].function_name == "second"


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    """Neither a part of the new file nor a change to the old one."""
    path = write_ncu_rep(tmp_path / "r.ncu-rep", [LaunchSpec()])
    before = path.read_bytes()
    bad = [LaunchSpec(), LaunchSpec(metrics={"metric": -1})]
    with pytest.raises(ValueError, match="unsigned"):
        write_ncu_rep(path, bad, overwrite=True)
    assert path.read_bytes() == before
    assert [child.name for child in tmp_path.iterdir()] == ["r.ncu-rep"]


def test_a_folder_that_is_not_there_is_an_output_error(tmp_path: Path) -> None:
    """The message says which file could not be written."""
    with pytest.raises(OutputError, match=r"the folder .*missing does not exist"):
        write_ncu_rep(tmp_path / "missing" / "r.ncu-rep", [LaunchSpec()])


def test_writing_gives_the_bytes_of_encoding(tmp_path: Path) -> None:
    """Both ways to get a report are one."""
    report = rich_report()
    path = write_ncu_rep(tmp_path / "r.ncu-rep", report)
    assert path.read_bytes() == encode_ncu_rep(report)


def test_a_graph_result_has_no_name(tmp_path: Path) -> None:
    """The format has no place for a name, grid or rule of a range or a graph."""
    launch = LaunchSpec(kind="graph", name="ignored", rules=rich_report().launches[0].rules)
    (result,) = read_back(tmp_path, [launch]).results
    assert (result.kind, result.function_name, result.grid, result.rules) == (
        "graph",
        None,
        None,
        (),
    )


def test_the_fixtures_of_a_failed_launch_and_of_none_read_as_such(tmp_path: Path) -> None:
    """The builders that other tests use give what they promise."""
    failed = read_ncu_rep(reports.write_report(tmp_path, [reports.failed_launch()]))
    assert failed.results[0].grid == (0, 0, 0)
    assert not any(name.startswith("launch__") for name in failed.strings)
    empty = read_ncu_rep(reports.write_empty_report(tmp_path))
    assert empty.results == []
    assert replace(empty.sessions[0], process=None).device_names == ("NVIDIA H100 80GB HBM3",)


def test_severity_and_scope_of_a_rule_may_be_negative(tmp_path: Path) -> None:
    """A damaged report can say so, and what was read can be written."""
    rule = RuleMessage("R", "Rule", None, -1, None, "message", 1.0, -(2**31))
    (result,) = read_back(tmp_path, [LaunchSpec(rules=[rule])]).results
    assert result.rules == (rule,)


def test_an_integer_below_64_bits_is_refused() -> None:
    """It would come back as another number."""
    state = [NvtxDomainState(0, "", push_pop=(NvtxRange("r", category=0, payload=-(2**63) - 1),))]
    with pytest.raises(ValueError, match="64-bit"):
        encode_ncu_rep([LaunchSpec(nvtx=state)])


def test_domains_keep_the_order_in_which_they_are_given(tmp_path: Path) -> None:
    """The NVTX path of a launch names them in this order; those of other threads come last."""
    state = tuple(NvtxDomainState(i, f"domain {i}", push_pop=(NvtxRange("r"),)) for i in (5, 0, 3))
    other = [NvtxDomainState(1, "elsewhere", push_pop=(NvtxRange("s"),)), *state]
    launch = LaunchSpec(thread_id=7, nvtx=state, nvtx_other_threads={2: other})
    (result,) = read_back(tmp_path, [launch]).results
    assert result.nvtx == (*state, NvtxDomainState(1, "elsewhere"))


def test_a_range_without_thread_and_call_stays_without(tmp_path: Path) -> None:
    """No number is made up for what a report leaves out, except where the format wants one."""
    state = (NvtxDomainState(2, "d", start_end=(NvtxRange("r", range_id=1, thread_id=4),)),)
    kinds: tuple[Kind, ...] = ("range", "kernel")
    launches = [LaunchSpec(kind=k, thread_id=None, api_call_id=None, nvtx=state) for k in kinds]
    without, kernel = read_back(tmp_path, launches).results
    assert (without.thread_id, without.api_call_id, without.nvtx) == (None, None, state)
    assert (kernel.thread_id, kernel.api_call_id) == (0, 0)
