"""A trace of two decode steps and a prefill whose every nanosecond is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.traces import Call, Copy, Events, Kernel, Range, write_trace

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["decode_events", "write_decode_trace"]

DECODE = "step v1 phase=decode batch_size={0} context=500 query=1"


def decode_events() -> Events:
    """Return the events; the steps are in the domain of `nsightlens.annotate`.

    Step 0 (1000 to 2000 on the device): kernels 1000-1200, 1250-1400, a copy 1400-1500 (pinned, to
    the device), a kernel 1700-2000. Before it, at 100-200, a kernel of the warm-up in no step. Step
    1: kernels 2600-2700 and 2800-3000.
    """
    return Events(
        kernels=[
            Kernel(100, 200, "warm_up", 1),
            Kernel(1000, 1200, "flash_fwd_splitkv_kernel", 2),
            Kernel(1250, 1400, "rms_norm_kernel", 3),
            Kernel(1700, 2000, "cutlass_80_wmma_tensorop_f16_s161616gemm_f16", 5),
            Kernel(2600, 2700, "rms_norm_kernel", 6),
            Kernel(2800, 3000, "rms_norm_kernel", 7),
        ],
        copies=[Copy(1400, 1500, bytes=1000, kind=1, source=1, destination=2, correlation=4)],
        calls=[
            Call(50, 60, correlation=1),
            Call(900, 910, correlation=2),
            Call(1190, 1240, correlation=3),  # still running when the device goes idle: launch
            Call(1300, 1310, "cudaMemcpyAsync_v3020", correlation=4),
            Call(1650, 1660, correlation=5),  # the thread did nothing for CUDA before: host
            Call(1700, 2100, "cudaDeviceSynchronize_v3020", correlation=90),
            Call(2500, 2510, correlation=6),  # after a wait for the device: sync
            Call(2520, 2530, correlation=7),  # long queued when the device goes idle: queued
        ],
        ranges=[
            Range(880, 1690, DECODE.format(8), domain=1),
            Range(2490, 2540, DECODE.format(16), domain=1),
            Range(3500, 3600, DECODE.format(32), domain=1),  # launches nothing
        ],
        domains={(1000, 1): "nsightlens"},
    )


def write_decode_trace(folder: Path) -> Path:
    """Write it as an export, and return its path."""
    return write_trace(decode_events(), folder / "decode.sqlite")
