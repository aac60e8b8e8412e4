"""``python -m kernels_under_test.ceilings``: the roofs that this GPU really reaches.

A copy much larger than L2 shows the ceiling of DRAM; a large GEMM of a data type that of its unit.
Several sizes are measured and the best median counts: a ceiling is what can be had. The clock is
that which ``nvidia-smi`` showed meanwhile. One line of JSON on stdout; see
`nsightlens.harness.ceilings`, which runs this and judges what it says.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kernels_under_test.ceilings_clock import clock_within, sampled_clocks
from kernels_under_test.refusals import NotAvailableError, find_torch
from kernels_under_test.single.kernels import make_kernel, tensor_resource
from kernels_under_test.single.timing import time_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main", "measure"]

_NAME = "kernels_under_test.ceilings"
_NOT_AVAILABLE = 4
_DTYPES = ("float16", "bfloat16", "tf32", "fp8", "int8", "float32", "float64")
_GEMMS = (4096, 8192, 16384)
_OF_CPU = {"gemm": (128,), "copy": (1 << 18,)}
_L2_TIMES = 8
"""A copy is at least so many times as large as L2."""
_COPIES_BYTES = (1 << 28, 1 << 30, 1 << 32)
_SHARE_OF_FREE = 0.4
"""Of the free memory, that a measurement may take."""


def measure(torch: Any, device: str, index: int, seconds: float) -> dict[str, Any]:
    """Measure every ceiling that this device has.

    Parameters
    ----------
    torch
        PyTorch.
    device
        ``cuda`` or ``cpu``, the latter at small sizes, to try the program.
    index
        Ordinal of the GPU.
    seconds
        [s] About how long each size is measured.

    Returns
    -------
    dict
        What was measured, and what was not available and why.
    """
    is_cuda = device == "cuda"
    place = f"cuda:{index}" if is_cuda else "cpu"
    if is_cuda:
        torch.cuda.set_device(index)
    found: dict[str, Any] = _about(torch, index) if is_cuda else {"device_name": "cpu"}
    capability = found.get("compute_capability")
    plan = [("copy", "float32", "dram")]
    plan += [("gemm", one, tensor_resource(one, capability)) for one in _DTYPES]
    uuid = getattr(torch.cuda.get_device_properties(index), "uuid", None) if is_cuda else None
    with sampled_clocks(None if uuid is None else str(uuid)) as clocks:
        found["measurements"] = [_measured(torch, one, place, seconds=seconds) for one in plan]
    for size in (size for one in found["measurements"] for size in one["sizes"]):
        size["sm_clock_hz"] = clock_within(clocks, *size.pop("between"))
    found |= {"torch_version": str(torch.__version__), "cuda_version": torch.version.cuda}
    return found


def _about(torch: Any, index: int) -> dict[str, Any]:
    about = torch.cuda.get_device_properties(index)
    return {
        "device_name": about.name,
        "compute_capability": f"{about.major}.{about.minor}",
        "sm_count": about.multi_processor_count,
        "l2_bytes": getattr(about, "L2_cache_size", None),
    }


def _measured(
    torch: Any, kernel: tuple[str, str, str], place: str, *, seconds: float
) -> dict[str, Any]:
    """Return what several sizes of a kernel reach, or why there is nothing.

    ``kernel`` is its name, its data type and the resource that it shows.
    """
    name, dtype, resource = kernel
    answer: dict[str, Any] = {"resource": resource, "kernel": name, "dtype": dtype, "sizes": []}
    for shape in _shapes(torch, name, dtype, place):
        try:
            made = [make_kernel(torch, name, dtype=dtype, shape=shape, device=place)]
            begin = datetime.now()  # local, as the times of nvidia-smi are
            timing = time_kernel(torch, made[0].run, place, seconds=seconds)
            end = datetime.now()
        except (NotAvailableError, RuntimeError, TypeError) as error:
            answer["problem"] = (str(error).strip().splitlines() or [type(error).__name__])[0]
            continue
        finally:
            made = []  # its memory, before the next
            if place != "cpu":
                torch.cuda.empty_cache()
        amount = amount_of(name, shape)
        answer["sizes"].append(
            {
                "shape": shape,
                "rate_per_s": amount / timing.median_ns * 1e9,
                "best_per_s": amount / timing.best_ns * 1e9,
                "spread_pct": timing.spread_pct,
                "measurement_count": timing.measurement_count,
                "between": (begin, end),
            }
        )
    return answer


def amount_of(name: str, shape: dict[str, int]) -> int:
    """Return the bytes of a copy of FP32, or the operations of a GEMM.

    Examples
    --------
    >>> amount_of("copy", {"elements": 100}), amount_of("gemm", {"m": 2, "n": 2, "k": 2})
    (800, 16)
    """
    if name == "copy":
        return 2 * shape["elements"] * 4
    return 2 * shape["m"] * shape["n"] * shape["k"]


def _shapes(torch: Any, name: str, dtype: str, place: str) -> list[dict[str, int]]:
    """Return the sizes that fit into the free memory, the copy's much larger than L2."""
    if place == "cpu":
        sizes: Sequence[int] = _OF_CPU[name]
    elif name == "copy":
        free, _ = torch.cuda.mem_get_info(place)
        l2 = getattr(torch.cuda.get_device_properties(place), "L2_cache_size", None) or 1 << 26
        most = free * _SHARE_OF_FREE / 2
        large = [one for one in _COPIES_BYTES if _L2_TIMES * l2 <= one <= most]
        if not large and _L2_TIMES * l2 <= most:
            large = [int(most)]
        sizes = [one // 4 for one in large]
    else:
        free, _ = torch.cuda.mem_get_info(place)
        width = 8 if dtype == "float64" else 4
        sizes = [one for one in _GEMMS if 3 * one * one * width <= free * _SHARE_OF_FREE]
        if dtype in {"float32", "float64"}:
            sizes = [one for one in sizes if one <= 8192]  # many times slower
    if name == "copy":
        return [{"elements": one} for one in sizes]
    return [{"m": one, "n": one, "k": one} for one in sizes]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and write one line of JSON; return 4 where there is nothing to measure with."""
    parser = argparse.ArgumentParser(prog=f"python -m {_NAME}", description=__doc__)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--device-index", type=int, default=0, metavar="N")
    parser.add_argument("--seconds", type=float, default=1.0, metavar="S")
    parser.add_argument("--json", action="store_true", help="the only form there is")
    args = parser.parse_args(argv)
    try:
        torch = find_torch()
        if args.device == "cuda" and not torch.cuda.is_available():
            built = torch.version.cuda
            why = "PyTorch is a build for the CPU" if built is None else "no GPU is visible"
            raise NotAvailableError(f"there is no CUDA device to measure: {why}")
        if args.device == "cuda" and args.device_index >= torch.cuda.device_count():
            raise NotAvailableError(
                f"there is no GPU {args.device_index}: PyTorch sees {torch.cuda.device_count()}"
            )
        answer = measure(torch, args.device, args.device_index, args.seconds)
    except NotAvailableError as error:
        print(f"{_NAME}: error: {error}.", file=sys.stderr)  # noqa: T201 - a program
        return _NOT_AVAILABLE
    print(json.dumps(answer))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
