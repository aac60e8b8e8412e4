"""``nvidia-smi --query-gpu=... --format=csv``, also with the clock that a collector prepended.

Columns have their unit in the header, and values too unless ``nounits`` was asked for. Without a
header nothing says what a column is: such a file is refused. See `nvidia_dmon` for ``dmon``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from nsightlens.errors import ServingFileError
from nsightlens.serving.logs.log_text import seconds_of_clock
from nsightlens.serving.part import Format, Note
from nsightlens.serving.telemetry.gpu_rows import (
    LIMITING_BITS,
    GpuRow,
    cells_of,
    measured,
    parts_of_rows,
)
from nsightlens.serving.telemetry.nvidia_dmon import FORMATS as _DMON

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.part import Part

__all__ = ["FORMATS"]

_SAMPLED = {
    "clocks.sm": "sm_clock_mhz", "clocks.current.sm": "sm_clock_mhz",
    "clocks.mem": "memory_clock_mhz", "clocks.current.memory": "memory_clock_mhz",
    "utilization.gpu": "gpu_utilization_pct", "memory.used": "memory_used_mib",
    "power.draw": "power_w", "power.draw.instant": "power_w", "power.draw.average": "power_w",
    "temperature.gpu": "temperature_c",
}  # fmt: skip
"""Names of ``nvidia-smi --help-query-gpu``. ``utilization.memory`` is left out: it is the time in
which memory was accessed, not bandwidth."""

_REASONS = re.compile(
    r"clocks_(?:event|throttle)_reasons\."
    r"(?:sw_power_cap|hw_slowdown|hw_thermal_slowdown|hw_power_brake_slowdown|sw_thermal_slowdown)"
)
_REASON_MASKS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
_NAME = re.compile(r"([a-z][\w.]*)(?: \[([^\]]+)\])?")
_PLAIN_NAMES = frozenset(
    {"timestamp", "name", "index", "uuid", "count", "pstate", "serial", "time", "gpu_name",
     "gpu_uuid", "pci.bus_id", "driver_version", "fan.speed"}
)  # fmt: skip
_GROUPS = (
    "utilization.", "memory.", "power.", "clocks.", "clocks_event_reasons.", "temperature.",
    "clocks_throttle_reasons.", "pci.", "ecc.", "pcie.", "enforced.power", "encoder.",
)  # fmt: skip
_STAMP = r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}"
_WITH_UNIT = re.compile(r"(?:^|, ?)[\d.]+ (?:MiB|%|W|MHz)(?=,|$)")
_FAILED = ("NVIDIA-SMI has failed", "is not a valid field to query", "No devices were found")
_TABLE = re.compile(r"\| NVIDIA-SMI \d")


def _names(line: str) -> list[str] | None:
    """Return the names of a header without their units; None where a line is no header."""
    matches = [_NAME.fullmatch(cell.strip()) for cell in line.strip().split(",")]
    names = [match[1] for match in matches if match]
    if len(names) != len(matches):
        return None
    known = [name in _PLAIN_NAMES or name.startswith(_GROUPS) for name in names]
    dotted = any("." in name and good for name, good in zip(names, known, strict=True))
    return names if dotted and sum(known) >= min(2, len(names)) else None


def _units(line: str) -> list[str]:
    """Return the unit of each column; empty where a header has none, or where it is of time."""
    matches = [_NAME.fullmatch(cell.strip()) for cell in line.strip().split(",")]
    return [(match[2] or "") if match and match[1] != "time" else "" for match in matches]


@lru_cache(maxsize=1 << 14)
def _with_unit(cell: str, unit: str) -> str:
    """Return a cell with its column's unit, where ``nounits`` left it bare."""
    text = cell.strip()
    return f"{text} {unit}" if unit and text[-1:].isdigit() and " " not in text else text


def _claims(file: OpenedFile) -> bool:
    if not file.is_text or file.looks_like_json:
        return False
    first = file.first_line
    if _names(first) is not None or (len(first) < 300 and _is_headless(first)):
        return True
    return first.startswith(_FAILED) or (_TABLE.search(file.head[:600]) is not None)


def _is_headless(line: str) -> bool:
    if re.match(rf"{_STAMP}, ", line):
        return True
    return ", " in line and _WITH_UNIT.search(line) is not None


def _read(file: OpenedFile) -> list[Part]:
    first = file.first_line
    _refuse_what_is_no_table(file, first)
    names = _names(first)
    if names is None:
        raise ServingFileError(
            file.shown,
            "is output of nvidia-smi without a header, and nothing says what its columns are",
            "Leave out noheader: nvidia-smi --query-gpu=... --format=csv,nounits -l 1.",
        )
    rows, values, bad = _rows(file, names)
    notes = []
    if bad:
        text = f"{file.shown}: {bad} lines are no readings of its columns and are left out."
        notes.append(Note("lines_left_out", text))
    relative = "time" in names and not any((row.time_s or 0) > 1e8 for row in rows[:1])
    has_time = any(row.time_s is not None for row in rows)
    if not has_time:
        text = f"{file.shown}: has no timestamp: readings are taken as 1 s apart."
        notes.append(Note("no_clock", text))
    return parts_of_rows(
        rows,
        path=file.shown,
        format="nvidia-smi",
        values=values,
        notes=notes,
        interval_s=None if has_time else 1.0,
        begins_with_run=relative,
    )


