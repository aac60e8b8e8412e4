"""Many reports at once: the good ones are answered, the bad ones are named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nsightlens.readers import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.command import CommandLine


def test_one_bad_report_does_not_hide_the_others(run: CommandLine) -> None:
    """The exit code is that of the first bad one, and JSON names them too."""
    one, other = "text.bin", "gone.ncu-rep"
    for first, second, code in ((one, other, 4), (other, one, 3)):
        done = run("classify", first, "all.ncu-rep", second, "-f", "json")
        answer = json.loads(done.out)
        assert done.code == code, "that of the first argument, not of what is noticed first"
        assert [row["report"] for row in answer["rows"]] == ["all.ncu-rep"] * 5
        assert [entry["path"] for entry in answer["source"]["unread"]] == [first, second]
        assert done.err.count("nsightlens: error: ") == 2


def test_every_bad_report_is_named_where_none_is_good(run: CommandLine) -> None:
    """One line each."""
    done = run("classify", "text.bin", "cut.bin")
    assert done.code == 4
    assert done.err.count("nsightlens: error: ") == 2
    assert done.out == ""


@pytest.mark.parametrize("names", [["no.ncu-rep", "cut.bin"], ["cut.bin", "no.ncu-rep"]])
def test_bad_reports_are_named_in_their_order(run: CommandLine, names: list[str]) -> None:
    """The first one decides about the exit code."""
    done = run("classify", *names)
    assert [name in line for name, line in zip(names, done.err.splitlines(), strict=True)] == [
        True,
        True,
    ]
    assert done.code == {"no.ncu-rep": 3, "cut.bin": 4}[names[0]]


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
    answer = json.loads(run("classify", "none.ncu-rep", "-f", "json").out)
    assert answer["rows"] == []
    assert "holds no launch" in answer["source"]["warnings"][0]
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

    monkeypatch.setattr(read, "report_from_ncu_rep", denied)
    done = run("classify", "all.ncu-rep")
    assert done.code == 3
    assert done.err == "nsightlens: error: all.ncu-rep: cannot be read: Permission denied.\n"


@pytest.mark.parametrize("name", ["x" * 300 + ".ncu-rep", "a\0b.ncu-rep"])
def test_a_name_that_no_file_can_have_is_a_report_that_does_not_exist(
    run: CommandLine, name: str
) -> None:
    """And no fault of nsightlens."""
    done = run("classify", name)
    assert done.code == 3
    assert done.err.count("\n") == 1


def test_a_folder_that_must_not_be_searched_is_told_from_an_empty_one(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system's own words are passed on, and the other reports are read."""

    def denied(place: str, onerror: Callable[[OSError], object]) -> Iterator[object]:
        onerror(PermissionError(13, "Permission denied", place))
        return iter([(place, [], ["all.ncu-rep"])])

    Path("closed").mkdir()
    Path("all.ncu-rep").rename("closed/all.ncu-rep")
    monkeypatch.setattr("nsightlens.readers.find.os.walk", denied)
    done = run("classify", "closed", "-f", "json")
    assert done.code == 3
    assert done.err == "nsightlens: error: closed: cannot be read: Permission denied.\n"
    assert len(json.loads(done.out)["rows"]) == 5


def test_a_damaged_report_in_which_nothing_can_be_salvaged_is_an_error(run: CommandLine) -> None:
    """The advice is not to do what was done."""
    Path("stub.bin").write_bytes(Path("all.ncu-rep").read_bytes()[:60])
    done = run("classify", "stub.bin", "--salvage")
    assert done.code == 4
    assert "nothing could be salvaged" in done.err
    assert "--salvage" not in done.err


def test_verbose_says_what_is_read(run: CommandLine) -> None:
    """On stderr, before or after the name of the command."""
    assert "nsightlens: reading: all.ncu-rep" in run("-v", "classify", "all.ncu-rep").err
    assert "nsightlens: reading: all.ncu-rep" in run("classify", "all.ncu-rep", "-v").err
