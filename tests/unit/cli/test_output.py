"""Where a result goes: stdout, or a file in the format that its name stands for."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.command import CommandLine


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("a.json", '{\n"schema": "nsightlens.classify"'),
        ("a.csv", "key,report,"),
        ("a.md", "| # | kernel"),
        ("a.txt", "all.ncu-rep"),
        ("labels", "all.ncu-rep"),
    ],
)
def test_the_suffix_of_the_file_decides_the_format(run: CommandLine, name: str, begin: str) -> None:
    """And stdout stays empty."""
    done = run("classify", "all.ncu-rep", "-o", name)
    assert (done.code, done.out) == (0, "")
    assert Path(name).read_text(encoding="utf-8").startswith(begin)


@pytest.mark.parametrize(
    ("words", "name", "message"),
    [
        (["classify", "all.ncu-rep"], "a.parquet", "stands for no format"),
        (["metrics", "all.ncu-rep"], "a.dat", "stands for no format"),
        (["info", "all.ncu-rep"], "a.csv", "stands for csv, and this command writes table, json"),
    ],
)
def test_a_suffix_that_promises_something_else_is_refused(
    run: CommandLine, words: list[str], name: str, message: str
) -> None:
    """A text table in a file with the name of a Parquet file would be found out too late."""
    done = run(*words, "-o", name)
    assert done.code == 2
    assert message in done.err
    assert not Path(name).exists()
    assert run(*words, "-o", name, "-f", "table").code == 0
    assert Path(name).exists()


def test_an_empty_name_is_a_slip(run: CommandLine) -> None:
    """It stands for no file and no folder, though the system takes it for the current one."""
    for words in (
        ["classify", ""],
        ["classify", "all.ncu-rep", "-o", ""],
        ["export", "x", "-o", ""],
    ):
        done = run(*words)
        assert done.code == 2
        assert "the name is empty" in done.err


def test_the_format_that_is_named_wins_over_the_suffix(run: CommandLine) -> None:
    """What is said is done."""
    run("classify", "all.ncu-rep", "-o", "a.csv", "-f", "json")
    assert json.loads(Path("a.csv").read_text(encoding="utf-8"))["schema_version"] == 1


def test_a_file_holds_what_stdout_would(run: CommandLine) -> None:
    """Byte for byte, also the line ends of a CSV."""
    run("classify", "all.ncu-rep", "-o", "a.csv")
    out = run("classify", "all.ncu-rep", "-f", "csv").out
    assert Path("a.csv").read_bytes().decode() == out
    assert out.count("\r\n") == 6
    assert "\r\r" not in out


def test_a_dash_stands_for_stdout(run: CommandLine) -> None:
    """As elsewhere."""
    assert "all.ncu-rep" in run("classify", "all.ncu-rep", "-o", "-").out
    assert not Path("-").exists()


def test_an_earlier_file_survives_a_failing_command(run: CommandLine) -> None:
    """Only a whole result replaces it."""
    Path("a.json").write_text("earlier", encoding="utf-8")
    assert run("classify", "all.ncu-rep", "-o", "a.json").code == 6
    assert run("classify", "cut.bin", "-o", "a.json", "--force").code == 4
    assert run("metrics", "all.ncu-rep", "--like", "zz", "-o", "a.json", "--force").code == 5
    assert Path("a.json").read_text(encoding="utf-8") == "earlier"
    assert run("classify", "all.ncu-rep", "-o", "a.json", "--force").code == 0
    assert Path("a.json").read_text(encoding="utf-8") != "earlier"


def test_no_escape_sequence_is_written_where_it_would_be_text(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Colours are for terminals; the two variables that users know decide otherwise."""
    assert "\x1b" not in run("classify", "all.ncu-rep").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[1;34mmemory" in run("classify", "all.ncu-rep").out
    assert "\x1b" not in run("classify", "all.ncu-rep", "-f", "csv").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in run("classify", "all.ncu-rep").out


def test_colours_can_be_forced_off(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in other programs, FORCE_COLOR=0 means none."""
    monkeypatch.setenv("FORCE_COLOR", "0")
    assert "\x1b" not in run("classify", "all.ncu-rep").out


def test_the_width_is_that_of_the_environment_where_none_is_given(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a terminal: $COLUMNS, else 100."""
    assert run("classify", "all.ncu-rep").out == run("classify", "all.ncu-rep", "--width",
                                                     "100").out  # fmt: skip
    monkeypatch.setenv("COLUMNS", "80")
    eighty = run("classify", "all.ncu-rep", "--width", "80").out
    assert run("classify", "all.ncu-rep").out == eighty


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_full_disk_is_told(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not taken for success."""
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123 - as the shell does
        monkeypatch.setattr(sys, "stdout", full)
        # The descriptor is swapped for that of the null device, so that closing it succeeds.
        assert run("classify", "all.ncu-rep").code == 6


def test_a_closed_stdout_is_told(run: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in `nsightlens ... >&-`."""
    monkeypatch.setattr(sys, "stdout", None)
    done = run("classify", "all.ncu-rep")
    assert done.code == 6
    assert "stdout is closed" in done.err


def test_a_stand_in_for_stdout_is_written_to(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As contextlib.redirect_stdout gives it."""
    text = io.StringIO()
    monkeypatch.setattr(sys, "stdout", text)
    assert run("classify", "all.ncu-rep", "-f", "csv").code == 0
    assert text.getvalue().startswith("key,report")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such device")
def test_the_null_device_needs_no_force(run: CommandLine) -> None:
    """There is nothing in it to lose."""
    assert run("classify", "all.ncu-rep", "-o", os.devnull).code == 0
