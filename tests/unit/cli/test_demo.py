"""demo: the answer that a new user sees first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.command import CommandLine


def test_the_demo_says_that_it_is_synthetic_before_anything_else(run: CommandLine) -> None:
    """Nobody takes it for a measurement."""
    done = run("demo")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("SYNTHETIC EXAMPLE")
    assert "no GPU was measured" in done.out


def test_the_demo_gives_the_answer_before_the_numbers(run: CommandLine) -> None:
    """Attention uses the bandwidth up; a GEMM crosses the ridge and does not matter."""
    lines = run("demo").out.splitlines()
    answer = lines.index("  At large batch: attention has used up the DRAM bandwidth")
    assert answer < next(i for i, line in enumerate(lines) if line.startswith("batch"))
    text = " ".join(run("demo").out.split())
    assert "memory-bound at every batch size" in text
    assert "compute-bound at batch 512" in text


def test_the_demo_states_the_ridge_of_each_family(run: CommandLine) -> None:
    """Attention uses mma.sync here, whose peak is two thirds of that of the GEMMs' wgmma."""
    text = " ".join(run("demo").out.split())
    assert "one side of the ridge point of 171 FLOP/B" in text
    assert "to the right of the ridge point of 256 FLOP/B between batch 256 and 512" in text


def test_the_demo_says_what_is_padding(run: CommandLine) -> None:
    """Of attention and of the GEMMs: what is executed is not what is useful."""
    text = " ".join(run("demo").out.split())
    assert "attention fills a tile of 64 rows with one query" in text


def test_families_stand_side_by_side_in_the_demo(run: CommandLine) -> None:
    """The picture that shows one of them staying and one crossing."""
    (titles,) = (line for line in run("demo").out.splitlines() if line.startswith("      "
                 " attention/flash_splitkv"))  # fmt: skip
    assert "gemm/dense" in titles


def test_every_command_that_the_demo_names_works(run: CommandLine) -> None:
    """The next step is one paste away."""
    lines = [line.strip() for line in run("demo").out.splitlines()]
    commands = [line.split()[1:] for line in lines if line.startswith("nsightlens ")]
    assert [command[0] for command in commands] == ["sweep", "classify", "advise"]
    for command in commands:
        assert run(*command).code == 0


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_the_demo_fits_the_terminal(run: CommandLine, width: int) -> None:
    """Except the command with the path of the example."""
    for line in run("demo", "--width", str(width)).out.splitlines():
        assert len(line) <= width or "nsightlens " in line
