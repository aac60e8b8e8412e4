from __future__ import annotations

import math

import pytest

from nsightlens.units import format_quantity, unit_of


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        ("gpu__time_duration.sum", "ns"),
        ("dram__bytes_read.sum", "B"),
        ("dram__bytes.sum.per_second", "B/s"),
        ("dram__bytes.sum.peak_sustained", "B/cycle"),
        ("lts__t_sectors.sum.per_second", "sector/s"),
        ("lts__t_sector_hit_rate.pct", "%"),
        ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"),
        ("breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"),
        ("smsp__cycles_elapsed.avg.per_second", "Hz"),
        ("smsp__cycles_elapsed.avg", "cycle"),
        ("smsp__issue_active.avg.per_cycle_active", ""),
        ("smsp__warps_eligible.avg.per_cycle_active", "warp"),
        ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed", "inst/cycle"),
        ("smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", "cycle"),
        ("smsp__pcsamp_warps_issue_stalled_membar", "sample"),
        ("sm__ops_path_tensor_src_fp16_dst_fp32.sum", "op"),
        ("sm__ops_path_tensor_src_fp16_dst_fp32.sum.peak_sustained", "op/cycle"),
        ("sm__maximum_warps_per_active_cycle_pct", "%"),
        ("launch__grid_size", "block"),
        ("launch__block_dim_x", "thread"),
        ("device__attribute_clock_rate", "kHz"),
    ],
)
def test_the_unit_follows_from_the_name(metric: str, unit: str) -> None:
    """A metric's unit is read from what it counts and from its suffix."""
    assert unit_of(metric) == unit


@pytest.mark.parametrize("metric", ["numa__cpu_affinity", "launch__kernel_name", "x", ""])
def test_an_unknown_name_has_no_unit(metric: str) -> None:
    """A name that does not tell is None, not a bare number."""
    assert unit_of(metric) is None


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1_240_000, "ns", "1.24 ms"),
        (12_300, "ns", "12.3 us"),
        (512, "ns", "512 ns"),
        (3.2e12, "ns", "3,200 s"),
        (3.35e12, "B/s", "3.35 TB/s"),
        (2.1e9, "B", "2.1 GB"),
        (999.6, "B", "1 kB"),
        (999.4, "B", "999 B"),
        (1.485e9, "Hz", "1.49 GHz"),
        (1.98e14, "FLOP/s", "198 TFLOP/s"),
        (-2048, "B", "-2.05 kB"),
        (87.52, "%", "87.5 %"),
        (103.78, "%", "103.8 %"),
        (0, "B", "0 B"),
        (0, "%", "0.0 %"),
        (0.914, "1", "0.914"),
        (132, "SM", "132 SM"),
        (12_345, "block", "12,345 block"),
        (0.5, "", "0.5"),
        (math.inf, "ns", "inf ns"),
    ],
)
def test_a_number_is_said_with_three_digits_and_a_scaled_unit(
    value: float, unit: str, text: str
) -> None:
    """A person reads a few digits and a prefix, not a row of zeros."""
    assert format_quantity(value, unit) == text


@pytest.mark.parametrize("value", [None, math.nan])
@pytest.mark.parametrize("unit", ["ns", "%", "", "B/s"])
def test_a_missing_number_is_a_dash(value: float | None, unit: str) -> None:
    """What is missing is shown as missing, never as zero."""
    assert format_quantity(value, unit) == "-"
