"""What a read report says, as plain values that compare with ``==`` (NaN equals NaN, bit for bit).

The position of a result in the file, the order of the string table and the path are left out, so
that two layouts of the same report compare equal.
"""

from __future__ import annotations

import struct
from dataclasses import astuple, replace
from typing import TYPE_CHECKING, Any

from nsightlens.ncurep import read_ncu_rep
from nsightlens.ncurep.write import encode_ncu_rep

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from nsightlens.ncurep.model import NcuRepFile
    from nsightlens.ncurep.spec import LaunchSpec, Layout, ReportSpec

Bits = tuple[Any, ...]


def read_bytes(
    folder: Path, data: bytes, *, name: str = "report.ncu-rep", **options: Any
) -> NcuRepFile:
    """Read a report that is at hand as bytes."""
    path = folder / name
    path.write_bytes(data)
    return read_ncu_rep(path, **options)


def read_back(
    folder: Path,
    report: ReportSpec | NcuRepFile | Iterable[LaunchSpec],
    layout: Layout | None = None,
) -> NcuRepFile:
    """Write a report, and read it with all its instances."""
    return read_bytes(folder, encode_ncu_rep(report, layout), instances=True)


def contents(file: NcuRepFile) -> list[tuple[Any, ...]]:
    """Return every result with its metrics, in file order."""
    metrics: list[list[Any]] = [[] for _ in file.results]
    instances = _instances(file)
    scalars = file.scalars
    for i, result in enumerate(scalars.result):
        value = _bits(i, scalars.kind, scalars.value, scalars.integer, scalars.text)
        metric = (file.strings[scalars.name[i]], value, scalars.instance_count[i])
        metrics[result].append((*metric, instances.get(i, [])))
    return [
        (astuple(replace(result, offset=0)), of_result)
        for result, of_result in zip(file.results, metrics, strict=True)
    ]


def _instances(file: NcuRepFile) -> dict[int, list[tuple[Bits, Bits]]]:
    found: dict[int, list[tuple[Bits, Bits]]] = {}
    columns = file.instances
    if columns is None:
        return found
    for j, scalar in enumerate(columns.scalar):
        correlation = _bits(
            j,
            columns.correlation_kind,
            columns.correlation_value,
            columns.correlation_integer,
            columns.correlation_text,
        )
        value = _bits(j, columns.kind, columns.value, columns.integer, columns.text)
        found.setdefault(scalar, []).append((correlation, value))
    return found


def _bits(
    i: int,
    kind: array[int],
    value: array[float],
    integer: array[int],
    text: Mapping[int, str],
) -> Bits:
    return kind[i], struct.pack("<d", value[i]), integer[i], text.get(i)
