"""Usage: how long every resource was needed, for each row that gets a label.

A row is a launch, or a group of launches whose times add up. Times are roofline times: what the
work on a resource needs at its peak, or the share of the duration in which the resource was active.
What was not measured is bounded: every pipe is part of ``sm__throughput``, every memory level part
of ``gpu__compute_memory_throughput``. Rules on intervals never turn missing metrics into a label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "FLOP_RESOURCES",
    "INDEX",
    "IS_COMPUTE",
    "IS_MEMORY",
    "RESOURCES",
    "TENSOR",
    "UNITS",
    "Usage",
    "work_unit",
]

TENSOR = (
    "tensor_fp64", "tensor_tf32", "tensor_fp16", "tensor_bf16", "tensor_fp8", "tensor_fp4",
    "tensor_int8", "tensor_int4", "tensor_int1",
)  # fmt: skip
"""Tensor work by data type, in the order of the columns of ``launches``."""

RESOURCES: tuple[str, ...] = (
    *TENSOR, "tensor", "fp64", "fp32", "fp16", "fma", "integer", "xu", "issue", "sm",
    "dram", "l2", "l1", "memory",
)  # fmt: skip
"""Every resource. ``tensor`` is tensor work of an unknown data type, ``fma`` the pipe that FP32,
integer multiply-adds and, from 8.6 on, FP16 share where nothing tells which; ``sm`` and ``memory``
are the busiest part of their side where the parts were not collected."""

INDEX = {name: row for row, name in enumerate(RESOURCES)}
FLOP_RESOURCES = RESOURCES[: INDEX["fma"]]
"""The resources with a ridge point: those that `Usage.flop_low_ns` has rows for, in its order."""

IS_MEMORY = np.array([name in {"dram", "l2", "l1", "memory"} for name in RESOURCES])
IS_COMPUTE = ~IS_MEMORY

UNITS = ("FLOP", "op", "B")
"""Units of work; `work_unit` holds indices into it."""

_UNIT_OF = np.array(
    [
        UNITS.index("B" if is_memory else "op" if "int" in name else "FLOP")
        for name, is_memory in zip(RESOURCES, IS_MEMORY, strict=True)
    ]
)


def work_unit(resource: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the unit of work on each resource, as an index into `UNITS`."""
    unit: NDArray[np.intp] = _UNIT_OF[resource]
    return unit


@dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """Roofline times and what they were made from, one column per row to label.

    R is the number of `RESOURCES`, F that of `FLOP_RESOURCES`, n that of rows.

    Parameters
    ----------
    duration_ns
        [ns] NaN where it was not measured. Shape (n,).
    time_ns
        [ns] How long each resource was busy: its roofline time, or the time in which it was active
        where that is longer or the only one known; NaN where unknown. Shape (R, n).
    is_counted
        The time comes from counted work, not from activity. Shape (R, n).
    is_of_active_cycles
        The time is a share of active cycles, which idle SMs make larger than that of elapsed ones.
        Shape (R, n).
    work
        [FLOP, op or B] NaN where unknown. Shape (R, n).
    peak_per_s
        [FLOP/s, op/s or B/s] NaN where unknown. Shape (R, n).
    peak_source
        Index into `nsightlens.devices.PEAK_SOURCES`, -1 where unknown. Shape (R, n).
    is_peak_assumed
        The peak is that of other products: how this one was cut is not known. Shape (R, n).
    compute_ceiling_ns, memory_ceiling_ns
        [ns] No resource of that side needed longer; infinite where nothing bounds it. Shape (n,).
    is_compute_complete, is_memory_complete
        Every part of the side was measured: the ceiling is the maximum of ``time_ns``. Shape (n,).
    flop_ns, flop_low_ns, flop_high_ns
        [ns] Time for floating-point and tensor operations: of counted ones (NaN where they were
        not), and bounds. Shape (F, n).
    flop_most_ns
        [ns] Time in which the pipe of each type was active; infinite where it is unknown. Shape
        (F, n).
    has_flop_counts
        FP64, FP32 and tensor work was counted, wherever these pipes were active. Shape (n,).
    uncounted_flop
        [FLOP] The most that FP16 on CUDA cores can have done where it was not counted; zero where
        it was, infinite where nothing bounds it. Shape (n,).
    dram_ns
        [ns] Time for DRAM bytes, counted where they were; NaN where unknown. Shape (n,).
    dram_percent_ns
        [ns] The same by the percentage of peak; NaN where unknown. Shape (n,).
    is_dram_counted
        They were. Shape (n,).
    is_partition
        The GPU is a part of one (MIG), whose share of the DRAM peak is not known. Shape (n,).
    is_analytic
        The usage is that of annotated shapes, not measured. Shape (n,).
    boost_ratio
        [1] SM clock of the report over the boost clock; NaN where unknown. Shape (n,).
    """

    duration_ns: NDArray[np.float64]
    time_ns: NDArray[np.float64]
    is_counted: NDArray[np.bool_]
    is_of_active_cycles: NDArray[np.bool_]
    work: NDArray[np.float64]
    peak_per_s: NDArray[np.float64]
    peak_source: NDArray[np.int8]
    is_peak_assumed: NDArray[np.bool_]
    compute_ceiling_ns: NDArray[np.float64]
    memory_ceiling_ns: NDArray[np.float64]
    is_compute_complete: NDArray[np.bool_]
    is_memory_complete: NDArray[np.bool_]
    flop_ns: NDArray[np.float64]
    flop_low_ns: NDArray[np.float64]
    flop_high_ns: NDArray[np.float64]
    flop_most_ns: NDArray[np.float64]
    has_flop_counts: NDArray[np.bool_]
    uncounted_flop: NDArray[np.float64]
    dram_ns: NDArray[np.float64]
    dram_percent_ns: NDArray[np.float64]
    is_dram_counted: NDArray[np.bool_]
    is_partition: NDArray[np.bool_]
    is_analytic: NDArray[np.bool_]
    boost_ratio: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.duration_ns)

    def is_open(self) -> NDArray[np.bool_]:
        """Say where a side may have been busy without anything having measured it. Shape (n,)."""
        return ~(np.isfinite(self.compute_ceiling_ns) & np.isfinite(self.memory_ceiling_ns))

    def fraction(self) -> NDArray[np.float64]:
        """Return roofline time over duration [1], NaN where unknown. Shape (R, n)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.duration_ns > 0, self.time_ns / self.duration_ns, np.nan)
