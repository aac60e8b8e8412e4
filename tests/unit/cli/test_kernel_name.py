"""kernel-name: what names say, one row per line, and how far labels given by hand agree."""

from __future__ import annotations

import csv
import io
import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from nsightlens.cli import kernel_name
from nsightlens.cli.kernel_name import FIELDS
from nsightlens.kernels.model import FAMILIES, PHASES
from nsightlens.render.json_schema import published

if TYPE_CHECKING:
    from support.command import CommandLine

NVJET = "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT"

LABELLED = (
    "name\tfamily\tphase\tdtypes\talso\tambiguous",
    f"{NVJET}\tgemm\tn/a\tbf16\t\t0",
    "paged_attention_v1_kernel\tattention\tdecode\t\t\t0",
    "rms_norm_kernel\tgemm\tn/a\t\t\t0",
    "vectorized_gather_kernel\tembedding\tn/a\t\tcopy\t1",
    "rope_kernel\tnorm\tn/a\t\trope\t1",
    "Kernel2\tgemm\tn/a\t\t\t1",
)


def _rows(run: CommandLine, schema: str, *words: str) -> list[dict[str, Any]]:
    done = run("kernel-name", *words, "--format", "json")
    assert done.code == 0, done.err
    answer = json.loads(done.out)
    jsonschema.validate(answer, json.loads(published(schema)))
    rows: list[dict[str, Any]] = answer["rows"]
    return rows


def test_one_name_is_told_field_by_field(run: CommandLine) -> None:
    """Every field has its line, also those that the name does not say."""
    lines = run("kernel-name", NVJET).out.splitlines()
    told = dict(line.split(maxsplit=1) for line in lines)
    assert list(told) == list(FIELDS)
    assert told["name"] == NVJET
    assert (told["family"], told["tile"], told["head_dim"]) == ("gemm", "128x256x64", "-")
    assert told["rule"] == "nvjet.bf16"


def test_names_of_a_file_give_a_row_each_in_order(run: CommandLine) -> None:
    """Empty lines and repeated names too; ends of lines of Windows are no part of a name."""
    Path("names.txt").write_bytes(b"\xef\xbb\xbfa_gemm\r\n\nrms_norm\na_gemm")
    rows = _rows(run, "kernel-name", "--file", "names.txt")
    assert [row["name"] for row in rows] == ["a_gemm", "", "rms_norm", "a_gemm"]
    assert [row["family"] for row in rows] == ["gemm", "other", "norm", "gemm"]
    assert rows[0]["dtypes"] == []
    assert rows[0]["tile"] is None


