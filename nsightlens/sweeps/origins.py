"""Where launches come from: which GPUs of one name, and which reports, some of which may be copies.

Both are added up, as they must be where a model runs on several GPUs or a step is in several
reports. Whether that was meant is for the reader to say.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nsightlens.devices.columns import number_column, text_column

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from nsightlens.report import Report

__all__ = ["Origins", "joined_origins", "origin_notes", "origins_of"]

_TEXTS = ("kernel_name", "nvtx_path")
_NUMBERS = ("duration_ns", "grid_x", "grid_y", "grid_z", "dram_read_bytes", "sm_throughput_pct")
"""What tells the launches of one report from those of another: a repeated run has other times."""

_NAMED = 8
"""Device ids that are listed."""


class Origins(NamedTuple):
    """Where launches come from.

    Parameters
    ----------
    devices
        Device ids by name of the GPU.
    reports
        Reports by a digest of their launches.
    """

    devices: dict[str, frozenset[int]]
    reports: dict[bytes, tuple[str, ...]]


def origins_of(report: Report, device_name: Any) -> Origins:
    """Return where the launches of a report come from.

    Parameters
    ----------
    report
        The report, of one or more files.
    device_name
        Name of the GPU of each launch. Shape (n,).
    """
    return Origins(_devices(report, device_name), _reports(report))


def joined_origins(parts: Iterable[Origins]) -> Origins:
    """Return those of all parts."""
    devices: dict[str, frozenset[int]] = {}
    reports: dict[bytes, tuple[str, ...]] = {}
    for part in parts:
        for name, ids in part.devices.items():
            devices[name] = devices.get(name, frozenset()) | ids
        for digest, names in part.reports.items():
            reports[digest] = reports.get(digest, ()) + names
    return Origins(devices, reports)


def origin_notes(origins: Origins) -> list[str]:
    """Say what was added up that may not have been meant, one sentence each.

    Examples
    --------
    >>> print(*origin_notes(Origins({"H100": frozenset([0, 1])}, {})))
    2 GPUs named H100 (device ids 0, 1) are added up: times and work are sums over all of them.
    """
    notes = [
        f"{len(ids)} GPUs named {name} (device ids {_listed(ids)}) are added up: times and work are"
        " sums over all of them."
        for name, ids in origins.devices.items()
        if len(ids) > 1
    ]
    copies = [names for names in origins.reports.values() if len(names) > 1]
    if copies:
        first, second, *_ = copies[0]
        count = sum(map(len, copies))
        notes.append(
            f"{count} reports hold the same launches as another of them, such as {first} and"
            f" {second}: these count more than once in every sum and in report_count."
        )
    return notes


def _listed(ids: frozenset[int]) -> str:
    texts = [str(one) for one in sorted(ids)]
    return ", ".join([*texts[:_NAMED], "..."] if len(texts) > _NAMED else texts)


def _devices(report: Report, device_name: Any) -> dict[str, frozenset[int]]:
    code, names = text_column({"name": device_name}, "name")
    ids = number_column(report.launches, "device_id")
    is_known = ~np.isnan(ids)
    found: dict[str, set[int]] = {}
    # A few distinct pairs, whatever the number of launches.
    for at, device in np.unique(np.stack([code[is_known], ids[is_known]]), axis=1).T.tolist():
        name = names[int(at)]
        if name is not None:
            found.setdefault(name, set()).add(int(device))
    return {name: frozenset(devices) for name, devices in found.items()}


def _reports(report: Report) -> dict[bytes, tuple[str, ...]]:
    """Return a digest of each report with a duration: without one, there is nothing to compare."""
    code, names = text_column(report.launches, "report")
    columns = [_hashed(report, name) for name in _TEXTS]
    columns += [number_column(report.launches, name).view(np.int64) for name in _NUMBERS]
    has_duration = ~np.isnan(number_column(report.launches, "duration_ns"))
    order = np.argsort(code, kind="stable")
    found: dict[bytes, tuple[str, ...]] = {}
    for rows in np.split(order, np.flatnonzero(np.diff(code[order])) + 1):
        name = names[code[rows[0]]] if len(rows) else None
        if name is None or not has_duration[rows].any():
            continue
        data = np.stack([column[rows] for column in columns])
        digest = hashlib.blake2b(data.tobytes(), digest_size=16).digest()
        found[digest] = (*found.get(digest, ()), name)
    return found


def _hashed(report: Report, name: str) -> NDArray[np.int64]:
    """Return a number for each text of a column, the same in every report. Shape (n,)."""
    code, texts = text_column(report.launches, name)
    hashes = [hashlib.blake2b((text or "").encode(), digest_size=8).digest() for text in texts]
    numbers: NDArray[np.int64] = np.frombuffer(b"".join(hashes), dtype=np.int64)[code]
    return numbers
