"""Real reports survive being sliced and redacted, for NVIDIA's reader as much as for ours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.contents import contents
from support.parity import Parity, compare_report, import_ncu_report

import nsightlens
from nsightlens.ncurep import read_ncu_rep, redact_ncu_rep, slice_ncu_rep

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from nsightlens.ncurep import NcuRepFile, Redaction

pytestmark = [pytest.mark.corpus, pytest.mark.slow]


def tables_of(path: Path, launches: list[int] | None = None) -> list[Any]:
    """Return the tables of a report, of some launches alone if they are given."""
    report = nsightlens.open_report(path)
    if launches is not None:
        report = report.filter(np.isin(np.arange(len(report)), launches))
    unlike = {"report", "launch_id"}
    tables = [report.launches, report.stalls, report.metrics, report.rules, report.nvtx]
    return [
        table.select([name for name in table.column_names if name not in unlike]).to_pylist()
        for table in tables
    ]


def test_slices_of_every_real_report_have_the_rows_of_the_report(
    corpus_reports: list[Path], tmp_path: Path
) -> None:
    """The first launch, the last, and all of them, with their instances."""
    for path in corpus_reports:
        before = read_ncu_rep(path, instances=True)
        rows = contents(before)
        last = len(rows) - 1
        for chosen in ([0], [last]):
            out = slice_ncu_rep(path, tmp_path / "s.ncu-rep", chosen, overwrite=True)
            after = read_ncu_rep(out, instances=True)
            assert contents(after) == [rows[launch] for launch in chosen], path.name
            assert after.sessions == before.sessions, path.name
        out = slice_ncu_rep(path, tmp_path / "s.ncu-rep", range(last + 1), overwrite=True)
        assert out.read_bytes() == path.read_bytes(), path.name


def test_the_tables_of_a_slice_are_the_rows_of_the_report(
    corpus_reports: list[Path], tmp_path: Path
) -> None:
    """With all columns that are derived."""
    for path in corpus_reports[::4]:
        last = len(read_ncu_rep(path).results) - 1
        out = slice_ncu_rep(path, tmp_path / "s.ncu-rep", [0, last], overwrite=True)
        assert repr(tables_of(out)) == repr(tables_of(path, [0, last])), path.name


def without_names(file: NcuRepFile) -> list[Any]:
    """Return what a redacted report must still say: all but processes and texts of rules."""
    for result in file.results:
        result.process = None
        result.rules = ()
    return contents(file)


def secrets(file: NcuRepFile) -> Iterator[str]:
    """Yield what a report says of the machine, the user and the program."""
    for session in file.sessions:
        process = session.process
        texts = [
            session.computer_name, session.executable, session.working_directory,
            session.command_line, session.profiler_command_line,
            process.process_name if process else None, process.host_name if process else None,
        ]  # fmt: skip
        for text in filter(None, texts):
            yield text
            yield from re.findall(r"/home/[^/\s]+", text)


@pytest.fixture(params=[True, False], ids=["names_kept", "names_gone"])
def keeps(request: pytest.FixtureRequest) -> bool:
    """Return whether names of kernels and ranges are kept."""
    return bool(request.param)


def test_redacted_real_reports_have_their_values_and_no_names(
    corpus_reports: list[Path], tmp_path: Path, keeps: bool
) -> None:
    """No host, command line or home folder in any byte, unless it is listed."""
    for path in corpus_reports:
        before = read_ncu_rep(path, instances=keeps)
        told = set(secrets(before))
        done = redact_ncu_rep(
            path, tmp_path / "r.ncu-rep", keep_kernel_names=keeps, keep_nvtx=keeps, overwrite=True
        )
        if keeps:
            after = read_ncu_rep(done.path, instances=True)
            assert without_names(after) == without_names(before), path.name
        data = done.path.read_bytes()
        found = {text for text in told if len(text) > 2 and text.encode() in data}
        assert found <= listed(done), path.name
        assert done.removed["host name"] >= len(before.results)


def listed(done: Redaction) -> set[str]:
    return {one.text for one in done.remaining if one.kind.startswith("removed ")}


@pytest.mark.ncu_report
def test_ncu_report_reads_slices_and_redacted_reports_as_we_do(
    corpus_reports: list[Path], tmp_path: Path
) -> None:
    """Of every fourth report, with the one that Nsight Compute's own window wrote among them."""
    import_ncu_report()
    parity = Parity()
    for path in corpus_reports[3::4]:
        last = len(read_ncu_rep(path).results) - 1
        sliced = slice_ncu_rep(path, tmp_path / f"s-{path.name}", [last])
        compare_report(sliced, parity)
        done = redact_ncu_rep(path, tmp_path / f"r-{path.name}", keep_nvtx=last > 2)
        compare_report(done.path, parity)
    assert parity.differences == {}
    assert parity.compared["launches"] > 30
    assert parity.compared["scalar values"] > 10_000
