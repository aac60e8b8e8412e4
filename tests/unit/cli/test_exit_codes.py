"""Every error ends in one line and its own exit code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.reports import write_report

from nsightlens import errors
from nsightlens.cli import classify
from nsightlens.cli.exit_codes import TABLE, ExitCode, code_of
from nsightlens.ncurep.spec import LaunchSpec

if TYPE_CHECKING:
    from support.command import CommandLine


def _leaves(root: type[errors.NsightLensError]) -> list[type[errors.NsightLensError]]:
    below = root.__subclasses__()
    return [leaf for child in below for leaf in _leaves(child)] or [root]


@pytest.mark.parametrize("kind", _leaves(errors.NsightLensError))
def test_every_error_of_the_package_has_an_exit_code(kind: type[errors.NsightLensError]) -> None:
    """None of them is taken for a fault of nsightlens."""
    assert any(issubclass(kind, row.raised_by) for row in TABLE if row.raised_by)


def test_every_exit_code_stands_once_in_the_table() -> None:
    """The reference page is complete."""
    assert [row.code for row in TABLE] == list(ExitCode)


def test_an_unexpected_error_is_an_internal_one() -> None:
    """It is not mistaken for a fault of the user."""
    assert code_of(ValueError("x")) is ExitCode.INTERNAL


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["classify", "gone.ncu-rep"], 3, "gone.ncu-rep"),
        (["classify", "text.bin"], 4, "text.bin: this is text"),
        (["classify", "cut.bin"], 4, "--salvage"),
        (["metrics", "all.ncu-rep", "--like", "dram__bites*"], 5, "Nearest names: dram__bytes"),
        (["classify", "all.ncu-rep", "-o", "all.ncu-rep", "--force"], 6, "one of the files"),
        (["classify", "all.ncu-rep", "-o", "none.ncu-rep"], 6, "--force"),
        (["classify", "all.ncu-rep", "-o", "no/such/folder.json"], 6, "does not exist"),
        (["classify", "all.ncu-rep", "--family", "gem"], 2, "The report has family: attention"),
        (["classify", "all.ncu-rep", "--kernel", "("], 2, "not a regular expression"),
        (["classify", "all.ncu-rep", "--grid", "1,2"], 2, "three numbers"),
        (["classify", "all.ncu-rep", "--by", "launhc"], 2, "invalid choice"),
        (["classify", "all.ncu-rep", "--wid", "80"], 2, "--wid"),
        (["classify", "all.ncu-rep", "--limit", "0"], 2, "less than 1"),
        (["classify", "all.ncu-rep", "--width", "x"], 2, "not a whole number"),
        (["metrics", "all.ncu-rep", "--wide"], 2, "--like"),
        (["metrics", "all.ncu-rep", "--wide", "--like", "x", "-f", "json"], 2, "JSON"),
        (["export", "all.ncu-rep"], 2, "-o"),
        (["all.ncu-rep"], 2, "Did you mean: nsightlens classify all.ncu-rep"),
        (["frobnicate"], 2, "invalid choice"),
        (["classify", "all.ncu-rep", "--frob"], 2, "See: nsightlens classify --help"),
        (["--frob"], 2, "See: nsightlens --help"),
        (["schema", "nothing"], 2, "invalid choice"),
    ],
)
def test_an_error_is_one_line_on_stderr(
    run: CommandLine, words: list[str], code: int, message: str
) -> None:
    """It says what is wrong, and nothing reaches stdout."""
    done = run(*words)
    assert done.code == code
    assert done.err.startswith("nsightlens: error: ")
    assert done.err.count("\n") == 1
    assert message in done.err
    assert done.out == ""


def test_an_error_quotes_what_was_typed_and_stays_short(run: CommandLine) -> None:
    """A value of many words can be told from the text around it, and a C++ name is cut."""
    write_report(Path(), [LaunchSpec(name="k" * 3000)], name="long.ncu-rep")
    done = run("classify", "long.ncu-rep", "--kernel", "two words", "--kernel", "z" * 3000)
    assert done.code == 2
    assert "--kernel 'two words' --kernel zzz" in done.err
    assert len(done.err) < 400


def test_a_fault_of_nsightlens_is_told_without_a_traceback(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And with one, where it is asked for."""

    def broken(_: object) -> int:
        raise ZeroDivisionError("by chance")

    monkeypatch.setattr(classify, "run", broken)
    done = run("classify", "all.ncu-rep")
    assert done.code == 70
    assert "Traceback" not in done.err
    assert "--debug" in done.err
    assert "Traceback" in run("classify", "--debug", "all.ncu-rep").err
    assert "Traceback" in run("--debug", "classify", "all.ncu-rep").err


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (KeyboardInterrupt(), 130, "nsightlens: error: interrupted\n"),
        (BrokenPipeError(), 141, ""),
        (MemoryError(), 70, "nsightlens: error: out of memory"),
    ],
)
def test_an_interruption_is_no_fault(
    run: CommandLine,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    text: str,
) -> None:
    """A closed pipe is quiet, as a user of `head` expects."""

    def interrupted(_: object) -> int:
        raise error

    monkeypatch.setattr(classify, "run", interrupted)
    done = run("classify", "all.ncu-rep")
    assert done.code == code
    assert done.err.startswith(text)


def test_without_a_command_the_help_is_shown_and_it_is_a_usage_error(run: CommandLine) -> None:
    """On stderr, because it is no result."""
    done = run()
    assert done.code == 2
    assert "first steps" in done.err
    assert done.out == ""
