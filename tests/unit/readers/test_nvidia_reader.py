"""NVIDIA's own reader as one of ours: its traps, and what becomes of them."""

from __future__ import annotations

import gzip
import sys
from importlib.util import find_spec
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from support import worker_tasks
from support.reports import everything, gemm_launch, make_launch, write_empty_report, write_report

from nsightlens.errors import (
    MissingExtraError,
    NotAReportError,
    NsightLensWarning,
    ReaderFailedError,
    ReportNotFoundError,
    TruncatedReportError,
    WireFormatError,
)
from nsightlens.ncurep.spec import LaunchSpec, MetricSpec
from nsightlens.readers import nvidia, open_report, read

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.report import Report

needs_ncu_report = pytest.mark.skipif(
    find_spec("ncu_report") is None, reason="NVIDIA's ncu_report is not installed"
)


def context_of(*actions: object) -> SimpleNamespace:
    """Return what NVIDIA's reader makes of a file, with these results."""
    found = SimpleNamespace(num_actions=lambda: len(actions), action_by_idx=lambda i: actions[i])
    return SimpleNamespace(num_ranges=lambda: bool(actions), range_by_idx=lambda _: found)


def action_of(name: str | None, kind: int = 0) -> SimpleNamespace:
    """Return a result without metrics, as NVIDIA's reader gives a damaged one."""
    return SimpleNamespace(
        NameBase_FUNCTION=0,
        NameBase_MANGLED=1,
        NameBase_DEMANGLED=2,
        name=lambda _: name,
        metric_names=list,
        workload_type=lambda: kind,
    )


def newer(path: Path) -> Path:
    """Give a report a container version that nobody has written yet."""
    data = bytearray(path.read_bytes())
    assert data[8:10] == b"\x08\x07"
    data[9] = 9
    path.write_bytes(data)
    return path


@pytest.mark.ncu_report
@needs_ncu_report
def test_it_gives_the_same_tables_as_the_native_reader(tmp_path: Path) -> None:
    """Null is not 0, of two values the last one counts, and text that is no UTF-8 is escaped."""
    twice = [MetricSpec("m", 1), MetricSpec("m", 2), MetricSpec("null"), MetricSpec("zero", 0)]
    broken = b"kern\xe9l".decode("utf-8", "surrogateescape")
    launches = [
        *everything(),
        LaunchSpec(name="k", metrics=twice),
        make_launch(broken, {"text": broken, "n": 1.0}, instances={"n": [("a", 7), (broken, 8)]}),
    ]
    path = write_report(tmp_path, launches)
    ours = open_report(path, instances=True, reader="native")
    theirs = open_report(path, instances=True, reader="ncu_report")
    for name in ("metrics", "instances", "stalls", "rules"):
        assert rows(theirs, name) == rows(ours, name)
    hidden = ["thread_id", "range_id"]
    assert theirs.nvtx.drop(hidden).to_pylist() == ours.nvtx.drop(hidden).to_pylist()
    assert theirs.metric_columns(["null"])["null"].to_pylist()[-2] is None
    names = [
        "kernel_name",
        "kernel_demangled_name",
        "kind",
        "nvtx_path",
        "duration_ns",
        "dram_bytes",
    ]
    assert theirs.launches.select(names).to_pylist() == ours.launches.select(names).to_pylist()


def rows(report: Report, name: str) -> list[str]:
    """Return the rows of a table in an order of their own; as text, in which NaN is NaN."""
    return sorted(map(str, getattr(report, name).to_pylist()))


@pytest.mark.ncu_report
@needs_ncu_report
def test_several_reports_are_read_side_by_side(tmp_path: Path) -> None:
    """Each by a process of its own, in the order of their names."""
    paths = [write_report(tmp_path, [gemm_launch()] * i, name=f"{i}.ncu-rep") for i in (3, 1, 2)]
    report = open_report(paths, reader="ncu_report", jobs=2)
    assert report.sources == tuple(map(str, paths))
    assert report.launches["launch_id"].to_pylist() == [0, 1, 2, 0, 0, 1]


@pytest.mark.ncu_report
@needs_ncu_report
def test_what_it_cannot_know_is_null(tmp_path: Path) -> None:
    """And not what a launch has by default."""
    report = open_report(write_report(tmp_path, [gemm_launch()]), reader="ncu_report")
    row = report.launches.to_pylist()[0]
    for name in ("process_id", "api_call_id", "thread_id", "is_unsupported_device"):
        assert row[name] is None
    assert report.sessions.num_rows == 0


@pytest.mark.ncu_report
@needs_ncu_report
def test_a_metric_that_it_names_and_does_not_give_is_null(tmp_path: Path) -> None:
    """Its Python interface takes no name that is not UTF-8."""
    broken = b"metr\xe9c".decode("utf-8", "surrogateescape")
    path = write_report(tmp_path, [make_launch("k", {broken: 1.0})])
    report = open_report(path, reader="ncu_report")
    assert report.metric_columns(["metr\\xe9c"])["metr\\xe9c"].to_pylist() == [None]


