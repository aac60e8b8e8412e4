"""A report is exported by the installed nsys; where that fails, it is said what to do."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from support.fakes import install
from support.traces import Events, Kernel, tables_of, write_trace

import nsightlens
from nsightlens.errors import (
    NotATraceError,
    OutputExistsError,
    ProfilingError,
    ProgramNotFoundError,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """Return a report as the fake nsys writes it."""
    return _report(tmp_path / "run.nsys-rep", "")


def _report(path: Path, failure: str) -> Path:
    tables = {name: table.to_pylist() for name, table in tables_of(Events([Kernel(1, 5)])).items()}
    path.write_text(json.dumps({"failure": failure, "tables": tables}), encoding="utf-8")
    return path


@pytest.fixture
def nsys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the fake nsys on PATH, and temporary files into a folder of their own."""
    program = install(tmp_path / "programs")[1]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    return program


@pytest.fixture
def saying(tmp_path: Path) -> Callable[[str], str]:
    """Return what makes an nsys that does what a line of Python says."""

    def made(line: str) -> str:
        program = tmp_path / "my_nsys"
        program.write_text(f"#!{sys.executable}\nimport sys\n{line}\n")
        program.chmod(0o755)
        return str(program)

    return made


def test_a_report_is_exported_and_the_export_is_gone_afterwards(
    report: Path, nsys: Path, tmp_path: Path
) -> None:
    """Tables name the report, and nothing is left in the temporary place or beside it."""
    trace = nsightlens.open_trace(report)
    assert len(trace) == 1
    assert trace.kernels["trace"].to_pylist() == [str(report)]
    assert trace.sessions["format"].to_pylist() == ["sqlite"]
    assert not list((tmp_path / "temporary").iterdir())
    names = {"run.nsys-rep", "programs", "temporary"}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert nsys.exists()


def test_the_export_can_be_kept_and_never_replaces_anything(
    report: Path, nsys: Path, tmp_path: Path
) -> None:
    """It is whole, reads without nsys, and what exists stays."""
    kept = tmp_path / "kept.sqlite"
    nsightlens.open_trace(report, nsys=str(nsys), exported_to=kept)
    assert len(nsightlens.open_trace(kept)) == 1
    content = kept.read_bytes()
    with pytest.raises(OutputExistsError, match="remove it"):
        nsightlens.open_trace(report, nsys=str(nsys), exported_to=kept)
    assert kept.read_bytes() == content
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".nsightlens")]


def test_without_nsys_the_message_says_what_to_run_where_there_is_one(
    report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only nsys reads its reports."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ProgramNotFoundError) as told:
        nsightlens.open_trace(report)
    assert "nsys is not on PATH" in str(told.value)
    assert "run: nsys export --type sqlite run.nsys-rep" in str(told.value)
    with pytest.raises(ProgramNotFoundError, match="there is no program /no/such/nsys"):
        nsightlens.open_trace(report, nsys="/no/such/nsys")


@pytest.mark.usefixtures("nsys")
def test_a_report_of_a_newer_nsys_names_both_versions(tmp_path: Path) -> None:
    """The one here must be updated, or the other one used."""
    report = _report(tmp_path / "new.nsys-rep", "newer")
    with pytest.raises(ProfilingError) as told:
        nsightlens.open_trace(report)
    assert told.value.cause == "newer_report"
    assert "made by Nsight Systems 2099.1.1.1, newer than the nsys here (2025." in str(told.value)
    assert "nsys export --type sqlite new.nsys-rep" in str(told.value)


@pytest.mark.usefixtures("nsys")
def test_what_nsys_says_of_a_damaged_report_is_passed_on(tmp_path: Path) -> None:
    """Its own words, its exit status, and a command to try."""
    report = tmp_path / "bad.nsys-rep"
    report.write_bytes(b"\0\1\2")
    with pytest.raises(ProfilingError, match=r"exit status 1: Exportation error: .* is no report"):
        nsightlens.open_trace(report)


def test_success_without_an_export_is_a_failure(report: Path, saying: Callable[[str], str]) -> None:
    """The exit status alone is not trusted, and neither is a file of something else."""
    with pytest.raises(ProfilingError, match="exit status 0, without a word"):
        nsightlens.open_trace(report, nsys=saying("pass"))
    line = "open(sys.argv[sys.argv.index('--output') + 1], 'w').write('no database')"
    with pytest.raises(NotATraceError, match=r"run.nsys-rep \(exported\)"):
        nsightlens.open_trace(report, nsys=saying(line))


def test_an_sqlite_file_with_the_name_of_a_report_needs_no_nsys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a file is says its content."""
    monkeypatch.setenv("PATH", "")
    path = write_trace(Events([Kernel(1, 5)]), tmp_path / "x.nsys-rep")
    assert len(nsightlens.open_trace(path)) == 1
