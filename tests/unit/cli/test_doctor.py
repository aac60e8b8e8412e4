"""doctor: what is shown, and the exit code."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import jsonschema
import pytest
from support.hosts import host_root, script

from nsightlens.harness import doctor, doctor_torch
from nsightlens.harness.doctor_check import Check
from nsightlens.render.doctor import doctor_rows, doctor_text
from nsightlens.render.json_schema import published
from nsightlens.render.style import Style

if TYPE_CHECKING:
    from pathlib import Path

    from support.command import CommandLine


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the machine be one with a driver and without a GPU, whatever runs the tests."""
    root = host_root(tmp_path / "root")
    real = doctor.examine
    python = script(tmp_path / "python", "exit 1")
    monkeypatch.setattr(
        doctor,
        "examine",
        lambda **more: real(
            **{**more, "python": more["python"] or str(python)},
            root=root,
            environment={"PATH": ""},
        ),
    )


def test_what_is_broken_is_shown_with_its_remedy_and_is_exit_code_1(run: CommandLine) -> None:
    """The verdict first; that reports can be read all the same is said."""
    done = run("doctor", "--width", "100")
    assert (done.code, done.err) == (1, "")
    lines = done.out.splitlines()
    assert lines[0].startswith("profiling will not work here: ")
    assert lines[1] == "Reading, classifying and comparing reports needs none of this."
    assert any(line.startswith("problem  ncu ") for line in lines)
    assert any(line.startswith("ok       driver ") for line in lines)
    assert any("→ Install it" in line for line in lines)
    assert all(len(line) <= 100 for line in lines)


def test_json_follows_its_schema_and_has_the_facts(run: CommandLine) -> None:
    """What the checks were made from stands beside them."""
    done = run("doctor", "-f", "json")
    answer = json.loads(done.out)
    jsonschema.validate(answer, json.loads(published("doctor")))
    assert (done.code, answer["passed"]) == (1, False)
    assert {row["key"] for row in answer["rows"]} >= {"ncu", "nsys", "gpu", "counters", "torch"}
    assert answer["host"]["driver_version"] == "570.86.15"
    assert answer["host"]["may_read_counters"] is False


def test_csv_and_markdown_have_the_same_checks(run: CommandLine) -> None:
    """One row each."""
    rows = list(csv.DictReader(io.StringIO(run("doctor", "-f", "csv").out, newline="")))
    lines = run("doctor", "-f", "markdown").out.splitlines()
    assert [row["key"] for row in rows][:2] == ["ncu", "nsys"]
    assert len(lines) == 4 + len(rows)


def test_a_tool_that_is_named_is_looked_at(run: CommandLine, tmp_path: Path) -> None:
    """And no other; the Python that is named is asked."""
    ncu = script(tmp_path / "mine" / "ncu", "echo 'Version 2025.1.1.0 (build 1)'")
    python = script(tmp_path / "other", f'echo \'{doctor_torch._MARK}{{"torch": "9.9"}}\'')
    done = run("doctor", "--ncu", str(ncu.parent), "--python", str(python), "--width", "200")
    assert f"Nsight Compute 2025.1.1.0, {ncu} (by the option)" in done.out
    assert "torch 9.9" in done.out


def test_a_host_where_nothing_is_broken_is_exit_code_0(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Warnings and what is not known do not count."""
    checks = (Check("ncu", "ok", "there"), Check("mig", "warning", "on"),
              Check("counters", "unknown", "who knows"))  # fmt: skip
    found = doctor.examine(python=None)
    monkeypatch.setattr(
        doctor,
        "examine",
        lambda **_: doctor.Examination(
            checks, found.host, found.tools, found.chips, found.torch, found.run_folder
        ),
    )
    done = run("doctor")
    assert done.code == 0
    assert done.out.splitlines()[0] == "nothing speaks against profiling here: 1 warning, 1 unknown"


def test_a_narrow_line_without_signs_or_colours_says_the_same() -> None:
    """Status words carry the verdict, colours only repeat it."""
    rows = doctor_rows([Check("temporary_folder", "problem", "a b " * 20, ("do this",))])
    plain = doctor_text(rows, Style(width=60, unicode=False))
    assert "-> do this" in plain
    assert max(map(len, plain.splitlines())) <= 62
    painted = doctor_text(rows, Style(width=60, colour=True))
    assert "\x1b[1;35mproblem\x1b[0m  temporary folder" in painted
