"""The driver of NVIDIA's on a host: its version, what it permits, its library and its hardware."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.harness.gpus import Gpu
from nsightlens.harness.host_kind import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "Driver",
    "are_counters_restricted",
    "driver_of",
    "find_smi",
    "gpus_of_driver",
    "has_device_files",
    "has_hardware",
    "is_nouveau_loaded",
    "is_stub",
    "libcuda_of",
]

_SMI = (
    "usr/bin/nvidia-smi", "usr/local/bin/nvidia-smi", "usr/local/nvidia/bin/nvidia-smi",
    "usr/lib/wsl/lib/nvidia-smi", "opt/bin/nvidia-smi", "run/current-system/sw/bin/nvidia-smi",
)  # fmt: skip
_LIBRARY_FOLDERS = (
    "usr/lib/wsl/lib", "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64",
    "lib64", "usr/lib", "usr/local/nvidia/lib64", "usr/lib/x86_64-linux-gnu/nvidia/current",
    "run/opengl-driver/lib",
)  # fmt: skip
_STUB_BYTES = 1_000_000
"""[B] The real library has tens of megabytes, the one to link against some tens of kilobytes."""
_VERSION = re.compile(r"Kernel Module(?:\s+for\s+\S+)?\s+(\d+(?:\.\d+)+)")
_NVIDIA = "0x10de"
_DISPLAY_CLASS = "0x03"
"""PCI class of display and 3D controllers."""


class Driver(NamedTuple):
    """The kernel modules."""

    version: str | None
    is_open: bool | None


def driver_of(root: Path) -> Driver:
    """Return what ``/proc/driver/nvidia/version`` says."""
    text = text_of(root / "proc/driver/nvidia/version")
    if text is None:
        text = text_of(root / "sys/module/nvidia/version")
        return Driver(text if text and re.fullmatch(r"\d+(\.\d+)+", text) else None, None)
    found = _VERSION.search(text)
    return Driver(found[1] if found else None, "Open Kernel Module" in text)


def are_counters_restricted(root: Path) -> bool | None:
    """Return whether only an administrator may read counters: RmProfilingAdminOnly."""
    text = text_of(root / "proc/driver/nvidia/params") or ""
    found = re.search(r"^RmProfilingAdminOnly:\s*(\d+)", text, re.MULTILINE)
    return None if found is None else found[1] != "0"


def find_smi(root: Path, variables: Mapping[str, str]) -> str | None:
    """Return the path of nvidia-smi: on PATH, else where it is installed."""
    found = shutil.which("nvidia-smi", path=variables.get("PATH", ""))
    if found:
        return found
    places = (root / place for place in _SMI)
    return next((str(place) for place in places if shutil.which(str(place))), None)


def gpus_of_driver(root: Path) -> tuple[Gpu, ...]:
    """Return the GPUs that the driver lists in ``/proc``, for where there is no nvidia-smi."""
    try:
        files = sorted((root / "proc/driver/nvidia/gpus").glob("*/information"))
    except OSError:
        return ()
    return tuple(_gpu(file, index) for index, file in enumerate(files))


def _gpu(file: Path, index: int) -> Gpu:
    text = text_of(file) or ""
    pairs = dict(re.findall(r"^([^:\n]+):[ \t]*(\S.*)$", text, re.MULTILINE))
    return Gpu(
        index=index,
        name=pairs.get("Model"),
        uuid=pairs.get("GPU UUID"),
        pci_bus_id=pairs.get("Bus Location", file.parent.name),
    )


def has_hardware(root: Path) -> bool | None:
    """Return whether a GPU of NVIDIA's is on the PCI bus; None where there is no list of it."""
    folder = root / "sys/bus/pci/devices"
    try:
        devices = list(folder.iterdir())
    except OSError:
        return None
    return any(
        text_of(device / "vendor") == _NVIDIA
        and (text_of(device / "class") or "").startswith(_DISPLAY_CLASS)
        for device in devices
    )


def has_device_files(root: Path) -> bool:
    """Return whether there is a file through which programs reach a GPU."""
    try:
        return (root / "dev/dxg").exists() or any((root / "dev").glob("nvidia[0-9]*"))
    except OSError:
        return False


def is_nouveau_loaded(root: Path) -> bool | None:
    """Return whether the other driver, which has no CUDA, holds the GPU."""
    text = text_of(root / "proc/modules")
    return None if text is None else bool(re.search(r"^nouveau ", text, re.MULTILINE))


def libcuda_of(root: Path, variables: Mapping[str, str]) -> Path | None:
    """Return the library of the driver that a program would load, None where there is none.

    In ``LD_LIBRARY_PATH`` also the name without a version counts: folders of stubs have no other,
    and some programs load that.
    """
    for folder in variables.get("LD_LIBRARY_PATH", "").split(":"):
        for name in ("libcuda.so.1", "libcuda.so"):
            if folder and _is_file(Path(folder, name)):
                return Path(folder, name)
    places = (folder / "libcuda.so.1" for folder in _library_folders(root))
    return next((one for one in (*_cached(root), *places) if _is_file(one)), None)


def _cached(root: Path) -> list[Path]:
    """Return where the loader's own cache has the library; its strings are enough."""
    try:
        data = (root / "etc/ld.so.cache").read_bytes()
    except OSError:
        return []
    found = re.findall(rb"/([^\x00]*/libcuda\.so\.1)\x00", data)
    return [root / name.decode("utf-8", "surrogateescape") for name in found]


def _library_folders(root: Path) -> Iterator[Path]:
    for file in sorted((root / "etc/ld.so.conf.d").glob("*.conf")):
        for line in (text_of(file) or "").splitlines():
            if line.strip().startswith("/"):
                yield root / line.strip().lstrip("/")
    yield from (root / folder for folder in _LIBRARY_FOLDERS)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def is_stub(library: Path) -> bool:
    """Return whether a library is the one to link against, which can do nothing."""
    try:
        resolved = library.resolve()
        return "stubs" in resolved.parts or resolved.stat().st_size < _STUB_BYTES
    except (OSError, RuntimeError):  # some versions of Python raise the latter for a loop of links
        return False
