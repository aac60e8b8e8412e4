"""export replaces an earlier export and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

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
