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
    "MUCH_PCT",
    "PART_PCT",
    "SATURATED_PCT",
    "SHORT_NS",
    "TENSOR_GOOD_PCT",
    "WASTE",
    "WIDE_REQUEST",
    "idles",
    "is_at_its_tensor_roof",
    "is_below_its_tensor_roof",
    "is_limited_by",
    "is_occupancy_limited_by",
    "is_on_cuda_cores",
    "moves_data",
    "says",
    "waits_in",
]

BUSY_PCT = 100 * thresholds.BUSY
SATURATED_PCT = 100 * thresholds.SATURATED
PART_PCT = 20.0
"""[%] From this share on, one cause is worth a change of the code."""
MUCH_PCT = 30.0
"""[%] From this share of warp latency on, one state is what a launch waits in."""
WASTE = 1.25
"""[1] More work than needed by this factor is worth a look."""
FULL_ENOUGH = 0.8
"""[1] A grid that fills this share of the GPU loses little by the rest."""
WIDE_REQUEST = 20.0
"""[sector] A contiguous load of 16 bytes a thread touches 16, 17 where it is not aligned."""
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
        and not q("waves_per_multiprocessor") < thresholds.FULL_WAVE
        and q("eligible_warps_per_scheduler") < 1.0
        # Warp-specialised matrix kernels run with few warps on purpose.
        and not q("tensor_pipe_active_pct") >= PART_PCT
    )


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
