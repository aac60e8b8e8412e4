"""What a host is besides its GPU: system, container, cloud, rights of this process, its neighbours.

Everything is read from files below a root, most of them in ``/proc`` and ``/sys``, and from
variables; None or "unknown" where they do not tell.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = [
    "ProcessRights",
    "cloud_of",
    "container_of",
    "free_memory_of",
    "is_dcgm_among",
    "is_wsl",
    "kernel_of",
    "process_of",
    "running_profilers",
    "system_of",
    "text_of",
]

_CAPABILITIES = {"CAP_SYS_PTRACE": 19, "CAP_SYS_ADMIN": 21, "CAP_PERFMON": 38}
"""Bits of the masks in /proc/self/status (linux/capability.h)."""
_WHOLE_RANGE = 4294967295
"""Ids of users that the first user namespace has."""
_CGROUPS = (
    ("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"), ("lxc", "lxc"),
)  # fmt: skip
_VENDORS = (
    ("amazon ec2", "aws"), ("google", "gcp"), ("oraclecloud", "oracle"),
    ("alibaba cloud", "alibaba"), ("7783-7084-3265-9085-8269-3286-77", "azure"),
    ("digitalocean", "digitalocean"), ("hetzner", "hetzner"),
)  # fmt: skip
"""In what the firmware says; the number is the asset tag of every machine of Azure."""
_RENTED = (
    ("RUNPOD_POD_ID", "runpod"), ("COLAB_RELEASE_TAG", "colab"),
    ("KAGGLE_KERNEL_RUN_TYPE", "kaggle"), ("MODAL_TASK_ID", "modal"),
    ("VAST_CONTAINERLABEL", "vast.ai"),
)  # fmt: skip
"""Variables of services whose users get a container, never the machine."""
_DCGM = ("nv-hostengine", "dcgm-exporter", "dcgmi")
_PROFILERS = (*_DCGM, "ncu", "nsys", "nsys-launcher", "nvprof", "dcgmproftester", "nv-nsight-cu-cl")
"""Names of processes, of which the kernel keeps 15 characters."""


class ProcessRights(NamedTuple):
    """What this process may do."""

    is_root: bool | None
    capabilities: tuple[str, ...] | None
    has_own_user_namespace: bool | None


def text_of(path: Path) -> str | None:
    """Return the text of a file, without blanks around it; None where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip("\x00 \t\r\n")
    except OSError:
        return None


def process_of(root: Path) -> ProcessRights:
    """Return what this process may do."""
    status = text_of(root / "proc/self/status") or ""
    uid = re.search(r"^Uid:\s+\d+\s+(\d+)", status, re.MULTILINE)
    mask = re.search(r"^CapEff:\s+([0-9a-fA-F]+)", status, re.MULTILINE)
    held = None
    if mask is not None:
        bits = int(mask[1], 16)
        held = tuple(name for name, bit in _CAPABILITIES.items() if bits >> bit & 1)
    return ProcessRights(
        is_root=None if uid is None else uid[1] == "0",
        capabilities=held,
        has_own_user_namespace=_has_own_namespace(text_of(root / "proc/self/uid_map")),
    )


def _has_own_namespace(uid_map: str | None) -> bool | None:
    if not uid_map:
        return None
    return [int(word) for word in uid_map.split() if word.isdecimal()] != [0, 0, _WHOLE_RANGE]


def container_of(root: Path, variables: Mapping[str, str]) -> str:
    """Return the kind of container that this is; ``none`` for none."""
    secrets = (root / "var/run/secrets/kubernetes.io", root / "run/secrets/kubernetes.io")
    signs = (
        (variables.get("KUBERNETES_SERVICE_HOST") or _exists(*secrets), "kubernetes"),
        (_exists(root / "run/.containerenv"), "podman"),
        (_exists(root / ".dockerenv"), "docker"),
        (variables.get("APPTAINER_CONTAINER") or _exists(root / ".singularity.d"), "apptainer"),
    )
    for is_there, kind in signs:
        if is_there:
            return kind
    said = text_of(root / "run/systemd/container") or variables.get("container") or ""
    cgroups = text_of(root / "proc/1/cgroup")
    for word, kind in _CGROUPS:
        if word in said or word in (cgroups or ""):
            return kind
    if not said and cgroups is None:
        return "unknown"
    return "other" if said else "none"


def _exists(*paths: Path) -> bool:
    try:
        return any(path.exists() for path in paths)
    except OSError:
        return False


def cloud_of(root: Path, variables: Mapping[str, str]) -> str | None:
    """Return whose machine this is, as far as its firmware or a variable tells."""
    for variable, name in _RENTED:
        if variables.get(variable):
            return name
    folder = root / "sys/class/dmi/id"
    files = ("sys_vendor", "product_name", "bios_vendor", "chassis_asset_tag", "board_vendor")
    said = " ".join(text_of(folder / file) or "" for file in files).lower()
    return next((name for word, name in _VENDORS if word in said), None)


def is_wsl(root: Path) -> bool:
    """Return whether this is Linux under Windows."""
    return "microsoft" in (text_of(root / "proc/version") or "").lower()


def system_of(root: Path) -> str | None:
    """Return the name of the system, such as ``Ubuntu 22.04.4 LTS``."""
    found = re.search(
        r'^PRETTY_NAME="?([^"\n]+)', text_of(root / "etc/os-release") or "", re.MULTILINE
    )
    return found[1] if found else None


def kernel_of(root: Path) -> str | None:
    """Return the version of the kernel."""
    found = re.match(r"Linux version (\S+)", text_of(root / "proc/version") or "")
    return found[1] if found else None


def free_memory_of(root: Path) -> int | None:
    """Return how much memory [B] programs could still have."""
    found = re.search(
        r"^MemAvailable:\s+(\d+) kB", text_of(root / "proc/meminfo") or "", re.MULTILINE
    )
    return int(found[1]) * 1024 if found else None


def running_profilers(root: Path) -> tuple[str, ...]:
    """Return the programs that may hold the counters of a GPU, as ``name (process id)``."""
    try:
        processes = sorted(
            (p for p in (root / "proc").iterdir() if p.name.isdecimal()), key=_number
        )
    except OSError:
        return ()
    named = ((text_of(process / "comm"), process.name) for process in processes)
    return tuple(f"{name} ({number})" for name, number in named if name in _PROFILERS)


def _number(path: Path) -> int:
    return int(path.name)


def is_dcgm_among(running: Iterable[str], container: str) -> bool | None:
    """Return whether DCGM runs; a container does not show what runs beside it."""
    if any(one.partition(" ")[0] in _DCGM for one in running):
        return True
    return False if container == "none" else None
