"""What a user says of the steps fills what labels leave open, and never more."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.reports import PROCESS, attention_launch, session, step_state, write_report

from nsightlens import open_report
from nsightlens.errors import FilterError
from nsightlens.ncurep.model import NvtxDomainState, NvtxRange
from nsightlens.ncurep.spec import ReportSpec
from nsightlens.ncurep.write import write_ncu_rep
from nsightlens.steps import StepRules, annotate_launches
from nsightlens.steps.rules import compiled

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

BATCH = r"bs(?P<batch_size>[0-9]+)"


def _annotated(
    folder: Path, stacks: list[str], *batch_from: str, name: str = "r.ncu-rep", **rules: Any
) -> pa.Table:
    """Return the steps of launches, one for each stack of ranges joined by ``|``."""
    launches = [
        replace(
            attention_launch(8),
            nvtx=[
                NvtxDomainState(
                    domain_id=0,
                    name="<default domain>",
                    push_pop=tuple(NvtxRange(one) for one in stack.split("|") if one),
                )
            ],
        )
        for stack in stacks
    ]
    report = open_report(write_report(folder, launches, name=name))
    return annotate_launches(report, StepRules(batch_from, **rules))


def test_the_nvtx_path_is_searched_before_the_file_and_the_file_before_the_command(
    tmp_path: Path,
) -> None:
    """Each launch takes the first place that says anything."""
    steps = _annotated(tmp_path, ["work bs3", "other", ""], BATCH, name="run_bs16.ncu-rep")
    assert steps["batch_size"].to_pylist() == [3, 16, 16]
    assert steps["batch_source"].to_pylist() == ["batch_from:nvtx", *["batch_from:file"] * 2]


@pytest.mark.parametrize(("process_id", "found"), [(4242, 24), (1, None)])
def test_the_command_line_of_the_process_is_searched_last(
    tmp_path: Path, process_id: int, found: int | None
) -> None:
    """That of the launch's own process, and of no other."""
    option = r"--batch(?:-size)?[ =](?P<batch>[0-9]+)"
    launches = [replace(attention_launch(8), nvtx=[])]
    line = "python decode.py --batch-size 24"
    process = replace(PROCESS, process_id=process_id)
    sessions = [session(process, command_line=line)]
    spec = ReportSpec(launches=launches, sessions=sessions, process=PROCESS)
    path = tmp_path / "report.ncu-rep"
    write_ncu_rep(path, spec)
    steps = annotate_launches(open_report(path), StepRules((option,)))
    assert steps["batch_size"].to_pylist() == [found]
    assert steps["batch_source"].to_pylist() == [found and "batch_from:command"]


def test_our_own_annotation_wins_over_every_rule(tmp_path: Path) -> None:
    """It was made for this."""
    report = open_report(write_report(tmp_path, [attention_launch(8)], name="bs9.ncu-rep"))
    steps = annotate_launches(report, StepRules((BATCH,), 7))
    assert steps["batch_size"].to_pylist() == [8]
    assert steps["batch_source"].to_pylist() == ["annotation"]


def test_the_first_expression_that_finds_anything_counts(tmp_path: Path) -> None:
    """Within one place, in the order in which they are given."""
    steps = _annotated(tmp_path, ["n4 bs3"], "n(?P<batch>[0-9]+)", BATCH)
    assert steps["batch_size"].to_pylist() == [4]


def test_an_expression_may_say_more_than_the_batch_size(tmp_path: Path) -> None:
    """Sums over the sequences follow from what each has."""
    expression = (
        r"(?P<phase>Decode|Prefill)_bs(?P<batch>\d+)_ctx(?P<context>\d+)_i(?P<step_index>\d+)"
    )
    (row,) = _annotated(tmp_path, ["Decode_bs3_ctx500_i0"], expression).to_pylist()
    assert (row["phase"], row["batch_size"], row["step_index"]) == ("decode", 3, 0)
    assert (row["context_length"], row["kv_tokens"]) == (500, 1500)


def test_the_context_of_a_single_sequence_is_the_sum(tmp_path: Path) -> None:
    """Of several, the sum does not say it."""
    expression = r"b(?P<batch>\d+)kv(?P<kv_tokens>\d+)"
    steps = _annotated(tmp_path, ["b1kv70", "b2kv70"], expression)
    assert steps["context_length"].to_pylist() == [70, None]


