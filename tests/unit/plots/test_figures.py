"""What is drawn is what the points say, by the artists' data."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from support import plotted, reports

from nsightlens import classify, open_report, plots
from nsightlens.devices.columns import number_column
from nsightlens.errors import MissingExtraError
from nsightlens.plots.kinds import KINDS
from nsightlens.plots.theme import BOUND_COLOURS

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from nsightlens import Report
    from nsightlens.sweeps import Sweep


def note(ax: Axes) -> str:
    (artist,) = plotted.found_by_gid(ax, "nsightlens-notes")
    return str(artist.get_text()).replace("\n", " ")


def lines(ax: Axes, gid: str) -> list[np.ndarray]:
    return [np.column_stack(line.get_data()) for line in plotted.found_by_gid(ax, gid)]


def legend(ax: Axes) -> list[str]:
    found = ax.get_legend()
    assert found is not None
    return [text.get_text().replace("\n", " ") for text in found.get_texts()]


def labels(ax: Axes) -> list[str]:
    return [text.get_text() for text in plotted.found_by_gid(ax, "nsightlens-label")]


# --- Roofline ------------------------------------------------------------------------------------


def test_the_markers_of_a_roofline_lie_where_the_points_say(bundled: Report) -> None:
    points = plots.roofline_points(bundled)
    ax = plots.roofline(points)
    drawn = np.concatenate([a.get_offsets() for a in plotted.found_by_gid(ax, "nsightlens-points")])
    names = ("arithmetic_intensity_flop_per_byte", "achieved_flop_per_s")
    wanted = np.column_stack([number_column(points, name) for name in names])
    in_order = [array[np.lexsort(array.T)].tolist() for array in (drawn, wanted)]
    assert in_order[0] == pytest.approx(np.array(in_order[1]))
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_the_area_of_a_marker_is_its_time(bundled: Report) -> None:
    """Down to the smallest that can be seen."""
    points = plots.roofline_points(bundled)
    ax = plots.roofline(points)
    attention, gemm = plotted.found_by_gid(ax, "nsightlens-points")
    area = {
        "attention": dict(zip(attention.get_offsets()[:, 1], attention.get_sizes(), strict=True)),
        "gemm": dict(zip(gemm.get_offsets()[:, 1], gemm.get_sizes(), strict=True)),
    }
    largest = max(row["duration_ns"] for row in points.to_pylist())
    full = max(max(sizes.values()) for sizes in area.values())
    least = min(min(sizes.values()) for sizes in area.values())
    for row in points.to_pylist():
        drawn = area[row["family"]][row["achieved_flop_per_s"]]
        assert drawn == pytest.approx(max(least, full * row["duration_ns"] / largest))
    assert "time, the largest 686 µs" in note(ax)


def test_a_path_goes_from_the_smallest_batch_size_to_the_largest(bundled: Report) -> None:
    points = plots.roofline_points(bundled)
    ax = plots.roofline(points)
    rows = sorted(
        (row for row in points.to_pylist() if row["family"] == "gemm"),
        key=lambda row: row["batch_size"],
    )
    wanted = [
        (row["arithmetic_intensity_flop_per_byte"], row["achieved_flop_per_s"]) for row in rows
    ]
    _, path = lines(ax, "nsightlens-path")
    assert path.tolist() == pytest.approx(np.array(wanted))
    assert labels(ax).count("batch 1") == labels(ax).count("batch 512") == 2


def test_the_roofs_are_the_peaks_and_meet_at_the_ridge_point(bundled: Report) -> None:
    """Two flat ones: mma.sync reaches two thirds of wgmma on this GPU."""
    ax = plots.roofline(bundled)
    flat = [line for line in lines(ax, "nsightlens-roof") if line[0, 1] == line[1, 1]]
    (slanted,) = (line for line in lines(ax, "nsightlens-roof") if line[0, 1] != line[1, 1])
    assert sorted(line[0, 1] for line in flat) == pytest.approx([5.7311232e14, 8.5966848e14])
    assert slanted[:, 1] / slanted[:, 0] == pytest.approx([3.35232e12] * 2)
    marks = [line for line in lines(ax, "nsightlens-ridge") if len(line) == 1]
    assert sorted(mark[0, 0] for mark in marks) == pytest.approx([170.96, 256.44], rel=1e-4)
    assert {"DRAM 3.35 TB/s", "tensor fp16 860 TFLOP/s", "ridge 256 FLOP/B"} <= set(labels(ax))


def test_the_title_names_the_gpu_and_its_clock(bundled: Report) -> None:
    assert plots.roofline(bundled).get_title("left") == "H100 80GB HBM3, decode, SM clock 1.59 GHz"
    assert plots.roofline(classify(bundled)).get_title("left") == "H100 80GB HBM3, decode"
    assert plots.roofline(bundled, title="mine").get_title("left") == "mine"
    assert plots.roofline(bundled, title="").get_title("left") == ""


def test_a_hierarchical_roofline_has_three_slanted_roofs(bundled: Report) -> None:
    ax = plots.roofline(bundled, hierarchical=True)
    slopes = {
        float(f"{line[0, 1] / line[0, 0]:.3e}")
        for line in lines(ax, "nsightlens-roof")
        if line[0, 1] != line[1, 1]
    }
    assert slopes == {3.352e12, 8.704e12, 2.686e13}
    assert ax.get_xlabel() == "arithmetic intensity, DRAM, L2, L1 [FLOP/B]"
    assert "bytes at L2" in legend(ax)


def test_kernels_are_numbered_and_each_number_is_explained(bundled: Report) -> None:
    """The largest first, without a gap."""
    ax = plots.roofline(bundled, by="kernel")
    numbers = sorted(int(text) for text in labels(ax) if text.isdigit())
    assert numbers == list(range(1, len(numbers) + 1))
    assert [entry.split()[0] for entry in legend(ax)] == [str(number) for number in numbers]
    assert "flash_fwd_splitk" in legend(ax)[0]


def test_a_peak_that_is_not_known_has_no_roof() -> None:
    """The points are drawn all the same."""
    table = plotted.roofline_table(3)
    gone = ("peak_flop_per_s", "peak_bytes_per_s", "ridge_point_flop_per_byte")
    for name in gone:
        i = table.schema.get_field_index(name)
        table = table.set_column(i, table.field(name), pa.nulls(table.num_rows, pa.float64()))
    ax = plots.roofline(table)
    assert lines(ax, "nsightlens-roof") == []
    assert len(plotted.found_by_gid(ax, "nsightlens-points")) == 3


# --- Along the batch size ------------------------------------------------------------------------


def test_executed_and_useful_intensity_are_two_lines(swept: Sweep) -> None:
    points = plots.intensity_points(swept)
    ax = plots.intensity(points)
    gemm = {row["batch_size"]: row for row in points.to_pylist() if row["family"] == "gemm"}
    for gid, name in (
        ("nsightlens-executed", "arithmetic_intensity_flop_per_byte"),
        ("nsightlens-useful", "useful_arithmetic_intensity_flop_per_byte"),
    ):
        line = lines(ax, gid)[1]
        assert line.tolist() == pytest.approx(
            np.array([(batch, row[name]) for batch, row in gemm.items()])
        )
    solid, dashed = (
        plotted.found_by_gid(ax, f"nsightlens-{name}")[0] for name in ("executed", "useful")
    )
    assert solid.get_linestyle() == "-"
    assert dashed.get_linestyle() != "-"


def test_the_slope_and_the_ridge_points_are_written(swept: Sweep) -> None:
    ax = plots.intensity(swept)
    assert "attention/flash_splitkv slope 0.00 ± 0.00" in legend(ax)
    (gemm,) = (text for text in legend(ax) if text.startswith("gemm"))
    trend = next(row for row in swept.trends.to_pylist() if row["family"] == "gemm")
    assert f"slope {trend['intensity_slope']:.2f}" in gemm
    ridges = sorted(line[0, 1] for line in lines(ax, "nsightlens-ridge"))
    assert ridges == pytest.approx([16.03, 170.96, 256.44], rel=1e-3)


def test_without_executed_operations_the_useful_lines_and_slopes_are_shown() -> None:
    """As of a prediction, which executes nothing."""
    table = plotted.intensity_table(2)
    for name in ("arithmetic_intensity_flop_per_byte", "intensity_slope"):
        i = table.schema.get_field_index(name)
        table = table.set_column(i, table.field(name), pa.nulls(table.num_rows, pa.float64()))
    ax = plots.intensity(table)
    assert all(len(line) == 0 for line in lines(ax, "nsightlens-executed"))
    assert all(len(line) == 6 for line in lines(ax, "nsightlens-useful"))
    assert legend(ax)[0].endswith("slope 0.50 ± 0.00")
    assert legend(ax)[-1] == "useful"
    assert "executed" not in [*legend(ax), note(ax)]


def test_points_without_an_executed_intensity_are_counted() -> None:
    table = plotted.intensity_table(1)
    name = "arithmetic_intensity_flop_per_byte"
    values = [None, *table[name].to_pylist()[1:]]
    i = table.schema.get_field_index(name)
    ax = plots.intensity(table.set_column(i, table.field(name), pa.array(values)))
    assert "1 point of the lines shown has no executed intensity." in note(ax)


def test_the_bars_of_shares_are_the_shares(swept: Sweep) -> None:
    ax = plots.shares(swept)
    for name in ("attention", "matmul", "other"):
        bars = plotted.found_by_gid(ax, f"nsightlens-{name}")
        wanted = swept.steps[f"{name}_share_pct"].to_pylist()
        assert [bar.get_height() for bar in bars] == pytest.approx(wanted)
    tops = [bar.get_y() + bar.get_height() for bar in bars]
    assert tops == pytest.approx([100.0] * len(tops))
    texts = plotted.found_by_gid(ax, "nsightlens-bar-text")
    assert {text.get_text() for text in texts} >= {"84", "14"}


def test_a_batch_size_without_a_known_time_has_no_bar_and_is_counted() -> None:
    table = plotted.shares_table([1, 2, 4])
    values = [None if batch == 2 else value for batch, value in zip(
        table["batch_size"].to_pylist(), table["share_pct"].to_pylist(), strict=True)]  # fmt: skip
    i = table.schema.get_field_index("share_pct")
    ax = plots.shares(table.set_column(i, table.field("share_pct"), pa.array(values)))
    assert "Without a known time: 1 batch size." in note(ax)
    bars = plotted.found_by_gid(ax, "nsightlens-attention")
    assert [bar.get_height() > 0 for bar in bars] == [True, False, True]


def test_throughput_is_stacked_and_occupancy_a_line(swept: Sweep) -> None:
    ax = plots.throughput(swept)
    read = plotted.found_by_gid(ax, "nsightlens-dram_read_pct")
    written = plotted.found_by_gid(ax, "nsightlens-dram_write_pct")
    assert [bar.get_height() for bar in read] == pytest.approx(
        swept.steps["dram_read_pct"].to_pylist()
    )
    assert [bar.get_y() for bar in written] == pytest.approx([bar.get_height() for bar in read])
    (occupancy,) = lines(ax, "nsightlens-achieved_occupancy_pct")
    assert occupancy[:, 1] == pytest.approx(swept.steps["achieved_occupancy_pct"].to_pylist())
    assert ax.get_ylim() == (0, 100)


def test_a_quantity_that_is_missing_is_left_out_and_told() -> None:
    ax = plots.throughput(plotted.throughput_table([1, 2, 4]))
    (occupancy,) = lines(ax, "nsightlens-achieved_occupancy_pct")
    assert occupancy[:, 0].tolist() == [1, 2]
    assert "Not known: achieved occupancy at 1 batch size." in note(ax)
    assert note(ax).startswith("Analytic data: computed from a model, not measured.")


def test_a_cell_has_the_colour_of_its_bound(swept: Sweep) -> None:
    """Full where it is saturated; with the letter of the bound, for print in grey."""
    points = plots.labels_points(swept)
    ax = plots.labels(points)
    cells = plotted.found_by_gid(ax, "nsightlens-cell")
    assert len(cells) == points.num_rows
    row = [text.get_text() for text in ax.get_yticklabels()].index("gemm/dense")
    gemm = {round(cell.get_x() + 0.5): cell for cell in cells if round(cell.get_y() + 0.5) == row}
    assert to_hex(gemm[0].get_facecolor()) == BOUND_COLOURS["memory"]
    assert to_hex(gemm[9].get_facecolor()) == BOUND_COLOURS["compute"]
    balanced, saturated = gemm[8], gemm[0]
    assert balanced.get_hatch() != saturated.get_hatch()
    texts = {text.get_text() for text in plotted.found_by_gid(ax, "nsightlens-cell-text")}
    assert "C\n61" in texts
    assert "the bound, and the limiter's percentage of peak" in note(ax)


def test_an_unknown_label_is_shown_as_such() -> None:
    ax = plots.labels(plotted.labels_table(1, [1, 2, 4]))
    texts = [text.get_text() for text in plotted.found_by_gid(ax, "nsightlens-cell-text")]
    assert [text.split("\n")[0] for text in texts] == ["M", "C", "?"]
    assert "? unknown" in legend(ax)


def test_labels_without_numbers_have_letters_alone() -> None:
    table = plotted.labels_table(1, [1, 2, 4])
    i = table.schema.get_field_index("limiter_fraction")
    ax = plots.labels(table.set_column(i, table.field(i), pa.nulls(3, pa.float64())))
    texts = [text.get_text() for text in plotted.found_by_gid(ax, "nsightlens-cell-text")]
    assert texts == ["M", "C", "?"]
    assert "percentage" not in note(ax)


# --- Stalls --------------------------------------------------------------------------------------


def test_the_bars_of_stalls_add_up_to_the_shares(bundled: Report) -> None:
    points = plots.stalls_points(bundled)
    ax = plots.stalls(points)
    names = [text.get_text() for text in ax.get_yticklabels()]
    gemm = names.index("gemm/dense")
    shares = {
        row["stall_reason"]: row["share_of_warp_latency_pct"]
        for row in points.to_pylist()
        if row["family"] == "gemm"
    }
    for reason in ("long_scoreboard", "gmma", "selected"):
        bar = plotted.found_by_gid(ax, f"nsightlens-{reason}")[gemm]
        assert bar.get_width() == pytest.approx(shares[reason])
    widths = [bar.get_width() for bar in ax.patches if round(bar.get_y() + 0.39) == gemm]  # type: ignore[attr-defined]
    assert sum(widths) == pytest.approx(sum(shares.values()))
    assert legend(ax)[0] == "long_scoreboard"
    assert legend(ax)[-2:] == ["other reasons", "selected"]


def test_the_family_with_the_most_time_is_on_top(bundled: Report) -> None:
    ax = plots.stalls(bundled)
    assert ax.get_yticklabels()[0].get_text() == "attention/flash_splitkv"
    assert ax.get_ylim()[0] > ax.get_ylim()[1]


def test_stalls_by_batch_size_name_it(bundled: Report) -> None:
    points = plots.stalls_points(bundled, by="batch")
    names = [text.get_text() for text in plots.stalls(points).get_yticklabels()]
    assert "gemm/dense, batch 512" in names


# --- All kinds -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_figure_says_that_its_data_are_synthetic(kind: str, bundled: Report) -> None:
    ax = getattr(plots, kind)(bundled)
    assert note(ax).startswith("Synthetic data: written by a model, not measured.")


def test_a_figure_of_measured_data_says_nothing_of_it(tmp_path: Path) -> None:
    report = open_report(reports.write_report(tmp_path, [reports.gemm_launch()]))
    assert "ynthetic" not in note(plots.roofline(report))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_table_that_holds_no_such_points_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match=f"as {kind}_points makes it"):
        getattr(plots, kind)(pa.table({"a": [1]}))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_axes_that_are_given_are_drawn_on_and_stay_where_they_are(
    kind: str, bundled: Report
) -> None:
    """Beside other axes; neither pyplot nor the settings of matplotlib take part."""
    before = dict(mpl.rcParams)
    figure = Figure(figsize=(10, 4))
    left, right = figure.subplots(1, 2)
    place = left.get_position().bounds
    assert getattr(plots, kind)(bundled, left) is left
    assert left.get_position().bounds == place
    assert not right.has_data()
    assert dict(mpl.rcParams) == before


def test_nothing_of_pyplot_is_loaded() -> None:
    """It would choose a window system, and keep figures alive."""
    code = (
        "import sys; from nsightlens import open_report, plots, example;"
        "plots.roofline(open_report(example.path())); print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_names_are_drawn_as_they_are_and_without_a_warning() -> None:
    """A "_" in front hides an entry of a legend, "$" is mathematics, and fonts lack signs."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax = plots.stalls(plotted.stalls_table(6))
        plotted.text_boxes(ax)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert "_attn_fwd_0" in names
    assert "???_kernel_3" in names
    assert "a?b_5" in names
    assert any("$_0" in name for name in names)
    assert not any(text.get_parse_math() for text in ax.get_yticklabels())
    numbered = plots.roofline(plotted.roofline_table(6))
    assert any("_attn_fwd_0" in text for text in legend(numbered))


def test_text_has_the_colour_of_the_surroundings() -> None:
    """On a dark ground roofs and labels are light."""
    with mpl.rc_context({"axes.labelcolor": "white", "axes.facecolor": "black"}):
        ax = plots.roofline(plotted.roofline_table(2))
    (roof, *_) = plotted.found_by_gid(ax, "nsightlens-roof")
    assert roof.get_color() == "white"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_without_matplotlib_points_are_made_and_a_figure_is_an_install_line(
    kind: str, bundled: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    points: Any = getattr(plots, f"{kind}_points")(bundled)
    assert points.num_rows
    with pytest.raises(MissingExtraError, match=r'pip install "nsightlens\[plots\]"'):
        getattr(plots, kind)(points)
