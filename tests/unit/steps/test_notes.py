"""What a person must know of the steps of a report is said once, and only where it is so."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from support.reports import attention_launch, write_empty_report, write_report

from nsightlens import open_report
from nsightlens.ncurep.model import NvtxDomainState, NvtxRange
from nsightlens.steps import StepCounts, StepRules, notes_of, step_counts, step_notes

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.report import Report


def _report(folder: Path, *stacks: str, name: str = "r.ncu-rep", **session_fields: Any) -> Report:
    """Return a report of one launch for each stack of ranges joined by ``|``; empty for none."""
    launches = [
        replace(
            attention_launch(8),
            nvtx=[
                NvtxDomainState(
                    domain_id=0,
                    name="<default domain>",
                    push_pop=tuple(map(NvtxRange, stack.split("|"))),
                )
            ]
            if stack
            else [],
        )
        for stack in stacks
    ]
    return open_report(write_report(folder, launches, name=name, **session_fields))


def test_a_report_whose_launches_all_have_a_batch_size_needs_no_note(tmp_path: Path) -> None:
    """Nothing is to be said."""
    assert step_notes(_report(tmp_path, "step[DECODE bs=4]", "step[DECODE bs=8]")) == []


def test_a_report_without_launches_needs_no_note(tmp_path: Path) -> None:
    """That it holds none is said elsewhere."""
    assert step_notes(open_report(write_empty_report(tmp_path))) == []


def test_a_report_without_ranges_is_told_of_the_option_of_ncu(tmp_path: Path) -> None:
    """Nothing else could have brought them."""
    (note,) = step_notes(_report(tmp_path, "", ""))
    assert note == (
        "no launch has a batch size, and none is in an NVTX range (ncu --nvtx). "
        "--batch-from or --batch-size says it (docs/steps.md)."
    )


def test_the_engine_that_ran_is_told_by_its_switch(tmp_path: Path) -> None:
    """From the command line of the process, or from a label without numbers."""
    line = "python -m vllm.entrypoints.openai.api_server"
    (note,) = step_notes(_report(tmp_path, "layer", command_line=line))
    assert note.startswith("no launch has a batch size. vLLM writes it with --profiler-config")
    (note,) = step_notes(_report(tmp_path, "DecodeStep1", "step[DECODE bs=4]", name="gap.ncu-rep"))
    assert note.startswith(
        "1 of 2 launches have no batch size. PrefillStep and DecodeStep hold no batch size."
    )


def test_a_rule_of_the_users_settles_it(tmp_path: Path) -> None:
    """Then nothing is missing."""
    report = _report(tmp_path, "layer")
    assert step_notes(report, StepRules((), 8)) == []
    assert step_notes(report, StepRules(("(?P<batch>[0-9]+)$",))) != []


def test_launches_that_serve_nobody_are_counted_by_why(tmp_path: Path) -> None:
    """They are no launches without a batch size."""
    label = "execute_context_0(0)_generation_8(8)"
    report = _report(
        tmp_path,
        label,
        f"capture_8_FULL|{label}",
        "step[DRAFT bs=8]",
        "step[DRAFT bs=4]",
        "dummy_decode[bs=1/8 tok=1 d=1]",
        "empty_batch",
        "Initialization|PrefillStep0",
    )
    assert step_notes(report) == [
        "1 of 7 launches is under the capture of a CUDA graph: left out of every batch size.",
        "1 of 7 launches is in dummy passes: left out of every batch size.",
        "2 of 7 launches are in passes of a draft model: left out of every batch size.",
        "1 of 7 launches is in idle steps: left out of every batch size.",
        "1 of 7 launches is in warm-up steps of an initialization: left out of every batch size.",
    ]


def test_engines_that_contradict_each_other_are_named(tmp_path: Path) -> None:
    """The outermost was taken."""
    report = _report(tmp_path, "step[DECODE bs=4]|execute_context_0(0)_generation_8(8)")
    assert step_notes(report) == [
        "1 of 1 launches is in steps that SGLang and vLLM name differently: SGLang's label counts."
    ]


def test_counts_of_reports_add_up(tmp_path: Path) -> None:
    """So that many reports can be read one by one, and spoken of once."""
    first = step_counts(_report(tmp_path, "", "step[DRAFT bs=8]"))
    second = step_counts(_report(tmp_path, "layer", "step[DRAFT bs=8]", name="b.ncu-rep"))
    total = first.plus(second)
    assert total == StepCounts(4, 3, 2, Counter(draft=2))
    assert len(notes_of(total)) == 2
