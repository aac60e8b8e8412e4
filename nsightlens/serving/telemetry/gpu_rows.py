"""Rows of GPU telemetry of any tool -> one part per GPU that was used."""

from __future__ import annotations

import csv
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nsightlens.errors import ServingFileError
from nsightlens.serving.part import SAMPLE_NAMES, Note, Part, Samples

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nsightlens.serving.opened import OpenedFile

__all__ = ["LIMITING_BITS", "GpuRow", "Measured", "cells_of", "measured", "parts_of_rows"]

LIMITING_BITS = 0x04 | 0x08 | 0x20 | 0x40 | 0x80
"""Bits of NVML's clocks_event_reasons that mean power, heat or hardware: SW power cap, HW slowdown,
SW thermal slowdown, HW thermal slowdown, HW power brake (nvml.h, nvmlClocksEventReason*)."""

_MISSING = frozenset(
    {"", "-", "n/a", "[n/a]", "na", "nan", "none", "null", "[not supported]", "not supported",
     "[unknown error]", "unknown error", "[gpu requires reset]", "[insufficient permissions]"}
)  # fmt: skip
_VALUE = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)(?:\s*([A-Za-z%/]+))?")
_FACTORS = {
    "": 1.0, "mib": 1.0, "mb": 1.0, "gib": 1024.0, "kib": 1 / 1024, "w": 1.0, "mw": 1e-3,
    "%": 1.0, "mhz": 1.0, "ghz": 1e3, "c": 1.0,
}  # fmt: skip
_LARGEST = 1e12
_IDLE_PCT = 5.0
"""[%] A GPU that never was busier than this, beside one that was, is not the server's."""


class Measured(NamedTuple):
    """A number of a cell, or None, and whether the cell held something that is no number."""

    value: float | None
    is_broken: bool = False


class GpuRow(NamedTuple):
    """One reading of one GPU: which, when [s] or None, and values by names of `SAMPLE_NAMES`."""

    gpu: str
    time_s: float | None
    values: Mapping[str, float]


@lru_cache(maxsize=1 << 14)  # most cells come again and again: "0 %", "65247 MiB"
def measured(cell: str) -> Measured:
    """Return the number of a cell, in MiB, W, MHz, % or °C whatever its unit is.

    Examples
    --------
    >>> measured("76935 MiB").value, measured("[N/A]"), measured("2 GiB").value
    (76935.0, Measured(value=None, is_broken=False), 2048.0)
    """
    text = cell.strip()
    if text.lower() in _MISSING:
        return Measured(None)
    match = _VALUE.fullmatch(text)
    factor = _FACTORS.get((match[2] or "").lower()) if match else None
    if match is None or factor is None:
        return Measured(None, is_broken=True)
    value = float(match[1]) * factor
    return Measured(value) if abs(value) < _LARGEST else Measured(None, is_broken=True)


def cells_of(file: OpenedFile, lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield the cells of each line of a table with commas.

    Raises
    ------
    ServingFileError
        A line is no such line: it has a NUL, a lone return, or a cell that never ends.
    """
    try:
        yield from csv.reader(lines, skipinitialspace=True)
    except csv.Error as error:
        raise ServingFileError(
            file.shown, f"is no table with commas: {error}", "Record the telemetry again."
        ) from None


def parts_of_rows(
    rows: Sequence[GpuRow],
    *,
    path: str,
    format: str,  # noqa: A002
    values: Mapping[str, Mapping[str, Any]] | None = None,
    notes: Iterable[Note] = (),
    interval_s: float | None = None,
    begins_with_run: bool = False,
) -> list[Part]:
    """Return a part per GPU that was used.

    Parameters
    ----------
    rows
        In the order of the file.
    path, format
        As in `Part`.
    values
        Values of ``serving_runs`` by GPU.
    notes
        For the first part.
    interval_s
        [s] Between readings, where rows have no time.
    begins_with_run
        As in `Samples`.

    Raises
    ------
    ServingFileError
        No row has a value.
    """
    by_gpu: dict[str, list[GpuRow]] = {}
    for row in rows:
        by_gpu.setdefault(row.gpu, []).append(row)
    samples = {gpu: _samples(mine, interval_s, begins_with_run) for gpu, mine in by_gpu.items()}
    with_values = {gpu: one for gpu, one in samples.items() if one.columns}
    if not with_values:
        raise ServingFileError(
            path,
            "is telemetry of a GPU in which no reading has a value",
            "Ask for fields that the GPU supports: nvidia-smi --help-query-gpu names them.",
        )
    used, idle = _used(with_values)
    all_notes = list(notes)
    if idle:
        names = ", ".join(idle)
        all_notes.append(
            Note("idle_gpus", f"{path}: {len(idle)} GPUs did nothing and are left out: {names}.")
        )
    several = len(by_gpu) > 1
    return [
        Part(
            "gpu",
            path,
            format,
            (values or {}).get(gpu, {}),
            where=f"GPU {gpu}" if several else "",
            notes=tuple(all_notes) if i == 0 else (),
            samples=with_values[gpu],
        )
        for i, gpu in enumerate(used)
    ]


def _used(samples: Mapping[str, Samples]) -> tuple[list[str], list[str]]:
    def is_busy(one: Samples) -> bool:
        busy = one.columns.get("gpu_utilization_pct")
        return busy is None or float(np.nanmax(busy)) >= _IDLE_PCT

    used = [gpu for gpu, one in samples.items() if is_busy(one)]
    if not used:
        return list(samples), []
    return used, [gpu for gpu in samples if gpu not in used]


def _samples(rows: Sequence[GpuRow], interval_s: float | None, begins_with_run: bool) -> Samples:
    times = [row.time_s for row in rows]
    known = [one is not None for one in times]
    if interval_s is None and any(known):
        rows = [row for row, has_time in zip(rows, known, strict=True) if has_time]
        time = np.array([one for one in times if one is not None], float)
    else:
        time = np.arange(len(rows)) * (interval_s or 1.0)
        begins_with_run = False
    columns = {}
    there = set().union(*(row.values for row in rows))
    for name in SAMPLE_NAMES:
        if name in there:
            column = np.array([row.values.get(name, np.nan) for row in rows], float)
            if np.isfinite(column).any():
                columns[name] = column
    order = np.argsort(time, kind="stable")
    columns = {name: column[order] for name, column in columns.items()}
    return Samples(time[order], columns, begins_with_run)
