"""The table ``sweep_steps``: each batch size as the memory-gap study looks at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nsightlens import tables
from nsightlens.analysis.label import BOUNDS, REGIMES, decide
from nsightlens.analysis.phrase import choose
from nsightlens.arrays import number_array
from nsightlens.sweeps.component_rows import of_components
from nsightlens.sweeps.components import COMPONENTS, component_of
from nsightlens.sweeps.needed import needed_by_annotations
from nsightlens.sweeps.numbers import finite_numbers, finite_table, quotient, whole_numbers
from nsightlens.sweeps.rows import STEP_KEYS, work_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    from numpy.typing import NDArray

    from nsightlens.sweeps.needed_by_model import ComponentWork, StepKey
    from nsightlens.sweeps.part import SweepPart

__all__ = ["steps_of"]

_MEANS = ("achieved_occupancy_pct", "active_warps_per_scheduler", "stalled_for_data_pct")


def steps_of(
    part: SweepPart, by_model: Mapping[tuple[StepKey, str], ComponentWork] | None = None
) -> pa.Table:
    """Return a row per GPU, phase and batch size.

    Parameters
    ----------
    part
        The sums.
    by_model
        What a model needs, by step and component, where annotations do not say it.

    Returns
    -------
    pyarrow.Table
        With the schema of `nsightlens.tables.SWEEP_STEPS`, in the order of the rows of ``part``.
    """
    steps = part.grouped(STEP_KEYS)
    count = len(steps)
    measured = steps.tally.measured()
    usage, context = measured.usage, measured.context
    decision = decide(usage, context.number["fullness"])
    work = work_of(steps, measured)
    texts = {name: steps.keys[name].combine_chunks() for name in STEP_KEYS}
    data = {
        **texts,
        "origin": ["measured"] * count,
        "batch_size": whole_numbers(texts["batch_size"]),
        "launch_count": number_array(context.launch_count),
        "failed_launch_count": number_array(context.failed_count),
        "duration_ns": finite_numbers(usage.duration_ns),
        "dram_read_pct": finite_numbers(work.dram_read_pct),
        "dram_write_pct": finite_numbers(work.dram_write_pct),
        **{name: finite_numbers(context.number[name]) for name in _MEANS},
        "bound": choose(decision.bound, BOUNDS),
        "regime": choose(decision.regime, REGIMES),
        **_component_columns(part, steps, usage.duration_ns, by_model or {}),
    }
    return finite_table(tables.table_of(tables.schema_of(tables.SWEEP_STEPS), data, count))


def _component_columns(
    part: SweepPart,
    steps: SweepPart,
    duration_ns: NDArray[np.float64],
    by_model: Mapping[tuple[StepKey, str], ComponentWork],
) -> dict[str, Any]:
    members = of_components(part)
    step_at = {key: i for i, key in enumerate(_step_keys(steps))}
    step = np.array([step_at[key] for key in _step_keys(members)], dtype=np.intp)
    component = [component_of(family) for family in members.keys["family"].to_pylist()]
    measured = members.tally.measured()
    work, needed = work_of(members, measured), needed_by_annotations(members)
    useful = quotient(needed.flop, needed.bytes)
    for i, (key, name) in enumerate(zip(_step_keys(members), component, strict=True)):
        of_model = by_model.get((key, name))
        if np.isnan(useful[i]) and of_model is not None and of_model.bytes > 0:
            useful[i] = of_model.flop / of_model.bytes
    # Launches without a duration have a share, which nobody knows.
    shares = 100.0 * quotient(measured.usage.duration_ns, duration_ns[step])
    of_step = {
        "intensity_flop_per_byte": quotient(work.flop, work.dram_bytes),
        "dram_throughput_pct": measured.context.number["dram_throughput_pct"],
    }
    data = {}
    for name in COMPONENTS:
        mine = np.array([one == name for one in component], dtype=bool)
        # A component without launches has no share of the time that the others have.
        share = np.where(np.isnan(duration_ns), np.nan, 0.0)
        share[step[mine]] = shares[mine]
        data[f"{name}_share_pct"] = finite_numbers(share)
        if name == "other":
            continue
        for what, values in of_step.items():
            data[f"{name}_{what}"] = _spread(values[mine], step[mine], len(steps))
        data[f"useful_{name}_intensity_flop_per_byte"] = _spread(
            useful[mine], step[mine], len(steps)
        )
    return data


def _spread(values: NDArray[np.float64], step: NDArray[np.intp], count: int) -> pa.Array:
    """Return the values at the steps that have one."""
    column = np.full(count, np.nan)
    column[step] = values
    return finite_numbers(column)


def _step_keys(part: SweepPart) -> list[StepKey]:
    columns = [part.keys[name].to_pylist() for name in STEP_KEYS]
    return list(zip(*columns, strict=True))
