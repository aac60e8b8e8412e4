"""step-label: what labels say, one row per line, and how far expectations agree."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from nsightlens.cli.step_label import FIELDS
from nsightlens.render.json_schema import published

if TYPE_CHECKING:
    from support.command import CommandLine

MIXED = "execute_context_1(512)_generation_31(31)"
EXPECTED = (
    "engine\tlabel\texpected_phase\tbatch_size\tquery_tokens\tis_step\tnote",
    f"vLLM\t{MIXED}\tmixed\t32\t543\t1\t",
    "SGLang\tstep[DECODE bs=63]\tdecode\t63\t63\t1\tseen",
    "other\tdecoder.layers.3\t\t\t\t0\t",
    "",
)


def _rows(run: CommandLine, schema: str, *words: str, code: int = 0) -> list[dict[str, Any]]:
    done = run("step-label", *words, "--format", "json")
    assert done.code == code, done.err
    answer = json.loads(done.out)
    jsonschema.validate(answer, json.loads(published(schema)))
    rows: list[dict[str, Any]] = answer["rows"]
    return rows


def _expected(*lines: str) -> str:
    Path("expected.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return "expected.tsv"


def test_one_label_is_told_field_by_field(run: CommandLine) -> None:
    """Every field has its line, also those that the label does not say."""
    lines = run("step-label", MIXED).out.splitlines()
    told = dict(line.split(maxsplit=1) for line in lines)
    assert list(told) == list(FIELDS)
    assert (told["is_step"], told["phase"], told["batch_size"]) == ("yes", "mixed", "32")
    assert (told["kv_tokens"], told["label"]) == ("-", MIXED)


def test_labels_of_a_file_give_a_row_each_in_order(run: CommandLine) -> None:
    """Empty lines and repeated labels too; ends of lines of Windows are no part of a label."""
    Path("labels.txt").write_bytes(b"\xef\xbb\xbfDecodeStep3\r\n\nx\nDecodeStep3")
    rows = _rows(run, "step-label", "--file", "labels.txt")
    assert [row["label"] for row in rows] == ["DecodeStep3", "", "x", "DecodeStep3"]
    assert [row["step_index"] for row in rows] == [3, None, None, 3]
    assert [row["is_step"] for row in rows] == [True, False, False, True]


def test_labels_come_from_standard_input(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash stands for it."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"step[DECODE bs=2]\n")))
    (row,) = _rows(run, "step-label", "--file", "-")
    assert row["batch_size"] == 2


def test_a_domain_stands_before_an_at_sign(run: CommandLine) -> None:
    """As in the paths that other commands show."""
    own = "nsightlens@step v1 phase=decode batch_size=8 context=500 query=1"
    label = "[Executor] _forward_step 1: 2 ctx reqs, 0 gen reqs"
    rows = _rows(run, "step-label", own, f"TensorRT-LLM@{label}", f"TensorRT@{label}")
    assert [row["batch_size"] for row in rows] == [8, 2, None]
    assert (rows[0]["engine"], rows[0]["kv_tokens"]) == ("nsightlens", 4000)


def test_a_label_may_begin_with_a_dash(run: CommandLine) -> None:
    """After two dashes, as everywhere."""
    done = run("step-label", "--format", "csv", "--", "-x", "--file")
    assert [row["label"] for row in csv.DictReader(io.StringIO(done.out))] == ["-x", "--file"]


def test_csv_has_the_fields_in_order(run: CommandLine) -> None:
    """What a label does not say is an empty cell."""
    done = run("step-label", "step[IDLE bs=0]", "a,b", "--format", "csv")
    assert done.out == (
        f'{",".join(FIELDS)}\r\nfalse,idle,0,,,,SGLang,step[IDLE bs=0]\r\nfalse,,,,,,,"a,b"\r\n'
    )


def test_many_labels_are_a_table(run: CommandLine) -> None:
    """A line for each."""
    lines = run("step-label", MIXED, "step[DRAFT bs=3]", "--width", "120").out.splitlines()
    assert lines[-2].split() == [MIXED, "yes", "mixed", "32", "543", "-", "-", "vLLM"]
    assert lines[-1].split() == ["step[DRAFT", "bs=3]", "no", "draft", "3", *"---", "SGLang"]


def test_expectations_that_agree_end_well(run: CommandLine) -> None:
    """Each field has its share; remarks are left aside without a word."""
    done = run("step-label", "--check", _expected(*EXPECTED))
    assert (done.code, done.err) == (0, "")
    assert "labels right in every field: 3 of 3, 100.0 %" in done.out
    assert "wrong numbers: 0" in done.out
    rows = _rows(run, "step-label-check", "--check", "expected.tsv")
    fields = {row["field"]: row["total_count"] for row in rows if row["measure"] == "field"}
    assert fields == {"is_step": 3, "phase": 3, "batch_size": 3, "query_tokens": 3, "engine": 2}


def test_a_wrong_number_is_listed_and_fails(run: CommandLine) -> None:
    """One that is read and not expected is wrong as well."""
    path = _expected(*EXPECTED[:2], "SGLang\tstep[DECODE bs=63]\tdecode\t64\t\t1\t")
    done = run("step-label", "--check", path)
    assert done.code == 1
    assert "batch_size: expected 64, read 63:\n    step[DECODE bs=63]" in done.out
    assert "query_tokens: expected -, read 63:" in done.out
    rows = _rows(run, "step-label-check", "--check", path, code=1)
    assert [row["measure"] for row in rows][-2:] == ["wrong_number"] * 2


def test_a_number_that_is_not_read_is_no_wrong_number(run: CommandLine) -> None:
    """It is listed where all differences are asked for."""
    path = _expected(*EXPECTED[:2], "x\tdecoder\tdecode\t8\t\t1\t")
    done = run("step-label", "--check", path)
    assert (done.code, "decoder" in done.out) == (0, False)
    told = run("step-label", "--check", path, "--verbose").out
    assert "batch_size: expected 8, read -:\n    decoder" in told
    assert "labels right in every field: 1 of 2, 50.0 %" in told


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("name\tis_step",), "has no column label"),
        (("label\tis_step\tlabel", "a\t1\tb"), "two columns 'label'"),
        (("label\tis_step", "a\tyes"), "is_step is 'yes', which it cannot be"),
        (("label\tis_step\tphase", "a\t1\tdecoding"), "phase is 'decoding'"),
        (("label\tis_step\tbatch_size", "a\t1\t-1"), "batch_size is '-1'"),
        (("label\tis_step", "a\tb\t1"), "in line 2: has 3 cells where the heading has 2"),
    ],
)
def test_a_list_that_cannot_be_read_is_a_diagnosis(
    run: CommandLine, lines: tuple[str, ...], message: str
) -> None:
    """It names the line and what was found."""
    done = run("step-label", "--check", _expected(*lines))
    assert done.code == 4
    assert message in done.err
    assert len(done.err.splitlines()) == 1


def test_an_unknown_column_is_told_and_left_aside(run: CommandLine) -> None:
    """It may be a slip."""
    done = run("step-label", "--check", _expected("label\tis_step\tbatch", "a\t0\t3"))
    assert done.code == 0
    assert "left aside: column 'batch'" in done.err


@pytest.mark.parametrize("words", [(), ("a", "--file", "b"), ("--file", "a", "--check", "b")])
def test_labels_have_exactly_one_source(run: CommandLine, words: tuple[str, ...]) -> None:
    """None and two are a slip."""
    done = run("step-label", *words)
    assert done.code == 2
    assert "say which labels" in done.err


def test_a_file_that_is_not_there_is_told(run: CommandLine) -> None:
    """With the exit code of what is not found."""
    assert run("step-label", "--file", "none.txt").code == 3
