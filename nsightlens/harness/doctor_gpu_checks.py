"""The checks of ``nsightlens doctor`` that concern GPU and driver: facts in, verdicts out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.devices import product_of
from nsightlens.harness.diagnosis_versions import is_gpu_known, known_since
from nsightlens.harness.doctor_check import Check, remedies_of_failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nsightlens.harness.gpus import Gpu
    from nsightlens.harness.host import Host
    from nsightlens.harness.tools import Tool

__all__ = ["counter_check", "driver_check", "gpu_checks", "library_check", "support_checks"]

_ELSEWHERE = (
    "Profile on a machine that has one, and bring the run folder: reading, classifying, sweeping "
    "and comparing reports needs no GPU."
)
_WITH_GPU = (
    "Start the container with the GPU: `docker run --gpus all ...`, in Kubernetes with a limit on "
    "`nvidia.com/gpu`; the machine below needs the driver and the NVIDIA Container Toolkit."
)


def driver_check(host: Host) -> Check:
    """Check that a driver is loaded and answers."""
    kind = "" if host.is_driver_open is None else (
        ", open kernel modules" if host.is_driver_open else ", proprietary kernel modules"
    )  # fmt: skip
    cuda = f", CUDA up to {host.cuda_version}" if host.cuda_version else ""
    if host.driver_version and not host.driver_problem:
        return Check("driver", "ok", f"{host.driver_version}{kind}{cuda}")
    if host.driver_version:
        return Check(
            "driver",
            "problem",
            f"{host.driver_version} is loaded, and nvidia-smi fails: {host.driver_problem}",
            ("Reboot after a change of the driver: module and libraries must be of one version.",),
        )
    if host.gpus and not host.driver_problem:
        return Check("driver", "ok", f"it answers, and does not tell its version{cuda}")
    said = f": nvidia-smi says '{host.driver_problem}'" if host.driver_problem else ""
    return Check("driver", "problem", f"none is loaded{said}", _no_driver(host))


def _no_driver(host: Host) -> tuple[str, ...]:
    if host.is_in_container:
        return (_WITH_GPU,)
    if host.is_nouveau_loaded:
        return ("The driver nouveau holds the GPU: install NVIDIA's, which blocks it, and reboot.",)
    if host.has_nvidia_hardware:
        return ("Install NVIDIA's driver, or load it: `sudo modprobe nvidia`.",)
    return ()


def gpu_checks(host: Host) -> Iterator[Check]:
    """Yield a check for each GPU, one where there is none."""
    if not host.gpus:
        yield _no_gpu(host)
        return
    hidden = host.visible_devices in ("", "-1")
    for position, gpu in enumerate(host.gpus):
        number = gpu.index if gpu.index is not None else position
        key = "gpu" if len(host.gpus) == 1 else f"gpu {number}"
        if hidden:
            told = "hidden by CUDA_VISIBLE_DEVICES"
            yield Check(key, "problem", f"{_sheet(gpu)}; {told}", ("Unset CUDA_VISIBLE_DEVICES.",))
        elif gpu.compute_mode == "Prohibited":
            remedy = f"`sudo nvidia-smi -i {number} -c DEFAULT`."
            yield Check(key, "problem", f"{_sheet(gpu)}; compute mode Prohibited", (remedy,))
        else:
            yield Check(key, "ok", _sheet(gpu))


def _no_gpu(host: Host) -> Check:
    if host.is_in_container and not host.has_device_files:
        told = f"none is visible in this container ({host.container})"
    elif host.has_nvidia_hardware:
        told = "one is on the PCI bus, and no driver runs it"
    else:
        told = "this machine has none of NVIDIA's"
    return Check(
        "gpu",
        "problem",
        f"{told}: nothing can be profiled here",
        (_ELSEWHERE,),
    )


def _sheet(gpu: Gpu) -> str:
    """Say what a GPU is, with the attributes that rooflines are made of."""
    bus = gpu.memory_bus_bit
    clock = gpu.memory_clock_rate_mhz
    memory = [f"{gpu.memory_bytes / 1e9:.0f} GB" if gpu.memory_bytes else ""]
    if bus and clock:
        # Both edges of the clock, 8 bits to the byte.
        memory.append(f"{bus} bit at {clock:g} MHz ({2 * clock * 1e6 * bus / 8 / 1e9:.0f} GB/s)")
    parts = [
        gpu.name or "a GPU without a name",
        f"compute capability {gpu.compute_capability}" if gpu.compute_capability else "",
        f"{gpu.sm_count} SMs" if gpu.sm_count else "",
        ", ".join(filter(None, memory)),
        f"L2 {gpu.l2_bytes / 2**20:g} MiB" if gpu.l2_bytes else "",
        f"up to {gpu.clock_rate_mhz or gpu.max_sm_clock_mhz:g} MHz"
        if gpu.clock_rate_mhz or gpu.max_sm_clock_mhz else "",
        f"power limit {gpu.power_limit_w:g} W" if gpu.power_limit_w else "",
    ]  # fmt: skip
    return ", ".join(filter(None, parts))


def counter_check(host: Host) -> Check:
    """Check that this process may read counters."""
    may = host.may_read_counters
    who = "root" if host.is_root else "an ordinary user"
    if may and host.counters_are_restricted is False:
        return Check("counters", "ok", "everybody may read them (RmProfilingAdminOnly is 0)")
    if may:
        return Check("counters", "ok", "this process may read them: it has CAP_SYS_ADMIN")
    if may is None:
        lacks = "the driver does not tell its rule (/proc/driver/nvidia/params)"
        if host.counters_are_restricted:
            lacks = "CAP_PERFMON alone may do, with a new driver"
        elif host.has_own_user_namespace:
            lacks += ", and rights in a user namespace of its own do not count for it"
        return Check("counters", "unknown", f"{who}: {lacks}; only trying tells")
    where = f" in a {host.container} container" if host.is_in_container else ""
    told = f"{who}{where} may not read them (RmProfilingAdminOnly is 1)"
    return Check("counters", "problem", told, remedies_of_failure("counters_not_permitted", host))


def support_checks(host: Host, tools: Sequence[Tool], chips: Sequence[str]) -> Iterator[Check]:
    """Yield what can only be asked of a GPU that is there."""
    if not host.gpus:
        return
    yield _support(host, tools, chips)
    yield _roofs(host)
    yield _mig(host)
    yield _others(host)
    yield _persistence(host)


def _support(host: Host, tools: Sequence[Tool], chips: Sequence[str]) -> Check:
    used = next((tool for tool in tools if tool.name == "ncu" and tool.version), None)
    if used is None:
        return Check("gpu_support", "unknown", "there is no ncu to ask whether it knows the GPU")
    verdicts = {
        gpu.compute_capability: is_gpu_known(used.version, gpu.compute_capability, chips)
        for gpu in host.gpus
    }
    bad = [capability for capability, verdict in verdicts.items() if verdict is False]
    if bad:
        since = known_since(bad[0] or "")
        seen = f" {'.'.join(map(str, since))} is known to." if since else ""
        told = (
            f"ncu {used.version_text} does not know compute capability {', '.join(map(str, bad))}"
        )
        remedy = f"Install a newer Nsight Compute and point to it with `--ncu PATH`.{seen}"
        return Check("gpu_support", "problem", told, (remedy,))
    if None in verdicts.values():
        told = f"nothing says whether ncu {used.version_text} knows this GPU; only trying tells"
        return Check("gpu_support", "unknown", told)
    return Check("gpu_support", "ok", f"ncu {used.version_text} knows this GPU")


def _roofs(host: Host) -> Check:
    unnamed = [gpu.name for gpu in host.gpus if product_of(gpu.name, gpu.sm_count) is None]
    if unnamed:
        told = f"{unnamed[0]} is not in the table of products: peaks come from its report alone"
        return Check("roofs", "warning", told, ("Measure its roofs: `nsightlens ceilings`.",))
    return Check("roofs", "ok", "nsightlens knows the published peaks of this GPU")


def _mig(host: Host) -> Check:
    if host.has_mig:
        told = "MIG is on: counters of L2 and DRAM, which instances share, may be refused"
        return Check("mig", "warning", told, remedies_of_failure("mig", host))
    is_known = any(gpu.mig_mode is not None for gpu in host.gpus)
    return Check("mig", "ok", "MIG is off" if is_known else "this GPU has no MIG")


def _others(host: Host) -> Check:
    if host.profilers_running:
        told = f"running, and may hold the counters: {', '.join(host.profilers_running)}"
        return Check(
            "other_profilers", "warning", told, remedies_of_failure("driver_resource_held", host)
        )
    if host.is_dcgm_running is None:
        told = "none seen; what runs beside this container, such as DCGM, is not visible from here"
        return Check("other_profilers", "unknown", told)
    return Check("other_profilers", "ok", "neither DCGM nor another profiler is running")


def _persistence(host: Host) -> Check:
    modes = {gpu.persistence_mode for gpu in host.gpus}
    if "Disabled" in modes:
        told = "off: the driver is loaded anew for each program, and forgets clock settings"
        return Check("persistence", "warning", told, ("`sudo nvidia-smi -pm 1`.",))
    if modes == {"Enabled"}:
        return Check("persistence", "ok", "on")
    return Check("persistence", "unknown", "nvidia-smi does not say")


def library_check(host: Host) -> Check:
    """Check that a program would load the library of the driver, and not a stub."""
    if host.libcuda is None:
        # Programs may know another place, so this alone proves nothing.
        told = "no libcuda.so.1 was found in the loader's cache and the usual folders"
        if not host.gpus:
            return Check("libcuda", "unknown", told)
        return Check("libcuda", "warning", told, remedies_of_failure("stub_libcuda", host))
    if host.is_libcuda_stub:
        told = f"{host.libcuda} is a stub, to link against only"
        return Check("libcuda", "problem", told, remedies_of_failure("stub_libcuda", host))
    return Check("libcuda", "ok", host.libcuda)
