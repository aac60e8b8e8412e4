from __future__ import annotations

from typing import Any

from support.stores import CONFIGURED, FAILED, report_of

from nsightlens.metrics import COVERAGE, coverage, to_collect
from nsightlens.tables import schema_of

DRAM = {"dram__bytes_read.sum": 64.0, "dram__bytes_write.sum": 32.0}


def rows_of(*launches: Any) -> dict[str, dict[str, Any]]:
    table = coverage(report_of(*launches))
    assert table.schema.equals(schema_of(COVERAGE))
    return {row["column"]: row for row in table.to_pylist()}


def test_filled_and_missing_launches_are_counted() -> None:
    """Each column says how many launches have it, and which formula gave it."""
    row = rows_of({**CONFIGURED, **DRAM}, CONFIGURED)["dram_bytes"]
    assert (row["filled_count"], row["missing_count"]) == (1, 1)
    assert row["origins"] == ["dram__bytes_read.sum + dram__bytes_write.sum"]
    assert row["unit"] == "B"


def test_a_missing_column_says_what_would_fill_it() -> None:
    """Sections and metrics for the GPU of the report."""
    row = rows_of(CONFIGURED)["tensor_bf16_flop_count"]
    assert row["sections"] == ["SpeedOfLight_HierarchicalTensorRooflineChart"]
    assert row["metrics"] == [
        "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum",
        "sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32.sum",
        "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained",
        "sm__ops_path_tensor_op_hmma_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained",
    ]


def test_reads_and_writes_of_dram_are_in_the_sections_that_collect_them() -> None:
    """MemoryWorkloadAnalysis itself stores nothing but their sum, as a rate."""
    rows = rows_of(CONFIGURED)
    for column in ("dram_read_bytes", "dram_write_bytes"):
        assert rows[column]["sections"] == [
            "MemoryWorkloadAnalysis_Chart",
            "MemoryWorkloadAnalysis_Tables",
        ]
    assert rows["dram_bytes"]["sections"] == ["MemoryWorkloadAnalysis"]


def test_a_full_column_asks_for_nothing() -> None:
    """What is there need not be collected."""
    row = rows_of({**CONFIGURED, **DRAM})["dram_bytes"]
    assert (row["sections"], row["metrics"]) == ([], [])


def test_a_counter_that_the_gpu_lacks_is_not_asked_for() -> None:
    """Not collected and not collectable are different answers."""
    row = rows_of(CONFIGURED)["tensor_fp4_flop_count"]
    assert not row["is_countable"]
    assert (row["missing_count"], row["sections"], row["metrics"]) == (1, [], [])


def test_failed_collections_are_not_missing() -> None:
    """A launch that failed would not be filled by asking for more."""
    row = rows_of({**CONFIGURED, **DRAM}, FAILED)["dram_bytes"]
    assert (row["filled_count"], row["missing_count"]) == (1, 0)


def test_the_collection_lists_each_section_and_metric_once() -> None:
    """One command line for everything that is missing."""
    sections, metrics = to_collect(coverage(report_of(CONFIGURED)))
    assert len(set(sections)) == len(sections)
    assert len(set(metrics)) == len(metrics)
    assert "WarpStateStats" in sections
    assert "fbpa__dram_read_bytes.sum" in metrics


def test_a_report_without_launches_misses_nothing() -> None:
    """Nothing was asked for and nothing can be said."""
    assert to_collect(coverage(report_of())) == ([], [])
