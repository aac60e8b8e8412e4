"""The points of the stall bars: shares of warp latency by stall reason, per family or kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from nsightlens.analysis import Classification, classify
from nsightlens.analysis.aggregate import group_by
from nsightlens.arrays import known_numbers, number_array
from nsightlens.devices.columns import number_column, text_column
from nsightlens.errors import NothingToPlotError
from nsightlens.plots.points import (
    DURATION,
    GROUP,
    LAUNCH_COUNT,
    PLACE,
    counted_launches,
    launch_rows,
    mean_of,
    of_one_device,
    of_one_phase,
    origin_of,
    points_table,
)
from nsightlens.report import Report, rows_of_launches
from nsightlens.tables import STALL_REASONS
from nsightlens.tables.column import Column, category, real

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["STALLS_POINTS", "stalls_points"]

STALLS_POINTS: tuple[Column, ...] = (
    *PLACE,
    *GROUP,
    LAUNCH_COUNT,
    DURATION,
    category("stall_reason", "warp state, in NVIDIA's words"),
    real(
        "share_of_warp_latency_pct",
        "%",
        "share of the time that a warp spends per instruction: mean over the duration of the"
        " launches of which it is known",
    ),
)

_KEYS = {
    "family": ("device_name", "family", "subtype", "phase"),
    "kernel": ("device_name", "family", "subtype", "phase", "kernel"),
    "batch": ("device_name", "family", "subtype", "phase", "batch_size"),
}


def stalls_points(
    report: Report,
    classification: Classification | None = None,
    *,
    by: Literal["family", "kernel", "batch"] = "family",
    phase: str | None = None,
    device_name: str | None = None,
) -> pa.Table:
    """Return the share of each stall reason in warp latency.

    Parameters
    ----------
    report
        The report.
    classification
        Labels of its launches, where they were made already: ``classify(report)``.
    by
        A bar per family, per kernel, or per family and batch size.
    phase
        Launches of this phase only.
    device_name
        GPU, or a part of its name; needed where there are several.

    Returns
    -------
    pyarrow.Table
        Columns `STALLS_POINTS`: a row per group and stall reason, groups by time, the most first.

    Raises
    ------
    NothingToPlotError
        No launch has stall reasons and a duration.
    FilterError
        There are several GPUs, or nothing of that name.

    Examples
    --------
    >>> from nsightlens import open_report
    >>> from nsightlens.example import path
    >>> points = stalls_points(open_report(path()))
    >>> sorted(set(points["family"].to_pylist()))[:2]
    ['attention', 'elementwise']
    """
    result = classify(report) if classification is None else classification
    labels = of_one_phase(of_one_device(result.labels, device_name), phase, is_needed=False)
    shares = _shares(report, labels)
    duration = number_column(labels, "duration_ns")
    is_known = (duration > 0) & ~np.isnan(shares).all(axis=0)
    if not is_known.any():
        raise NothingToPlotError(
            "no launch has stall reasons and a duration. Collect the section WarpStateStats."
        )
    kept = labels.filter(number_array(is_known))
    points = _points(kept, shares[:, is_known], duration[is_known], by)
    left = int((~is_known).sum())
    notes = [f"Not shown: {counted_launches(left)} without stall reasons."] if left else []
    origins = [origin_of(report)] * points.num_rows
    data = {name: points[name] for name in points.column_names} | {"origin": origins}
    return points_table("stalls", STALLS_POINTS, data, points.num_rows, notes)


def _shares(report: Report, labels: pa.Table) -> NDArray[np.float64]:
    """Return [%] each reason's share per launch; NaN where unknown. Shape (reasons, launches)."""
    stalls = rows_of_launches(report.stalls, labels)
    shares = np.full((len(STALL_REASONS), labels.num_rows), np.nan)
    if not stalls.num_rows:
        return shares
    code, texts = text_column(stalls, "stall_reason")
    position = np.array([STALL_REASONS.index(text) if text else 0 for text in texts])
    shares[position[code], launch_rows(stalls, labels)] = number_column(
        stalls, "share_of_warp_latency_pct"
    )
    return shares


def _points(
    labels: pa.Table, shares: NDArray[np.float64], duration_ns: NDArray[np.float64], by: str
) -> pa.Table:
    keys = _KEYS[by]
    groups = group_by([labels[name].cast(pa.string()) for name in keys])
    means = mean_of(groups, shares, duration_ns)
    total_ns = groups.sum(duration_ns)
    launches = groups.sum(np.ones(len(duration_ns))).astype(np.uint64)
    # By time, and within a group by share.
    group, reason = np.nonzero(~np.isnan(means.T))
    order = np.lexsort((reason, -means[reason, group], group, -total_ns[group]))
    group, reason = group[order], reason[order]
    first = number_array(groups.first[group])
    data = {name: labels[name].take(first).cast(labels[name].type) for name in keys}
    return points_table(
        "stalls",
        STALLS_POINTS,
        data
        | {
            "launch_count": number_array(launches[group]),
            "duration_ns": known_numbers(total_ns[group]),
            "stall_reason": [STALL_REASONS[i] for i in reason],
            "share_of_warp_latency_pct": known_numbers(means[reason, group]),
        },
        len(group),
    )
