"""What surrounds a run and changes what it measures, as its manifest keeps it."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nsightlens.harness.host import Gpu, Host

__all__ = ["ENVIRONMENT", "capability_of", "environment_facts", "host_content"]

ENVIRONMENT = (
    "CUBLASLT_WORKSPACE_SIZE",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_ORDER",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
    "CUDA_VISIBLE_DEVICES",
    "NCCL_ALGO",
    "NCCL_P2P_DISABLE",
    "NVIDIA_TF32_OVERRIDE",
    "NVIDIA_VISIBLE_DEVICES",
    "OMP_NUM_THREADS",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "SGLANG_ENABLE_NVTX_SCHEDULER",
    "TLLM_PROFILE_START_STOP",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "TORCH_BLAS_PREFER_CUBLASLT",
    "TORCH_LOGS",
    "VLLM_ATTENTION_BACKEND",
    "VLLM_ENABLE_V1_MULTIPROCESSING",
    "VLLM_NVTX_SCOPES_FOR_PROFILING",
    "VLLM_USE_V1",
    "VLLM_WORKER_MULTIPROC_METHOD",
)
"""Variables that change what runs on the GPU. A list, because others may hold secrets."""


def environment_facts(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the variables that change what is measured, as far as they are set.

    Parameters
    ----------
    environment
        Variables to look at; None for those of this process.

    Examples
    --------
    >>> environment_facts({"CUDA_VISIBLE_DEVICES": "0", "HF_TOKEN": "secret"})
    {'CUDA_VISIBLE_DEVICES': '0'}
    """
    variables = os.environ if environment is None else environment
    return {name: variables[name] for name in ENVIRONMENT if name in variables}


_OF_HOST = (
    "system", "kernel_version", "machine", "is_wsl", "container", "cloud", "scheduler",
    "driver_version", "is_driver_open", "cuda_version", "cpu_count",
)  # fmt: skip
_NOT_OF_GPU = ("uuid", "pci_bus_id")
"""They name one piece of hardware, and reports are shared."""


def host_content(host: Host) -> dict[str, Any]:
    """Return what the manifest keeps of a host: GPUs, clocks, driver, and where it is.

    Parameters
    ----------
    host
        As `nsightlens.harness.host.host_facts` gives it. What is not known is left out.

    Examples
    --------
    >>> from nsightlens.harness.host import Gpu, Host
    >>> host_content(Host(gpus=(Gpu(name="NVIDIA L4", uuid="GPU-1"),), driver_version="550.54"))
    {'is_wsl': False, 'container': 'unknown', 'driver_version': '550.54', 'gpus': [{'name': \
'NVIDIA L4'}]}
    """
    content = {name: getattr(host, name) for name in _OF_HOST}
    known = {name: value for name, value in content.items() if value is not None}
    return {**known, "gpus": [_gpu(gpu) for gpu in host.gpus]}


def _gpu(gpu: Gpu) -> dict[str, Any]:
    return {
        name: value
        for name, value in asdict(gpu).items()
        if value is not None and name not in _NOT_OF_GPU
    }


def capability_of(host: Host) -> str | None:
    """Return the compute capability of the GPU that a program would use; None where not known.

    Parameters
    ----------
    host
        As `nsightlens.harness.host.host_facts` gives it.

    Examples
    --------
    >>> from nsightlens.harness.host import Gpu, Host
    >>> both = (Gpu(0, compute_capability="9.0"), Gpu(1, compute_capability="8.9"))
    >>> capability_of(Host(both)), capability_of(Host(both, visible_devices="1"))
    (None, '8.9')
    """
    found = {gpu.compute_capability for gpu in host.gpus}
    if len(found) > 1:
        # CUDA puts the fastest first, nvidia-smi the one on the lowest bus.
        first = (host.visible_devices or "").partition(",")[0].strip()
        found = {
            gpu.compute_capability
            for gpu in host.gpus
            if first and (str(gpu.index) == first or (gpu.uuid or "").startswith(first))
        }
    return found.pop() if len(found) == 1 else None
