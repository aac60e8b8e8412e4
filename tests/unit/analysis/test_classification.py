"""`classify` and its result."""

from __future__ import annotations

from typing import Any

import pytest
from support.rooflines import (
    DRAM_PEAK,
    FP32_PEAK,
    dram_bytes,
    flop_counts,
    launch,
    parts,
    tensor_counts,
)
from support.stores import FAILED, report_of

from nsightlens import tables
from nsightlens.analysis import classify, explain, select

WORK = flop_counts(fp32=0.1 * FP32_PEAK * 1e-3) | tensor_counts()


@pytest.mark.parametrize("by", ["launch", "kernel", "family"])
def test_the_tables_have_their_schemas(by: Any) -> None:
    """Whatever a row is, and without rows as well."""
    for report in (report_of(launch(parts(dram=50)), FAILED), report_of()):
        result = classify(report, by=by)
        assert result.labels.schema.equals(tables.schema_of(tables.LABELS), check_metadata=True)
        assert result.resources.schema.equals(
            tables.schema_of(tables.RESOURCES), check_metadata=True
        )
        assert result.rooflines.schema.equals(
            tables.schema_of(tables.ROOFLINES), check_metadata=True
        )
        assert result.by == by


@pytest.mark.parametrize("function", [classify, explain, select])
def test_the_name_of_a_file_is_no_report(function: Any) -> None:
    """It is the first thing that anybody tries: the error says how to open it."""
    with pytest.raises(TypeError, match=r"a Report is needed, not str: .* nsightlens\.open_report"):
        function("report.ncu-rep")


def test_a_table_that_is_none_is_told_with_those_that_there_are() -> None:
    """Not that an attribute is missing."""
    result: Any = classify(report_of())
    for name in ("foo", "warnings", "by"):
        with pytest.raises(ValueError, match="one of labels, resources, rooflines, not"):
            result.to_pandas(name)


def test_another_kind_of_row_is_an_error() -> None:
    """The message names the three."""
    with pytest.raises(ValueError, match="'launch', 'kernel' or 'family', not 'batch'"):
        classify(report_of(), by="batch")  # type: ignore[arg-type]


def test_every_resource_of_a_launch_is_a_row() -> None:
    """Counted work with its peak and time; activity with its fraction."""
    report = report_of(
        launch(parts(dram=30, fma=10, issue=20, l1=40), dram_bytes(0.3), WORK, {"l1": 0.0}), FAILED
    )
    rows = {row["resource"]: row for row in classify(report).resources.to_pylist()}
    assert {row["launch_id"] for row in rows.values()} == {0}
    assert rows["dram"] == {
        "report": "a.ncu-rep",
        "launch_id": 0,
        "resource": "dram",
        "side": "memory",
        "work": pytest.approx(0.3 * DRAM_PEAK * 1e-3),
        "work_unit": "B",
        "peak_per_s": pytest.approx(DRAM_PEAK),
        "peak_source": "report",
        "roofline_time_ns": pytest.approx(3e5),
        "fraction_of_peak": pytest.approx(0.3),
        "measured_by": "counter",
        "busiest_counter": None,
    }
    assert rows["fp32"]["work_unit"] == "FLOP"
    assert rows["fp32"]["peak_source"] == "architecture"
    assert rows["tensor_int8"]["work_unit"] == "op"
    issue = rows["issue"]
    assert (issue["work"], issue["work_unit"], issue["peak_per_s"]) == (None, None, None)
    assert (issue["peak_source"], issue["measured_by"]) == ("percent_of_peak", "activity")
    assert issue["fraction_of_peak"] == pytest.approx(0.2)
    assert issue["busiest_counter"] == "sm__issue_active.avg.pct_of_peak_sustained_elapsed"
    assert rows["l1"]["side"] == "memory"


def test_fraction_times_duration_is_the_roofline_time() -> None:
    """In every row, counted or not."""
    metrics = launch(parts(dram=30, issue=20, l1=40), dram_bytes(0.3), WORK, duration_ns=1e6)
    for row in classify(report_of(metrics)).resources.to_pylist():
        assert row["roofline_time_ns"] == pytest.approx(row["fraction_of_peak"] * 1e6)


def test_the_share_of_the_duration_is_that_of_all_rows() -> None:
    """1 and 3 ms; a failed launch has none."""
    report = report_of(launch(parts(dram=50)), launch(parts(dram=50), duration_ns=3e6), FAILED)
    assert classify(report).labels["duration_share_pct"].to_pylist() == [25.0, 75.0, None]


def test_a_result_shows_itself_in_a_line() -> None:
    """How many rows of each bound."""
    result = classify(report_of(launch(parts(dram=50)), FAILED))
    assert repr(result) == "<Classification by launch: 1 unknown, 1 memory, 0 compute>"
    assert len(result) == 2


def test_a_result_is_a_data_frame_where_pandas_is() -> None:
    """One row per row."""
    frame = classify(report_of(launch(parts(dram=50)))).to_pandas()
    assert frame["bound"].tolist() == ["memory"]


def test_a_result_shows_itself_in_a_notebook() -> None:
    """As HTML with the label in it."""
    assert "memory" in classify(report_of(launch(parts(dram=50))))._repr_html_()


def test_classify_does_not_change_the_report() -> None:
    """The same report gives the same labels again."""
    report = report_of(launch(parts(dram=50)), launch(parts(issue=50)))
    before = report.launches
    first = classify(report).labels
    assert classify(report).labels.equals(first)
    assert report.launches.equals(before)


def test_the_peak_source_names_each_source_once() -> None:
    """DRAM by its own roof, FP32 by the architecture, the limiter by percentages."""
    metrics = launch(parts(dram=30, l1=80, fma=10, issue=20), dram_bytes(0.3), WORK)
    (label,) = classify(report_of(metrics)).labels.to_pylist()
    assert label["peak_source"] == "report+architecture+percent_of_peak"
