"""Usage from annotated shapes, for launches whose metrics do not decide the label.

An annotation of an operation says how many operations and bytes its shape needs. With a measured
duration and known peaks that gives roofline times. The data type is that of the kernel's name; the
time for the operations lies between that on tensor cores and that in FP32 (FP64 where the name says
so) on CUDA cores. Where something that was measured contradicts the shape, it is not used.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from nsightlens.analysis.thresholds import CONTRADICTION, DISAGREEMENT, FEW_PERCENT
from nsightlens.analysis.usage import FLOP_RESOURCES, INDEX, TENSOR, Usage
from nsightlens.arrays import number_array
from nsightlens.devices.columns import number_column, text_column

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from nsightlens.report import Report

__all__ = ["is_alone", "with_annotated_shapes"]


def with_annotated_shapes(
    usage: Usage, undecided: NDArray[np.bool_], identity: pa.Table, report: Report
) -> tuple[Usage, NDArray[np.bool_]]:
    """Replace the usage of undecided launches by that of their annotated shapes.

    An annotation counts only for a launch that is alone in its range: the work of an operation
    that several launches share cannot be divided among them.

    Parameters
    ----------
    usage
        Measured usage. n launches.
    undecided
        Launches whose measured usage gives no label. Shape (n,).
    identity
        Kernels and annotations, from `nsightlens.analysis.identity.identify`.
    report
        The report.

    Returns
    -------
    usage
        With that of the shapes where it is used.
    is_contradicted
        Launches whose shape does not fit what was measured. Shape (n,).
    """
    flop = number_column(identity, "operation_flop")
    transferred = number_column(identity, "operation_bytes")
    dram_ns = _time_ns(transferred, usage.peak_per_s[INDEX["dram"]])
    resource, fast_ns, slow_ns = _flop_times(usage, flop, identity)
    use = undecided & (usage.duration_ns > 0) & is_alone(report)
    use &= ~np.isnan(dram_ns) & ~np.isnan(fast_ns) & ~np.isnan(slow_ns)
    is_contradicted = use & _is_contradicted(usage, dram_ns, fast_ns, slow_ns)
    use &= ~is_contradicted
    if not use.any():
        return usage, is_contradicted
    shapes = _usage_of_shapes(usage, (flop, transferred, dram_ns), (resource, fast_ns, slow_ns))
    mixed = Usage(
        *(
            np.where(use, getattr(shapes, one.name), getattr(usage, one.name))
            for one in fields(Usage)
        )
    )
    return mixed, is_contradicted


def _is_contradicted(
    usage: Usage,
    dram_ns: NDArray[np.float64],
    fast_ns: NDArray[np.float64],
    slow_ns: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Say where DRAM was measured otherwise, or something else was busier than the shape's work."""
    most = np.fmax(dram_ns, slow_ns)
    contradicts = np.zeros(len(usage), dtype=bool)
    for measured in (usage.dram_ns, usage.dram_percent_ns):
        larger, smaller = np.fmax(dram_ns, measured), np.fmin(dram_ns, measured)
        is_small = larger <= FEW_PERCENT * usage.duration_ns
        contradicts |= ~np.isnan(measured) & (larger > DISAGREEMENT * smaller) & ~is_small
    for ceiling in (usage.compute_ceiling_ns, usage.memory_ceiling_ns):
        contradicts |= np.isfinite(ceiling) & (ceiling > CONTRADICTION * most)
    contradicts |= usage.compute_ceiling_ns * CONTRADICTION < fast_ns
    known = np.where(np.isnan(usage.time_ns), 0.0, usage.time_ns).max(axis=0)
    contradicts |= known > CONTRADICTION * most
    return contradicts


def _time_ns(work: NDArray[np.float64], peak: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(peak > 0, work / peak * 1e9, np.nan)


def _flop_times(
    usage: Usage, flop: NDArray[np.float64], identity: pa.Table
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Return the resource of the fastest way, and the times of the fastest and slowest way."""
    tensor = np.nan_to_num(usage.peak_per_s[: len(TENSOR)])
    resource = np.full(len(usage), INDEX["tensor"])
    fastest = tensor.max(axis=0)
    slowest = usage.peak_per_s[INDEX["fp32"]]
    code, texts = text_column(identity, "dtypes")
    for i, text in enumerate(texts):
        dtype = (text or "").partition(",")[0]
        if f"tensor_{dtype}" in TENSOR:
            row = INDEX[f"tensor_{dtype}"]
            has_unit = (code == i) & (tensor[row] > 0)
            resource = np.where(has_unit, row, resource)
            fastest = np.where(has_unit, tensor[row], fastest)
        if dtype == "fp64":
            slowest = np.where(code == i, usage.peak_per_s[INDEX["fp64"]], slowest)
    return (
        resource,
        _time_ns(flop, np.fmax(fastest, slowest)),
        _time_ns(flop, np.fmin(fastest, slowest)),
    )


def _usage_of_shapes(
    usage: Usage,
    work: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    times: tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]],
) -> Usage:
    flop, transferred, dram_ns = work
    resource, fast_ns, slow_ns = times
    rows, dram = np.arange(len(usage)), INDEX["dram"]
    time_ns = np.full(usage.time_ns.shape, np.nan)
    done = np.full(usage.work.shape, np.nan)
    time_ns[resource, rows], time_ns[dram] = fast_ns, dram_ns
    done[resource, rows], done[dram] = flop, transferred
    low = np.zeros((len(FLOP_RESOURCES), len(usage)))
    high = low.copy()
    low[resource, rows], high[resource, rows] = fast_ns, slow_ns
    yes = np.ones(len(usage), dtype=bool)
    return Usage(
        duration_ns=usage.duration_ns,
        time_ns=time_ns,
        is_counted=~np.isnan(time_ns),
        is_of_active_cycles=np.zeros(time_ns.shape, dtype=bool),
        work=done,
        peak_per_s=usage.peak_per_s,
        peak_source=usage.peak_source,
        is_peak_assumed=usage.is_peak_assumed,
        compute_ceiling_ns=slow_ns,
        memory_ceiling_ns=dram_ns,
        is_compute_complete=~yes,
        is_memory_complete=yes,
        flop_ns=time_ns[: len(FLOP_RESOURCES)],
        flop_low_ns=low,
        flop_high_ns=high,
        flop_most_ns=np.full(low.shape, np.inf),
        has_flop_counts=yes,
        uncounted_flop=np.zeros(len(usage)),
        dram_ns=dram_ns,
        dram_percent_ns=np.full(len(usage), np.nan),
        is_dram_counted=yes,
        is_partition=usage.is_partition,
        is_analytic=yes,
        boost_ratio=usage.boost_ratio,
    )


def is_alone(report: Report) -> NDArray[np.bool_]:
    """Say where neither neighbour in the file has the same ranges. Shape (n,).

    That is what the reader found: the neighbours in a filtered report are others. Only for tables
    that no reader made are they looked at here.
    """
    path, _ = text_column(report.launches, "nvtx_path")
    source, _ = text_column(report.launches, "report")
    same = (path[1:] == path[:-1]) & (source[1:] == source[:-1])
    alone = (~np.append(same, False) & ~np.append(False, same))[: len(report)]
    known = pc.coalesce(report.launches["is_alone_in_range"], number_array(alone))
    return np.asarray(known.to_numpy(), dtype=bool)
