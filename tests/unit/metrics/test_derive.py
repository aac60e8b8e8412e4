from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from support.stores import CONFIGURED, FAILED, store_of

from nsightlens import tables
from nsightlens.metrics import SOURCES, derive_launch_columns, launches_schema

SASS = "smsp__sass_thread_inst_executed_op_{}_pred_on"


def derived(column: str, *launches: Any) -> list[Any]:
    columns, _ = derive_launch_columns(store_of(*launches))
    values: list[Any] = columns[column].to_pylist()
    return values


def origin(column: str, *launches: Any) -> list[Any]:
    _, origins = derive_launch_columns(store_of(*launches))
    values: list[Any] = origins[column].to_pylist()
    return values


def test_dram_bytes_are_read_in_the_spelling_of_each_launch() -> None:
    """Every spelling gives bytes, the first that has a value wins, and the origin says which."""
    launches: tuple[dict[str, float], ...] = (
        {"dram__bytes_read.sum": 64.0, "dram__bytes_write.sum": 32.0},
        {"dram__bytes_op_read.sum": 96.0, "dram__bytes_op_write.sum": 0.0},
        {"fbpa__dram_read_bytes.sum": 128, "fbpa__dram_write_bytes.sum": 32},
        {"dram__sectors_read.sum": 2, "dram__sectors_write.sum": 3},
        {"dram__bytes.sum.per_second": 1e9, "gpu__time_duration.sum": 500.0},
        {},
    )
    assert derived("dram_bytes", *launches) == [96.0, 96.0, 160.0, 160.0, 500.0, None]
    assert derived("dram_read_bytes", *launches) == [64.0, 96.0, 128.0, 64.0, None, None]
    assert origin("dram_bytes", *launches) == [
        "dram__bytes_read.sum + dram__bytes_write.sum",
        "dram__bytes_op_read.sum + dram__bytes_op_write.sum",
        "fbpa__dram_read_bytes.sum + fbpa__dram_write_bytes.sum",
        "(dram__sectors_read.sum + dram__sectors_write.sum) * 32",
        "dram__bytes.sum.per_second * gpu__time_duration.sum / 1e9",
        None,
    ]


def test_dram_bytes_are_not_made_from_a_percentage() -> None:
    """A percentage of peak says how busy DRAM was, not how many bytes moved."""
    launch = {**CONFIGURED, "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": 50.0}
    assert derived("dram_bytes", launch) == [None]
    assert derived("dram_throughput_pct", launch) == [50.0]


def test_a_bandwidth_follows_from_bytes_and_duration() -> None:
    """Without a rate in the report, bytes over time is the rate."""
    launch = {
        "gpu__time_duration.sum": 2000.0,
        "dram__bytes_read.sum": 3000.0,
        "dram__bytes_write.sum": 1000.0,
    }
    assert derived("dram_bandwidth_bytes_per_s", launch) == [2e9]


@pytest.mark.parametrize(
    ("column", "letter", "expected"),
    [
        ("fp32_flop_count", "f", 23.0),
        ("fp64_flop_count", "d", 23.0),
        ("fp16_flop_count", "h", 46.0),
    ],
)
def test_an_fma_is_two_operations_and_half2_has_two_lanes(
    column: str, letter: str, expected: float
) -> None:
    """FLOPs are add + mul + 2 fma, doubled for the two lanes of half precision."""
    launch = {
        SASS.format(f"{letter}add") + ".sum": 2,
        SASS.format(f"{letter}mul") + ".sum": 1,
        SASS.format(f"{letter}fma") + ".sum": 10,
    }
    assert derived(column, launch) == [expected]


def test_flops_follow_from_a_rate_per_cycle_and_the_clock() -> None:
    """The roofline sections of ncu store rates: per cycle x cycles per second x duration."""
    launch = {
        **{SASS.format(op) + ".sum.per_cycle_elapsed": 4.0 for op in ("fadd", "fmul", "ffma")},
        "smsp__cycles_elapsed.avg.per_second": 1e9,
        "gpu__time_duration.sum": 500.0,
    }
    assert derived("fp32_flop_count", launch) == [16.0 * 500]


def test_fma_alone_is_no_flop_count() -> None:
    """With the adds and multiplies unknown, the operations are unknown."""
    assert derived("fp32_flop_count", {SASS.format("ffma") + ".sum": 10}) == [None]


def test_a_counter_that_counted_nothing_is_zero() -> None:
    """Zero is a value and stays distinct from missing."""
    zero = {SASS.format(op) + ".sum": 0 for op in ("fadd", "fmul", "ffma")}
    assert derived("fp32_flop_count", zero, {}) == [0.0, None]


def test_tensor_work_is_the_total_and_never_total_plus_parts() -> None:
    """Where total, sparsity pair and instructions are all stored, the work is counted once."""
    prefix = "sm__ops_path_tensor_"
    launch = {
        f"{prefix}src_bf16_dst_fp32.sum": 100.0,
        f"{prefix}src_bf16_dst_fp32_sparsity_off.sum": 90.0,
        f"{prefix}src_bf16_dst_fp32_sparsity_on.sum": 10.0,
        f"{prefix}op_hgmma_src_bf16_dst_fp32.sum": 70.0,
        f"{prefix}op_hmma_src_bf16_dst_fp32.sum": 30.0,
    }
    assert derived("tensor_bf16_flop_count", launch) == [100.0]
    del launch[f"{prefix}src_bf16_dst_fp32.sum"]
    assert derived("tensor_bf16_flop_count", launch) == [100.0]


