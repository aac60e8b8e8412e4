"""gate: exit codes, output and JUnit XML."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator
from support.reports import attention_launch, gemm_launch, write_report
from support.sides import timed

from nsightlens import tables
from nsightlens.render.json_schema import published

if TYPE_CHECKING:
    from support.command import CommandLine

RULES = """
[[rule]]
name = "attention stays memory-bound"
family = "attention"
bound = "memory"

[[rule]]
name = "axpy is fast"
kernel = "^axpy$"
metric = "duration_ns"
max = "1.1 ms"
"""
CHANGE = """
[[rule]]
name = "nothing is slower"
metric = "duration_ns"
max_increase_pct = 5
"""


@pytest.fixture
def ci(run: CommandLine) -> CommandLine:
    """Return the command line in a folder with rules and the reports of two builds."""
    Path("gate.toml").write_text(RULES, encoding="utf-8")
    Path("change.toml").write_text(CHANGE, encoding="utf-8")
    for name, ns in (("main", 1e6), ("slow", 1.2e6)):
        launches = [timed(ns), attention_launch(), gemm_launch()]
        write_report(Path(), launches, name=f"{name}.ncu-rep")
    return run


def test_rules_that_hold_have_a_line_each_and_code_0(ci: CommandLine) -> None:
    """CI goes on."""
    done = ci("gate", "--rules", "gate.toml", "main.ncu-rep")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "2 rules hold\n"
        "ok      attention stays memory-bound: 1 launch: all memory\n"
        "ok      axpy is fast: 1 launch: 1 ms, at most 1.1 ms\n"
    )


def test_a_rule_that_does_not_hold_comes_first_and_gives_code_1(ci: CommandLine) -> None:
    """With what it allows."""
    done = ci("gate", "--rules", "gate.toml", "slow.ncu-rep", "--width", "120")
    lines = done.out.splitlines()
    assert done.code == 1
    assert lines[0] == "1 of 2 rules failed"
    assert lines[1].startswith("FAILED  axpy is fast: axpy|")
    assert "is 1.2 ms" in done.out
    assert "        allowed: duration_ns at most 1.1 ms" in lines
    assert lines[-1].startswith("ok      attention stays memory-bound")


def test_a_change_is_checked_against_the_base(ci: CommandLine) -> None:
    """Given after the new report, or before the other options."""
    assert ci("gate", "--rules", "change.toml", "main.ncu-rep", "--base", "main.ncu-rep").code == 0
    done = ci("gate", "--base", "main.ncu-rep", "--rules", "change.toml", "slow.ncu-rep")
    assert done.code == 1
    assert "+20 %" in done.out


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["main.ncu-rep"], 2, "--rules"),
        (["--rules", "change.toml", "main.ncu-rep"], 2, "no base was given"),
        (["--rules", "nowhere.toml", "main.ncu-rep"], 2, "nowhere.toml"),
        (["--rules", "gate.toml", "nowhere.ncu-rep"], 3, "nowhere.ncu-rep"),
        (["--rules", "gate.toml", "text.bin"], 4, "text.bin"),
        (["--rules", "gate.toml", "main.ncu-rep", "--junit", "change.toml"], 6, "exists already"),
        (["--rules", "gate.toml", "main.ncu-rep", "text.bin"], 4, "text.bin"),
    ],
)
def test_what_cannot_be_checked_is_no_pass(
    ci: CommandLine, words: list[str], code: int, told: str
) -> None:
    """Its code is none of a rule."""
    done = ci("gate", *words)
    assert done.code == code
    assert told in done.err


def test_a_file_without_a_rule_is_an_error(ci: CommandLine) -> None:
    """It would always pass."""
    Path("empty.toml").write_text("", encoding="utf-8")
    done = ci("gate", "--rules", "empty.toml", "main.ncu-rep")
    assert done.code == 2
    assert "holds no [[rule]]" in done.err


def test_junit_xml_has_a_case_per_rule(ci: CommandLine) -> None:
    """It is written whether the rules hold or not, and not over a file that exists."""
    done = ci("gate", "--rules", "gate.toml", "slow.ncu-rep", "--junit", "gate.xml")
    assert done.code == 1
    root = ET.parse("gate.xml").getroot()
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    again = ci("gate", "--rules", "gate.toml", "main.ncu-rep", "--junit", "gate.xml")
    assert again.code == 6
    again = ci("gate", "--rules", "gate.toml", "main.ncu-rep", "--junit", "gate.xml", "--force")
    assert again.code == 0
    assert ET.parse("gate.xml").getroot().get("failures") == "0"


def test_a_report_that_cannot_be_read_is_an_error_of_the_xml(ci: CommandLine) -> None:
    """CI would be green by the rules alone; nothing of it says that everything is well."""
    words = ("gate", "--rules", "gate.toml", "main.ncu-rep", "nope.ncu-rep", "--junit", "gate.xml")
    done = ci(*words)
    assert done.code == 3
    assert done.out.splitlines()[0] == "2 rules hold, but 1 report could not be read"
    root = ET.parse("gate.xml").getroot()
    assert [root.get(name) for name in ("tests", "failures", "errors")] == ["3", "0", "1"]
    case = root.findall("testsuite/testcase")[-1]
    assert case.get("name") == "read nope.ncu-rep"
    error = case.find("error")
    assert error is not None
    assert "nope.ncu-rep" in (error.get("message") or "")
    document = json.loads(ci(*words, "--force", "-f", "json").out)
    assert document["passed"] is False
    text = ci(*words, "--force", "-f", "markdown").out
    assert text.startswith("**2 rules hold, but 1 report could not be read**")


def test_xml_of_an_earlier_run_does_not_stay_where_no_report_can_be_read(ci: CommandLine) -> None:
    """CI would take it for this run's."""
    words = ("gate", "--rules", "gate.toml", "--junit", "gate.xml", "--force")
    assert ci(*words, "main.ncu-rep").code == 0
    assert ci(*words, "nope.ncu-rep", "text.bin").code == 3
    root = ET.parse("gate.xml").getroot()
    assert [root.get(name) for name in ("tests", "failures", "errors")] == ["2", "0", "2"]


