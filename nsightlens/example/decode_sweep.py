"""The bundled report: one layer of OPT-1.3B in decode, batch 1 to 512, on a modelled H100 SXM.

Written by `nsightlens.ncurep.write` from `nsightlens.example.layer` and
`nsightlens.example.counters`. It was never measured, and says so wherever a report can: in the
name of its file, of its process, of its host, in its command line and in its comment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.example.counters import metrics_of
from nsightlens.example.layer import OPT_1_3B, decode_layer
from nsightlens.example.model import H100_SXM
from nsightlens.ncurep.model import (
    DEFAULT_DOMAIN,
    NvtxDomainState,
    NvtxRange,
    ProcessInfo,
    SessionInfo,
)
from nsightlens.ncurep.spec import LaunchSpec, ReportSpec
from nsightlens.ncurep.write import encode_ncu_rep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.example.model import Kernel

__all__ = ["BATCH_SIZES", "CONTEXT", "FILE_NAME", "decode_sweep", "encode_decode_sweep"]

FILE_NAME = "decode_sweep_synthetic.ncu-rep"
BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
CONTEXT = 500
"""Tokens in the cache of every sequence: the paper's prompt of 161 and its 338 output tokens."""

_PROCESS = ProcessInfo(
    process_id=1, host_name="synthetic", process_name="nsightlens synthetic decode sweep"
)
_SESSION = SessionInfo(
    process=_PROCESS,
    computer_name="synthetic",
    profiler_command_line="synthetic: written by nsightlens.example.decode_sweep, not measured",
    versions={"nsightlens synthetic example": "1"},
    clock_control="base",
    device_names=(H100_SXM.name,),
)
_COMMENTS = (
    "Synthetic report of the nsightlens package. Every number comes from an analytic model of one"
    " OPT-1.3B layer (decode, fp16, context 500) on an H100 SXM; nothing was measured."
)


def encode_decode_sweep() -> bytes:
    """Return the bundled report as bytes, the same ones on every machine."""
    return encode_ncu_rep(decode_sweep())


def decode_sweep(batch_sizes: Sequence[int] = BATCH_SIZES, context: int = CONTEXT) -> ReportSpec:
    """Return the sweep as a report to be written: the layer's launches, batch after batch.

    Parameters
    ----------
    batch_sizes
        Sequences of each step.
    context
        Tokens in the KV cache of each sequence.

    Examples
    --------
    >>> len(decode_sweep(batch_sizes=[8]).launches)
    11
    """
    steps = [
        (batch_size, kernel)
        for batch_size in batch_sizes
        for kernel in decode_layer(batch_size, context, OPT_1_3B, H100_SXM)
    ]
    launches = [
        _launch(kernel, number, batch_size, context)
        for number, (batch_size, kernel) in enumerate(steps, 1)
    ]
    return ReportSpec(launches=launches, sessions=[_SESSION], process=_PROCESS, comments=_COMMENTS)


def _launch(kernel: Kernel, number: int, batch_size: int, context: int) -> LaunchSpec:
    return LaunchSpec(
        name=kernel.name,
        mangled_name="",
        demangled_name=kernel.demangled_name,
        grid=kernel.grid,
        block=(kernel.block_threads, 1, 1),
        metrics=metrics_of(kernel, H100_SXM),
        api_call_id=number,
        nvtx=_ranges(kernel, batch_size, context),
    )


def _ranges(kernel: Kernel, batch_size: int, context: int) -> list[NvtxDomainState]:
    """Return the ranges of our annotations, version 1, that a launch lies in."""
    step = f"step v1 phase=decode batch_size={batch_size} context={context} query=1"
    operation = (
        f"op v1 name={kernel.operation} flop={kernel.useful_flop:.0f} bytes={kernel.bytes:.0f}"
    )
    return [
        NvtxDomainState(domain_id=0, name=DEFAULT_DOMAIN),
        NvtxDomainState(
            domain_id=1,
            name="nsightlens",
            push_pop=(NvtxRange(step), NvtxRange(operation)),
        ),
    ]
