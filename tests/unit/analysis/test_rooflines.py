"""Rooflines at three levels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.rooflines import (
    DRAM_PEAK,
    DURATION_NS,
    FP32_PEAK,
    TENSOR_PEAK,
    dram_bytes,
    flop_counts,
    launch,
    parts,
    tensor_counts,
)
from support.stores import FAILED, report_of

import nsightlens.example
from nsightlens.analysis import classify
from nsightlens.readers import open_report

SECONDS = DURATION_NS * 1e-9
FP32 = flop_counts(fp32=0.2 * FP32_PEAK * SECONDS) | tensor_counts()
L1_PEAK = 132 * 128 * 1.5e9
L2_CYCLES = {
    "lts__lts2xbar_cycles_active.sum.per_second": 1e11,
    "lts__lts2xbar_cycles_active.sum.peak_sustained": 160,
    "lts__cycles_elapsed.avg.per_second": 1.6e9,
}
L2_LOOKUPS = {
    "lts__t_sectors.sum": 2e8,
    "lts__t_sectors.avg.pct_of_peak_sustained_elapsed": 50.0,
}
L1_LOOKUPS = {"l1tex__t_bytes.sum": 0.5 * L1_PEAK * SECONDS}
L1_CYCLES = {
    "l1tex__lsu_writeback_active_mem_lgds.sum": 0.7 * L1_PEAK / 128 * SECONDS,
    "l1tex__lsu_writeback_active_mem_lgds.sum.pct_of_peak_sustained_elapsed": 70.0,
}


def rows(*groups: Any) -> dict[str, dict[str, Any]]:
    """Return the rows of one launch by level."""
    table = classify(report_of(launch(*groups))).rooflines.to_pylist()
    return {row["level"]: row for row in table}


def test_each_level_has_its_own_intensity_ridge_and_roof() -> None:
    """FLOP over the bytes of the level; peak over its bandwidth."""
    found = rows(parts(fma=20), FP32, dram_bytes(0.1), L2_CYCLES, L1_CYCLES)
    flop = 0.2 * FP32_PEAK * SECONDS
    level = {
        "dram": (0.1 * DRAM_PEAK * SECONDS, DRAM_PEAK, "transferred"),
        "l2": (3.2e12 * SECONDS, 160 * 32 * 1.6e9, "returned"),
        "l1": (0.7 * L1_PEAK * SECONDS, L1_PEAK, "returned"),
    }
    assert list(found) == list(level)
    for name, (moved, peak, counted) in level.items():
        row = found[name]
        assert row["bytes_counted"] == counted
        assert (row["resource"], row["peak_flop_source"]) == ("fp32", "architecture")
        assert row["level_bytes"] == pytest.approx(moved)
        assert row["peak_bytes_per_s"] == pytest.approx(peak)
        assert row["arithmetic_intensity_flop_per_byte"] == pytest.approx(flop / moved)
        assert row["ridge_point_flop_per_byte"] == pytest.approx(FP32_PEAK / peak)
        assert row["achieved_flop_per_s"] == pytest.approx(0.2 * FP32_PEAK)
        attainable = min(FP32_PEAK, flop / moved * peak)
        assert row["attainable_flop_per_s"] == pytest.approx(attainable)
        assert row["fraction_of_roof"] == pytest.approx(0.2 * FP32_PEAK / attainable)
        assert row["fraction_of_bandwidth"] == pytest.approx(moved / peak / SECONDS)


def test_a_launch_may_lie_right_of_the_ridge_of_dram_and_left_of_that_of_l1() -> None:
    """Data is reused in caches, and L1 has to deliver it again and again."""
    found = rows(parts(fma=20, dram=10), FP32, dram_bytes(0.1), L1_CYCLES)
    assert {name: row["roofline_bound"] for name, row in found.items()} == {
        "dram": "compute",
        "l1": "memory",
    }
    assert found["dram"]["fraction_of_roof"] == pytest.approx(0.2)
    assert found["l1"]["fraction_of_roof"] == pytest.approx(0.7)


def test_bytes_and_roof_are_of_one_path() -> None:
    """What NVIDIA's rooflines count comes first, then what was looked up."""
    both = rows(parts(), L2_CYCLES, L2_LOOKUPS)["l2"]
    assert (both["bytes_counted"], both["peak_bytes_source"]) == ("returned", "report")
    looked_up = rows(parts(), L2_LOOKUPS)["l2"]
    assert looked_up["bytes_counted"] == "looked_up"
    assert looked_up["level_bytes"] == 2e8 * 32
    # Its own percentage of peak says what the roof is: no clock and no number of slices is needed.
    assert looked_up["peak_bytes_per_s"] == pytest.approx(2e8 * 32 / SECONDS / 0.5)
    assert looked_up["fraction_of_bandwidth"] == pytest.approx(0.5)


