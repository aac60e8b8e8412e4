"""ncu and nsys are found wherever they are, with their versions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from support.hosts import script

from nsightlens.errors import ProgramNotFoundError
from nsightlens.harness.tools import find_tool, find_tools

if TYPE_CHECKING:
    from pathlib import Path


def _ncu(path: Path, version: str = "2025.1.1.0") -> Path:
    return script(
        path,
        "echo 'NVIDIA (R) Nsight Compute Command Line Profiler'\n"
        f"echo 'Version {version} (build 33998838) (public-release)'",
    )


def _nsys(path: Path) -> Path:
    return script(path, "echo 'NVIDIA Nsight Systems version 2023.4.4.54-234433681190v0'")


def test_a_program_on_path_comes_first(tmp_path: Path) -> None:
    """As a shell would take it."""
    first = _ncu(tmp_path / "bin" / "ncu")
    _ncu(tmp_path / "root/opt/nvidia/nsight-compute/2026.1.0/ncu", "2026.1.0.0")
    environment = {"PATH": f"{tmp_path / 'none'}{os.pathsep}{tmp_path / 'bin'}"}
    tool = find_tool("ncu", root=tmp_path / "root", environment=environment)
    assert tool == ("ncu", str(first), (2025, 1, 1, 0), "2025.1.1.0", "PATH")


@pytest.mark.parametrize(
    ("place", "variable", "value"),
    [
        ("cuda/bin/ncu", "CUDA_HOME", "cuda"),
        ("cuda/nsight-compute-2024.1.1/ncu", "CUDA_PATH", "cuda"),
        ("env/bin/ncu", "CONDA_PREFIX", "env"),
        ("env/nsight-compute/2025.3.0/ncu", "CONDA_PREFIX", "env"),
        ("anywhere/ncu", "NSIGHTLENS_NCU", "anywhere"),
        ("anywhere/ncu", "NSIGHTLENS_NCU", "anywhere/ncu"),
    ],
)
def test_variables_lead_to_it(tmp_path: Path, place: str, variable: str, value: str) -> None:
    """And are named as what led there."""
    path = _ncu(tmp_path / place)
    environment = {"PATH": "", variable: str(tmp_path / value)}
    tool = find_tool("ncu", root=tmp_path / "root", environment=environment)
    assert (tool.path, tool.found_by) == (str(path), variable)


@pytest.mark.parametrize(
    "place",
    [
        "usr/local/cuda/bin/ncu",
        "usr/local/cuda-12.8/bin/ncu",
        "opt/nvidia/nsight-compute/2025.1.1/ncu",
        "usr/lib/nsight-compute/ncu",
    ],
)
def test_ncu_is_found_where_it_is_installed(tmp_path: Path, place: str) -> None:
    """Without a variable."""
    path = _ncu(tmp_path / place)
    assert find_tool("ncu", root=tmp_path, environment={"PATH": ""}).path == str(path)


@pytest.mark.parametrize(
    "place",
    [
        "opt/nvidia/nsight-systems/2023.4.4/bin/nsys",
        "opt/nvidia/nsight-systems-cli/2023.4.4/bin/nsys",
        "opt/nvidia/nsight-systems/2023.4.4/target-linux-x64/nsys",
        "usr/local/cuda-12.4/bin/nsys",
    ],
)
def test_nsys_is_found_where_it_is_installed(tmp_path: Path, place: str) -> None:
    """Its version has a build number behind it."""
    path = _nsys(tmp_path / place)
    tool = find_tool("nsys", root=tmp_path, environment={"PATH": ""})
    assert (tool.path, tool.version) == (str(path), (2023, 4, 4, 54))


def test_of_several_versions_the_newest_comes_first(tmp_path: Path) -> None:
    """2025.10 is newer than 2025.9: numbers are compared, not letters."""
    for version in ("2024.3.2", "2025.10.0", "2025.9.1"):
        _ncu(tmp_path / f"opt/nvidia/nsight-compute/{version}/ncu", f"{version}.0")
    found = find_tools("ncu", root=tmp_path, environment={"PATH": ""})
    assert [tool.version[:2] for tool in found] == [(2025, 10), (2025, 9), (2024, 3)]


def test_a_program_that_several_places_lead_to_is_listed_once(tmp_path: Path) -> None:
    """CUDA's folder is mostly a link."""
    _ncu(tmp_path / "usr/local/cuda-12.8/bin/ncu")
    (tmp_path / "usr/local/cuda").symlink_to("cuda-12.8")
    environment = {"PATH": str(tmp_path / "usr/local/cuda/bin")}
    assert len(find_tools("ncu", root=tmp_path, environment=environment)) == 1


