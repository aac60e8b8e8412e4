"""Modelled steps as a report to be written, which says everywhere that nothing was measured.

Says so wherever a report can: in the name of its process and of its host, in its command line and
in its comment. Each launch lies in NVTX ranges of our own annotations, version 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nsightlens.example.counters import metrics_of
from nsightlens.example.model import H100_SXM
from nsightlens.ncurep.model import (
    DEFAULT_DOMAIN,
    NvtxDomainState,
    NvtxRange,
    ProcessInfo,
    SessionInfo,
)
from nsightlens.ncurep.spec import LaunchSpec, ReportSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.example.model import Kernel

__all__ = ["Step", "report_of"]


class Step(NamedTuple):
    """One decode step of a synthetic sweep.

    Parameters
    ----------
    batch_size
        Sequences, each with one new token.
    context
        [token] KV cache of each sequence.
    kernels
        Its launches, in order.
    """

    batch_size: int
    context: int
    kernels: Sequence[Kernel]


def report_of(steps: Sequence[Step], *, what: str, module: str, comments: str) -> ReportSpec:
    """Return the steps as a report on the modelled H100.

    Parameters
    ----------
    steps
        In order.
    what
        What the name of the process says after ``nsightlens synthetic``.
    module
        What wrote it.
    comments
        What the report says of itself.
    """
    process = ProcessInfo(
        process_id=1, host_name="synthetic", process_name=f"nsightlens synthetic {what}"
    )
    session = SessionInfo(
        process=process,
        computer_name="synthetic",
        profiler_command_line=f"synthetic: written by {module}, not measured",
        versions={"nsightlens synthetic example": "1"},
        clock_control="base",
        device_names=(H100_SXM.name,),
    )
    launches = [(step, kernel) for step in steps for kernel in step.kernels]
    return ReportSpec(
        launches=[_launch(step, kernel, i) for i, (step, kernel) in enumerate(launches, 1)],
        sessions=[session],
        process=process,
        comments=comments,
    )


def _launch(step: Step, kernel: Kernel, number: int) -> LaunchSpec:
    return LaunchSpec(
        name=kernel.name,
        mangled_name="",
        demangled_name=kernel.demangled_name,
        grid=kernel.grid,
        block=(kernel.block_threads, 1, 1),
        metrics=metrics_of(kernel, H100_SXM),
        api_call_id=number,
        nvtx=_ranges(step, kernel),
    )


def _ranges(step: Step, kernel: Kernel) -> list[NvtxDomainState]:
    """Return the ranges of our annotations, version 1, that a launch lies in."""
    around = f"step v1 phase=decode batch_size={step.batch_size} context={step.context} query=1"
    operation = (
        f"op v1 name={kernel.operation} flop={kernel.useful_flop:.0f} bytes={kernel.bytes:.0f}"
    )
    return [
        NvtxDomainState(domain_id=0, name=DEFAULT_DOMAIN),
        NvtxDomainState(
            domain_id=1,
            name="nsightlens",
            push_pop=(NvtxRange(around), NvtxRange(operation)),
        ),
    ]
