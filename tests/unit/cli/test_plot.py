"""nsightlens plot: a figure by its suffix, its points as CSV, one line where there is none."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import reports

from nsightlens import open_report, plots
from nsightlens.cli.plot import KINDS
from nsightlens.example import path
from nsightlens.plots.kinds import KINDS as FIGURES

if TYPE_CHECKING:
    from support.command import CommandLine

EXAMPLE = str(path())
STARTS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


def test_the_command_knows_every_kind_of_figure() -> None:
    assert set(KINDS) == set(FIGURES)


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [*((kind, ".png") for kind in KINDS), ("shares", ".svg"), ("shares", ".pdf")],
)
def test_the_suffix_says_what_is_written(run: CommandLine, kind: str, suffix: str) -> None:
    done = run("plot", kind, EXAMPLE, "-o", f"figure{suffix}", "--size", "4x3", "--dpi", "60")
    assert (done.code, done.out) == (0, ""), done.err
    assert done.err == f"nsightlens: wrote: figure{suffix}\n"
    assert Path(f"figure{suffix}").read_bytes().startswith(STARTS[suffix])


def test_the_same_report_gives_the_same_file(run: CommandLine) -> None:
    for name in ("one.svg", "two.svg"):
        assert run("plot", "shares", EXAMPLE, "-o", name).code == 0
    assert Path("one.svg").read_bytes() == Path("two.svg").read_bytes()


def test_size_and_resolution_are_those_that_were_asked_for(run: CommandLine) -> None:
    run("plot", "shares", EXAMPLE, "-o", "a.png", "--size", "3.3x2.5", "--dpi", "100")
    data = Path("a.png").read_bytes()
    assert (int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")) == (330, 250)


@pytest.mark.parametrize("kind", KINDS)
def test_the_points_alone_are_written_without_drawing(
    run: CommandLine, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They need no matplotlib, and are the table of the library."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run("plot", kind, EXAMPLE, "--data", "points.csv")
    assert done.code == 0, done.err
    wanted = getattr(plots, f"{kind}_points")(open_report(EXAMPLE))
    with Path("points.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == wanted.num_rows
    assert list(rows[0]) == wanted.column_names
    assert rows[0]["origin"] == "synthetic"
    for note in plots.notes_of(wanted):
        assert f"nsightlens: note: {note}" in done.err


def test_figure_and_points_can_be_written_at_once(run: CommandLine) -> None:
    done = run("plot", "stalls", EXAMPLE, "--by", "kernel", "-o", "a.png", "--data", "a.csv")
    assert done.code == 0
    assert Path("a.png").exists()
    assert Path("a.csv").exists()


def test_filters_and_options_reach_the_points(run: CommandLine) -> None:
    words = ("--family", "gemm", "--by", "kernel", "--level", "l2", "--data", "a.csv")
    assert run("plot", "roofline", EXAMPLE, *words).code == 0
    with Path("a.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["family"] for row in rows} == {"gemm"}
    assert {row["level"] for row in rows} == {"l2"}
    assert all(row["kernel"] for row in rows)


def test_a_batch_size_that_the_user_gives_is_used(run: CommandLine) -> None:
    reports.write_report(Path(), [reports.basic_set_launch()], name="plain.ncu-rep")
    assert run("plot", "labels", "plain.ncu-rep", "--data", "a.csv").code == 5
    assert run("plot", "labels", "plain.ncu-rep", "--data", "a.csv", "--batch-size", "4").code == 0
    assert "4" in Path("a.csv").read_text(encoding="utf-8")


def test_peaks_that_the_user_names_are_the_roofs(run: CommandLine) -> None:
    run("plot", "roofline", EXAMPLE, "--data", "own.csv")
    run("plot", "roofline", EXAMPLE, "--data", "other.csv", "--device", "H200 SXM 141GB")
    own, other = (Path(name).read_text(encoding="utf-8") for name in ("own.csv", "other.csv"))
    assert own != other
    assert "3352320000000.0" in own
    assert "3352320000000.0" not in other


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("shares", "-o", "a.gif"), 2, "the suffix .gif stands for no kind of picture"),
        (("shares", "-o", "a"), 2, "a name without a suffix"),
        (("shares",), 2, "nowhere to draw to"),
        (("shares", "--level", "l2", "-o", "a.png"), 2, "--level is for a roofline"),
        (("stalls", "--hierarchical", "-o", "a.png"), 2, "--hierarchical is for a roofline"),
        (("shares", "--by", "kernel", "-o", "a.png"), 2, "--by kernel is not for shares"),
        (("roofline", "--by", "batch", "-o", "a.png"), 2, "only family, kernel"),
        (("roofline", "--hierarchical", "--level", "l2", "-o", "a.png"), 2, "leave out --level"),
        (("roofline", "--resource", "fp64", "-o", "a.png"), 2, "no launch that can be shown uses"),
        (("roofline", "--phase", "prefill", "-o", "a.png"), 2, "no launch is of the phase"),
        (("roofline", "--size", "6", "-o", "a.png"), 2, "is not of the form WxH"),
        (("roofline", "--size", "0.1x4", "-o", "a.png"), 2, "not between 1.5 and 60 inches"),
        (("roofline", "--size", "50x4", "--dpi", "500", "-o", "a.png"), 2, "more than 20000"),
        (("roofline", "--kernel", "nothing", "-o", "a.png"), 2, "launches passes"),
        (("roofline", "-o", "nowhere/a.png"), 6, "does not exist"),
        (("roofline", "-o", "a.png", "--data", "a.png"), 6, "choose two names"),
        (("roofline", "-o", "there.png"), 6, "exists already"),
        (("roofline", "--data", "there.png"), 6, "exists already"),
    ],
)
def test_what_cannot_be_drawn_is_one_line_and_leaves_no_file(
    run: CommandLine, words: tuple[str, ...], code: int, said: str
) -> None:
    Path("there.png").write_bytes(b"mine")
    kind, *rest = words
    done = run("plot", kind, EXAMPLE, *rest)
    assert done.code == code
    assert said in done.err
    assert done.err.count("\n") == 1
    assert not Path("a.png").exists()
    assert Path("there.png").read_bytes() == b"mine"


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_never_an_empty_picture(run: CommandLine, kind: str) -> None:
    """A report without a launch, and one whose launches have nothing to show."""
    assert run("plot", kind, "none.ncu-rep", "-o", "a.png").code == 5
    reports.write_report(Path(), [reports.launch_only()], name="bare.ncu-rep")
    done = run("plot", kind, "bare.ncu-rep", "-o", "a.png")
    assert done.code == 5
    assert done.err.startswith("nsightlens: error: no launch ")
    assert done.err.count("\n") == 1
    assert not Path("a.png").exists()


def test_a_file_that_exists_is_replaced_with_force(run: CommandLine) -> None:
    Path("a.png").write_bytes(b"old")
    assert run("plot", "shares", EXAMPLE, "-o", "a.png", "--force").code == 0
    assert Path("a.png").read_bytes().startswith(STARTS[".png"])


def test_a_report_that_cannot_be_read_is_told_beside_the_figure(run: CommandLine) -> None:
    done = run("plot", "roofline", "all.ncu-rep", "text.bin", "-o", "a.png")
    assert done.code == 4
    assert "text.bin" in done.err
    assert Path("a.png").exists()


def test_without_matplotlib_the_install_line_comes_before_any_reading(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run("plot", "roofline", EXAMPLE, "-o", "a.png", "--verbose")
    assert done.code == 5
    assert done.err.endswith('Install it with: pip install "nsightlens[plots]"\n')
    assert "reading" not in done.err
