"""The tables of a prediction: rows by family and batch size, and a row per step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens import tables
from nsightlens.sweeps.components import COMPONENTS, component_of
from nsightlens.units import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa

    from nsightlens.models import OperationWork
    from nsightlens.sweeps.predict_dtypes import Types
    from nsightlens.sweeps.predict_peaks import PredictedPeaks

__all__ = ["PredictedStep", "TimedWork", "grouped", "predicted_rows", "predicted_steps", "timed"]


class TimedWork(NamedTuple):
    """Operations of a step with their roofline times; those of several add up.

    Parameters
    ----------
    family, subtype, operation
        What it is; ``None`` where several differ in it.
    launch_count
        How often something is launched.
    flop, bytes
        [FLOP] and [B] What the shapes need.
    compute_ns, dram_ns
        [ns] At the peak of the unit that does the operations, and at the DRAM bandwidth.
    duration_ns
        [ns] Sum over the operations of the larger of the two.
    resource
        Unit with the most time.
    """

    family: str | None
    subtype: str | None
    operation: str | None
    launch_count: int
    flop: float
    bytes: float
    compute_ns: float
    dram_ns: float
    duration_ns: float
    resource: str

    @property
    def intensity(self) -> float | None:
        """[FLOP/B] Operations over bytes; ``None`` where nothing is moved."""
        return self.flop / self.bytes if self.bytes else None

    @property
    def bound(self) -> str:
        """Side of the ridge point on which the sum lies; the ridge itself is compute's."""
        return "compute" if self.compute_ns >= self.dram_ns else "memory"


class PredictedStep(NamedTuple):
    """What a step of one batch size consists of."""

    batch_size: int
    fits_memory: bool | None
    works: list[TimedWork]


def timed(work: OperationWork, types: Types, peaks: PredictedPeaks) -> TimedWork:
    """Return the roofline times of an operation.

    Parameters
    ----------
    work
        What it needs.
    types
        Which unit does it.
    peaks
        What that can do.
    """
    resource = types.resource_of(work)
    compute_ns = work.flop / peaks.flop_per_s[resource] * 1e9
    dram_ns = work.bytes / peaks.bytes_per_s * 1e9
    return TimedWork(
        work.family,
        work.subtype or None,
        work.operation,
        work.launches_per_step,
        work.flop,
        work.bytes,
        compute_ns,
        dram_ns,
        max(compute_ns, dram_ns),
        resource,
    )


def _added(works: Sequence[TimedWork]) -> TimedWork:
    def common(name: str) -> Any:
        values = {getattr(one, name) for one in works}
        return values.pop() if len(values) == 1 else None

    return TimedWork(
        common("family"),
        common("subtype"),
        common("operation"),
        sum(one.launch_count for one in works),
        sum(one.flop for one in works),
        sum(one.bytes for one in works),
        sum(one.compute_ns for one in works),
        sum(one.dram_ns for one in works),
        sum(one.duration_ns for one in works),
        max(works, key=lambda one: one.compute_ns).resource,
    )


def predicted_rows(
    steps: Iterable[PredictedStep], place: dict[str, Any], peaks: PredictedPeaks, *, by: str
) -> pa.Table:
    """Return the rows of the table ``sweep``.

    Parameters
    ----------
    steps
        One per batch size.
    place
        ``device_name``, ``phase`` and ``context_length`` of every row.
    peaks
        Of the GPU.
    by
        ``family``, ``kernel``, for which the operation stands, or ``component``: attention, matmul
        and everything else.
    """
    rows = []
    for step in steps:
        total_ns = sum(work.duration_ns for work in step.works)
        for work in grouped(step.works, by):
            rows.append(_row(step, work, total_ns, place, peaks))  # noqa: PERF401 - reads better
    return _table(tables.SWEEP, rows)


