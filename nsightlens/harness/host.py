"""What kind of machine this is, as far as profiling cares: what is there, who may read counters.

The same failure has another remedy in a container, on a cloud and on a desktop; `host_facts` finds
out which it is, so that `nsightlens.harness.diagnosis` and ``nsightlens doctor`` can say the right
one. Nothing here raises, nothing waits for ever, and nothing is changed.
"""

from __future__ import annotations

import os
import platform
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nsightlens.harness import host_driver, host_kind
from nsightlens.harness.gpus import Gpu, ask_driver_library, ask_smi

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Gpu", "Host", "host_facts"]

LOCK_FILE = "nsight-compute-lock"
"""ncu locks it in the temporary folder, so that two of it do not profile at the same time."""


@dataclass(frozen=True)
class Host:
    """Facts about this host; None where it is not known."""

    gpus: tuple[Gpu, ...] = ()
    system: str | None = None
    """Such as ``Ubuntu 22.04.4 LTS``."""
    kernel_version: str | None = None
    machine: str | None = None
    """Such as ``x86_64``."""
    is_wsl: bool = False
    """The Windows Subsystem for Linux."""
    is_root: bool | None = None
    capabilities: tuple[str, ...] | None = None
    """Those held of CAP_SYS_ADMIN, CAP_PERFMON and CAP_SYS_PTRACE."""
    has_own_user_namespace: bool | None = None
    """Root and capabilities count inside a container only, not for the driver."""
    container: str = "unknown"
    """docker, podman, kubernetes, lxc, apptainer, other, none or unknown."""
    cloud: str | None = None
    """aws, gcp, azure, oracle, alibaba, or a service that rents out containers."""
    scheduler: str | None = None
    """slurm, where this is a job of it."""
    counters_are_restricted: bool | None = None
    """Only an administrator may read counters: RmProfilingAdminOnly of the driver."""
    driver_version: str | None = None
    is_driver_open: bool | None = None
    """The open kernel modules, not the proprietary ones."""
    driver_problem: str | None = None
    """What nvidia-smi says where it names no GPU."""
    smi: str | None = None
    """Path of nvidia-smi."""
    has_nvidia_hardware: bool | None = None
    """A GPU of NVIDIA's is on the PCI bus."""
    has_device_files: bool = False
    """``/dev/nvidia0`` or another one is there."""
    is_nouveau_loaded: bool | None = None
    libcuda: str | None = None
    """The library that a CUDA program would load."""
    is_libcuda_stub: bool | None = None
    cuda_version: str | None = None
    """The newest CUDA that the driver supports, such as ``12.8``."""
    visible_devices: str | None = None
    """CUDA_VISIBLE_DEVICES; None where it is not set."""
    is_dcgm_running: bool | None = None
    """None too in a container, which does not show what runs beside it."""
    profilers_running: tuple[str, ...] = ()
    """Programs that may hold the counters, with their process ids."""
    temporary_folder: str = ""
    is_temporary_folder_writable: bool | None = None
    lock_file_problem: str | None = None
    """Why ncu could not lock its file there."""
    free_temporary_bytes: int | None = None
    free_memory_bytes: int | None = None
    """[B] Memory of the host that programs can have; replay backs GPU memory up there."""
    cpu_count: int | None = None

    @property
    def is_administrator(self) -> bool | None:
        """Whether the driver takes this process for an administrator."""
        if self.capabilities is None:
            return (
                None if self.is_root is None else self.is_root and not self.has_own_user_namespace
            )
        return "CAP_SYS_ADMIN" in self.capabilities and not self.has_own_user_namespace

    @property
    def may_read_counters(self) -> bool | None:
        """Whether ncu will get at the counters; None where only trying will tell.

        CAP_SYS_ADMIN is what NVIDIA's page on ERR_NVGPUCTRPERM names. Whether a driver is content
        with CAP_PERFMON was not tried here, so that alone makes it unknown.
        """
        if self.counters_are_restricted is False or self.is_administrator:
            return True
        if self.counters_are_restricted is None or self.is_administrator is None:
            return None
        has_perfmon = "CAP_PERFMON" in (self.capabilities or ())
        return None if has_perfmon and not self.has_own_user_namespace else False

    @property
    def has_mig(self) -> bool:
        """Whether some GPU is cut into instances."""
        return any(gpu.mig_mode == "Enabled" for gpu in self.gpus)

    @property
    def is_in_container(self) -> bool:
        """Whether this is a container of some kind."""
        return self.container not in ("none", "unknown")


