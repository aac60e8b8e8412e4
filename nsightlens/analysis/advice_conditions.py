"""When advice is due: conditions over the numbers of a launch, and their thresholds.

A number that is not known is NaN, and every comparison with it is false.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.analysis import thresholds

if TYPE_CHECKING:
    from nsightlens.analysis.quantities import Quantities

__all__ = [
    "BUSY_PCT",
    "FEW_FP64",
    "FULL_ENOUGH",
    "LOCAL_PCT",
    "MUCH_PCT",
    "NEAR_BUSY_PCT",
    "PART_PCT",
    "RAMP_NS",
    "SATURATED_PCT",
    "SHORT_NS",
    "SMALL_BLOCK",
    "TENSOR_GOOD_PCT",
    "WASTE",
    "WIDE_REQUEST",
    "has_bank_conflicts",
    "has_excess_sectors",
    "has_few_ready",
    "has_scattered_loads",
    "has_short_blocks",
    "has_tail",
    "idles",
    "is_at_its_tensor_roof",
    "is_below_its_tensor_roof",
    "is_clock_dependent",
    "is_limited_by",
    "is_never_read_back",
    "is_occupancy_limited_by",
    "is_occupancy_low",
    "is_on_cuda_cores",
    "moves_data",
    "says",
    "waits_in",
]

BUSY_PCT = 100 * thresholds.BUSY
NEAR_BUSY_PCT = 50.0
"""[%] A resource that another clock can bring to `BUSY_PCT`."""
SATURATED_PCT = 100 * thresholds.SATURATED
PART_PCT = 20.0
"""[%] From this share on, one cause is worth a change of the code."""
MUCH_PCT = 30.0
"""[%] From this share of warp latency on, one state is what a launch waits in."""
WASTE = thresholds.PADDED
"""[1] More work than needed by this factor is worth a look."""
FULL_ENOUGH = 0.9
"""[1] A grid that fills this share of the GPU loses little by the rest."""
WIDE_REQUEST = 20.0
"""[sector] A contiguous load of 16 bytes a thread touches 16, 17 where it is not aligned."""
LOCAL_PCT = 5.0
"""[%] From this share of memory requests on, local memory is worth a look."""
RAMP_NS = 20_000.0
"""[ns] In less, no launch gets the bandwidth that a long one does: it begins and ends."""
DRY = 0.6
"""[1] With fewer of the possible warps than this, SMs wait for blocks."""
SMALL_BLOCK = 128
"""[thread] Four warps, one for each scheduler of an SM."""
SHORT_NS = 5_000.0
"""[ns] A launch below this takes about as long as launching it does."""
TENSOR_GOOD_PCT = 70.0
"""[%] Of the dense peak: what large library GEMMs reach; see the measured figures in the docs."""
FEW_FP64 = 16.0
"""[1] Peak FP32 over peak FP64 from which FP64 units are there for compatibility only."""


def says(q: Quantities, column: str, *values: str) -> bool:
    """Say whether a text of the launch is one of some values."""
    return q.text(column) in values


def idles(q: Quantities) -> bool:
    """Say whether no resource explains the duration."""
    return says(q, "regime", "latency", "small_grid")


def is_limited_by(q: Quantities, *limiters: str) -> bool:
    """Say whether one of some resources is the limiter and explains the duration."""
    is_busy = 100 * q("limiter_fraction") >= BUSY_PCT
    return is_busy and says(q, "limiter", *limiters)


def is_occupancy_limited_by(q: Quantities, limit: str) -> bool:
    """Say whether a limit of occupancy costs time: warps are few, and none is ready to issue."""
    return (
        idles(q)
        and limit in (q.text("occupancy_limiter") or "")
        and q("theoretical_occupancy_pct") <= 50.0
        and q("waves_per_multiprocessor") >= thresholds.FULL_WAVE
        and q("eligible_warps_per_scheduler") < 1.0
        and not _may_run_with_few_warps(q)
    )


def _may_run_with_few_warps(q: Quantities) -> bool:
    """Say whether a kernel may be a warp-specialised one, which runs with few warps on purpose."""
    if q.value("tensor_pipe_active_pct") is None:
        return says(q, "family", "gemm", "attention")
    return q("tensor_pipe_active_pct") >= PART_PCT


def is_on_cuda_cores(q: Quantities) -> bool:
    """Say whether a GEMM leaves the tensor cores that the GPU has unused."""
    return (
        says(q, "family", "gemm")
        and "gemv" not in (q.text("subtype") or "")
        and q("tensor_pipe_active_pct") < 100 * thresholds.INACTIVE
        and q("fp32_of_peak_pct") >= PART_PCT
        and not is_limited_by(q, "dram")
        and _has_tensor_cores(q)
    )


def is_occupancy_low(q: Quantities) -> bool:
    """Say whether few warps fit, where nothing says how many of them are ready to issue."""
    return (
        idles(q)
        and says(q, "occupancy_limiter", "registers", "shared_mem", "registers+shared_mem")
        and q("achieved_occupancy_pct") <= 50.0
        and q("theoretical_occupancy_pct") <= 50.0
        and q.value("eligible_warps_per_scheduler") is None
        and q("waves_per_multiprocessor") >= thresholds.FULL_WAVE
        and not _may_run_with_few_warps(q)
        and not has_short_blocks(q)
    )


def has_few_ready(q: Quantities) -> bool:
    """Say whether few warps are ready although many are there, where their state is not known."""
    return (
        idles(q)
        and q("eligible_warps_per_scheduler") < 1.0
        and q("achieved_occupancy_pct") > 50.0
        and q.value("top_stall_pct") is None
    )


def has_short_blocks(q: Quantities) -> bool:
    """Say whether fewer warps are there than fit, although there are blocks enough."""
    return (
        idles(q)
        and q("waves_per_multiprocessor") >= 2.0
        and q("achieved_occupancy_pct") < DRY * q("theoretical_occupancy_pct")
    )


def has_tail(q: Quantities) -> bool:
    """Say whether a last wave that is not full costs time: nothing was busy for most of it."""
    return q("tail_loss_pct") >= PART_PCT and not 100 * q("limiter_fraction") >= SATURATED_PCT


def is_never_read_back(q: Quantities) -> bool:
    """Say whether next to nothing of what was written to local memory was read: no spill."""
    return q("local_load_count") < 0.1 * q("local_store_count")


def is_clock_dependent(q: Quantities) -> bool:
    """Say whether the clock decides the classical answer, and arithmetic takes much of the time.

    Where neither the label says compute nor the arithmetic is busy, a faster clock changes nothing.
    """
    is_arithmetic = says(q, "bound", "compute") or q("flop_of_peak_pct") >= NEAR_BUSY_PCT
    return bool(q.label.get("clock_dependent")) and is_arithmetic


def has_bank_conflicts(q: Quantities) -> bool:
    """Say whether counted bank conflicts matter: shared memory is what is busy or waited for."""
    is_waiting = says(q, "top_stall", "short_scoreboard", "mio_throttle")
    return q("bank_conflicts_pct") >= PART_PCT and (is_limited_by(q, "l1") or is_waiting)


def has_excess_sectors(q: Quantities) -> bool:
    """Say whether sectors are touched in vain, and at a level of memory that matters."""
    is_in_vain = q("excess_sectors_pct") >= PART_PCT and moves_data(q)
    # Where caches hold the rest until it is wanted, DRAM does not see it.
    is_hidden = is_limited_by(q, "dram") and q("dram_bytes") < WASTE * q("ideal_sector_bytes")
    return is_in_vain and not is_hidden


def has_scattered_loads(q: Quantities) -> bool:
    """Say whether a load touches more sectors than contiguous threads need."""
    return q("sectors_per_load_request") > WIDE_REQUEST and moves_data(q)


def moves_data(q: Quantities) -> bool:
    """Say whether memory is used enough for the shape of accesses to matter."""
    is_waiting = q("stalled_for_data_pct") >= PART_PCT and not says(q, "regime", "small_grid")
    return says(q, "bound", "memory") and (is_waiting or 100 * q("limiter_fraction") >= 30.0)


def _has_tensor_cores(q: Quantities) -> bool:
    # The GTX 16 series is the one of 7.5 without.
    capability = q.text("compute_capability")
    return capability is not None and "GTX 16" not in (q.text("device_name") or "")


def is_at_its_tensor_roof(q: Quantities) -> bool:
    """Say whether tensor cores do as much as good libraries get out of them."""
    is_tensor = (q.text("limiter") or "").startswith("tensor_")
    return is_tensor and 100 * q("limiter_fraction") >= TENSOR_GOOD_PCT


def is_below_its_tensor_roof(q: Quantities) -> bool:
    """Say whether tensor cores are the limiter and do less than that."""
    is_tensor = (q.text("limiter") or "").startswith("tensor_")
    return is_tensor and 100 * q("limiter_fraction") < TENSOR_GOOD_PCT


def waits_in(q: Quantities, *states: str) -> bool:
    """Say whether warps of a launch that nothing limits are mostly in one of some states."""
    return idles(q) and says(q, "top_stall", *states) and q("top_stall_pct") >= MUCH_PCT
