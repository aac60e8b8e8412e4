"""Real CSV files read or are refused for the right reason; real reports survive being printed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.csv_parity import differences_of_launches, differences_of_metrics
from support.ncu_csv import Page, ncu_csv, printed_message
from support.section_labels import section_labels

import nsightlens
from nsightlens.errors import NotAReportError, NsightLensError
from nsightlens.ncucsv import looks_like_csv
from nsightlens.ncucsv.labels import metric_of
from nsightlens.readers.ncu_csv import report_from_ncu_csv

if TYPE_CHECKING:
    from nsightlens.report import Report

pytestmark = pytest.mark.corpus

# What each refused file is, by a part of its name that no other kind of file has.
REFUSED = {
    "profiles_": "this is the text that ncu prints without --csv",
    "analysis_": "this is a table with the columns 'kernel_id'",
    "fp32_ncu": "'ERR_NVGPUCTRPERM",
    "old_prof.out": "'The application returned an error code (1)'",
    "profBINCOTSS1": "Give the report that it names, /home/bwd29/self-join/profileSUSYBIN",
    "profBINCOTSS2": "Give the report that it names, /home/bwd29/self-join/profileBIGCROSS3",
    "profMISTIC2": "Give the report that it names, /home/bwd29/self-join/profileSUSYNODE",
    "results3prof": "Give the report that it names, /home/bwd29/self-join/profile.out",
    "results4prof": "'The application returned an error code (1)'",
    "results5prof.out": "error code (11)' and 'No kernels were profiled'",
    "results5prof_at": "already exists",
    "results_prof.out": "'LaunchFailed'",
}


@pytest.fixture(scope="module")
def corpus_csv(corpus_ncu: Path) -> Path:
    """Return the folder of real text files beside that of the reports."""
    return corpus_ncu.parent / "ncu-csv"


def test_every_real_text_reads_or_is_refused_for_its_reason(corpus_csv: Path) -> None:
    """39 files are tables; the others are console logs, other pages and derived tables."""
    counts: Counter[str] = Counter()
    for path in sorted(corpus_csv.iterdir()):
        content = path.read_bytes()
        assert looks_like_csv(content[:512]), path.name
        reason = next((why for part, why in REFUSED.items() if part in path.name), None)
        if reason is None:
            report = report_from_ncu_csv(path.name, content)
            _check_real(report)
            counts["read"] += 1
        else:
            with pytest.raises(NotAReportError) as told:
                report_from_ncu_csv(path.name, content)
            assert reason in str(told.value), path.name
            counts["refused"] += 1
    assert counts == {"read": 39, "refused": 21}


def _check_real(report: Report) -> None:
    name = report.sources[0]
    launches = report.launches
    expected = 9 if "AveryClapp" in name else 1
    assert len(report) == expected, name
    assert report.warnings == (), name
    for column in ("process_id", "kernel_name", "grid_x", "block_x", "compute_capability"):
        assert launches[column].null_count == 0, (name, column)
    # Every label that ncu prints in these files is known.
    unknown = {metric for metric in report.store.names if "__" not in metric}
    assert unknown <= {"flop_count_hp.sum", "flop_count_sp.sum"}, name
    labels = nsightlens.classify(report).labels
    assert labels["bound"].null_count == labels["reason"].null_count == 0


def test_scaled_values_of_one_launch_agree_across_files(corpus_csv: Path) -> None:
    """One user printed sections apart and together: the same launch, the same values."""
    prefix = "CodeGandee__llm-perf-opt__reports_20251107-dsocr_ncu-v2_kernel_0001"
    reports = {
        path.name.rpartition("_ncu.")[2]: report_from_ncu_csv(path.name, path.read_bytes())
        for path in sorted(corpus_csv.glob(f"{prefix}*"))
    }
    whole = reports["details.csv"]
    assert whole.launches["duration_ns"].to_pylist() == [6750.0]
    assert whole.launches["dram_bandwidth_bytes_per_s"].to_pylist() == [345.14e9]
    part = reports["section_Occupancy.csv"].launches["achieved_occupancy_pct"]
    assert part.to_pylist() == whole.launches["achieved_occupancy_pct"].to_pylist() == [11.32]


@pytest.fixture(scope="module")
def reports(corpus_reports: list[Path]) -> list[Report]:
    """Return the real reports as the native reader sees them."""
    return [nsightlens.open_report(path) for path in corpus_reports]


@pytest.mark.slow
@pytest.mark.parametrize("page", ["raw", "details"])
@pytest.mark.parametrize("base_units", [True, False])
def test_a_printed_report_gives_its_tables_to_its_rounding(
    reports: list[Report], page: Page, base_units: bool
) -> None:
    """Every value of every metric, the launches, and the stalls and rules beside them."""
    compared = 0
    for report in reports:
        name = Path(report.sources[0]).name
        read = report_from_ncu_csv(name, ncu_csv(report, page, base_units=base_units))
        assert differences_of_metrics(report, read) == [], name
        assert differences_of_launches(report, read) == [], name
        keys = ["launch_id", "stall_reason", "sample_count"]
        assert read.stalls.select(keys).to_pylist() == report.stalls.select(keys).to_pylist(), name
        if page == "details":
            messages = map(printed_message, report.rules["message"].to_pylist())
            assert read.rules["message"].to_pylist() == [text.strip() for text in messages], name
        compared += read.metrics.num_rows
    assert compared > 90_000


def test_the_labels_of_the_details_page_are_those_of_the_sections(
    corpus_reports: list[Path],
) -> None:
    """Section definitions inside the reports name the metric of each label."""
    compared = 0
    for path in corpus_reports:
        for section, label, metric in section_labels(path):
            if label and not metric.startswith("regex:"):
                assert metric_of(section, "", label) == metric, (path.name, section, label)
                compared += 1
    assert compared > 500


def test_tables_of_nsys_are_refused_too(corpus_ncu: Path) -> None:
    """Its own are told by name, those made from them by their columns."""
    for path in sorted((corpus_ncu.parent / "nsys-csv").iterdir()):
        with pytest.raises(NsightLensError, match=r"output of nsys|a table with the columns"):
            report_from_ncu_csv(path.name, path.read_bytes())
