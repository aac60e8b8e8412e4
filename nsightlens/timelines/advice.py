"""What could be gained, at most, each with its number; and what could not.

Every saving is an upper bound: the time that the cause was seen to cost. Two of them may be the
same nanoseconds, so that they do not add up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow.compute as pc

from nsightlens import tables
from nsightlens.arrays import known_numbers
from nsightlens.devices.columns import number_column, text_column

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["WORTH_PCT", "advice_table"]

WORTH_PCT = 2.0
"""[%] Share of the wall time below which nothing is worth doing."""


_OVERLAP = ("copy_exposed_ns", "kernel_alone_ns")


class _Advice(NamedTuple):
    name: str
    saving_ns: float
    reason: str


def advice_table(steps: pa.Table, copies: pa.Table, runs: pa.Table) -> pa.Table:
    """Return what could be gained in the steps of a trace, the largest saving first.

    Parameters
    ----------
    steps, copies, runs
        With the schemas of `nsightlens.tables`; what is outside of every step does not count.
    """
    whole = steps.filter(pc.is_null(steps["device_id"]))
    count = whole.num_rows
    of_devices = steps.filter(pc.is_valid(steps["device_id"]))
    # Of several devices the time of each counts: what one of them waits another may work.
    rows = of_devices if of_devices.num_rows else whole
    wall_ns = _total(rows, "wall_ns")
    found = [_graphs(runs), *_idle(rows, of_devices.num_rows > 0), *_copies(rows, copies)]
    found.sort(key=lambda one: -one.saving_ns)
    saving = np.array([one.saving_ns for one in found])
    with np.errstate(all="ignore"):
        pct = 100 * saving / wall_ns if wall_ns else np.full(len(found), np.nan)
        per_step = saving / count if count else np.full(len(found), np.nan)
    is_worth = np.nan_to_num(pct) >= WORTH_PCT
    return tables.table_of(
        tables.schema_of(tables.TIMELINE_ADVICE),
        {
            "advice": [one.name for one in found],
            "saving_ns": np.round(saving).astype(np.int64),
            "saving_pct": known_numbers(pct),
            "saving_per_step_ns": known_numbers(per_step),
            "verdict": ["worth_trying" if one else "nothing_to_gain" for one in is_worth.tolist()],
            "reason": [one.reason for one in found],
        },
        len(found),
    )


def _graphs(runs: pa.Table) -> _Advice:
    mine = runs.filter(pc.is_valid(runs["step_id"]))
    kernels, saving = int(_total(mine, "kernel_count")), _total(mine, "launch_gap_ns")
    if not mine.num_rows:
        reason = "no run of short kernels outside of a CUDA graph"
    else:
        reason = (
            f"{kernels} short kernels in {mine.num_rows} runs wait {_said(saving)} for "
            f"launches between them; the kernels themselves take "
            f"{_said(_total(mine, 'kernel_duration_ns'))}, of which a fusion might save "
            "a part that a trace cannot tell"
        )
    return _Advice("cuda_graph", saving, reason)


def _idle(idle: pa.Table, is_by_device: bool) -> list[_Advice]:
    where = ", summed over the devices" if is_by_device else ""
    words = {
        "fewer_syncs": ("idle_sync_ns", "the devices are idle after the host waited for them"),
        "host_work": (
            "idle_host_ns",
            "the devices wait for a thread that does something else than launch",
        ),
    }
    return [
        _Advice(name, _total(idle, column), f"{text}: {_said(_total(idle, column))}{where}")
        for name, (column, text) in words.items()
    ]


def _copies(steps: pa.Table, copies: pa.Table) -> list[_Advice]:
    exposed_ns, hiding_ns = _total(steps, "copy_exposed_ns"), _total(steps, "kernel_alone_ns")
    overlap = _Advice(
        "overlap_copies",
        # Within a step: no more of a copy can be hidden than there are kernels to hide it.
        float(np.minimum(*(number_column(steps, n) for n in _OVERLAP)).sum()),
        f"copies run for {_said(exposed_ns)} while no kernel does, and kernels for "
        f"{_said(hiding_ns)} while no copy does"
        if copies.num_rows
        else "no copies",
    )
    mine = copies.filter(pc.is_valid(copies["step_id"]))
    code, directions = text_column(mine, "direction")
    memory = [text_column(mine, f"{one}_memory") for one in ("source", "destination")]
    is_of = {
        kind: np.any([np.array([t == kind for t in texts])[c] for c, texts in memory], axis=0)
        for kind in ("pageable", "pinned")
    }
    size, duration, free = (
        number_column(mine, one) for one in ("copied_bytes", "duration_ns", "exposed_ns")
    )
    saving, measured = 0.0, []
    for at, direction in enumerate(directions):  # one turn per direction
        pageable, pinned = (is_of[kind] & (code == at) for kind in ("pageable", "pinned"))
        if not pageable.any():
            continue
        took, exposed = float(duration[pageable].sum()), float(free[pageable].sum())
        if pinned.any() and duration[pinned].sum() > 0:
            per_byte = float(duration[pinned].sum() / max(size[pinned].sum(), 1))
            gain = max(took - float(size[pageable].sum()) * per_byte, 0.0)
            measured.append(f"{direction} at the {1 / per_byte:.1f} GB/s of its pinned copies")
        else:
            gain = exposed
            measured.append(f"{direction}, with no pinned copy to compare: all of it at most")
        saving += min(gain, exposed)
    total = float(free[is_of["pageable"]].sum()) if mine.num_rows else 0.0
    reason = (
        f"pageable copies run for {_said(total)} while no kernel does ({'; '.join(measured)})"
        if measured
        else "no pageable copies"
    )
    return [_Advice("pinned_memory", saving, reason), overlap]


def _said(time_ns: float) -> str:
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if time_ns >= size:
            return f"{time_ns / size:.3g} {unit}"
    return f"{time_ns:.0f} ns"


def _total(table: pa.Table, name: str) -> float:
    return float(np.nansum(number_column(table, name))) if table.num_rows else 0.0
