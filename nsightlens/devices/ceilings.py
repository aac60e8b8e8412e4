"""Measured ceilings of GPUs: the file of ``--peaks`` and what its entries are worth in a launch.

A file looks like this; `docs/devices.md` explains it::

    format = "nsightlens.peaks"
    version = 1

    [[device]]
    name = "NVIDIA H100 80GB HBM3"
    sm_clock_hz = 1.755e9
    source = "copy kernels and cuBLAS of our own, driver 570"

    [device.peak_per_s]
    dram = "3.05 TB/s"
    tensor_bf16 = 7.3e14

Rates of the SMs and of L1 follow the SM clock, that of L2 its own, that of DRAM none.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.devices.tensor_peaks import resource_of_column
from nsightlens.errors import SettingsFileError
from nsightlens.metrics.tensor import TENSOR_COLUMNS
from nsightlens.patterns import nearest
from nsightlens.toml_files import TomlEntry, read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["CEILING_RESOURCES", "FORMAT", "VERSION", "Ceilings", "read_ceilings"]

FORMAT = "nsightlens.peaks"
VERSION = 1

CEILING_RESOURCES = (
    "dram",
    "l2",
    "l1",
    "fp64",
    "fp32",
    "fp16",
    *map(resource_of_column, TENSOR_COLUMNS),
)
"""What a ceiling can be given for: every resource whose work is counted."""

_MEMORY = ("dram", "l2", "l1")
_TOP_KEYS = ("format", "version", "device")
_DEVICE_KEYS = (
    "name", "compute_capability", "sm_count", "sm_clock_hz", "l2_clock_hz", "source", "peak_per_s",
)  # fmt: skip
_QUANTITY = re.compile(r"\s*([0-9][0-9_.eE+-]*)\s*([kMGTPE]?)(B|FLOP|op|OP)/s\s*")
_PREFIX = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_LEAST_PER_S = 1e9
_MOST_PER_S = 1e18
_CLOCK_HZ = (1e7, 1e11)


class Ceilings(NamedTuple):
    """Measured ceilings of one device; ``None`` where the file does not say.

    Parameters
    ----------
    place
        Where they stand, for messages: the file and the entry.
    name
        Driver name or product name of the GPU.
    compute_capability
        Such as ``"9.0"``.
    sm_count
        Number of SMs, to tell apart GPUs of one name or parts of one (MIG).
    sm_clock_hz, l2_clock_hz
        [Hz] The clocks at which they were measured.
    source
        Who measured them, and how.
    peak_per_s
        [FLOP/s, op/s or B/s] By resource.
    """

    place: str
    name: str | None
    compute_capability: str | None
    sm_count: int | None
    sm_clock_hz: float | None
    l2_clock_hz: float | None
    source: str
    peak_per_s: dict[str, float]

    @property
    def device(self) -> str:
        """The device as the entry names it."""
        parts = [
            self.name and repr(self.name),
            self.compute_capability and f"compute capability {self.compute_capability}",
            self.sm_count and f"{self.sm_count} SMs",
        ]
        return ", ".join(part for part in parts if part)


def read_ceilings(path: str | Path) -> tuple[Ceilings, ...]:
    """Read a file of measured ceilings.

    Parameters
    ----------
    path
        A TOML file.

    Returns
    -------
    tuple of Ceilings
        In the order of the file; where several fit a device, the first that names a resource wins.

    Raises
    ------
    SettingsFileError
        The file cannot be read or says something that is not understood.
    """
    table = read_toml(path)
    _check_head(str(path), table)
    entries = table.get("device", [])
    if not isinstance(entries, list) or not entries:
        raise SettingsFileError(
            str(path), "holds no [[device]] entry", "Add one, with peaks below [device.peak_per_s]."
        )
    return tuple(
        _Entry(str(path), f"[[device]] {i + 1}", entry).ceilings()
        for i, entry in enumerate(entries)
    )


def _check_head(path: str, table: Mapping[str, Any]) -> None:
    if table.get("format") != FORMAT:
        found = f"has the format {table['format']!r}" if "format" in table else "names no format"
        raise SettingsFileError(path, found, f'A file of peaks begins with: format = "{FORMAT}".')
    version = table.get("version")
    if type(version) is not int or version != VERSION:
        raise SettingsFileError(
            path,
            f"has the version {version!r}" if "version" in table else "names no version",
            f"This nsightlens knows version {VERSION}: write version = {VERSION}, or update it.",
        )
    TomlEntry(path, "", table).check_keys(_TOP_KEYS)


class _Entry(TomlEntry):
    """One ``[[device]]`` of a file, to be checked."""

    def ceilings(self) -> Ceilings:
        if not isinstance(self.table, dict):
            raise self.error("is not a table", "Begin an entry with [[device]].")
        self.check_keys(_DEVICE_KEYS)
        found = Ceilings(
            place=f"{self.path}, {self.where}",
            name=self._text("name"),
            compute_capability=self._compute_capability(),
            sm_count=self._sm_count(),
            sm_clock_hz=self._clock("sm_clock_hz"),
            l2_clock_hz=self._clock("l2_clock_hz"),
            source=self._text("source") or "",
            peak_per_s=self._peaks(),
        )
        if found.name is None and found.compute_capability is None:
            raise self.error("names no device", "Add name or compute_capability.")
        if not found.source:
            raise self.error("has no source", "Say who measured it and how: source = '...'.")
        needs_clock = [name for name in found.peak_per_s if name not in ("dram", "l2")]
        if needs_clock and found.sm_clock_hz is None:
            raise self.error(
                f"gives {needs_clock[0]} and no sm_clock_hz",
                "Add the SM clock at which it was measured: it is scaled to that of the report.",
            )
        return found

    def _text(self, key: str) -> str | None:
        value = self.table.get(key)
        if value is not None and not (isinstance(value, str) and value.strip()):
            is_text = isinstance(value, str)
            advice = "Write what it is, or leave it out." if is_text else "Write a text in quotes."
            raise self.error(f"{key} is {value!r}", advice)
        return value

    def _compute_capability(self) -> str | None:
        value = self._text("compute_capability")
        if value is not None and not re.fullmatch(r"\d+\.\d", value):
            raise self.error(f"compute_capability is {value!r}", 'Write it such as "9.0".')
        return value

    def _sm_count(self) -> int | None:
        value = self.table.get("sm_count")
        if value is not None and (type(value) is not int or value < 1):
            raise self.error(f"sm_count is {value!r}", "Write the number of SMs.")
        return value

    def _clock(self, key: str) -> float | None:
        value = self.table.get(key)
        if value is None:
            return None
        if not _is_number(value) or not _CLOCK_HZ[0] <= value <= _CLOCK_HZ[1]:
            raise self.error(f"{key} is {value!r}", "Write a clock in Hz, such as 1.755e9.")
        return float(value)

    def _peaks(self) -> dict[str, float]:
        table = self.table.get("peak_per_s")
        if not isinstance(table, dict) or not table:
            raise self.error("has no peaks", "Write them below [device.peak_per_s].")
        for resource in table:
            if resource not in CEILING_RESOURCES:
                near = nearest(resource, CEILING_RESOURCES)
                # What begins several of them means none more than another.
                is_clear = near and not any(one.startswith(resource) for one in CEILING_RESOURCES)
                known = f"Known are {', '.join(CEILING_RESOURCES)}."
                advice = f"Did you mean {near[0]}? {known}" if is_clear else known
                raise self.error(f"{resource} is not a known resource", advice)
        return {resource: self._peak(resource, value) for resource, value in table.items()}

    def _peak(self, resource: str, value: Any) -> float:
        """Return a peak [FLOP/s, op/s or B/s]: a bare number, or one with its unit in quotes."""
        unit = "B" if resource in _MEMORY else "op" if "int" in resource else "FLOP"
        example = f"Write it in {unit}/s, such as 3.05e12 or '3.05 T{unit}/s'."
        per_s = value
        if isinstance(value, str):
            match = _QUANTITY.fullmatch(value)
            if match is None:
                raise self.error(f"{resource} is {value!r}", example)
            # Many write TOPS for any operation of a tensor core.
            if match[3] != unit and not (unit == "op" and match[3] == "OP"):
                raise self.error(f"{resource} is in {match[3]}/s, which is not its unit", example)
            per_s = _number(match[1]) * _PREFIX[match[2]]
        if not _is_number(per_s) or not _LEAST_PER_S <= per_s <= _MOST_PER_S:
            raise self.error(f"{resource} is {value!r}, which is no peak of a GPU", example)
        return float(per_s)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
