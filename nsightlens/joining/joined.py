"""`join`: the launches of ncu reports beside the kernels of nsys traces of the same program.

Matched by step, operation, kernel name, grid and block, in order; where one run has more of a key,
by neighbours first (`nsightlens.comparison.pairing`). What has no counterpart keeps its row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens import tables
from nsightlens.arrays import known_numbers
from nsightlens.comparison.pairing import Level, pair
from nsightlens.comparison.side import LabelOptions, measure_side, parts_of
from nsightlens.devices.columns import number_column
from nsightlens.joining.families import families_of, notes_of
from nsightlens.joining.sides import STEP_KEYS, joint_keys, kernels_of, take
from nsightlens.steps import NO_STEP_RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nsightlens.comparison.keys import Keys
    from nsightlens.comparison.side import Side
    from nsightlens.joining.sides import Kernels
    from nsightlens.report import Report
    from nsightlens.steps import StepRules
    from nsightlens.trace import Trace

__all__ = ["MATCHED_BY", "Joined", "join"]

MATCHED_BY = ("step", "step_name", "order")
_SHAPE = ("grid", "block")
_LEVELS = (
    Level("step", ("name", *_SHAPE, *STEP_KEYS, "operation"), "phase", is_same_work=True),
    # Engines count steps from the start of the process, and a capture may change the operation.
    Level("step", ("name", *_SHAPE, "phase", "batch_size"), "phase", is_same_work=True),
    Level("step_name", ("kernel", *_SHAPE, "phase", "batch_size"), "kernel", is_same_work=True),
    # Of one of the two runs nothing says the step.
    Level("order", ("name", *_SHAPE), lacks="phase", is_same_work=True),
    Level("order", ("kernel", *_SHAPE), "kernel", "phase", is_same_work=True),
)


@dataclass(frozen=True, eq=False, repr=False)
class Joined:
    """Launches under ncu beside kernels under nsys.

    Parameters
    ----------
    rows
        One row per launch of the reports, in their order, then one per kernel of the traces without
        counterpart, with the schema of `nsightlens.tables.JOINED`.
    families
        Sums by phase, batch size and family, with the schema of
        `nsightlens.tables.JOINED_FAMILIES`.
    launch_count, kernel_count, matched_count
        Launches of the reports, kernels of the traces, and pairs.
    outside_count
        Kernels of the traces in no step, where every launch of the reports is in one: the warm-up
        and the like. They are not in ``rows``.
    notes
        What a person must know, one sentence each.
    """

    rows: pa.Table
    families: pa.Table
    launch_count: int
    kernel_count: int
    matched_count: int
    outside_count: int
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<Joined: {self.matched_count} pairs of {self.launch_count} launches and "
            f"{self.kernel_count} kernels>"
        )


def join(
    report: Report | Sequence[Report],
    trace: Trace | Sequence[Trace],
    *,
    step_rules: StepRules = NO_STEP_RULES,
) -> Joined:
    """Match the launches of ncu reports with the kernels of nsys traces of the same program.

    Parameters
    ----------
    report
        The report, or several.
    trace
        The trace, or several; their kernels follow one another in this order.
    step_rules
        What the caller says of the steps of the reports where no NVTX range does.

    Returns
    -------
    Joined
        Every launch has one row, every kernel at most one. Durations of the two tools stand in
        columns of their own: ``ncu_duration_ns`` and ``nsys_duration_ns``.

    Raises
    ------
    TypeError
        One of the reports is none.
    ValueError
        There is no report or no trace.

    Examples
    --------
    >>> from nsightlens import join, open_report, open_trace
    >>> join(open_report("run.ncu-rep"), open_trace("run.sqlite")).families  # doctest: +SKIP
    """
    traces: list[Any] = list(trace) if isinstance(trace, (list, tuple)) else [trace]
    if not traces:
        raise ValueError("join needs at least one trace")
    side = measure_side(parts_of(report), LabelOptions(step_rules=step_rules))
    kernels = kernels_of(traces)
    keys = joint_keys(side, kernels)
    launch_count, kernel_count = len(side.report), kernels.table.num_rows
    # Of a device that only one of the two runs used, nothing is to be matched by it.
    device = keys.codes["device"]
    shared = np.intersect1d(device[:launch_count], device[launch_count:])
    partner, level = pair(
        keys,
        _LEVELS,
        np.arange(launch_count),
        np.arange(kernel_count) + launch_count,
        ("device",) if (shared >= 0).any() else (),
    )
    is_outside = _outside(keys, launch_count, partner)
    alone = np.flatnonzero((partner < 0) & ~is_outside)
    kernel = np.full(launch_count, -1)
    kernel[partner[partner >= 0]] = np.flatnonzero(partner >= 0)
    matched_by = np.append([MATCHED_BY.index(one.name) for one in _LEVELS], -1)[level]
    launch = np.concatenate([np.arange(launch_count), np.full(len(alone), -1)])
    kernel = np.concatenate([kernel, alone])
    rows = _rows(side, kernels, launch, kernel, matched_by)
    families = families_of(rows)
    matched_count = int((partner >= 0).sum())
    return Joined(
        rows,
        families,
        launch_count,
        kernel_count,
        matched_count,
        int(is_outside.sum()),
        notes_of(rows, int(is_outside.sum())),
    )


def _outside(keys: Keys, launch_count: int, partner: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which kernels are in no step though every launch of the reports is in one."""
    is_in_step = keys.is_known("phase") | keys.is_known("batch_size")
    if launch_count == 0 or not is_in_step[:launch_count].all():
        return np.zeros(len(partner), dtype=bool)
    return ~is_in_step[launch_count:] & (partner < 0)


