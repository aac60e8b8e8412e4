"""DCGM: text of ``dcgmi dmon``, and fields ``DCGM_FI_*`` of its exporter, as text or as CSV.

Fields ``*_PROF_*_ACTIVE`` are ratios from 0 to 1, although the exporter's help says "(in %)". They
are absent, which is not zero, while another profiler holds the counters.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nsightlens.errors import ServingFileError
from nsightlens.serving.logs.log_text import seconds_of_clock
from nsightlens.serving.part import Format, Note
from nsightlens.serving.telemetry.exposition import metrics_of
from nsightlens.serving.telemetry.gpu_rows import (
    LIMITING_BITS,
    GpuRow,
    cells_of,
    measured,
    parts_of_rows,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.part import Part

__all__ = ["FORMATS"]

_FIELDS = {
    "DCGM_FI_DEV_SM_CLOCK": "sm_clock_mhz", "DCGM_FI_DEV_MEM_CLOCK": "memory_clock_mhz",
    "DCGM_FI_DEV_GPU_UTIL": "gpu_utilization_pct", "DCGM_FI_DEV_FB_USED": "memory_used_mib",
    "DCGM_FI_DEV_POWER_USAGE": "power_w", "DCGM_FI_DEV_GPU_TEMP": "temperature_c",
    "DCGM_FI_PROF_DRAM_ACTIVE": "dram_active_pct",
    "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": "clock_limited",
    "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": "clock_limited",
}  # fmt: skip
_TAGS = {
    "SMCLK": "sm_clock_mhz", "MMCLK": "memory_clock_mhz", "GPUTL": "gpu_utilization_pct",
    "FBUSD": "memory_used_mib", "POWER": "power_w", "TMPTR": "temperature_c",
    "DRAMA": "dram_active_pct", "DVCCTR": "clock_limited",
}  # fmt: skip
"""Short names of ``dcgmi dmon``, by field: 100, 101, 203, 252, 155, 150, 1005, 112."""
_FIELD = re.compile(r"(DCGM_FI_\w+)\s*(?:\{(.*)\})?")
_LIST = re.compile(r"^DCGM_FI_\w+\s*,\s*(?:gauge|counter|label)\s*,", re.MULTILINE)
_EXPOSED = re.compile(r"^DCGM_FI_\w+\{[^\n]*\} ", re.MULTILINE)
_ENTITY = re.compile(r"#\s*Entity\b")
_CSV_KEYS = ("gpu", "gpu_id", "device", "index", "uuid", "instance")
_CSV_TIMES = ("timestamp", "time", "time [s]", "datetime", "date")
INTERVAL_S = 1.0
"""[s] Between rows of ``dcgmi dmon`` unless ``-d`` was given, which no row tells."""


def _claims(file: OpenedFile) -> bool:
    if not file.is_text or file.looks_like_json:
        return False
    first = file.first_line
    return (
        _ENTITY.match(first) is not None
        or _is_csv(first)
        or (_EXPOSED.search(file.head) or _LIST.search(file.head)) is not None
    )


def _is_csv(first: str) -> bool:
    return "," in first and "DCGM_FI_" in first and _LIST.match(first) is None


def _read(file: OpenedFile) -> list[Part]:
    first = file.first_line
    has_time = True
    if _ENTITY.match(first):
        rows, has_time = _of_dmon(file.text), False
    elif _is_csv(first):
        rows = _of_csv(file)
        has_time = any(row.time_s is not None for row in rows)
    elif _LIST.search(file.head) and not _EXPOSED.search(file.head):
        raise ServingFileError(
            file.shown,
            "lists the fields that the DCGM exporter is to collect, and holds no values",
            "Give the samples that were collected.",
        )
    else:
        rows = _of_exposition(file.text)
        has_time = any(row.time_s is not None for row in rows)
    notes = []
    if not has_time:
        text = f"{file.shown}: has no time of day: readings are taken as {INTERVAL_S:g} s apart."
        notes.append(Note("no_clock", text))
    return parts_of_rows(
        _with_percent(rows),
        path=file.shown,
        format="dcgm",
        notes=notes,
        interval_s=None if has_time else INTERVAL_S,
        begins_with_run=has_time and all((row.time_s or 0) < 1e8 for row in rows),
    )


def _with_percent(rows: Sequence[GpuRow]) -> list[GpuRow]:
    """Return rows with the DRAM ratio as a percentage; a share that was one already is kept."""
    name = "dram_active_pct"
    largest = max((row.values[name] for row in rows if name in row.values), default=0.0)
    factor = 100.0 if largest <= 1.05 else 1.0
    return [
        row._replace(values={**row.values, name: factor * row.values[name]})
        if name in row.values
        else row
        for row in rows
    ]


def _value(column: str, text: str) -> float | None:
    """Return the number of a cell; of reasons for a slower clock, whether one is power or heat."""
    value = measured(text).value
    if value is None or value < 0 or value >= 2**53:
        return None
    if column == "clock_limited":
        return float(bool(int(value) & LIMITING_BITS))
    return value


def _put(values: dict[str, float], column: str | None, text: str) -> None:
    number = _value(column, text) if column else None
    if column and number is not None:
        values[column] = number


def _of_dmon(text: str) -> list[GpuRow]:
    """Return the readings of ``dcgmi dmon``: ``GPU 0  0.98  0.5  N/A``."""
    names: list[str] = []
    rows = []
    for line in text.splitlines():
        if _ENTITY.match(line.strip()):
            names = line.split("Entity", 1)[1].split()
            continue
        match = re.match(r"\s*GPU\s+(\d{1,4})\s+(.*)", line)
        cells = match[2].split() if match else []
        if match is None or len(cells) != len(names):
            continue
        values: dict[str, float] = {}
        for name, cell in zip(names, cells, strict=True):
            _put(values, _TAGS.get(name), cell)
        rows.append(GpuRow(match[1], None, values))
    return rows


def _of_csv(file: OpenedFile) -> list[GpuRow]:
    """Return the readings of a table with a column per field, of one GPU or by label."""
    lines = cells_of(file, file.text.lstrip().split("\n"))
    header = [cell.strip() for cell in next(lines)]
    fields = []
    for i, cell in enumerate(header):
        match = _FIELD.match(cell)
        column = _FIELDS.get(match[1]) if match else None
        if match and column:
            label = re.search(r"gpu=\"?(\w+)", match[2] or "")
            fields.append((i, column, label[1] if label else None))
    lower = [cell.lower() for cell in header]
    key = next((lower.index(name) for name in _CSV_KEYS if name in lower), None)
    clock = next((lower.index(name) for name in _CSV_TIMES if name in lower), None)
    rows = []
    for cells in lines:
        if len(cells) != len(header):
            continue
        by_gpu: dict[str, dict[str, float]] = {}
        for i, column, named in fields:
            gpu = named or (cells[key].strip() if key is not None else "")
            _put(by_gpu.setdefault(gpu, {}), column, cells[i])
        time_s = _time(cells[clock]) if clock is not None else None
        rows += [GpuRow(gpu, time_s, values) for gpu, values in by_gpu.items() if values]
    return rows


def _time(cell: str) -> float | None:
    """Return a time [s]: of a date, or of a number, which is in ms or ns where it is that large."""
    value = measured(cell).value
    if value is None:
        return seconds_of_clock(cell)
    while value > 1e11:
        value /= 1e3
    return value


def _of_exposition(text: str) -> list[GpuRow]:
    """Return the readings of scrapes in a row: a field of a GPU that comes again begins another."""
    rows: list[GpuRow] = []
    current: dict[str, dict[str, float]] = {}
    times: dict[str, float | None] = {}
    seen: set[tuple[str, str]] = set()

    def flush() -> None:
        rows.extend(GpuRow(gpu, times.get(gpu), values) for gpu, values in current.items())
        current.clear()
        times.clear()
        seen.clear()

    for metric in metrics_of(text):
        column = _FIELDS.get(metric.name)
        if column is None:
            continue
        gpu = _gpu_of(metric.labels)
        if (gpu, column) in seen:
            flush()
        seen.add((gpu, column))
        _put(current.setdefault(gpu, {}), column, repr(metric.value))
        times[gpu] = metric.time_s
    flush()
    return rows


def _gpu_of(labels: Mapping[str, str]) -> str:
    return labels.get("gpu") or labels.get("UUID") or labels.get("device") or ""


FORMATS = (Format("dcgm", "samples of DCGM", _claims, _read),)
