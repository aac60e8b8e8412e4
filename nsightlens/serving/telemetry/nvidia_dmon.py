"""``nvidia-smi dmon``: rows of text below two header lines that come again and again, or CSV.

``-o T`` and ``-o D`` add time and date. ``sm`` is the share of time with a kernel, ``pclk`` the SM
clock, ``pviol`` and ``tviol`` the share of time in which power and heat held it down.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nsightlens.errors import ServingFileError
from nsightlens.serving.logs.log_text import seconds_of_clock
from nsightlens.serving.part import Format, Note
from nsightlens.serving.telemetry.gpu_rows import GpuRow, measured, parts_of_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.part import Part

__all__ = ["FORMATS"]

_SAMPLED = {
    "pclk": "sm_clock_mhz", "mclk": "memory_clock_mhz", "sm": "gpu_utilization_pct",
    "fb": "memory_used_mib", "pwr": "power_w", "gtemp": "temperature_c",
}  # fmt: skip
_LIMITS = ("pviol", "tviol")
_UNITS = re.compile(r"\bidx\b", re.IGNORECASE)
_MARKS = frozenset({"pwr", "sm", "fb", "mclk", "pclk", "pviol", "rxpci", "gtemp", "mem", "enc"})
INTERVAL_S = 1.0
"""[s] Between two rows, unless ``-d`` was given, which no row tells."""


def _header(line: str) -> list[str] | None:
    """Return the names of a header; None where a line is none."""
    is_text = line.startswith("#")
    names = _cells(line.lstrip("# ")) if is_text or "," in line else []
    names = [re.sub(r" \[.*\]$", "", name).lower() for name in names]
    if "gpu" in names and len(_MARKS & set(names)) >= 1 and "." not in line:
        return names
    return None


def _cells(line: str) -> list[str]:
    parts = line.split(",") if "," in line else line.split()
    return [one.strip() for one in parts]


def _claims(file: OpenedFile) -> bool:
    if not file.is_text or file.looks_like_json:
        return False
    lines = [line.strip() for line in file.head[:4000].split("\n") if line.strip()]
    if not lines or _header(lines[0]) is None:
        return False
    return lines[0].startswith("#") or (len(lines) > 1 and _is_units(lines[1]))


def _read(file: OpenedFile) -> list[Part]:
    rows: list[GpuRow] = []
    bad = 0
    names: list[str] = []
    for line in file.text.splitlines():
        text = line.strip()
        if not text:
            continue
        header = _header(text)
        if header is not None:
            names = header
        elif text.startswith("#") or _is_units(text):
            continue
        else:
            cells = _cells(text)
            row = _row(names, cells) if len(cells) == len(names) else None
            bad += row is None
            if row is not None:
                rows.append(row)
    if not rows:
        raise ServingFileError(
            file.shown,
            "has the header of nvidia-smi dmon and no reading",
            "Let nvidia-smi dmon run while the benchmark does.",
        )
    has_time = any(row.time_s is not None for row in rows)
    relative = "time" in names and has_time and all((row.time_s or 0) < 1e8 for row in rows)
    return parts_of_rows(
        rows,
        path=file.shown,
        format="nvidia-smi-dmon",
        notes=tuple(_notes(file, bad, has_time)),
        interval_s=None if has_time else INTERVAL_S,
        begins_with_run=relative and not _has_clock(file),
    )


def _notes(file: OpenedFile, bad: int, has_time: bool) -> Iterator[Note]:
    if bad:
        text = f"{file.shown}: {bad} lines are no readings of its columns and are left out."
        yield Note("lines_left_out", text)
    if not has_time:
        text = f"{file.shown}: has no time of day (-o DT): readings are taken as 1 s apart."
        yield Note("no_clock", text)


def _is_units(text: str) -> bool:
    return _UNITS.search(text) is not None


def _has_clock(file: OpenedFile) -> bool:
    return "hh:mm:ss" in file.head[:2000].lower()


def _row(names: Sequence[str], cells: Sequence[str]) -> GpuRow | None:
    by_name = dict(zip(names, cells, strict=True))
    if not by_name.get("gpu", "").isdigit():
        return None
    values: dict[str, float] = {}
    for name, column in _SAMPLED.items():
        value = measured(by_name.get(name, "")).value
        if value is not None and value >= 0:
            values[column] = value
    limits = [measured(by_name.get(name, "")).value for name in _LIMITS]
    known = [value for value in limits if value is not None]
    if known:
        values["clock_limited"] = float(max(known) > 0)
    return GpuRow(by_name["gpu"], _time(by_name), values)


def _time(by_name: dict[str, str]) -> float | None:
    """Return a row's time [s]: of day and clock, of a clock alone, or seconds of a collector."""
    clock, date = by_name.get("time", ""), by_name.get("date", "")
    if re.fullmatch(r"\d\d:\d\d:\d\d", clock):
        day = (
            f"{date[:4]}-{date[4:6]}-{date[6:8]}" if re.fullmatch(r"\d{8}", date) else "2000-01-01"
        )
        return seconds_of_clock(f"{day} {clock}")
    return measured(clock).value


FORMATS = (Format("nvidia-smi-dmon", "nvidia-smi dmon, as text or CSV", _claims, _read),)
