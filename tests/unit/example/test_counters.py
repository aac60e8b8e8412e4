"""The counters of the example agree with one another as those of real hardware do."""

from __future__ import annotations

import math

import pytest

from nsightlens.example import short_context_sweep
from nsightlens.example.counters import metrics_of
from nsightlens.example.decode_sweep import BATCH_SIZES, CONTEXT
from nsightlens.example.gated_layer import gated_decode_layer
from nsightlens.example.layer import decode_layer
from nsightlens.example.model import H100_SXM, Kernel

ELAPSED = "avg.pct_of_peak_sustained_elapsed"
ACTIVE = "avg.pct_of_peak_sustained_active"
SHORT = short_context_sweep
KERNELS = [
    *(kernel for batch in BATCH_SIZES for kernel in decode_layer(batch, CONTEXT)),
    *(k for batch in SHORT.BATCH_SIZES for k in gated_decode_layer(batch, SHORT.CONTEXT)),
]

every_kernel = pytest.mark.parametrize(
    "kernel", KERNELS, ids=[f"{i}-{kernel.operation}" for i, kernel in enumerate(KERNELS)]
)


class Numbers:
    """The numeric metrics of a modelled launch."""

    def __init__(self, kernel: Kernel) -> None:
        self.all = metrics_of(kernel, H100_SXM)

    def __getitem__(self, name: str) -> float:
        value = self.all[name]
        assert isinstance(value, int | float)
        return float(value)

    def text(self, name: str) -> str:
        """Return a text metric."""
        value = self.all[name]
        assert isinstance(value, str)
        return value


@every_kernel
def test_dram_metrics_agree(kernel: Kernel) -> None:
    """Bytes over duration is the bandwidth, and bandwidth over peak the percentage."""
    m = Numbers(kernel)
    moved = m["dram__bytes_read.sum"] + m["dram__bytes_write.sum"]
    bandwidth = moved / (m["gpu__time_duration.sum"] * 1e-9)
    peak = m["dram__bytes.sum.peak_sustained"] * m["dram__cycles_elapsed.avg.per_second"]
    assert m["dram__bytes.sum.per_second"] == pytest.approx(bandwidth)
    assert m[f"gpu__dram_throughput.{ELAPSED}"] == pytest.approx(100 * bandwidth / peak)
    by_attributes = (
        2e3 * m["device__attribute_memory_clock_rate"]
        * m["device__attribute_global_memory_bus_width"] / 8
    )  # fmt: skip
    assert peak == pytest.approx(by_attributes)


@every_kernel
def test_tensor_metrics_agree(kernel: Kernel) -> None:
    """The total is the sum over instructions, and the activity is work over the dense peak."""
    m = Numbers(kernel)
    prefix = "sm__ops_path_tensor"
    parts = [
        name
        for name in m.all
        if name.startswith(f"{prefix}_op_") and name.endswith(("_off.sum", "_on.sum"))
    ]
    assert len(parts) == 4
    assert m[f"{prefix}_src_fp16.sum"] == sum(m[part] for part in parts)
    cycles = m["sm__cycles_elapsed.avg.per_second"] * m["gpu__time_duration.sum"] * 1e-9
    busy = sum(m[part] / m[f"{part}.peak_sustained"] for part in parts) / cycles
    assert m[f"sm__pipe_tensor_cycles_active.{ELAPSED}"] == pytest.approx(100 * busy)


@every_kernel
def test_a_throughput_is_the_largest_of_its_breakdown(kernel: Kernel) -> None:
    """Every counter of the list is stored, and the maximum is the metric."""
    m = Numbers(kernel)
    for name in (f"sm__throughput.{ELAPSED}", f"gpu__compute_memory_throughput.{ELAPSED}"):
        parts = [m[part] for part in m.text(f"breakdown:{name}").split(",")]
        assert m[name] == max(parts)
        assert all(0 <= part <= 100 for part in parts)


@every_kernel
def test_warp_states_add_up(kernel: Kernel) -> None:
    """Their sum is the latency, which is resident warps over issued instructions."""
    m = Numbers(kernel)
    states = {name: m[name] for name in m.all if "warps_issue_stalled" in name}
    latency = m["smsp__average_warp_latency_per_inst_issued.ratio"]
    assert len(states) == 19
    assert all(cycles >= 0 for cycles in states.values())
    assert math.fsum(states.values()) == latency
    issued = m["smsp__issue_active.avg.per_cycle_active"]
    assert m["smsp__warps_active.avg.per_cycle_active"] / issued == pytest.approx(latency)
    assert 0 < issued < 1
    assert m["smsp__warps_eligible.avg.per_cycle_active"] >= issued


@every_kernel
def test_occupancy_agrees_with_the_limits(kernel: Kernel) -> None:
    """Theoretical occupancy is the smallest limit, and the achieved one is below it."""
    m = Numbers(kernel)
    limits = [m[name] for name in m.all if name.startswith("launch__occupancy_limit_")]
    warps = math.ceil(kernel.block_threads / 32)
    theoretical = m["sm__maximum_warps_per_active_cycle_pct"]
    assert theoretical == pytest.approx(100 * min(limits) * warps / 64)
    assert m[f"sm__warps_active.{ACTIVE}"] <= theoretical
    waves = m["launch__grid_size"] / (132 * min(limits))
    assert m["launch__waves_per_multiprocessor"] == pytest.approx(waves)


@every_kernel
def test_hit_rates_and_shares_are_possible(kernel: Kernel) -> None:
    """No percentage leaves 0 to 100, and nothing is NaN."""
    m = Numbers(kernel)
    for name, value in m.all.items():
        if "pct" in name and not isinstance(value, str):
            assert 0 <= m[name] <= 100, name
        if isinstance(value, float):
            assert math.isfinite(value), name


@pytest.mark.parametrize("batch_size", BATCH_SIZES)
def test_attention_is_limited_by_memory_at_every_batch(batch_size: int) -> None:
    """DRAM is busier than every compute part of the main kernel."""
    (main,) = (k for k in decode_layer(batch_size, CONTEXT) if k.operation == "attention")
    m = Numbers(main)
    compute = m.text(f"breakdown:sm__throughput.{ELAPSED}").split(",")
    assert m[f"gpu__dram_throughput.{ELAPSED}"] > max(m[part] for part in compute)


def test_attention_waits_for_data_as_the_paper_saw() -> None:
    """From about 26 % of the latency at batch 1 to about 54 % at the largest."""
    shares = []
    for batch_size in (BATCH_SIZES[0], BATCH_SIZES[-1]):
        (main,) = (k for k in decode_layer(batch_size, CONTEXT) if k.operation == "attention")
        m = Numbers(main)
        waiting = m["smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"]
        shares.append(waiting / m["smsp__average_warp_latency_per_inst_issued.ratio"])
    assert shares == [pytest.approx(0.26, abs=0.02), pytest.approx(0.54, abs=0.02)]
