"""The bundled sweep: labels, slopes and crossovers, against the model that wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nsightlens import classify, open_report, sweep
from nsightlens.example import path
from nsightlens.example.layer import OPT_1_3B, decode_layer
from nsightlens.sweeps.crossover import interpolation_tolerance

if TYPE_CHECKING:
    from nsightlens.report import Report
    from nsightlens.sweeps import Sweep

BATCHES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
LABEL = (
    "bound", "roofline_bound", "regime", "limiter", "limiter_fraction", "bound_ratio", "evidence",
    "confidence", "reason", "peak_source", "clock_dependent", "top_stall", "launch_count",
    "failed_launch_count", "duration_ns", "arithmetic_intensity_flop_per_byte",
    "ridge_point_flop_per_byte", "executed_per_useful_flop", "dram_per_algorithmic_byte",
    "dram_throughput_pct", "sm_throughput_pct", "achieved_occupancy_pct", "stalled_for_data_pct",
    "batch_size", "phase", "family", "subtype",
)  # fmt: skip


@pytest.fixture(scope="module")
def report() -> Report:
    """Return the bundled report."""
    return open_report(path())


@pytest.fixture(scope="module")
def bundled(report: Report) -> Sweep:
    """Return its sweep."""
    return sweep(report)


def trend(result: Sweep, family: str, subtype: str) -> dict[str, Any]:
    """Return the trend of a family."""
    (row,) = [row for row in result.trends.to_pylist()
              if (row["family"], row["subtype"]) == (family, subtype)]  # fmt: skip
    return dict(row)


@pytest.mark.parametrize("by", ["family", "kernel"])
def test_rows_are_labelled_as_classify_labels_groups(
    report: Report, bundled: Sweep, by: Any
) -> None:
    """Every number that both have is the same, to the last digit, and so is the reason."""
    labels = classify(report, by=by).labels.to_pylist()
    rows = (bundled if by == "family" else sweep(report, by=by)).rows.to_pylist()
    names = (*LABEL, "kernel") if by == "kernel" else LABEL

    def of_key(some: list[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
        return {
            tuple(row[n] for n in ("family", "subtype", "kernel", "batch_size")): {
                name: row[name] for name in names
            }
            for row in some
        }

    assert of_key(rows) == of_key(labels)


def test_attention_stays_where_it_is_and_matmul_grows_with_the_batch(bundled: Sweep) -> None:
    """Slopes of 0 and 1 within the margin, two standard errors included."""
    attention, gemm = trend(bundled, "attention", "flash_splitkv"), trend(bundled, "gemm", "dense")
    assert attention["useful_intensity_growth"] == attention["intensity_growth"] == "flat"
    assert attention["useful_intensity_slope"] == pytest.approx(0.0, abs=0.001)
    assert gemm["useful_intensity_growth"] == "proportional"
    slope, error = (gemm[f"useful_intensity_slope{end}"] for end in ("", "_stderr"))
    assert (slope, error) == (pytest.approx(0.964, abs=0.001), pytest.approx(0.0091, abs=1e-4))
    assert abs(slope - 1.0) + 2.0 * error < 0.1
    assert gemm["useful_intensity_slope_max"] == pytest.approx(1.0, abs=0.001)


def test_padding_flattens_the_executed_intensity_of_small_batches(bundled: Sweep) -> None:
    """Tiles have 8 rows: up to batch 8 the executed intensity is that of 8."""
    gemm = trend(bundled, "gemm", "dense")
    assert gemm["intensity_growth"] == "below_proportion"
    assert gemm["intensity_slope_min"] == pytest.approx(0.0, abs=0.01)
    rows = {r["batch_size"]: r for r in bundled.rows.to_pylist() if r["family"] == "gemm"}
    assert [rows[b]["expectation"] for b in BATCHES] == ["beyond"] * 3 + ["within"] * 7
    assert rows[2]["expectation_reason"] == (
        "4 times the operations that the shapes need are executed, as a tile of 8 rows pads the"
        " batch"
    )


def crossing_by_shapes(ridge: float) -> float:
    """Solve the intensity of the products of a layer for the ridge point."""
    gemms = [one for one in decode_layer(1, 500) if one.family == "gemm"]
    assert len(gemms) == 4
    d = OPT_1_3B.model_dim
    shapes = [(d, 3 * d), (d, d), (d, 4 * d), (4 * d, d)]
    weights = sum(2.0 * (k * n + n) for k, n in shapes)
    per_sequence = sum(2.0 * (k + n) for k, n in shapes)
    flop = sum(2.0 * k * n for k, n in shapes)
    return weights / (flop / ridge - per_sequence)


def test_the_analytic_crossover_is_the_one_of_the_shapes(bundled: Sweep) -> None:
    """Solved from K and N of every product, for the ridge of the report."""
    gemm = trend(bundled, "gemm", "dense")
    rows = [r for r in bundled.rows.to_pylist() if r["family"] == "gemm"]
    solved = crossing_by_shapes(rows[-1]["ridge_point_flop_per_byte"])
    assert gemm["analytic_flip_batch_size"] == pytest.approx(solved, rel=1e-6)


def test_measured_interpolated_and_analytic_crossover_agree(bundled: Sweep) -> None:
    """The interpolated one is too large, by less than the tolerance of doubling batch sizes."""
    gemm = trend(bundled, "gemm", "dense")
    assert (gemm["flip"], gemm["flip_batch_size"]) == ("memory_to_compute", 512)
    analytic = gemm["analytic_flip_batch_size"]
    for name in ("flip_batch_size_interpolated", "useful_flip_batch_size"):
        assert 1.0 <= gemm[name] / analytic <= interpolation_tolerance(2.0)
    assert 256 < analytic < 512


def test_attention_never_crosses(bundled: Sweep) -> None:
    """Neither as measured nor by its shapes."""
    attention = trend(bundled, "attention", "flash_splitkv")
    assert attention["flip"] == "none"
    assert attention["flip_batch_size"] is None
    assert attention["analytic_flip_batch_size"] is None
    assert attention["dram_saturated_batch_size"] == 32


def test_rows_come_by_family_and_ascending_batch_size(bundled: Sweep) -> None:
    """Attention first, then matmul; whatever the order in the file."""
    rows = bundled.rows.to_pylist()
    assert [r["batch_size"] for r in rows if r["family"] == "gemm"] == BATCHES
    order = list(dict.fromkeys(r["family"] for r in rows))
    assert order == ["attention", "gemm", "norm", "kv_cache", "elementwise"]


def test_shares_are_of_the_same_step(bundled: Sweep) -> None:
    """The rows of one batch size add up to 100 %."""
    for batch in BATCHES:
        mine = [r for r in bundled.rows.to_pylist() if r["batch_size"] == batch]
        assert sum(r["duration_share_pct"] for r in mine) == pytest.approx(100.0)


def test_reads_and_writes_are_shares_of_peak_bandwidth(bundled: Sweep) -> None:
    """Together they are the bytes of a row over its duration and the peak."""
    for row in bundled.rows.to_pylist():
        peak = row["dram_bytes"] / (row["duration_ns"] * 1e-9) / row["peak_bytes_per_s"]
        assert row["dram_read_pct"] + row["dram_write_pct"] == pytest.approx(100.0 * peak)


def test_a_row_says_where_its_numbers_come_from(bundled: Sweep) -> None:
    """Annotations of our own, in one report."""
    for row in bundled.rows.to_pylist():
        assert (row["batch_source"], row["report_count"]) == ("annotation", 1)
        assert (row["useful_source"], row["context_length"]) == ("annotation", 500)
        assert row["origin"] == "measured"
    assert bundled.notes == ()


def test_steps_show_the_view_of_the_study(bundled: Sweep) -> None:
    """Shares, intensities of both, bandwidth, warps in flight, one row per batch size."""
    steps = bundled.steps.to_pylist()
    assert [step["batch_size"] for step in steps] == BATCHES
    first, last = steps[0], steps[-1]
    assert (first["launch_count"], last["launch_count"]) == (12, 11)
    assert first["matmul_share_pct"] == pytest.approx(60.8, abs=0.1)
    assert last["attention_share_pct"] == pytest.approx(84.3, abs=0.1)
    assert last["useful_attention_intensity_flop_per_byte"] == pytest.approx(1.0, abs=0.003)
    assert last["useful_matmul_intensity_flop_per_byte"] == pytest.approx(384, abs=1)
    assert last["attention_dram_throughput_pct"] == pytest.approx(91.4, abs=0.1)
    assert (last["bound"], last["regime"]) == ("memory", "saturated")
    assert all(0 < step["active_warps_per_scheduler"] < 16 for step in steps)


def test_a_sweep_says_what_it_is_in_a_line(bundled: Sweep) -> None:
    """With the number of batch sizes and the explanation."""
    line = "<Sweep of 10 batch sizes by family: bandwidth_saturated_attention>"
    assert (repr(bundled), len(bundled)) == (line, bundled.rows.num_rows)


def test_tables_of_a_sweep_become_data_frames(bundled: Sweep) -> None:
    """By their name; another name is an error that lists them."""
    pytest.importorskip("pandas")
    assert len(bundled.to_pandas("steps")) == 10
    with pytest.raises(ValueError, match="rows, trends, steps"):
        bundled.to_pandas("row")  # type: ignore[arg-type]


def test_whole_steps_have_a_bound_at_every_batch_size() -> None:
    """Where all was counted, kernels of both sides in one step leave nothing open."""
    steps = sweep(open_report(path("short_context"))).steps.to_pylist()
    assert [step["bound"] for step in steps] == ["memory"] * 9 + ["compute"] * 2
