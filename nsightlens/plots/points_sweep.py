"""The points of the figures along the batch size, from the tables of a `Sweep`.

``intensity``, ``shares``, ``throughput`` and ``labels``: one table each. They are rows of the
sweep, with the columns that the figure shows; a number that is missing there is missing here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.arrays import known_numbers, number_array
from nsightlens.devices.columns import number_column
from nsightlens.errors import NothingToPlotError
from nsightlens.plots.points import (
    DURATION,
    GROUP,
    LAUNCH_COUNT,
    PLACE,
    in_batch_steps,
    of_one_device,
    of_one_phase,
    origin_of,
    points_table,
)
from nsightlens.report import Report
from nsightlens.sweeps import sweep
from nsightlens.tables.column import Column, category, count, real, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.sweeps import Sweep

__all__ = [
    "COMPONENTS",
    "INTENSITY_POINTS",
    "LABELS_POINTS",
    "SHARES_POINTS",
    "THROUGHPUT_POINTS",
    "intensity_points",
    "labels_points",
    "shares_points",
    "throughput_points",
]

COMPONENTS = ("attention", "matmul", "other")
"""The paper's three classes of kernels, in the order in which they are stacked."""

_STEP: tuple[Column, ...] = (
    *PLACE,
    category("phase", "prefill, decode or mixed; null where nothing says so"),
    whole("batch_size", "sequences in the step"),
    LAUNCH_COUNT,
    DURATION,
)

INTENSITY_POINTS: tuple[Column, ...] = (
    *PLACE,
    *GROUP,
    LAUNCH_COUNT,
    DURATION,
    real("arithmetic_intensity_flop_per_byte", "FLOP/B", "executed: the solid line"),
    real("useful_arithmetic_intensity_flop_per_byte", "FLOP/B", "useful: the dashed line"),
    real("ridge_point_flop_per_byte", "FLOP/B", "ridge point of DRAM"),
    real("intensity_slope", "1", "slope of the executed intensity along the batch, log-log"),
    real("intensity_slope_stderr", "1", "its standard error"),
    real("useful_intensity_slope", "1", "the same of the useful intensity"),
    real("useful_intensity_slope_stderr", "1", "its standard error"),
)

SHARES_POINTS: tuple[Column, ...] = (
    *_STEP,
    category("component", "attention, matmul or other"),
    real("share_pct", "%", "share of the duration at this batch size"),
)

THROUGHPUT_POINTS: tuple[Column, ...] = (
    *_STEP,
    real("dram_read_pct", "%", "bytes read per second, percent of peak DRAM bandwidth"),
    real("dram_write_pct", "%", "bytes written per second, percent of peak DRAM bandwidth"),
    real("attention_dram_throughput_pct", "%", "DRAM throughput of attention alone"),
    real("matmul_dram_throughput_pct", "%", "DRAM throughput of matmul alone"),
    real("achieved_occupancy_pct", "%", "warps active on average, percent of the SM's maximum"),
)

LABELS_POINTS: tuple[Column, ...] = (
    *PLACE,
    *GROUP,
    LAUNCH_COUNT,
    count("failed_launch_count", "of these, launches that failed to be collected"),
    DURATION,
    category("bound", "memory, compute or unknown"),
    category("regime", "saturated, latency, small_grid, balanced or unknown"),
    category("limiter", "resource with the largest roofline time"),
    real("limiter_fraction", "1", "roofline time of the limiter over duration"),
    category("confidence", "high, medium, low or none"),
)

_TREND_KEYS = ("device_name", "phase", "family", "subtype", "kernel")


def intensity_points(
    data: Sweep | Report,
    *,
    phase: str | None = None,
    device_name: str | None = None,
    origin: str | None = None,
) -> pa.Table:
    """Return arithmetic intensity against the batch size, executed and useful.

    Parameters
    ----------
    data
        A result of `nsightlens.sweep` or `nsightlens.predict`, or a report, of which the sweep is
        made with the defaults.
    phase
        Rows of this phase only.
    device_name
        GPU, or a part of its name; needed where there are several.
    origin
        ``synthetic`` where the sweep is of such a report: of a report it is known.

    Returns
    -------
    pyarrow.Table
        Columns `INTENSITY_POINTS`.

    Raises
    ------
    NothingToPlotError
        No row has a batch size and an intensity.
    FilterError
        There are several GPUs, or nothing of that name.
    """
    swept, origin = _swept(data, origin)
    rows, note = _rows(swept.rows, phase, device_name, is_phase_needed=False)
    columns = _columns(rows, INTENSITY_POINTS, origin) | _slopes(rows, swept.trends)
    executed = number_column(rows, "arithmetic_intensity_flop_per_byte")
    useful = number_column(rows, "useful_arithmetic_intensity_flop_per_byte")
    if not ((executed > 0) | (useful > 0)).any():
        raise NothingToPlotError(
            "no row has an arithmetic intensity: operations or DRAM bytes were not counted. "
            "nsightlens info REPORT says how to collect them."
        )
    return points_table("intensity", INTENSITY_POINTS, columns, rows.num_rows, [note])


