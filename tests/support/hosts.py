"""Hosts for tests: file systems with what kernel and driver would show, and small programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["ADMIN", "USER", "host_root", "script", "status"]

ADMIN = 1 << 21 | 1 << 38 | 1 << 19
"""Capabilities of an administrator: CAP_SYS_ADMIN, CAP_PERFMON and CAP_SYS_PTRACE."""
USER = 0
_WHOLE = "         0          0 4294967295\n"


def status(*, user_id: int = 1000, capabilities: int = USER) -> str:
    """Return ``/proc/self/status`` of a process."""
    ids = "\t".join([str(user_id)] * 4)
    return (
        f"Name:\tpython\nUid:\t{ids}\nCapPrm:\t{capabilities:016x}\nCapEff:\t{capabilities:016x}\n"
    )


def host_root(
    folder: Path,
    files: Mapping[str, str] | None = None,
    *,
    is_restricted: bool | None = True,
    user_id: int = 1000,
    capabilities: int = USER,
    uid_map: str = _WHOLE,
) -> Path:
    """Make the file system of a machine with NVIDIA's driver, and return its root.

    Parameters
    ----------
    folder
        Becomes the root.
    files
        More files by their paths, or others in place of these.
    is_restricted
        Only administrators may read counters; None for no driver at all.
    user_id, capabilities, uid_map
        Of the process.
    """
    content = {
        "proc/version": "Linux version 6.8.0-45-generic (buildd@host) (gcc) #45-Ubuntu SMP\n",
        "proc/self/status": status(user_id=user_id, capabilities=capabilities),
        "proc/self/uid_map": uid_map,
        "proc/1/cgroup": "0::/init.scope\n",
        "proc/meminfo": "MemTotal:       131072000 kB\nMemAvailable:   100000000 kB\n",
        "proc/modules": "nvidia 1 0 - Live\n",
        "etc/os-release": 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 24.04.1 LTS"\n',
        "tmp/keep": "",
    }
    if is_restricted is not None:
        content |= {
            "proc/driver/nvidia/version": (
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release\n"
            ),
            "proc/driver/nvidia/params": (
                f"ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: {int(is_restricted)}\n"
            ),
            "dev/nvidia0": "",
        }
    for name, text in {**content, **(files or {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def script(path: Path, text: str) -> Path:
    """Write a program of the shell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path