def test_the_label_of_an_engine_wins(tmp_path: Path) -> None:
    """What is found beside it fills what it does not say, unless it says otherwise."""
    label = "execute_context_0(0)_generation_8(8)"
    stacks = [f"bs9 ctx5|{label}", f"bs8 ctx5|{label}", "bs9|DecodeStep3", f"prefill|{label}"]
    expression = r"bs(?P<batch>\d+)(?: ctx(?P<context>\d+))?"
    steps = _annotated(tmp_path, stacks, expression, batch_size=2)
    assert steps["batch_size"].to_pylist() == [8, 8, 9, 8]
    assert steps["batch_source"].to_pylist() == ["vLLM", "vLLM", "batch_from:nvtx", "vLLM"]
    assert steps["context_length"].to_pylist() == [None, 5, None, None]


def test_a_batch_size_for_all_fills_what_nothing_else_says(tmp_path: Path) -> None:
    """It comes last."""
    steps = _annotated(tmp_path, ["", "bs3", "DecodeStep3"], BATCH, batch_size=7)
    assert steps["batch_size"].to_pylist() == [7, 3, 7]
    assert steps["batch_source"].to_pylist() == ["batch_size", "batch_from:nvtx", "batch_size"]


def test_a_batch_size_for_all_completes_our_own_annotation(tmp_path: Path) -> None:
    """Its context and query are of each sequence."""
    state = step_state(8)
    own = state[1]
    name = "step v1 phase=decode context=500 query=2"
    launch = replace(
        attention_launch(8), nvtx=[state[0], replace(own, push_pop=(NvtxRange(name),))]
    )
    report = open_report(write_report(tmp_path, [launch]))
    (row,) = annotate_launches(report, StepRules((), 10)).to_pylist()
    assert (row["kv_tokens"], row["query_tokens"]) == (5000, 20)


@pytest.mark.parametrize("label", ["step[DRAFT bs=8]", "capture_8_FULL", "empty_batch"])
def test_what_serves_nobody_gets_no_batch_size_from_a_rule(tmp_path: Path, label: str) -> None:
    """Drafts, captures and idle steps stay without."""
    steps = _annotated(tmp_path, [label], "(?P<batch>8)", batch_size=4)
    assert steps["batch_size"].to_pylist() == [None]


@pytest.mark.parametrize("value", ["0", "-3", "1.5", "x", "9" * 19, "\u0663"])
def test_a_value_that_is_no_batch_size_is_not_taken(tmp_path: Path, value: str) -> None:
    """The next expression, and then the next place, is asked."""
    everything = r"(?:^|/)bs(?P<batch_size>[^_]*)_"
    name = "run_n6.ncu-rep"
    steps = _annotated(tmp_path, [f"bs{value}_"], everything, r"_n(?P<batch>\d+)", name=name)
    assert steps["batch_size"].to_pylist() == [6]


def test_a_phase_that_is_none_is_not_taken(tmp_path: Path) -> None:
    """The batch size beside it is."""
    steps = _annotated(tmp_path, ["warm_bs3"], r"(?P<phase>\w+)_bs(?P<batch>\d+)")
    assert (steps["phase"].to_pylist(), steps["batch_size"].to_pylist()) == ([None], [3])


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("bs(?P<batch>", "no regular expression"),
        ("bs([0-9]+)", "no named group"),
        ("(?P<bacth>[0-9]+)", "Did you mean batch?"),
        ("(?P<n>[0-9]+)", "Known are batch_size, batch, phase, context_length"),
    ],
)
def test_an_expression_that_cannot_be_used_is_a_diagnosis(expression: str, message: str) -> None:
    """It names the expression and what is known."""
    with pytest.raises(FilterError) as caught:
        compiled(StepRules((expression,)))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [0, -1, 10**18])
def test_a_batch_size_that_cannot_be_is_a_diagnosis(size: int) -> None:
    """It begins at 1."""
    with pytest.raises(FilterError, match="whole number from 1 on"):
        compiled(StepRules((), size))
