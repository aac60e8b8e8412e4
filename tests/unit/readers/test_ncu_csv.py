"""The text of ``ncu --csv`` gives the tables that the .ncu-rep file of the same launches gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.csv_parity import differences_of_launches, differences_of_metrics
from support.ncu_csv import Locale, Page, ncu_csv, printed_message
from support.reports import (
    ATTENTION_NAME,
    everything,
    gemm_launch,
    launch_only,
    make_launch,
    write_report,
)

import nsightlens
from nsightlens.errors import NotAReportError, ReportFormatError, TruncatedReportError
from nsightlens.ncurep.model import ProcessInfo
from nsightlens.readers import read
from nsightlens.readers.ncu_csv import report_from_ncu_csv

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.report import Report

CONSOLE = "\ufeff==PROF== Connected to process 4242 (/usr/bin/decode)\nstep 1 of 2\n"


@pytest.fixture
def report(tmp_path: Path) -> Report:
    """Return one of every launch, as the native reader sees it."""
    return nsightlens.open_report(write_report(tmp_path, everything()))


@pytest.mark.parametrize("page", ["raw", "details"])
@pytest.mark.parametrize("base_units", [True, False])
@pytest.mark.parametrize("locale", [Locale(), Locale(",", "."), Locale(",", "\u00a0")], ids=str)
def test_every_metric_is_the_same_to_its_rounding(
    report: Report, page: Page, base_units: bool, locale: Locale
) -> None:
    """Whatever the page, the units, the locale of the machine and its console output."""
    text = CONSOLE + ncu_csv(report, page, base_units=base_units, locale=locale, old_units=True)
    read = report_from_ncu_csv("decode.csv", text.encode("utf-16"))
    assert differences_of_metrics(report, read) == []
    assert differences_of_launches(report, read) == []


def test_the_rounding_is_half_of_the_last_printed_digit(report: Report) -> None:
    """In the metric's base unit; what was printed in full is exact."""
    read = report_from_ncu_csv("decode.csv", ncu_csv(report, "details"))
    first = read.metrics.filter(read.metrics["launch_id"].cast("int64").to_numpy() == 0)
    rounding = dict(zip(first["metric"].to_pylist(), first["rounding"].to_pylist(), strict=True))
    duration = read.launches["duration_ns"][0].as_py()
    assert 1e3 <= duration < 1e6
    assert rounding["gpu__time_duration.sum"] == 5.0  # two decimals of a microsecond
    assert rounding["launch__grid_size"] == 0.0
    assert rounding["device__attribute_display_name"] is None


def test_rules_are_those_of_the_report_as_ncu_prints_them(report: Report) -> None:
    """Links in a message are replaced by what they show."""
    read = report_from_ncu_csv("decode.csv", ncu_csv(report, "details"))
    assert _rules(read) == [
        {**rule, "message": printed_message(rule["message"])} for rule in _rules(report)
    ]
    assert report_from_ncu_csv("decode.csv", ncu_csv(report, "raw")).rules.num_rows == 0


def _rules(report: Report) -> list[dict[str, Any]]:
    kept = ["launch_id", "rule", "section", "severity", "message", "estimated_speedup_pct"]
    rules: list[dict[str, Any]] = report.rules.select(kept).to_pylist()
    return rules


def test_stalls_and_nvtx_ranges_are_those_of_the_report(report: Report) -> None:
    """Stalls come from metrics, NVTX ranges from their own columns."""
    read = report_from_ncu_csv("decode.csv", ncu_csv(report, "raw", base_units=True))
    keys = ["launch_id", "stall_reason"]
    assert read.stalls.select(keys).to_pylist() == report.stalls.select(keys).to_pylist()
    kept = ["launch_id", "domain", "range_kind", "depth", "name"]
    assert read.nvtx.select(kept).to_pylist() == report.nvtx.select(kept).to_pylist()
    for name in ("nvtx_path", "is_alone_in_range"):
        assert read.launches[name].to_pylist() == report.launches[name].to_pylist()


@pytest.mark.parametrize("base_units", [True, False])
def test_the_raw_and_the_details_page_of_a_report_are_one(report: Report, base_units: bool) -> None:
    """In one file, in either order, and with the more exact print of each value."""
    pages = [ncu_csv(report, page, base_units=base_units) for page in ("raw", "details")]
    for text in ("".join(pages), "".join(pages[::-1])):
        read = report_from_ncu_csv("decode.csv", text)
        assert len(read) == len(report)
        assert differences_of_metrics(report, read) == []
        assert _rules(read) == _rules(report_from_ncu_csv("decode.csv", pages[1]))


def test_a_value_in_a_unit_that_its_metric_cannot_have_is_null() -> None:
    """Rather than in the base unit, whatever the factor between them; a warning says so."""
    names = ("ID", "Process ID", "Kernel Name", "gpu__time_duration.sum", "dram__bytes.sum")
    table = [names, ("", "", "", "minute", "Kbyte"), ("0", "1", "k", "2.50", "2.50")]
    text = "\n".join(",".join(f'"{cell}"' for cell in row) for row in table)
    report = report_from_ncu_csv("x.csv", text)
    assert report.launches["duration_ns"].to_pylist() == [None]
    assert report.metrics["value"].to_pylist() == [None, 2500.0]
    (warning,) = report.warnings
    assert warning == (
        "x.csv: 'gpu__time_duration.sum' is printed in 'minute' (line 3), which is no known unit"
        " of it: these values are left out"
    )


