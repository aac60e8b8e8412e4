"""Launches of a fake GPU as an .ncu-rep, written by our own writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    from support.fake_counters import Metrics
    from support.fake_records import Launch, Stacks

COMMENTS = "Written by a fake of ncu for the tests of nsightlens: modelled, not measured."
_HOST = "fake-host"


def spec_of(launch: Launch, kernel: Kernel, metrics: Metrics, *, has_nvtx: bool) -> LaunchSpec:
    """Return a launch as it stands in a report."""
    name = launch.executable.rpartition("/")[2]
    block = launch.facts.get("block", (kernel.block_threads, 1, 1))
    x, y, z = block
    return LaunchSpec(
        name=kernel.name,
        mangled_name="",
        demangled_name=kernel.demangled_name,
        grid=kernel.grid,
        block=(x, y, z),
        metrics=metrics,
        process=ProcessInfo(launch.process, _HOST, name),
        thread_id=launch.thread,
        api_call_id=launch.number,
        nvtx=states_of(launch, launch.own, has_started=True) if has_nvtx else None,
        nvtx_other_threads={
            thread: states_of(launch, stacks, has_started=False)
            for thread, stacks in launch.stacks.items()
            if has_nvtx and thread != launch.thread
        },
    )


def states_of(launch: Launch, stacks: Stacks, *, has_started: bool) -> list[NvtxDomainState]:
    """Return the ranges of a launch as a report says them, by domain."""
    used = {*(name for of in launch.stacks.values() for name in of)}
    used |= {each.domain for each in launch.started}
    names = ["", *sorted(used - {""})]
    return [
        NvtxDomainState(
            domain_id=i,
            name=name or DEFAULT_DOMAIN,
            push_pop=tuple(NvtxRange(text) for text in stacks.get(name, ())),
            start_end=tuple(
                NvtxRange(each.text, range_id=each.number, thread_id=each.thread)
                for each in launch.started
                if has_started and each.domain == name
            ),
        )
        for i, name in enumerate(names)
    ]


def encode(
    launches: Sequence[LaunchSpec],
    *,
    command: str,
    program: str,
    version: str,
    clock_control: str,
    cache_control: str,
    replay_mode: str,
) -> bytes:
    """Return the report as bytes, with a session for each process."""
    processes = {launch.process.process_id: launch.process for launch in launches if launch.process}
    sessions = [
        SessionInfo(
            process=process,
            operating_system="Linux",
            computer_name=_HOST,
            command_line=program,
            profiler_command_line=command,
            versions={
                "CUDA Version": "12.8",
                "Display Driver Version": "570.86.15",
                "Nsight Compute Target": f"{version} (public-release)",
            },
            clock_control=clock_control,
            cache_control=cache_control,
            replay_mode=replay_mode,
            device_names=(H100_SXM.name,),
        )
        for process in processes.values()
    ]
    return encode_ncu_rep(ReportSpec(launches=launches, sessions=sessions, comments=COMMENTS))