def test_half_of_a_tensor_sum_is_missing() -> None:
    """One accumulator of two, or one instruction of two, is not all tensor work."""
    prefix = "sm__ops_path_tensor_"
    launches = (
        {f"{prefix}src_fp16_dst_fp32.sum": 1.0},
        {f"{prefix}op_hmma_src_bf16_dst_fp32.sum": 1.0},
    )
    assert derived("tensor_fp16_flop_count", launches[0]) == [None]
    assert derived("tensor_bf16_flop_count", launches[1]) == [None]


def test_a_failed_collection_has_no_measurement() -> None:
    """No launch__* metric and a duration that is not a number: flagged, and nothing measured."""
    counters = {
        "dram__bytes_read.sum": 0.0,
        "dram__bytes_write.sum": 0.0,
        "sm__throughput.avg.pct_of_peak_sustained_elapsed": 0.0,
        "device__attribute_multiprocessor_count": 114,
    }
    columns, origins = derive_launch_columns(
        store_of({**CONFIGURED, **counters}, {**FAILED, **counters})
    )
    assert columns["is_failed_collection"].to_pylist() == [False, True]
    assert columns["dram_bytes"].to_pylist() == [0.0, None]
    assert columns["sm_throughput_pct"].to_pylist() == [0.0, None]
    assert columns["duration_ns"].to_pylist() == [2000.0, None]
    assert origins["dram_bytes"].to_pylist()[1] is None
    # Where it ran and how often is known all the same.
    assert columns["sm_count"].to_pylist() == [114, 114]
    assert columns["replay_pass_count"].to_pylist() == [None, 1]
    assert columns["device_name"].to_pylist() == ["NVIDIA H100 PCIe"] * 2


def test_a_range_without_launch_metrics_has_not_failed() -> None:
    """A profiled range has no launch configuration, but it has a duration."""
    assert derived("is_failed_collection", {"gpu__time_duration.sum": 10.0}, {}) == [False, False]


def test_a_kernel_with_one_metric_that_is_not_a_number_has_not_failed() -> None:
    """NaN in one counter makes that column null, not the launch a failure."""
    launch = {**CONFIGURED, "lts__t_sector_hit_rate.pct": float("nan")}
    assert derived("l2_hit_rate_pct", launch) == [None]
    assert derived("is_failed_collection", launch) == [False]


def test_counts_are_exact_integers() -> None:
    """Older versions store counts as floating point; the columns are integers all the same."""
    launches: tuple[dict[str, float], ...] = (
        {"launch__grid_size": 2**40, "launch__registers_per_thread": 255.0},
        {},
    )
    assert derived("grid_block_count", *launches) == [2**40, None]
    assert derived("registers_per_thread_count", *launches) == [255, None]


def test_the_compute_capability_is_text() -> None:
    """12.1 and 12.10 must not be one number; several devices may be in one report."""
    prefix = "device__attribute_compute_capability_"
    launches = (
        {f"{prefix}major": 9, f"{prefix}minor": 0},
        {f"{prefix}major": 12.0, f"{prefix}minor": 1.0},
        {f"{prefix}major": 12},
    )
    assert derived("compute_capability", *launches) == ["9.0", "12.1", None]


def test_percentages_above_100_are_kept() -> None:
    """Counters of different replays can exceed their peak; the report's number stands."""
    assert derived("l2_hit_rate_pct", {"lts__t_sector_hit_rate.pct": 101.7}) == [101.7]


def test_every_column_has_the_type_of_the_table_and_an_origin() -> None:
    """Derived columns fit the schema, and each is null exactly where its origin is null."""
    columns, origins = derive_launch_columns(store_of(CONFIGURED, FAILED, {}))
    types = {column.name: column.type for column in tables.LAUNCHES}
    assert columns.keys() == origins.keys() == SOURCES.keys()
    for name, array in columns.items():
        assert array.type == types[name], name
        assert array.is_valid().equals(origins[name].is_valid()), name
        assert set(origins[name].dictionary.to_pylist()) <= set(SOURCES[name]), name


def test_a_store_without_launches_gives_empty_columns() -> None:
    """A sound report may hold no launch."""
    columns, origins = derive_launch_columns(store_of())
    assert {len(array) for array in (*columns.values(), *origins.values())} == {0}


def test_the_schema_names_what_can_fill_each_column() -> None:
    """The source of a column stands in its field metadata, beside its unit."""
    field = launches_schema().field("dram_bytes")
    assert field.metadata[b"source"].startswith(b"dram__bytes_read.sum + dram__bytes_write.sum |")
    assert field.metadata[b"unit"] == b"B"
    assert isinstance(launches_schema(), pa.Schema)