def shares_points(
    data: Sweep | Report,
    *,
    phase: str | None = None,
    device_name: str | None = None,
    origin: str | None = None,
) -> pa.Table:
    """Return the shares of attention, matmul and the rest in the time of each batch size.

    Parameters, errors: as `intensity_points`; several phases are an error too.

    Returns
    -------
    pyarrow.Table
        Columns `SHARES_POINTS`: three rows per batch size.
    """
    swept, origin = _swept(data, origin)
    rows, note = _rows(swept.steps, phase, device_name, is_phase_needed=True)
    shares = [number_column(rows, f"{name}_share_pct") for name in COMPONENTS]
    if np.isnan(shares).all():
        raise NothingToPlotError("no batch size has a known duration to take shares of.")
    times = number_array(np.tile(np.arange(rows.num_rows), len(COMPONENTS)))
    columns = _columns(rows.take(times), _STEP, origin)
    columns["component"] = np.repeat(COMPONENTS, rows.num_rows).tolist()
    columns["share_pct"] = known_numbers(np.concatenate(shares))
    return points_table("shares", SHARES_POINTS, columns, len(times), [note])


def throughput_points(
    data: Sweep | Report,
    *,
    phase: str | None = None,
    device_name: str | None = None,
    origin: str | None = None,
) -> pa.Table:
    """Return DRAM throughput and achieved occupancy at each batch size.

    Parameters, errors: as `intensity_points`; several phases are an error too.

    Returns
    -------
    pyarrow.Table
        Columns `THROUGHPUT_POINTS`: one row per batch size.
    """
    swept, origin = _swept(data, origin)
    rows, note = _rows(swept.steps, phase, device_name, is_phase_needed=True)
    shown = [column.name for column in THROUGHPUT_POINTS[len(_STEP) :]]
    if np.isnan([number_column(rows, name) for name in shown]).all():
        raise NothingToPlotError(
            "neither DRAM throughput nor occupancy is known at any batch size. "
            "nsightlens info REPORT says how to collect them."
        )
    columns = _columns(rows, THROUGHPUT_POINTS, origin)
    return points_table("throughput", THROUGHPUT_POINTS, columns, rows.num_rows, [note])


def labels_points(
    data: Sweep | Report,
    *,
    phase: str | None = None,
    device_name: str | None = None,
    origin: str | None = None,
) -> pa.Table:
    """Return the label of every family or kernel at each batch size.

    Parameters, errors: as `intensity_points`.

    Returns
    -------
    pyarrow.Table
        Columns `LABELS_POINTS`.
    """
    swept, origin = _swept(data, origin)
    rows, note = _rows(swept.rows, phase, device_name, is_phase_needed=False)
    columns = _columns(rows, LABELS_POINTS, origin)
    return points_table("labels", LABELS_POINTS, columns, rows.num_rows, [note])


def _swept(data: Sweep | Report, origin: str | None) -> tuple[Sweep, str | None]:
    """Return the sweep, and what its points are where the sweep does not say it."""
    if isinstance(data, Report):
        return _swept(sweep(data), origin or origin_of(data))
    # What the sweep itself says, measured or analytic, stays.
    return data, None if origin == "measured" else origin


def _rows(
    table: pa.Table, phase: str | None, device_name: str | None, *, is_phase_needed: bool
) -> tuple[pa.Table, str]:
    if not table.num_rows:
        raise NothingToPlotError("there is no launch to show.")
    kept, note = in_batch_steps(of_one_device(table, device_name))
    # What has no batch size may have another phase, and is not shown anyway.
    kept = of_one_phase(kept, phase, is_needed=is_phase_needed)
    order = pc.sort_indices(kept, sort_keys=[("batch_size", "ascending")])
    return kept.take(order), note


def _columns(rows: pa.Table, columns: Sequence[Column], origin: str | None) -> dict[str, Any]:
    data = {c.name: rows[c.name] for c in columns if c.name in rows.column_names}
    return data if origin is None else data | {"origin": [origin] * rows.num_rows}


def _slopes(rows: pa.Table, trends: pa.Table) -> dict[str, Any]:
    """Return the slope of each row's family."""
    names = [column.name for column in INTENSITY_POINTS if "slope" in column.name]
    values = zip(*(trends[name].to_pylist() for name in names), strict=True)
    of_key = dict(zip(_keys(trends), values, strict=True))
    found = [of_key.get(key, [None] * len(names)) for key in _keys(rows)]
    return {name: [pair[i] for pair in found] for i, name in enumerate(names)}


def _keys(table: pa.Table) -> list[tuple[str | None, ...]]:
    return list(zip(*(table[name].to_pylist() for name in _TREND_KEYS), strict=True))
