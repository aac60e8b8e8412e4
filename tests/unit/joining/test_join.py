"""Launches under ncu find their kernels under nsys, and no duration is taken for the other's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc
import pytest
from support.joined import GAP_NS, LATENCY_NS, trace_of

from nsightlens import join, open_report
from nsightlens.devices.columns import number_column
from nsightlens.example import path

if TYPE_CHECKING:
    from nsightlens.report import Report


@pytest.fixture(scope="module")
def report() -> Report:
    """Return the bundled sweep: steps of ten batch sizes."""
    return open_report(path())


def _pairs(joined: Any) -> list[tuple[int | None, int | None]]:
    rows = joined.rows
    return list(zip(rows["launch_id"].to_pylist(), rows["kernel_id"].to_pylist(), strict=True))


def test_every_launch_finds_its_kernel_where_both_runs_are_the_same(report: Report) -> None:
    """All by step; the two durations stand side by side."""
    joined = join(report, trace_of(report, factor=0.5))
    count = len(report)
    assert _pairs(joined) == [(at, at) for at in range(count)]
    assert joined.matched_count == joined.launch_count == joined.kernel_count == count
    assert joined.rows["matched_by"].unique().to_pylist() == ["step"]
    assert np.allclose(
        number_column(joined.rows, "ncu_duration_ns"), number_column(report.launches, "duration_ns")
    )
    assert np.allclose(number_column(joined.rows, "nsys_per_ncu_duration"), 0.5, rtol=1e-3)


def test_steps_in_another_order_find_theirs(report: Report) -> None:
    """The batch size of the step decides, not the place in the run."""
    order = list(reversed(range(len(report))))
    joined = join(report, trace_of(report, order))
    assert [order[kernel] for _, kernel in _pairs(joined) if kernel is not None] == list(
        range(len(report))
    )


def test_kernels_of_the_warm_up_are_left_out_and_counted(report: Report) -> None:
    """They ran in no step."""
    count = len(report)
    rows = [*range(6), *range(count)]
    joined = join(report, trace_of(report, rows, without_path=range(6)))
    assert (joined.matched_count, joined.outside_count) == (count, 6)
    assert joined.rows.num_rows == count
    assert any("6 kernels of the trace are in no step" in note for note in joined.notes)


def test_what_one_run_lacks_is_a_row_and_a_note(report: Report) -> None:
    """A launch without kernel, and a kernel without launch."""
    count = len(report)
    joined = join(report, trace_of(report, range(1, count)))
    assert _pairs(joined) == [(0, None), *((at, at - 1) for at in range(1, count))]
    assert joined.rows["nsys_duration_ns"][0].as_py() is None
    assert joined.rows["matched_by"][0].as_py() is None
    assert "1 of" in joined.notes[0]
    keep = np.arange(count) > 0
    joined = join(report.filter(keep), trace_of(report))
    assert _pairs(joined)[-1] == (None, 0)
    assert any("1 kernels of the trace have no counterpart" in note for note in joined.notes)


def test_a_kernel_in_the_middle_that_one_run_lacks_shifts_no_other(report: Report) -> None:
    """Equal kernels of a step are told apart by their neighbours and operations."""
    count = len(report)
    for missing in range(0, count, 7):
        rows = [at for at in range(count) if at != missing]
        pairs = dict(_pairs(join(report, trace_of(report, rows))))
        found = {launch: kernel for launch, kernel in pairs.items() if kernel is not None}
        assert found == {launch: at for at, launch in enumerate(rows)}


def test_without_steps_in_the_trace_order_decides_and_is_said(report: Report) -> None:
    """A trace that was made without NVTX."""
    count = len(report)
    joined = join(report, trace_of(report, without_path=range(count)))
    assert _pairs(joined) == [(at, at) for at in range(count)]
    assert joined.rows["matched_by"].unique().to_pylist() == ["order"]
    assert any("without a step" in note for note in joined.notes)


def test_another_grid_is_another_launch(report: Report) -> None:
    """It is not matched, whatever its name."""
    joined = join(report, trace_of(report, grid_z=[99] * len(report)))
    assert joined.matched_count == 0


def test_gaps_latency_and_bandwidth_come_from_the_trace(report: Report) -> None:
    """Of the first kernel nothing is known before it."""
    rows = join(report, trace_of(report)).rows
    gaps = rows["nsys_gap_before_ns"].to_pylist()
    assert gaps[0] is None
    assert set(gaps[1:]) == {float(GAP_NS)}
    assert set(rows["nsys_launch_latency_ns"].to_pylist()) == {float(LATENCY_NS)}
    expected = number_column(rows, "dram_bytes") / number_column(rows, "nsys_duration_ns") * 1e9
    found = number_column(rows, "dram_bandwidth_at_nsys_duration_bytes_per_s")
    assert np.allclose(found, expected, equal_nan=True)


def test_families_add_up_the_pairs_alone(report: Report) -> None:
    """Both durations of a family are of the same launches; shares of a step make 100 %."""
    joined = join(report, trace_of(report, range(1, len(report)), factor=2.0))
    families = joined.families
    assert pc.sum(families["launch_count"]).as_py() == len(report)
    assert pc.sum(families["matched_count"]).as_py() == len(report) - 1
    assert np.allclose(number_column(families, "nsys_per_ncu_duration"), 2.0, rtol=1e-3)
    step = families.group_by(["phase", "batch_size"]).aggregate(
        [("nsys_duration_share_pct", "sum")]
    )
    assert np.allclose(number_column(step, "nsys_duration_share_pct_sum"), 100)
    assert any("times are those of nsys" in note for note in joined.notes)


def test_a_join_needs_a_trace(report: Report) -> None:
    """And says so."""
    with pytest.raises(ValueError, match="at least one trace"):
        join(report, [])
