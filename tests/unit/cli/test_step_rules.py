"""--batch-from and --batch-size: checked before anything is read, repeated in the JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.reports import attention_launch, gemm_launch, make_launch, write_report

from nsightlens.ncurep.model import NvtxDomainState, NvtxRange

if TYPE_CHECKING:
    from support.command import CommandLine


def _report(name: str = "run_bs16.ncu-rep", label: str | None = None) -> str:
    """Write a report of two launches, in a range or in none."""
    ranges = (NvtxRange(label),) if label else ()
    state = [NvtxDomainState(0, "<default domain>", push_pop=ranges)]
    launches = [replace(one, nvtx=state) for one in (attention_launch(8), gemm_launch(8))]
    return str(write_report(Path(), launches, name=name))


def _answer(run: CommandLine, *words: str) -> dict[str, Any]:
    done = run(*words, "--format", "json")
    assert done.code == 0, done.err
    answer: dict[str, Any] = json.loads(done.out)
    return answer


@pytest.mark.parametrize("command", ["classify", "explain", "export"])
def test_a_bad_expression_is_told_before_any_report_is_read(run: CommandLine, command: str) -> None:
    """Even where that could not be read."""
    Path("bad.ncu-rep").write_bytes(b"NVR\0" + bytes(40))
    place = ("-o", "data") if command == "export" else ()
    done = run(command, "bad.ncu-rep", *place, "--batch-from", "bs([0-9]+)")
    assert done.code == 2
    assert "has no named group" in done.err
    assert len(done.err.splitlines()) == 1


def test_the_name_of_the_file_gives_the_batch_size(run: CommandLine) -> None:
    """Groups along the batch size then have one; the options are repeated in the JSON."""
    expression = "bs(?P<batch_size>[0-9]+)"
    words = ("classify", _report(), "--by", "family", "--batch-from", expression)
    answer = _answer(run, *words)
    assert {row["batch_size"] for row in answer["rows"]} == {16}
    assert answer["source"]["options"]["batch_from"] == [expression]
    assert run(*words).err == ""


def test_a_batch_size_for_all_is_repeated_in_the_json(run: CommandLine) -> None:
    """With where it came from."""
    answer = _answer(run, "classify", _report(), "--batch-size", "4")
    assert answer["source"]["options"]["batch_size"] == 4
    assert {row["batch_source"] for row in answer["rows"]} == {"batch_size"}
    explained = _answer(run, "explain", "run_bs16.ncu-rep", "0", "--batch-size", "4")
    assert explained["source"]["options"]["batch_size"] == 4


def test_groups_without_a_batch_size_are_told_once(run: CommandLine) -> None:
    """Only where rows go by batch size."""
    done = run("classify", _report(), "--by", "family")
    (line,) = done.err.splitlines()
    assert line.startswith("nsightlens: note: no launch has a batch size")
    assert run("classify", "run_bs16.ncu-rep").err == ""


def test_launches_under_a_capture_are_told_and_have_no_batch_size(run: CommandLine) -> None:
    """Their phase is capture."""
    path = _report(label="capture_8_FULL")
    done = run("classify", path, "--by", "family", "--batch-size", "8", "--format", "json")
    rows = json.loads(done.out)["rows"]
    assert {(row["phase"], row["batch_size"]) for row in rows} == {("capture", None)}
    assert "2 of 2 launches are under the capture of a CUDA graph" in done.err


def test_a_draft_has_no_phase_by_the_name_of_its_kernel(run: CommandLine) -> None:
    """The name of a kernel of attention says decode; a draft is none that counts."""
    launch = make_launch("paged_attention_v1_kernel")
    state = [NvtxDomainState(0, "<default domain>", push_pop=(NvtxRange("step[DRAFT bs=8]"),))]
    path = str(write_report(Path(), [launch, replace(launch, nvtx=state)]))
    rows = _answer(run, "classify", path)["rows"]
    assert [(row["phase"], row["step_engine"]) for row in rows] == [
        ("decode", None),
        (None, "SGLang"),
    ]