def test_rows_come_before_all_names_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few names first, then more at once; one that repeats stands wherever it was."""
    monkeypatch.setattr(kernel_name, "_FIRST", 2)
    monkeypatch.setattr(kernel_name, "_AT_ONCE", 5)
    names = [f"{kind}_gemm" for kind in "abacbaddaebafgaa"]
    rest = iter(names)
    kernels = kernel_name._parsed(Namespace(), rest)
    first = next(kernels)
    assert next(rest) == names[2]
    assert [one.name for one in (first, *kernels)] == names[:2] + names[3:]


def test_an_empty_file_gives_no_row(run: CommandLine) -> None:
    """It is no error."""
    Path("names.txt").touch()
    assert _rows(run, "kernel-name", "--file", "names.txt") == []
    assert run("kernel-name", "--file", "names.txt").code == 0


def test_names_come_from_standard_input(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hyphen stands for it."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"silu_and_mul\nx\n")))
    rows = _rows(run, "kernel-name", "--file", "-")
    assert [row["family"] for row in rows] == ["activation", "other"]


def test_bytes_that_are_not_utf8_cost_no_row(run: CommandLine) -> None:
    """They are shown as escapes, and the first line that has one is told."""
    Path("names.txt").write_bytes(b"a_gemm\nrope\xff_kernel\n\xfe\n")
    done = run("kernel-name", "--file", "names.txt", "-f", "csv")
    names = [row["name"] for row in csv.DictReader(io.StringIO(done.out))]
    assert names == ["a_gemm", r"rope\xff_kernel", r"\xfe"]
    assert done.err.count("\n") == 1
    assert r"names.txt: line 2: the byte \xff is not UTF-8" in done.err


def test_escapes_are_read_only_where_asked_for(run: CommandLine) -> None:
    """A name may hold a backslash of its own."""
    words = (r"a\tb", r"c\\d")
    assert [row["name"] for row in _rows(run, "kernel-name", *words)] == list(words)
    rows = _rows(run, "kernel-name", "--escaped", *words)
    assert [row["name"] for row in rows] == ["a\tb", "c\\d"]


@pytest.mark.parametrize("form", ["table", "markdown", "csv"])
def test_many_names_make_a_table(run: CommandLine, form: str) -> None:
    """With a line for each."""
    out = run("kernel-name", NVJET, "rms_norm", "-f", form).out
    assert sum("gemm" in line or "rmsnorm" in line for line in out.splitlines()) == 2


@pytest.mark.parametrize(
    "words",
    [[], ["a", "--file", "b"], ["a", "--check", "b"], ["--file", "a", "--check", "b"]],
)
def test_names_must_come_from_one_place(run: CommandLine, words: list[str]) -> None:
    """Neither none nor two."""
    done = run("kernel-name", *words)
    assert (done.code, done.out) == (2, "")
    assert "--file FILE" in done.err


@pytest.mark.parametrize("option", ["--file", "--check"])
def test_a_file_that_cannot_be_read_is_told_before_anything_is_written(
    run: CommandLine, option: str
) -> None:
    """A missing one, and a folder."""
    for name in ("missing.txt", "."):
        done = run("kernel-name", option, name, "-f", "json")
        assert (done.code, done.out) == (3, "")
        assert done.err.startswith(f"nsightlens: error: {name}: ")


def test_an_agreement_counts_families_fields_and_wrong_names(run: CommandLine) -> None:
    """Of ambiguous names, the further families and other count as right."""
    Path("labelled.tsv").write_text("\n".join(LABELLED) + "\n", encoding="utf-8")
    rows = _rows(run, "kernel-name-check", "--check", "labelled.tsv")
    found = {row["key"]: (row["right_count"], row["total_count"]) for row in rows}
    assert found["settled|family"] == (2, 3)
    assert found["ambiguous|family"] == (3, 3)
    assert found["recall|gemm"] == (1, 2)
    assert found["precision|norm"] == (0, 1)
    assert found["recall|attention"] == (1, 1)
    assert found["field|phase"] == (1, 1)
    assert found["given|dtypes"] == (1, 1)
    assert found["confusion|gemm|norm"] == (None, 1)
    (wrong,) = (row for row in rows if row["measure"] == "wrong")
    assert (wrong["name"], wrong["rule"]) == ("rms_norm_kernel", "words.rmsnorm")
    assert len(found) == len(rows)


def test_an_agreement_is_shown_as_tables_and_names_on_demand(run: CommandLine) -> None:
    """The names that are wrong are listed with --verbose."""
    Path("labelled.tsv").write_text("\n".join(LABELLED), encoding="utf-8")
    short = run("kernel-name", "--check", "labelled.tsv").out
    assert "2 of 3, 66.7 %" in short
    assert "rms_norm_kernel" not in short
    long = run("kernel-name", "--check", "labelled.tsv", "--verbose").out
    assert "gemm read as norm by words.rmsnorm:\n    rms_norm_kernel\n" in long
    for form in ("csv", "markdown"):
        assert "rms_norm_kernel" in run("kernel-name", "--check", "labelled.tsv", "-f", form).out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no column name and no column family"),
        ("name\tkind\nx\tgemm\n", "has no column family"),
        (
            "name\tfamily\nx\tgem\n",
            "in line 2: family is 'gem', which it cannot be. Allowed are attention",
        ),
        ("name\tfamily\nx\tgemm\t\n", "in line 2: has 3 cells where the heading has 2"),
        ("name\tfamily\tname\nx\tgemm\ty\n", "in line 1: has two columns 'name'"),
        ("name\tfamily\tambiguous\nx\tgemm\tmaybe\n", "in line 2: ambiguous is 'maybe'"),
        ("name\tfamily\tphase\nx\tgemm\twrong\n", "in line 2: phase is 'wrong'"),
    ],
)
def test_a_labelled_list_that_is_none_is_diagnosed(run: CommandLine, text: str, told: str) -> None:
    """With the line and what was found there."""
    Path("labelled.tsv").write_text(text, encoding="utf-8")
    done = run("kernel-name", "--check", "labelled.tsv")
    assert (done.code, done.out) == (4, "")
    assert told in done.err


def test_bytes_of_an_argument_that_are_not_utf8_are_told_as_those_of_a_file(
    run: CommandLine,
) -> None:
    """A shell passes them on; Python shows them as signs that are none."""
    done = run("kernel-name", "rope\udcff_kernel", "-f", "csv")
    assert r"the command line: the byte \xff is not UTF-8" in done.err
    assert r"rope\xff_kernel" in done.out


def test_every_field_that_is_read_otherwise_is_listed_on_demand(run: CommandLine) -> None:
    """With the field, the label, what was read and the rule; where both sides give it."""
    labelled = f"name\tfamily\tdtypes\ttile\n{NVJET}\tgemm\tfp16\t\n"
    Path("labelled.tsv").write_text(labelled, encoding="utf-8")
    rows = _rows(run, "kernel-name-check", "--check", "labelled.tsv")
    (row,) = (row for row in rows if row["measure"] == "differs")
    assert (row["field"], row["label"], row["read"]) == ("dtypes", "fp16", "bf16")
    long = run("kernel-name", "--check", "labelled.tsv", "--verbose").out
    assert f"dtypes fp16 read as bf16 by {row['rule']}:\n    {NVJET}\n" in long
    assert NVJET not in run("kernel-name", "--check", "labelled.tsv").out


def test_a_column_that_is_not_known_is_told(run: CommandLine) -> None:
    """It may be a slip; it may be a note of somebody's, and costs nothing."""
    Path("labelled.tsv").write_text("name\tfamily\tbogus\nx\tgemm\t\n", encoding="utf-8")
    done = run("kernel-name", "--check", "labelled.tsv")
    assert done.code == 0
    assert "warning: labelled.tsv: left aside: column 'bogus'. Known are name, family" in done.err


def test_the_schema_lists_the_families_and_phases_that_there_are() -> None:
    """Those of the model, in its order."""
    row = json.loads(published("kernel-name"))["properties"]["rows"]["items"]["properties"]
    assert row["family"]["enum"] == list(FAMILIES)
    assert row["phase"]["enum"] == list(PHASES)
    assert [key for key in row if key != "key"] == list(FIELDS)
