"""The table ``sweep``: a row per family and batch size, labelled as `nsightlens.classify` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nsightlens import tables
from nsightlens.analysis.aggregate import group_by
from nsightlens.analysis.label import counted_flop, flat_roof, largest_flop
from nsightlens.analysis.label_columns import label_columns
from nsightlens.analysis.nvidia_verdict import no_verdict
from nsightlens.analysis.padding import Padding
from nsightlens.analysis.usage import INDEX
from nsightlens.arrays import number_array
from nsightlens.devices.columns import number_column
from nsightlens.sweeps.components import component_column
from nsightlens.sweeps.expectation import expectation_columns
from nsightlens.sweeps.numbers import finite_numbers, finite_table, quotient, whole_numbers
from nsightlens.sweeps.part import KEYS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from nsightlens.analysis.label import Decision
    from nsightlens.analysis.measured import Measured
    from nsightlens.sweeps.needed import Needed
    from nsightlens.sweeps.part import SweepPart

__all__ = ["STEP_KEYS", "Work", "rows_of", "shares_pct", "work_of"]

STEP_KEYS = ("device_name", "phase", "batch_size")
"""What makes a step, of the keys of a row."""

_OF_LABEL = (
    "launch_count", "failed_launch_count", "duration_ns", "ridge_point_flop_per_byte",
    "bound_ratio", "dram_throughput_pct", "sm_throughput_pct", "achieved_occupancy_pct",
    "stalled_for_data_pct", "top_stall", "bound", "roofline_bound", "regime", "limiter",
    "limiter_fraction", "clock_dependent", "evidence", "confidence", "peak_source", "reason",
)  # fmt: skip


class Work(NamedTuple):
    """What rows executed and moved, NaN where it was not measured. Shape (n,).

    Parameters
    ----------
    flop
        [FLOP] Of every data type.
    dram_bytes, l2_bytes, l1_bytes
        [B] At each level.
    dram_read_pct, dram_write_pct
        [%] Of peak DRAM bandwidth.
    """

    flop: NDArray[np.float64]
    dram_bytes: NDArray[np.float64]
    l2_bytes: NDArray[np.float64]
    l1_bytes: NDArray[np.float64]
    dram_read_pct: NDArray[np.float64]
    dram_write_pct: NDArray[np.float64]


def work_of(part: SweepPart, measured: Measured) -> Work:
    """Return the measured work of rows: that of annotated shapes is none.

    Where every launch failed or has no duration, all were left out, and nothing is known.
    """
    usage, dram = measured.usage, INDEX["dram"]
    peak = usage.peak_per_s[dram]

    def percent(name: str) -> NDArray[np.float64]:
        return 100.0 * quotient(part.sums.added[name], usage.duration_ns * 1e-9 * peak)

    is_left_out = part.sums.added["counted_launches"] == 0
    is_none = usage.is_analytic | is_left_out
    return Work(
        np.where(is_none, np.nan, counted_flop(usage)),
        np.where(is_none, np.nan, usage.work[dram]),
        np.where(is_left_out, np.nan, measured.levels["l2"].bytes),
        np.where(is_left_out, np.nan, measured.levels["l1"].bytes),
        percent("dram_read_bytes"),
        percent("dram_write_bytes"),
    )


def rows_of(part: SweepPart, needed: Needed) -> pa.Table:
    """Label every row.

    Parameters
    ----------
    part
        The sums. n rows.
    needed
        What the shapes of each row need.

    Returns
    -------
    pyarrow.Table
        With the schema of `nsightlens.tables.SWEEP`, in the order of the rows.
    """
    measured = part.tally.measured()
    count = len(part)
    decision, labels = label_columns(measured, no_verdict(count))
    work = work_of(part, measured)
    data = {
        **{name: labels[name] for name in _OF_LABEL},
        **_identity(part),
        "origin": ["measured"] * count,
        "duration_share_pct": finite_numbers(
            shares_pct(measured.usage.duration_ns, [part.keys[name] for name in STEP_KEYS])
        ),
        **_work_columns(work),
        **expectation_columns(
            work,
            needed,
            _counted_padding(part, measured),
            part.keys,
            number_column(part.common, "context_length"),
        ),
        **_roof_columns(measured, decision),
        "dram_read_pct": finite_numbers(work.dram_read_pct),
        "dram_write_pct": finite_numbers(work.dram_write_pct),
        "active_warps_per_scheduler": finite_numbers(
            measured.context.number["active_warps_per_scheduler"]
        ),
    }
    return finite_table(tables.table_of(tables.schema_of(tables.SWEEP), data, count))


def _counted_padding(part: SweepPart, measured: Measured) -> Padding:
    """Return the padding of rows of which some launch counts: that of the others is no work."""
    is_left_out = part.sums.added["counted_launches"] == 0
    return Padding(*(np.where(is_left_out, np.nan, values) for values in measured.padding))


def shares_pct(duration_ns: NDArray[np.float64], of: Sequence[Any]) -> NDArray[np.float64]:
    """Return the share of each row [%] in the duration of those that equal it in some columns."""
    known = np.where(np.isnan(duration_ns), 0.0, duration_ns)
    groups = group_by(of)
    lengths = np.diff(np.append(groups.starts, len(known)))
    total = np.empty(len(known))
    total[groups.order] = np.repeat(groups.sum(known), lengths)
    return 100.0 * quotient(duration_ns, total)


def _identity(part: SweepPart) -> dict[str, Any]:
    texts = {name: part.keys[name].combine_chunks() for name in KEYS}
    return {
        **texts,
        "batch_size": whole_numbers(texts["batch_size"]),
        "component": component_column(texts["family"]),
        "batch_source": part.batch_source,
        "context_length": whole_numbers(part.common["context_length"].combine_chunks()),
        "report_count": number_array(part.sums.added["reports"]),
    }


def _work_columns(work: Work) -> dict[str, Any]:
    levels = {"": work.dram_bytes, "l2_": work.l2_bytes, "l1_": work.l1_bytes}
    return {
        "flop_count": finite_numbers(work.flop),
        "dram_bytes": finite_numbers(work.dram_bytes),
        "l2_bytes": finite_numbers(work.l2_bytes),
        "l1_bytes": finite_numbers(work.l1_bytes),
        **{
            f"{level}arithmetic_intensity_flop_per_byte": finite_numbers(quotient(work.flop, moved))
            for level, moved in levels.items()
        },
    }


def _roof_columns(measured: Measured, decision: Decision) -> dict[str, Any]:
    usage = measured.usage
    is_known = (decision.roofline_bound != 0) & ~np.isnan(counted_flop(usage))
    slowest = np.fmax(usage.flop_low_ns.max(axis=0), usage.dram_ns)
    fraction = np.where(is_known, quotient(slowest, usage.duration_ns), np.nan)
    return {
        "peak_flop_per_s": finite_numbers(flat_roof(usage, largest_flop(usage))),
        "peak_bytes_per_s": finite_numbers(usage.peak_per_s[INDEX["dram"]]),
        "fraction_of_roof": finite_numbers(fraction),
    }