@pytest.mark.parametrize("option", ["--junit", "-o"])
@pytest.mark.parametrize("name", ["gate.toml", "peaks.toml", "kernels.toml", "main.ncu-rep"])
def test_no_output_takes_the_place_of_a_file_that_is_read(
    ci: CommandLine, option: str, name: str
) -> None:
    """Not even with --force."""
    Path("peaks.toml").write_text("", encoding="utf-8")
    Path("kernels.toml").write_text("", encoding="utf-8")
    before = Path(name).read_bytes()
    words = ("--rules", "gate.toml", "--peaks", "peaks.toml", "--kernel-rules", "kernels.toml")
    done = ci("gate", *words, "main.ncu-rep", option, name, "-f", "json", "--force")
    assert done.code == 6
    assert f"{name} is one of the files that are read" in done.err
    assert Path(name).read_bytes() == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--junit", "-"], "name one"),
        (["--junit", "./x.json", "-o", "x.json"], "both name ./x.json"),
    ],
)
def test_the_xml_has_a_file_of_its_own(ci: CommandLine, words: list[str], told: str) -> None:
    """Neither stdout nor that of the answer."""
    done = ci("gate", "--rules", "gate.toml", "main.ncu-rep", *words)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert not Path("-").exists()


def test_json_follows_its_published_schema(ci: CommandLine) -> None:
    """A program may rely on it."""
    done = ci("gate", "--rules", "gate.toml", "slow.ncu-rep", "-f", "json")
    document = json.loads(done.out)
    Draft202012Validator(json.loads(published("gate"))).validate(document)
    assert document["passed"] is False
    assert list(document["rows"][0]) == [column.name for column in tables.GATE]


def test_csv_and_markdown_have_a_row_per_rule(ci: CommandLine) -> None:
    """For a table of builds, and for a merge request."""
    text = ci("gate", "--rules", "gate.toml", "slow.ncu-rep", "-f", "csv").out
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["status"] for row in rows] == ["passed", "failed"]
    text = ci("gate", "--rules", "gate.toml", "slow.ncu-rep", "-f", "markdown").out
    assert text.startswith("**1 of 2 rules failed**\n\n|  | rule |")
    assert "| FAILED | axpy is fast | `duration_ns` | at most 1.1 ms |" in text
