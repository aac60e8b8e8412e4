"""sweep: the bundled sweep as text and for machines, many reports, bad ones, and slips."""

from __future__ import annotations

import csv
import io
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from support.golden import check_golden
from support.reports import attention_launch, gemm_launch, write_report

from nsightlens import example, tables
from nsightlens.render.json_schema import published

if TYPE_CHECKING:
    from support.command import CommandLine


@pytest.fixture
def decode(run: CommandLine) -> str:
    """Return a copy of the bundled sweep in the folder of reports."""
    del run  # it makes the folder
    shutil.copy(example.path(), "decode.ncu-rep")
    return "decode.ncu-rep"


def _answer(run: CommandLine, *words: str) -> dict[str, Any]:
    done = run("sweep", *words, "-f", "json")
    assert done.code == 0, done.err
    answer: dict[str, Any] = json.loads(done.out)
    return answer


@pytest.mark.parametrize("width", [80, 100, 160])
def test_the_bundled_sweep_is_shown_as_it_was(run: CommandLine, decode: str, width: int) -> None:
    """A change of the look or of the numbers is a decision."""
    done = run("sweep", decode, "--width", str(width))
    assert (done.code, done.err) == (0, "")
    check_golden(f"sweep_{width}.txt", done.out)


@pytest.mark.parametrize("width", [40, 60, 120])
def test_no_line_is_wider_than_the_terminal(run: CommandLine, decode: str, width: int) -> None:
    """Except the next command."""
    for line in run("sweep", decode, "--width", str(width)).out.splitlines():
        assert len(line) <= width or "nsightlens sweep" in line


def test_the_json_follows_its_schema(run: CommandLine, decode: str) -> None:
    """Rows, trends, steps and verdict, with null where nothing is known."""
    answer = _answer(run, decode)
    jsonschema.validate(answer, json.loads(published("sweep")))
    assert list(answer["rows"][0]) == [column.name for column in tables.SWEEP]
    assert list(answer["trends"][0]) == [column.name for column in tables.SWEEP_TRENDS]
    assert list(answer["steps"][0]) == [column.name for column in tables.SWEEP_STEPS]
    assert answer["verdict"]["explanation"] == "bandwidth_saturated_attention"
    assert answer["rows"][0]["kernel"] is None
    assert [report["path"] for report in answer["source"]["reports"]] == [decode]


def test_the_csv_has_the_rows_of_the_json(run: CommandLine, decode: str) -> None:
    """With the same columns."""
    text = run("sweep", decode, "-f", "csv").out
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    theirs = _answer(run, decode)["rows"]
    assert len(rows) == len(theirs)
    assert [row["flop_count"] for row in rows] == [str(row["flop_count"]) for row in theirs]


def test_markdown_has_the_verdict_and_every_row(run: CommandLine, decode: str) -> None:
    """For a pull request."""
    lines = run("sweep", decode, "-f", "markdown").out.splitlines()
    assert lines[0] == "**H100 80GB HBM3 · 113 launches · 2.10 ms · batch 1 to 512**"
    assert lines[2].startswith("Decode on H100 80GB HBM3, batch 1 to 512")
    assert sum(line.startswith("| attention/flash\\_splitkv") for line in lines) == 0
    assert sum(line.startswith("| attention/flash_splitkv |") for line in lines) == 10
    assert sum(line.startswith("| 512 |") for line in lines) == 1


def test_kernels_can_be_told_apart(run: CommandLine, decode: str) -> None:
    """By their names."""
    kernels = {row["kernel"] for row in _answer(run, decode, "--by", "kernel")["rows"]}
    assert "flash_fwd_splitkv_kernel" in {name.partition("<")[0] for name in kernels}


def test_filters_decide_which_launches_count(run: CommandLine, decode: str) -> None:
    """And are repeated in the source of the JSON."""
    answer = _answer(run, decode, "--family", "gemm")
    assert {row["family"] for row in answer["rows"]} == {"gemm"}
    assert answer["source"]["options"] == {"by": "family", "family": ["gemm"]}


def test_a_filter_that_nothing_passes_is_an_error(run: CommandLine, decode: str) -> None:
    """In one line, with the filter."""
    done = run("sweep", decode, "--family", "softmax")
    assert (done.code, done.out) == (2, "")
    assert "softmax" in done.err
    assert done.err.count("\n") == 1


def test_reports_of_one_batch_size_each_make_one_sweep(run: CommandLine) -> None:
    """With the batch size from their names."""
    for batch in (1, 8):
        shutil.copy("all.ncu-rep", f"bs{batch}.ncu-rep")
    words = ("bs1.ncu-rep", "bs8.ncu-rep", "--batch-from", "bs(?P<batch_size>[0-9]+)")
    answer = _answer(run, *words)
    assert {1, 8} < {row["batch_size"] for row in answer["rows"]}
    assert run("sweep", *words).out.startswith("2 reports · ")


