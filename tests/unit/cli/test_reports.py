"""Many reports at once: the good ones are answered, the bad ones are named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from nsightlens import readers

if TYPE_CHECKING:
    import pytest
    from support.command import CommandLine


def test_one_bad_report_does_not_hide_the_others(run: CommandLine) -> None:
    """The exit code is that of the first bad one, and JSON names them too."""
    done = run("classify", "text.bin", "all.ncu-rep", "gone.ncu-rep", "-f", "json")
    answer = json.loads(done.out)
    assert done.code == 3, "a path that does not exist is noticed before anything is read"
    assert [row["report"] for row in answer["rows"]] == ["all.ncu-rep"] * 5
    assert [one["path"] for one in answer["source"]["unread"]] == ["gone.ncu-rep", "text.bin"]
    assert done.err.count("nsightlens: error: ") == 2


def test_every_bad_report_is_named_where_none_is_good(run: CommandLine) -> None:
    """One line each."""
    done = run("classify", "text.bin", "cut.bin")
    assert done.code == 4
    assert done.err.count("nsightlens: error: ") == 2
    assert done.out == ""


def test_a_folder_stands_for_the_reports_below_it(run: CommandLine) -> None:
    """At any depth, and a report given twice is read once."""
    deep = Path("runs") / "monday"
    deep.mkdir(parents=True)
    shutil.copy("all.ncu-rep", deep / "a.ncu-rep")
    spellings = (str(deep / "a.ncu-rep"), str((deep / "a.ncu-rep").resolve()))
    done = run("classify", "runs", *spellings, "-f", "json")
    assert done.code == 0
    assert len(json.loads(done.out)["rows"]) == 5


def test_a_folder_without_a_report_is_an_error(run: CommandLine) -> None:
    """It is not taken for an empty answer."""
    Path("empty").mkdir()
    done = run("classify", "empty")
    assert done.code == 3
    assert "no .ncu-rep file" in done.err


def test_a_sound_report_without_launches_is_told_and_answers_empty(run: CommandLine) -> None:
    """Exit code 0, a warning, and an empty result in every format."""
    table = run("classify", "none.ncu-rep")
    assert table.code == 0
    assert "holds no launch" in table.err
    assert "no launches" in table.out
    assert json.loads(run("classify", "none.ncu-rep", "-f", "json").out)["rows"] == []
    assert run("classify", "none.ncu-rep", "-f", "csv").out.count("\r\n") == 1
    assert run("classify", "none.ncu-rep", "-f", "markdown").code == 0
    for by in ("kernel", "family"):
        assert run("classify", "none.ncu-rep", "--by", by).code == 0
    for command in ("info", "metrics"):
        assert run(command, "none.ncu-rep").code == 0
        assert json.loads(run(command, "none.ncu-rep", "-f", "json").out)["schema_version"] == 1
    assert run("metrics", "none.ncu-rep", "--like", "dram__*").code == 0
    assert run("classify", "none.ncu-rep", "--family", "gemm").code == 0


def test_salvage_takes_the_launches_before_the_damage(run: CommandLine) -> None:
    """With a warning on stderr, a note in the table and a word in JSON."""
    done = run("classify", "cut.bin", "--salvage")
    assert done.code == 0
    assert done.err.startswith("nsightlens: warning: cut.bin")
    assert "note: cut.bin" in done.out
    answer = json.loads(run("classify", "cut.bin", "--salvage", "-f", "json").out)
    assert 0 < len(answer["rows"]) < 5
    assert "cut.bin" in answer["source"]["warnings"][0]


def test_a_report_that_cannot_be_opened_is_named(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the operating system says about it."""

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(readers, "open_report", denied)
    done = run("classify", "all.ncu-rep")
    assert done.code == 3
    assert done.err == "nsightlens: error: all.ncu-rep: cannot be read: Permission denied.\n"


def test_verbose_says_what_is_read(run: CommandLine) -> None:
    """On stderr, before or after the name of the command."""
    assert "nsightlens: reading: all.ncu-rep" in run("-v", "classify", "all.ncu-rep").err
    assert "nsightlens: reading: all.ncu-rep" in run("classify", "all.ncu-rep", "-v").err
