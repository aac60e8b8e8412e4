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


def test_the_demo_states_the_ridge_of_each_family(run: CommandLine) -> None:
    """Attention uses mma.sync here, whose peak is two thirds of that of the GEMMs' wgmma."""
    text = " ".join(run("demo").out.split())
    assert "171 FLOP/B for attention/flash_splitkv and 256 FLOP/B for gemm/dense" in text


def test_the_demo_says_what_is_padding(run: CommandLine) -> None:
    """Of attention and of the GEMMs: below batch 8 their FLOP/B is not that of the work."""
    text = " ".join(run("demo").out.split())
    assert "FLOP/B stays at 8 up to batch 8, while the useful intensity is about the batch" in text


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