def test_labels_are_those_of_the_report(report: Report) -> None:
    """What decides a label survives the print."""
    read = report_from_ncu_csv("decode.csv", ncu_csv(report, "raw"))
    kept = ["kernel", "family", "bound", "limiter", "regime", "evidence"]
    ours, theirs = (nsightlens.classify(one).labels.select(kept) for one in (read, report))
    assert ours.to_pylist() == theirs.to_pylist()


def test_there_is_a_session_for_each_process(tmp_path: Path) -> None:
    """With its host, and the GPUs of its launches."""
    other = ProcessInfo(process_id=7, host_name="node-2", process_name="rank1")
    launches = [gemm_launch(), make_launch("copy", process=other)]
    report = nsightlens.open_report(write_report(tmp_path, launches))
    text = ncu_csv(report, "raw").replace('"rank1",""', '"rank1","node-2"')
    read = report_from_ncu_csv("decode.csv", text)
    sessions = read.sessions.select(["process_id", "process_name", "host_name", "device_names"])
    gpu = ["NVIDIA H100 80GB HBM3"]
    assert [list(row.values()) for row in sessions.to_pylist()] == [
        [4242, "decode", "127.0.0.1", gpu],
        [7, "rank1", "node-2", gpu],
    ]


@pytest.mark.parametrize(
    ("printed", "kernel_name", "mangled"),
    [
        (ATTENTION_NAME, "flash_fwd_splitkv_kernel", None),
        ("enable_if<!T7, void>::type kernel<int, 0>(T13)", "kernel", None),
        ("triton_red_fused", "triton_red_fused", None),
        ("_ZN5flash10fwd_kernelILi128EEEvPf", "fwd_kernel", "_ZN5flash10fwd_kernelILi128EEEvPf"),
    ],
)
def test_a_kernel_has_the_names_that_the_text_tells(
    printed: str, kernel_name: str, mangled: str | None
) -> None:
    """One name is printed, in the form that --print-kernel-base asks for."""
    launches = _launches(kernel=printed)
    assert launches["kernel_name"] == [kernel_name]
    assert launches["kernel_demangled_name"] == [printed]
    assert launches["kernel_mangled_name"] == [mangled]


def test_a_range_is_no_kernel() -> None:
    """It has neither a name nor a grid."""
    launches = _launches(kernel="range", extent="(0, 0, 0)")
    assert (launches["kind"], launches["kernel_name"], launches["grid_x"]) == (
        ["range"], [None], [None],
    )  # fmt: skip


def _launches(*, kernel: str, extent: str = "(1, 1, 1)") -> dict[str, list[Any]]:
    text = (
        '"ID","Process ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Unit",'
        f'"Metric Value"\n"0","1","{kernel}","{extent}","{extent}","a__x.sum","","1"'
    )
    columns: dict[str, list[Any]] = report_from_ncu_csv("x.csv", text).launches.to_pydict()
    return columns


def test_tables_and_errors_show_the_name_that_was_asked_for() -> None:
    """The text itself may come from a temporary file."""
    text = '"ID","Process ID","Kernel Name","a__x.sum"\n"","","","%"\n"0","1","k","1"'
    report = report_from_ncu_csv("s3://bucket/x.csv", text)
    assert report.sources == ("s3://bucket/x.csv",)
    assert report.launches["report"].to_pylist() == ["s3://bucket/x.csv"]
    with pytest.raises(NotAReportError, match=r"^s3://bucket/x\.csv: this is text"):
        report_from_ncu_csv("s3://bucket/x.csv", "hello")


@pytest.mark.parametrize("name", ["ncu.csv", "out.txt", "report.ncu-rep"])
def test_a_report_is_opened_by_what_it_holds(report: Report, name: str, tmp_path: Path) -> None:
    """Whatever the name says: people redirect the output of ncu to any file."""
    path = tmp_path / name
    path.write_text(CONSOLE + ncu_csv(report, "details"), encoding="utf-8")
    read = nsightlens.open_report(path)
    assert differences_of_launches(report, read) == []
    assert read.sources == (str(path),)


def test_a_text_too_large_to_be_read_whole_is_refused(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what to give instead, and before it fills the memory."""
    path = tmp_path / "ncu.csv"
    text = ncu_csv(report, "raw").encode()
    path.write_bytes(text)
    monkeypatch.setattr(read, "LARGEST_TEXT", len(text))
    assert len(nsightlens.open_report(path)) == len(report)
    monkeypatch.setattr(read, "LARGEST_TEXT", len(text) - 1)
    with pytest.raises(ReportFormatError, match=rf"text of {len(text)} bytes.*\.ncu-rep") as told:
        nsightlens.open_report(path)
    assert str(told.value).startswith(f"{path}: ")


def test_a_file_that_was_not_written_whole_is_told_so(tmp_path: Path) -> None:
    """Though the zeros at its end make it look like no text."""
    path = tmp_path / "ncu.csv"
    path.write_bytes(b'"ID","Process ID","Kernel Name","a__x.sum"\n"","","","%"\n\0\0\0')
    with pytest.raises(TruncatedReportError, match=r"in line 3: NUL bytes .* not written whole"):
        nsightlens.open_report(path)


def test_a_cut_text_can_be_salvaged(tmp_path: Path) -> None:
    """The launches before the cut, and a warning that says where it is."""
    report = nsightlens.open_report(write_report(tmp_path, [launch_only()] * 3))
    text = ncu_csv(report, "raw")
    cut = text[: len(text) - 200]
    with pytest.raises(TruncatedReportError, match="in line 5: the text ends inside a row"):
        report_from_ncu_csv("x.csv", cut)
    read = report_from_ncu_csv("x.csv", cut, on_error="salvage")
    assert len(read) == 2
    assert read.warnings == (
        "x.csv: damaged in line 5, 2 sound launches salvaged: the text ends inside a row",
    )
