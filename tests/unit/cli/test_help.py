"""Every command explains itself, in a terminal of 80 columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nsightlens.cli import main
from nsightlens.cli.main import COMMANDS, build_parser
from nsightlens.cli.reference import cli_page, exit_codes_page
from nsightlens.render.columns import IMPORTANCE_ORDER

if TYPE_CHECKING:
    from support.command import CommandLine


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_help_fits_80_columns_and_explains_every_option(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """No option is without a word."""
    monkeypatch.setenv("COLUMNS", "80")
    done = run(*command, "--help")
    assert done.code == 0
    assert done.err == ""
    assert all(len(line) <= 80 for line in done.out.splitlines())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_explains_itself_as_in_the_whole_command_line(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Though the parsers of the other commands are not built for it."""
    monkeypatch.setenv("COLUMNS", "80")
    alone = run(name, "--help").out
    monkeypatch.setattr(main, "build_parser", lambda _: build_parser())
    assert run(name, "--help").out == alone


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_of_the_help_can_be_parsed(name: str) -> None:
    """A user can copy them."""
    epilog = getattr(COMMANDS[name], "EPILOG", "")
    for line in epilog.splitlines()[1:]:
        words = line.replace("'", "").split()
        if words[:1] == ["nsightlens"] and "--version" not in words:
            build_parser().parse_args(words[1:])


def test_a_word_that_is_no_command_is_told_which_there_are(run: CommandLine) -> None:
    """All of them."""
    done = run("clasify")
    assert done.code == 2
    assert all(name in done.err for name in COMMANDS)


def test_the_reference_page_has_every_command_and_option() -> None:
    """It is made from the parser."""
    page = cli_page()
    for name in COMMANDS:
        assert f"\n## {name}\n" in page
    for option in ("--salvage", "--nvtx GLOB", "--by {launch,kernel,family}", "--debug", "[NAME]"):
        assert f"`{option}`" in page
    assert all(f"`{heading}`" in page for heading in IMPORTANCE_ORDER)


def test_no_cell_of_the_reference_is_cut_by_a_pipe() -> None:
    """Every line of a table has as many cells as its heading."""
    for page in (cli_page(), exit_codes_page()):
        for line in page.splitlines():
            if line.startswith("| "):
                assert line.replace("\\|", "").count("|") in {3, 4}, line


def test_an_option_without_help_would_be_noticed() -> None:
    """Each argument of each command has its sentence in the reference."""
    for line in cli_page().splitlines():
        if line.startswith("| `"):
            assert line.rpartition(" | ")[2].strip(" |"), line