@pytest.mark.ncu_report
@needs_ncu_report
def test_a_sound_report_without_launches_is_a_report(tmp_path: Path) -> None:
    """The file says so itself."""
    assert len(open_report(write_empty_report(tmp_path), reader="ncu_report")) == 0


@pytest.mark.ncu_report
@needs_ncu_report
def test_a_damaged_file_is_never_an_empty_report(tmp_path: Path) -> None:
    """NVIDIA's reader says nothing of a cut, and gives what it finds."""
    path = write_report(tmp_path, everything())
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(TruncatedReportError):
        open_report(path, reader="ncu_report")
    newer(path).write_bytes(path.read_bytes()[:200])
    with pytest.raises(ReaderFailedError, match="finds nothing in it and says not why"):
        open_report(path, reader="ncu_report")
    path.write_bytes(b"\x01no report")
    with pytest.raises(NotAReportError):
        open_report(path, reader="ncu_report")
    with pytest.raises(ReportNotFoundError):
        open_report(tmp_path / "gone.ncu-rep", reader="ncu_report")


@pytest.mark.parametrize(
    ("context", "problem"),
    [
        (context_of(), "holds 1 results and NVIDIA's reader gives 0"),
        (context_of(action_of(None)), "gives result 0 without a name and without metrics"),
        (context_of(action_of("k", 4)), "result 0 is of type 4, which is not known"),
    ],
)
def test_less_than_the_file_holds_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, context: Any, problem: str
) -> None:
    """The container says how many results there are."""
    path = write_report(tmp_path, [gemm_launch()])
    monkeypatch.setattr(nvidia, "_load", lambda _: context)
    with pytest.raises(ReaderFailedError, match=problem):
        nvidia.read_with_ncu_report(str(path), "r", instances=False)


def test_the_end_of_its_process_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the name of the file that ended it."""
    path = write_report(tmp_path, [gemm_launch()])
    monkeypatch.setattr(nvidia, "find_spec", lambda _: True)
    monkeypatch.setattr(nvidia, "read_with_ncu_report", worker_tasks.die_of_file)
    with pytest.raises(ReaderFailedError, match=r"report\.ncu-rep: .* ended with exit code 1"):
        open_report(path, reader="ncu_report")


def test_only_a_file_of_this_process_is_renamed_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """/proc/self is what each process calls itself; elsewhere in a path it is a folder."""
    folder = tmp_path / "proc" / "self"
    folder.mkdir(parents=True)
    path = write_report(folder, [gemm_launch()])
    monkeypatch.setattr(nvidia, "find_spec", lambda _: True)
    monkeypatch.setattr(nvidia, "read_with_ncu_report", worker_tasks.die_of_file)
    with pytest.raises(ReaderFailedError, match="ended with exit code 1"):
        open_report(path, reader="ncu_report")
    path.with_suffix(".gz").write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(ReaderFailedError, match="ended with exit code 1"):
        open_report(path.with_suffix(".gz"), reader="ncu_report")


def test_without_it_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the line that installs it."""
    monkeypatch.setitem(sys.modules, "ncu_report", None)
    monkeypatch.setattr(nvidia, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r'pip install "nsightlens\[ncu\]"'):
        open_report(write_report(tmp_path, [gemm_launch()]), reader="ncu_report")


def test_a_newer_container_that_reads_is_read(tmp_path: Path) -> None:
    """A version alone is no reason to refuse."""
    path = newer(write_report(tmp_path, [gemm_launch()]))
    readers: tuple[read.Reader, ...] = ("auto", "native")
    for reader in readers:
        report = open_report(path, reader=reader)
        assert len(report) == 1
        assert report.warnings == ()


def unread(*_: Any, **__: Any) -> None:
    raise WireFormatError("r", "the message has an unknown shape", "Copy it.", offset=12)


def test_a_newer_container_that_does_not_read_names_the_other_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The advice is not to copy the file again."""
    path = newer(write_report(tmp_path, [gemm_launch()]))
    monkeypatch.setattr(read, "report_from_ncu_rep", unread)
    with pytest.raises(WireFormatError, match=r"has version 9 .* knows 7.*--reader ncu_report"):
        open_report(path, reader="native")
    monkeypatch.setattr(read, "find_spec", lambda _: None)
    with pytest.raises(WireFormatError, match="at byte 12: the message has an unknown shape"):
        open_report(path)


@pytest.mark.ncu_report
@needs_ncu_report
def test_a_newer_container_that_does_not_read_is_read_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By itself, and with a word about it."""
    path = newer(write_report(tmp_path, [gemm_launch()]))
    monkeypatch.setattr(read, "report_from_ncu_rep", unread)
    with pytest.warns(NsightLensWarning, match="read by NVIDIA's ncu_report"):
        report = open_report(path)
    assert len(report) == 1
    assert report.warnings[0].startswith(f"{path}: read by NVIDIA's ncu_report: ")
    known = write_report(tmp_path, [gemm_launch()], name="known.ncu-rep")
    with pytest.raises(WireFormatError):
        open_report(known)
