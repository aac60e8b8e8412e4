"""Folders are searched to the bottom; what cannot hold results is left out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nsightlens.errors import ReportNotFoundError
from nsightlens.serving.folder import find_files


def _make(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")


def test_a_folder_stands_for_the_files_below_it_in_natural_order(tmp_path: Path) -> None:
    _make(tmp_path, "run_10/a.json", "run_2/a.json", "run_2/s.log")
    found, _ = find_files([tmp_path])
    assert [one.relative.relative_to(tmp_path.name).as_posix() for one in found] == [
        "run_2/a.json",
        "run_2/s.log",
        "run_10/a.json",
    ]


def test_hidden_files_figures_and_weights_are_left_out(tmp_path: Path) -> None:
    _make(tmp_path, ".git/a.json", ".x.json", "a.png", "model.safetensors", "b.json")
    found, _ = find_files([tmp_path])
    assert [one.path.name for one in found] == ["b.json"]


def test_files_of_profilers_are_named_apart(tmp_path: Path) -> None:
    _make(tmp_path, "a.json", "step.ncu-rep", "trace.sqlite")
    found, profiles = find_files([tmp_path])
    assert len(found) == 1
    assert sorted(Path(one).name for one in profiles) == ["step.ncu-rep", "trace.sqlite"]


def test_a_file_that_is_given_twice_is_read_once(tmp_path: Path) -> None:
    _make(tmp_path, "a.json")
    found, _ = find_files([tmp_path, tmp_path / "a.json", tmp_path])
    assert len(found) == 1


def test_a_link_that_leads_in_a_circle_is_followed_once(tmp_path: Path) -> None:
    _make(tmp_path, "a/r.json")
    (tmp_path / "a" / "again").symlink_to(tmp_path, target_is_directory=True)
    found, _ = find_files([tmp_path])
    assert len(found) == 1


def test_a_path_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReportNotFoundError, match="nowhere"):
        find_files([tmp_path / "nowhere"])


def test_a_name_that_is_no_utf8_is_shown_with_escapes(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/x\xff"))
    folder.mkdir()
    (folder / "a.json").write_text("{}")
    (found,), _ = find_files([tmp_path])
    assert found.shown.endswith("x\\xff/a.json")
    found.shown.encode()