def test_without_a_stored_peak_the_architecture_has_one() -> None:
    """L1 and its clock; L2 only with a clock of its own."""
    found = rows(parts(), L1_LOOKUPS, {"lts__t_sectors.sum": 1e8})
    assert found["l1"]["peak_bytes_source"] == "architecture"
    assert found["l1"]["fraction_of_bandwidth"] == pytest.approx(0.5)
    assert found["l2"]["level_bytes"] == 3.2e9
    assert found["l2"]["peak_bytes_per_s"] is None
    assert found["l2"]["fraction_of_bandwidth"] is None
    clock = {"lts__t_sectors.sum": 1e8, "lts__cycles_elapsed.avg.per_second": 1.6e9}
    assert rows(parts(), clock)["l2"]["peak_bytes_per_s"] == pytest.approx(80 * 96 * 1.6e9)


def test_a_level_that_returned_nothing_is_described_by_what_was_looked_up() -> None:
    """A kernel that only stores."""
    nothing = {**L1_CYCLES, "l1tex__lsu_writeback_active_mem_lgds.sum": 0.0}
    found = rows(parts(), nothing, L1_LOOKUPS)["l1"]
    assert found["bytes_counted"] == "looked_up"
    assert found["fraction_of_bandwidth"] == pytest.approx(0.5)
    assert "l1" not in rows(parts(), nothing)


def test_the_return_path_of_volta_is_not_that_of_later_chips() -> None:
    """The counter without a suffix sees loads from shared memory: only Volta has nothing better."""
    cycles = {"l1tex__lsu_writeback_active.sum": 1e6}
    assert "l1" not in rows(parts(), cycles)
    volta = {
        "device__attribute_compute_capability_major": 7,
        "device__attribute_compute_capability_minor": 0,
    }
    assert rows(parts(), cycles, volta)["l1"]["level_bytes"] == 128e6


def test_no_intensity_without_every_operation() -> None:
    """The bytes and their roof stay; tensor work that was not counted may be anything."""
    found = rows(parts(tensor=50, dram=40), dram_bytes(0.4))["dram"]
    for name in ("resource", "flop_count", "arithmetic_intensity_flop_per_byte",
                 "ridge_point_flop_per_byte", "attainable_flop_per_s", "fraction_of_roof",
                 "peak_flop_source"):  # fmt: skip
        assert found[name] is None
    assert found["roofline_bound"] == "unknown"
    assert found["fraction_of_bandwidth"] == pytest.approx(0.4)
    assert found["peak_bytes_source"] == "report"


def test_a_copy_is_as_near_to_its_roof_as_to_its_bandwidth() -> None:
    """No operations: the intensity is zero and lies left of every ridge."""
    copy = flop_counts() | tensor_counts()
    found = rows(parts(dram=90), copy, dram_bytes(0.9))["dram"]
    assert found["arithmetic_intensity_flop_per_byte"] == 0.0
    assert found["fraction_of_roof"] == pytest.approx(0.9)
    assert found["roofline_bound"] == "memory"


def test_of_several_data_types_the_slowest_decides() -> None:
    """FP32 beside tensor work: the roof is the one with the larger time, and all FLOP count."""
    work = flop_counts(fp32=0.3 * FP32_PEAK * SECONDS)
    work |= tensor_counts(fp16=0.2 * TENSOR_PEAK * SECONDS)
    found = rows(parts(fma=30, tensor=20), work, dram_bytes(0.1))["dram"]
    total = (0.3 * FP32_PEAK + 0.2 * TENSOR_PEAK) * SECONDS
    assert (found["resource"], found["flop_count"]) == ("fp32", pytest.approx(total))
    assert found["fraction_of_roof"] == pytest.approx(0.3)
    assert found["attainable_flop_per_s"] == pytest.approx(total / (0.3 * SECONDS))