def _rows(
    side: Side,
    kernels: Kernels,
    launch: NDArray[np.int64],
    kernel: NDArray[np.int64],
    matched_by: NDArray[np.int64],
) -> pa.Table:
    """Return the rows of pairs of launch and kernel, -1 where there is none."""
    labels, table = side.labels, kernels.table

    def either(name: str, of_kernels: Any) -> Any:
        return pc.coalesce(
            take(labels[name].cast(of_kernels.type), launch), take(of_kernels, kernel)
        )

    text = {one: table[one].cast(pa.string()) for one in ("family", "subtype", "kernel")}
    text |= {"kernel_demangled_name": table["kernel_demangled_name"].cast(pa.string())}
    text |= {one: kernels.texts[one] for one in ("grid", "block")}
    text |= {one: kernels.steps[one] for one in ("phase", "batch_size", "step_index")}
    text |= {"device_id": table["device_id"]}
    numbers = {one: _at(side.number[one], launch) for one in ("flop_count", "dram_bytes")}
    ncu_ns = _at(number_column(labels, "duration_ns"), launch)
    nsys_ns = _at(number_column(table, "duration_ns"), kernel)
    gap_ns = _at(_gaps_before_ns(table), kernel)
    latency_ns = _at(
        number_column(table, "start_ns") - number_column(table, "api_start_ns"), kernel
    )
    how = pa.array(MATCHED_BY, pa.string())
    with np.errstate(all="ignore"):
        return tables.table_of(
            tables.schema_of(tables.JOINED),
            {
                "report": take(labels["report"], launch),
                "launch_id": take(labels["launch_id"], launch),
                "trace": take(table["trace"], kernel),
                "kernel_id": take(table["kernel_id"], kernel),
                "matched_by": take(how, np.where(launch >= 0, _at_code(matched_by, kernel), -1)),
                **{name: either(name, column) for name, column in text.items()},
                "operation": pc.coalesce(
                    take(side.text["operation"], launch), take(kernels.texts["operation"], kernel)
                ),
                "ncu_duration_ns": known_numbers(ncu_ns),
                "nsys_duration_ns": known_numbers(nsys_ns),
                "nsys_per_ncu_duration": known_numbers(nsys_ns / ncu_ns),
                "nsys_start_ns": take(table["start_ns"], kernel),
                "nsys_gap_before_ns": known_numbers(gap_ns),
                "nsys_launch_latency_ns": known_numbers(latency_ns),
                "bound": take(labels["bound"], launch),
                "regime": take(labels["regime"], launch),
                "flop_count": known_numbers(numbers["flop_count"]),
                "dram_bytes": known_numbers(numbers["dram_bytes"]),
                "arithmetic_intensity_flop_per_byte": take(
                    labels["arithmetic_intensity_flop_per_byte"], launch
                ),
                "dram_bandwidth_at_nsys_duration_bytes_per_s": known_numbers(
                    numbers["dram_bytes"] / nsys_ns * 1e9
                ),
            },
            len(launch),
        )


def _gaps_before_ns(table: pa.Table) -> NDArray[np.float64]:
    """Return the time before each kernel in which no other kernel ran on its device. Shape (m,).

    NaN for the first kernel of a device in its trace.
    """
    code = [
        table[one].cast(pa.string()).combine_chunks().dictionary_encode().indices.fill_null(-1)
        for one in ("trace", "device_id")
    ]
    trace, device = (np.asarray(one, dtype=np.int64) for one in code)
    start, end = (number_column(table, one) for one in ("start_ns", "end_ns"))
    order = np.lexsort((end, start, device, trace))
    lane = trace[order] * (int(device.max(initial=0)) + 2) + device[order] + 1
    gap = np.full(len(order), np.nan)
    starts = np.flatnonzero(np.diff(lane, prepend=-1))
    for rows in np.split(order, starts)[1:]:  # one turn per device and trace
        before = np.maximum.accumulate(np.nan_to_num(end[rows], nan=-np.inf))[:-1]
        gap[rows[1:]] = np.maximum(start[rows[1:]] - before, 0)
    return gap


def _at(values: NDArray[np.float64], row: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.append(values, np.nan)[row]


def _at_code(values: NDArray[np.int64], row: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.append(values, -1)[row]