def grouped(works: Sequence[TimedWork], by: str) -> list[TimedWork]:
    """Add the operations of a step up to those of its rows.

    Parameters
    ----------
    works
        Of the step.
    by
        As for `predicted_rows`.
    """
    groups: dict[tuple[str | None, ...], list[TimedWork]] = {}
    for work in works:
        key: tuple[str | None, ...] = (work.family, work.subtype)
        if by == "component":
            key = (component_of(work.family),)
        elif by == "kernel":
            key = (*key, work.operation)
        groups.setdefault(key, []).append(work)
    added = map(_added, groups.values())
    return list(added) if by == "kernel" else [one._replace(operation=None) for one in added]


def _row(
    step: PredictedStep,
    work: TimedWork,
    total_ns: float,
    place: dict[str, Any],
    peaks: PredictedPeaks,
) -> dict[str, Any]:
    # Of several units the one roof is that which takes as long: operations over their time.
    flat_roof = peaks.flop_per_s[work.resource]
    if work.compute_ns:
        flat_roof = work.flop / work.compute_ns * 1e9
    ridge = flat_roof / peaks.bytes_per_s
    return {
        **place,
        "origin": "analytic",
        "family": work.family,
        "subtype": work.subtype,
        "kernel": work.operation,
        "component": component_of(work.family),
        "batch_size": step.batch_size,
        "fits_in_memory": step.fits_memory,
        "report_count": 0,
        "launch_count": work.launch_count,
        "failed_launch_count": 0,
        "duration_ns": work.duration_ns,
        "duration_share_pct": 100.0 * work.duration_ns / total_ns,
        "useful_flop_count": work.flop,
        "algorithmic_bytes": work.bytes,
        "useful_arithmetic_intensity_flop_per_byte": work.intensity,
        "useful_source": "model",
        "ridge_point_flop_per_byte": ridge,
        "peak_flop_per_s": flat_roof,
        "peak_bytes_per_s": peaks.bytes_per_s,
        "bound_ratio": work.compute_ns / work.dram_ns,
        "bound": work.bound,
        "roofline_bound": work.bound,
        "limiter": "dram" if work.bound == "memory" else work.resource,
        "evidence": "analytic",
        "peak_source": peaks.source,
        "reason": _reason(step, work, ridge),
    }


def _reason(step: PredictedStep, work: TimedWork, ridge: float) -> str:
    side = "left" if work.bound == "memory" else "right"
    intensity, ridge_point = (format_quantity(value, "FLOP/B") for value in (work.intensity, ridge))
    dram, compute = (format_quantity(value, "ns") for value in (work.dram_ns, work.compute_ns))
    text = (
        f"By its shapes: {intensity}, {side} of the ridge point at {ridge_point}; DRAM needs "
        f"{dram}, {work.resource} {compute}."
    )
    return text + (" The batch does not fit in memory." if step.fits_memory is False else "")


def predicted_steps(steps: Iterable[PredictedStep], place: dict[str, Any]) -> pa.Table:
    """Return the rows of the table ``sweep_steps``.

    Parameters
    ----------
    steps
        One per batch size.
    place
        ``device_name`` and ``phase`` of every row.
    """
    return _table(tables.SWEEP_STEPS, [_step_row(step, place) for step in steps])


def _step_row(step: PredictedStep, place: dict[str, Any]) -> dict[str, Any]:
    whole = _added(step.works)
    row = {
        **place,
        "origin": "analytic",
        "batch_size": step.batch_size,
        "fits_in_memory": step.fits_memory,
        "launch_count": whole.launch_count,
        "failed_launch_count": 0,
        "duration_ns": whole.duration_ns,
        "bound": whole.bound,
    }
    for component in COMPONENTS:
        of = [work for work in step.works if component_of(work.family) == component]
        part = sum(work.duration_ns for work in of)
        row[f"{component}_share_pct"] = 100.0 * part / whole.duration_ns
        if component != "other" and of:
            row[f"useful_{component}_intensity_flop_per_byte"] = _added(of).intensity
    return row


def _table(columns: tuple[tables.Column, ...], rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Build a table; what a model cannot know is null in every row."""
    names = {name for row in rows for name in row}
    data = {name: [row.get(name) for row in rows] for name in names}
    return tables.table_of(tables.schema_of(columns), data, len(rows))
