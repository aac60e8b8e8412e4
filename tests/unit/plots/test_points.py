"""The points of a figure are the numbers of the tables, and what they leave out is told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from support import reports

from nsightlens import classify, open_report, plots
from nsightlens.errors import FilterError, NothingToPlotError
from nsightlens.plots.points_roofline import ROOFLINE_POINTS
from nsightlens.plots.points_stalls import STALLS_POINTS
from nsightlens.plots.points_sweep import (
    INTENSITY_POINTS,
    LABELS_POINTS,
    SHARES_POINTS,
    THROUGHPUT_POINTS,
)
from nsightlens.sweeps import sweep
from nsightlens.tables import schema_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from nsightlens import Report
    from nsightlens.ncurep.spec import LaunchSpec
    from nsightlens.sweeps import Sweep


def read(folder: Path, launches: Sequence[LaunchSpec]) -> Report:
    return open_report(reports.write_report(folder, launches))


def on(launch: LaunchSpec, device: str) -> LaunchSpec:
    metrics: Any = launch.metrics
    return replace(launch, metrics={**metrics, "device__attribute_display_name": device})


def without_step(launch: LaunchSpec) -> LaunchSpec:
    return replace(launch, nvtx=[])


def rows_of(points: pa.Table, **values: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = points.to_pylist()
    return [row for row in found if all(row[name] == value for name, value in values.items())]


# --- All kinds -----------------------------------------------------------------------------------


def test_every_table_of_points_has_the_columns_that_are_documented(
    bundled: Report, swept: Sweep
) -> None:
    """Names, types, units and meanings, in their order."""
    made = {
        ROOFLINE_POINTS: plots.roofline_points(bundled),
        STALLS_POINTS: plots.stalls_points(bundled),
        INTENSITY_POINTS: plots.intensity_points(swept),
        SHARES_POINTS: plots.shares_points(swept),
        THROUGHPUT_POINTS: plots.throughput_points(swept),
        LABELS_POINTS: plots.labels_points(swept),
    }
    for columns, points in made.items():
        assert points.schema.equals(schema_of(columns), check_metadata=False)
        assert points.schema.field("duration_ns").metadata[b"unit"] == b"ns"


def test_a_report_that_a_model_wrote_is_said_to_be_synthetic(bundled: Report) -> None:
    for make in (plots.roofline_points, plots.stalls_points, plots.shares_points):
        assert set(make(bundled)["origin"].to_pylist()) == {"synthetic"}


def test_a_report_that_says_nothing_of_it_was_measured(tmp_path: Path) -> None:
    report = read(tmp_path, [reports.gemm_launch()])
    for make in (plots.roofline_points, plots.stalls_points, plots.labels_points):
        assert set(make(report)["origin"].to_pylist()) == {"measured"}


def test_a_sweep_of_a_synthetic_report_can_be_said_to_be_one(swept: Sweep) -> None:
    points = plots.intensity_points(swept, origin="synthetic")
    assert set(points["origin"].to_pylist()) == {"synthetic"}


@pytest.mark.parametrize(
    "make", [plots.roofline_points, plots.stalls_points, plots.shares_points, plots.labels_points]
)
def test_of_several_gpus_one_has_to_be_chosen(tmp_path: Path, make: Any) -> None:
    """Roofs and shares of two GPUs in one figure would say nothing of either."""
    report = read(tmp_path, [reports.gemm_launch(), on(reports.attention_launch(), "NVIDIA L40S")])
    with pytest.raises(FilterError, match=r"2 GPUs: .*--device-name"):
        make(report)
    (name,) = set(make(report, device_name="l40")["device_name"].to_pylist())
    assert name.removeprefix("NVIDIA ") == "L40S"
    with pytest.raises(FilterError, match="no launch ran on a GPU named 'T4'"):
        make(report, device_name="T4")


def test_a_figure_of_whole_steps_is_of_one_phase(tmp_path: Path) -> None:
    """Of launches without a batch size the phase does not matter: they are not shown."""
    lost = without_step(reports.gemm_launch())
    report = read(tmp_path, [reports.gemm_launch(), lost])
    points = plots.shares_points(report)
    assert plots.notes_of(points) == ["Not shown: 1 launch without a batch size."]
    with pytest.raises(FilterError, match="no launch is of the phase 'prefill'"):
        plots.shares_points(report, phase="prefill")


def test_launches_without_a_phase_can_be_chosen(tmp_path: Path) -> None:
    report = read(tmp_path, [reports.gemm_launch(), without_step(reports.attention_launch())])
    assert plots.roofline_points(report).num_rows == 2
    (row,) = plots.roofline_points(report, phase="none").to_pylist()
    assert row["family"] == "attention"


@pytest.mark.parametrize(
    "make",
    [plots.intensity_points, plots.shares_points, plots.throughput_points, plots.labels_points],
)
def test_a_figure_along_the_batch_size_needs_one(tmp_path: Path, make: Any) -> None:
    report = read(tmp_path, [without_step(reports.gemm_launch())])
    with pytest.raises(NothingToPlotError, match="--batch-from or --batch-size"):
        make(report)


# --- Roofline ------------------------------------------------------------------------------------


def test_a_point_of_one_launch_is_its_row_of_rooflines(bundled: Report) -> None:
    result = classify(bundled)
    labels = result.labels.to_pylist()
    (at,) = (
        i
        for i, row in enumerate(labels)
        if row["subtype"] == "flash_splitkv" and row["batch_size"] == 64
    )
    (roof,) = (
        row
        for row in result.rooflines.to_pylist()
        if (row["launch_id"], row["level"]) == (labels[at]["launch_id"], "l2")
    )
    points = plots.roofline_points(bundled, levels=("l2",))
    (point,) = rows_of(points, subtype="flash_splitkv", batch_size=64)
    for name in (
        "flop_count", "level_bytes", "arithmetic_intensity_flop_per_byte", "achieved_flop_per_s",
        "peak_flop_per_s", "peak_bytes_per_s", "ridge_point_flop_per_byte", "fraction_of_roof",
    ):  # fmt: skip
        assert point[name] == pytest.approx(roof[name]), name
    assert point["sm_clock_hz"] == pytest.approx(1.59e9)
    assert point["launch_count"] == 1


def test_the_launches_of_a_family_add_up(bundled: Report) -> None:
    """Work, bytes and time; the roofs are those of the launches."""
    points = plots.roofline_points(bundled)
    (point,) = rows_of(points, family="gemm", batch_size=8)
    labels = classify(bundled, by="family").labels
    (group,) = rows_of(labels, family="gemm", batch_size=8)
    assert point["launch_count"] == group["launch_count"] == 4
    for name in (
        "duration_ns", "arithmetic_intensity_flop_per_byte", "ridge_point_flop_per_byte",
    ):  # fmt: skip
        assert point[name] == pytest.approx(group[name]), name


def test_a_roofline_is_of_the_data_type_with_the_most_time_or_of_one_by_name(
    bundled: Report,
) -> None:
    points = plots.roofline_points(bundled)
    assert set(points["resource"].to_pylist()) == {"tensor_fp16"}
    assert set(points["family"].to_pylist()) == {"attention", "gemm"}
    of_cuda_cores = plots.roofline_points(bundled, resource="fp32")
    assert "gemm" not in of_cuda_cores["family"].to_pylist()
    with pytest.raises(FilterError, match=r"fp64 most\. There is: tensor_fp16, fp32"):
        plots.roofline_points(bundled, resource="fp64")


def test_each_launch_of_a_roofline_is_shown_or_counted(bundled: Report) -> None:
    points = plots.roofline_points(bundled)
    (note,) = plots.notes_of(points)
    assert note == (
        "Not shown: 20 launches without floating-point operations, 43 launches of other data "
        "types (fp32)."
    )
    assert pc.sum(points["launch_count"]).as_py() + 20 + 43 == len(bundled)


def test_launches_without_counters_are_counted(tmp_path: Path) -> None:
    points = plots.roofline_points(read(tmp_path, reports.everything()))
    assert plots.notes_of(points) == ["Not shown: 3 launches without the counters needed."]
    assert points.num_rows == 2


def test_points_of_kernels_have_a_row_per_kernel_and_batch_size(bundled: Report) -> None:
    by_kernel = plots.roofline_points(bundled, by="kernel")
    assert by_kernel["kernel"].null_count == 0
    assert pc.sum(by_kernel["duration_ns"]).as_py() == pytest.approx(
        pc.sum(plots.roofline_points(bundled)["duration_ns"]).as_py()
    )


def test_a_hierarchical_roofline_has_every_level(bundled: Report) -> None:
    points = plots.roofline_points(bundled, levels=("dram", "l2", "l1"))
    counts = {level: len(rows_of(points, level=level)) for level in ("dram", "l2", "l1")}
    assert counts == {"dram": 20, "l2": 20, "l1": 20}


def test_labels_that_were_made_with_other_peaks_give_other_roofs(bundled: Report) -> None:
    result = classify(bundled, device="H200 SXM 141GB")
    points = plots.roofline_points(bundled, result)
    plain = plots.roofline_points(bundled)
    assert points["peak_bytes_per_s"][0].as_py() > plain["peak_bytes_per_s"][0].as_py()


def test_of_labels_alone_the_clock_is_not_known(bundled: Report) -> None:
    points = plots.roofline_points(classify(bundled))
    assert points["sm_clock_hz"].null_count == points.num_rows == 20


def test_a_roofline_needs_labels_of_launches(bundled: Report) -> None:
    with pytest.raises(ValueError, match="by='launch'"):
        plots.roofline_points(classify(bundled, by="family"))


def test_a_report_without_counters_has_no_roofline(tmp_path: Path) -> None:
    report = read(tmp_path, [reports.launch_only()])
    with pytest.raises(NothingToPlotError, match="operations, bytes and a duration"):
        plots.roofline_points(report)


def test_there_is_no_other_memory_level(bundled: Report) -> None:
    with pytest.raises(FilterError, match="no memory level 'l3'"):
        plots.roofline_points(bundled, levels=("l3",))


# --- Along the batch size ------------------------------------------------------------------------


def test_intensities_are_those_of_the_sweep(swept: Sweep) -> None:
    points = plots.intensity_points(swept)
    names = ["arithmetic_intensity_flop_per_byte", "ridge_point_flop_per_byte"]
    for name in (*names, "useful_arithmetic_intensity_flop_per_byte"):
        for row in rows_of(swept.rows, family="gemm"):
            (point,) = rows_of(points, family="gemm", batch_size=row["batch_size"])
            assert point[name] == row[name]
    (trend,) = rows_of(swept.trends, family="gemm")
    (point,) = rows_of(points, family="gemm", batch_size=1)
    for name in ("intensity_slope", "intensity_slope_stderr", "useful_intensity_slope"):
        assert point[name] == trend[name]


def test_points_are_in_the_order_of_the_batch_size(swept: Sweep) -> None:
    """Whatever the order of the reports was."""
    backwards = replace(swept, steps=swept.steps.take(pa.array(range(len(swept.steps)))[::-1]))
    batches = plots.throughput_points(backwards)["batch_size"].to_pylist()
    assert batches == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]


def test_shares_are_those_of_the_steps_and_fill_the_time(swept: Sweep) -> None:
    points = plots.shares_points(swept)
    for step in swept.steps.to_pylist():
        of_step = rows_of(points, batch_size=step["batch_size"])
        shares = {row["component"]: row["share_pct"] for row in of_step}
        assert shares == {
            name: step[f"{name}_share_pct"] for name in ("attention", "matmul", "other")
        }
        assert sum(shares.values()) == pytest.approx(100)


def test_throughput_is_that_of_the_steps(swept: Sweep) -> None:
    points = plots.throughput_points(swept)
    for name in (column.name for column in THROUGHPUT_POINTS[2:]):
        assert points[name].to_pylist() == swept.steps[name].to_pylist(), name


def test_labels_are_those_of_the_sweep(swept: Sweep) -> None:
    points = plots.labels_points(swept)
    assert points.num_rows == swept.rows.num_rows
    for row in rows_of(swept.rows, family="gemm"):
        (point,) = rows_of(points, family="gemm", batch_size=row["batch_size"])
        for name in ("bound", "regime", "limiter", "limiter_fraction", "confidence"):
            assert point[name] == row[name]


def test_a_sweep_without_operations_has_no_intensity(tmp_path: Path) -> None:
    basic = replace(reports.basic_set_launch(), nvtx=reports.step_state(4))
    report = read(tmp_path, [basic])
    with pytest.raises(NothingToPlotError, match="no row has an arithmetic intensity"):
        plots.intensity_points(report)
    assert rows_of(plots.labels_points(report))[0]["bound"] == "memory"


def test_a_sweep_of_launches_without_metrics_has_no_throughput(tmp_path: Path) -> None:
    report = read(tmp_path, [replace(reports.launch_only(), nvtx=reports.step_state(4))])
    with pytest.raises(NothingToPlotError, match="neither DRAM throughput nor occupancy"):
        plots.throughput_points(report)
    with pytest.raises(NothingToPlotError, match="no batch size has a known duration"):
        plots.shares_points(report)
    (label,) = plots.labels_points(report).to_pylist()
    assert label["bound"] == "unknown"


def test_an_empty_report_has_nothing_to_show(tmp_path: Path) -> None:
    report = open_report(reports.write_empty_report(tmp_path))
    with pytest.raises(NothingToPlotError, match="no launch"):
        plots.roofline_points(report)
    with pytest.raises(NothingToPlotError, match="no launch"):
        plots.stalls_points(report)
    with pytest.raises(NothingToPlotError, match="no launch"):
        plots.labels_points(sweep(report))


# --- Stalls --------------------------------------------------------------------------------------


def test_the_stalls_of_one_launch_are_its_rows_of_stalls(tmp_path: Path) -> None:
    """7.5, 1, 0.5 and 1 of 10 cycles per instruction."""
    points = plots.stalls_points(read(tmp_path, [reports.attention_launch()]))
    shares = {r["stall_reason"]: r["share_of_warp_latency_pct"] for r in points.to_pylist()}
    assert shares["long_scoreboard"] == pytest.approx(75)
    assert (shares["wait"], shares["barrier"], shares["selected"]) == pytest.approx((10, 5, 10))


def test_the_stalls_of_several_launches_are_weighted_by_time(tmp_path: Path) -> None:
    short, long = reports.attention_launch(), reports.attention_launch()
    times = {"gpu__time_duration.sum": 3e5, **reports.stall_metrics({"wait": 1.0})}
    metrics: Any = long.metrics
    long = replace(long, metrics={**metrics, **times})
    report = read(tmp_path, [short, long])
    first = float(report.launches["duration_ns"][0].as_py())
    points = plots.stalls_points(report)
    (row,) = rows_of(points, stall_reason="long_scoreboard")
    assert row["share_of_warp_latency_pct"] == pytest.approx(75 * first / (first + 3e5))
    assert row["launch_count"] == 2


def test_launches_without_stall_reasons_are_counted(tmp_path: Path) -> None:
    points = plots.stalls_points(read(tmp_path, reports.everything()))
    assert plots.notes_of(points) == ["Not shown: 3 launches without stall reasons."]
    with pytest.raises(NothingToPlotError, match="WarpStateStats"):
        plots.stalls_points(read(tmp_path / "..", [reports.launch_only()]))


def test_stalls_can_be_shown_by_family_kernel_or_batch_size(bundled: Report) -> None:
    def groups(by: Any) -> set[tuple[Any, ...]]:
        rows = plots.stalls_points(bundled, by=by).to_pylist()
        return {(r["family"], r["subtype"], r["kernel"], r["batch_size"]) for r in rows}

    assert len(groups("family")) == 6
    assert len(groups("kernel")) > 6
    assert len(groups("batch")) == 53