def test_nothing_known_is_no_row() -> None:
    """A failed collection, and a launch of which nothing was counted."""
    assert classify(report_of(FAILED, launch(duration_ns=None))).rooflines.num_rows == 0


def test_the_row_of_dram_says_what_the_label_says() -> None:
    """Intensity, ridge and classical answer are the same numbers."""
    result = classify(report_of(launch(parts(fma=20, dram=10), FP32, dram_bytes(0.1))))
    (label,), (row,) = result.labels.to_pylist(), result.rooflines.to_pylist()
    for name in ("arithmetic_intensity_flop_per_byte", "ridge_point_flop_per_byte",
                 "roofline_bound"):  # fmt: skip
        assert row[name] == label[name] is not None


def test_what_l2_missed_stands_in_where_dram_has_no_counters() -> None:
    """And the row says so."""
    orin = {
        "device__attribute_display_name": "Orin",
        "device__attribute_compute_capability_major": 8,
        "device__attribute_compute_capability_minor": 7,
        "device__attribute_integrated": 1,
        "lts__t_sectors_aperture_sysmem_lookup_miss.sum": 1e6,
    }
    found = rows(parts(), orin)["dram"]
    assert (found["bytes_counted"], found["level_bytes"]) == ("missed", 32e6)


@pytest.mark.parametrize("scale", [0.3, 2.0])
def test_fractions_of_roofs_do_not_change_when_all_clocks_scale(scale: float) -> None:
    """Twice the clocks in half the time: the same share of each roof, and the same ridges."""
    clocks = {
        "sm__cycles_elapsed.avg.per_second": 1.5e9 * scale,
        "lts__cycles_elapsed.avg.per_second": 1.6e9 * scale,
        "dram__cycles_elapsed.avg.per_second": 2.619e9 * scale,
        "device__attribute_memory_clock_rate": 2_619_000 * scale,
        "lts__lts2xbar_cycles_active.sum.per_second": 1e11 * scale,
        "gpu__time_duration.sum": DURATION_NS / scale,
    }
    groups = (parts(fma=20), FP32, dram_bytes(0.1), L2_CYCLES, L1_CYCLES)
    before, after = rows(*groups), rows(*groups, clocks)
    for level, row in before.items():
        for name in ("arithmetic_intensity_flop_per_byte", "ridge_point_flop_per_byte",
                     "fraction_of_roof", "fraction_of_bandwidth"):  # fmt: skip
            assert after[level][name] == pytest.approx(row[name]), (level, name)
        assert after[level]["roofline_bound"] == row["roofline_bound"]


def test_the_intensity_of_attention_does_not_depend_on_the_batch_and_that_of_gemms_does() -> None:
    """In the bundled example, with the numbers that the page of concepts gives."""
    result = classify(open_report(nsightlens.example.path()))
    at_dram = {r["launch_id"]: r for r in result.rooflines.to_pylist() if r["level"] == "dram"}
    found: dict[tuple[str, int], set[tuple[int, int]]] = {}
    names = ("arithmetic_intensity_flop_per_byte", "ridge_point_flop_per_byte")
    for label in result.labels.to_pylist():
        if label["subtype"] in ("flash_splitkv", "dense"):
            value, ridge = (round(at_dram[label["launch_id"]][name]) for name in names)
            found.setdefault((label["family"], label["batch_size"]), set()).add((value, ridge))
    attention = {
        one for (family, _), many in found.items() if family == "attention" for one in many
    }
    assert {value for value, _ in attention} == {66}
    assert found["gemm", 1] == {(8, 256)}
    assert {value for value, _ in found["gemm", 512]} == {341, 384, 390}
    together = {
        row["batch_size"]: round(row["arithmetic_intensity_flop_per_byte"])
        for row in classify(open_report(nsightlens.example.path()), by="family").labels.to_pylist()
        if row["family"] == "gemm"
    }
    assert (together[1], together[512]) == (8, 384)
    root = Path(__file__).resolve().parents[3]
    said = (
        "attention has 66 FLOP/B at DRAM at batch 1 and at batch 512; the GEMMs of a step together "
        "have 8 and 384 (at batch 512 single ones have 341 to 390), with the ridge at 256"
    )
    assert said in " ".join((root / "docs" / "concepts.md").read_text(encoding="utf-8").split())
    readme = (root / "README.md").read_text(encoding="utf-8")
    assert "  512  memory  saturated    0.998    91    84  compute  saturated     384 " in readme
