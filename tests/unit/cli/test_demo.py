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


def test_the_demo_shows_the_main_finding(run: CommandLine) -> None:
    """Attention stays memory-bound at every batch size, a GEMM crosses the ridge."""
    text = " ".join(run("demo").out.split())
    assert "is memory-bound at every batch size" in text
    assert "compute-bound at batch 512" in text
    assert "ridge point" in text


def test_every_command_that_the_demo_names_works(run: CommandLine) -> None:
    """The next step is one paste away."""
    lines = [line.strip() for line in run("demo").out.splitlines()]
    paths = [line.split()[-1] for line in lines if line.startswith("nsightlens classify /")]
    assert len(paths) == 1
    assert run("classify", paths[0]).code == 0


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_the_demo_fits_the_terminal(run: CommandLine, width: int) -> None:
    """Except the command with the path of the example."""
    for line in run("demo", "--width", str(width)).out.splitlines():
        assert len(line) <= width or "nsightlens classify" in line
