"""What goes wrong under ncu, on request, in the words of the real tool.

``FAKE_NCU_FAIL=KIND`` or ``KIND@EXPRESSION``; with an expression only launches fail whose ranges
or name it finds, so that one batch size can fail alone. Words in `UNVERIFIED` are ours: nobody
wrote down the real ones.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from support.fake_records import Launch

SWITCH = "FAKE_NCU_FAIL"

AT_START: dict[str, tuple[str, ...]] = {
    "stub": (
        (
            "==ERROR== Nsight Compute failed to connect to the CUDA driver"
            " (stub libcuda.so[.1] on path?)."
        ),
    ),
    "lock": (
        (
            "==ERROR== Failed to open/create lock file /tmp/nsight-compute-lock."
            " Please check that your process has write access to the file."
        ),
    ),
}
"""Failures before any launch, by kind; ``stub`` comes from the injected library, so on stderr."""

_SHUT_DOWN = (
    "==PROF== Trying to shutdown target application",
    "==ERROR== An error occurred while trying to profile.",
)

AT_LAUNCH: dict[str, tuple[str, ...]] = {
    "permission": (
        (
            "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU"
            " Performance Counters on the target device 0. For instructions on enabling permissions"
            " and to get more information see https://developer.nvidia.com/ERR_NVGPUCTRPERM"
        ),
    ),
    "resource": (
        (
            "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no"
            " other tool (like DCGM) is concurrently collecting profiling data. See"
            " https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html#faq for more"
            " details."
        ),
        '==ERROR== Failed to profile "{kernel}" in process {process}',
        *_SHUT_DOWN,
    ),
    "oom": (
        (
            "==WARNING== Backing up device memory in system memory. Kernel replay might be slow."
            ' Consider using "--replay-mode application" to avoid memory save-and-restore.'
        ),
        "==ERROR== Failed to prepare kernel for profiling",
        "==ERROR== An error was reported by the driver: out of memory",
        '==ERROR== Failed to profile "{kernel}" in process {process}',
        *_SHUT_DOWN,
    ),
    "prepare": (
        "==ERROR== Failed to prepare kernel for profiling",
        "==ERROR== Unknown Error on device 0.",
        '==ERROR== Failed to profile "{kernel}" in process {process}',
        *_SHUT_DOWN,
    ),
    "launch": ("==ERROR== LaunchFailed", *_SHUT_DOWN),
    "incompatible": (
        (
            "==ERROR== Cuda driver is not compatible with Nsight Compute. To install latest driver"
            " from NVIDIA please visit - https://www.nvidia.com/Download/index.aspx"
        ),
    ),
    "unsupported": (
        (
            "==ERROR== Profiling is not supported on device 0."
            " To find out supported GPUs refer --list-chips option."
        ),
    ),
    "mig": (
        (
            "==ERROR== Failed to access the following metrics. When profiling on a MIG instance, it"
            " is not possible to collect metrics from GPU units that are shared with other MIG"
            " instances: dram__bytes_read.sum, dram__bytes_write.sum, lts__t_bytes.sum"
        ),
        '==ERROR== Failed to profile "{kernel}" in process {process}',
        *_SHUT_DOWN,
    ),
}
"""Failures at a launch, by kind."""

UNKNOWN_METRIC = (
    "==ERROR== Failed to find metric {metric}",
    '==ERROR== Failed to profile "{kernel}" in process {process}',
    *_SHUT_DOWN,
)
DISK_FULL = "==ERROR== Failed to write report file '{file}': No space left on device"
UNVERIFIED = (UNKNOWN_METRIC[0], DISK_FULL, AT_LAUNCH["oom"][2])

AT_END = ("disk_full", "silent", "truncated")
"""Failures of the report: a write that stops half way, none at all, and one that is cut."""
HANGS = "hang"
"""The profiler waits for ever at a launch."""
DIES = "segfault"
"""The profiler itself is ended by a signal."""


class Failure(NamedTuple):
    """What is to go wrong."""

    kind: str
    expression: str

    def concerns(self, launch: Launch, kernel: str) -> bool:
        """Return whether this launch is to fail."""
        texts = [text for stack in launch.own.values() for text in stack]
        return any(re.search(self.expression, text) for text in (*texts, kernel))


def failure() -> Failure:
    """Return what the environment asks for; of kind ``""`` where nothing is to fail."""
    kind, _, expression = os.environ.get(SWITCH, "").partition("@")
    known = {"", *AT_START, *AT_LAUNCH, *AT_END, HANGS, DIES}
    if kind not in known:
        raise SystemExit(f"{SWITCH}={kind}: it can be {', '.join(sorted(known))}")
    return Failure(kind, expression)