def _refuse_what_is_no_table(file: OpenedFile, first: str) -> None:
    if first.startswith(_FAILED):
        raise ServingFileError(
            file.shown,
            f"holds what nvidia-smi said instead of readings: {first[:120]!r}",
            "Find out why it failed, and record again.",
        )
    if _TABLE.search(file.head[:600]):
        raise ServingFileError(
            file.shown,
            "is the table that nvidia-smi prints for people, of one moment",
            "Record with nvidia-smi --query-gpu=timestamp,utilization.gpu,clocks.sm,... "
            "--format=csv -l 1.",
        )


_MOST_KNOWN = 10_000


def _rows(
    file: OpenedFile, names: Sequence[str]
) -> tuple[list[GpuRow], dict[str, dict[str, Any]], int]:
    """Return readings, values of each GPU, and how many lines are neither reading nor header."""
    key = next((i for n in ("uuid", "gpu_uuid", "index", "pci.bus_id", "serial")
                for i, name in enumerate(names) if name == n), None)  # fmt: skip
    rows: list[GpuRow] = []
    values: dict[str, dict[str, Any]] = {}
    bad = 0
    lines = file.text.split("\n")
    first = next(i for i, line in enumerate(lines) if line.strip())
    units = _units(lines[first])
    # What each column is, found once: a day has millions of cells.
    sampled = [(i, _SAMPLED[name]) for i, name in enumerate(names) if name in _SAMPLED]
    reasons = [(i, name) for i, name in enumerate(names) if _is_reason(name)]
    clocks = [i for n in ("time", "timestamp") for i, name in enumerate(names) if name == n]
    clock = clocks[0] if clocks else None
    seconds = _relative_s if "time" in names else seconds_of_clock
    known: dict[tuple[str, ...], tuple[str, dict[str, float]]] = {}
    for cells in cells_of(file, lines[first + 1 :]):
        beside_clock = tuple(cells[1:]) if clock == 0 else ()
        if beside_clock in known:
            gpu, read = known[beside_clock]
            rows.append(GpuRow(gpu, seconds(cells[0].strip()), read))
            continue
        if not any(map(str.strip, cells)):
            continue
        if len(cells) != len(names):
            bad += 1
            continue
        if cells[0][:1].isalpha() and _names(",".join(cells)) is not None:
            continue  # the header again, where files were joined
        texts = list(map(_with_unit, cells, units))
        read, is_bad = _reading(texts, sampled, reasons)
        gpu = texts[key] if key is not None else ""
        bad += is_bad
        if read:
            rows.append(GpuRow(gpu, None if clock is None else seconds(texts[clock]), read))
            if beside_clock and not is_bad and len(known) < _MOST_KNOWN:
                known[beside_clock] = gpu, read
            if not values.get(gpu):  # of one moment: they do not change
                _take_values(dict(zip(names, texts, strict=True)), values.setdefault(gpu, {}))
    return rows, values, bad


def _reading(
    texts: Sequence[str], sampled: Sequence[tuple[int, str]], reasons: Sequence[tuple[int, str]]
) -> tuple[dict[str, float], bool]:
    found: dict[str, float] = {}
    broken = False
    for index, column in sampled:
        value, is_broken = measured(texts[index])
        broken = broken or is_broken
        if value is not None and value >= 0:
            found.setdefault(column, value)
    for index, name in reasons:
        limited = _limited(name, texts[index])
        if limited is not None:
            found["clock_limited"] = max(float(limited), found.get("clock_limited", 0.0))
    return found, broken


def _is_reason(name: str) -> bool:
    return name in _REASON_MASKS or _REASONS.fullmatch(name) is not None


@lru_cache(maxsize=1 << 12)
def _limited(name: str, cell: str) -> bool | None:
    """Return whether a column says that the clock was slowed; None where it does not say."""
    if name in _REASON_MASKS and re.fullmatch(r"0x[0-9a-fA-F]{1,16}", cell):
        return bool(int(cell, 16) & LIMITING_BITS)
    if _REASONS.fullmatch(name) and cell in {"Active", "Not Active"}:
        return cell == "Active"
    return None


def _relative_s(text: str) -> float | None:
    return measured(text).value


def _take_values(by_name: Mapping[str, str], into: dict[str, Any]) -> None:
    name = by_name.get("name") or by_name.get("gpu_name")
    if name and measured(name).is_broken:
        into.setdefault("device_name", name)
    for column, names in (
        ("?total_memory_gib", ("memory.total",)),
        ("sm_clock_max_mhz", ("clocks.max.sm",)),
    ):
        for one in names:
            value = measured(by_name.get(one, "")).value
            if value:
                into.setdefault(column, value / 1024 if column == "?total_memory_gib" else value)


FORMATS = (
    Format("nvidia-smi", "nvidia-smi --query-gpu, as CSV", _claims, _read),
    *_DMON,
)
