"""Raw metrics alone, from the file into Arrow columns."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from support import reports

import nsightlens
from nsightlens.errors import MissingMetricError, ReportNotFoundError
from nsightlens.ncurep import LaunchSpec, write_ncu_rep

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a report of two launches that share one metric."""
    launches = [
        LaunchSpec(name="first", metrics={"b__bytes.sum": 1, "a__time_duration.sum": 0.5}),
        LaunchSpec(name="second", metrics={"b__bytes.sum": 2**64 - 1, "c__names": "x,y"}),
    ]
    return write_ncu_rep(tmp_path / "a.ncu-rep", launches)


def test_every_metric_becomes_a_column_of_its_own_type(path: Path) -> None:
    """Integers keep every bit, text is text, and what a launch lacks is null."""
    table = nsightlens.read_metrics(path)
    assert table.column_names == [
        "report", "launch_id", "kernel_name",
        "b__bytes.sum", "a__time_duration.sum", "c__names",
    ]  # fmt: skip
    assert table["kernel_name"].to_pylist() == ["first", "second"]
    assert table["launch_id"].to_pylist() == [0, 1]
    assert set(table["report"].to_pylist()) == {str(path)}
    assert table["b__bytes.sum"].to_pylist() == [1, 2**64 - 1]
    assert table["b__bytes.sum"].type == pa.uint64()
    assert table["a__time_duration.sum"].to_pylist() == [0.5, None]
    assert table["c__names"].to_pylist() == [None, "x,y"]
    assert table.schema.field("b__bytes.sum").metadata == {b"unit": b"B"}


def test_columns_come_in_the_order_asked_for(path: Path) -> None:
    """Names and patterns; each metric once."""
    asked = ["c__names", "*__*.sum", "b__bytes.sum"]
    table = nsightlens.read_metrics(path, asked)
    assert table.column_names[3:] == ["c__names", "a__time_duration.sum", "b__bytes.sum"]
    assert nsightlens.read_metrics(path, "c__names").column_names[3:] == ["c__names"]


def test_an_unknown_metric_is_an_error_that_names_its_neighbours(path: Path) -> None:
    """As everywhere else, although only the metrics asked for were read."""
    with pytest.raises(MissingMetricError, match=r"b__bytes\.sum"):
        nsightlens.read_metrics(path, ["b__byte.sum"])
    with pytest.raises(MissingMetricError):
        nsightlens.read_metrics(path, ["nothing*"])


def test_it_says_the_same_as_the_report(tmp_path: Path) -> None:
    """The short way and the long way give the same values."""
    path = write_ncu_rep(tmp_path / "sweep.ncu-rep", reports.everything())
    short, long = nsightlens.read_metrics(path), nsightlens.open_report(path).metric_columns(["*"])
    assert set(short.column_names) == {*long.column_names, "kernel_name"}
    for name in long.column_names:
        assert short[name].cast(pa.string()).equals(long[name].cast(pa.string()))


def test_what_is_not_a_plain_report_is_read_too(path: Path, tmp_path: Path) -> None:
    """A compressed report has the same columns; a missing one is an error."""
    packed = tmp_path / "a.ncu-rep.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert nsightlens.read_metrics(packed)["c__names"].to_pylist() == [None, "x,y"]
    with pytest.raises(ReportNotFoundError):
        nsightlens.read_metrics(tmp_path / "no.ncu-rep")
