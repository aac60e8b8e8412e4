"""export replaces an earlier export and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.reports import write_report

import nsightlens
from nsightlens.ncurep.spec import LaunchSpec
from nsightlens.store import read_export

if TYPE_CHECKING:
    from support.command import CommandLine


@pytest.mark.parametrize("place", ["ex/all.ncu-rep", "ex/sub/all.ncu-rep", "ex/labels.parquet"])
def test_a_report_inside_the_folder_is_kept(run: CommandLine, place: str) -> None:
    """Replacing the folder would delete what is being read."""
    assert run("export", "all.ncu-rep", "-o", "ex").code == 0
    Path(place).parent.mkdir(exist_ok=True)
    shutil.copy("all.ncu-rep", place)
    done = run("export", place, "-o", "ex", "--force")
    assert done.code == 6
    assert "which is read" in done.err
    assert Path(place).exists()


def test_a_report_below_the_current_folder_is_kept(
    run: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the current folder is an export."""
    assert run("export", "all.ncu-rep", "-o", "ex").code == 0
    Path("ex/sub").mkdir()
    shutil.copy("all.ncu-rep", "ex/sub/x.ncu-rep")
    monkeypatch.chdir("ex")
    assert run("export", "sub/x.ncu-rep", "-o", ".", "--force").code == 6
    assert Path("sub/x.ncu-rep").exists()


def test_files_of_the_user_are_kept(run: CommandLine) -> None:
    """They are named, and the export stays as it was."""
    assert run("export", "all.ncu-rep", "-o", "ex").code == 0
    Path("ex/mynotes.txt").write_text("mine", encoding="utf-8")
    done = run("export", "all.ncu-rep", "-o", "ex", "--force")
    assert done.code == 6
    assert "mynotes.txt" in done.err
    assert Path("ex/mynotes.txt").read_text(encoding="utf-8") == "mine"


def test_force_is_advised_only_where_it_helps(run: CommandLine) -> None:
    """Not for a file in the place of the folder, nor for a folder of other files."""
    Path("mine").mkdir()
    shutil.copy("all.ncu-rep", "mine")
    assert "is a file: name a folder" in run("export", "all.ncu-rep", "-o", "none.ncu-rep").err
    assert "and no export" in run("export", "all.ncu-rep", "-o", "mine").err
    assert run("export", "all.ncu-rep", "-o", "ex").code == 0
    assert "add --force" in run("export", "all.ncu-rep", "-o", "ex").err


def test_an_export_goes_to_no_stream(run: CommandLine) -> None:
    """A dash is stdout elsewhere; a folder of that name would be a surprise."""
    done = run("export", "all.ncu-rep", "-o", "-")
    assert done.code == 2
    assert "name a folder" in done.err
    assert not Path("-").exists()


def _write_instances() -> None:
    launch = LaunchSpec(
        metrics={"a__x": 4.0, "b__x": 7},
        instances={"a__x": [(2**63, 1.5), (2, 2.5)], "b__x": [("HMMA", 7)]},
    )
    write_report(Path(), [launch, launch], name="full.ncu-rep")


def test_instances_are_exported_where_they_are_asked_for(run: CommandLine) -> None:
    """Of the metrics that any of the patterns matches, and equal to those of the library."""
    _write_instances()
    assert run("export", "full.ncu-rep", "-o", "none").code == 0
    assert "instances" not in read_export("none")
    assert run("export", "full.ncu-rep", "-o", "all", "--instances", "*").code == 0
    everything = nsightlens.open_report("full.ncu-rep", instances=True).instances
    assert everything.num_rows == 6
    assert read_export("all")["instances"].equals(everything)
    words = ("--instances", "b__*", "--instances", "a__x")
    assert run("export", "full.ncu-rep", "-o", "two", *words).code == 0
    assert read_export("two")["instances"].equals(everything)
    assert run("export", "full.ncu-rep", "-o", "one", "--instances", "b__*").code == 0
    assert read_export("one")["instances"]["metric"].to_pylist() == ["b__x", "b__x"]


def test_a_pattern_of_instances_that_matches_nothing_is_an_error(run: CommandLine) -> None:
    """As for values; nothing is written. A report without launches has no metric to match."""
    _write_instances()
    done = run("export", "full.ncu-rep", "-o", "out", "--instances", "b__*", "--instances", "c*")
    assert done.code == 5
    assert "'c*'" in done.err
    assert not Path("out").exists()
    assert run("export", "none.ncu-rep", "-o", "out", "--instances", "c*").code == 0
