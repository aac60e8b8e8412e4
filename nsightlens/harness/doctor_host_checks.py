"""The checks of ``nsightlens doctor`` that concern programs, Python and places for files."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from nsightlens.harness.doctor_check import Check, remedies_of_failure
from nsightlens.harness.doctor_torch import has_code_for

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from nsightlens.harness.doctor_check import Status
    from nsightlens.harness.doctor_torch import TorchFacts
    from nsightlens.harness.host import Host
    from nsightlens.harness.tools import Tool

__all__ = ["disk_check", "nvtx_check", "temporary_check", "tool_check", "torch_check"]

_FEW_BYTES = 200 * 10**6
"""[B] A report of one step has some megabytes, but with source counters hundreds."""
_MANY_BYTES = 2 * 10**9
_FULL_NAME = {"ncu": "Nsight Compute", "nsys": "Nsight Systems"}
_USE = {"ncu": "counters", "nsys": "the timeline"}
_APT = {"ncu": "nsight-compute", "nsys": "nsight-systems-cli"}
_CONDA = {"ncu": "nsight-compute", "nsys": "nsight-systems"}
_FOR_MODELS = "needed for `profile --model` and `ceilings`, not for programs of your own"


def tool_check(name: str, tools: Sequence[Tool], asked: str | None) -> Check:
    """Check that a profiler is installed and runs.

    Parameters
    ----------
    name
        ``ncu`` or ``nsys``.
    tools
        All candidates of both, best first.
    asked
        What the user named; None for nothing.
    """
    found = [tool for tool in tools if tool.name == name]
    used = next((tool for tool in found if tool.version), None)
    if used is None:
        return _no_tool(name, found, asked)
    others = [tool for tool in found if tool is not used]
    told = f"{_FULL_NAME[name]} {used.version_text}, {used.path} (by {used.found_by})"
    if others:
        told += f"; not used: {', '.join(map(_other, others))}"
    newer = next((tool for tool in others if tool.version[:2] > used.version[:2]), None)
    if newer is not None:
        remedy = f"To use the newer one: `--{name} {newer.path}`."
        return Check(name, "warning", told, (remedy,))
    return Check(name, "ok", told)


def _other(tool: Tool) -> str:
    if tool.version:
        return f"{tool.version_text} at {tool.path}"
    return f"{tool.path}, which {tool.version_text}"


def _no_tool(name: str, found: Sequence[Tool], asked: str | None) -> Check:
    """Say that a profiler cannot be used: without ncu there is nothing, nsys is for more."""
    status: Status = "problem" if name == "ncu" else "warning"
    install = (
        f"Install it: it comes with the CUDA toolkit; alone, with NVIDIA's repository set up, "
        f"`apt-get install {_APT[name]}`, or `conda install -c nvidia {_CONDA[name]}`."
    )
    point = (
        f"If it is installed elsewhere, point to it with `--{name} PATH` or "
        f"NSIGHTLENS_{name.upper()}."
    )
    if found:
        told = "; ".join(f"{tool.path} {tool.version_text}" for tool in found)
        return Check(name, status, f"cannot be used: {told}", (install, point))
    place = f"not at {asked}" if asked else "nowhere on PATH, beside CUDA, in /opt or in conda"
    told = f"{_FULL_NAME[name]} was not found, {place}: needed for {_USE[name]}"
    return Check(name, status, told, (install, point))


def temporary_check(host: Host) -> Check:
    """Check that ncu can lock its file."""
    own = "Use a folder of your own: `mkdir -p ~/tmp; export TMPDIR=~/tmp`."
    if not host.is_temporary_folder_writable:
        told = f"{host.temporary_folder} may not be written, and ncu locks a file there"
        return Check("temporary_folder", "problem", told, (own,))
    if host.lock_file_problem:
        return Check("temporary_folder", "problem", host.lock_file_problem,
                     remedies_of_failure("lock_file", host))  # fmt: skip
    return Check("temporary_folder", "ok", f"{host.temporary_folder} can be written")


def disk_check(host: Host, folder: Path) -> Check:
    """Check that there is room for reports, in a folder and in the temporary one."""
    try:
        free: int | None = shutil.disk_usage(folder).free
    except OSError:
        free = None
    if not os.access(folder, os.W_OK):
        told = f"{folder} may not be written: a run folder must be made elsewhere"
        return Check("disk", "warning", told, ("Name another place with `-o`.",))
    places = ((folder, free), (host.temporary_folder, host.free_temporary_bytes))
    known = [(place, size) for place, size in places if size is not None]
    if not known:
        return Check("disk", "unknown", "how much room there is cannot be told")
    text = ", ".join(f"{size / 1e9:.1f} GB in {place}" for place, size in known)
    least = min(size for _, size in known)
    if least >= _MANY_BYTES:
        return Check("disk", "ok", text)
    status: Status = "problem" if least < _FEW_BYTES else "warning"
    remedy = "Make room, or name other places with `-o` and TMPDIR."
    return Check("disk", status, f"{text}: little for reports", (remedy,))


def torch_check(torch: TorchFacts, host: Host) -> Check:
    """Check that torch can run the models that come with nsightlens on a GPU."""
    if torch.torch is None:
        told = f"not in {torch.executable}"
        if torch.problem:
            told = f"in {torch.executable} it fails: {torch.problem}"
        remedy = (
            "Install it for your GPU (https://pytorch.org), or name the Python that has it: "
            "`--python PATH`."
        )
        return Check("torch", "warning", f"{told}; {_FOR_MODELS}", (remedy,))
    told = f"torch {torch.torch}, Python {torch.python}"
    if torch.problem:
        return Check("torch", "warning", f"{told}: {torch.problem}")
    if torch.cuda is None:
        kind = "for ROCm" if torch.hip else "for the CPU only"
        told = f"{told}, a build {kind}: models run without the GPU"
        remedies = ("Install a build with CUDA (https://pytorch.org).",) if host.gpus else ()
        return Check("torch", "warning", told, remedies)
    return _torch_with_cuda(torch, host, f"{told}, built for CUDA {torch.cuda}")


def _torch_with_cuda(torch: TorchFacts, host: Host, told: str) -> Check:
    if not torch.is_available:
        remedy = (
            f"Compare the CUDA of the build with that of the driver "
            f"({host.cuda_version or 'not known'}), and look at CUDA_VISIBLE_DEVICES."
        )
        remedies = (remedy,) if host.gpus else ()
        return Check("torch", "warning", f"{told}, can use no GPU here", remedies)
    bad = [
        str(one.capability)
        for one in torch.devices
        if has_code_for(one.capability, torch.architectures) is False
    ]
    if bad:
        told += f", has no code for compute capability {', '.join(dict.fromkeys(bad))}"
        remedy = "Install a build of torch that has code for this GPU (https://pytorch.org)."
        return Check("torch", "warning", told, (remedy,))
    count = len(torch.devices)
    also = "".join(f", {name} {version}" for name, version in torch.packages)
    return Check("torch", "ok", f"{told}, can use {count} GPU{'' if count == 1 else 's'}{also}")


def nvtx_check(torch: TorchFacts) -> Check:
    """Check that steps can be marked."""
    if torch.nvtx is None:
        told = f"not in {torch.executable}: steps and operations could not be marked"
        return Check("nvtx", "warning", told, ("`pip install nvtx` in the Python of the target.",))
    return Check("nvtx", "ok", f"nvtx {torch.nvtx}")
