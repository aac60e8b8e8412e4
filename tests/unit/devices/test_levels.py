"""Bytes and roofs of the paths through caches."""

from __future__ import annotations

import math
from typing import Any

import pytest
from support.rooflines import DURATION_NS, launch
from support.stores import report_of

from nsightlens.devices import PEAK_SOURCES, peak_rates
from nsightlens.devices.levels import path_bytes

SECONDS = DURATION_NS * 1e-9
XBAR = "lts__lts2xbar_cycles_active.sum"
SECTORS = "lts__t_sectors"
PCT = "pct_of_peak_sustained_elapsed"


def bytes_of(path: str, *groups: dict[str, Any]) -> float:
    """Return the bytes of one launch on a path."""
    (value,) = path_bytes(report_of(launch(*groups)), path)
    return float(value)


def peak_of(path: str, *groups: dict[str, Any]) -> tuple[Any, str | None]:
    """Return the roof of a path for one launch, and its source."""
    peaks = peak_rates(report_of(launch(*groups)), [path])
    code = int(peaks.source[path][0])
    return float(peaks.rate[path][0]), PEAK_SOURCES[code] if code >= 0 else None


def test_a_rate_and_the_duration_are_a_count() -> None:
    """NVIDIA's section collects the rate, its tables the sum."""
    assert bytes_of("l2_returned", {XBAR: 1000}) == 32_000
    assert bytes_of("l2_returned", {f"{XBAR}.per_second": 1e9}) == pytest.approx(32e9 * SECONDS)
    assert math.isnan(bytes_of("l2_returned"))


@pytest.mark.parametrize("suffix", ["mem_lgds", "mem_lg"])
def test_a_cycle_of_the_return_path_of_l1_is_128_bytes(suffix: str) -> None:
    """In either spelling."""
    name = f"l1tex__lsu_writeback_active_{suffix}.sum"
    assert bytes_of("l1_returned", {name: 10}) == 1280


def test_the_peak_per_cycle_times_the_clock_of_the_path_comes_first() -> None:
    """160 cycles of 32 B at the clock of L2."""
    stored = {f"{XBAR}.peak_sustained": 160, "lts__cycles_elapsed.avg.per_second": 1.7e9}
    assert peak_of("l2_returned", stored) == (pytest.approx(160 * 32 * 1.7e9), "report")


def test_a_rate_over_its_percentage_is_the_roof_without_any_clock() -> None:
    """By the definition of a percentage of peak."""
    stored = {f"{SECTORS}.sum": 1e8, f"{SECTORS}.avg.{PCT}": 40.0}
    assert peak_of("l2", stored) == (pytest.approx(1e8 * 32 / SECONDS / 0.4), "report")
    assert peak_of("l2", {**stored, f"{SECTORS}.avg.{PCT}": 0.0}) == (
        pytest.approx(math.nan, nan_ok=True),
        None,
    )


def test_the_peak_of_one_slice_times_the_slices_is_the_roof() -> None:
    """Three sectors a cycle on GH100."""
    stored = {f"{SECTORS}.avg.peak_sustained": 3, "lts__cycles_elapsed.avg.per_second": 1.5e9}
    assert peak_of("l2", stored) == (pytest.approx(3 * 32 * 80 * 1.5e9), "report")


def test_the_architecture_knows_both_paths_of_l1() -> None:
    """128 B per SM and cycle, looked up as well as returned."""
    for path in ("l1", "l1_returned"):
        assert peak_of(path) == (pytest.approx(132 * 128 * 1.5e9), "architecture")
