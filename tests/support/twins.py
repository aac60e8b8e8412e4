"""A file read by both scanners, as values that can be compared bit by bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from nsightlens.errors import NsightLensError
from nsightlens.ncurep import read_columns

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.metric_store import MetricStore
    from nsightlens.ncurep.scanner import ScannerName

OnError = Literal["raise", "salvage"]


def outcome(path: Path, scanner: ScannerName, on_error: OnError, **wanted: Any) -> dict[str, Any]:
    """Return all that a scanner makes of a file: every table and the damage, or the error.

    ``wanted`` are further arguments of `read_columns`; by default everything is.
    """
    wanted = {"instances": True, **wanted}
    try:
        found = read_columns(path, on_error=on_error, scanner=scanner, **wanted)
    except NsightLensError as error:
        return {"error": (type(error).__name__, str(error))}
    return {
        "damage": None
        if found.damage is None
        else (type(found.damage).__name__, str(found.damage)),
        "version": (found.version, found.size_bytes),
        "processes": [found.processes[i] if i is not None else None for i in _processes(found)],
        "sessions": [str(session) for session in found.sessions],
        "launches": _bits(found.launches.drop_columns(["process"])),
        "rules": _bits(found.rules),
        "nvtx": _bits(found.nvtx),
        "instances": _bits(found.instances),
        "metrics": _metrics(found.store),
    }


def _processes(found: Any) -> list[int | None]:
    processes: list[int | None] = found.launches["process"].to_pylist()
    return processes


def _bits(table: pa.Table) -> dict[str, list[Any]]:
    """Return the columns; of floating point its bits, so that NaN equals itself."""
    return {
        name: (_float_bits(column) if pa.types.is_floating(column.type) else column.to_pylist())
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def _float_bits(column: pa.ChunkedArray) -> list[int | None]:
    return [bits for chunk in column.chunks for bits in chunk.view(pa.int64()).to_pylist()]


def _metrics(store: MetricStore) -> list[tuple[Any, ...]]:
    """Return every stored value, sorted by launch and name."""
    found = store.long()
    names = [store.names[i] for i in found.name.tolist()]
    columns = (
        found.row.tolist(), names, found.kind.tolist(),
        found.value.view(np.uint64).tolist(), found.integer.tolist(), found.text.to_pylist(),
    )  # fmt: skip
    return sorted(zip(*columns, strict=True), key=lambda row: row[:2])
