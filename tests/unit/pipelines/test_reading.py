"""A report has the name that the user typed, wherever its file lies for who reads it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from support.reports import gemm_launch, write_report

from nsightlens.errors import NotAReportError, ReportNotFoundError
from nsightlens.pipelines import distinct, file_of, read_one
from nsightlens.pipelines.reading import counted_from
from nsightlens.readers.read import ReadOptions


def test_a_relative_name_counts_from_the_folder_of_the_user(tmp_path: Path) -> None:
    """And stays as it is in the tables, as if the report had been read where the user is."""
    write_report(tmp_path, [gemm_launch()], name="a.ncu-rep")
    with counted_from(str(tmp_path)):
        report = read_one("a.ncu-rep")
    assert report.sources == ("a.ncu-rep",)
    assert report.launches["report"].to_pylist() == ["a.ncu-rep"]
    with pytest.raises(ReportNotFoundError, match=r"^a\.ncu-rep: "):
        read_one("a.ncu-rep")


def test_what_is_no_relative_path_stays_as_it_is(tmp_path: Path) -> None:
    """Standard input, URLs and absolute paths."""
    with counted_from(str(tmp_path)):
        assert file_of("-") == "-"
        assert file_of("s3://bucket/a.ncu-rep") == "s3://bucket/a.ncu-rep"
        assert Path(file_of("./-")) == tmp_path / "-"
        absolute = str(tmp_path / "elsewhere" / "a.ncu-rep")
        assert file_of(absolute) == absolute


def test_a_damaged_report_is_salvaged_without_a_warning_that_nobody_hears(tmp_path: Path) -> None:
    """What there is to say stands in the report."""
    path = write_report(tmp_path, [gemm_launch()] * 3)
    packed = gzip.compress(path.read_bytes())
    path.write_bytes(packed[: len(packed) - 9])
    with pytest.raises(ValueError, match="ends early"):
        read_one(str(path))
    report = read_one(str(path), ReadOptions(on_error="salvage"))
    assert report.warnings


def test_an_error_names_the_report_as_the_user_did(tmp_path: Path) -> None:
    """Not by where it lies on another machine."""
    (tmp_path / "a.ncu-rep").write_bytes(b"\x01 none")
    with counted_from(str(tmp_path)), pytest.raises(NotAReportError, match=r"^a\.ncu-rep:"):
        read_one("a.ncu-rep")


def test_two_names_of_one_file_are_one_report(tmp_path: Path) -> None:
    """The first name stands for both."""
    path = write_report(tmp_path, [gemm_launch()], name="a.ncu-rep")
    other = tmp_path / "folder" / ".." / "a.ncu-rep"
    (tmp_path / "folder").mkdir()
    assert distinct([path, other, "-", "-"]) == [str(path), "-"]
