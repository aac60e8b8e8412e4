"""Attributes of the GPUs, from the driver's own library; run as a program of its own.

``python gpu_attributes.py LIBCUDA`` prints JSON. The library may hang or end the process where a
driver is broken, which must not end the process that asks; so this needs nothing but the standard
library. No context is made: nothing runs on the GPU, and no GPU memory is taken.

Numbers of attributes are those of ``CUdevice_attribute`` in ``cuda.h``, part of its stable binary
interface (CUDA Driver API, section Device Management).
"""

from __future__ import annotations

import ctypes
import json
import sys
import uuid
from typing import Any

__all__ = ["attributes_of", "main"]

_ATTRIBUTES = {
    "clock_rate_khz": 13,
    "sm_count": 16,
    "is_integrated": 18,
    "memory_clock_rate_khz": 36,
    "memory_bus_bit": 37,
    "l2_bytes": 38,
    "major": 75,
    "minor": 76,
}


def attributes_of(cuda: Any) -> dict[str, Any]:
    """Return the version of CUDA that a driver supports, and its devices.

    Parameters
    ----------
    cuda
        The loaded library.
    """
    if cuda.cuInit(0):
        return {}
    version, count = ctypes.c_int(), ctypes.c_int()
    if cuda.cuDriverGetVersion(ctypes.byref(version)) or cuda.cuDeviceGetCount(ctypes.byref(count)):
        return {}
    major, minor = version.value // 1000, version.value % 1000 // 10
    devices = [_device(cuda, index) for index in range(count.value)]
    return {"cuda_version": f"{major}.{minor}", "devices": [one for one in devices if one]}


def _device(cuda: Any, index: int) -> dict[str, Any] | None:
    device = ctypes.c_int()
    if cuda.cuDeviceGet(ctypes.byref(device), index):
        return None
    found: dict[str, int | None] = {}
    for name, number in _ATTRIBUTES.items():
        value = ctypes.c_int()
        is_known = cuda.cuDeviceGetAttribute(ctypes.byref(value), number, device) == 0
        found[name] = value.value if is_known else None
    called = ctypes.create_string_buffer(256)
    has_name = cuda.cuDeviceGetName(called, len(called), device) == 0
    memory = ctypes.c_size_t()
    has_memory = cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device) == 0
    major, minor = found["major"], found["minor"]
    return {
        "uuid": _uuid(cuda, device),
        "name": called.value.decode("utf-8", "replace") if has_name else None,
        "compute_capability": None if major is None or minor is None else f"{major}.{minor}",
        "memory_bytes": memory.value if has_memory else None,
        "sm_count": found["sm_count"],
        "clock_rate_mhz": _mhz(found["clock_rate_khz"]),
        "memory_clock_rate_mhz": _mhz(found["memory_clock_rate_khz"]),
        "memory_bus_bit": found["memory_bus_bit"] or None,
        "l2_bytes": found["l2_bytes"] or None,
        "is_integrated": None if found["is_integrated"] is None else bool(found["is_integrated"]),
    }


def _uuid(cuda: Any, device: Any) -> str | None:
    octets = (ctypes.c_ubyte * 16)()
    if cuda.cuDeviceGetUuid(ctypes.byref(octets), device):
        return None
    return f"GPU-{uuid.UUID(bytes=bytes(octets))}"


def _mhz(khz: int | None) -> float | None:
    # 0 where the driver does not tell, as GB10 does of its memory.
    return khz / 1000 if khz else None


def main(argv: list[str]) -> int:
    """Print what the library at ``argv[1]`` says; an empty object where it says nothing."""
    try:
        answer = attributes_of(ctypes.CDLL(argv[1]))
    except (OSError, AttributeError):
        answer = {}
    sys.stdout.write(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
