"""export_reports: the same dataset however it is made, and errors before anything is added."""

from __future__ import annotations

import hashlib
import os
import pickle
from typing import TYPE_CHECKING

import pytest
from support.datasets import files_in, values_of
from support.reports import attention_launch, everything, make_launch, write_report

from nsightlens import open_dataset
from nsightlens.errors import (
    FilterError,
    NsightLensError,
    OutputError,
    ReportFormatError,
    ReportNotFoundError,
)
from nsightlens.pipelines import ExportOptions, export_reports
from nsightlens.pipelines.contents import found_in
from nsightlens.steps import StepRules

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def reports(tmp_path: Path) -> list[Path]:
    """Return three reports."""
    write_report(tmp_path, everything(), name="all.ncu-rep")
    write_report(tmp_path, [attention_launch()], name="one.ncu-rep")
    write_report(tmp_path, [make_launch(), make_launch()], name="two.ncu-rep")
    return [tmp_path / f"{name}.ncu-rep" for name in ("all", "one", "two")]


def test_processes_make_the_dataset_that_one_makes(tmp_path: Path, reports: list[Path]) -> None:
    """Row by row, in the same order."""
    for jobs in (1, 2):
        summary = export_reports(reports, tmp_path / f"ds{jobs}", jobs=jobs)
        assert summary.added == tuple(map(str, reports))
    one, two = (open_dataset(tmp_path / f"ds{jobs}") for jobs in (1, 2))
    for name in one.tables:
        columns = [c for c in one.table(name).column_names if c != "exported_at"]
        ours, theirs = (values_of(dataset.table(name, columns)) for dataset in (one, two))
        assert ours.equals(theirs), name


def test_the_id_of_a_report_is_the_digest_of_its_file(tmp_path: Path, reports: list[Path]) -> None:
    """As sha256sum prints it."""
    export_reports(reports[0], tmp_path / "ds")
    (row,) = open_dataset(tmp_path / "ds").reports.to_pylist()
    assert row["report_id"] == hashlib.sha256(reports[0].read_bytes()).hexdigest()
    assert row["size_bytes"] == reports[0].stat().st_size


def test_a_report_whose_name_is_not_utf8_is_exported(tmp_path: Path) -> None:
    """Spelled as in the other tables; the bytes of a name are none that Arrow can hold."""
    name = tmp_path / os.fsdecode(b"bad\xff.ncu-rep")
    try:
        write_report(tmp_path, [make_launch()], name=name.name)
    except (OSError, UnicodeError):
        pytest.skip("this file system takes only names that are text")
    export_reports([name], tmp_path / "ds")
    dataset = open_dataset(tmp_path / "ds")
    assert dataset.reports["report"].to_pylist() == [f"{tmp_path}/bad\\xff.ncu-rep"]
    assert dataset.table("launches")["report"].to_pylist() == dataset.reports["report"].to_pylist()


def test_a_known_report_is_not_read_again(reports: list[Path]) -> None:
    """Its digest is enough; also where it would be filtered to nothing."""
    known = hashlib.sha256(reports[0].read_bytes()).hexdigest()
    options = ExportOptions(families=("no_such",))
    found = found_in(str(reports[0]), (options, frozenset([known])))
    assert found.report_id == known
    assert found.contents is None


def test_what_a_worker_returns_can_be_pickled(reports: list[Path]) -> None:
    """It comes from another process, or another machine."""
    options = ExportOptions(instances=("*",), step_rules=StepRules(batch_size=8))
    found = found_in(str(reports[0]), pickle.loads(pickle.dumps((options, frozenset()))))
    back = pickle.loads(pickle.dumps(found))
    assert back.contents.contents["labels"].equals(found.contents.contents["labels"])  # type: ignore[union-attr]


def test_without_a_handler_the_first_error_is_raised_and_nothing_is_added(
    tmp_path: Path, reports: list[Path]
) -> None:
    """Nobody would look for reports that are missing."""
    (tmp_path / "bad.ncu-rep").write_bytes(b"no report")
    export_reports(reports[0], tmp_path / "ds")
    before = files_in(tmp_path)
    with pytest.raises(ReportFormatError):
        export_reports([reports[1], tmp_path / "bad.ncu-rep"], tmp_path / "ds")
    with pytest.raises(OutputError, match="other options"):
        export_reports(reports, tmp_path / "ds", options=ExportOptions(families=("gemm",)))
    assert files_in(tmp_path) == before
    with pytest.raises(ReportNotFoundError, match="no report was given"):
        export_reports([], tmp_path / "ds")


def test_with_a_handler_the_others_are_added(tmp_path: Path, reports: list[Path]) -> None:
    """Each error is told with the name of its report."""
    (tmp_path / "bad.ncu-rep").write_bytes(b"no report")
    told: dict[str, NsightLensError] = {}
    summary = export_reports(
        [reports[1], tmp_path / "bad.ncu-rep", tmp_path / "absent"],
        tmp_path / "ds",
        on_error=told.__setitem__,
    )
    assert summary.added == (str(reports[1]),)
    assert list(told) == [str(tmp_path / "bad.ncu-rep"), str(tmp_path / "absent")]


def test_a_warning_of_some_reports_says_of_how_many(tmp_path: Path, reports: list[Path]) -> None:
    """Each is told once; one that names its report speaks for itself."""
    peaks = tmp_path / "peaks.toml"
    peaks.write_text(
        'format = "nsightlens.peaks"\nversion = 1\n[[device]]\nname = "NVIDIA B200"\n'
        'source = "s"\n[device.peak_per_s]\ndram = "7 TB/s"\n',
        encoding="utf-8",
    )
    write_report(tmp_path, [], name="none.ncu-rep")
    summary = export_reports(
        [*reports, tmp_path / "none.ncu-rep"],
        tmp_path / "ds",
        options=ExportOptions(peaks=str(peaks)),
    )
    assert len(summary.warnings) == 2
    unused = next(text for text in summary.warnings if "ceilings are not used" in text)
    assert unused.endswith(f"(in 3 of 4 reports, first {reports[0]})")
    assert any("none.ncu-rep: the file is sound" in text for text in summary.warnings)


def test_a_report_without_a_launch_that_passes_is_listed_all_the_same(
    tmp_path: Path, reports: list[Path]
) -> None:
    """So that it is known the next time; only where nothing passes at all it is an error."""
    options = ExportOptions(families=("gemm",))
    with pytest.raises(FilterError, match=r"the only launch does not pass --family gemm\. There"):
        export_reports(reports[1], tmp_path / "ds", options=options)
    export_reports(reports[:2], tmp_path / "ds", options=options)
    rows = open_dataset(tmp_path / "ds").reports.to_pylist()
    assert [row["launch_count"] for row in rows] == [1, 0]
    summary = export_reports(reports[:2], tmp_path / "ds", options=options)
    assert summary.present == tuple(map(str, reports[:2]))
