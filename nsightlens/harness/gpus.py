"""The GPUs of this host, as ``nvidia-smi`` and the driver's own library tell of them.

``nvidia-smi`` says names, modes and clocks, but not how wide the memory bus is, how large the L2
or how many SMs there are; these come from the library, through `nsightlens.harness.gpu_attributes`
in a process of its own.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.programs import run_quietly

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Gpu", "GpuAnswer", "ask_driver_library", "ask_smi", "gpus_of_csv"]

SMI_TIMEOUT_S = 60.0
"""[s] Without persistence mode every GPU is first woken up."""
_LIBRARY_TIMEOUT_S = 60.0
_MIB = 1 << 20

_FIELDS = (
    ("index", "index"),
    ("name", "name"),
    ("uuid", "uuid"),
    ("pci_bus_id", "pci.bus_id"),
    ("compute_capability", "compute_cap"),
    ("memory_bytes", "memory.total"),
    ("memory_used_bytes", "memory.used"),
    ("driver_version", "driver_version"),
    ("mig_mode", "mig.mode.current"),
    ("persistence_mode", "persistence_mode"),
    ("compute_mode", "compute_mode"),
    ("ecc_mode", "ecc.mode.current"),
    ("sm_clock_mhz", "clocks.sm"),
    ("memory_clock_mhz", "clocks.mem"),
    ("max_sm_clock_mhz", "clocks.max.sm"),
    ("max_memory_clock_mhz", "clocks.max.mem"),
    ("power_w", "power.draw"),
    ("power_limit_w", "power.limit"),
    ("temperature_c", "temperature.gpu"),
)
"""Our field and what nvidia-smi calls it."""
_COUNTS = frozenset(["index"])
_MEBIBYTES = frozenset(["memory_bytes", "memory_used_bytes"])
_NUMBERS = frozenset(
    ["sm_clock_mhz", "memory_clock_mhz", "max_sm_clock_mhz", "max_memory_clock_mhz",
     "power_w", "power_limit_w", "temperature_c"]
)  # fmt: skip
_NO_VALUE = re.compile(r"^(\[.*\]|N/A|ERR!|)$")
"""``[N/A]``, ``[Not Supported]``, ``[Unknown Error]`` and their like."""
_BAD_FIELD = re.compile(r'Field "([^"]+)" is not a valid field')


@dataclass(frozen=True)
class Gpu:
    """One GPU; None where nothing tells."""

    index: int | None = None
    name: str | None = None
    uuid: str | None = None
    pci_bus_id: str | None = None
    compute_capability: str | None = None
    """Such as ``9.0``."""
    memory_bytes: int | None = None
    memory_used_bytes: int | None = None
    driver_version: str | None = None
    mig_mode: str | None = None
    """``Enabled`` or ``Disabled``; None also where the GPU has no such mode."""
    persistence_mode: str | None = None
    compute_mode: str | None = None
    """``Default``, ``Exclusive_Process`` or ``Prohibited``."""
    ecc_mode: str | None = None
    sm_clock_mhz: float | None = None
    """[MHz] Now."""
    memory_clock_mhz: float | None = None
    """[MHz] Now."""
    max_sm_clock_mhz: float | None = None
    """[MHz] The highest that the driver allows."""
    max_memory_clock_mhz: float | None = None
    """[MHz] The highest that the driver allows."""
    power_w: float | None = None
    """[W] Now."""
    power_limit_w: float | None = None
    temperature_c: float | None = None
    sm_count: int | None = None
    clock_rate_mhz: float | None = None
    """[MHz] The device attribute: highest boost clock."""
    memory_clock_rate_mhz: float | None = None
    """[MHz] The device attribute: half the rate of a pin."""
    memory_bus_bit: int | None = None
    """[bit] The device attribute."""
    l2_bytes: int | None = None
    """[B] The device attribute."""
    is_integrated: bool | None = None
    """It shares its memory with the CPU."""


_OUR_FIELDS = frozenset(field.name for field in fields(Gpu))


class GpuAnswer(NamedTuple):
    """What ``nvidia-smi`` said."""

    gpus: tuple[Gpu, ...]
    problem: str | None
    """Why it named none, in its own words; None where it did, and where it is not installed."""
    path: str | None
    """The program; None where there is none."""


def ask_smi(smi: str | None) -> GpuAnswer:
    """Ask ``nvidia-smi`` for the GPUs; never raises.

    Parameters
    ----------
    smi
        The program; None where there is none.
    """
    if smi is None:
        return GpuAnswer((), None, None)
    asked = list(_FIELDS)
    while True:
        query = f"--query-gpu={','.join(name for _, name in asked)}"
        try:
            said = run_quietly(
                [smi, query, "--format=csv,noheader,nounits"], timeout_s=SMI_TIMEOUT_S
            )
        except OSError as error:
            return GpuAnswer((), f"{smi} cannot be run: {error.strerror or error}", smi)
        if said.has_timed_out:
            return GpuAnswer((), f"{smi} did not answer within {SMI_TIMEOUT_S:g} s", smi)
        text = said.stdout.strip() or said.stderr.strip()
        if said.return_code == 0:
            gpus = gpus_of_csv(said.stdout, [ours for ours, _ in asked])
            return GpuAnswer(gpus, None if gpus else (_first_line(text) or "it names no GPU"), smi)
        unknown = _BAD_FIELD.search(said.stdout + said.stderr)
        kept = [field for field in asked if unknown is None or field[1] != unknown[1]]
        if len(kept) == len(asked) or not kept:
            reason = _first_line(text) or f"it ended with exit code {said.return_code}"
            return GpuAnswer((), reason, smi)
        asked = kept


def gpus_of_csv(text: str, names: Sequence[str]) -> tuple[Gpu, ...]:
    """Read what ``nvidia-smi --format=csv,noheader,nounits`` printed.

    Parameters
    ----------
    text
        One line per GPU; lines with another number of values are left out.
    names
        Fields of `Gpu`, in the order of the values.

    Examples
    --------
    >>> gpus_of_csv("0, NVIDIA A10G, [N/A]", ["index", "name", "sm_clock_mhz"])[0].name
    'NVIDIA A10G'
    """
    rows = csv.reader(text.splitlines(), skipinitialspace=True)
    return tuple(
        Gpu(**{name: _value(name, cell) for name, cell in zip(names, row, strict=True)})
        for row in rows
        if len(row) == len(names)
    )


def _value(field: str, cell: str) -> Any:
    text = cell.strip()
    if _NO_VALUE.match(text):
        return None
    if field not in _COUNTS | _MEBIBYTES | _NUMBERS:
        return text
    try:
        number = float(text)
    except ValueError:
        return None
    if field in _NUMBERS:
        return number
    return int(number) * (_MIB if field in _MEBIBYTES else 1)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def ask_driver_library(
    gpus: Iterable[Gpu], libcuda: str, environment: Mapping[str, str] | None = None
) -> tuple[tuple[Gpu, ...], str | None]:
    """Add the device attributes that the driver's library tells; never raises.

    Parameters
    ----------
    gpus
        What is known of them so far.
    libcuda
        The library.
    environment
        Of the process that loads it; None for that of this one.

    Returns
    -------
    tuple
        The GPUs with what was learned, and the version of CUDA that the driver supports, such as
        ``12.8``; None where the library does not say.
    """
    known = tuple(gpus)
    script = str(Path(__file__).with_name("gpu_attributes.py"))
    try:
        said = run_quietly(
            [sys.executable, "-S", script, libcuda],
            timeout_s=_LIBRARY_TIMEOUT_S, environment=environment,
        )  # fmt: skip
        answer = json.loads(said.stdout) if said.return_code == 0 else {}
        return _joined(known, answer.get("devices", [])), answer.get("cuda_version")
    except (OSError, ValueError, AttributeError, TypeError):
        return known, None


def _joined(gpus: tuple[Gpu, ...], devices: Sequence[Mapping[str, Any]]) -> tuple[Gpu, ...]:
    """Join by the id of the GPU: the library counts only those that are visible."""
    by_uuid = {device["uuid"]: device for device in devices}
    if not gpus:
        return tuple(Gpu(**_known(device), index=i) for i, device in enumerate(devices))
    return tuple(_with(gpu, by_uuid.get(gpu.uuid)) for gpu in gpus)


def _with(gpu: Gpu, device: Mapping[str, Any] | None) -> Gpu:
    missing = {k: v for k, v in _known(device or {}).items() if getattr(gpu, k) is None}
    return replace(gpu, **missing)


def _known(device: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in device.items() if name in _OUR_FIELDS}
