"""Analytic model of a GPU: how long a kernel takes that does so much work.

Time follows from work by a roofline with stated efficiencies. Nothing is measured and nothing is
random. `nsightlens.example.layer` counts the work of each kernel, `nsightlens.example.counters`
says work and time as metrics.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "FP16_BYTES",
    "FP32_BYTES",
    "H100_SXM",
    "SECTOR_BYTES",
    "Family",
    "Gpu",
    "Kernel",
    "duration_ns",
]

FP16_BYTES = 2
FP32_BYTES = 4
SECTOR_BYTES = 32

# Efficiencies that the model states instead of measuring: what good kernels reach on an H100.
DRAM_EFFICIENCY = 0.92
TENSOR_EFFICIENCY = 0.75
DRAM_LATENCY_S = 650e-9

Family = Literal[
    "gemm", "attention", "attention_merge", "norm", "activation", "add", "kv_cache", "rope"
]


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU as the model sees it, SM clock locked to base as ncu does by default.

    Rates are dense and per SM clock: ``tensor_op_per_cycle`` is wgmma's, mma.sync reaches two
    thirds of it on this architecture.
    """

    name: str
    sm_count: int
    sm_clock_hz: float
    l2_clock_hz: float
    dram_clock_hz: float
    dram_bytes_per_cycle: float
    l2_bytes_per_cycle: float
    l1_bytes_per_sm_and_cycle: float
    tensor_op_per_cycle: float
    fp32_inst_per_cycle: float
    fp64_inst_per_cycle: float

    @property
    def dram_bytes_per_s(self) -> float:
        """Peak DRAM bandwidth [B/s]."""
        return self.dram_bytes_per_cycle * self.dram_clock_hz

    def tensor_op_per_s(self, instruction: str) -> float:
        """Return the dense fp16 peak [FLOP/s] of ``hgmma`` (wgmma) or ``hmma`` (mma.sync)."""
        share = 1.0 if instruction == "hgmma" else 2 / 3
        return self.tensor_op_per_cycle * share * self.sm_clock_hz


H100_SXM = Gpu(
    name="NVIDIA H100 80GB HBM3",
    sm_count=132,
    sm_clock_hz=1.59e9,
    l2_clock_hz=1.7e9,
    dram_clock_hz=2.619e9,
    dram_bytes_per_cycle=1280.0,
    l2_bytes_per_cycle=5120.0,
    l1_bytes_per_sm_and_cycle=128.0,
    tensor_op_per_cycle=540672.0,
    fp32_inst_per_cycle=16896.0,
    fp64_inst_per_cycle=8448.0,
)
"""H100 SXM5 80 GB: 5120-bit HBM3 at 2619 MHz, so 3352 GB/s; 50 MB of L2 in 80 slices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One launch: its shape on the GPU and the work it does.

    Parameters
    ----------
    operation
        What the layer calls it, such as ``"qkv_proj"``.
    useful_flop
        [FLOP] Operations that the mathematics needs.
    read_bytes, written_bytes
        [B] Bytes that must come from and go to DRAM, each once.
    tensor_op
        [FLOP] Operations that the tensor cores execute, padding of tiles included.
    tensor_instruction
        ``"hgmma"`` (wgmma) or ``"hmma"`` (mma.sync).
    fadd, fmul, ffma, special
        [thread inst] FP32 instructions on CUDA cores, and those of the special function unit.
    l2_bytes, shared_bytes, l1_bytes
        [B] Bytes read from L2, moved by shared memory, and looked up in L1.
    warp_instructions
        [warp inst] All instructions, as an estimate.
    floor_s
        [s] Time that passes whatever the work: launch, first load, last store.
    bytes_in_flight
        [B] Bytes that one block keeps on the way from DRAM.
    wave_efficiency
        [1] Share of the SM-time of all waves in which an SM has a block.
    """

    operation: str
    family: Family
    name: str
    demangled_name: str
    grid: tuple[int, int, int]
    block_threads: int
    registers: int
    shared_bytes_per_block: int = 0
    useful_flop: float
    read_bytes: float
    written_bytes: float
    tensor_op: float = 0.0
    tensor_instruction: Literal["hgmma", "hmma"] = "hgmma"
    fadd: float = 0.0
    fmul: float = 0.0
    ffma: float = 0.0
    special: float = 0.0
    l2_bytes: float
    shared_bytes: float = 0.0
    l1_bytes: float = 0.0
    warp_instructions: float
    floor_s: float
    bytes_in_flight: float
    wave_efficiency: float = 1.0

    @property
    def block_count(self) -> int:
        """Blocks of the grid."""
        return math.prod(self.grid)

    @property
    def bytes(self) -> float:
        """DRAM bytes [B]."""
        return self.read_bytes + self.written_bytes


def duration_ns(kernel: Kernel, gpu: Gpu = H100_SXM) -> float:
    """Return the duration [ns] of a kernel, in the steps of 32 ns of ncu's clock.

    t = floor + max(bytes / (e_dram BW u), tensor operations / (e_tensor F w)), where u is the
    share of the bandwidth that the bytes in flight can fill by Little's law (bytes in flight =
    bandwidth x latency), and w the wave efficiency.
    """
    in_flight = kernel.bytes_in_flight * kernel.block_count
    filled = min(1.0, in_flight / (gpu.dram_bytes_per_s * DRAM_LATENCY_S))
    dram_s = kernel.bytes / (DRAM_EFFICIENCY * gpu.dram_bytes_per_s * filled)
    tensor_peak = gpu.tensor_op_per_s(kernel.tensor_instruction)
    tensor_s = kernel.tensor_op / (TENSOR_EFFICIENCY * tensor_peak * kernel.wave_efficiency)
    return 32.0 * math.ceil((kernel.floor_s + max(dram_s, tensor_s)) * 1e9 / 32)
