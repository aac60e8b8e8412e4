"""compare: two sides, rows, formats."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator
from support.reports import attention_launch, gemm_launch, write_report
from support.sides import timed

from nsightlens import tables
from nsightlens.render.comparison_notes import signed
from nsightlens.render.json_schema import published

if TYPE_CHECKING:
    from support.command import CommandLine


@pytest.fixture
def sides(run: CommandLine) -> CommandLine:
    """Return the command line in a folder with two reports of each side."""
    here = Path()
    for name, factor in (("b1", 1.0), ("b2", 1.001), ("n1", 1.2), ("n2", 1.201)):
        launches = [timed(1e6 * factor), attention_launch(), timed(5e5, "scale")]
        more = [gemm_launch()] if name[0] == "n" else []
        write_report(here, [*launches, *more], name=f"{name}.ncu-rep")
    return run


def _document(run: CommandLine, *words: str) -> dict[str, Any]:
    done = run("compare", *words, "-f", "json")
    assert done.code == 0, done.err
    document: dict[str, Any] = json.loads(done.out)
    return document


def test_the_answer_comes_first_and_then_what_was_compared(sides: CommandLine) -> None:
    """The verdict, both sides with GPU, ncu and clocks, the rows."""
    done = sides("compare", "b1.ncu-rep", "n1.ncu-rep", "--width", "200")
    lines = done.out.splitlines()
    assert done.code == 0
    assert lines[0].startswith(
        "Slower: 1.59 ms to 1.79 ms, +12.6 % (noise -2.92 to +3 %); with what"
    )
    assert lines[2] == "base  b1.ncu-rep (H100 80GB HBM3; ncu 2025.1.0)"
    assert lines[3] == "new   n1.ncu-rep (H100 80GB HBM3; ncu 2025.1.0)"
    regressed = next(line for line in lines if line.startswith("regressed"))
    assert regressed.split()[:3] == ["regressed", "axpy", "elementwise"]
    assert "1.00 ms  1.20 ms" in regressed
    assert "+20.0" in regressed
    assert any(line.startswith("added") for line in lines)


def test_a_regression_does_not_change_the_exit_code(sides: CommandLine) -> None:
    """That is what gate is for."""
    assert sides("compare", "b1.ncu-rep", "n1.ncu-rep").code == 0


def test_a_report_compared_with_itself_has_no_finding(sides: CommandLine) -> None:
    """Every row is indistinguishable."""
    total = _document(sides, "b1.ncu-rep", "b1.ncu-rep")["total"]
    assert total["verdict"] == "indistinguishable"
    assert total["row_counts"] == {
        "improved": 0, "regressed": 0, "indistinguishable": 3, "not_comparable": 0, "added": 0,
        "removed": 0,
    }  # fmt: skip


def test_several_reports_of_each_side_are_repeats(sides: CommandLine) -> None:
    """Those of --base against all others."""
    words = ("n1.ncu-rep", "n2.ncu-rep", "--base", "b1.ncu-rep", "b2.ncu-rep")
    document = _document(sides, *words)
    assert (document["base"], document["new"]) == (
        ["b1.ncu-rep", "b2.ncu-rep"],
        ["n1.ncu-rep", "n2.ncu-rep"],
    )
    assert document["total"]["noise_source"] == "repeats"
    assert "no repeats" not in sides("compare", *words).out


def test_a_report_that_is_given_twice_or_copied_is_no_repeat(sides: CommandLine) -> None:
    """It is said of both."""
    Path("copy.ncu-rep").write_bytes(Path("b1.ncu-rep").read_bytes())
    words = ["n1.ncu-rep", "--base", "b1.ncu-rep", "./b1.ncu-rep", "copy.ncu-rep"]
    done = sides("compare", *words)
    assert "./b1.ncu-rep is given as b1.ncu-rep, too: it is read once" in done.err
    assert "copy.ncu-rep is a copy of b1.ncu-rep" in " ".join(done.out.split())
    document = _document(sides, *words)
    assert any("is a copy of" in text for text in document["source"]["warnings"])
    assert document["total"]["noise_source"] == "default"


def test_groups_show_how_many_launches_they_have(run: CommandLine) -> None:
    """Of both sides, where they differ."""
    write_report(Path(), [timed(1e6)] * 3, name="base.ncu-rep")
    write_report(Path(), [timed(1e6)] * 2, name="new.ncu-rep")
    shown = run("compare", "base.ncu-rep", "new.ncu-rep", "--by", "kernel", "--width", "140").out
    row = next(line for line in shown.splitlines() if line.startswith("not comparable  axpy"))
    assert "3 -> 2" in row


def test_json_follows_its_published_schema(sides: CommandLine) -> None:
    """A program may rely on it."""
    document = _document(sides, "b1.ncu-rep", "n1.ncu-rep")
    Draft202012Validator(json.loads(published("compare"))).validate(document)
    assert list(document["rows"][0]) == [column.name for column in tables.COMPARISON]


def test_csv_has_the_rows_of_json(sides: CommandLine) -> None:
    """One line each."""
    text = sides("compare", "b1.ncu-rep", "n1.ncu-rep", "-f", "csv").out
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    expected = _document(sides, "b1.ncu-rep", "n1.ncu-rep")["rows"]
    assert [row["key"] for row in rows] == [row["key"] for row in expected]


def test_markdown_has_the_answer_and_a_table(sides: CommandLine) -> None:
    """For a merge request."""
    done = sides("compare", "b1.ncu-rep", "n1.ncu-rep", "-o", "x.md")
    text = Path("x.md").read_text(encoding="utf-8")
    assert done.out == ""
    assert text.startswith("**Slower: ")
    assert "| verdict | kernel |" in text
    assert "| regressed | `axpy` |" in text


@pytest.mark.parametrize(
    ("words", "verdicts"),
    [
        ([], ["regressed", "added", "indistinguishable", "indistinguishable"]),
        (["--only", "added"], ["added"]),
        (["--only", "added", "--only", "regressed"], ["regressed", "added"]),
        (["--limit", "1"], ["regressed"]),
        (["--kernel", "axpy"], ["regressed"]),
        (["--family", "gemm"], ["added"]),
        (["--by", "family", "--family", "attention"], ["indistinguishable"]),
    ],
)
def test_rows_are_filtered(sides: CommandLine, words: list[str], verdicts: list[str]) -> None:
    """On both sides alike."""
    rows = _document(sides, "b1.ncu-rep", "n1.ncu-rep", *words)["rows"]
    assert sorted(row["verdict"] for row in rows) == sorted(verdicts)


def test_findings_come_first_the_largest_difference_of_time_before_all(sides: CommandLine) -> None:
    """Unless another order is asked for."""
    rows = _document(sides, "b1.ncu-rep", "n1.ncu-rep")["rows"]
    assert [row["new_kernel"] for row in rows][:2] == ["axpy", "nvjet 128x256 hsh TNT"]
    in_file = _document(sides, "b1.ncu-rep", "n1.ncu-rep", "--sort", "file")["rows"]
    assert [row["new_launch_id"] for row in in_file] == [0, 1, 2, 3]
    changes = _document(sides, "b1.ncu-rep", "n1.ncu-rep", "--sort", "change")["rows"]
    assert changes[0]["verdict"] == "regressed"


def test_a_screen_is_not_filled_with_rows_without_a_finding(run: CommandLine) -> None:
    """They are counted, and shown when asked for."""
    write_report(Path(), [timed(1e6) for _ in range(30)], name="many.ncu-rep")
    out = run("compare", "many.ncu-rep", "many.ncu-rep").out
    assert out.count("indistinguishable  axpy") == 20
    assert "... and 10 rows more (--limit 30)" in out
    out = run("compare", "many.ncu-rep", "many.ncu-rep", "--limit", "30").out
    assert out.count("indistinguishable  axpy") == 30


def test_rows_that_are_not_shown_are_counted_among_those_that_were_asked_for(
    sides: CommandLine,
) -> None:
    """A row of another verdict would not come with a larger limit."""
    words = ("compare", "b1.ncu-rep", "n1.ncu-rep", "--only")
    assert "more (--limit" not in sides(*words, "added").out
    assert (
        "... and 1 row more (--limit 2)" in sides(*words, "indistinguishable", "--limit", "1").out
    )
    assert "no row has the verdict that was asked for" in sides(*words, "removed").out
    text = sides(*words, "indistinguishable", "--limit", "1", "-f", "markdown").out
    assert "- ... and 1 row more" in text


def test_what_cannot_be_compared_is_told_with_its_reason(run: CommandLine) -> None:
    """Once, with the number of rows."""
    write_report(Path(), [timed(1e6), timed(1e6, "scale")], name="a.ncu-rep")
    other = [timed(1e6, sm_clock_hz=1e9), timed(1e6, "scale", sm_clock_hz=1e9)]
    write_report(Path(), other, name="b.ncu-rep")
    out = run("compare", "a.ncu-rep", "b.ncu-rep").out
    assert out.startswith("Not comparable: another SM clock: 1.5 GHz in the base, 1 GHz now")
    assert "not comparable: 2 rows, another SM clock: 1.5 GHz in the base, 1 GHz now\n" in out


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["b1.ncu-rep"], 2, "1 report was given: give two, BASE and NEW"),
        (["b1.ncu-rep", "b2.ncu-rep", "n1.ncu-rep"], 2, "3 reports were given"),
        (["b1.ncu-rep", "nowhere.ncu-rep"], 3, "nowhere.ncu-rep"),
        (["b1.ncu-rep", "text.bin"], 4, "text.bin"),
        (["b1.ncu-rep", "n1.ncu-rep", "--family", "ssm_conv"], 2, "ssm_conv"),
        (["b1.ncu-rep", "n1.ncu-rep", "--noise", "-1"], 2, "not a percentage"),
        (["b1.ncu-rep", "n1.ncu-rep", "--noise", "much"], 2, "not a percentage"),
        (["-", "--base", "-"], 2, "one side only"),
        (["b1.ncu-rep", "n1.ncu-rep", "-o", "n1.ncu-rep", "-f", "json"], 6, "n1.ncu-rep"),
    ],
)
def test_a_slip_is_told_in_one_line(
    sides: CommandLine, words: list[str], code: int, told: str
) -> None:
    """With its exit code."""
    done = sides("compare", *words)
    assert (done.code, done.out) == (code, "")
    assert told in done.err


def test_noise_without_repeats_can_be_stated(sides: CommandLine) -> None:
    """A change below it is none."""
    total = _document(sides, "b1.ncu-rep", "n1.ncu-rep", "--noise", "25")["total"]
    assert total["verdict"] == "indistinguishable"


@pytest.mark.parametrize("width", [80, 200])
def test_no_line_is_wider_than_asked_for(sides: CommandLine, width: int) -> None:
    """But the command to run next, which is there to be copied."""
    out = sides("compare", "b1.ncu-rep", "n1.ncu-rep", "--width", str(width)).out
    lines = [line for line in out.splitlines() if not line.startswith("next: ")]
    assert max(map(len, lines)) <= width


def test_a_change_is_shown_with_its_sign() -> None:
    """Three digits at most."""
    assert [signed(x) for x in (99.96, -12.34, None)] == ["+100", "-12.3", "-"]
