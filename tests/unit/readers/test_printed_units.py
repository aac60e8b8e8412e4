"""Whether a printed unit is one of a metric."""

from __future__ import annotations

import pytest

from nsightlens.ncucsv.scale import base_unit
from nsightlens.readers.printed_units import is_unit_of

DURATION = "gpu__time_duration.sum"
SECTORS = "lts__t_sectors.sum"


def fits(unit: str, metric: str) -> bool:
    return is_unit_of(base_unit(unit).name, metric)


@pytest.mark.parametrize(
    ("metric", "units"),
    [
        (DURATION, ["ns", "us", "msecond", "second"]),
        ("dram__bytes.sum", ["byte", "Kbyte", "GB"]),
        ("dram__bytes.sum.per_second", ["byte/s", "Gbyte/second", "byte/nsecond"]),
        ("dram__bytes.sum.peak_sustained", ["byte/cycle"]),
        ("gpc__cycles_elapsed.avg.per_second", ["hz", "Ghz", "cycle/nsecond"]),
        ("sm__throughput.avg.pct_of_peak_sustained_elapsed", ["%", ""]),
        ("derived__pct_occupancy_per_shared_mem_size", ["%/byte"]),
        ("launch__shared_mem_per_block_static", ["byte/block", "Kbyte/block", "byte", ""]),
        ("device__attribute_clock_rate", [""]),
    ],
)
def test_a_unit_and_its_scalings_fit(metric: str, units: list[str]) -> None:
    """In the spelling of every version; what is no counter is often printed without one."""
    assert all(fits(unit, metric) for unit in units)


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        ("smsp__pcsamp_warps_issue_stalled_barrier", "warp"),
        ("smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", "inst"),
        ("derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2", "thread"),
        ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", ""),
        ("memory_l2_theoretical_sectors_global", "sectors"),
        ("derived__memory_l2_theoretical_sectors_global_excessive", "byte"),
    ],
)
def test_what_is_only_counted_may_be_called_something_else(metric: str, unit: str) -> None:
    """NVIDIA's library does, and no number changes by it."""
    assert fits(unit, metric)


@pytest.mark.parametrize(
    ("metric", "units"),
    [
        (DURATION, ["minute", "hour", "Usecond", "cycle", "%", "", "ns/s"]),
        ("dram__bytes.sum", ["KiB", "sector", "Gbit", "", "byte/s", "us"]),
        ("dram__bytes.sum.per_second", ["byte", "Gbyte/minute", "Gbit/s", "%"]),
        ("sm__throughput.avg.pct_of_peak_sustained_elapsed", ["byte", "inst", "permille"]),
        (SECTORS, ["byte", "Kbyte", "ns", "%", "dozen"]),
        ("launch__shared_mem_per_block_static", ["byte/minute", "sector"]),
        ("device__attribute_clock_rate", ["Khz"]),
    ],
)
def test_another_quantity_or_an_unknown_word_does_not(metric: str, units: list[str]) -> None:
    """The number would be another one."""
    assert not any(fits(unit, metric) for unit in units)


@pytest.mark.parametrize("metric", ["numa__cpu_affinity", "Memory Throughput", "a__x.sum"])
def test_every_unit_fits_a_metric_whose_unit_is_not_known(metric: str) -> None:
    """A label of the details page is no name, even if it looks like one."""
    assert fits("fortnight", metric)