def host_facts(
    *,
    root: Path = Path("/"),
    environment: Mapping[str, str] | None = None,
    smi: str | None = None,
) -> Host:
    """Find out what kind of machine this is; never raises.

    Parameters
    ----------
    root
        Where the file system begins; another one in tests.
    environment
        Variables to look at; None for those of this process.
    smi
        ``nvidia-smi``; None to look for it.

    Examples
    --------
    >>> host_facts().is_temporary_folder_writable
    True
    """
    variables = dict(os.environ if environment is None else environment)
    container = host_kind.container_of(root, variables)
    process = host_kind.process_of(root)
    answer = ask_smi(smi or host_driver.find_smi(root, variables))
    libcuda = host_driver.libcuda_of(root, variables)
    gpus, cuda_version = answer.gpus or host_driver.gpus_of_driver(root), None
    if libcuda is not None and not host_driver.is_stub(libcuda) and (gpus or not answer.path):
        gpus, cuda_version = ask_driver_library(gpus, str(libcuda), environment)
    driver = host_driver.driver_of(root)
    running = host_kind.running_profilers(root)
    temporary = _temporary_folder(root, variables)
    return Host(
        gpus=gpus,
        system=host_kind.system_of(root),
        kernel_version=host_kind.kernel_of(root),
        machine=platform.machine() or None,
        is_wsl=host_kind.is_wsl(root),
        is_root=process.is_root,
        capabilities=process.capabilities,
        has_own_user_namespace=process.has_own_user_namespace,
        container=container,
        cloud=host_kind.cloud_of(root, variables),
        scheduler="slurm" if variables.get("SLURM_JOB_ID") else None,
        counters_are_restricted=host_driver.are_counters_restricted(root),
        driver_version=driver.version or next((g.driver_version for g in gpus), None),
        is_driver_open=driver.is_open,
        driver_problem=answer.problem,
        smi=answer.path,
        has_nvidia_hardware=host_driver.has_hardware(root),
        has_device_files=host_driver.has_device_files(root),
        is_nouveau_loaded=host_driver.is_nouveau_loaded(root),
        libcuda=None if libcuda is None else str(libcuda),
        is_libcuda_stub=None if libcuda is None else host_driver.is_stub(libcuda),
        cuda_version=cuda_version,
        visible_devices=variables.get("CUDA_VISIBLE_DEVICES"),
        is_dcgm_running=host_kind.is_dcgm_among(running, container),
        profilers_running=running,
        temporary_folder=str(temporary),
        is_temporary_folder_writable=_is_writable(temporary),
        lock_file_problem=_lock_file_problem(root, temporary),
        free_temporary_bytes=_free_bytes(temporary),
        free_memory_bytes=host_kind.free_memory_of(root),
        cpu_count=os.cpu_count(),
    )


def _temporary_folder(root: Path, variables: Mapping[str, str]) -> Path:
    return Path(variables["TMPDIR"]) if variables.get("TMPDIR") else root / "tmp"


def _is_writable(folder: Path) -> bool:
    return os.access(folder, os.R_OK | os.W_OK | os.X_OK) and folder.is_dir()


def _lock_file_problem(root: Path, folder: Path) -> str | None:
    """Say why ncu could not open its lock file, which another user may have left."""
    lock = folder / LOCK_FILE
    try:
        is_of, of_folder = lock.stat(), folder.stat()
    except OSError:
        return None
    if not os.access(lock, os.R_OK | os.W_OK):
        return f"{lock} belongs to another user and may not be written"
    # fs.protected_regular: in a folder like /tmp not even root may open, to create it, a file of
    # another user's (man 5 proc_sys_fs).
    is_shared = of_folder.st_mode & 0o1002 == 0o1002
    is_foreign = is_of.st_uid not in (os.geteuid(), of_folder.st_uid)
    protection = host_kind.text_of(root / "proc/sys/fs/protected_regular")
    if is_shared and is_foreign and protection not in (None, "0"):
        return f"{lock} belongs to another user, and fs.protected_regular={protection} guards it"
    return None


def _free_bytes(folder: Path) -> int | None:
    with suppress(OSError):
        return shutil.disk_usage(folder).free
    return None