def test_a_batch_size_can_be_given(run: CommandLine) -> None:
    """For launches of which nothing says it."""
    answer = _answer(run, "all.ncu-rep", "--batch-size", "16")
    assert {row["batch_source"] for row in answer["rows"] if row["batch_size"] == 16} >= {
        "batch_size"
    }


def test_a_report_without_batch_sizes_says_once_how_to_give_them(
    run: CommandLine, tmp_path: Path
) -> None:
    """And shows a row per family."""
    launches = [replace(one, nvtx=None) for one in (attention_launch(), gemm_launch())]
    write_report(tmp_path, launches, name="bare.ncu-rep")
    done = run("sweep", "bare.ncu-rep")
    assert (done.code, done.err) == (0, "")
    assert " ".join(done.out.split()).count("--batch-from or --batch-size says it") == 1
    assert [line.split("  ")[0] for line in done.out.splitlines() if "memory" in line] != []
    assert "whole steps" not in done.out


def test_bad_reports_are_named_at_the_end_and_decide_the_exit_code(
    run: CommandLine, decode: str
) -> None:
    """The good ones are answered all the same."""
    done = run("sweep", "text.bin", decode, "missing.ncu-rep")
    assert done.code == 4
    assert "bandwidth" in done.out
    assert [line.split(": ")[2].split(":")[0] for line in done.err.splitlines()] == [
        "text.bin", "missing.ncu-rep",
    ]  # fmt: skip


def test_only_bad_reports_are_an_error_without_an_answer(run: CommandLine) -> None:
    """The first decides the code."""
    done = run("sweep", "missing.ncu-rep", "text.bin")
    assert (done.code, done.out) == (3, "")
    assert len(done.err.splitlines()) == 2


def test_a_report_without_launches_says_so(run: CommandLine) -> None:
    """It is sound."""
    done = run("sweep", "none.ncu-rep")
    assert done.code == 0
    assert "no launches" in done.out
    assert "holds no launch" in done.err


@pytest.mark.parametrize(
    "words",
    [
        ["--model", "no-such-model"],
        ["--device", "no-such-gpu"],
        ["--peaks", "missing.toml"],
        ["--kernel-rules", "missing.toml"],
        ["--batch-from", "("],
        ["--kernel", "("],
        ["-o", "all.ncu-rep"],
    ],
)
def test_a_slip_is_told_before_any_report_is_read(
    run: CommandLine, decode: str, words: list[str]
) -> None:
    """In one line."""
    done = run("sweep", decode, "text.bin", *words)
    assert done.code != 0
    assert done.out == ""
    assert done.err.count("\n") == 1
    assert "text.bin" not in done.err


def test_the_output_is_not_overwritten_without_force(run: CommandLine, decode: str) -> None:
    """The suffix chooses the format."""
    assert run("sweep", decode, "-o", "a.csv").code == 0
    assert Path("a.csv").read_text(encoding="utf-8").startswith("origin,")
    assert run("sweep", decode, "-o", "a.csv").code == 6
    assert run("sweep", decode, "-o", "a.csv", "--force").code == 0


def test_a_model_stands_beside_what_was_done(run: CommandLine, decode: str) -> None:
    """Where no annotation says it."""
    answer = _answer(run, decode, "--model", "opt-1.3b")
    assert answer["source"]["options"]["model"] == "opt-1.3b"


def test_a_model_that_hides_a_built_in_one_is_said(run: CommandLine, decode: str) -> None:
    """What lies there is taken, and nobody has to guess that it was."""
    config = {
        "model_type": "llama", "hidden_size": 64, "intermediate_size": 64, "vocab_size": 100,
        "num_attention_heads": 1, "num_hidden_layers": 1,
    }  # fmt: skip
    path = Path("opt-1.3b", "config.json")
    path.parent.mkdir()
    path.write_text(json.dumps(config), encoding="utf-8")
    done = run("sweep", decode, "--model", "opt-1.3b")
    assert f"note: the model was read from {path}, it is not the built-in opt-1.3b" in done.err
    assert "note: the model" not in run("sweep", decode, "--model", "./opt-1.3b").err


def test_other_peaks_are_named_in_the_heading(run: CommandLine, decode: str) -> None:
    """And a GPU that the report's cannot be is a warning."""
    done = run("sweep", decode, "--device", "A100-SXM4-80GB")
    assert " · peaks of " in done.out.splitlines()[0]
    assert "warning" in done.err


def test_the_next_command_works(run: CommandLine, decode: str) -> None:
    """It is one paste away."""
    (line,) = (one for one in run("sweep", decode).out.splitlines() if one.startswith("next: "))
    words = line.removeprefix("next: nsightlens ").partition("#")[0].split()
    assert run(*words).code == 0


def test_a_model_is_proposed_where_nothing_says_what_the_shapes_need(run: CommandLine) -> None:
    """Of attention or GEMMs at a batch size."""
    assert "--model NAME" in run("sweep", "all.ncu-rep", "--batch-size", "4").out
    shutil.copy(example.path(), "decode.ncu-rep")
    assert "--model NAME" not in run("sweep", "decode.ncu-rep").out