def test_one_that_does_not_run_is_passed_over_and_listed_last(tmp_path: Path) -> None:
    """A broken one on PATH does not hide a sound one behind it; why it is broken is kept."""
    broken = script(tmp_path / "bin" / "ncu", "echo 'libQt is missing' >&2; exit 127")
    sound = _ncu(tmp_path / "opt/nvidia/nsight-compute/2025.1.1/ncu")
    environment = {"PATH": str(tmp_path / "bin")}
    assert find_tool("ncu", root=tmp_path, environment=environment).path == str(sound)
    first, last = find_tools("ncu", root=tmp_path, environment=environment)
    assert (first.path, last.path, last.version) == (str(sound), str(broken), ())
    assert last.version_text == "said no version (exit code 127): libQt is missing"


def test_a_file_that_is_no_program_cannot_be_run(tmp_path: Path) -> None:
    """The error says which, and what the system said."""
    path = tmp_path / "ncu"
    path.write_text("not a program")
    with pytest.raises(ProgramNotFoundError, match=r"ncu cannot be run: Permission denied"):
        find_tool("ncu", given=str(path))


def test_what_is_named_is_taken_and_nothing_else(tmp_path: Path) -> None:
    """A program, its folder, or the folder above its bin."""
    path = _ncu(tmp_path / "cuda" / "bin" / "ncu")
    other = _ncu(tmp_path / "other" / "ncu")
    environment = {"PATH": str(other.parent)}
    for given in (path, path.parent, path.parent.parent):
        tool = find_tool("ncu", given=str(given), root=tmp_path, environment=environment)
        assert (tool.path, tool.found_by) == (str(path), "the option")
    assert find_tool("ncu", given="ncu", environment=environment).path == str(other)
    with pytest.raises(ProgramNotFoundError, match=r"nothing: there is no program ncu\."):
        find_tool("ncu", given=str(tmp_path / "nothing"), environment=environment)


def test_a_variable_that_names_nothing_is_not_passed_over(tmp_path: Path) -> None:
    """Whoever set it does not want the other one on PATH."""
    _ncu(tmp_path / "ncu")
    environment = {"PATH": str(tmp_path), "NSIGHTLENS_NCU": "/nowhere/ncu"}
    with pytest.raises(ProgramNotFoundError, match=r"/nowhere/ncu \(from NSIGHTLENS_NCU\)"):
        find_tool("ncu", root=tmp_path, environment=environment)


def test_where_there_is_none_the_error_names_every_place_and_the_way_out(tmp_path: Path) -> None:
    """And how to install it or to point to it."""
    environment = {"PATH": "/a:/b", "CUDA_HOME": "/cuda"}
    with pytest.raises(ProgramNotFoundError) as caught:
        find_tool("nsys", root=tmp_path, environment=environment)
    text = str(caught.value)
    for words in (
        "nsys (NVIDIA Nsight Systems) was not found",
        "PATH=/a:/b",
        "CUDA_HOME=/cuda",
        "CONDA_PREFIX (not set)",
        f"{tmp_path}/opt/nvidia/nsight-systems/*/bin/nsys",
        "apt-get install nsight-systems-cli",
        "--nsys PATH",
        "NSIGHTLENS_NSYS=PATH",
    ):
        assert words in text
    assert find_tools("nsys", root=tmp_path, environment=environment) == ()
    assert "\n" not in text


def test_a_path_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The target may run in another folder."""
    path = _ncu(tmp_path / "bin" / "ncu")
    monkeypatch.chdir(tmp_path)
    assert find_tool("ncu", given="bin/ncu").path == str(path)
